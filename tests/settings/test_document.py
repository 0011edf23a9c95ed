"""Settings files are read strictly and safely, and written back as they came."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_sdk.errors import SettingsError
from agent_sdk.settings.document import ABSENT, LARGEST, parse_document, read_document, signature, to_bytes

BROKEN: dict[str, tuple[bytes, int | None, int | None]] = {
    "trailing comma": (b'{"permissions":\n {"deny": ["Read(./.env)",]}}', 2, None),
    "comment": (b'{\n  // mine\n  "permissions": {}}', 2, 3),
    "truncated": (b'{"permissions": {', 1, 18),
    "single quotes": (b"{'permissions': {}}", 1, 2),
    "two values": (b"{} {}", 1, 4),
    "not UTF-8": (b'{"a":\n"\xff"}', 2, 2),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), 1, 1),
    "NaN": (b'{"a": NaN}', None, None),
    "nested without end": (b"[" * 100_000, None, None),
    "a number without end": (b'{"a": ' + b"9" * 10_000 + b"}", None, None),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_an_error_with_a_place(name: str) -> None:
    """What is not strict JSON is SettingsError with path, and line and column where there is one."""
    data, line, column = BROKEN[name]
    with pytest.raises(SettingsError, match=r"/p/settings\.json") as caught:
        parse_document("/p/settings.json", data)
    assert (caught.value.path, caught.value.line) == ("/p/settings.json", line)
    assert column is None or caught.value.column == column


@pytest.mark.parametrize("data", [b"", b" \n\t", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n", b"{}"])
def test_empty_is_an_empty_object(data: bytes) -> None:
    """A file without a value says nothing; a byte order mark is no value."""
    assert parse_document("/p", data).value == {}


def test_byte_order_mark_is_skipped() -> None:
    """A byte order mark in front of the object changes nothing."""
    assert parse_document("/p", b'\xef\xbb\xbf{"a": 1}').value == {"a": 1}


def test_doubled_keys_are_noted() -> None:
    """A key that stands twice in one object is named; in two objects it may."""
    assert parse_document("/p", b'{"a": {"b": 1}, "c": {"b": 2}}').doubled == frozenset()
    assert parse_document("/p", b'{"a": {"b": 1, "b": 2}}').doubled == {"b"}


def test_missing_file_is_none(tmp_path: Path) -> None:
    """No file, no folder, and a link that leads nowhere are all no file."""
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "file").touch()
    assert read_document(str(tmp_path / "none")) is None
    assert read_document(str(tmp_path / "none" / "below")) is None
    assert read_document(str(tmp_path / "file" / "below")) is None
    assert read_document(str(tmp_path / "dangling")) is None


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1024**3)


ODD: dict[str, Any] = {
    "pipe": lambda path: os.mkfifo(path),
    "device": lambda path: path.symlink_to("/dev/zero"),
    "terminal": lambda path: path.symlink_to("/dev/tty"),
    "folder": lambda path: path.mkdir(),
    "huge": _sparse,
    "link to itself": lambda path: path.symlink_to(path),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_files_are_refused_at_once(name: str, tmp_path: Path) -> None:
    """What is no plain file of a sane size is refused without waiting and without reading it."""
    path = tmp_path / "settings.json"
    ODD[name](path)
    started = time.monotonic()
    with pytest.raises(SettingsError, match=r"settings\.json"):
        read_document(str(path))
    assert time.monotonic() - started < 20


def test_a_file_at_the_limit_is_read(tmp_path: Path) -> None:
    """The limit itself is allowed, one byte more is not."""
    path = tmp_path / "settings.json"
    path.write_bytes(b"{}" + b" " * (LARGEST - 2))
    assert read_document(str(path)) is not None
    path.write_bytes(b"{}" + b" " * (LARGEST - 1))
    with pytest.raises(SettingsError, match="larger"):
        read_document(str(path))


def test_signature_tells_every_change(tmp_path: Path) -> None:
    """Writing, replacing, removing and retargeting a link each change the signature."""
    path, other = tmp_path / "a", tmp_path / "b"
    seen = [signature(str(path))]
    path.write_text("1")
    seen.append(signature(str(path)))
    other.write_text("2")
    os.replace(other, path)
    seen.append(signature(str(path)))
    path.unlink()
    path.symlink_to("/etc/hostname")
    seen.append(signature(str(path)))
    assert len(set(seen)) == len(seen)
    assert signature("\0") == (-1,)


def test_what_is_not_there_has_the_one_signature_for_that(tmp_path: Path) -> None:
    """The very value, by which it is known again: a file, a folder on the way, and what a link leads to."""
    (tmp_path / "l").symlink_to(tmp_path / "nowhere")
    for name in ("a", "a/b", "l"):
        assert signature(str(tmp_path / name)) is ABSENT
    (tmp_path / "file").write_text("")
    assert signature(str(tmp_path / "file" / "a")) != ABSENT


TEXT = st.text(st.sampled_from('aZ0 é日😀"\\/\n\t\x00\u2028\ud800'), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@settings(deadline=None)
@given(st.dictionaries(TEXT, JSON, max_size=5), st.sampled_from(["  ", "    ", "\t"]))
def test_parse_after_print_is_the_identity(value: dict[str, Any], indent: str) -> None:
    """What was written is read back: the same values, the same order of keys."""
    document = parse_document("/p", to_bytes(value, indent))
    assert document.value == value
    assert json.dumps(document.value) == json.dumps(value)


@pytest.mark.parametrize("indent", ["  ", "    ", "\t"])
def test_indentation_is_kept(indent: str) -> None:
    """A file keeps the indentation of its author."""
    data = to_bytes({"a": {"b": [1]}}, indent)
    assert parse_document("/p", data).indent == indent
