"""Patterns of Bash rules, and exact rules written for a command."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_sdk.rules.bash_pattern import allow_line, compile_bash, exact_specifier
from agent_sdk.rules.shell import read_command
from agent_sdk.rules.shell_nodes import Word
from tests.rules.support import book, reading, verdict


@pytest.mark.parametrize(
    ("specifier", "spelled", "exact"),
    [
        ("npm run build", 3, True),
        ("npm run *", 2, False),
        ("npm run:*", 2, False),
        ("npm ru*", 1, False),
        ("* x", 0, False),
    ],
)
def test_how_much_is_spelled_out(specifier: str, spelled: int, exact: bool) -> None:
    """Whole words before the first wildcard are the author's own."""
    pattern = compile_bash(specifier, wide=False)
    assert pattern is not None
    assert (pattern.spelled, pattern.exact) == (spelled, exact)


@pytest.mark.parametrize("specifier", ["", ":*", " ls", "\tls"])
def test_an_empty_prefix_covers_nothing_in_allow(specifier: str) -> None:
    """It is no rule at all."""
    assert compile_bash(specifier, wide=False) is None


words = st.lists(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S", "Zs")), max_size=8), min_size=1)


@given(words.filter(lambda found: found[0] != ""))
@example(["A=/"])
@example(["ls", "A=/", "A+=."])
def test_an_exact_rule_reads_back_as_its_command(texts: list[str]) -> None:
    """Whatever the words hold, the rule made from them covers them, and only them."""
    command = [Word(text) for text in texts]
    specifier = exact_specifier(command)
    assert specifier is not None
    pattern = compile_bash(specifier, wide=False)
    assert pattern is not None
    assert pattern.exact
    assert pattern.covers(allow_line(command), across=False)
    assert not pattern.covers(allow_line([*command, Word("x")]), across=False)


@pytest.mark.parametrize(
    "command",
    [
        "echo done:*",
        "find . -name '*.py'",
        "git commit -m \"a 'b' c\"",
        "NODE_ENV=test npm test",
        "PYTHONPATH=src pytest",
    ],
)
def test_an_exact_rule_allows_the_call_that_it_came_from(command: str) -> None:
    """Also when the command holds what a rule takes as special."""
    simple = read_command(command).script.commands[0]
    specifier = exact_specifier(simple.words, simple.assigns)
    rules = book(allow=[f"Bash({specifier})"])
    assert verdict(rules, reading("Bash", {"command": command})) == "allow"
    assert verdict(rules, reading("Bash", {"command": command + " rm"})) == "none"
