"""What a run writes, and when: the claim, the transcript, the parked calls and the journal of one session.

A store that keeps only transcripts does for runs that park nothing; every other port is used where the store has it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime

import anyio

from agent_sdk.calls import CallKey, ToolResult
from agent_sdk.errors import SessionBusyError
from agent_sdk.sessions.at_once import within
from agent_sdk.sessions.lease import HEARTBEAT, LEASE, Held
from agent_sdk.sessions.memory import InMemoryStore
from agent_sdk.sessions.records import Begun, Claim, Entry, OpenTurn, PendingApproval, Run, SettledCall
from agent_sdk.sessions.store import PROJECT_KEY, DeferralStore, Journal, SessionKey, SessionStore
from agent_sdk.values import Json, JsonObject, fresh_uuid

log = logging.getLogger("agent_sdk.sessions")

_OPEN: AbstractContextManager[None] = nullcontext()
_PATIENCE = (0.0, 0.0, 0.0, 0.0, 0.0, 0.002, 0.01, 0.05)
"""A generator that is left by a plain `break` is closed by the event loop, a few steps later. Seconds between tries."""


def session_key(session_id: str) -> SessionKey:
    """Where a session's transcript lives. Ids are unique, so one project key serves all: resume from any directory."""
    return {"project_key": PROJECT_KEY, "session_id": session_id}


def entry(kind: str, uuid: str = "", /, **fields: Json) -> Entry:
    """A transcript entry with its uuid, a fresh one by default, and the time."""
    return {"type": kind, "uuid": uuid or fresh_uuid(), "timestamp": datetime.now(UTC).isoformat(), **fields}


