"""Waiting for an answer: woken at once by one given in the same event loop, found by looking when it came from afar."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeAlias

import anyio
import anyio.lowlevel

FIRST_LOOK = 0.05
LAST_LOOK = 1.0
"""Seconds between two looks: they grow from the first to the last, so that thousands of waiters stay cheap."""

_Waiter: TypeAlias = tuple[anyio.lowlevel.EventLoopToken, anyio.Event]


class Waiters:
    """Who waits for which session. May be used from several event loops and threads at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiters: dict[str, list[_Waiter]] = {}

    async def wait(self, session_id: str, timeout: timedelta, answered: Callable[[], Awaitable[bool]]) -> bool:
        """Wait until `answered()` says yes: True; or until the time is over: False."""
        deadline = anyio.current_time() + timeout.total_seconds()
        pause = FIRST_LOOK
        while True:
            with self._listening(session_id) as event:
                if await answered():
                    return True
                left = deadline - anyio.current_time()
                if left <= 0:
                    return False
                with anyio.move_on_after(min(pause, left)):
                    await event.wait()
            pause = min(LAST_LOOK, pause * 1.5)

    def wake(self, session_id: str) -> None:
        """Let the waiters of this event loop look again now. Only to be called from inside an event loop."""
        here = anyio.lowlevel.current_token()
        with self._lock:
            events = [event for token, event in self._waiters.get(session_id, ()) if token == here]
        for event in events:
            event.set()

    @contextmanager
    def _listening(self, session_id: str) -> Iterator[anyio.Event]:
        waiter = (anyio.lowlevel.current_token(), anyio.Event())
        with self._lock:
            self._waiters.setdefault(session_id, []).append(waiter)
        try:
            yield waiter[1]
        finally:
            with self._lock:
                self._waiters[session_id].remove(waiter)
                if not self._waiters[session_id]:
                    del self._waiters[session_id]
