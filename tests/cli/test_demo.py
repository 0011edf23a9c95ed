"""`agent-sdk demo`: played from the script, at a real terminal, and interrupted."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pexpect
import pytest

from agent_sdk.cli.demo import read_play
from agent_sdk.cli.main import main

PROGRAM = "import sys; from agent_sdk.cli.main import main; sys.exit(main())"


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The screen of a whole demonstration without a terminal."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert main(["demo"]) == 0
    assert list(tmp_path.iterdir()) == []
    screen = capsys.readouterr()
    assert screen.err == ""
    return screen.out


def test_without_a_terminal_the_script_answers(shown: str) -> None:
    """It says that nobody is there, asks three questions in one card, and shows who decided what, and why."""
    assert shown.startswith("(there is no terminal: the answers below are typed from the script)\n")
    for number in (1, 2, 3):
        assert f"({number}/3)" in shown
    ran, denied, why = shown.split("\nWhat ran, and who said so:\n")[1].split("\n\n")
    assert "  Write: index.html  (the script)" in ran.splitlines()
    assert "  Bash: mkdir -p public && cp index.html public/  (the script)" in ran.splitlines()
    assert "  Read: index.html  (nobody was asked: it only reads, and only here)" in ran.splitlines()
    assert "  Bash: cp index.html public/  (the script)" not in ran.splitlines()
    assert denied.splitlines()[1:] == ["  Read: .env  (deny rule Read(.env))", "  Bash: rm -r public  (the script)"]
    assert why.splitlines()[-1].endswith("callback the script → deny")
    assert "\x1b" not in shown


def test_every_command_that_is_shown_names_the_store_of_the_demonstration(shown: str) -> None:
    """Its sessions are not in the user's own one."""
    commands = [line for line in shown.splitlines() if "agent-sdk show" in line or line.startswith("$ agent-sdk")]
    assert len(commands) >= 4
    assert all("--store" in line for line in commands)


def test_yes_at_a_terminal_asks_nobody() -> None:
    """`--yes` takes the answers from the script where somebody could type."""
    child = at_terminal("demo", "--yes")
    child.expect("--yes was given")
    child.expect("What did not run")
    child.expect(pexpect.EOF)
    assert left(child) == 0


def test_a_person_decides() -> None:
    """At a terminal nothing is typed for the person; what they deny does not run."""
    child = at_terminal("demo")
    for answer in ("2", "2", "our own"):
        child.expect(r"\(\d/3\)")
        child.expect("\n> ")
        child.sendline(answer)
    child.expect('"What is the motto of the club.?"="our own"')
    child.expect("May it run")
    child.expect("\n> ")
    child.sendline("5")
    child.expect("aborted_tools")
    child.expect("nothing|AskUserQuestion")
    child.expect(pexpect.EOF)
    assert left(child) == 0


def test_ctrl_c_ends_it_with_one_line() -> None:
    """Ctrl-C is exit code 130, one line, no traceback."""
    child = at_terminal("demo")
    child.expect("\n> ")
    child.sendintr()
    child.expect("Interrupted")
    child.expect(pexpect.EOF)
    assert "Traceback" not in str(child.before)
    assert left(child) == 130


def at_terminal(*words: str) -> pexpect.spawn:
    """The command on a pseudo-terminal."""
    env = {**os.environ, "TERM": "dumb", "PYTHONPATH": os.getcwd()}
    return pexpect.spawn(sys.executable, ["-c", PROGRAM, *words], env=env, timeout=30, encoding="utf-8")


def left(child: pexpect.spawn) -> int | None:
    """The exit code."""
    child.close()
    return int(child.exitstatus) if child.exitstatus is not None else None


def test_a_script_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Any script of a ScriptedModel can be played; without answers every call is denied."""
    call = {"type": "tool_use", "name": "Bash", "input": {"command": "echo ran"}}
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [{"content": [call]}]}))
    assert main(["demo", "--script", str(script)]) == 0
    shown = capsys.readouterr().out
    assert "the input ended: the call is denied" in shown
    assert "  Bash: echo ran  (end of input)" in shown.splitlines()
    script.write_text(json.dumps({"turns": [{"content": [call]}], "answers": ["1"]}))
    assert main(["demo", "--script", str(script)]) == 0
    assert "✓ ran" in capsys.readouterr().out


BAD_SCRIPTS = ["", "{", "[", "3", "{}", '{"turns": 3}', '{"turns": [{"contents": []}]}', '{"turns": [], "answers": 3}',
               '{"turns": [], "answers": [1]}', '{"turns": [], "deny": "Bash"}', '{"turns": [], "prompt": " "}',
               "[" * 100_000]  # fmt: skip


@pytest.mark.parametrize("text", BAD_SCRIPTS, ids=lambda text: text[:40])
def test_a_script_that_cannot_be_played_is_told(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever is wrong with the file: exit code 2, three lines, its name."""
    script = tmp_path / "script.json"
    script.write_text(text)
    assert main(["demo", "--script", str(script)]) == 2
    told = capsys.readouterr().err.splitlines()
    assert told[1] == f"where: {script}"
    assert len(told) == 3


def test_a_script_may_be_a_bare_list_of_turns() -> None:
    """Prompt, answers and deny rules have defaults."""
    play = read_play('["hello"]', Path("here"))
    assert (play.answers, play.deny) == ([], [])
    assert play.prompt
