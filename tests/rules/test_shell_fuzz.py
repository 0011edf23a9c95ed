"""The fuzzer (`tests/rules/fuzz`) for a moment: allowed commands against bash's parser, shfmt, and bash itself."""

from __future__ import annotations

import shutil
import time

import pytest

from tests.rules.fuzz.fuzzer import Fuzzer

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
    """The same with new scripts for a minute and a half; the seed is the day, and in the message."""
    seed = int(time.time()) // 86_400
    with Fuzzer(seed) as fuzzer:
        until = time.monotonic() + 90
        while time.monotonic() < until:
            found = [fuzzer.shrunk(finding) for finding in fuzzer.round(500)]
            assert not found, f"seed {seed}"


def test_the_same_seed_gives_the_same_figures() -> None:
    """A run can be repeated."""
    figures = []
    for _ in range(2):
        with Fuzzer(3) as fuzzer:
            fuzzer.round(60)
            figures.append({name: fuzzer.counts[name] for name in ("cases", "allowed, scoped", "allowed, denied")})
    assert figures[0] == figures[1]
