"""SQLiteStore: the default store. One private file, no server, asyncio and trio, any number of processes.

The file may not lie on a network file system: SQLite's locks do not hold there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from sqlite3 import Connection

from agent_sdk.calls import CallKey, ToolResult
from agent_sdk.sessions import checks, texts
from agent_sdk.sessions import sqlite_calls as calls
from agent_sdk.sessions import sqlite_transcripts as transcripts
from agent_sdk.sessions.fields import json_objects, json_text
from agent_sdk.sessions.records import Answer, Begun, Claim, Entry, OpenTurn, PendingApproval, SettledCall
from agent_sdk.sessions.sqlite_file import SQLiteFile
from agent_sdk.sessions.store import SessionKey, SessionListEntry
from agent_sdk.sessions.waiters import Waiters
from agent_sdk.values import Json, JsonObject


def default_path() -> Path:
    """`sessions.sqlite` in a folder of our own under the user's state directory."""
    import platformdirs  # noqa: PLC0415 - only who uses the default store needs it

    return platformdirs.user_state_path("agent-sdk", appauthor=False) / "sessions.sqlite"


class SQLiteStore:
    """All three ports of a session in one SQLite file.

    `path=None` is the user's own store (`default_path`). A missing folder is made with mode 0700, a missing file with
    0600; nothing is touched before the first use. What a method has returned from is on the disk (WAL,
    synchronous=FULL). Writes are never abandoned on cancel. `busy_timeout` is how many seconds to wait while another
    process writes; `now` is the clock (aware datetimes).

    Every method raises SessionError when the file cannot be used: disk full, read-only, damaged, of a newer version,
    locked for too long. Nothing of the failed step is stored then, and all that was stored before stays.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        busy_timeout: float = 30.0,
        now: Callable[[], datetime] = texts.utc_now,
    ) -> None:
        self.path = default_path() if path is None else Path(path)
        self._file = SQLiteFile(self.path, busy=busy_timeout)
        self._now = now
        self._waiters = Waiters()

    def close(self) -> None:
        """Close the file. The next use opens it again."""
        self._file.close()

    # transcripts

    async def append(self, key: SessionKey, entries: Sequence[Entry]) -> None:
        """Add entries at the end; one whose `uuid` is there already is left out."""
        lines, address = texts.entry_texts(entries), transcripts.address_of(key)
        await self._file.write(lambda connection: transcripts.add(connection, address, lines, self._now()))

    async def load(self, key: SessionKey) -> list[JsonObject] | None:
        """All entries in order, or `None` when there is no such transcript."""
        lines = await self._file.read(lambda connection: transcripts.load(connection, transcripts.address_of(key)))
        return None if lines is None else json_objects("Entry", lines)

    async def load_page(self, key: SessionKey, after: int, limit: int) -> list[tuple[int, JsonObject]]:
        """The next entries of a transcript behind the place `after` (0 = from the start), each with its place.

        At most `limit`; empty at the end, and for an unknown key. For reading what is too long to be held at once.
        """
        address = transcripts.address_of(key)
        lines = await self._file.read(lambda connection: transcripts.page(connection, address, after, limit))
        entries = json_objects("Entry", [text for _, text in lines])
        return [(place, entry) for (place, _), entry in zip(lines, entries, strict=True)]

    async def list_sessions(self, project_key: str) -> list[SessionListEntry]:
        """The sessions of a project with the time of their last entry."""
        return await self._file.read(lambda connection: transcripts.sessions(connection, project_key))

    async def beginnings(self, project_key: str) -> dict[str, tuple[Json, Json]]:
        """For each session of a project the directory where it was started and the content of its first user message.

        Each is `None` where the first entries do not tell. One query, for lists that people read.
        """
        return await self._file.read(lambda connection: transcripts.beginnings(connection, project_key))

    async def delete(self, key: SessionKey) -> None:
        """Remove a transcript; without `subpath` all that is known of the session. Unknown keys are ignored."""
        await self._file.write(lambda connection: transcripts.delete(connection, transcripts.address_of(key)))

    async def list_subkeys(self, key: SessionKey) -> list[str]:
        """The subpaths of a session, in the order in which they began."""
        return await self._file.read(lambda connection: transcripts.subpaths(connection, transcripts.address_of(key)))

    # claims

    async def now(self) -> datetime:
        """The time by this machine's clock, or by the one that the store was given."""
        return self._now()

    async def projects(self, session_id: str | None = None) -> list[str]:
        """The project keys in use, sorted; with `session_id` those that have this session."""
        return await self._file.read(lambda connection: transcripts.projects(connection, session_id))

    async def claim(self, session_id: str, owner: str, lease: timedelta) -> Claim:
        """Take the right to run a session. Raises SessionBusyError while another claim is good.

        One that nobody hears of, because its caller went away meanwhile, is given back.
        """

        def take(connection: Connection) -> Claim:
            now = self._now()
            return transcripts.take_claim(connection, session_id, owner, now + lease, now)

        return await self._file.write(take, shielded=False, undo=transcripts.release_claim)

    async def renew(self, claim: Claim, lease: timedelta) -> Claim | None:
        """The claim with a later end, or `None` when it is lost."""
        return await self._file.write(
            lambda connection: transcripts.renew_claim(connection, claim, self._now() + lease)
        )

    async def release(self, claim: Claim) -> None:
        """Give the claim back. A stale claim is ignored."""
        await self._file.write(lambda connection: transcripts.release_claim(connection, claim))

    # parked calls

    async def write(
        self, claim: Claim, key: SessionKey, entries: Sequence[Entry], *, closes: str | None = None
    ) -> None:
        """Add entries under the claim, and close the turn of the message `closes`, in one commit.

        Raises SessionBusyError when the claim is stale, SessionError for a key of another session.
        """
        checks.check_session(claim, key["session_id"])
        lines, address = texts.entry_texts(entries), transcripts.address_of(key)

        def add(connection: Connection) -> None:
            now = self._now()
            transcripts.check_held(connection, claim, now)
            transcripts.add(connection, address, lines, now)
            if closes is not None:
                calls.close_turn(connection, claim.session_id, closes)

        await self._file.write(add)

    async def park(
        self,
        claim: Claim,
        key: SessionKey,
        entries: Sequence[Entry],
        settled: Sequence[SettledCall],
        pending: Sequence[PendingApproval],
    ) -> None:
        """Store transcript tail, verdicts and parked calls, in place of what their turns had stored, in one commit.

        Raises SessionBusyError when the claim is stale, SessionError for a closed turn or another session's records.
        """
        keys = [call.key for call in settled] + [approval.key for approval in pending]
        checks.check_session(claim, key["session_id"], *(call.session_id for call in keys))
        lines, address = texts.entry_texts(entries), transcripts.address_of(key)
        verdicts = texts.settled_texts(settled)
        approvals = [(approval, texts.approval_text(approval)) for approval in pending]

        def store(connection: Connection) -> None:
            now = self._now()
            transcripts.check_held(connection, claim, now)
            calls.check_open(connection, keys)
            calls.replace_turns(connection, keys, verdicts, approvals)
            transcripts.add(connection, address, lines, now)

        await self._file.write(store)

    async def open_turn(self, session_id: str) -> OpenTurn:
        """What is stored of the session's open turns."""
        return await self._file.read(lambda connection: calls.open_turn(connection, session_id))

    async def pending(
        self, session_id: str | None = None, *, after: str | None = None, limit: int = 100
    ) -> list[PendingApproval]:
        """One page of the calls that wait for an answer, oldest first. Raises SessionError for an unknown `after`."""
        place = None if after is None else checks.read_cursor(after)
        return await self._file.read(
            lambda connection: calls.waiting(connection, session_id, place, limit, self._now())
        )

    async def parked(self, session_id: str, tool_use_id: str) -> list[CallKey]:
        """Every call of the session that was ever parked under this id, oldest first."""
        return await self._file.read(lambda connection: calls.parked(connection, session_id, tool_use_id))

    async def answer(self, key: CallKey, answer: Answer, *, digest: str | None = None) -> bool:
        """Store the first valid answer: True; False for a second one or an expired or closed call.

        Raises DeferralError for a call that was never parked and for another digest than the parked one's.
        """
        accepted = await self._file.write(lambda connection: calls.accept(connection, key, answer, digest, self._now()))
        if accepted:
            self._waiters.wake(key.session_id)
        return accepted

    async def wait(self, session_id: str, timeout: timedelta, *, seen: int = 0) -> bool:
        """Wait until the session's open calls hold more than `seen` answers: True; or for `timeout`: False.

        An answer given in this event loop is heard at once, one from elsewhere within a second.
        """

        async def answered() -> bool:
            return await self._file.read(lambda connection: calls.answers(connection, session_id)) > seen

        return await self._waiters.wait(session_id, timeout, answered)

    # journal

    async def begin_call(
        self, claim: Claim, key: CallKey, effective: JsonObject, *, settled: Sequence[SettledCall] = ()
    ) -> Begun:
        """Mark a call as started: `Run`; or tell what is known of it: `Done`, `Unknown`.

        A caller that is cancelled before it began has started nothing. Raises SessionBusyError when the claim is stale,
        SessionError when the turn is closed.
        """
        checks.check_session(claim, key.session_id, *(call.key.session_id for call in settled))
        text, verdicts = json_text("Journal.effective", effective), texts.settled_texts(settled)

        def begin(connection: Connection) -> Begun:
            transcripts.check_held(connection, claim, self._now())
            calls.check_open(connection, [key, *verdicts])
            calls.add_settled(connection, verdicts)
            return calls.begin(connection, key, claim.fence, text)

        return await self._file.write(begin, shielded=False)

    async def restart_call(self, claim: Claim, key: CallKey) -> None:
        """Let an unknown call be begun once more; one with a result stays. Raises SessionBusyError when stale."""
        checks.check_session(claim, key.session_id)

        def restart(connection: Connection) -> None:
            transcripts.check_held(connection, claim, self._now())
            calls.restart(connection, key)

        await self._file.write(restart)

    async def end_call(self, claim: Claim, key: CallKey, result: ToolResult) -> None:
        """Store the result, also when the caller is cancelled; the first one stays.

        A stale claim may still end what it began itself. Raises SessionError when a good claim ends a call that was
        never begun.
        """
        checks.check_session(claim, key.session_id)
        text = texts.result_text(result)

        def end(connection: Connection) -> None:
            calls.end(connection, key, text, fence=claim.fence, good=transcripts.holds(connection, claim))

        await self._file.write(end)
