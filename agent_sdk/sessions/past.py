"""The calls of stored sessions, read back: what the model asked for, what was decided then, what came of it.

Told as far as the records tell: of a call without a recorded decision only the result is known.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, TypeAlias

from agent_sdk.decisions import Trace
from agent_sdk.errors import SessionError, SessionNotFoundError
from agent_sdk.permissions.messages import UNKNOWN_OUTCOME
from agent_sdk.sessions.codec import trace_from_json
from agent_sdk.sessions.records import OpenTurn, PendingApproval, micros
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.sessions.store import PROJECT_KEY, DeferralStore, SessionKey, SessionStore
from agent_sdk.values import Json, JsonObject

Outcome: TypeAlias = Literal["ran", "not run", "waiting", "unknown"]
"""`unknown`: there is no result, or an error that may come from the tool as well as from a gate."""

PAGE = 100
"""Entries that are held at once, where the store can be read in pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The decision that was recorded for a call, in the fields of a `Verdict`. `input` is the one that was decided on:
    the model's, or what hooks and people made of it."""

    behavior: str
    by: str
    reason: str
    rule: str | None
    trace: Trace
    input: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class PastCall:
    """One call of a stored session. `said` is the model's input; `decided` is `None` when nothing is recorded.

    `cwd` is where it was judged, `directory` where its session was started, `mode` the permission mode of then, `at`
    when the model made it; each is `None` when the transcript does not say.
    """

    session_id: str
    subpath: str
    tool_use_id: str
    tool: str
    said: JsonObject
    cwd: str | None = None
    directory: str | None = None
    mode: str | None = None
    at: datetime | None = None
    outcome: Outcome = "unknown"
    decided: Decided | None = None


async def past_calls(
    store: SessionStore, *, session_id: str | None = None, since: datetime | None = None
) -> AsyncIterator[PastCall]:
    """Every call of a store, or of one session, sessions in the order of their last use, the last one first.

    `since` leaves out what is known to be older. Of a SQLiteStore no more than `PAGE` entries are held at once, of
    another store one transcript. A session that is running is read as far as it is stored. Raises SessionNotFoundError
    for an unknown session, SessionError for a store that cannot be read.
    """
    for key in await _keys(store, session_id, since):
        for subpath in ("", *await store.list_subkeys(key)):
            own: SessionKey = {**key, "subpath": subpath} if subpath else key
            reader = _Reader(key["session_id"], subpath)
            async for entry in _entries(store, own):
                for call in reader.read(entry):
                    if since is None or call.at is None or call.at >= since:
                        yield call
            if reader.calls:
                turn = await store.open_turn(key["session_id"]) if isinstance(store, DeferralStore) else OpenTurn()
                for call in reader.open_calls(turn):
                    if since is None or call.at is None or call.at >= since:
                        yield call


async def _keys(store: SessionStore, session_id: str | None, since: datetime | None) -> list[SessionKey]:
    projects = await store.projects(session_id) if isinstance(store, DeferralStore) else [PROJECT_KEY]
    oldest = 0 if since is None else micros(since) // 1000
    found = [
        (entry["mtime"], SessionKey(project_key=project, session_id=entry["session_id"]))
        for project in projects
        for entry in await store.list_sessions(project)
        if session_id is None or entry["session_id"] == session_id
    ]
    if session_id is not None and not found:
        raise SessionNotFoundError(f"the store has no session {session_id!r}", session_id=session_id)
    return [key for mtime, key in sorted(found, key=lambda one: one[0], reverse=True) if mtime >= oldest]


async def _entries(store: SessionStore, key: SessionKey) -> AsyncIterator[JsonObject]:
    if not isinstance(store, SQLiteStore):
        for entry in await store.load(key) or []:
            yield entry
        return
    place = 0
    while page := await store.load_page(key, place, PAGE):
        for place, entry in page:  # noqa: B007 - the last place is where the next page begins
            yield entry


