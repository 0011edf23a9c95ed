"""The one connection of this process to a SQLite file: made private, opened when needed, closed before every fork."""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent_sdk.errors import SessionError
from agent_sdk.sessions.forks import HoldsStill
from agent_sdk.sessions.sqlite_schema import migrate

GRACE = 5.0
"""A fork waits for a write that is going on: for this many seconds more than the write may wait for other processes."""

_LOST: list[sqlite3.Connection | None] = []
"""Connections that were in use, or perhaps not closed, when this process was forked. Then nothing of SQLite can be
relied on here: mutexes of its library may be held for ever, and it takes the parent's locks for its own. Not even
closing is safe."""


class SharedConnection(HoldsStill):
    """A connection that one thread uses at a time. `busy` is how many seconds to wait while another process writes."""

    slow = True

    def __init__(self, path: Path, busy: float) -> None:
        self.path = path
        self.connection: sqlite3.Connection | None = None
        self._busy = busy
        super().__init__()

    @contextmanager
    def used(self, until: float | None = None) -> Iterator[sqlite3.Connection]:
        """The open connection, for this thread alone. `until`: wait for others no longer than to this monotonic time.

        Raises SessionError when a thread of this process has it for longer, and in a process that cannot use SQLite.
        """
        if _LOST:
            raise SessionError(
                f"the session store {self.path} cannot be used in this process: it was forked in the middle of a write "
                "that did not end, or of a close that was interrupted. Nothing of this step was stored. "
                "Start processes by 'spawn', or fork them earlier."
            )
        lock = self._lock
        if not lock.acquire(timeout=-1 if until is None else max(0.0, until - time.monotonic())):
            raise SessionError(f"the session store {self.path} is busy. Nothing of this step was stored.")
        try:
            busy = self._busy if until is None else max(0.0, min(self._busy, until - time.monotonic()))
            if self.connection is None:
                self.connection = _open(self.path, busy)
            connection = self.connection
            if until is None:
                yield connection
            else:
                _wait_for(connection, busy)
                try:
                    yield connection
                finally:
                    _wait_for(connection, self._busy)
        finally:
            lock.release()

    def close(self) -> None:
        """Close it; the next use opens it again."""
        with self._lock:
            self._close()

    def let_go(self) -> None:
        """Close it for good, from wherever the garbage is collected. Only a fork can have it: that closes it too."""
        if self._lock.acquire(blocking=False):
            try:
                self._close()
            finally:
                self._lock.release()

    def _close(self) -> None:
        try:
            if self.connection is not None:
                self.connection.close()
        finally:
            self.connection = None

    @property
    def patience(self) -> float:
        """So long a fork waits for the write that is going on."""
        return self._busy + GRACE

    def hold_still(self, until: float) -> bool:
        """Before a fork: wait for the write that is going on, then close."""
        if not super().hold_still(until):
            return False
        if self.connection is not None:
            self.connection.close()
            self.connection = None  # not if closing raised: then the child must not touch it
        return True

    def go_on(self) -> None:
        """In the parent: a connection that is still there is one that was interrupted while it closed."""
        if self.is_mine():
            try:
                self._close()
            finally:
                super().go_on()

    def begin_anew(self, *, held: bool) -> None:
        """After a fork, in the child: if it was in use, or is still open, nothing of it may be touched here."""
        in_use = not held and not self._lock.acquire(blocking=False)
        if in_use or self.connection is not None:
            _LOST.append(self.connection)
            self.connection = None
        super().begin_anew(held=held)


def _wait_for(connection: sqlite3.Connection, seconds: float) -> None:
    connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")


def _open(path: Path, busy: float) -> sqlite3.Connection:
    _make_private(path)
    connection = sqlite3.connect(path, timeout=busy, isolation_level=None, check_same_thread=False)
    try:
        _use_wal(connection, busy)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        if sys.platform == "darwin":
            connection.execute("PRAGMA fullfsync = ON")
        migrate(connection, str(path))
    except BaseException:
        connection.close()
        raise
    return connection


def _make_private(path: Path) -> None:
    """Make folder (0700) and file (0600) where they are missing.

    An existing database is never opened here: closing it would drop the locks of this process's connections to it.
    """
    if not path.parent.is_dir():
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass


def _use_wal(connection: sqlite3.Connection, busy: float) -> None:
    """Switch to WAL. Another process that switches at this moment makes it fail at once, so it is tried again."""
    deadline = time.monotonic() + busy
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
