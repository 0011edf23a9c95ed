"""`agent-sdk run`, with scripts in place of a model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = [sys.executable, "-c", "import sys; from agent_sdk.cli.main import main; sys.exit(main())", "run", "go"]


def bash(command: str) -> dict[str, Any]:
    return {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": command}}]}


def run(tmp_path: Path, turns: list[Any], *options: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """The command over a script, in an empty folder, with `typed` on standard input."""
    return subprocess.run([*PROGRAM, *script(tmp_path, turns), *options], input=typed, text=True, capture_output=True,
                          cwd=tmp_path, env=environment(), timeout=60, check=False)  # fmt: skip


def script(tmp_path: Path, turns: list[Any]) -> list[str]:
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"turns": turns}))
    return ["--script", str(path)]


def environment() -> dict[str, str]:
    names = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    return {name: value for name, value in os.environ.items() if name not in names} | {"PYTHONPATH": os.getcwd()}


@pytest.mark.parametrize(
    ("typed", "seen"), [("1\n", "✓ ran"), ("3\n", "✗ The user did not allow"), ("", "✗ Not approved")]
)
def test_the_person_decides(typed: str, seen: str, tmp_path: Path) -> None:
    """A call runs only after a yes; the end of the input is a no."""
    done = run(tmp_path, [bash("echo ran")], typed=typed)
    assert seen in done.stdout
    assert done.returncode == 0


def test_rules_decide_without_a_person(tmp_path: Path) -> None:
    """`--allow` and `--deny` are rules of this run; `--fail-on-denial` turns a denial into exit code 1."""
    turns = [bash("echo one"), bash("touch two")]
    done = run(tmp_path, turns, "--allow", "Bash(echo:*)", "--deny", "Bash(touch:*)", "--fail-on-denial")
    assert "✓ one" in done.stdout
    assert done.stderr.splitlines()[1] == "  Bash: touch two (Bash(touch:*) covers the command)"
    assert done.returncode == 1
    assert not (tmp_path / "two").exists()


def test_a_remembered_answer_counts_in_the_next_run(tmp_path: Path) -> None:
    """The choice "always" saves the rule: the same command needs no answer later in this run and in the next."""
    turns = [bash("echo ran"), bash("echo ran")]
    first = run(tmp_path, turns, typed="8\n1\n\n")
    assert first.stdout.count("Permission needed") == 1
    assert json.loads((tmp_path / ".claude" / "settings.local.json").read_text()) == {
        "permissions": {"allow": ["Bash(echo ran)"]}
    }
    assert run(tmp_path, turns).stdout.count("Permission needed") == 0
    assert run(tmp_path, turns, "--setting-sources", "none").stdout.count("Permission needed") == 2


def test_json_asks_nobody_without_a_terminal(tmp_path: Path) -> None:
    """One message a line, the result last; what needs a person is denied, and a yes on standard input is not read."""
    done = run(tmp_path, [bash("echo one")], "--json", typed="1\n")
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    assert [message["type"] for message in messages] == ["system", "assistant", "user", "assistant", "result"]
    assert messages[2]["message"]["content"][0]["is_error"] is True
    assert messages[-1]["permission_denials"][0]["tool_input"] == {"command": "echo one"}
    assert (done.returncode, done.stderr) == (0, "")


def test_a_limit_is_a_no(tmp_path: Path) -> None:
    """A run that ends in an error exits with 1."""
    done = run(tmp_path, [bash("echo one")], "--max-turns", "1", "--mode", "bypassPermissions")
    assert "max_turns" in done.stdout
    assert done.returncode == 1


def test_without_a_key_it_says_what_to_do(tmp_path: Path) -> None:
    """No key is a fault of the surroundings: exit code 3, three lines."""
    home = {**environment(), "HOME": str(tmp_path)}
    done = subprocess.run(PROGRAM, stdin=subprocess.DEVNULL, text=True, capture_output=True, cwd=tmp_path, env=home,
                          timeout=60, check=False)  # fmt: skip
    assert done.returncode == 3
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["error", "where", "to do"]
    assert "ANTHROPIC_API_KEY" in done.stderr


def test_ctrl_c_ends_the_run_legally(tmp_path: Path) -> None:
    """The first Ctrl-C stops what runs, the run ends with a result, and the exit code is 130."""
    words = [*PROGRAM, *script(tmp_path, [bash("echo started; sleep 60")]), "--mode", "bypassPermissions", "--json"]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=tmp_path, env=environment()) as command:  # fmt: skip
        assert command.stdout is not None
        for line in command.stdout:
            if json.loads(line)["type"] == "assistant":
                break
        command.send_signal(signal.SIGINT)
        last = [json.loads(line) for line in command.stdout][-1]
    assert last["terminal_reason"] == "aborted_tools"
    assert command.returncode == 130


def test_two_ctrl_c_end_it_at_once(tmp_path: Path) -> None:
    """The second Ctrl-C does not wait for a result; the exit code is 130 and there is no traceback."""
    words = [*PROGRAM, *script(tmp_path, [bash("echo started; sleep 60")]), "--mode", "bypassPermissions", "--json"]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=tmp_path, env=environment()) as command:  # fmt: skip
        assert command.stdout is not None
        assert command.stderr is not None
        while json.loads(command.stdout.readline())["type"] != "assistant":
            pass
        command.send_signal(signal.SIGINT)
        command.send_signal(signal.SIGINT)
        assert "Traceback" not in command.stderr.read()
    assert command.returncode == 130


@pytest.mark.parametrize("options", [["--json"], []], ids=["json", "lines"])
def test_a_reader_that_leaves_ends_the_run(options: list[str], tmp_path: Path) -> None:
    """When nobody reads the output any more, the run ends quietly with 141."""
    turns = [bash("echo on")] * 50
    words = [*PROGRAM, *script(tmp_path, turns), "--mode", "bypassPermissions", *options]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=tmp_path, env=environment()) as command:  # fmt: skip
        assert command.stdout is not None
        assert command.stderr is not None
        command.stdout.readline()
        command.stdout.close()
        assert command.stderr.read() == ""
    assert command.returncode == 141
