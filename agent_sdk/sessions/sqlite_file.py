"""One SQLite file: transactions in a thread of its own, its faults told in words."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from agent_sdk.errors import SessionError
from agent_sdk.sessions.at_once import must_be_at_once, waits_until
from agent_sdk.sessions.one_thread import OneThread
from agent_sdk.sessions.sqlite_connection import SharedConnection

_Result = TypeVar("_Result")
_Mode = Literal["IMMEDIATE", "DEFERRED"]


class SQLiteFile:
    """Runs functions on the one connection to a file, each in a transaction of its own, in one worker thread.

    The file is opened at the first use, in WAL mode with synchronous=FULL: what was committed survives a crash of the
    process and of the machine. `busy` is how many seconds to wait while another process writes. A fork of the process
    waits for what is going on, and closes the file: parent and child open it again at their next use.
    """

    def __init__(self, path: Path, *, busy: float) -> None:
        self.path = path
        self._shared = SharedConnection(path, busy)
        self._thread = OneThread(f"agent_sdk {path.name}")
        weakref.finalize(self, self._shared.let_go).atexit = False

    async def read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """What `work` reads, all of it as of one moment. Raises SessionError when the file cannot be used."""
        return await self._do(work, "DEFERRED", False)

    async def write(
        self,
        work: Callable[[sqlite3.Connection], _Result],
        *,
        shielded: bool = True,
        undo: Callable[[sqlite3.Connection, _Result], object] | None = None,
    ) -> _Result:
        """Commit all that `work` writes, or nothing when it raises.

        Once it began it is never abandoned: a cancelled caller waits for its end. `shielded`: it also begins when the
        caller is cancelled already. `undo` takes it back, when it was committed and its caller went away without the
        result. Raises SessionError when the file cannot be used.
        """
        return await self._do(work, "IMMEDIATE", shielded, undo)

    async def _do(
        self,
        work: Callable[[sqlite3.Connection], _Result],
        mode: _Mode,
        shielded: bool,
        undo: Callable[[sqlite3.Connection, _Result], object] | None = None,
    ) -> _Result:
        until = waits_until()
        if must_be_at_once():
            return self._run(work, mode, until)
        undoing = None if undo is None else partial(self._take_back, undo)
        return await self._thread.run(
            partial(self._run, work, mode, until), shielded=shielded and until is None, undo=undoing
        )

    def _take_back(self, undo: Callable[[sqlite3.Connection, _Result], object], result: _Result) -> None:
        self._run(lambda connection: undo(connection, result), "IMMEDIATE", None)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._shared.close()

    def _run(self, work: Callable[[sqlite3.Connection], _Result], mode: _Mode, until: float | None) -> _Result:
        """In this thread; others hold it up no longer than until then, by the monotonic clock."""
        try:
            with self._shared.used(until) as connection:
                return _transaction(connection, work, mode)
        except (sqlite3.Error, OSError) as error:
            raise _in_words(self.path, error) from error


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


def _in_words(path: Path, error: sqlite3.Error | OSError) -> SessionError:
    """What SQLite and the system say about the file, for a person."""
    if isinstance(error, OSError):
        return SessionError(f"the session store cannot be made: {error}; give SQLiteStore another path")
    return SessionError(f"{_fault(error)}: {path} ({error}). Nothing of this step was stored.")


def _fault(error: sqlite3.Error) -> str:
    code: int = vars(error).get("sqlite_errorcode", 0)  # what the Python module finds itself has none
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
