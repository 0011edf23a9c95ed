"""A planned change is shown as a unified diff that is true, bounded, and never waits."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_sdk.render import Diff, Text
from agent_sdk.render.diff import MAX_BYTES, MAX_LINES, Absent, Unreadable, current_text, diff_of

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=14)


def applied(old: str, diff: Diff) -> str:
    """What `patch` would make of `old`: a small reader of unified diffs."""
    source, result, at = old.split("\n"), [], 0
    for line in diff.lines[2:]:
        if head := re.match(r"@@ -(\d+)(?:,(\d+))? ", line):
            first, count = int(head[1]), int(head[2] or 1)
            start = first - 1 if count else first
            result += source[at:start]
            at = start
        elif line.startswith(" "):
            assert source[at] == line[1:]
            result.append(source[at])
            at += 1
        elif line.startswith("-"):
            assert source[at] == line[1:]
            at += 1
        else:
            assert line.startswith("+")
            result.append(line[1:])
    return "\n".join(result + source[at:])


@given(LINES, LINES)
@settings(deadline=None)
def test_applying_the_diff_gives_the_new_text(old: list[str], new: list[str]) -> None:
    """The lines shown are enough to turn the old text into the new one, at the line numbers shown."""
    before, after = "".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new)
    part = diff_of(before, after, label="f")
    if before == after:
        assert isinstance(part, Text)
    else:
        assert isinstance(part, Diff)
        assert applied(before, part) == after


def test_a_missing_final_newline_is_told() -> None:
    """Adding only the last line end is a change that can be seen."""
    part = diff_of("a", "a\n", label="f")
    assert part == Diff(("--- f", "+++ f", "@@ -1 +1 @@", "-a", "\\ No newline at end of file", "+a"))


def test_a_small_change_in_a_large_file_is_a_small_diff() -> None:
    """Lines far from the change are left out, and the line numbers are those of the file."""
    old = "".join(f"line {n}\n" for n in range(10_000))
    part = diff_of(old, old.replace("line 5000\n", "line five thousand\n"), label="f")
    assert isinstance(part, Diff)
    assert part.lines[2] == "@@ -4998,7 +4998,7 @@"
    assert len(part.lines) == 11


def test_a_very_long_diff_is_cut_and_counted() -> None:
    """A diff is bounded, and the card can say how much is missing."""
    part = diff_of("", "".join(f"line {n}\n" for n in range(30_000)), label="f")
    assert isinstance(part, Diff)
    assert len(part.lines) == MAX_LINES
    assert part.left_out == 30_003 - MAX_LINES


def test_a_tangled_change_is_quick() -> None:
    """Texts made to keep a line matcher busy do not hold up the prompt."""
    old = "".join(f"line {n}\n" for n in range(20_000))
    new = "".join(f"line {n}{'' if n % 2 else '!'}\n" for n in range(20_000))
    part = diff_of(old, new, label="f")
    assert isinstance(part, Diff)


def test_one_endless_line_is_cut() -> None:
    """A line of a megabyte is shown by its beginning."""
    part = diff_of("", "x" * 1_000_000, label="f")
    assert isinstance(part, Diff)
    assert max(map(len, part.lines)) < 2_100
    assert "… (998,001 more characters)" in part.lines[3]


def test_a_file_that_is_not_there_is_absent(tmp_path: Path) -> None:
    """A new file is told apart from one that cannot be read."""
    assert current_text(str(tmp_path / "new")) == Absent()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(b"\x89PNG\0\0", "binary", id="binary"),
        pytest.param(b"caf\xe9", "not UTF-8", id="another encoding"),
        pytest.param(b"x" * (MAX_BYTES + 1), "too large", id="too large"),
    ],
)
def test_what_cannot_be_shown_is_said_in_words(tmp_path: Path, content: bytes, why: str) -> None:
    """Binary, oddly encoded and huge files are not compared, and the reason is given."""
    path = tmp_path / "file"
    path.write_bytes(content)
    current = current_text(str(path))
    assert isinstance(current, Unreadable)
    assert why in current.why


def test_pipes_devices_folders_and_bad_names_are_not_opened(tmp_path: Path) -> None:
    """Nothing that could block or react to being opened is opened."""
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), "/dev/zero", str(tmp_path), "bad\0name", str(tmp_path / "pipe" / "x")):
        assert isinstance(current_text(path), Unreadable), path
