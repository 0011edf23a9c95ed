"""Await a function of the application so that whatever comes out of it, the run goes on."""

from __future__ import annotations

import math
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio
import anyio.lowlevel

T = TypeVar("T")


@dataclass(slots=True)
class Came(Generic[T]):
    """What came of it: a `value` or an `error`. `late`: the time limit had passed by then."""

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
    before = _cancellations()
    cancelled = anyio.get_cancelled_exc_class()
    scope = anyio.move_on_after(math.inf if seconds is None else seconds)
    try:
        with scope:
            came.value = await work()
    except cancelled:
        await anyio.lowlevel.checkpoint_if_cancelled()
        if _cancellations() > before:
            raise
        came.error = RuntimeError("it was cancelled from inside")
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseExceptionGroup as group:
        _, rest = group.split((Exception, cancelled))
        if rest is not None:
            raise rest.exceptions[0] from group
        await anyio.lowlevel.checkpoint_if_cancelled()
        came.error = group
    except BaseException as error:  # also what means "cancelled" on the other back end
        came.error = error
    if _cancellations() > before:  # the work kept it to itself, but it was for the run
        await anyio.lowlevel.checkpoint_if_cancelled()
        raise cancelled
    came.late = scope.cancel_called
    return came


def _cancellations() -> int:
    """How often somebody cancelled this very task, without a cancel scope: only asyncio knows such a thing.

    asyncio is looked up, not imported: on trio it need not be there, and its tasks are not ours.
    """
    asyncio = sys.modules.get("asyncio")
    try:
        task = asyncio.current_task() if asyncio is not None else None
    except RuntimeError:  # no asyncio loop runs here
        return 0
    return 0 if task is None else int(task.cancelling())
