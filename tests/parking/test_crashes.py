"""The crash suite: workers that resume parked sessions are killed at random, until all is done.

Without the journal the same suite finds tools that ran twice, so it can see what it looks for.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from agent_sdk import Allow, Inbox
from tests.parking.test_killed import effects, results, worker
from tests.parking.worker import CALLS, QuickStore, park

WORKERS = 3


@dataclass
class Crashes:
    """What came of it: how often a worker was killed, and which sessions were said to be completed."""

    kills: int = 0
    completed: list[str] = field(default_factory=list)


async def park_and_answer(path: Path, ids: list[str]) -> None:
    """Park three calls in every session, and say yes to all of them."""
    store = QuickStore(path)
    inbox = Inbox(store)
    await park(store, *ids)
    assert len(await inbox.pending(limit=1000)) == 3 * len(ids)
    for session_id in ids:
        for call_id in CALLS:
            assert await inbox.answer(session_id, call_id, Allow(), by="test")
    assert await inbox.pending() == []
    store.close()


def crash(path: Path, sessions: int, kind: str, seed: int) -> Crashes:
    """Park, answer, and let three workers at a time resume; each is killed after a while, until nothing is left."""
    ids = [f"s{number}" for number in range(sessions)]
    anyio.run(park_and_answer, path, ids)
    dice, came = random.Random(seed), Crashes()
    deadline = time.monotonic() + 240
    done = False
    while not done and time.monotonic() < deadline:
        with (
            worker(path, "work", str(sessions), kind=kind) as one,
            worker(path, "work", str(sessions), kind=kind) as two,
            worker(path, "work", str(sessions), kind=kind) as three,
        ):
            workers = (one, two, three)
            assert {process.stdout.readline() for process in workers if process.stdout} == {"ready\n"}
            for process in dice.sample(workers, WORKERS):
                time.sleep(dice.uniform(0.05, 0.5))
                came.kills += process.poll() is None
                process.kill()
            said = [line for process in workers for line in process.communicate(timeout=30)[0].splitlines()]
        came.completed += [line.split()[1] for line in said if line.startswith("completed ")]
        done = "idle" in said
    assert done, "the sessions were not finished in time"
    return came


@pytest.mark.parametrize("sessions", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_nothing_runs_twice_and_nothing_is_lost(sessions: int, tmp_path: Path) -> None:
    """Every call ran at most once and has one result: what its tool said, or that its outcome is unknown."""
    path = tmp_path / "s.sqlite"
    came = crash(path, sessions, "quick", seed=sessions)
    ran = Counter(effects(path))
    assert max(ran.values()) == 1
    assert len(came.completed) == len(set(came.completed)) <= sessions
    unknown = 0
    for number in range(sessions):
        for call_id, text in results(path, f"s{number}").items():
            if text == f"ran {call_id}":
                assert ran[f"s{number} {call_id}"] == 1
            else:
                assert "unknown" in text
                unknown += 1
        assert set(results(path, f"s{number}")) == set(CALLS)
    assert sum(ran.values()) + unknown >= 3 * sessions
    print(f"{came.kills} kills, {sum(ran.values())} of {3 * sessions} calls ran, {unknown} unknown")
    assert came.kills >= sessions // 12


@pytest.mark.slow
def test_without_the_journal_calls_run_twice(tmp_path: Path) -> None:
    """The suite sees duplicates when the journal is switched off."""
    path = tmp_path / "s.sqlite"
    crash(path, 100, "forgetful", seed=1)
    twice = [call for call, count in Counter(effects(path)).items() if count > 1]
    print(f"{len(twice)} calls ran more than once")
    assert twice
