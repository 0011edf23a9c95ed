"""SQLiteStore between processes: one claim wins, one answer wins, and kill -9 loses nothing that was acknowledged."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from agent_sdk.calls import ToolResult
from agent_sdk.decisions import Allow
from agent_sdk.sessions.records import Answer
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.testing.store_values import approval, entry, session_key

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
LEASE = timedelta(seconds=30)


def start(command: str, path: Path, name: str) -> subprocess.Popen[str]:
    """A worker process."""
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("store_worker.py")), command, str(path), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def line(process: subprocess.Popen[str]) -> str:
    """The next line that a worker says."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def race(command: str, path: Path, count: int) -> list[str]:
    """Let so many workers do the same at the same moment; what each said."""
    workers = [start(command, path, str(number)) for number in range(count)]
    assert {line(worker) for worker in workers} == {"ready"}
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    said = [line(worker) for worker in workers]
    for worker in workers:
        worker.communicate(timeout=30)
        assert worker.returncode == 0
    return said


async def parked(store: SQLiteStore) -> None:
    """Park one call in the session `s`."""
    claim = await store.claim("s", "run", LEASE)
    await store.park(claim, session_key(), [entry("m1")], [], [await approval(store, "t1")])
    await store.release(claim)


def test_one_of_eight_processes_gets_the_claim(tmp_path: Path) -> None:
    """Eight processes claim a session of a store that none of them has made yet: one wins, seven read its name."""
    said = race("claim", tmp_path / "new" / "s.sqlite", 8)
    winners = [number for number, words in enumerate(said) if words.startswith("won")]
    assert len(winners) == 1
    assert [words for words in said if not words.startswith("won")] == [f"busy {winners[0]}"] * 7


def test_one_of_six_processes_gives_the_answer(tmp_path: Path) -> None:
    """The same call answered from six processes at once: one is told True, and it is the one whose answer is kept."""
    store = SQLiteStore(tmp_path / "s.sqlite")
    anyio.run(parked, store)
    said = race("answer", store.path, 6)
    assert sorted(said) == ["False"] * 5 + ["True"]
    (kept,) = anyio.run(store.open_turn, "s").pending.values()
    assert kept.answer is not None
    assert kept.answer.by == str(said.index("True"))


def test_a_waiter_in_another_process_hears_the_answer(tmp_path: Path) -> None:
    """An answer given here ends a wait there within a few seconds."""
    store = SQLiteStore(tmp_path / "s.sqlite")
    anyio.run(parked, store)
    worker = start("wait", store.path, "0")
    assert line(worker) == "ready"

    async def answer() -> None:
        (call,) = await store.pending()
        assert await store.answer(call.key, Answer(decision=Allow()))

    began = time.monotonic()
    anyio.run(answer)
    assert line(worker) == "True"
    assert time.monotonic() - began < 20
    worker.communicate(timeout=30)


@pytest.mark.parametrize("rounds", [3, pytest.param(25, marks=pytest.mark.slow)])
def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path, rounds: int) -> None:
    """Writers are killed at random; every entry, start and result of which they had been told is in the store."""
    dice = random.Random(rounds)
    path = tmp_path / "s.sqlite"
    acknowledged: dict[str, set[str]] = defaultdict(set)
    kills = 0
    for _ in range(rounds):
        workers = [start("live", path, str(number)) for number in range(3)]
        assert {line(worker) for worker in workers} == {"ready"}
        time.sleep(dice.uniform(0.2, 0.8))
        for worker in workers:
            worker.send_signal(signal.SIGKILL)
            kills += 1
        for number, worker in enumerate(workers):
            assert worker.stdout is not None
            *whole, _ = worker.stdout.read().split("\n")
            acknowledged[f"s{number}"] |= set(whole)
            worker.communicate(timeout=30)
    assert kills == 3 * rounds
    assert sum(map(len, acknowledged.values())) > 10 * rounds
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    store = SQLiteStore(path)
    for session_id, lines in acknowledged.items():
        anyio.run(check, store, session_id, lines)


def test_no_call_runs_twice_however_often_workers_die(tmp_path: Path) -> None:
    """Workers share sessions, lose leases and are killed at random; every call has run at most once, and the journal
    knows of each that did."""
    dice = random.Random(7)
    path = tmp_path / "s.sqlite"
    for _ in range(5):
        workers = [start("work", path, str(number)) for number in range(3)]
        assert {line(worker) for worker in workers} == {"ready"}
        time.sleep(dice.uniform(0.2, 0.6))
        for worker in workers:
            worker.kill()
            worker.communicate(timeout=30)
    effects = (tmp_path / "effects").read_text().splitlines()
    assert len(effects) == len(set(effects))
    assert len(effects) > 20
    store = SQLiteStore(path)
    known = set()
    for number in range(60):
        turn = anyio.run(store.open_turn, f"w{number}")
        known |= {f"{key.session_id} {key.tool_use_id}" for key in (*turn.done, *turn.started)}
    assert set(effects) <= known
    assert len(effects) <= len(known) <= 180


async def check(store: SQLiteStore, session_id: str, lines: set[str]) -> None:
    """All that was acknowledged is there, each entry once."""
    loaded = [str(item["uuid"]) for item in await store.load(session_key(session_id)) or []]
    assert len(loaded) == len(set(loaded))
    turn = await store.open_turn(session_id)
    done = {key.message_uuid: result for key, result in turn.done.items()}
    started = {key.message_uuid for key in turn.started}
    for words in lines:
        what, uuid = words.split()
        match what:
            case "entry":
                assert uuid in loaded
            case "begun":
                assert uuid in started or uuid in done or f"r{uuid}" in loaded
            case "done":
                assert f"r{uuid}" in loaded or done[uuid] == ToolResult("y" * 5000)
            case "closed":
                assert f"r{uuid}" in loaded
                assert uuid not in started
                assert uuid not in done
