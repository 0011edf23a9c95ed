"""Signals that ask a command to end: its work is ended in order, so that nothing that it started runs on."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskStatus

from agent_sdk.cli.command import say_aside

PATIENCE = 5.0
"""Seconds that the work has to end legally once it was asked to."""

_ALWAYS = (signal.SIGINT,)
_UNLESS_IGNORED = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)  # `nohup` ignores SIGHUP, and means it


async def heeding_signals(
    work: Callable[[], Awaitable[None]], interrupt: Callable[[], Awaitable[None]] | None = None
) -> signal.Signals | None:
    """Run `work` and return the signal that ended it, `None` when none came.

    The first signal calls `interrupt`, which asks the work to end by itself. The second one, five seconds, or the
    first one where there is no `interrupt`, cancels it. Raises what `work` raised; once a signal came, a terminal that
    is gone is no fault any more.
    """
    heard: list[signal.Signals] = []
    failure: Exception | None = None

    async def hear(everything: anyio.CancelScope, *, task_status: TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(*_heeded()) as signals:
            task_status.started()
            async for number in signals:
                heard.append(number)
                if interrupt is None:
                    say_aside("Interrupted.")
                if len(heard) > 1 or interrupt is None:
                    everything.cancel()
                    break
                everything.deadline = anyio.current_time() + PATIENCE
                say_aside("Interrupting; once more ends it at once.")
                await interrupt()
            await anyio.sleep_forever()  # further signals must not end us before the work has cleaned up

    async with anyio.create_task_group() as listening:
        with anyio.CancelScope() as everything:
            await listening.start(hear, everything)
            try:
                await work()
            except Exception as error:
                failure = error  # raised below: a task group would wrap it
        listening.cancel_scope.cancel()
    if failure is not None and not (heard and isinstance(failure, OSError)):
        raise failure
    return heard[0] if heard else None


def _heeded() -> list[signal.Signals]:
    return [*_ALWAYS, *(number for number in _UNLESS_IGNORED if signal.getsignal(number) is not signal.SIG_IGN)]