class Ledger:
    """The session's books. `open` before the first use, `close` after the last.

    Writes are shielded from cancellation: a caller that is told "cancelled" may rely on what was written before.
    """

    def __init__(self, store: SessionStore, session_id: str) -> None:
        self.session_id = session_id
        self.store = store
        self.key = session_key(session_id)
        self.deferral = store if isinstance(store, DeferralStore) else None
        self.journal = store if isinstance(store, Journal) else None
        self.fence = 0
        self._instant = type(store) is InMemoryStore  # what is made of it may wait
        self._brief = False
        self._held: Held | None = None
        self._last: tuple[CallKey, ToolResult] | None = None  # the call whose result is stored by closing its turn

    def _whole(self) -> AbstractContextManager[object]:
        """A block that is finished once it is begun. A store in memory does not wait for anything inside it."""
        return _OPEN if self._instant or self._brief else anyio.CancelScope(shield=True)

    @contextmanager
    def briefly(self, seconds: float) -> Iterator[anyio.CancelScope]:
        """A block that a run which is over has left to write: shielded, but not longer than this.

        Our SQLite store waits no longer for other processes either; a commit that the disk holds up is waited for.
        """
        self._brief = True
        try:
            with within(seconds), anyio.move_on_after(seconds, shield=True) as scope:
                yield scope
        finally:
            self._brief = False

    @property
    def can_park(self) -> bool:
        """Whether calls can be parked here."""
        return self.deferral is not None and self.journal is not None

    async def open(self) -> bool:
        """Claim the session. True when another run may have written since this ledger last held it.

        Raises SessionBusyError while another run holds it.
        """
        if self.deferral is None or self._held is not None:
            return False
        claim = await self._claim(self.deferral)
        foreign = claim.fence != self.fence + 1
        self.fence = claim.fence
        self._held = HEARTBEAT.keep(self.deferral, claim)
        return foreign

    async def _claim(self, deferral: DeferralStore) -> Claim:
        """Claim the session, waiting a moment for a run of this process that its consumer has just left."""
        here = f"{os.uname().nodename}:{os.getpid()}:"
        pauses = iter(_PATIENCE)
        while True:
            try:
                with self._whole():
                    return await deferral.claim(self.session_id, here + fresh_uuid()[:8], LEASE)
            except SessionBusyError as busy:
                pause = next(pauses, None)
                if pause is None or not (busy.owner or "").startswith(here):
                    raise
                await anyio.sleep(pause)

    async def close(self) -> None:
        """Give the claim back."""
        if self.deferral is None or self._held is None:
            return
        try:
            await self.settle()
        finally:
            held, self._held = self._held, None
            HEARTBEAT.drop(held)
            try:
                with self._whole():
                    await self.deferral.release(held.claim)
            except anyio.get_cancelled_exc_class():  # asyncio's `task.cancel()` knows no shield
                with self._whole():
                    await self.deferral.release(held.claim)
                raise

    def check(self) -> Held:
        """The claim in use. Raises SessionBusyError when it was lost."""
        if self._held is None or self._held.lost:
            raise SessionBusyError(
                f"session {self.session_id} was taken over by another run; this one starts nothing more",
                session_id=self.session_id,
            )
        return self._held

    async def now(self) -> datetime:
        """The store's clock."""
        return datetime.now(UTC) if self.deferral is None else await self.deferral.now()

    async def load(self) -> list[JsonObject] | None:
        """All entries of the transcript, or `None` when the store does not know the session."""
        return await self.store.load(self.key)

    async def open_turn(self) -> OpenTurn:
        """What is stored of the turn that is still open."""
        return OpenTurn() if self.deferral is None else await self.deferral.open_turn(self.session_id)

    async def write(self, entries: Sequence[Entry], *, closes: str | None = None) -> None:
        """Add entries; `closes` is the assistant message whose turn they close."""
        if closes is None:
            await self.settle()
        try:
            with self._whole():
                if self.deferral is None:
                    await self.store.append(self.key, entries)
                else:
                    await self.deferral.write(self.check().claim, self.key, entries, closes=closes)
        except Exception:
            await self._rescue()
            raise
        self._last = None

    async def _rescue(self) -> None:
        """The turn could not be closed: store its last result by itself. A run that has lost its claim may do that."""
        try:
            await self.settle()
        except Exception as error:  # the first failure is the one to tell; this one is often its echo
            log.error("session %s: the last result could not be stored either: %s", self.session_id, error)

    async def park(
        self, entries: Sequence[Entry], settled: Sequence[SettledCall], pending: Sequence[PendingApproval]
    ) -> None:
        """Store the verdicts and parked calls of a turn in one transaction."""
        assert self.deferral is not None, "callers ask can_park first"
        await self.settle()
        with self._whole():
            await self.deferral.park(self.check().claim, self.key, entries, settled, pending)

    async def begin(self, key: CallKey, effective: JsonObject, settled: Sequence[SettledCall] = ()) -> Begun:
        """Mark a call as started, durably, before it runs."""
        await self.settle()
        begun: Begun = Run()
        if self.journal is not None and self.deferral is not None:
            with self._whole():
                begun = await self.journal.begin_call(self.check().claim, key, effective, settled=settled)
        return begun

    async def restart(self, key: CallKey) -> None:
        """Let an unknown call be begun once more."""
        assert self.journal is not None, "only a journal knows unknown calls"
        with self._whole():
            await self.journal.restart_call(self.check().claim, key)

    async def end(self, key: CallKey, result: ToolResult, *, closing: bool = False) -> None:
        """Store the result of a call. Accepted even when the claim was lost meanwhile.

        `closing`: the turn is closed at once, and the message that closes it holds the result. Then that one commit
        does for both, and this one is made only if something else is written first, or the closing fails.
        """
        if self.journal is None or self._held is None:
            return
        self._last = key, result
        if not closing:
            await self.settle()

    async def settle(self) -> None:
        """Store what `end` left for the closing of the turn: whoever waits in between calls this before."""
        if self._last is None or self.journal is None or self._held is None:
            return
        (key, result), self._last = self._last, None
        with self._whole():
            await self.journal.end_call(self._held.claim, key, result)
