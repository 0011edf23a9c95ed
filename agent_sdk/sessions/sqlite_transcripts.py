"""Transcripts and claims in SQL. Every function works on a connection inside a transaction and does not commit."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import TypeAlias

from agent_sdk.sessions import checks
from agent_sdk.sessions.records import Claim, micros, moment
from agent_sdk.sessions.store import SessionKey, SessionListEntry
from agent_sdk.values import Json, to_text

Address: TypeAlias = tuple[str, str, str]
"""Project key, session id and subpath (empty for the session's own transcript), as stored."""

_FIRST = 3
"""Among so many entries stand the state in which a session was started and its first prompt."""

OF_A_SESSION = ("claims", "settled", "approvals", "journal", "closed_turns")


@lru_cache(maxsize=1024)
def stored(name: str) -> str:
    """A name as its column holds it: escaped to ASCII, so that lone surrogates and NUL fit."""
    return to_text(name)[1:-1]


def plain_name(column: str) -> str:
    """The name that `stored` was given."""
    return str(json.loads(f'"{column}"'))


def address_of(key: SessionKey) -> Address:
    """Where a transcript lies."""
    return stored(key["project_key"]), stored(key["session_id"]), stored(key.get("subpath", ""))


def add(
    connection: sqlite3.Connection, address: Address, texts: Sequence[tuple[str | None, str]], now: datetime
) -> None:
    """Add entries; those whose uuid is there already are left out."""
    if not texts:
        return
    mtime = micros(now) // 1000
    row = connection.execute(
        "SELECT id FROM transcripts WHERE project_key = ? AND session_id = ? AND subpath = ?", address
    ).fetchone()
    if row is None:
        transcript = connection.execute(
            "INSERT INTO transcripts VALUES (NULL, ?, ?, ?, ?)", (*address, mtime)
        ).lastrowid
    else:
        (transcript,) = row
        connection.execute("UPDATE transcripts SET mtime = ? WHERE id = ?", (mtime, transcript))
    connection.executemany(
        "INSERT OR IGNORE INTO entries VALUES (NULL, ?, ?, ?)",
        [(transcript, None if uuid is None else stored(uuid), text) for uuid, text in texts],
    )


def load(connection: sqlite3.Connection, address: Address) -> list[str] | None:
    """The texts of all entries in order, or `None` when there is no such transcript."""
    row = connection.execute(
        "SELECT id FROM transcripts WHERE project_key = ? AND session_id = ? AND subpath = ?", address
    ).fetchone()
    if row is None:
        return None
    rows = connection.execute("SELECT body FROM entries WHERE transcript = ? ORDER BY id", row)
    return [text for (text,) in rows]


def page(connection: sqlite3.Connection, address: Address, after: int, limit: int) -> list[tuple[int, str]]:
    """The next entries behind the place `after`, at most `limit`, each with its place; empty at the end."""
    rows = connection.execute(
        """SELECT e.id, e.body FROM transcripts t JOIN entries e ON e.transcript = t.id
            WHERE t.project_key = ? AND t.session_id = ? AND t.subpath = ? AND e.id > ? ORDER BY e.id LIMIT ?""",
        (*address, after, limit),
    )
    return [(int(place), str(text)) for place, text in rows]


def sessions(connection: sqlite3.Connection, project_key: str) -> list[SessionListEntry]:
    """The sessions of a project."""
    rows = connection.execute(
        "SELECT session_id, mtime FROM transcripts WHERE project_key = ? AND subpath = '' ORDER BY id",
        (stored(project_key),),
    )
    return [SessionListEntry(session_id=plain_name(session_id), mtime=mtime) for session_id, mtime in rows]


def beginnings(connection: sqlite3.Connection, project_key: str) -> dict[str, tuple[Json, Json]]:
    """Directory and first user content of each session of a project, as far as its first entries tell."""
    rows = connection.execute(
        f"""SELECT t.session_id,
            json_extract(e.body, '$.type', CASE json_extract(e.body, '$.type')
                WHEN 'user' THEN '$.message.content' WHEN 'state' THEN '$.directory' ELSE '$.type' END)
            FROM transcripts t JOIN entries e ON e.transcript = t.id
            WHERE t.project_key = ? AND t.subpath = '' AND e.id IN
                (SELECT f.id FROM entries f WHERE f.transcript = t.id ORDER BY f.id LIMIT {_FIRST})
            ORDER BY e.id DESC""",
        (stored(project_key),),
    )
    found: dict[str, tuple[Json, Json]] = {}
    for session_id, text in rows:
        directory, content = found.get(session_id, (None, None))
        match json.loads(text):
            case ["state", told]:
                directory = told
            case ["user", told]:
                content = told
        found[session_id] = directory, content
    return {plain_name(session_id): told for session_id, told in found.items()}


def projects(connection: sqlite3.Connection, session_id: str | None) -> list[str]:
    """The project keys in use, or those that have this session."""
    if session_id is None:
        rows = connection.execute("SELECT DISTINCT project_key FROM transcripts")
    else:
        rows = connection.execute(
            "SELECT DISTINCT project_key FROM transcripts WHERE session_id = ?", (stored(session_id),)
        )
    return sorted(plain_name(project_key) for (project_key,) in rows)


def subpaths(connection: sqlite3.Connection, address: Address) -> list[str]:
    """The subpaths of a session, in the order in which they began."""
    rows = connection.execute(
        "SELECT subpath FROM transcripts WHERE project_key = ? AND session_id = ? AND subpath != '' ORDER BY id",
        address[:2],
    )
    return [plain_name(subpath) for (subpath,) in rows]


def delete(connection: sqlite3.Connection, address: Address) -> None:
    """Remove a transcript, or with an empty subpath everything of the session."""
    project_key, session_id, subpath = address
    where, values = "project_key = ? AND session_id = ?", [project_key, session_id]
    if subpath:
        where, values = f"{where} AND subpath = ?", [*values, subpath]
    connection.execute(f"DELETE FROM entries WHERE transcript IN (SELECT id FROM transcripts WHERE {where})", values)
    connection.execute(f"DELETE FROM transcripts WHERE {where}", values)
    if subpath or connection.execute("SELECT 1 FROM transcripts WHERE session_id = ?", (session_id,)).fetchone():
        return
    for table in OF_A_SESSION:
        connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))


