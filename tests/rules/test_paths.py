"""What path rules cover, beyond the table: links on the rule's side, working directories, searches, the real disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk.calls import ToolFacts
from agent_sdk.rules.files import OsFiles, TableFiles
from agent_sdk.rules.matching import Place, Reading, Rulebook
from agent_sdk.rules.paths import FRESH_FOLDERS
from agent_sdk.rules.rule import RuleSource, read_rules
from agent_sdk.rules.spelling import absolute
from tests.rules.support import CWD, book, reading, verdict

LINKED = {"/home/dev/proj/secrets": "/data/s", "/home/dev/proj/.env": "/data/env", "/tmp/in": "/home/dev/proj/src"}


@pytest.mark.parametrize(
    ("rules", "tool", "path", "expected"),
    [
        ({"deny": ["Read(./secrets/**)"]}, "Read", "/data/s/key", "deny"),
        ({"deny": ["Read(secrets/**)"]}, "Read", "/data/s/key", "deny"),
        ({"deny": ["Read(secrets)"]}, "Read", "/data/s", "deny"),
        ({"deny": ["Read(.env)"]}, "Edit", "/data/env", "deny"),
        ({"ask": ["Edit(/secrets/*.pem)"], "allow": ["Edit"]}, "Write", "/data/s/a.pem", "ask"),
        ({"deny": ["Edit(./secrets/**)"], "allow": ["Read"]}, "Read", "/data/s/key", "allow"),
        ({"allow": ["Read(./secrets/**)"]}, "Read", "/data/s/key", "none"),
        ({"allow": ["Edit(/src/**)"]}, "Edit", "/tmp/in/a", "none"),
        ({"allow": ["Edit(/src/**)", "Edit(//tmp/in/**)"]}, "Edit", "/tmp/in/a", "none"),
        ({"deny": ["Read(./secrets/**)"]}, "Read", "src/../secrets/x", "deny"),
        ({"ask": ["Read(./a/**)"], "allow": ["Edit"]}, "Edit", "a/b", "allow"),
        ({"deny": ["Grep(./a/**)"], "allow": ["Read"]}, "Grep", "a/b", "deny"),
        ({"deny": ["Grep(./a/**)"], "allow": ["Read"]}, "Read", "a/b", "allow"),
        ({"deny": ["Read( .env )"]}, "Read", ".env", "none"),
        ({"deny": ["Read(.env )"]}, "Read", ".env", "deny"),
        ({"deny": ["Read(secrets\\/key)"]}, "Read", "secrets/key", "deny"),
        ({"deny": ["Read(secrets\\\\/key)"]}, "Read", "secrets/key", "none"),
        ({"deny": ["Read(stra?e)"]}, "Read", "straße", "deny"),
        ({"deny": ["Read([A-C]x)"]}, "Read", "bX", "deny"),
        ({"deny": ["Read([!a]x)"]}, "Read", "ax", "none"),
        ({"deny": ["Read(C:\\secret\\**)"]}, "Read", "/c/secret/k", "deny"),
        ({"allow": ["Edit(a\\*)"]}, "Edit", "a*", "allow"),
        ({"allow": ["Edit(a\\*)"]}, "Edit", "ab", "none"),
        ({"allow": ["Edit(src/)"]}, "Edit", "src/a/b", "allow"),
        ({"allow": ["Edit(src/)"]}, "Edit", "x/src/a", "none"),
        ({"allow": ["Edit(src)"]}, "Edit", "src/a", "none"),
        ({"allow": ["Read(**)"]}, "Read", "a/b/c", "allow"),
        ({"allow": ["Read(*.md)"]}, "Read", "a/b/c.md", "allow"),
        ({"allow": ["Edit"]}, "Read", "/etc/hosts", "allow"),
        ({"allow": ["Write"]}, "NotebookEdit", "a.ipynb", "allow"),
        ({"allow": ["Read"]}, "Edit", "a", "none"),
        ({"deny": ["Read(//)"]}, "Read", "/etc/hosts", "deny"),
        ({"deny": ["Read(~/)"]}, "Read", "~/x", "deny"),
        ({"deny": ["Read(/)"]}, "Read", "/home/dev/other", "none"),
        ({"allow": ["Read"]}, "Read", "/dev/fd/3", "none"),
        ({"allow": ["Read"]}, "Read", "${HOME}/x", "none"),
        ({"allow": ["Read"]}, "Read", "https://example.com/x", "none"),
        ({"allow": ["Read"]}, "Read", "~root/x", "none"),
        ({"allow": ["Read"]}, "Read", "a\nb", "none"),
        ({"allow": ["Read"]}, "Read", "", "deny"),
        ({"deny": ["Read(//home/dev/proj/x)"]}, "Read", "/proc/self/cwd/x", "deny"),
        ({"deny": ["Read(//etc/shadow)"]}, "Read", "/proc/77/root/etc/shadow", "deny"),
    ],
)
def test_a_path_rule(rules: dict[str, list[str]], tool: str, path: str, expected: str) -> None:
    """One rule, one path, one verdict."""
    call = reading(tool, {"file_path": path}, files=TableFiles(LINKED))
    assert verdict(book(**rules), call) == expected


@pytest.mark.parametrize("leads", [1, FRESH_FOLDERS + 5])
def test_links_on_the_side_of_the_rule_are_followed_however_many_rules_there_are(leads: int) -> None:
    """A deny rule written through a link also holds for the real path."""
    rules = book(deny=[f"Read(./other{number}/**)" for number in range(leads)] + ["Read(./secrets/**)"])
    for _ in range(2):
        assert verdict(rules, reading("Read", {"file_path": "/data/s/k"}, files=TableFiles(LINKED))) == "deny"
        assert verdict(rules, reading("Read", {"file_path": "/data/s/k"}, files=TableFiles())) == "none"


@pytest.mark.parametrize(
    ("tool", "tool_input", "inside"),
    [
        ("Read", {"file_path": "a"}, True),
        ("Read", {"file_path": "../a"}, False),
        ("Read", {"file_path": "/data/x"}, True),
        ("Read", {"file_path": "/data"}, True),
        ("Read", {"file_path": "/database/x"}, False),
        ("Read", {"file_path": "secrets/x"}, False),
        ("Read", {"file_path": ".env"}, False),
        ("Read", {"file_path": "a\0"}, False),
        ("Read", {}, False),
        ("Grep", {"pattern": "x"}, True),
        ("Grep", {"pattern": "/x", "path": "/etc"}, False),
        ("Glob", {"pattern": "**/*.py"}, True),
        ("Glob", {"pattern": "/etc/*"}, False),
        ("Glob", {"pattern": "../*"}, False),
        ("Glob", {"pattern": "a/../../b/*"}, False),
        ("Glob", {"pattern": "~/*"}, False),
        ("Glob", {"pattern": "{../*,x}"}, False),
        ("Glob", {"pattern": "../*", "path": "src/lib"}, True),
        ("Glob", {"pattern": "../../../*", "path": "src/lib"}, False),
        ("Glob", {"pattern": "/home/dev/proj/src/*", "path": "src"}, True),
        ("Bash", {"command": "ls"}, False),
        ("WebFetch", {"url": "https://example.com"}, False),
    ],
)
def test_inside_the_working_directories(tool: str, tool_input: dict[str, Any], inside: bool) -> None:
    """Every reading of every path must lie inside; a search without a path means the working directory."""
    links = {f"{CWD}/secrets": "/elsewhere", f"{CWD}/.env": "/elsewhere/env"}
    call = reading(tool, tool_input, additional=("/data",), files=TableFiles(links))
    assert call.inside is inside


def test_a_tool_of_the_application_is_governed_by_its_facts() -> None:
    """`Edit(path)` covers every tool that writes, `Read(path)` every tool that reads."""
    place = Place(CWD, files=TableFiles())
    save = Reading("Save", {"target": "a/b"}, ToolFacts(name="Save", writes="target"), place)
    load = Reading("Load", {"source": "a/b"}, ToolFacts(name="Load", reads="source"), place)
    both = Reading("Copy", {"a": "a/b", "b": "c/d"}, ToolFacts(name="Copy", reads="a", writes="b"), place)
    assert verdict(book(deny=["Edit(./a/**)"]), save) == "deny"
    assert verdict(book(deny=["Read(./a/**)"]), load) == "deny"
    assert verdict(book(deny=["Save(./a/**)"]), save) == "deny"
    assert verdict(book(allow=["Edit(./c/**)"]), both) == "none"
    assert verdict(book(allow=["Edit(./c/**)", "Read(./a/**)"]), both) == "allow"
    assert verdict(book(deny=["Edit(./a/**)"]), both) == "none"


def test_the_real_disk(tmp_path: Path) -> None:
    """A working directory behind a link, a link that leads out, and a file that does not exist yet."""
    root = tmp_path.resolve()
    (root / "proj" / "src").mkdir(parents=True)
    (root / "out").mkdir()
    os.symlink(root / "proj", root / "p")
    os.symlink(root / "out", root / "proj" / "src" / "leak")
    source = RuleSource("options", None, str(root / "p"))
    rules = Rulebook(read_rules(["Edit(/src/**)"], "allow", source)[0])
    place = Place(str(root / "p"), files=OsFiles())
    facts = ToolFacts(name="Edit", writes="file_path")

    def allowed(path: str) -> bool:
        return rules.allow(Reading("Edit", {"file_path": path}, facts, place)) is not None

    assert allowed("src/new/file")
    assert allowed(f"{root}/proj/src/new")
    assert not allowed("src/leak/file")
    assert not allowed("src/leak/../x")
    assert not allowed(f"{root}/out/x")


def test_the_path_that_a_tool_opens() -> None:
    """Relative to the working directory, `~/` is home, and `..` is left to the system."""
    files = TableFiles()
    assert absolute("a/../b", CWD, files) == f"{CWD}/a/../b"
    assert absolute("~/x", CWD, files) == "/home/dev/x"
    assert absolute("/x", CWD, files) == "/x"


@given(st.text(), st.sampled_from(["Read", "Edit", "Grep", "Glob"]), st.booleans(), st.text(max_size=12))
def test_no_text_makes_a_reading_raise(text: str, tool: str, windows: bool, pattern: str) -> None:
    """Arbitrary paths and patterns give a verdict."""
    files = TableFiles({f"{CWD}/l": "/x"}, case_sensitive=not windows, windows=windows)
    call = reading(tool, {"file_path": text, "pattern": pattern}, files=files)
    rules = book(deny=["Read(.env)", "Edit(/[a-c]?/**)"], allow=["Edit(src/**)", "Read(~/**)"])
    assert verdict(rules, call) in ("allow", "deny", "none")
    assert isinstance(call.inside, bool)


@given(st.lists(st.sampled_from(["a", "b", "..", ".", "", "l", "A", "~"]), min_size=1, max_size=6).map("/".join))
def test_allow_never_covers_what_deny_with_the_same_text_does_not(path: str) -> None:
    """A deny rule is at least as wide as the allow rule of the same text."""
    files = TableFiles({f"{CWD}/l": "a/b", f"{CWD}/a/l": "/b"})
    call = reading("Edit", {"file_path": path}, files=files)
    for text in ("Edit(a/**)", "Edit(/a/*)", "Edit(b)", "Edit(//b/**)", "Edit(**/b)", "Edit(~/**)"):
        if book(allow=[text]).allow(call):
            assert book(deny=[text]).deny(call), text


def test_a_search_leaves_out_what_read_rules_cover(tmp_path: Path) -> None:
    """Links of files are followed for each file; bare rules hold for the search itself, not for its files."""
    root = str(tmp_path.resolve())
    Path(root, "secret").mkdir()
    os.symlink(f"{root}/secret/k", f"{root}/innocent")
    place = Place(root, files=OsFiles())
    covered = book(deny=["Read(secret/**)"], ask=["Read(*.pem)", "Read"], allow=["Read"]).left_out(place)
    names = ["secret/k", "innocent", "a.pem", "x/secret/y", "plain"]
    assert [name for name in names if covered(f"{root}/{name}")] == names[:-1]
