"""Signals that ask a command to end: its work is ended in order, so that nothing that it started runs on."""

from __future__ import annotations

import math
import signal
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskStatus

from agent_sdk.cli.command import say_aside

PATIENCE = 5.0
"""Seconds that the work has to end legally once it was asked to."""

_ALWAYS = (signal.SIGINT,)
_UNLESS_IGNORED = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)  # `nohup` ignores SIGHUP, and means it


class Heard:
    """The signals that came, shared with the work that they interrupt."""

    def __init__(self) -> None:
        self.signals: list[signal.Signals] = []
        self.scope: anyio.CancelScope | None = None

    def no_hurry(self) -> None:
        """The work has ended what it was asked to end: it may take its time again."""
        if self.scope is not None:
            self.scope.deadline = math.inf

    def forget(self) -> None:
        """The work goes on with something else, and the next signal is the first one again."""
        self.no_hurry()
        self.signals.clear()


async def heeding_signals(
    work: Callable[[], Awaitable[None]],
    interrupt: Callable[[], Awaitable[None]] | None = None,
    heard: Heard | None = None,
) -> signal.Signals | None:
    """Run `work` and return the signal that ended it, `None` when none came.

    The first signal calls `interrupt`, which asks the work to end by itself. The second one, five seconds, or the
    first one where there is no `interrupt`, cancels it; `heard` lets the work say that it goes on all the same.
    Raises what `work` raised; once a signal came, a terminal that is gone is no fault any more.
    """
    heard = heard or Heard()
    signals_heard, everything = heard.signals, anyio.CancelScope()
    heard.scope = everything
    failure: Exception | None = None

    async def hear(*, task_status: TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(*_heeded()) as signals:
            task_status.started()
            async for number in signals:
                signals_heard.append(number)
                if interrupt is None:
                    say_aside("Interrupted.")
                if len(signals_heard) > 1 or interrupt is None:
                    everything.cancel()
                    break
                everything.deadline = anyio.current_time() + PATIENCE
                say_aside("Interrupting; once more ends it at once.")
                await interrupt()
            await anyio.sleep_forever()  # further signals must not end us before the work has cleaned up

    async with anyio.create_task_group() as listening:
        with everything:
            await listening.start(hear)
            try:
                await work()
            except Exception as error:
                failure = error  # raised below: a task group would wrap it
        listening.cancel_scope.cancel()
    if failure is not None and not (signals_heard and isinstance(failure, OSError)):
        raise failure
    return signals_heard[0] if signals_heard else None


def _heeded() -> list[signal.Signals]:
    return [*_ALWAYS, *(number for number in _UNLESS_IGNORED if signal.getsignal(number) is not signal.SIG_IGN)]
