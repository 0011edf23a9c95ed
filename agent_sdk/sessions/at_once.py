"""Work of a store that must be done at once, without giving way to the event loop; or within a short time.

An async generator that its consumer left with a plain `break` is closed by the event loop, which may be about to end:
whoever waits there for a thread never comes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

_AT_ONCE: ContextVar[bool] = ContextVar("agent_sdk_at_once", default=False)
_UNTIL: ContextVar[float | None] = ContextVar("agent_sdk_until", default=None)

SECONDS = 2.0
"""How long such work may be held up by another process."""


@contextmanager
def at_once(needed: bool = True) -> Iterator[None]:
    """What is asked of a store in this block is done before anything else runs. `needed=False` changes nothing."""
    token = _AT_ONCE.set(needed or _AT_ONCE.get())
    try:
        yield
    finally:
        _AT_ONCE.reset(token)


def must_be_at_once() -> bool:
    """Whether the caller stands in such a block."""
    return _AT_ONCE.get()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """What is asked of a store in this block waits no longer than this for others that use it, and fails then."""
    token = _UNTIL.set(monotonic() + seconds)
    try:
        yield
    finally:
        _UNTIL.reset(token)


def waits_until() -> float | None:
    """The monotonic time to which the caller lets a store wait for others; `None` where it has its usual patience."""
    return monotonic() + SECONDS if must_be_at_once() else _UNTIL.get()
