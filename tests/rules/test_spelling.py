"""What a path argument says: in every spelling, and the same whether it was kept or is worked out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk.rules.files import FileView, OsFiles, TableFiles
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


KERNEL_LINKS = TableFiles({"/w/env": "/proc/self/cwd/.env", "/w/here": "/proc/self/cwd", "/w/in": "//dev/stdin"})


@pytest.mark.parametrize(
    "text",
    [
        "/proc/self/cwd/.env",
        "//proc/self/cwd/.env",
        "/./proc/self/cwd/.env",
        "/proc//self/./cwd/.env",
        "/tmp/../proc/self/cwd/.env",
        "../proc/self/cwd/.env",
        "/proc/7/task/8/cwd/.env",
        "/proc/self/root/w/.env",
        "//proc/self/root//w/.env",
        "/proc/self/root/proc/self/cwd/.env",
        "/proc/self/cwd/../w/.env",
        "/tmp/../proc/self/cwd/../w/.env",
        "env",
        "here/.env",
        "here/../w/.env",
        "/proc/self/cwd/here/.env",
    ],
)
def test_the_kernels_links_lead_to_where_the_command_runs(text: str) -> None:
    """However they are spelled, and through other links: `cwd` is the working directory, `root` the root."""
    for way in (spell, spell_again):
        assert ("w", ".env") in way(text, "/w", KERNEL_LINKS).readings


def test_the_kernels_links_on_the_real_disk(tmp_path: Path) -> None:
    """A link to `/proc/self/cwd` leads a command to its own folder, wherever this process runs."""
    (tmp_path / "link").symlink_to("/proc/self/cwd/.env")
    assert (*tmp_path.parts[1:], ".env") in spell("link", str(tmp_path), OsFiles()).readings


@pytest.mark.parametrize(
    ("text", "cwd"),
    [
        ("/dev/fd/3", "/w"),
        ("//dev/fd/3", "/w"),
        ("/dev//stdin", "/w"),
        ("/dev/./stdin", "/w"),
        ("../dev/stdin", "/w"),
        ("/proc//self/fd/3", "/w"),
        ("fd/3", "/dev"),
        ("in", "/w"),
    ],
)
def test_a_descriptor_is_odd_in_every_spelling(text: str, cwd: str) -> None:
    """No rule and no mode approves what it stands for."""
    for way in (spell, spell_again):
        assert way(text, cwd, KERNEL_LINKS).odd == "the path names a descriptor, not a file"
