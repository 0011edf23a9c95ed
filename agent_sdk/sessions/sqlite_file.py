"""One SQLite file: made private, opened once, used by one thread at a time, its faults told in words."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from agent_sdk.errors import SessionError
from agent_sdk.sessions.at_once import SECONDS, must_be_at_once
from agent_sdk.sessions.one_thread import OneThread
from agent_sdk.sessions.sqlite_schema import migrate

_Result = TypeVar("_Result")
_Mode = Literal["IMMEDIATE", "DEFERRED"]


class SQLiteFile:
    """Runs functions on the one connection to a file, each in a transaction of its own, in one worker thread.

    The file is opened at the first use, in WAL mode with synchronous=FULL: what was committed survives a crash of the
    process and of the machine. `busy` is how many seconds to wait while another process writes.
    """

    def __init__(self, path: Path, *, busy: float) -> None:
        self.path = path
        self._busy = busy
        self._connection: sqlite3.Connection | None = None
        self._begin_in_this_process()
        _FILES.add(self)

    def _begin_in_this_process(self) -> None:
        self._lock = threading.Lock()
        self._thread = OneThread(f"agent_sdk {self.path.name}")

    async def read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """What `work` reads, all of it as of one moment. Raises SessionError when the file cannot be used."""
        return await self._do(work, "DEFERRED", shielded=False)

    async def write(self, work: Callable[[sqlite3.Connection], _Result], *, shielded: bool = True) -> _Result:
        """Commit all that `work` writes, or nothing when it raises.

        Once it began it is never abandoned: a cancelled caller waits for its end. `shielded`: it also begins when the
        caller is cancelled already. Raises SessionError when the file cannot be used.
        """
        return await self._do(work, "IMMEDIATE", shielded=shielded)

    async def _do(self, work: Callable[[sqlite3.Connection], _Result], mode: _Mode, *, shielded: bool) -> _Result:
        if must_be_at_once():
            return self._run_at_once(work, mode)
        return await self._thread.run(partial(self._run, work, mode), shielded=shielded)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection = None
                self._closing()

    def _run(self, work: Callable[[sqlite3.Connection], _Result], mode: _Mode) -> _Result:
        with self._lock:
            try:
                return _transaction(self._opened(), work, mode)
            except (sqlite3.Error, OSError) as error:
                raise _in_words(self.path, error) from error

    def _run_at_once(self, work: Callable[[sqlite3.Connection], _Result], mode: _Mode) -> _Result:
        """As `_run`, in the caller's thread, and not held up by others for long."""
        if not self._lock.acquire(timeout=SECONDS):
            raise SessionError(f"the session store {self.path} is busy. Nothing of this step was stored.")
        try:
            connection = self._opened()
            connection.execute(f"PRAGMA busy_timeout = {int(SECONDS * 1000)}")
            try:
                return _transaction(connection, work, mode)
            finally:
                connection.execute(f"PRAGMA busy_timeout = {int(self._busy * 1000)}")
        except (sqlite3.Error, OSError) as error:
            raise _in_words(self.path, error) from error
        finally:
            self._lock.release()

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = _open(self.path, self._busy)
            self._closing = weakref.finalize(self, self._connection.close)
            self._closing.atexit = False
        return self._connection

    def forked(self) -> None:
        """Begin anew in a child process: the thread is not there, and a lock may be held by one that is not there."""
        if self._connection is not None:
            self._closing.detach()
            _OF_THE_PARENT.append(self._connection)
            self._connection = None
        self._begin_in_this_process()


_FILES: weakref.WeakSet[SQLiteFile] = weakref.WeakSet()
_OF_THE_PARENT: list[sqlite3.Connection] = []
"""Connections that a fork brought along. Closing them in the child could harm the parent's: they are only kept."""


def _after_fork() -> None:
    for file in list(_FILES):
        file.forked()


os.register_at_fork(after_in_child=_after_fork)


def _transaction(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], _Result], mode: _Mode) -> _Result:
    connection.execute(f"BEGIN {mode}")
    try:
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result


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


def _in_words(path: Path, error: sqlite3.Error | OSError) -> SessionError:
    """What SQLite and the system say about the file, for a person."""
    if isinstance(error, OSError):
        return SessionError(f"the session store cannot be made: {error}; give SQLiteStore another path")
    return SessionError(f"{_fault(error)}: {path} ({error}). Nothing of this step was stored.")


def _fault(error: sqlite3.Error) -> str:
    code = error.sqlite_errorcode if isinstance(error, sqlite3.DatabaseError) else 0
    match code & 0xFF:
        case sqlite3.SQLITE_FULL:
            return "the disk of the session store is full; make room and resume"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return "the session store can only be read; make file and folder writable, or use another path"
        case sqlite3.SQLITE_CANTOPEN:
            return "the session store cannot be opened; is its folder there, and writable?"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return "another process keeps the session store locked; try again when it is done"
        case sqlite3.SQLITE_IOERR:
            return "the disk of the session store failed"
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return "the session store is damaged or no database; restore it from a copy, or use another path"
        case _:
            return "the session store failed"
