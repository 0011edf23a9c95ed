"""The three small ports behind a session: its transcript, its parked calls, its journal.

One object may be all of them (`InMemoryStore` is). Every method may be called from asyncio and from trio. A run waits
for what it writes even when it is cancelled: what goes over a network needs a time limit of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NotRequired, Protocol, TypedDict, runtime_checkable

from agent_sdk.calls import CallKey, ToolResult
from agent_sdk.sessions.records import Answer, Begun, Claim, Entry, OpenTurn, PendingApproval, SettledCall
from agent_sdk.values import JsonObject

PROJECT_KEY = "agent_sdk"
"""The project key of all sessions that this package runs: ids are unique, so one can be resumed from any directory."""


class SessionKey(TypedDict):
    """Where a transcript lives. `subpath` names the transcript of a sub-agent inside the session."""

    project_key: str
    session_id: str
    subpath: NotRequired[str]


class SessionListEntry(TypedDict):
    """One session in a listing; `mtime` is in milliseconds since 1970."""

    session_id: str
    mtime: int


@runtime_checkable
class SessionStore(Protocol):
    """Transcripts. Method names and shapes are those of the Claude Agent SDK's protocol, so its adapters fit.

    These methods know no claim: they serve transcript-only stores, imports and reading. A run writes through
    `DeferralStore.write` where the store has it.
    """

    async def append(self, key: SessionKey, entries: Sequence[Entry]) -> None:
        """Add entries at the end, in order; an entry whose `uuid` the transcript holds already is left out."""
        ...

    async def load(self, key: SessionKey) -> list[JsonObject] | None:
        """All entries in order, or `None` when there is no such transcript."""
        ...

    async def list_sessions(self, project_key: str) -> list[SessionListEntry]:
        """The sessions of a project, without sub-agents' transcripts."""
        ...

    async def delete(self, key: SessionKey) -> None:
        """Remove a transcript. Without `subpath` everything of the session goes, parked calls and journal too."""
        ...

    async def list_subkeys(self, key: SessionKey) -> list[str]:
        """The subpaths that a session has."""
        ...


@runtime_checkable
class DeferralStore(Protocol):
    """Claims and parked calls. Times are the store's clock. What a stale claim asks for is refused.

    A claim is stale once another one was taken, it was released, or the session was deleted. One whose lease is over
    but which nobody took is still good, and can be renewed.
    """

    async def now(self) -> datetime:
        """The store's clock (aware): what `created_at` and `expires_at` of an approval are counted by."""
        ...

    async def projects(self, session_id: str | None = None) -> list[str]:
        """The project keys that have transcripts; with `session_id` those that have this session."""
        ...

    async def claim(self, session_id: str, owner: str, lease: timedelta) -> Claim:
        """Take the right to run a session, known or new. Raises SessionBusyError while another claim is good."""
        ...

    async def renew(self, claim: Claim, lease: timedelta) -> Claim | None:
        """The claim with a later end, or `None` when it is lost."""
        ...

    async def release(self, claim: Claim) -> None:
        """Give the claim back. A stale claim is ignored."""
        ...

    async def write(
        self, claim: Claim, key: SessionKey, entries: Sequence[Entry], *, closes: str | None = None
    ) -> None:
        """Add transcript entries under the claim, in one transaction; one whose `uuid` is there already is left out.

        A run repeats a write of which nobody knows whether it was stored, with the same entries.
        `closes` names the assistant message (its uuid) whose turn these entries close: its verdicts, parked calls and
        journal rows are dropped in the same transaction. Raises SessionBusyError when the claim is stale.
        """
        ...

    async def park(
        self,
        claim: Claim,
        key: SessionKey,
        entries: Sequence[Entry],
        settled: Sequence[SettledCall],
        pending: Sequence[PendingApproval],
    ) -> None:
        """Store transcript tail, verdicts and parked calls in one transaction.

        Replaces the verdicts and parked calls of the turns (the assistant messages) that `settled` and `pending` name;
        a parked call that is not named again is closed. An answer that came in meanwhile stays with its call as long
        as `digest`, `state` and `created_at` are the stored ones. Raises SessionBusyError when the claim is stale.
        """
        ...

    async def open_turn(self, session_id: str) -> OpenTurn:
        """All that is stored of the session's open turns, expired and answered approvals too; empty when none."""
        ...

    async def pending(
        self, session_id: str | None = None, *, after: str | None = None, limit: int = 100
    ) -> list[PendingApproval]:
        """Parked calls that still wait for an answer, oldest first, one page.

        `after` is the `cursor` of the last page's last approval. Raises SessionError for any other text.
        """
        ...

    async def parked(self, session_id: str, tool_use_id: str) -> list[CallKey]:
        """Every call of the session that was ever parked under this id, oldest first, closed ones too."""
        ...

    async def answer(self, key: CallKey, answer: Answer, *, digest: str | None = None) -> bool:
        """Store the first valid answer: True. A second one, or one for an expired or closed call: False.

        Raises DeferralError for a call that was never parked, and for a `digest` that is not the parked one's.
        """
        ...

    async def wait(self, session_id: str, timeout: timedelta, *, seen: int = 0) -> bool:
        """Wait until the session's open calls hold more than `seen` answers: True; or until the time is over: False.

        `seen` is how many the caller knows already (from `open_turn`), so that none is missed in between.
        """
        ...


@runtime_checkable
class Journal(Protocol):
    """What was started and what was finished, so that nothing runs twice."""

    async def begin_call(
        self, claim: Claim, key: CallKey, effective: JsonObject, *, settled: Sequence[SettledCall] = ()
    ) -> Begun:
        """Mark a call as started, durably, before its tool runs; `settled` verdicts are stored with it.

        `Run`: go; an approval of this call that was parked is used up and closed in the same transaction, so that one
        yes never lets it run twice. `Done`: it ran before. `Unknown`: it was started before and never finished. Raises
        SessionBusyError when the claim is stale, SessionError when the call's turn is closed.
        """
        ...

    async def restart_call(self, claim: Claim, key: CallKey) -> None:
        """Allow an unknown call to be begun once more: its tool is idempotent, or a person said so.

        Leaves a call alone that has a result by now, so that `begin_call` tells it. Raises SessionBusyError when the
        claim is stale.
        """
        ...

    async def end_call(self, claim: Claim, key: CallKey, result: ToolResult) -> None:
        """Store the result of a started call; the first one stays.

        A stale claim is accepted while the call that it began itself is unknown, and ignored otherwise. Raises
        SessionError when a good claim ends a call that was never begun.
        """
        ...
