"""Parked calls and the journal in SQL. Every function works on a connection inside a transaction, without commit."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import TypeAlias

from agent_sdk.calls import CallKey
from agent_sdk.sessions import checks, texts
from agent_sdk.sessions.fields import json_object
from agent_sdk.sessions.records import (
    Answer,
    Begun,
    Done,
    OpenTurn,
    PendingApproval,
    Run,
    Unknown,
    micros,
)
from agent_sdk.sessions.sqlite_transcripts import plain_name, stored
from agent_sdk.values import to_text

Columns: TypeAlias = tuple[str, str, str, str]
KEY = "session_id, message_uuid, agent_path, tool_use_id"
IS_KEY = "session_id = ? AND message_uuid = ? AND agent_path = ? AND tool_use_id = ?"
PLACE = "created, session_id, agent_path, message_uuid, tool_use_id"


def columns(key: CallKey) -> Columns:
    """A call's key as the tables hold it."""
    return stored(key.session_id), stored(key.message_uuid), _path(key.agent_path), stored(key.tool_use_id)


@lru_cache(maxsize=1024)
def _path(agent_path: tuple[str, ...]) -> str:
    return to_text(list(agent_path))


def key_of(row: Sequence[str]) -> CallKey:
    """The key in the four columns of `KEY`."""
    session_id, message_uuid, agent_path, tool_use_id = row
    return CallKey(
        session_id=plain_name(session_id),
        agent_path=tuple(json.loads(agent_path)),
        message_uuid=plain_name(message_uuid),
        tool_use_id=plain_name(tool_use_id),
    )


def check_open(connection: sqlite3.Connection, keys: Iterable[CallKey]) -> None:
    """Raises SessionError for a call of a closed turn."""
    checked: set[tuple[str, str]] = set()
    for key in keys:
        turn = (stored(key.session_id), stored(key.message_uuid))
        if turn in checked:
            continue
        checked.add(turn)
        if connection.execute("SELECT 1 FROM closed_turns WHERE session_id = ? AND message_uuid = ?", turn).fetchone():
            raise checks.turn_closed(key)


def add_settled(connection: sqlite3.Connection, settled: Mapping[CallKey, str]) -> None:
    """Store verdicts, in place of older ones."""
    if settled:
        rows = [(*columns(key), text) for key, text in settled.items()]
        connection.executemany("INSERT OR REPLACE INTO settled VALUES (?, ?, ?, ?, ?)", rows)


def replace_turns(
    connection: sqlite3.Connection,
    keys: Sequence[CallKey],
    settled: Mapping[CallKey, str],
    pending: Sequence[tuple[PendingApproval, str]],
) -> None:
    """Store verdicts and parked calls (with their texts) in place of all that the turns of `keys` had of them."""
    before = {approval.key: known(connection, approval.key) for approval, _ in pending}
    for session_id, message_uuid in {(key.session_id, key.message_uuid) for key in keys}:
        _drop(connection, session_id, message_uuid, ("settled",))
    add_settled(connection, settled)
    connection.executemany(
        f"""INSERT INTO approvals ({KEY}, state, created, expires, body, answer) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT ({KEY}) DO UPDATE SET state = excluded.state, created = excluded.created,
                expires = excluded.expires, body = excluded.body, answer = excluded.answer""",
        [_row(checks.parked_again(before[approval.key], approval), text) for approval, text in pending],
    )


def _row(approval: PendingApproval, text: str) -> tuple[str | int | None, ...]:
    return (
        *columns(approval.key),
        "open" if approval.answer is None else "answered",
        micros(approval.created_at),
        None if approval.expires_at is None else micros(approval.expires_at),
        text,
        None if approval.answer is None else texts.answer_text(approval.answer),
    )


def close_turn(connection: sqlite3.Connection, session_id: str, message_uuid: str) -> None:
    """Drop verdicts and journal of a turn; its parked calls stay by name only. Nothing of it can begin any more."""
    connection.execute("INSERT OR IGNORE INTO closed_turns VALUES (?, ?)", (stored(session_id), stored(message_uuid)))
    _drop(connection, session_id, message_uuid, ("settled", "journal"))


def _drop(connection: sqlite3.Connection, session_id: str, message_uuid: str, tables: Sequence[str]) -> None:
    turn = (stored(session_id), stored(message_uuid))
    for table in tables:
        connection.execute(f"DELETE FROM {table} WHERE session_id = ? AND message_uuid = ?", turn)
    connection.execute(
        """UPDATE approvals SET state = 'closed', body = NULL, answer = NULL
            WHERE session_id = ? AND message_uuid = ? AND state != 'closed'""",
        turn,
    )


def known(connection: sqlite3.Connection, key: CallKey) -> PendingApproval | None:
    """The parked call with its answer; `None` when it is closed or was never parked."""
    row = connection.execute(
        f"SELECT body, answer FROM approvals WHERE {IS_KEY} AND state != 'closed'", columns(key)
    ).fetchone()
    return None if row is None else texts.approval_from_text(*row)