@dataclass(slots=True)
class _Reader:
    """Reads one transcript, entry by entry. Holds the calls of the open message and what was decided on them."""

    session_id: str
    subpath: str
    state: JsonObject = field(default_factory=dict)
    uuid: str = ""
    calls: dict[str, PastCall] = field(default_factory=dict)

    def read(self, entry: JsonObject) -> Iterator[PastCall]:
        """The calls that this entry closes."""
        match entry.get("type"):
            case "state":
                self.state = entry
            case "assistant":
                yield from self._taken()
                if not entry.get("refused"):
                    self._open(entry)
            case "permission":
                self._decide(entry)
            case "user" if self.calls:
                self._answer(entry)
                yield from self._taken()

    def open_calls(self, turn: OpenTurn) -> Iterator[PastCall]:
        """The calls of a turn that has no end in the transcript, with what the store knows beside it."""
        for key, approval in turn.pending.items():
            if key.message_uuid == self.uuid and (call := self.calls.get(key.tool_use_id)) is not None:
                self.calls[call.tool_use_id] = _parked(call, approval)
        for key in turn.done:
            if key.message_uuid == self.uuid and (call := self.calls.get(key.tool_use_id)) is not None:
                self.calls[call.tool_use_id] = replace(call, outcome="ran")
        for key, settled in turn.settled.items():
            if key.message_uuid == self.uuid and (call := self.calls.get(key.tool_use_id)) is not None:
                outcome: Outcome = "not run" if settled.behavior == "deny" else call.outcome
                self.calls[call.tool_use_id] = replace(call, outcome=outcome)
        yield from self._taken()

    def _taken(self) -> Iterator[PastCall]:
        calls, self.calls = self.calls, {}
        yield from calls.values()

    def _open(self, entry: JsonObject) -> None:
        self.uuid = _text(entry.get("uuid")) or ""
        for block in _blocks(entry):
            match block:
                case {"type": "tool_use", "id": str(call_id), "name": str(tool), "input": Mapping() as said}:
                    self.calls[call_id] = PastCall(
                        session_id=self.session_id,
                        subpath=self.subpath,
                        tool_use_id=call_id,
                        tool=tool,
                        said=said,
                        cwd=_text(self.state.get("cwd")),
                        directory=_text(self.state.get("directory")),
                        mode=_text(self.state.get("mode")),
                        at=_moment(entry.get("timestamp")),
                    )

    def _decide(self, entry: JsonObject) -> None:
        """Take note of a decision. One that cannot be read is as if it were not there."""
        match entry:
            case {"tool_use_id": str(call_id), "behavior": str(behavior), "by": str(by), "input": Mapping() as decided}:
                call = self.calls.get(call_id)
                if call is None:
                    return
                try:
                    trace = trace_from_json(entry.get("trace"))
                except SessionError:
                    trace = ()
                reason = _text(entry.get("reason")) or ""
                self.calls[call_id] = replace(
                    call,
                    outcome=_outcome(behavior, reason),
                    decided=Decided(
                        behavior=behavior,
                        by=by,
                        reason=reason,
                        rule=_text(entry.get("rule")),
                        trace=trace,
                        input=decided,
                    ),
                )

    def _answer(self, entry: JsonObject) -> None:
        """Where no decision is recorded, a result that is no error shows that the call ran."""
        for block in _blocks(entry):
            match block:
                case {"type": "tool_result", "tool_use_id": str(call_id)}:
                    call = self.calls.get(call_id)
                    if call is not None and call.decided is None and not block.get("is_error"):
                        self.calls[call_id] = replace(call, outcome="ran")


def _outcome(behavior: str, reason: str) -> Outcome:
    """A call that a resume did not run again had been started before: nobody can say whether it ran."""
    if behavior == "allow":
        return "ran"
    return "unknown" if reason == UNKNOWN_OUTCOME else "not run"


def _parked(call: PastCall, approval: PendingApproval) -> PastCall:
    decided = Decided(
        behavior="defer",
        by="parked",
        reason=approval.reason,
        rule=None,
        trace=trace_from_json(approval.trace),
        input=approval.tool_input,
    )
    return replace(call, cwd=approval.cwd, outcome="waiting", decided=decided)


def _blocks(entry: JsonObject) -> list[JsonObject]:
    message = entry.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _moment(value: Json) -> datetime | None:
    """An aware datetime, or `None`."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None
