"""The fuzzer (`tests/rules/fuzz`) for a moment: allowed commands against bash's parser, shfmt, and bash itself."""

from __future__ import annotations

import shutil

import pytest

from tests.rules.fuzz.fuzzer import Fuzzer
from tests.rules.fuzz.shfmt import SHFMT, Call, calls_of

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


def test_what_is_allowed_does_nothing_else() -> None:
    """A fixed seed: no allowed command is a syntax error, hides a command, runs another program or changes a file."""
    with Fuzzer(7) as fuzzer:
        found = fuzzer.round(1_000)
    assert not found
    assert fuzzer.counts["allowed, scoped"] > 70
    assert fuzzer.counts["allowed, denied"] > 8
    assert fuzzer.counts["programs that ran"] > 70


@pytest.mark.slow
def test_what_is_allowed_does_nothing_else_for_longer() -> None:
    """The same with 45,000 scripts, a minute and a half. New ones are for `python -m tests.rules.fuzz --seed N`."""
    with Fuzzer(29) as fuzzer:
        for _ in range(90):
            assert not [fuzzer.shrunk(finding) for finding in fuzzer.round(500)]


def test_the_same_seed_gives_the_same_figures() -> None:
    """A run can be repeated."""
    figures = []
    for _ in range(2):
        with Fuzzer(3) as fuzzer:
            fuzzer.round(60)
            figures.append({name: fuzzer.counts[name] for name in ("cases", "allowed, scoped", "allowed, denied")})
    assert figures[0] == figures[1]


@pytest.mark.slow  # what the slow suites need is installed with them
@pytest.mark.skipif(SHFMT is None, reason="needs shfmt")
@pytest.mark.parametrize(
    ("command", "calls"),
    [
        ("a=1 e x", [("e", "x")]),
        ("a=1 _b2='x y' e", [("e",)]),
        ("a=1", []),
        ("]=[ e", [("]=[", "e")]),
        ("1=1", [("1=1",)]),
        ("a=1 1='x y' b=2 e", [("1=x y", "b=2", "e")]),
        ("]=$x e", [(None, "e")]),
        ("]= e", [("]=", "e")]),
    ],
)
def test_an_assignment_for_shfmt_is_one_for_the_oracle_where_it_is_one_for_bash(
    command: str, calls: list[Call]
) -> None:
    """A name begins with a letter or `_`; shfmt alone takes any character there."""
    assert calls_of([command]) == [calls]
