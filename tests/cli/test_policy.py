"""`agent-sdk policy test` and `agent-sdk policy replay`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_sdk.cli.main import main

ROOT = Path(__file__).parent.parent.parent
LS = {"tool": "Bash", "input": {"command": "ls"}}
RULES = {"allow": ["Bash(ls)"], "deny": ["Bash(rm:*)"]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, with a home beside it whose settings allow `ls`."""
    home, cwd = tmp_path / "home", tmp_path / "project"
    cwd.mkdir()
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"permissions": {"allow": ["Bash(ls)"]}}))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.chdir(cwd)
    return cwd


def table(*cases: dict[str, Any], name: str = "policy.json", **more: Any) -> str:
    """A table in the working directory; its name."""
    Path(name).write_text(json.dumps({"cases": list(cases), **more}))
    return name


TESTED: list[tuple[str, list[dict[str, Any]], dict[str, Any], list[str], int]] = [
    ("the settings count", [{**LS, "expect": "allow"}], {}, [], 0),
    ("without them", [{**LS, "expect": "allow"}], {}, ["--setting-sources", "none"], 1),
    ("rules of its own count instead", [{**LS, "expect": "ask"}], {"permissions": {}}, [], 0),
    ("or beside them", [{**LS, "expect": "allow"}], {"permissions": {}}, ["--setting-sources", "user"], 0),
    ("its own rules", [{**LS, "expect": "allow", "rule": "Bash(ls)"}], {"permissions": RULES}, [], 0),
    ("its own mode", [{**LS, "expect": "deny"}], {"permissions": {"defaultMode": "dontAsk"}}, [], 0),
    ("rules on the command line", [{**LS, "expect": "deny"}], {}, ["--deny", "Bash(ls)"], 0),
    ("a settings file", [{**LS, "expect": "ask"}], {}, ["--settings", '{"permissions": {"ask": ["Bash"]}}'], 0),
    ("a mode", [{**LS, "expect": "deny"}], {"permissions": {}}, ["--mode", "dontAsk"], 0),
    ("another rule than expected", [{**LS, "expect": "allow", "rule": "Bash"}], {}, [], 1),
]


@pytest.mark.parametrize(
    ("cases", "more", "words", "code"), [case[1:] for case in TESTED], ids=[case[0] for case in TESTED]
)
def test_a_table(cases: Any, more: Any, words: list[str], code: int, folder: Path) -> None:
    """Exit code 0 when every call is decided as expected, 1 when one is not."""
    assert main(["policy", "test", table(*cases, **more), *words]) == code


