"""Rules in words: what else a remembered yes would cover."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk.decisions import PermissionRule, PermissionUpdate
from agent_sdk.render import place_in_words, render_call, rule_in_words
from agent_sdk.render.text import visible


@pytest.mark.parametrize(
    ("tool", "specifier", "words"),
    [
        ("Bash", None, "every command whatsoever"),
        ("Bash", "npm test", "exactly the command 'npm test', and no other"),
        ("Bash", r"echo \*\(x\)", "exactly the command 'echo *(x)', and no other"),
        ("Bash", "npm run:*", "every command that begins with 'npm run', whatever follows"),
        ("Bash", "npm run *", "every command that begins with 'npm run', whatever follows"),
        ("Bash", "git * main", "every command like 'git * main', where * stands for anything"),
        ("Bash", r"echo \\*", r"every command like 'echo \\*', where * stands for anything"),
        ("Edit", "/src/**", "changing every file below /src, also files that come later"),
        ("Edit", "/a.py", "changing the file /a.py, whatever is in it"),
        ("Read", "*.env", "reading every file that fits *.env"),
        ("Read", None, "reading any file"),
        ("WebFetch", "domain:example.com", "every page of example.com"),
        ("WebFetch", None, "every page of every host"),
        ("Agent", "reviewer", "every sub-agent of the kind reviewer, with any task"),
        ("mcp__files__move", None, "the tool move of the MCP server files, with any arguments"),
        ("mcp__files", None, "every tool of the MCP server files, with any arguments"),
        ("mcp__files__*", None, "every tool of the MCP server files, with any arguments"),
        ("Deploy", None, "every one of the calls of Deploy, with any input"),
        ("Deploy", "to:prod", "calls of Deploy that fit to:prod"),
    ],
)
def test_rules_in_words(tool: str, specifier: str | None, words: str) -> None:
    """A sentence for each form of a rule, never narrower than the rule."""
    assert rule_in_words(PermissionRule(tool, specifier)) == words


def test_places_in_words() -> None:
    """For whom, and in which file."""
    assert place_in_words("localSettings").startswith("you, this project (.claude/settings.local.json")
    assert place_in_words("session") == "this session (in memory only, until this session ends)"


def test_a_card_tells_the_rules() -> None:
    """One line for each rule that could be remembered."""
    rule = PermissionRule("Bash", "ls")
    update = PermissionUpdate(type="addRules", behavior="allow", rules=(rule,))
    card = render_call("Bash", {"command": "ls"}, suggestions=[update])
    assert card.rules == ("Bash(ls): exactly the command 'ls', and no other",)


@given(st.text(min_size=1, max_size=30))
def test_no_rule_steers_the_terminal(specifier: str) -> None:
    """Model text is in it, so it is made visible."""
    for tool in ("Bash", "Edit", "WebFetch", "Agent", "Own"):
        words = rule_in_words(PermissionRule(tool, specifier))
        assert visible(words, keep_newlines=False) == words
