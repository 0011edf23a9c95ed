"""Signals end a command in order: the run has its result, and nothing that it started lives on."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pexpect
import pytest

pytestmark = pytest.mark.slow

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

# Whoever started the tests may ignore signals, which is inherited: here every signal means what it usually means.
USUAL = "import signal; [signal.signal(n, signal.SIG_DFL) for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)]; "
IGNORING = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); "
MAIN = "import sys; from agent_sdk.cli.main import main; sys.exit(main())"
ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]


def unused_seconds() -> str:
    """A duration for `sleep` that no other process uses."""
    return f"9{secrets.randbelow(10**9):09d}"


def living(token: str) -> int:
    """How many processes are `sleep` with this duration."""
    count = 0
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            count += Path(f"/proc/{name}/cmdline").read_bytes() == f"sleep\0{token}\0".encode()
        except OSError:
            continue
    return count


def wait_for(token: str, number: int) -> bool:
    """True once exactly so many sleepers live; False after ten seconds."""
    until = time.monotonic() + 10
    while living(token) != number:
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def script(tmp_path: Path, seconds: str) -> str:
    """A script whose one call has two sleepers, one of them out of reach of its process group."""
    turn = {"type": "tool_use", "name": "Bash", "input": {"command": f"setsid sleep {seconds} & sleep {seconds}"}}
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"turns": [{"content": [turn]}], "answers": ["1"]}))
    return str(path)


def started(prelude: str, words: list[str], tmp_path: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    return subprocess.Popen([sys.executable, "-c", prelude + MAIN, *words], stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment)  # fmt: skip


def run_words(tmp_path: Path, seconds: str) -> list[str]:
    return ["run", "go", "--mode", "bypassPermissions", "--json", "--script", script(tmp_path, seconds)]


@linux
@pytest.mark.parametrize("number", ENDING, ids=[number.name for number in ENDING])
def test_a_signal_ends_a_run_legally_with_all_it_started(number: signal.Signals, tmp_path: Path) -> None:
    """The result message comes, no process is left, and the exit code is 128 and the signal's number."""
    seconds = unused_seconds()
    with started(USUAL, run_words(tmp_path, seconds), tmp_path) as command:
        assert wait_for(seconds, 2)
        command.send_signal(number)
        out, err = command.communicate(timeout=20)
    assert living(seconds) == 0
    assert json.loads(out.splitlines()[-1])["terminal_reason"] == "aborted_tools"
    assert command.returncode == 128 + number
    assert "Traceback" not in err


@linux
@pytest.mark.parametrize("number", ENDING, ids=[number.name for number in ENDING])
def test_a_signal_ends_a_demo_with_all_it_started(number: signal.Signals, tmp_path: Path) -> None:
    """The demonstration ends at once, leaves no process and no folder."""
    seconds = unused_seconds()
    with started(USUAL, ["demo", "--script", script(tmp_path, seconds)], tmp_path) as command:
        assert wait_for(seconds, 2)
        command.send_signal(number)
        out, err = command.communicate(timeout=20)
    assert living(seconds) == 0
    assert command.returncode == 128 + number
    assert err == "Interrupted.\n"
    folder = next(line for line in out.splitlines() if "they work in" in line).rpartition(" ")[2].rstrip(")")
    assert not Path(folder).exists()


@linux
def test_a_terminal_that_is_closed_ends_a_run(tmp_path: Path) -> None:
    """Nothing can be said any more, and still everything ends."""
    seconds = unused_seconds()
    words = ["-c", USUAL + MAIN, *run_words(tmp_path, seconds)]
    child = pexpect.spawn(sys.executable, words, env={**os.environ, "PYTHONPATH": os.getcwd()}, cwd=str(tmp_path))
    assert wait_for(seconds, 2)
    child.ptyproc.fileobj.close()  # by the object that owns the descriptor, so that nothing closes it a second time
    child.closed = child.ptyproc.closed = True
    assert wait_for(seconds, 0)
    assert os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1]) == 128 + signal.SIGHUP


@linux
def test_a_signal_that_was_ignored_from_the_start_stays_ignored(tmp_path: Path) -> None:
    """Under `nohup` a run outlives its terminal."""
    seconds = unused_seconds()
    with started(IGNORING, run_words(tmp_path, seconds), tmp_path) as command:
        assert wait_for(seconds, 2)
        command.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert command.poll() is None
        assert living(seconds) == 2
        command.send_signal(signal.SIGTERM)
        command.communicate(timeout=20)
    assert living(seconds) == 0
