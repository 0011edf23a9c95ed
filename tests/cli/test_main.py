"""The command line as a whole: what it lists, how it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_sdk.cli.main import COMMANDS, main

AGENT_SDK = [sys.executable, "-c", "import sys; from agent_sdk.cli.main import main; sys.exit(main())"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.getcwd()}

COMMAND_NAMES = [
    *("demo", "run", "pending", "show", "answer", "resume"),
    *("sessions", "export", "import", "prune", "explain", "rules", "policy"),
]
MISTAKES = [
    ("nothing", [], "COMMAND"),
    ("no such command", ["nope"], "nope"),
    ("a command of a later version", ["policy"], "policy"),
    ("no such option", ["demo", "--nope"], "--nope"),
    ("a missing script", ["demo", "--script", "/nowhere/x.json"], "No such file"),
    ("a folder as script", ["demo", "--script", "/"], "directory"),
    ("a mode that is none", ["run", "hello", "--mode", "yolo"], "yolo"),
    ("no prompt", ["run"], "prompt"),
    ("a blank prompt", ["run", " "], "prompt"),
    ("a session that is not there", ["run", "--resume", "x", "--cwd", "."], "no session "),
    ("a store that is not there", ["pending", "--store", "/nowhere/s.sqlite"], "/nowhere/s.sqlite"),
    ("an answer that is none", ["answer", "s", "t"], "allow or deny"),
    ("an answer to nothing", ["answer", "s", "t", "allow"], "never pending"),
    ("a result that is no JSON", ["answer", "s", "t", "--result", "{"], "not JSON"),
    ("a span that is none", ["prune", "soon"], "soon"),
    ("a script of run that is missing", ["run", "hello", "--script", "/nowhere/x.json"], "/nowhere/x.json"),
    ("no such directory", ["run", "hello", "--cwd", "/nowhere"], "/nowhere"),
    ("a bad deny rule", ["run", "hello", "--deny", "Bash(ls"], "Bash(ls"),
    ("no number", ["run", "hello", "--max-turns", "many"], "many"),
    ("a number out of range", ["run", "hello", "--max-turns", "0"], "max_turns"),
    ("explain without input", ["explain", "Bash"], "JSON"),
    ("explain in no directory", ["explain", "Bash", "{}", "--cwd", "/nowhere"], "/nowhere"),
]


@pytest.mark.parametrize(("words", "named"), [case[1:] for case in MISTAKES], ids=[case[0] for case in MISTAKES])
def test_a_mistake_is_told_in_three_lines(words: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What, where and what to do about it, on standard error, with exit code 2, naming the thing."""
    assert main(words) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert [line.split(":")[0] for line in told.err.splitlines()] == ["error", "where", "to do"]
    assert named in told.err


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` names the program, and the version where it is installed."""
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith("agent-sdk ")


def test_the_help_lists_exactly_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    """Every command has a line in the help, and there are no others."""
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert [command.name for command in COMMANDS] == COMMAND_NAMES
    assert all(f"    {command.name} " in shown for command in COMMANDS)


def test_a_bad_allow_rule_is_a_warning_of_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """What only grants nothing does not stop anything."""
    assert main(["explain", "Bash", '{"command": "ls"}', "--allow", "Bash(ls"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1
    assert told[0].startswith("warning: ")


def test_a_reader_that_leaves_is_no_crash() -> None:
    """When nobody reads the output any more, the command ends quietly with 141."""
    command = subprocess.Popen([*AGENT_SDK, "demo"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)  # fmt: skip
    assert command.stdout is not None
    assert command.stderr is not None
    command.stdout.readline()
    command.stdout.close()
    assert "Traceback" not in command.stderr.read()
    command.stderr.close()
    assert command.wait() == 141


def test_a_full_disk_is_told() -> None:
    """Output that cannot be written is a fault of the surroundings: exit code 3, three lines."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*AGENT_SDK, "explain", "Bash", "{}"], stdout=full, stderr=subprocess.PIPE, text=True,
                              env=ENVIRONMENT, check=False)  # fmt: skip
    assert done.returncode == 3
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["error", "where", "to do"]


def test_closed_streams_do_no_harm() -> None:
    """Started without standard input, output and error it still does its work."""
    words = " ".join(f"'{word}'" for word in [*AGENT_SDK, "demo"])
    done = subprocess.run(["bash", "-c", f"{words} <&- >&- 2>&-"], env=ENVIRONMENT, check=False)
    assert done.returncode == 0


DOORS = [["-m", "agent_sdk"], ["-m", "agent_sdk.cli.main"], AGENT_SDK[1:]]


@pytest.mark.parametrize("door", DOORS, ids=["package", "module", "function"])
@pytest.mark.parametrize(("words", "code"), [(["--version"], 0), (["nope"], 2)], ids=["good", "bad"])
def test_every_way_in_leads_to_the_command(door: list[str], words: list[str], code: int) -> None:
    """Each says something, and hands on the exit code."""
    done = subprocess.run([sys.executable, *door, *words], capture_output=True, env=ENVIRONMENT, check=False)
    assert done.returncode == code
    assert done.stdout + done.stderr


POOR = {
    "ascii": {"PYTHONIOENCODING": "ascii:strict"},
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}
SAYING = {
    "explain": ["explain", "Bash", '{"command": "ls \u6f22 \udcff"}'],
    "explain as JSON": ["explain", "Bash", '{"command": "ls \u6f22 \udcff"}', "--json"],
    "explain a strange tool": ["explain", "W\u00e4hle\u6f22", "{}"],
    "a mistake": ["explain", "Bash", "{}", "--mode", "\u6f22"],
    "a warning": ["explain", "Bash", "{}", "--allow", "Bash(\u6f22"],
    "demo": ["demo"],
    "run": ["run", "go", "--script", "{script}", "--deny", "Bash", "--fail-on-denial"],
    "run as JSON": ["run", "go", "--script", "{script}", "--json", "--fail-on-denial"],
}


@pytest.mark.parametrize("poor", POOR.values(), ids=POOR)
@pytest.mark.parametrize("words", SAYING.values(), ids=SAYING)
def test_what_a_terminal_cannot_show_is_escaped(words: list[str], poor: dict[str, str], tmp_path: Path) -> None:
    """No encoding of the terminal makes a command fail; JSON stays JSON."""
    script = tmp_path / "script.json"
    call = {"type": "tool_use", "name": "Bash", "input": {"command": "echo \u6f22 \ud83d\ude00"}}
    script.write_text(json.dumps({"turns": [{"content": [{"type": "text", "text": "\u2192 \u6f22"}, call]}]}))
    command = [*AGENT_SDK, *(word.format(script=script) if word == "{script}" else word for word in words)]
    done = subprocess.run([word.encode("utf-8", "surrogateescape") for word in command], stdin=subprocess.DEVNULL,
                          capture_output=True, env={**ENVIRONMENT, **poor}, check=False)  # fmt: skip
    assert b"Traceback" not in done.stderr
    assert b"Error" not in done.stderr
    assert done.returncode in (0, 1, 2)
    if "--json" in words:
        assert all(isinstance(json.loads(line), dict) for line in done.stdout.splitlines())


@pytest.mark.parametrize("words", [["explain", "Bash", "{}"], ["run", "go", "--cwd", "sub"]], ids=["explain", "run"])
def test_a_working_directory_that_is_gone_is_told(words: list[str], tmp_path: Path) -> None:
    """The message names what is missing, and the way out that it names is one."""
    gone = tmp_path / "gone"
    gone.mkdir()
    start = f"import os; os.rmdir({str(gone)!r}); "
    command = [sys.executable, "-c", start + AGENT_SDK[2]]
    done = subprocess.run([*command, *words], cwd=gone, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 3
    assert done.stderr.splitlines() == [
        "error: the directory in which this was started is not there any more",
        "where: the working directory",
        "to do: go to a directory that exists, or name one in full with --cwd",
    ]
    gone.mkdir()
    elsewhere = [*command, "explain", "Bash", '{"command": "ls"}', "--cwd", str(tmp_path)]
    done = subprocess.run(elsewhere, cwd=gone, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert (done.returncode, done.stderr) == (1, "")