def open_turn(connection: sqlite3.Connection, session_id: str) -> OpenTurn:
    """All that is stored of the session's open turns."""
    mine = (stored(session_id),)
    settled = connection.execute("SELECT body FROM settled WHERE session_id = ? ORDER BY rowid", mine)
    pending = connection.execute(
        "SELECT body, answer FROM approvals WHERE session_id = ? AND state != 'closed' ORDER BY id", mine
    )
    journal = connection.execute(
        f"SELECT {KEY}, effective, result FROM journal WHERE session_id = ? ORDER BY rowid", mine
    )
    started = {key_of(row[:4]): (str(row[4]), row[5]) for row in journal}
    return OpenTurn(
        settled={call.key: call for call in (texts.settled_from_text(text) for (text,) in settled)},
        pending={approval.key: approval for approval in (texts.approval_from_text(*row) for row in pending)},
        done={key: texts.result_from_text(text) for key, (_, text) in started.items() if text is not None},
        started=frozenset(key for key, (_, text) in started.items() if text is None),
        effective={key: json_object("Journal.effective", text) for key, (text, _) in started.items()},
    )


def waiting(
    connection: sqlite3.Connection, session_id: str | None, after: checks.Place | None, limit: int, now: datetime
) -> list[PendingApproval]:
    """One page of the calls that wait for an answer."""
    where = "state = 'open' AND (expires IS NULL OR expires > ?)"
    arguments: list[str | int] = [micros(now)]
    if session_id is not None:
        where += " AND session_id = ?"
        arguments.append(stored(session_id))
    if after is not None:
        created, session, path, message_uuid, tool_use_id = after
        where += f" AND ({PLACE}) > (?, ?, ?, ?, ?)"
        arguments += [created, stored(session), to_text(list(path)), stored(message_uuid), stored(tool_use_id)]
    rows = connection.execute(
        f"SELECT body FROM approvals WHERE {where} ORDER BY {PLACE} LIMIT ?", [*arguments, max(0, limit)]
    )
    return [texts.approval_from_text(text) for (text,) in rows]


def parked(connection: sqlite3.Connection, session_id: str, tool_use_id: str) -> list[CallKey]:
    """Every call of the session that was ever parked under this id."""
    rows = connection.execute(
        f"SELECT {KEY} FROM approvals WHERE session_id = ? AND tool_use_id = ? ORDER BY id",
        (stored(session_id), stored(tool_use_id)),
    )
    return [key_of(row) for row in rows]


def accept(connection: sqlite3.Connection, key: CallKey, answer: Answer, digest: str | None, now: datetime) -> bool:
    """Store the first valid answer. Raises DeferralError for a call never parked, and for another digest."""
    approval = known(connection, key)
    if approval is None:
        if connection.execute(f"SELECT 1 FROM approvals WHERE {IS_KEY}", columns(key)).fetchone() is None:
            raise checks.never_parked(key)
        return False
    if not checks.takes_answer(approval, digest, now):
        return False
    text = texts.answer_text(replace(answer, at=answer.at or now))
    connection.execute(f"UPDATE approvals SET state = 'answered', answer = ? WHERE {IS_KEY}", (text, *columns(key)))
    return True


def answers(connection: sqlite3.Connection, session_id: str) -> int:
    """How many answers the session's open calls hold."""
    row = connection.execute(
        "SELECT count(*) FROM approvals WHERE session_id = ? AND state = 'answered'", (stored(session_id),)
    ).fetchone()
    return int(row[0])


def begin(connection: sqlite3.Connection, key: CallKey, fence: int, effective: str) -> Begun:
    """Mark a call as started, and its parked approval as used up; or tell what is known of it."""
    call = columns(key)
    added = connection.execute(
        "INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, NULL) ON CONFLICT DO NOTHING", (*call, fence, effective)
    )
    if added.rowcount:
        connection.execute(
            f"UPDATE approvals SET state = 'closed', body = NULL, answer = NULL WHERE {IS_KEY} AND state != 'closed'",
            call,
        )
        return Run()
    (result,) = connection.execute(f"SELECT result FROM journal WHERE {IS_KEY}", call).fetchone()
    return Unknown() if result is None else Done(texts.result_from_text(result))


def restart(connection: sqlite3.Connection, key: CallKey) -> None:
    """Forget that an unknown call was started."""
    connection.execute(f"DELETE FROM journal WHERE {IS_KEY} AND result IS NULL", columns(key))


def end(connection: sqlite3.Connection, key: CallKey, result: str, *, fence: int, good: bool) -> None:
    """Store a result, when there is none. A stale run (`good=False`) ends only what it began itself.

    Raises SessionError when a good claim ends a call that was never begun.
    """
    done = connection.execute(
        f"UPDATE journal SET result = ? WHERE {IS_KEY} AND result IS NULL AND (? OR fence = ?)",
        (result, *columns(key), good, fence),
    )
    if done.rowcount or not good:
        return
    if connection.execute(f"SELECT 1 FROM journal WHERE {IS_KEY}", columns(key)).fetchone() is None:
        raise checks.not_begun(key)
