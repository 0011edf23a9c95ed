"""The state of a file: equal states mean equal content, and looking never waits."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_sdk.tools.state import MAX_CONTENT_BYTES, bound_state, content_in, file_state, is_bound_to, same_place


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_a_regular_file_is_its_digest(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert file_state(str(path)) == "sha256:" + hashlib.sha256(content).hexdigest()


def test_every_kind_of_thing_has_a_state(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "dangling").symlink_to("nothing")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
    state = {name: file_state(str(tmp_path / name)) for name in os.listdir(tmp_path)}
    digest = "sha256:" + hashlib.sha256(b"x").hexdigest()
    assert state == {
        "file": digest,
        "link": digest,
        "dangling": "absent",
        "loop": "unreadable",
        "pipe": "other",
        "socket": "other",
    }
    assert file_state(str(tmp_path)) == "dir"
    assert file_state("/dev/zero") == "other"


@pytest.mark.parametrize(
    ("path", "state"),
    [("/nowhere/at/all", "absent"), ("/etc/passwd/x", "absent"), ("a\0b", "unreadable"), ("\ud800", "unreadable")],
    ids=["missing", "below a file", "NUL", "surrogate"],
)
def test_a_path_that_leads_nowhere_has_a_state(path: str, state: str) -> None:
    assert file_state(path) == state


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch(mode=0o000)
    assert file_state(str(path)) == "unreadable"


def test_a_large_file_is_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(20_000_000)
    assert file_state(str(path)) == "sha256:" + hashlib.sha256(bytes(20_000_000)).hexdigest()


def huge(path: Path, size: int = 2_000_000_000_000) -> Path:
    """A file with a hole of this size, which takes no space on the disk."""
    with path.open("wb") as file:
        try:
            file.truncate(size)
        except OSError:
            pytest.skip("no file of this size here")
    return path


def test_a_huge_file_is_known_at_once_without_its_content(tmp_path: Path) -> None:
    """Its state stays while nothing happens to it."""
    path = huge(tmp_path / "file")
    began = time.monotonic()
    state = file_state(str(path))
    assert time.monotonic() - began < 20
    assert state.startswith("stat:2000000000000:")
    assert file_state(str(path)) == state


def replace(path: Path) -> None:
    shutil.copystat(path, huge(path.with_suffix(".new")))
    path.with_suffix(".new").replace(path)


def write_inside(path: Path) -> None:
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(1_000_000_000)
        file.write(b"x")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "written, with its old time": write_inside,
    "replaced, with its old time": replace,
    "longer": lambda path: os.truncate(path, 2_000_000_000_001),
    "short": lambda path: os.truncate(path, 10),
    "gone": lambda path: path.unlink(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_done_to_a_huge_file_changes_its_state(change: Callable[[Path], object], tmp_path: Path) -> None:
    path = huge(tmp_path / "file")
    state = file_state(str(path))
    time.sleep(0.02)  # the clock of a file system is coarser than a nanosecond
    change(path)
    assert file_state(str(path)) != state


@pytest.mark.parametrize("beyond", [0, 1])
def test_the_bound_is_exact(beyond: int, tmp_path: Path) -> None:
    state = file_state(str(huge(tmp_path / "file", MAX_CONTENT_BYTES + beyond)))
    assert state.partition(":")[0] == ("stat" if beyond else "sha256")


BOUND: dict[str, tuple[str, str, str, bool]] = {
    "as it was": ("file", "file", "x", True),
    "other content": ("file", "file", "y", False),
    "another file, the same content": ("file", "other", "x", False),
    "gone": ("file", "gone", "x", False),
}


@pytest.mark.parametrize("writes", [True, False], ids=["writes", "reads"])
@pytest.mark.parametrize("case", BOUND)
def test_a_bound_state_holds_for_one_file_as_it_was(case: str, writes: bool, tmp_path: Path) -> None:
    """The content counts for a tool that writes; where the path leads counts for both."""
    before, after, content, holds = BOUND[case]
    for name in ("file", "other"):
        (tmp_path / name).write_text("x")
    path, then, now = "/named/by/the/call", f"{tmp_path}/{before}", f"{tmp_path}/{after}"
    bound = bound_state(path, then, writes=writes)
    assert content_in(bound) == (file_state(then) if writes else None)
    (tmp_path / before).write_text(content)
    same = then == now
    assert is_bound_to(bound, path, now) is (holds or (same and not writes))
    assert same_place(bound, bound_state(path, now, writes=writes)) is same


def test_a_path_that_leads_to_itself_is_bound_by_its_own_name(tmp_path: Path) -> None:
    """So that what was bound by older versions still holds."""
    path = f"{tmp_path}/file"
    assert bound_state(path, path, writes=True) == "absent"
    assert is_bound_to("absent", path, path)
    assert not is_bound_to("absent", path, f"{tmp_path}/other")


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "/" + "a/" * 3000], ids=["NUL", "surrogate", "long"])
def test_a_bound_state_never_raises(path: str) -> None:
    assert isinstance(bound_state(path, path, writes=True), str)
