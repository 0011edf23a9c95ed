"""The door of the room: what a rulebook promises whatever the rules and calls."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_sdk.calls import ToolFacts
from agent_sdk.rules.files import TableFiles
from agent_sdk.rules.matching import Place, Reading, Rulebook, known_facts
from agent_sdk.rules.rule import Rule
from tests.rules.support import CWD, SOURCE, book, reading, verdict

ALLOW = ["Edit(src/**)", "Read(~/**)", "Edit", "Bash(npm test:*)", "Bash(ls*)", "Bash(git * main)", "Bash", "mcp__s"]
ALLOW += ["WebFetch(domain:*.example.com)", "Agent(reviewer)", "Bash(npm test)", "Read(*.md)", "mcp__s__get_*"]
WIDE = ["Read(.env)", "Edit(/src/**)", "Read(a/**)", "Bash(rm:*)", "Bash(git push:*)", "Bash(* --force)", "Bash(cat:*)"]
WIDE += ["WebFetch(domain:evil.com)", "Agent(reviewer)", "mcp__*__get_*", "Bash(run_in_background:true)", "Bash(r*)"]
WIDE += ["Task(*x)", "Web*", "Read(link/**)", "Edit(**/b?)"]

CALLS: list[tuple[str, dict[str, Any]]] = [
    *((tool, {"file_path": path}) for tool in ("Read", "Edit", "Grep") for path in (".env", "src/a", "a/b", "link/x")),
    *(
        ("Bash", {"command": command, "run_in_background": len(command) % 2 == 0})
        for command in ("npm test", "ls -la", "rm x", "git push origin main", "cat a/b", "x --force", "ls; \\rm y")
    ),
    ("WebFetch", {"url": "https://evil.com/"}),
    ("WebFetch", {"url": "https://a.example.com/"}),
    ("Agent", {"subagent_type": "reviewer"}),
    ("Task", {"subagent_type": "x"}),
    ("mcp__s__get_x", {}),
]
FILES = TableFiles({f"{CWD}/link": "/elsewhere"})


def rules_of(texts: list[str], behavior: str) -> tuple[Rule, ...]:
    """Rules from texts."""
    return book(**{behavior: texts}).rules


@given(st.lists(st.sampled_from(WIDE), max_size=6), st.sampled_from(WIDE), st.sampled_from(CALLS))
def test_adding_a_deny_rule_never_lets_a_call_through(texts: list[str], more: str, call: tuple[str, Any]) -> None:
    """Deny only grows."""
    before = book(deny=texts)
    after = before.with_rules(rules_of([more], "deny"))
    made = reading(*call, files=FILES)
    assert before.deny(made) is None or after.deny(made) is not None


@given(st.lists(st.sampled_from(WIDE), max_size=8), st.sampled_from(CALLS), st.sampled_from(["deny", "ask"]))
def test_a_book_finds_what_its_rules_find_one_by_one(texts: list[str], call: tuple[str, Any], behavior: str) -> None:
    """Looking rules up loses none."""
    made = reading(*call, files=FILES)
    one_by_one = [text for text in texts if verdict(book(**{behavior: [text]}), made) == behavior]
    whole = verdict(book(**{behavior: texts}), made) == behavior
    assert whole == bool(one_by_one)


@given(st.lists(st.sampled_from(ALLOW), max_size=8), st.sampled_from(CALLS))
def test_an_allow_book_covers_no_more_than_its_rules_one_by_one(texts: list[str], call: tuple[str, Any]) -> None:
    """And each rule that it names covers the call alone."""
    made = reading(*call, files=FILES)
    found = book(allow=texts).allow(made)
    one_by_one = {text for text in texts if book(allow=[text]).allow(made)}
    assert (found is not None) == bool(one_by_one)
    assert found is None or {rule.text for rule in found.rules} <= one_by_one


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
KEYS = st.sampled_from(["command", "file_path", "path", "url", "subagent_type", "pattern", "notebook_path", "x"])


@given(
    st.sampled_from(["Bash", "Read", "Edit", "Glob", "NotebookEdit", "WebFetch", "Agent", "mcp____", "mcp__a__b", ""]),
    st.dictionaries(KEYS, JSON, max_size=3),
)
def test_no_input_makes_a_verdict_raise(tool: str, tool_input: dict[str, Any]) -> None:
    """Inputs of any shape are judged."""
    call = reading(tool, tool_input, files=FILES)
    assert verdict(book(allow=ALLOW, deny=WIDE, ask=WIDE), call) in ("allow", "ask", "deny", "none")
    assert isinstance(call.inside, bool)
    assert call.odd is None or isinstance(call.odd, str)


@pytest.mark.parametrize(
    ("rule", "tool", "tool_input", "covered"),
    [
        ("Bash(run_in_background:true)", "Bash", {"command": "x", "run_in_background": True}, True),
        ("Bash(run_in_background:true)", "Bash", {"command": "x", "run_in_background": False}, False),
        ("Bash(run_in_background:true)", "Bash", {"command": "x"}, False),
        ("Bash(timeout:5)", "Bash", {"command": "x", "timeout": 5}, True),
        ("Read(limit:1*)", "Read", {"file_path": "a", "limit": 10}, True),
        ("Custom(mode:FAST)", "Custom", {"mode": "fast"}, True),
        ("Custom(mode:fast)", "Other", {"mode": "fast"}, False),
        ("Skill(pdf)", "Skill", {"skill": "pdf"}, True),
        ("Skill(pdf)", "Skill", {"skill": "docx"}, False),
        ("mcp__s__t(dry:false)", "mcp__s__t", {"dry": False}, True),
        ("mcp__s__t(dry: false)", "mcp__s__t", {"dry": False}, True),
        ("mcp__s__t(name: x)", "mcp__s__t", {"name": " x"}, True),
        ("mcp__s__t(n:1)", "mcp__s__t", {"n": 1.0}, True),
        ("mcp__s__t(n:1.0)", "mcp__s__t", {"n": 1.0}, True),
        ("mcp__s__t(n:1)", "mcp__s__t", {"n": True}, False),
        ("mcp__s__t(tables:secret)", "mcp__s__t", {"tables": ["open", "Secret"]}, True),
        ("mcp__s__t(tables:secret)", "mcp__s__t", {"tables": ["open", ["secret"], {}]}, False),
        ("mcp__s__t(tables:*)", "mcp__s__t", {"tables": []}, True),
        ("WebFetch(prompt:*secret*)", "WebFetch", {"url": "https://a.b/", "prompt": "a secret"}, True),
    ],
)
def test_parameters_are_matched_in_deny_and_ask(
    rule: str, tool: str, tool_input: dict[str, Any], covered: bool
) -> None:
    """`Tool(param:value)`; for a tool with other specifiers, any text of the input."""
    assert (verdict(book(deny=[rule]), reading(tool, tool_input)) == "deny") is covered
    assert (verdict(book(ask=[rule]), reading(tool, tool_input)) == "ask") is covered


@pytest.mark.parametrize(
    ("rules", "name", "expected"),
    [
        ({"allow": ["Agent(reviewer)"]}, "reviewer", "allow"),
        ({"allow": ["Agent(reviewer)"]}, "Reviewer", "none"),
        ({"allow": ["Agent(rev*)"]}, "reviewer", "none"),
        ({"deny": ["Agent(Reviewer)"]}, "reviewer", "deny"),
        ({"deny": ["Agent(rev*)"]}, "reviewer", "deny"),
        ({"deny": ["Agent( reviewer)"]}, "reviewer", "deny"),
        ({"deny": ["Agent(reviewer)"]}, "reviewer ", "deny"),
        ({"allow": ["Agent( reviewer)"]}, "reviewer", "none"),
        ({"deny": ["Task(reviewer)"]}, "reviewer", "none"),
        ({"allow": ["Agent"]}, "anyone", "allow"),
    ],
)
def test_agents(rules: dict[str, list[str]], name: str, expected: str) -> None:
    """`Agent(Name)`: exactly in allow; in deny in any case, and without the blanks around it."""
    assert verdict(book(**rules), reading("Agent", {"subagent_type": name})) == expected


def test_found_names_the_rule_and_why() -> None:
    """A trace can be written from it."""
    found = book(deny=["Bash(ls)", "Read(./secret/**)"]).deny(reading("Edit", {"file_path": "secret/k"}))
    assert found is not None
    assert found.rule.where == "settings.json deny[1]"
    assert found.rules == (found.rule,)
    assert f"{CWD}/secret/k" in found.because


def test_every_path_needs_its_rule() -> None:
    """All rules that it took are named."""
    facts = ToolFacts(name="Copy", reads="from", writes="to")
    call = Reading("Copy", {"from": "a/x", "to": "b/x"}, facts, Place(CWD, files=TableFiles()))
    found = book(allow=["Edit(b/**)", "Read(a/**)"]).allow(call)
    assert found is not None
    assert [rule.text for rule in found.rules] == ["Edit(b/**)", "Read(a/**)"]


def test_unknown_tools_are_not_read_only() -> None:
    """Nothing is assumed of a name."""
    assert known_facts("Anything").read_only is False
    assert known_facts("Read").read_only is True
    assert known_facts("AskUserQuestion").interaction is True


def calls_made(work: Callable[[], object]) -> int:
    """How many Python functions `work` calls: a measure of effort that no other load on the machine changes."""
    made = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal made
        made += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return made


MANY = [
    ("Edit(/gen{}/**)", "Read(/gen{}/*.pem)"),
    ("Bash(npm run x{}:*)", "Bash(tool{}:*)"),
    ("WebFetch(domain:a{}.com)", "WebFetch(domain:*.b{}.com)"),
    ("mcp__s{}", "mcp__s{}__delete"),
]


@cache
def grown(count: int) -> Rulebook:
    """A book with so many rules of each kind."""
    return book(
        allow=[allow.format(number) for allow, _ in MANY for number in range(count)],
        deny=[deny.format(number) for _, deny in MANY for number in range(count)],
    )


@pytest.mark.parametrize("call", CALLS, ids=[f"{number}-{call[0]}" for number, call in enumerate(CALLS)])
def test_ten_thousand_rules_cost_about_as_much_as_ten(call: tuple[str, Any]) -> None:
    """A call is held against those rules only that it may meet."""
    few, many = grown(2), grown(1250)
    verdict(few, reading(*call, files=FILES))
    verdict(many, reading(*call, files=FILES))
    effort = [calls_made(lambda rules=rules: verdict(rules, reading(*call, files=FILES))) for rules in (few, many)]
    assert effort[1] <= effort[0] + 20


REAL = Path(__file__).with_name("real_rules.json")


@settings(deadline=None)
@given(st.sampled_from(json.loads(REAL.read_text(encoding="utf-8"))), st.sampled_from(CALLS))
def test_rules_as_people_write_them(entry: dict[str, list[str]], call: tuple[str, Any]) -> None:
    """Allow lists found in public settings files load, with warnings, and judge calls without a fault."""
    rules = Rulebook(book(allow=entry["allow"]).rules)
    assert verdict(rules, reading(*call)) in ("allow", "none")
    assert all(rule.source == SOURCE for rule in rules.rules)