def current_claim(connection: sqlite3.Connection, session_id: str) -> Claim | None:
    """The last claim on a session that was not released, its lease over or not."""
    row = connection.execute(
        "SELECT owner, fence, until FROM claims WHERE session_id = ? AND owner IS NOT NULL", (stored(session_id),)
    ).fetchone()
    if row is None:
        return None
    owner, fence, until = row
    return Claim(session_id=session_id, owner=plain_name(owner), fence=fence, until=moment(until))


def take_claim(connection: sqlite3.Connection, session_id: str, owner: str, until: datetime, now: datetime) -> Claim:
    """Claim a session. Raises SessionBusyError while another claim is good."""
    good = current_claim(connection, session_id)
    if good is not None and good.until > now:
        raise checks.busy(session_id, good.owner, good.until, now)
    fence = _next_fence(connection, session_id)
    connection.execute(
        "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?)", (stored(session_id), stored(owner), fence, micros(until))
    )
    return Claim(session_id=session_id, owner=owner, fence=fence, until=until)


def _next_fence(connection: sqlite3.Connection, session_id: str) -> int:
    """One more than the session's last fence, so that its runs see whether another one was there in between; for a new
    session one more than any ever given, so that a claim from before a delete is stale for ever."""
    row = connection.execute("SELECT fence FROM claims WHERE session_id = ?", (stored(session_id),)).fetchone()
    (last,) = connection.execute("SELECT last FROM fences").fetchone()
    fence = int(last if row is None else row[0]) + 1
    connection.execute("UPDATE fences SET last = max(last, ?)", (fence,))
    return fence


def holds(connection: sqlite3.Connection, claim: Claim) -> bool:
    """Is the claim the session's current one?"""
    row = connection.execute(
        "SELECT 1 FROM claims WHERE session_id = ? AND fence = ? AND owner = ?",
        (stored(claim.session_id), claim.fence, stored(claim.owner)),
    ).fetchone()
    return row is not None


def check_held(connection: sqlite3.Connection, claim: Claim, now: datetime) -> None:
    """Raises SessionBusyError when the claim is stale."""
    if not holds(connection, claim):
        raise checks.stale(claim, current_claim(connection, claim.session_id), now)


def renew_claim(connection: sqlite3.Connection, claim: Claim, until: datetime) -> Claim | None:
    """The claim with another end; `None` when it is lost."""
    done = connection.execute(
        "UPDATE claims SET until = ? WHERE session_id = ? AND fence = ? AND owner = ?",
        (micros(until), stored(claim.session_id), claim.fence, stored(claim.owner)),
    )
    return replace(claim, until=until) if done.rowcount == 1 else None


def release_claim(connection: sqlite3.Connection, claim: Claim) -> None:
    """Give the claim back, when it is the current one. Its fence is remembered."""
    connection.execute(
        "UPDATE claims SET owner = NULL, until = 0 WHERE session_id = ? AND fence = ? AND owner = ?",
        (stored(claim.session_id), claim.fence, stored(claim.owner)),
    )