def test_differences_are_explained(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each with its place, its note and the trace of the verdict; then one line that counts."""
    name = table({**LS, "expect": "allow"}, {**LS, "expect": "deny", "note": "ls is gone"}, permissions=RULES)
    assert main(["policy", "test", name]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[:3] == [
        'policy.json cases[1]: Bash {"command":"ls"}  (ls is gone)',
        "  expected deny, got:",
        "  Bash: allow (decided by allow_rules: Bash(ls))",
    ]
    assert f"allow_rules Bash(ls) ({folder}/policy.json allow[0]) → allow" in "\n".join(told)
    assert told[-1] == "1 of 2 calls are not decided as expected."
    assert main(["policy", "test", name, "--json"]) == 1
    [line] = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert (found["where"], found["expect"], found["verdict"]["behavior"]) == ("policy.json cases[1]", "deny", "allow")
    assert found["verdict"]["trace"][-1]["by"] == "Bash(ls)"


FAULTS: list[tuple[str, str, list[str], str]] = [
    ("no file", "", ["none.json"], "there is no file"),
    ("no JSON", '{"cases": [,]}', ["a.json"], "line 1, column 12"),
    ("a misspelt key", '{"cases": [{"tol": 1}]}', ["a.json"], "unknown key 'tol'"),
    ("no cases", '{"cases": []}', ["a.json"], "holds no case"),
    ("a bad deny rule", json.dumps({"cases": [{**LS, "expect": "ask"}], "permissions": {"deny": ["Bash(ls"]}}),
     ["a.json"], "does not end with"),
    ("a bad allow rule", json.dumps({"cases": [{**LS, "expect": "ask"}], "permissions": {"allow": ["Bash(ls"]}}),
     ["a.json"], "does not end with"),
    ("a misspelt permission", json.dumps({"cases": [{**LS, "expect": "ask"}], "permissions": {"alow": ["Bash"]}}),
     ["a.json"], "unknown key 'alow' in permissions"),
    ("an unknown mode", json.dumps({"cases": [{**LS, "expect": "ask"}], "permissions": {"defaultMode": "planning"}}),
     ["a.json"], "permissions.defaultMode is one of"),
    ("an allow rule that is no text", json.dumps({"cases": [{**LS, "expect": "ask"}], "permissions": {"allow": [1]}}),
     ["a.json"], "permissions.allow[0] is no text"),
    ("one allow rule", json.dumps({"cases": [{**LS, "expect": "ask"}], "permissions": {"allow": "Bash"}}),
     ["a.json"], "permissions.allow is a list"),
    ("a list of permissions", json.dumps({"cases": [{**LS, "expect": "ask"}], "permissions": []}),
     ["a.json"], "permissions is a JSON object"),
    ("bad permissions", json.dumps({"cases": [{**LS, "expect": "ask"}], "permissions": {"deny": 3}}),
     ["a.json"], "permissions.deny"),
    ("two sets of rules", json.dumps({"cases": [{**LS, "expect": "ask"}], "permissions": {}}),
     ["a.json", "--settings", "{}"], "rules of its own"),
    ("no directory", json.dumps([{**LS, "expect": "ask"}]), ["a.json", "--cwd", "none"], "there is no directory"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words", "named"), [case[1:] for case in FAULTS], ids=[case[0] for case in FAULTS])
def test_a_bad_table(text: str, words: list[str], named: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is a mistake of usage, told in three lines on standard error."""
    Path("a.json").write_text(text)
    assert main(["policy", "test", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert [line.split(":")[0] for line in shown.err.splitlines()] == ["error", "where", "to do"]
    assert named in shown.err


def test_a_fault_elsewhere_keeps_its_exit_code(folder: Path) -> None:
    """A broken settings file is a fault of the surroundings, not of the table."""
    (folder / ".claude").mkdir()
    (folder / ".claude" / "settings.json").write_text("{")
    assert main(["policy", "test", table({**LS, "expect": "ask"})]) == 3


def command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-m", "agent_sdk", *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, cwd=cwd, env=environment, timeout=60, check=False)  # fmt: skip


@pytest.mark.slow
def test_past_sessions_in_real_processes(folder: Path) -> None:
    """Two sessions of two directories, each held against the settings of its own; exit code 1 for a change."""
    other = folder.parent / "other"
    other.mkdir()
    turn = {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": text}} for text in ("ls", "pwd")]}
    (folder / "script.json").write_text(json.dumps({"turns": [turn]}))
    script, store = str(folder / "script.json"), str(folder / "s.sqlite")
    for cwd in (folder, other):
        assert command("run", "go", "--script", script, "--store", store, cwd=cwd).returncode == 0
    same = command("policy", "replay", "--store", store, cwd=folder.parent)
    assert (same.returncode, same.stdout) == (
        0, "4 calls: 0 would be decided otherwise, 4 the same, 0 cannot be compared.\n")  # fmt: skip
    (other / ".claude").mkdir()
    (other / ".claude" / "settings.json").write_text(json.dumps({"permissions": {"deny": ["Bash(ls)"]}}))
    changed = command("policy", "replay", "--store", store, cwd=folder)
    assert changed.returncode == 1
    lines = changed.stdout.splitlines()
    assert lines[1:] == [
        "  Bash: ls",
        "  then: allow (decided by allow_rules: Bash(ls)), ran",
        f"  now: deny, Bash(ls) covers the command ({other}/.claude/settings.json deny[0])",
        "4 calls: 1 would be decided otherwise, 3 the same, 0 cannot be compared.",
    ]
    everything = command("policy", "replay", "--store", store, "--all", "--json", cwd=folder)
    found = [json.loads(line) for line in everything.stdout.splitlines()]
    assert [one["change"] for one in found] == ["changed", "same", "same", "same"]
    assert [(one["then"], one["outcome"]) for one in found[:2]] == [("allow", "ran"), ("ask", "not run")]
    session = found[2]["session_id"]
    assert command("policy", "replay", session, "--store", store, cwd=folder).returncode == 0
    in_other = command("policy", "replay", session, "--cwd", str(other), "--store", store, cwd=folder)
    assert in_other.returncode == 1
    (folder / "more.json").write_text(json.dumps({"permissions": {"deny": ["Bash(pwd)"]}}))
    named = command("policy", "replay", "--settings", "more.json", "--store", store, cwd=folder)
    assert "4 calls: 3 would be decided otherwise" in named.stdout
    assert "0 calls" in command("policy", "replay", "--since", "0s", "--store", store, cwd=folder).stdout
    (other / ".claude" / "settings.json").unlink()
    (other / ".claude").rmdir()
    other.rmdir()
    gone = command("policy", "replay", "--store", store, cwd=folder)
    assert (gone.returncode, f"warning: {other} is not there any more" in gone.stderr) == (0, True)


USAGE = [
    (["policy"], 2),
    (["policy", "replay", "--store", "none.sqlite"], 2),
    (["policy", "replay", "--since", "soon"], 2),
    (["policy", "replay", "--since", "99999999d"], 2),
    (["policy", "replay", "--since", "1" * 50 + "d"], 2),
    (["prune", "99999999999999999d"], 2),
    (["policy", "replay", "nobody"], 2),
]


@pytest.mark.parametrize(("words", "code"), USAGE, ids=[" ".join(words) for words, _ in USAGE])
def test_mistakes_of_usage(words: list[str], code: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are told in three lines."""
    assert main(words) == code
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_an_empty_store(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is nothing that would change."""
    assert main(["policy", "replay"]) == 0
    assert capsys.readouterr().out.startswith("0 calls: 0 would")
