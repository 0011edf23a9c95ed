"""Keeps claims alive while their runs wait: for a person, a model, a tool.

One daemon thread for the whole process renews every held claim at a third of its lease. It starts with the first claim
that grows that old and ends when none is held.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic

import anyio

from agent_sdk.sessions.forks import HoldsStill
from agent_sdk.sessions.records import Claim
from agent_sdk.sessions.store import DeferralStore

log = logging.getLogger("agent_sdk.sessions")

LEASE = timedelta(seconds=60)


@dataclass(slots=True, eq=False)
class Held:
    """A claim in use. `lost` becomes true when another run took the session."""

    store: DeferralStore
    claim: Claim
    lease: timedelta = LEASE
    lost: bool = False
    due: float = field(default_factory=monotonic)


class Heartbeat(HoldsStill):
    """Renews held claims. Thread-safe; `keep` and `drop` cost next to nothing. A forked child holds none at first."""

    def __init__(self) -> None:
        super().__init__()
        self._begin()

    def _begin(self) -> None:
        self._held: set[Held] = set()
        self._changed = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None
        self._looks_at = 0.0  # when the thread will look next

    def begin_anew(self, *, held: bool) -> None:
        """In a forked child: the claims are the parent's, and so is the thread."""
        super().begin_anew(held=held)
        self._begin()

    def keep(self, store: DeferralStore, claim: Claim, lease: timedelta = LEASE) -> Held:
        """Renew this claim from now on, until it is dropped or lost."""
        held = Held(store, claim, lease)
        held.due = monotonic() + lease.total_seconds() / 3
        with self._changed:
            self._held.add(held)
            if self._thread is None:
                self._thread = threading.Thread(target=self._beat, name="agent_sdk lease", daemon=True)
                self._thread.start()
            elif held.due < self._looks_at:
                self._changed.notify()
        return held

    def drop(self, held: Held) -> None:
        """Stop renewing."""
        with self._changed:
            self._held.discard(held)

    def _is_kept(self, held: Held) -> bool:
        with self._changed:
            return held in self._held

    def _beat(self) -> None:
        while True:
            with self._changed:
                if not self._held:
                    self._changed.wait(5.0)
                    if not self._held:
                        self._thread = None
                        return
                self._looks_at = min(held.due for held in self._held)
                pause = self._looks_at - monotonic()
                if pause > 0:
                    self._changed.wait(pause)
                    continue
                due = [held for held in self._held if held.due <= monotonic()]
            anyio.run(self._renew, due)

    async def _renew(self, due: list[Held]) -> None:
        for held in due:
            try:
                renewed = await held.store.renew(held.claim, held.lease)
            except Exception as error:  # the store may be busy or gone for a moment: try again soon
                log.warning("could not renew the claim on session %s: %s", held.claim.session_id, error)
                held.due = monotonic() + held.lease.total_seconds() / 12
                continue
            if renewed is None:
                if not self._is_kept(held):
                    continue  # its run gave it back in this very moment
                held.lost = True
                self.drop(held)
                log.error("the claim on session %s was lost to another run", held.claim.session_id)
            else:
                held.due = monotonic() + held.lease.total_seconds() / 3


HEARTBEAT = Heartbeat()
