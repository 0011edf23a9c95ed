"""Waiting for an answer: woken at once by one given in the same event loop, found by looking when it came from afar."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeAlias

import anyio
import anyio.lowlevel

from agent_sdk.sessions.forks import HoldsStill

FIRST_LOOK = 0.05
LAST_LOOK = 1.0
"""Seconds between two looks: they grow from the first to the last, so that thousands of waiters stay cheap."""

_Waiter: TypeAlias = tuple[anyio.lowlevel.EventLoopToken, anyio.Event]


class Waiters(HoldsStill):
    """Who waits for which session. For several event loops and threads at once. A forked child has none."""

    def __init__(self) -> None:
        self._waiters: dict[str, list[_Waiter]] = {}
        super().__init__()

    def begin_anew(self, *, held: bool) -> None:
        """In a forked child: who waited waits in the parent."""
        super().begin_anew(held=held)
        self._waiters = {}

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
                others = [one for one in self._waiters.pop(session_id, ()) if one is not waiter]
                if others:
                    self._waiters[session_id] = others
