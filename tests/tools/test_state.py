"""The state of a file: equal states mean equal content, and looking never waits."""

from __future__ import annotations

import hashlib
import os
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_sdk.tools.state import file_state


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
