"""`agent-sdk resume` where nobody is: in a job of cron, behind a pipe at its end. Real processes."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.test_run import bash, environment, script

pytestmark = pytest.mark.slow

PROGRAM = [sys.executable, "-m", "agent_sdk"]
STORE = ["--store", "s.sqlite"]


def agent_sdk(folder: Path, *words: str, typed: str | None = None) -> subprocess.CompletedProcess[str]:
    """The command in a folder with a store of its own; `typed` comes through a pipe, without it there is no input."""
    given = {"stdin": subprocess.DEVNULL} if typed is None else {"input": typed}
    return subprocess.run([*PROGRAM, *words, *STORE], text=True, capture_output=True, cwd=folder, env=environment(),
                          timeout=60, check=False, **given)  # type: ignore[call-overload, no-any-return]  # fmt: skip


def session_in(folder: Path) -> str:
    (listed,) = agent_sdk(folder, "sessions", "--json").stdout.splitlines()
    return str(json.loads(listed)["session_id"])


@pytest.fixture
def parked(tmp_path: Path) -> str:
    """A session with two parked calls."""
    calls = bash("echo one > one")["content"] + bash("echo two > two")["content"]
    agent_sdk(tmp_path, "run", "go", *script(tmp_path, [{"content": calls}]), typed="9\n9\n")
    return session_in(tmp_path)


WAITS = "waits for an answer"


@pytest.mark.parametrize("typed", [None, ""], ids=["no input", "a pipe at its end"])
def test_what_was_parked_stays_parked(typed: str | None, parked: str, tmp_path: Path) -> None:
    """Nothing is asked and nothing is denied; an answer from elsewhere still counts."""
    resume = ("resume", parked, "--script", "script.json")
    done = agent_sdk(tmp_path, *resume, typed=typed)
    assert (done.returncode, done.stdout.count(WAITS), done.stderr) == (0, 2, "")
    assert "May it run?" not in done.stdout
    for pending in agent_sdk(tmp_path, "pending", "--json").stdout.splitlines():
        assert agent_sdk(tmp_path, "answer", parked, json.loads(pending)["tool_use_id"], "allow").returncode == 0
    assert "(completed" in agent_sdk(tmp_path, *resume, typed=typed).stdout
    assert (tmp_path / "two").read_text() == "two\n"


def test_answers_through_a_pipe_count_until_it_ends(parked: str, tmp_path: Path) -> None:
    """The first call is answered, the second one stays parked; a writer that takes its time is waited for."""
    done = agent_sdk(tmp_path, "resume", parked, "--script", "script.json", typed="1\n")
    assert "(the input ended: the call is parked)" in done.stdout
    assert done.stdout.count(WAITS) == 1
    words = [*PROGRAM, "resume", parked, "--script", "script.json", *STORE]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path,
                          env=environment()) as process:  # fmt: skip
        time.sleep(1)
        assert "(completed" in process.communicate("1\n", timeout=30)[0]
    assert {path.name for path in tmp_path.iterdir()} >= {"one", "two"}


def test_what_crashed_is_told_as_unknown(tmp_path: Path) -> None:
    """Nobody is there to be asked whether it may run again: the model reads that, and the log says so too."""
    command = bash("echo began >> effects; kill -9 $PPID; sleep 5")
    agent_sdk(tmp_path, "run", "go", *script(tmp_path, [command]), "--mode", "bypassPermissions")
    session = session_in(tmp_path)
    with sqlite3.connect(tmp_path / "s.sqlite") as connection:
        connection.execute("UPDATE claims SET until = 0")  # its lease is over
    connection.close()
    done = agent_sdk(tmp_path, "resume", session, "--script", "script.json")
    assert "The outcome of this call is unknown" in done.stdout
    assert "Not approved" not in done.stdout
    assert (tmp_path / "effects").read_text() == "began\n"
    replayed = agent_sdk(tmp_path, "policy", "replay", session, "--all").stdout
    assert "resume), unknown" in replayed


def test_without_a_key_nothing_is_asked_and_nothing_runs(parked: str, tmp_path: Path) -> None:
    """It is told once, before anything else; the approved call and the one that waits are as they were."""
    first = json.loads(agent_sdk(tmp_path, "pending", "--json").stdout.splitlines()[0])
    assert agent_sdk(tmp_path, "answer", parked, first["tool_use_id"], "allow").returncode == 0
    done = agent_sdk(tmp_path, "resume", parked, typed="1\n1\n")
    assert (done.returncode, done.stdout) == (3, "")
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["error", "where", "to do"]
    assert "there is no key" in done.stderr
    assert not (tmp_path / "one").exists()
    assert "(completed" in agent_sdk(tmp_path, "resume", parked, "--script", "script.json", typed="1\n1\n").stdout


def test_a_model_that_fails_is_told_once(tmp_path: Path) -> None:
    """The transcript on standard output ends, and standard error says why."""
    (tmp_path / "script.json").write_text(
        json.dumps({"turns": [{"content": [], "faults": [{"kind": "http", "status": 401}]}]})
    )
    done = agent_sdk(tmp_path, "run", "go", "--script", "script.json")
    assert done.returncode == 3
    assert "(model_error" in done.stdout
    assert (done.stdout + done.stderr).count("401") == 1
