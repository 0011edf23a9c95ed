"""The tables of SQLiteStore, their version, and the way from an older version to this one.

Names (sessions, paths, ids) and bodies are ASCII-escaped JSON text, so that every string fits, lone surrogates too.
Times are microseconds since 1970, but `mtime`, which is in milliseconds.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TypeAlias

from agent_sdk.errors import SessionError

APPLICATION_ID = 0x61676E74
"""Marks the file as ours, so that another program's database is never touched."""

Migration: TypeAlias = Sequence[str]
"""The statements that lead from one version to the next."""

MIGRATIONS: tuple[Migration, ...] = (
    (
        """CREATE TABLE transcripts (
            id INTEGER PRIMARY KEY,
            project_key TEXT NOT NULL,
            session_id TEXT NOT NULL,
            subpath TEXT NOT NULL,
            mtime INTEGER NOT NULL,
            UNIQUE (project_key, session_id, subpath)
        )""",
        "CREATE INDEX transcripts_of_session ON transcripts (session_id)",
        """CREATE TABLE entries (
            id INTEGER PRIMARY KEY,
            transcript INTEGER NOT NULL,
            uuid TEXT,
            body TEXT NOT NULL
        )""",
        "CREATE INDEX entries_in_order ON entries (transcript, id)",
        "CREATE UNIQUE INDEX entries_once ON entries (transcript, uuid) WHERE uuid IS NOT NULL",
        "CREATE TABLE fences (last INTEGER NOT NULL)",
        "INSERT INTO fences VALUES (0)",
        """CREATE TABLE claims (
            session_id TEXT PRIMARY KEY,
            owner TEXT,
            fence INTEGER NOT NULL,
            until INTEGER NOT NULL
        ) WITHOUT ROWID""",
        """CREATE TABLE settled (
            session_id TEXT NOT NULL,
            message_uuid TEXT NOT NULL,
            agent_path TEXT NOT NULL,
            tool_use_id TEXT NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (session_id, message_uuid, agent_path, tool_use_id)
        )""",
        """CREATE TABLE approvals (
            id INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL,
            message_uuid TEXT NOT NULL,
            agent_path TEXT NOT NULL,
            tool_use_id TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('open', 'answered', 'closed')),
            created INTEGER NOT NULL,
            expires INTEGER,
            body TEXT,
            answer TEXT,
            UNIQUE (session_id, message_uuid, agent_path, tool_use_id)
        )""",
        """CREATE INDEX approvals_open
            ON approvals (created, session_id, agent_path, message_uuid, tool_use_id) WHERE state = 'open'""",
        """CREATE TABLE journal (
            session_id TEXT NOT NULL,
            message_uuid TEXT NOT NULL,
            agent_path TEXT NOT NULL,
            tool_use_id TEXT NOT NULL,
            fence INTEGER NOT NULL,
            effective TEXT NOT NULL,
            result TEXT,
            PRIMARY KEY (session_id, message_uuid, agent_path, tool_use_id)
        )""",
        """CREATE TABLE closed_turns (
            session_id TEXT NOT NULL,
            message_uuid TEXT NOT NULL,
            PRIMARY KEY (session_id, message_uuid)
        ) WITHOUT ROWID""",
    ),
)


def migrate(connection: sqlite3.Connection, name: str, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the open database to the newest version, in one transaction; nothing happens when it is there already.

    `name` is the file, for messages. Raises SessionError for a database of a newer version and for one that is not a
    session store; neither is changed.
    """
    if _version(connection, name, migrations) == len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in migrations[_version(connection, name, migrations) :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection, name: str, migrations: Sequence[Migration]) -> int:
    version = _pragma(connection, "user_version")
    owner = _pragma(connection, "application_id")
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if owner != APPLICATION_ID and (owner or version or tables):
        raise SessionError(f"{name} is a database of another program; give SQLiteStore a path of its own")
    if version > len(migrations):
        raise SessionError(
            f"{name} has schema version {version}, written by a newer agent_sdk; "
            f"this one knows versions up to {len(migrations)}: upgrade agent_sdk, or use another file"
        )
    return version


def _pragma(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
