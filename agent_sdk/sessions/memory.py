"""InMemoryStore: transcripts, parked calls and journal of one process, gone when it ends.

Everything is kept as the text that a database would keep, so what comes out is always a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeAlias, TypeVar

from agent_sdk.calls import CallKey, ToolResult
from agent_sdk.sessions import checks, codec
from agent_sdk.sessions.fields import json_object, json_text
from agent_sdk.sessions.forks import HoldsStill
from agent_sdk.sessions.records import (
    Answer,
    Begun,
    Claim,
    Done,
    Entry,
    OpenTurn,
    PendingApproval,
    Run,
    SettledCall,
    Unknown,
    micros,
)
from agent_sdk.sessions.store import SessionKey, SessionListEntry
from agent_sdk.sessions.texts import (
    entry_texts,
    result_from_text,
    result_text,
    settled_from_text,
    settled_texts,
    utc_now,
)
from agent_sdk.sessions.waiters import Waiters
from agent_sdk.values import JsonObject


@dataclass(slots=True)
class _Transcript:
    written: datetime
    lines: list[str] = field(default_factory=list)
    uuids: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Started:
    fence: int
    effective: str
    result: str | None = None


@dataclass(slots=True)
class _Session:
    claim: Claim | None = None
    fence: int = 0
    settled: dict[CallKey, str] = field(default_factory=dict)
    pending: dict[CallKey, PendingApproval] = field(default_factory=dict)
    journal: dict[CallKey, _Started] = field(default_factory=dict)
    parked: dict[CallKey, None] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)


_Row = TypeVar("_Row")
_Address: TypeAlias = tuple[str, str, str]


class InMemoryStore(HoldsStill):
    """A store for tests and for programs that need nothing after they end: all three ports of a session.

    Several runs may use it at once, in one event loop or in threads with loops of their own. `now` is its clock
    (aware datetimes); the real time by default.
    """

    def __init__(self, *, now: Callable[[], datetime] = utc_now) -> None:
        self._now = now
        super().__init__()
        self._transcripts: dict[_Address, _Transcript] = {}
        self._sessions: dict[str, _Session] = {}
        self._waiters = Waiters()
        self._fence = 0

    # transcripts

    async def append(self, key: SessionKey, entries: Sequence[Entry]) -> None:
        """Add entries at the end; one whose `uuid` is there already is left out. Raises SessionError for non-JSON."""
        texts = entry_texts(entries)
        with self._lock:
            self._add(key, texts)

    async def load(self, key: SessionKey) -> list[JsonObject] | None:
        """All entries as copies, or `None` when there is no such transcript."""
        with self._lock:
            transcript = self._transcripts.get(_address(key))
            lines = None if transcript is None else transcript.lines[:]
        return None if lines is None else [json_object("Entry", line) for line in lines]

    async def list_sessions(self, project_key: str) -> list[SessionListEntry]:
        """The sessions of a project with the time of their last entry."""
        with self._lock:
            return [
                SessionListEntry(session_id=session_id, mtime=micros(transcript.written) // 1000)
                for (project, session_id, subpath), transcript in self._transcripts.items()
                if project == project_key and not subpath
            ]

    async def delete(self, key: SessionKey) -> None:
        """Remove a transcript; without `subpath` all that is known of the session. Unknown keys are ignored."""
        project, session_id, subpath = _address(key)
        with self._lock:
            if subpath:
                self._transcripts.pop((project, session_id, subpath), None)
                return
            for address in [address for address in self._transcripts if address[:2] == (project, session_id)]:
                del self._transcripts[address]
            if not any(address[1] == session_id for address in self._transcripts):
                self._sessions.pop(session_id, None)

    async def list_subkeys(self, key: SessionKey) -> list[str]:
        """The subpaths of a session, in the order in which they began."""
        project, session_id, _ = _address(key)
        with self._lock:
            return [address[2] for address in self._transcripts if address[:2] == (project, session_id) and address[2]]

    # claims

    async def now(self) -> datetime:
        """The time by the clock that the store was given."""
        return self._now()

    async def projects(self, session_id: str | None = None) -> list[str]:
        """The project keys in use, sorted; with `session_id` those that have this session."""
        with self._lock:
            return sorted({address[0] for address in self._transcripts if session_id in (None, address[1])})

    async def claim(self, session_id: str, owner: str, lease: timedelta) -> Claim:
        """Take the right to run a session. Raises SessionBusyError while another claim is good."""
        with self._lock:
            session, now = self._session(session_id), self._now()
            held = session.claim
            if held is not None and held.until > now:
                raise checks.busy(session_id, held.owner, held.until, now)
            session.fence = (session.fence or self._fence) + 1
            self._fence = max(self._fence, session.fence)
            session.claim = Claim(session_id=session_id, owner=owner, fence=session.fence, until=now + lease)
            return session.claim

    async def renew(self, claim: Claim, lease: timedelta) -> Claim | None:
        """The claim with a later end, or `None` when it is lost."""
        with self._lock:
            if not self._holds(claim):
                return None
            session = self._session(claim.session_id)
            session.claim = replace(claim, until=self._now() + lease)
            return session.claim

    async def release(self, claim: Claim) -> None:
        """Give the claim back. A stale claim is ignored."""
        with self._lock:
            if self._holds(claim):
                self._session(claim.session_id).claim = None

    # parked calls

    async def write(
        self, claim: Claim, key: SessionKey, entries: Sequence[Entry], *, closes: str | None = None
    ) -> None:
        """Add entries under the claim, and close the turn of the message `closes`.

        Raises SessionBusyError when the claim is stale, SessionError for a key of another session.
        """
        checks.check_session(claim, key["session_id"])
        texts = entry_texts(entries)
        with self._lock:
            session = self._held(claim)
            self._add(key, texts)
            if closes is not None:
                session.closed.add(closes)
                _drop(session.settled, [closes])
                _drop(session.pending, [closes])
                _drop(session.journal, [closes])

    async def park(
        self,
        claim: Claim,
        key: SessionKey,
        entries: Sequence[Entry],
        settled: Sequence[SettledCall],
        pending: Sequence[PendingApproval],
    ) -> None:
        """Store transcript tail, verdicts and parked calls, in place of what their turns had stored.

        Raises SessionBusyError when the claim is stale, SessionError for a closed turn or another session's records.
        """
        keys = [call.key for call in settled] + [approval.key for approval in pending]
        checks.check_session(claim, key["session_id"], *(call.session_id for call in keys))
        texts = entry_texts(entries)
        verdicts = settled_texts(settled)
        copies = [_copy(approval) for approval in pending]
        with self._lock:
            session = self._held(claim)
            _check_open(session, keys)
            stored = dict(session.pending)
            turns = {call.message_uuid for call in keys}
            _drop(session.settled, turns)
            _drop(session.pending, turns)
            session.settled |= verdicts
            for approval in copies:
                session.pending[approval.key] = checks.parked_again(stored.get(approval.key), approval)
                session.parked.setdefault(approval.key)
            self._add(key, texts)

    async def open_turn(self, session_id: str) -> OpenTurn:
        """What is stored of the session's open turns, as copies."""
        with self._lock:
            session = self._known(session_id)
            settled, pending = dict(session.settled), dict(session.pending)
            journal = {key: replace(row) for key, row in session.journal.items()}
        results = {key: row.result for key, row in journal.items()}
        return OpenTurn(
            settled={key: settled_from_text(text) for key, text in settled.items()},
            pending={key: _copy(approval) for key, approval in pending.items()},
            done={key: result_from_text(text) for key, text in results.items() if text is not None},
            started=frozenset(key for key, text in results.items() if text is None),
            effective={key: json_object("Journal.effective", row.effective) for key, row in journal.items()},
        )

    async def pending(
        self, session_id: str | None = None, *, after: str | None = None, limit: int = 100
    ) -> list[PendingApproval]:
        """One page of the calls that wait for an answer, oldest first. Raises SessionError for an unknown `after`."""
        place = None if after is None else checks.read_cursor(after)
        with self._lock:
            now = self._now()
            sessions = list(self._sessions.values()) if session_id is None else [self._known(session_id)]
            waiting = [
                (checks.place_of(approval), approval)
                for session in sessions
                for approval in session.pending.values()
                if approval.answer is None and not checks.is_expired(approval, now)
            ]
        waiting.sort(key=lambda item: item[0])
        page = [approval for at, approval in waiting if place is None or at > place]
        return [_copy(approval) for approval in page[: max(0, limit)]]

    async def parked(self, session_id: str, tool_use_id: str) -> list[CallKey]:
        """Every call of the session that was ever parked under this id, oldest first."""
        with self._lock:
            session = self._known(session_id)
            return [key for key in session.parked if key.tool_use_id == tool_use_id]

    async def answer(self, key: CallKey, answer: Answer, *, digest: str | None = None) -> bool:
        """Store the first valid answer: True; False for a second one or an expired or closed call.

        Raises DeferralError for a call that was never parked and for another digest than the parked one's.
        """
        with self._lock:
            session, now = self._known(key.session_id), self._now()
            if key not in session.parked:
                raise checks.never_parked(key)
            approval = session.pending.get(key)
            if approval is None or not checks.takes_answer(approval, digest, now):
                return False
            stamped = replace(answer, at=answer.at or now)
            session.pending[key] = _copy(replace(approval, answer=stamped))
        self._waiters.wake(key.session_id)
        return True

    async def wait(self, session_id: str, timeout: timedelta, *, seen: int = 0) -> bool:
        """Wait until the session's open calls hold more than `seen` answers: True; or for `timeout`: False."""
        return await self._waiters.wait(session_id, timeout, lambda: self._answered(session_id, seen))

    # journal

    async def begin_call(
        self, claim: Claim, key: CallKey, effective: JsonObject, *, settled: Sequence[SettledCall] = ()
    ) -> Begun:
        """Mark a call as started: `Run`; or tell what is known of it: `Done`, `Unknown`.

        Raises SessionBusyError when the claim is stale, SessionError when the turn is closed.
        """
        checks.check_session(claim, key.session_id, *(call.key.session_id for call in settled))
        text = json_text("Journal.effective", effective)
        verdicts = settled_texts(settled)
        with self._lock:
            session = self._held(claim)
            _check_open(session, [key, *verdicts])
            session.settled |= verdicts
            row = session.journal.get(key)
            if row is None:
                session.journal[key] = _Started(claim.fence, text)
                session.pending.pop(key, None)
                return Run()
            return Unknown() if row.result is None else Done(result_from_text(row.result))

    async def restart_call(self, claim: Claim, key: CallKey) -> None:
        """Let an unknown call be begun once more; one with a result stays. Raises SessionBusyError when stale."""
        checks.check_session(claim, key.session_id)
        with self._lock:
            session = self._held(claim)
            row = session.journal.get(key)
            if row is not None and row.result is None:
                del session.journal[key]

    async def end_call(self, claim: Claim, key: CallKey, result: ToolResult) -> None:
        """Store the result; the first one stays. A stale claim may still end what it began itself.

        Raises SessionError when a good claim ends a call that was never begun.
        """
        checks.check_session(claim, key.session_id)
        text = result_text(result)
        with self._lock:
            good = self._holds(claim)
            row = self._known(key.session_id).journal.get(key)
            if row is None and good:
                raise checks.not_begun(key)
            if row is not None and row.result is None and (good or row.fence == claim.fence):
                row.result = text

    # inside; the lock is held

    def _session(self, session_id: str) -> _Session:
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = _Session()
        return session

    def _known(self, session_id: str) -> _Session:
        return self._sessions.get(session_id) or _Session()

    def _holds(self, claim: Claim) -> bool:
        session = self._sessions.get(claim.session_id)
        good = None if session is None else session.claim
        return good is not None and (good.fence, good.owner) == (claim.fence, claim.owner)

    def _held(self, claim: Claim) -> _Session:
        session = self._session(claim.session_id)
        if not self._holds(claim):
            raise checks.stale(claim, session.claim, self._now())
        return session

    def _add(self, key: SessionKey, texts: Sequence[tuple[str | None, str]]) -> None:
        if not texts:
            return
        address, now = _address(key), self._now()
        transcript = self._transcripts.get(address)
        if transcript is None:
            transcript = self._transcripts[address] = _Transcript(now)
        for uuid, text in texts:
            if uuid is None or uuid not in transcript.uuids:
                transcript.lines.append(text)
                if uuid is not None:
                    transcript.uuids.add(uuid)
        transcript.written = now

    # inside; the lock is not held

    async def _answered(self, session_id: str, seen: int) -> bool:
        with self._lock:
            session = self._known(session_id)
            return sum(approval.answer is not None for approval in session.pending.values()) > seen


def _address(key: SessionKey) -> _Address:
    return key["project_key"], key["session_id"], key.get("subpath", "")


def _copy(approval: PendingApproval) -> PendingApproval:
    return codec.pending_from_json(codec.pending_to_json(approval))


def _drop(rows: dict[CallKey, _Row], turns: Iterable[str]) -> None:
    for key in [key for key in rows if key.message_uuid in turns]:
        del rows[key]


def _check_open(session: _Session, keys: Iterable[CallKey]) -> None:
    for key in keys:
        if key.message_uuid in session.closed:
            raise checks.turn_closed(key)
