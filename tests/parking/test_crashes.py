"""The crash suite: workers that resume parked sessions are killed at random, until all is done.

Without the journal the same suite finds tools that ran twice, so it can see what it looks for.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from threading import Timer

import anyio
import pytest

from agent_sdk import Allow, Inbox
from tests.parking.test_killed import effects, results, worker
from tests.parking.worker import CALLS, QuickStore, park

WORKERS = 3
MOST_DONE = 4
"""A worker is killed when it has done less than that, by count and not by the clock: so there are kills enough on
machines of any speed."""


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
            said = killed_at_random((one, two, three), dice, came)
        came.completed += [line.split()[1] for line in said if line.startswith("completed ")]
        done = "idle" in said
    assert done, "the sessions were not finished in time"
    return came


def killed_at_random(workers: Sequence[subprocess.Popen[str]], dice: random.Random, came: Crashes) -> list[str]:
    """Kill each of the workers after a while; what they said. A worker that hangs is killed, too."""
    late = Timer(60, lambda: [process.kill() for process in workers])
    late.daemon = True
    late.start()
    assert [heard(process, 1) for process in workers] == [["ready"]] * WORKERS
    said = []
    for process in dice.sample(workers, WORKERS):
        said += heard(process, dice.randrange(MOST_DONE))
        time.sleep(dice.uniform(0, 0.1))
        came.kills += process.poll() is None
        process.kill()
    said += [line for process in workers for line in heard(process)]
    late.cancel()
    return said


def heard(process: subprocess.Popen[str], count: int | None = None) -> list[str]:
    """The next lines that a worker says, as many as `count`, or all until it is dead."""
    assert process.stdout is not None
    return [line.rstrip("\n") for line in islice(process.stdout, count)]


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
