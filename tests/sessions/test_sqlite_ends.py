"""SQLiteStore where a process ends in the middle of work, and where stores are let go."""

from __future__ import annotations

import gc
import threading
import time
from pathlib import Path

import anyio
import pytest

from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.testing.store_values import entry, session_key
from tests.sessions.own_process import ran

BOTH = pytest.mark.parametrize("backend", ["asyncio", "trio"])

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
    assert time.monotonic() - began < 25
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
