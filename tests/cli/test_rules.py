"""`agent-sdk rules`, and the settings that `explain` and `run` take into account."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_sdk.cli.main import main

LOCAL = {"permissions": {"allow": ["Bash(npm test)"], "deny": ["Read(./.env)"]}, "other": 1}
PROJECT = {"permissions": {"allow": ["Bash(npm run lint)"], "ask": ["Bash(git push:*)"]}}
USER = {"permissions": {"allow": ["Bash(ls)", "Bash(npm test)"], "defaultMode": "acceptEdits"}}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with settings of all three scopes; its home lies beside it."""
    home, cwd = tmp_path / "home", tmp_path / "project"
    monkeypatch.setenv("HOME", str(home))
    for path, value in (
        (home / ".claude" / "settings.json", USER),
        (cwd / ".claude" / "settings.json", PROJECT),
        (cwd / ".claude" / "settings.local.json", LOCAL),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
    return cwd


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def listed(project: Path, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """What `rules --json` says."""
    assert main(["rules", "--cwd", str(project), "--json", *words]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_rule_with_its_place(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Deny, ask, allow; options first; each with scope, file and position. Untrusted rules are told, not listed."""
    found = listed(project, capsys, "--deny", "Bash(rm:*)")
    local, shared, user = (
        str(project / ".claude" / "settings.local.json"),
        str(project / ".claude" / "settings.json"),
        str(project.parent / "home" / ".claude" / "settings.json"),
    )
    assert [tuple(rule.values()) for rule in found["rules"]] == [
        ("deny", "Bash(rm:*)", "options", None, 0),
        ("deny", "Read(./.env)", "local", local, 0),
        ("ask", "Bash(git push:*)", "project", shared, 0),
        ("allow", "Bash(npm test)", "local", local, 0),
        ("allow", "Bash(ls)", "user", user, 0),
        ("allow", "Bash(npm test)", "user", user, 1),
    ]
    assert (found["mode"], found["files"]) == ("acceptEdits", [local, shared, user])
    ignored, doubled = found["warnings"]
    assert "trust_project" in ignored
    assert f"{user} allow[1]: 'Bash(npm test)' says the same as {local} allow[0]" == doubled


def test_for_people(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line a rule, then mode and warnings."""
    assert main(["rules", "--cwd", str(project), "--setting-sources", "local"]) == 0
    file = project / ".claude" / "settings.local.json"
    assert capsys.readouterr().out.splitlines() == [
        f"Rules in force in {project}:",
        f"  deny   Read(./.env)    local: {file} deny[0]",
        f"  allow  Bash(npm test)  local: {file} allow[0]",
        "Mode: default",
    ]
    assert main(["rules", "--cwd", str(project), "--setting-sources", "none"]) == 0
    assert "none: whatever no mode allows is asked" in capsys.readouterr().out


def test_one_more_settings_file(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--settings` lists and lints a file that stands nowhere yet, or its text; it counts before the others."""
    monkeypatch.chdir(project.parent)
    file = project.parent / "policy.json"
    file.write_text('{"permissions": {"allow": ["Bash(python3:*)"], "defaultMode": "plan"}}')
    found = listed(project, capsys, "--settings", "policy.json", "--setting-sources", "user")
    assert [(rule["rule"], rule["file"]) for rule in found["rules"][:2]] == [
        ("Bash(python3:*)", str(file)),
        ("Bash(ls)", str(project.parent / "home" / ".claude" / "settings.json")),
    ]
    assert found["mode"] == "plan"
    assert any("lets any program run" in warning for warning in found["warnings"])
    text = '{"permissions": {"deny": ["Bash(rm:*)"]}}'
    found = listed(project, capsys, "--settings", text, "--setting-sources", "none")
    assert [rule["rule"] for rule in found["rules"]] == ["Bash(rm:*)"]
    assert main(["rules", "--cwd", str(project), "--settings", "none.json"]) == 3
    assert "there is no settings file" in capsys.readouterr().err


def test_trusting_the_project(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--trust-project` lets its allow rules count."""
    found = listed(project, capsys, "--trust-project", "--setting-sources", "project")
    assert [rule["rule"] for rule in found["rules"]] == ["Bash(git push:*)", "Bash(npm run lint)"]
    assert found["warnings"] == []


LINT = [
    (["--allow", "Bash(ls)", "--deny", "Bash"], "can never count: 'Bash'"),
    (["--allow", "Bash(ls)", "--ask", "Bash(ls)"], "can never count: 'Bash(ls)'"),
    (["--ask", "mcp__s__t", "--deny", "mcp__s"], "can never count: 'mcp__s'"),
    (["--allow", "Bash"], "lets every command run"),
    (["--allow", "Bash(python3:*)"], "lets any program run"),
    (["--allow", "Bash(bash *)"], "lets any program run"),
    (["--deny", "Bash(a:*)", "--deny", "Bash(a:*)"], "says the same as options deny[0]"),
]


@pytest.mark.parametrize(("words", "remark"), LINT, ids=[" ".join(words) for words, _ in LINT])
def test_remarks(words: list[str], remark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rules that can do nothing, or more than one thinks, are told."""
    [told] = listed(tmp_path, capsys, *words)["warnings"]
    assert remark in told


def test_no_remarks_on_sound_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A narrow allow rule beside a narrow deny rule is no fault."""
    words = ["--allow", "Bash(git:*)", "--deny", "Bash(git push:*)", "--ask", "mcp__s", "--allow", "mcp__t__u"]
    assert listed(tmp_path, capsys, *words)["warnings"] == []


def test_a_rule_is_removed_from_its_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The only file that holds it is found; everything else in it stays; what was done is said."""
    assert main(["rules", "--cwd", str(project), "remove", "Bash(ls)"]) == 0
    file = project.parent / "home" / ".claude" / "settings.json"
    assert capsys.readouterr().out == f"Removed from {file}: allow: Bash(ls)\n"
    assert read(file)["permissions"] == {"allow": ["Bash(npm test)"], "defaultMode": "acceptEdits"}
    assert main(["rules", "remove", "Read(./.env)", "--cwd", str(project), "--json"]) == 0
    file = project / ".claude" / "settings.local.json"
    assert json.loads(capsys.readouterr().out) == [{"file": str(file), "removed": ["deny: Read(./.env)"]}]
    assert read(file) == {"permissions": {"allow": ["Bash(npm test)"], "deny": []}, "other": 1}


@pytest.mark.parametrize("typed", ["Bash(npm publish)*", "Bash(npm publish*)"])
def test_a_rule_with_a_star_behind_its_bracket_is_removed(
    typed: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it is written in the file, and as it is read and listed; an allow rule written so is none."""
    file = project / ".claude" / "settings.local.json"
    rules = ["Bash(npm publish)*"]
    file.write_text(json.dumps({"permissions": {"deny": rules, "allow": rules}}))
    assert [one["rule"] for one in listed(project, capsys)["rules"] if "publish" in one["rule"]] == [
        "Bash(npm publish*)"
    ]
    assert main(["rules", "--cwd", str(project), "remove", typed]) == 0
    assert read(file) == {"permissions": {"deny": [], "allow": rules}}


def test_a_rule_in_two_files(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command does not choose: it names the files and asks for one."""
    assert main(["rules", "--cwd", str(project), "remove", "Bash(npm test)"]) == 2
    assert "say --from local or user" in capsys.readouterr().err
    assert main(["rules", "--cwd", str(project), "remove", "Bash(npm test)", "--from", "user"]) == 0
    assert read(project / ".claude" / "settings.local.json") == LOCAL
    assert read(project.parent / "home" / ".claude" / "settings.json")["permissions"]["allow"] == ["Bash(ls)"]


NOT_REMOVED = [
    (["Bash(none)"], 1, "There is no rule Bash(none)"),
    (["Bash(ls)", "--from", "local"], 1, "There is no rule Bash(ls)"),
    (["Bash(ls)", "--behavior", "deny"], 1, "There is no rule"),
    (["Bash(ls"], 2, "does not end with"),
    ([], 2, "RULE"),
]


@pytest.mark.parametrize(("words", "code", "told"), NOT_REMOVED, ids=[str(case[0]) for case in NOT_REMOVED])
def test_nothing_is_removed(
    words: list[str], code: int, told: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A rule that is not there is a no, a rule that is none a mistake; no file changes."""
    assert main(["rules", "--cwd", str(project), "remove", *words]) == code
    shown = capsys.readouterr()
    assert told in shown.out + shown.err
    assert read(project / ".claude" / "settings.local.json") == LOCAL


@pytest.mark.parametrize("words", [["rules"], ["rules", "remove", "Bash(ls)"], ["explain", "Bash", "{}"]], ids=str)
def test_a_broken_file_is_told_with_its_place(
    words: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is no JSON stops the command, names line and column, and stays as it is."""
    file = project / ".claude" / "settings.local.json"
    file.write_text('{"permissions": {"allow": [,]}}')
    place = words.index("remove") if "remove" in words else len(words)
    assert main([*words[:place], "--cwd", str(project), *words[place:]]) == 3
    told = capsys.readouterr().err.splitlines()
    assert "line 1, column 28" in told[0]
    assert told[1] == f"where: {file}"
    assert file.read_text() == '{"permissions": {"allow": [,]}}'


EXPLAINED = [
    (["npm test"], [], 0),
    (["npm run lint"], [], 1),
    (["npm run lint"], ["--trust-project"], 0),
    (["npm test"], ["--setting-sources", "none"], 1),
    (["npm test"], ["--setting-sources", "project"], 1),
    (["npm test"], ["--deny", "Bash(npm:*)"], 1),
    (["make"], ["--settings", '{"permissions": {"allow": ["Bash(make)"]}}'], 0),
    (["npm test"], ["--settings", '{"permissions": {"deny": ["Bash(npm test)"]}}'], 1),
]


@pytest.mark.parametrize(("command", "words", "code"), EXPLAINED, ids=lambda value: str(value)[:50])
def test_explain_with_settings(command: list[str], words: list[str], code: int, project: Path) -> None:
    """The settings in force decide, and those that are named."""
    call = json.dumps({"command": command[0]})
    assert main(["explain", "Bash", call, "--cwd", str(project), *words]) == code


def test_the_mode_of_the_settings(project: Path) -> None:
    """`--mode` counts before the mode that the settings name."""
    call = ["explain", "Write", json.dumps({"file_path": "a.txt", "content": "x"}), "--cwd", str(project)]
    assert main(call) == 0
    assert main([*call, "--mode", "default"]) == 1


def test_a_settings_file_by_name(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trace names file and position; it is looked for where the command is typed, and has to be there."""
    monkeypatch.chdir(project.parent)
    (project.parent / "more.json").write_text('{"permissions": {"deny": ["Bash(make)"]}}')
    call = ["explain", "Bash", '{"command": "make"}', "--cwd", str(project), "--settings"]
    assert main([*call, "more.json"]) == 1
    assert f"{project.parent}/more.json deny[0]" in capsys.readouterr().out
    assert main([*call, "none.json"]) == 3
    assert "there is no settings file" in capsys.readouterr().err


def test_an_unknown_source(capsys: pytest.CaptureFixture[str]) -> None:
    """It is a mistake in the command line."""
    assert main(["rules", "--setting-sources", "user,team"]) == 2
    assert "'team' is none of user, project, local" in capsys.readouterr().err


def test_run_reads_the_settings(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A remembered rule spares the question in `run`; with `--setting-sources none` it does not."""
    turn = {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "pwd"}}]}
    (project / "script.json").write_text(json.dumps({"turns": [turn]}))
    file = project / ".claude" / "settings.local.json"
    file.write_text('{"permissions": {"allow": ["Bash(pwd)"]}}')
    words = ["run", "go", "--script", str(project / "script.json"), "--json", "--fail-on-denial", "--cwd", str(project)]
    assert main(words) == 0
    assert main([*words, "--setting-sources", "none"]) == 1
    capsys.readouterr()
