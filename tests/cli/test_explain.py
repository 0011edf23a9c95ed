"""`agent-sdk explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_sdk.cli.main import main

LS = '{"command": "ls"}'
VERDICTS = [
    ("nothing covers it", ["Bash", LS], 1, "ask"),
    ("an allow rule", ["Bash", LS, "--allow", "Bash(ls)"], 0, "allow"),
    ("deny beats allow", ["Bash", LS, "--allow", "Bash(ls)", "--deny", "Bash"], 1, "deny"),
    ("an ask rule", ["Bash", LS, "--allow", "Bash", "--ask", "Bash(ls)"], 1, "ask"),
    ("a mode", ["Bash", LS, "--mode", "bypassPermissions"], 0, "allow"),
    ("a mode that asks nobody", ["Bash", LS, "--mode", "dontAsk"], 1, "deny"),
    ("a tool that nobody knows", ["Weather", "{}"], 1, "ask"),
    ("several rules", ["Bash", LS, "--allow", "Bash(a)", "--allow", "Bash(ls)"], 0, "allow"),
]


@pytest.mark.parametrize(("words", "code", "behavior"), [case[1:] for case in VERDICTS], ids=[c[0] for c in VERDICTS])
def test_the_verdict_and_its_exit_code(
    words: list[str], code: int, behavior: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Allow is 0, ask and deny are 1; the first line names the behaviour, in both forms."""
    assert main(["explain", *words]) == code
    assert capsys.readouterr().out.splitlines()[0].startswith(f"{words[0]}: {behavior} ")
    assert main(["explain", *words, "--json"]) == code
    assert json.loads(capsys.readouterr().out)["behavior"] == behavior


def test_the_trace_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """The trace names the rule that decided and its place, for people and for programs."""
    words = ["explain", "Bash", LS, "--deny", "Bash(rm:*)", "--deny", "Bash(ls)"]
    main(words)
    assert "deny_rules Bash(ls) (options deny[1]) → deny" in capsys.readouterr().out
    main([*words, "--json"])
    last = json.loads(capsys.readouterr().out)["trace"][-1]
    assert (last["step"], last["by"], last["where"]) == ("deny_rules", "Bash(ls)", "options deny[1]")


@pytest.mark.parametrize(
    ("words", "rules"),
    [
        (["Bash", '{"command": "npm test && git push"}'], ["Bash(npm test)", "Bash(git push)"]),
        (["Bash", '{"command": "npm test && git push"}', "--allow", "Bash(npm test:*)"], ["Bash(git push)"]),
        (["mcp__notes__add", "{}"], ["mcp__notes__add"]),
        (["Bash", '{"command": "rm -rf /"}'], []),
        (["Bash", LS, "--ask", "Bash(ls)"], []),
        (["Bash", LS, "--allow", "Bash(ls)"], []),
    ],
    ids=["each part", "what is left", "another tool", "nothing may cover it", "an ask rule", "covered"],
)
def test_the_rules_that_would_cover_it_are_named(
    words: list[str], rules: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Where nothing covers a call: the narrowest rule for each part that nothing covers yet."""
    main(["explain", *words])
    line = f"  rules that would cover it: {', '.join(rules)}"
    assert (line in capsys.readouterr().out.splitlines()) == bool(rules)
    main(["explain", *words, "--json"])
    assert json.loads(capsys.readouterr().out)["covering_rules"] == rules


MISSING: dict[str, tuple[str, list[str]]] = {
    "one of two commands": (
        "ls && make",
        ["nothing covers its part: make", "rules that would cover it: Bash(make)"],
    ),
    "a file": (
        "ls > out.txt",
        ["writes to a file, which is judged as Edit: out.txt", "no rule is suggested for such a call"],
    ),
    "a loop": ("for f in a; do ls; done", ["no rule is suggested for such a call"]),
    "nothing": ("ls | ls", []),
}


@pytest.mark.parametrize(("command", "told"), MISSING.values(), ids=MISSING)
def test_what_is_missing_is_told(command: str, told: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Behind the trace of a call that nothing covers: its commands, its files, its rules; of other calls nothing."""
    main(["explain", "Bash", json.dumps({"command": command}), "--allow", "Bash(ls:*)"])
    _, _, behind = capsys.readouterr().out.partition("what would change it: ")
    lines = behind.splitlines()[1:]
    assert [line.split(": docs/")[0].strip() for line in lines] == told


@pytest.mark.parametrize(("name", "near"), [("Bahs", "Bash"), ("bash", "Bash"), ("Bash", ""), ("Weather", "")])
def test_a_mistaken_name_is_remarked_on(name: str, near: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error: the verdict stays what it is."""
    main(["explain", name, LS])
    remark = f"warning: no well-known tool is called {name}; did you mean {near}?\n"
    assert capsys.readouterr().err == (remark if near else "")


def test_paths_count_from_the_given_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--cwd` is where relative paths start and what counts as inside."""
    words = ["explain", "Read", '{"file_path": "notes.txt"}']
    assert main([*words, "--cwd", str(tmp_path)]) == 0
    elsewhere = ["explain", "Read", '{"file_path": "/etc/hostname"}', "--cwd", str(tmp_path)]
    assert main(elsewhere) == 1
    assert "ask" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '"ls"', '{"a": NaN}', "[" * 100_000], ids=lambda text: text[:9])
def test_an_input_that_is_no_object_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Anything but a JSON object is a mistake of usage, told in three lines."""
    assert main(["explain", "Bash", text]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert [line.split(":")[0] for line in told.err.splitlines()] == ["error", "where", "to do"]
