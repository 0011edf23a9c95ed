"""Await a function of the application so that whatever comes out of it, the run goes on."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import anyio
import anyio.lowlevel

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

_NO_LIMIT: AbstractContextManager[None] = nullcontext()


@dataclass(slots=True)
class Came(Generic[T]):
    """What came of it: a `value` or an `error`. `late`: the time limit had passed by then, by the clock.

    Work that blocks the event loop cannot be cancelled in time, but it is late all the same.
    """

    value: T | None = None
    error: BaseException | None = None
    late: bool = False


async def apart(work: Callable[[], Awaitable[T]], seconds: float | None = None) -> Came[T]:
    """Await `work()` for `seconds` at most (`None` = as long as it takes).

    An exception, a group of them, and a cancellation that came from inside (a task or future that it waited for was
    cancelled) are told as `error`. A cancellation from outside goes through, and so does what ends programs, such as
    KeyboardInterrupt.
    """
    came: Came[T] = Came()
    before = native_cancellations()
    scope = None if seconds is None else anyio.move_on_after(seconds)
    try:
        with scope or _NO_LIMIT:
            came.value = await work()
    except anyio.get_cancelled_exc_class():
        await anyio.lowlevel.checkpoint_if_cancelled()
        if native_cancellations() > before:
            raise
        came.error = RuntimeError("it was cancelled from inside")
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseExceptionGroup as group:
        _, rest = group.split((Exception, anyio.get_cancelled_exc_class()))
        if rest is not None:
            raise rest.exceptions[0] from group
        await anyio.lowlevel.checkpoint_if_cancelled()
        came.error = group
    except BaseException as error:  # also what means "cancelled" on the other back end
        came.error = error
    if native_cancellations() > before:  # the work kept it to itself, but it was for the run
        await anyio.lowlevel.checkpoint_if_cancelled()
        raise anyio.get_cancelled_exc_class()
    came.late = scope is not None and (scope.cancel_called or anyio.current_time() >= scope.deadline)
    return came


def native_cancellations() -> int:
    """How often somebody cancelled this very task, without a cancel scope: only asyncio knows such a thing.

    asyncio is looked up, not imported: on trio it need not be there.
    """
    module = sys.modules.get("asyncio")
    try:
        task: asyncio.Task[object] | None = None if module is None else module.current_task()
    except RuntimeError:  # no asyncio loop runs here
        return 0
    return 0 if task is None else task.cancelling()
