"""The matchers are equal to a naive specification, and take no more steps than pattern times text."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk.rules.globs import STAR, Token, fits, matches, pieces, pieces_of, tokens
from agent_sdk.rules.paths import DEEP, Segment, _segment, covers


def naive(pattern: tuple[Token, ...], text: str) -> bool:
    """The meaning of a pattern, written down without a thought for speed."""
    if not pattern:
        return not text
    if pattern[0] is STAR:
        return any(naive(pattern[1:], text[cut:]) for cut in range(len(text) + 1))
    first = pattern[0]
    return bool(text) and getattr(first, "holds")(text[0]) and naive(pattern[1:], text[1:])  # noqa: B009


@given(st.text(alphabet="ab*?[]!-\\", max_size=8), st.text(alphabet="ab]-\\", max_size=7))
def test_segments_match_as_specified(pattern: str, text: str) -> None:
    """Two pointers find what trying everything finds."""
    assert matches(tokens(pattern), text) == naive(tokens(pattern), text)


COMMAND_PATTERNS = st.lists(st.sampled_from(["a", "b", " ", "*", "\\*", "\\\\"]), max_size=8).map("".join)


@given(COMMAND_PATTERNS, st.text(alphabet="ab *\\", max_size=8))
def test_pieces_match_as_the_stars_between_them(pattern: str, text: str) -> None:
    """Cutting at stars and searching is the same as matching character by character."""
    assert fits(pieces(pattern), text) == naive(tokens(pattern), text)


@given(st.text(alphabet="ab*", max_size=8), st.text(alphabet="ab", max_size=8), st.text(alphabet="ab", max_size=3))
def test_fits_can_start_later(pattern: str, text: str, before: str) -> None:
    """A start offset is the same as cutting the text there."""
    assert fits(pieces(pattern), before + text, len(before)) == fits(pieces(pattern), text)


@dataclass
class CountingName:
    """A segment that fits names by first letter, and counts how often it is asked."""

    letter: str
    asked: list[int] = field(default_factory=lambda: [0])

    def fits(self, name: str) -> bool:
        """True when the name begins with the letter."""
        self.asked[0] += 1
        return name.startswith(self.letter)

    text = None


def naive_path(pattern: tuple[CountingName | Segment | None, ...], names: tuple[str, ...]) -> bool:
    """The meaning of a path pattern; None is any number of names."""
    if not pattern:
        return not names
    if pattern[0] is None:
        return any(naive_path(pattern[1:], names[cut:]) for cut in range(len(names) + 1))
    return bool(names) and pattern[0].fits(names[0]) and naive_path(pattern[1:], names[1:])


@given(st.lists(st.sampled_from(["a", "b", None]), max_size=7), st.lists(st.sampled_from(["a", "b"]), max_size=7))
def test_paths_match_as_specified(pattern: list[str | None], names: list[str]) -> None:
    """`**` stands for any number of names."""
    segments = tuple(letter and CountingName(letter) for letter in pattern)
    assert covers(segments, names) == naive_path(segments, tuple(names))  # type: ignore[arg-type]


SEGMENTS = st.sampled_from(["a", "b", "*", "a*", "?", "[a]", "**"])


@given(st.lists(SEGMENTS, max_size=7), st.lists(st.sampled_from(["a", "b", "ab", ""]), max_size=7))
def test_real_segments_match_as_specified(pattern: list[str], names: list[str]) -> None:
    """Whatever a pattern ends in, leaving the search early changes no answer."""
    segments = tuple(DEEP if name == "**" else _segment(tokens(name)) for name in pattern)
    assert covers(segments, names) == naive_path(segments, tuple(names))


@pytest.mark.parametrize("stars", [1, 8, 40])
def test_a_path_match_takes_no_more_steps_than_pattern_times_path(stars: int) -> None:
    """Many `**` that fail at the very end do not multiply."""
    asked = [0]
    segments = (None, CountingName("a", asked)) * stars + (CountingName("b", asked),)
    names = ["a"] * 200
    assert not covers(segments, names)  # type: ignore[arg-type]
    assert asked[0] <= len(segments) * len(names)


class CountingToken:
    """A token that fits `a` and counts."""

    asked = 0

    def holds(self, char: str) -> bool:
        """True for `a`."""
        CountingToken.asked += 1
        return char == "a"


def test_a_segment_match_takes_no_more_steps_than_pattern_times_text() -> None:
    """The pattern on which backtracking matchers take half a minute."""
    CountingToken.asked = 0
    hostile = (STAR, CountingToken()) * 30 + tokens("b")
    assert not matches(hostile, "a" * 500)
    assert CountingToken.asked <= len(hostile) * 500


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("[2024-06] Reports", "2 Reports", True),
        ("[2024-06] Reports", "3 Reports", False),
        ("[]a]x", "]x", True),
        ("[!]a]x", "]x", False),
        ("[^a]", "b", True),
        ("[[:digit:]x]", "7", True),
        ("[[:digit:]x]", "y", False),
        ("[a-", "[a-", True),
        ("a\\", "a\\", True),
        ("\\*", "*", True),
        ("\\*", "a", False),
        ("[\\]]", "]", True),
        ("[a-]", "-", True),
        ("**", "anything", True),
        ("[[:nosuch:]]", "s]", True),
        ("[[:alpha]", "p", True),
        ("[[:alpha]", ":", True),
        ("[[:alpha]", "z", False),
        ("[[:alpha:]", "[p", True),
    ],
)
def test_classes_and_escapes(pattern: str, text: str, expected: bool) -> None:
    """Classes as git has them; what is never closed is literal."""
    assert matches(tokens(pattern), text) is expected


def test_only_stars_and_literals_have_pieces() -> None:
    """A pattern with `?` or a class has none."""
    assert pieces_of(tokens("a*b")) == ("a", "b")
    assert pieces_of(tokens("a?b")) is None


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the oracle")
def test_segments_match_as_git_has_it(tmp_path: Path) -> None:
    """`git check-ignore` agrees on one-segment patterns."""
    patterns = [
        "*.t?t",
        "a*b*c",
        "[a-c]x",
        "[!a-c]x",
        "\\*",
        "[]x]",
        "a[[:digit:]]",
        "*",
        "x\\[1\\]",
        "?",
        "a**c",
        "[[:ab]",
    ]
    names = ["f.txt", "f.tt", "abc", "aXbYc", "ax", "dx", "*", "]", "x", "a1", "ab", "x[1]", "ac"]
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for pattern in patterns:
        (tmp_path / ".gitignore").write_text(pattern + "\n")
        command = ["git", "check-ignore", "--no-index", "-z", "--stdin"]
        done = subprocess.run(command, cwd=tmp_path, input="\0".join(names).encode(), capture_output=True, check=False)
        ignored = set(done.stdout.decode().split("\0")) - {""}
        assert {name for name in names if matches(tokens(pattern), name)} == ignored, pattern
