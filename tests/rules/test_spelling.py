"""What a path argument says is the same whether it was kept or is worked out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk.rules.files import FileView, TableFiles
from agent_sdk.rules.spelling import Spelled, spell, spell_again

DISKS: list[FileView] = [
    TableFiles(home="/home/dev"),
    TableFiles({"/w/l": "/etc", "/w/a/l": "..", "/w/loop": "/w/loop"}, home="/home/dev"),
    TableFiles({"/w": "/real"}, home="/home/dev"),
    TableFiles(home="C:\\Users\\dev", windows=True, case_sensitive=False),
]
PIECES = [
    "a",
    "l",
    "loop",
    "..",
    ".",
    "~",
    "",
    "$HOME",
    "x y",
    "\u200b",
    "\0",
    "proc",
    "self",
    "cwd",
    "dev",
    "fd",
    "C:",
    "\\",
    "é",
]
texts = st.tuples(st.sampled_from(["", "/", "/w/", "~/", "./"]), st.lists(st.sampled_from(PIECES), max_size=5)).map(
    lambda parts: parts[0] + "/".join(parts[1])
)


def told(spelled: Spelled) -> tuple[object, ...]:
    """All that it says."""
    return spelled.text, spelled.absolute, spelled.readings, spelled.odd, spelled.refused, spelled.low


@pytest.mark.parametrize("files", DISKS, ids=["no links", "links", "linked folder", "windows"])
@given(texts, st.sampled_from(["/w", "/w/a", "/"]))
def test_what_is_kept_says_the_same(files: FileView, text: str, cwd: str) -> None:
    """At every place, on every disk, the first time and again."""
    expected = told(spell(text, cwd, files))
    assert told(spell_again(text, cwd, files)) == expected
    assert told(spell_again(text, cwd, files)) == expected
    for other in DISKS:
        spell_again(text, cwd, other)
    assert told(spell_again(text, cwd, files)) == expected
