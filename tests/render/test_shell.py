"""A command line taken apart for people: the plain ones in steps, all others not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk.render import Step, Steps, mark_steps, render_call
from agent_sdk.render.shell import take_apart

PLAIN = [
    ("ls", ["ls"], [], []),
    ("a && b || c; d | e & f", ["a", "b", "c", "d", "e", "f"], [], []),
    ("a\nb\n", ["a", "b"], [], []),
    ("echo 'a && b' \"c; d\" e\\;f", ["echo 'a && b' \"c; d\" e\\;f"], [], []),
    ("a > x 2>&1 >> y < z", ["a > x 2>&1 >> y < z"], ["x", "y"], ["z"]),
    ("a 2>/dev/null &> log", ["a 2>/dev/null &> log"], ["log"], []),
    ("a |& b", ["a", "b"], [], []),
    ("echo '$(rm x)' '`x`'", ["echo '$(rm x)' '`x`'"], [], []),
    ("a >'my file'", ["a >'my file'"], ["'my file'"], []),
    ("  ", [], [], []),
]
NOT_PLAIN = [
    "echo $(rm x)", "echo `rm x`", "(a; b)", "cat <<X\nrm\nX", "for x in a; do b; done", "if a; then b; fi", "{ a; }",
    "f() { a; }", 'echo "$(rm x)"', "echo 'open", 'echo "open', "a # b", "a \\\n b", "a <(b)", "[[ a ]] && b", "! a",
    "echo ${x:-y}", """"it's"; echo $(a; rm x) "it's\"""", "echo $'x'", "time a", "x" * 6_000,
    ";".join("a" * 40), "a\\",
]  # fmt: skip


@pytest.mark.parametrize(("command", "steps", "writes", "reads"), PLAIN)
def test_plain_lines(command: str, steps: list[str], writes: list[str], reads: list[str]) -> None:
    """Commands, and the files they are redirected to and from, as written."""
    apart = take_apart(command)
    assert apart is not None
    assert (apart.steps, apart.writes, apart.reads) == (steps, writes, reads)


@pytest.mark.parametrize("command", NOT_PLAIN)
def test_everything_else_is_not_taken_apart(command: str) -> None:
    """Better no list than one that leaves a command out; the card says so."""
    assert take_apart(command) is None
    assert "not taken apart" in " ".join(render_call("Bash", {"command": command}).notices)


@given(st.text(st.sampled_from("ab '\"\\;&|<>$(){}`\n#!"), max_size=30))
def test_no_line_breaks_it(command: str) -> None:
    """And no step is made up: each one stands in the line as it is."""
    apart = take_apart(command)
    assert apart is None or all(step in command for step in apart.steps)


def test_steps_are_marked() -> None:
    """A card is marked by whoever knows the rules."""
    card = render_call("Bash", {"command": "ls && rm x"})
    assert card.body[-1] == Steps((Step("ls"), Step("rm x")))
    marked = mark_steps(card, lambda step: step != "ls")
    assert marked.body[-1] == Steps((Step("ls", asks=False), Step("rm x", asks=True)))
    single = render_call("Bash", {"command": "ls"})
    assert mark_steps(single, lambda step: True) is single
