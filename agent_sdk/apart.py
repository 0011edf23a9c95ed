"""Await a function of the application in a task of its own: whatever comes out of it, the run goes on."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

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
    came: Came[T] = Came(error=RuntimeError("it was cancelled from inside"))
    fatal: list[BaseException] = []
    cancelled = anyio.get_cancelled_exc_class()

    async def run() -> None:
        scope = anyio.move_on_after(math.inf if seconds is None else seconds)
        try:
            with scope:
                came.value = await work()
            came.error = None
        except cancelled:
            raise
        except Exception as error:
            came.error = error
        except BaseExceptionGroup as group:
            _, rest = group.split((Exception, cancelled))
            came.error = group
            fatal.extend([rest] if rest is not None else [])
        except BaseException as error:
            fatal.append(error)
        came.late = scope.cancel_called

    await checkpoint_if_cancelled()  # whoever was awaited before may have kept the cancellation to itself
    async with anyio.create_task_group() as group:
        group.start_soon(run)
    if fatal:
        raise fatal[0]
    return came
