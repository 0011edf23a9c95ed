"""SQLiteStore where a process is copied or ends: forks, an exit in the middle of work, stores that are let go."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import anyio
import pytest

from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.testing.store_values import entry, session_key

ROOT = Path(__file__).parents[2]

HEAD = """
import gc, os, sqlite3, sys, threading, time
import anyio
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.testing.store_values import entry, session_key

path, backend = sys.argv[1:]
store = SQLiteStore(path)

async def add(name):
    await store.append(session_key(), [entry(name)])

def run(work, *arguments):
    return anyio.run(work, *arguments, backend=backend)

def names():
    return [item["uuid"] for item in run(store.load, session_key())]

def child(work):
    number = os.fork()
    if number == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 0
"""


def ran(script: str, path: Path, backend: str) -> list[str]:
    """What a process of its own prints, line by line; it ends well, and soon."""
    quiet = ["-W", "ignore::DeprecationWarning"]  # Python 3.12 and later warn of every fork beside threads
    command = [sys.executable, *quiet, "-c", HEAD + script, str(path), backend]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=30)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


BOTH = pytest.mark.parametrize("backend", ["asyncio", "trio"])

FORKED = """
run(add, "before")
of_parent = store._file._connection

def in_child():
    global store
    run(add, "child")
    assert store._file._connection is not of_parent
    print(*names(), flush=True)
    store.close()
    store = None
    gc.collect()
    of_parent.total_changes  # raises when it is closed

child(in_child)
run(add, "after")
print(*names())
"""


@BOTH
def test_a_forked_child_has_thread_and_connection_of_its_own(tmp_path: Path, backend: str) -> None:
    """Parent and child write through the same object, and the child never closes what belongs to the parent."""
    assert ran(FORKED, tmp_path / "s.sqlite", backend) == ["before child", "before child after"]


FORKED_IN_A_WRITE = """
run(add, "before")
entered, go = threading.Event(), threading.Event()

def slow(connection):
    entered.set()
    go.wait()

parent = threading.Thread(target=run, args=(store._file.write, slow))
parent.start()
entered.wait()
child(lambda: print(*names(), flush=True))
go.set()
parent.join()
run(add, "after")
print(*names())
"""


@BOTH
def test_a_fork_in_the_middle_of_a_write_holds_up_nobody(tmp_path: Path, backend: str) -> None:
    """What the parent's thread holds at the moment of the fork is not held in the child, and goes on in the parent."""
    assert ran(FORKED_IN_A_WRITE, tmp_path / "s.sqlite", backend) == ["before", "before after"]


EXIT = """
async def for_ever():
    async with anyio.create_task_group() as tasks:
        for lane in range(20):
            tasks.start_soon(lived, lane)

async def lived(lane):
    number = 0
    while True:
        number += 1
        await add(f"{lane}-{number}")
        os.write(1, f"{lane}-{number}\\n".encode())

threading.Thread(target=run, args=(for_ever,), daemon=True).start()
time.sleep(0.4)
"""


@BOTH
def test_an_exit_in_the_middle_of_work_loses_nothing_acknowledged(tmp_path: Path, backend: str) -> None:
    """A process ends while twenty writes are always waiting: at once, and all that was acknowledged is in the file."""
    began = time.monotonic()
    acknowledged = ran(EXIT, tmp_path / "s.sqlite", backend)
    assert time.monotonic() - began < 10
    assert len(acknowledged) > 20
    loaded = anyio.run(SQLiteStore(tmp_path / "s.sqlite").load, session_key()) or []
    assert set(acknowledged) <= {str(item["uuid"]) for item in loaded}


@BOTH
def test_stores_that_are_let_go_leave_nothing_behind(tmp_path: Path, backend: str) -> None:
    """Thirty stores, used and dropped without a close: no thread is left, no open file, and all is stored."""

    async def use_and_drop() -> None:
        for number in range(30):
            await SQLiteStore(tmp_path / f"let-go-{number}.sqlite").append(session_key(), [entry("1")])

    def left() -> list[str]:
        return [thread.name for thread in threading.enumerate() if "let-go" in thread.name]

    anyio.run(use_and_drop, backend=backend)
    gc.collect()
    end = time.monotonic() + 5
    while left() and time.monotonic() < end:
        time.sleep(0.01)
    assert left() == []
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(("-wal", "-shm"))], "closed, so written back"
    assert anyio.run(SQLiteStore(tmp_path / "let-go-29.sqlite").load, session_key()) == [entry("1")]
