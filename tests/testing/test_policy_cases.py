"""A policy as a table: checked, asserted, read from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_sdk import OptionsError, PermissionPolicy, SettingsError
from agent_sdk.testing import PolicyCase, TableFiles, assert_policy, check_policy, load_policy_cases

POLICY = PermissionPolicy.load(
    cwd="/p",
    setting_sources=(),
    allow=["Bash(npm test:*)", "Bash(echo:*)"],
    ask=["Bash(git push:*)"],
    deny=["Bash(rm:*)", "Read(**/.env)"],
    files=TableFiles(),
)
HOLD = [
    PolicyCase("Bash", {"command": "npm test"}, "allow"),
    PolicyCase("Bash", {"command": "npm test"}, "allow", rule="Bash(npm test:*)"),
    PolicyCase("Bash", {"command": "echo a && npm test"}, "allow", rule="Bash(echo:*)"),
    PolicyCase("Bash", {"command": "git push"}, "ask", rule="Bash(git push:*)"),
    PolicyCase("Bash", {"command": "make"}, "ask"),
    PolicyCase("Bash", {"command": "cd x && rm y"}, "deny"),
    PolicyCase("Read", {"file_path": "a/.env"}, "deny", rule="Read(**/.env)"),
    PolicyCase("Weather", {}, "ask"),
]
DIFFER = [
    (PolicyCase("Bash", {"command": "npm test"}, "deny"), "allow"),
    (PolicyCase("Bash", {"command": "npm test"}, "allow", rule="Bash(npm:*)"), "allow"),
    (PolicyCase("Bash", {"command": "make"}, "allow"), "ask"),
    (PolicyCase("Bash", {"command": "make"}, "ask", rule="Bash(make)"), "ask"),
    (PolicyCase("Bash", {"command": "rm x"}, "ask"), "deny"),
]


@pytest.mark.parametrize("case", HOLD, ids=str)
def test_a_row_that_holds(case: PolicyCase) -> None:
    """Behaviour, and rule where one is named, are as expected."""
    assert check_policy(POLICY, [case]) == []
    assert_policy(POLICY, [case])


@pytest.mark.parametrize(("case", "got"), DIFFER, ids=[str(case) for case, _ in DIFFER])
def test_a_row_that_does_not_hold(case: PolicyCase, got: str) -> None:
    """The difference has the verdict with its trace, and its explanation names both behaviours."""
    [difference] = check_policy(POLICY, [*HOLD, case])
    assert (difference.case, difference.verdict.behavior) == (case, got)
    assert difference.verdict.trace == POLICY.evaluate(case.tool, case.input).trace
    told = difference.explain()
    assert f"expected {case.expect}" in told
    assert f"Bash: {got} (decided by" in told
    with pytest.raises(AssertionError, match=f"1 of {len(HOLD) + 1} calls are not decided as expected"):
        assert_policy(POLICY, [*HOLD, case])


def test_an_empty_table_is_no_test() -> None:
    """It would pass whatever the policy says."""
    with pytest.raises(OptionsError, match="no case"):
        assert_policy(POLICY, [])


@pytest.mark.parametrize(
    ("row", "named"),
    [
        (lambda: PolicyCase("Bash", {}, "defer"), "allow, ask or deny"),  # type: ignore[arg-type]
        (lambda: PolicyCase("Bash", {"a": {1}}, "ask"), "input"),  # type: ignore[dict-item]
        (lambda: PolicyCase("Bash", [], "ask"), "input"),  # type: ignore[arg-type]
    ],
    ids=["no behaviour", "no JSON", "no object"],
)
def test_a_row_that_is_none(row: Any, named: str) -> None:
    """It is refused when it is made."""
    with pytest.raises(OptionsError, match=named):
        row()


LS = {"tool": "Bash", "input": {"command": "ls"}, "expect": "ask"}
FILES = [
    ("a.json", json.dumps({"cases": [LS]})),
    ("a.json", json.dumps({"note": "what this is", "cases": [LS], "permissions": {"allow": []}})),
    ("a.json", "\ufeff" + json.dumps([LS])),
    ("a.jsonl", json.dumps(LS) + "\n\n"),
    ("a.ndjson", "\ufeff" + json.dumps(LS)),
]


@pytest.mark.parametrize(("name", "text"), FILES, ids=[f"{name} {text[:20]!r}" for name, text in FILES])
def test_files(name: str, text: str, tmp_path: Path) -> None:
    """An object with cases, the list of cases alone, and one case a line mean the same."""
    (tmp_path / name).write_text(text)
    [case] = load_policy_cases(tmp_path / name)
    assert (case.tool, case.input, case.expect, case.rule, case.note) == ("Bash", {"command": "ls"}, "ask", None, "")
    assert case.where.startswith(name)


BAD = [
    ("a.json", "", "neither a list of cases|cases is a list"),
    ("a.json", "{", "line 1, column 2"),
    ("a.json", "3", "neither a list"),
    ("a.json", "[]", "holds no case"),
    ("a.json", "{}", "cases is a list"),
    ("a.json", '{"cases": {}}', "cases is a list"),
    ("a.json", '{"cases": [], "case": []}', "unknown key 'case'"),
    ("a.json", "[3]", r"\[0\] is no JSON object"),
    ("a.json", json.dumps([{**LS, "expct": "ask"}]), "unknown key 'expct'"),
    ("a.json", json.dumps([{**LS, "expect": "defer"}]), 'allow, ask or deny, got "defer"'),
    ("a.json", json.dumps([{**LS, "expect": ["ask"]}]), "allow, ask or deny"),
    ("a.json", json.dumps([{**LS, "input": "ls"}]), "object input"),
    ("a.json", json.dumps([{**LS, "tool": ""}]), "texts tool"),
    ("a.json", json.dumps([{**LS, "rule": 3}]), "texts"),
    ("a.json", '[{"tool": "A", "tool": "B", "input": {}, "expect": "ask"}]', "'tool' stands twice"),
    ("a.jsonl", "", "holds no case"),
    ("a.jsonl", f"{json.dumps(LS)}\n{{", "line 2 is not one JSON object"),
    ("a.jsonl", '{"permissions": {}}', "line 1: unknown key 'permissions'"),
]


@pytest.mark.parametrize(("name", "text", "named"), BAD, ids=[f"{name} {text[-30:]}" for name, text, _ in BAD])
def test_a_bad_file_is_told_with_its_place(name: str, text: str, named: str, tmp_path: Path) -> None:
    """Whatever cannot be read is a SettingsError that names file and place."""
    (tmp_path / name).write_text(text)
    with pytest.raises(SettingsError, match=named) as caught:
        load_policy_cases(tmp_path / name)
    assert caught.value.path == str(tmp_path / name)


@pytest.mark.parametrize("name", ["none.json", "folder"])
def test_no_file(name: str, tmp_path: Path) -> None:
    """A file that is not there, or is none, is told too."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(SettingsError, match=name):
        load_policy_cases(tmp_path / name)


def test_a_table_with_rules_is_a_settings_file(tmp_path: Path) -> None:
    """`PermissionPolicy.load(settings=...)` takes its rules, and the table holds for them."""
    file = tmp_path / "policy.json"
    file.write_text(json.dumps({"permissions": {"deny": ["Bash(ls)"]}, "cases": [{**LS, "expect": "deny"}]}))
    policy = PermissionPolicy.load(cwd=tmp_path, setting_sources=(), settings=str(file))
    assert_policy(policy, load_policy_cases(file))
    assert policy.evaluate("Bash", {"command": "ls"}).trace[-1].where == f"{file} deny[0]"
