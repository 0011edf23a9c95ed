"""Read, Write and Edit on real files."""

from __future__ import annotations

import base64
import os
import stat
import tracemalloc
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from agent_sdk.calls import ToolResult
from agent_sdk.tools.base import Tool, ToolContext
from agent_sdk.tools.files import EDIT, WRITE
from agent_sdk.tools.read import MAX_CHARACTERS, READ
from agent_sdk.tools.state import file_state

IN_PLACE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


async def use(tool: Tool, where: Path, /, *, expected: str | None = None, **tool_input: Any) -> ToolResult:
    assert tool.check(tool_input) is None
    return await tool.run(tool_input, ToolContext(cwd=str(where), expected_state=expected))


def text_of(result: ToolResult) -> str:
    assert isinstance(result.content, str)
    assert result.content.strip()
    return result.content


# ── Read


@pytest.mark.parametrize(
    ("content", "more", "text"),
    [
        (b"one\ntwo\n", {}, "     1\tone\n     2\ttwo"),
        (b"one\r\n\r\nlast", {}, "     1\tone\n     2\t\n     3\tlast"),
        (b"a\nb\nc\n", {"offset": 2, "limit": 1}, "     2\tb\n[The file goes on; read further with offset=3.]"),
        (b"a\nb\n", {"offset": 2, "limit": 1}, "     2\tb"),
        ("\ufeffä".encode(), {}, "     1\tä"),
        ("ä漢\nb".encode("utf-16"), {}, "     1\tä漢\n     2\tb\n[The file is utf-16-le.]"),
        (b"\xfe\xff" + "ä".encode("utf-16-be"), {}, "     1\tä\n[The file is utf-16-be.]"),
        (b"\xe4\n\xc3\xa4\n", {}, "     1\tä\n     2\tä\n[Lines that are not UTF-8 were read as Latin-1.]"),
        (b"a\rb", {}, "     1\ta\rb"),
    ],
)
@pytest.mark.anyio
async def test_lines_are_numbered_whatever_the_encoding(
    tmp_path: Path, content: bytes, more: dict[str, int], text: str
) -> None:
    (tmp_path / "f").write_bytes(content)
    result = await use(READ, tmp_path, file_path="f", **more)
    assert (result.content, result.is_error) == (text, False)


@pytest.mark.parametrize(
    ("content", "more", "words", "is_error"),
    [
        (b"", {}, "is empty", False),
        (b"a\nb\n", {"offset": 9}, "has only 2 lines; there is no line 9", True),
        (b"ELF\0\1\2", {}, "binary", True),
        (PNG[:8] + bytes(5_000_000), {}, "more than 5 MB", True),
    ],
    ids=["empty", "beyond", "binary", "image"],
)
@pytest.mark.anyio
async def test_what_holds_no_lines_is_said(
    tmp_path: Path, content: bytes, more: dict[str, int], words: str, is_error: bool
) -> None:
    (tmp_path / "f").write_bytes(content)
    result = await use(READ, tmp_path, file_path="f", **more)
    assert words in text_of(result)
    assert result.is_error is is_error


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
@pytest.mark.anyio
async def test_an_image_is_an_image_block(tmp_path: Path, content: bytes, media_type: str) -> None:
    (tmp_path / "f.txt").write_bytes(content)
    result = await use(READ, tmp_path, file_path="f.txt")
    source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(content).decode()}
    assert result.content == [{"type": "image", "source": source}]


@pytest.mark.parametrize("tool", [READ, EDIT, WRITE], ids=lambda tool: tool.name)
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("pipe", "was not opened"),
        ("/dev/zero", "was not opened"),
        ("folder", "is a folder"),
        ("loop", "loop|symbolic links"),
        ("a\0b", "NUL"),
        ("\ud800", "lone surrogate"),
        ("file/x", "Not a directory|File exists"),
        ("a" * 300, "too long"),
    ],
)
@pytest.mark.anyio
async def test_what_is_no_regular_file_is_refused_and_never_opened(
    tmp_path: Path, tool: Tool, path: str, words: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    others = {"Read": {}, "Write": {"content": "x"}, "Edit": {"old_string": "x", "new_string": "y"}}
    with anyio.fail_after(5):
        result = await use(tool, tmp_path, file_path=path, **others[tool.name])
    assert result.is_error
    assert any(word in text_of(result) for word in words.split("|"))
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


@pytest.mark.anyio
async def test_a_missing_file_is_said(tmp_path: Path) -> None:
    result = await use(READ, tmp_path, file_path="gone")
    assert (result.is_error, result.content) == (True, f"No such file or directory: {tmp_path / 'gone'}")


@pytest.mark.anyio
async def test_only_a_leading_tilde_slash_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("X", "home")
    for path in ["~/a", "~x", "$X", "b~/c"]:
        assert not (await use(WRITE, tmp_path, file_path=path, content="x")).is_error
    assert sorted(os.listdir(tmp_path)) == ["$X", "b~", "home", "~x"]
    assert os.listdir(home) == ["a"]


@pytest.mark.anyio
async def test_a_huge_file_is_read_in_bounded_memory(tmp_path: Path) -> None:
    with (tmp_path / "one line").open("wb") as file:
        file.write(b"x" * 30_000_000)
    with (tmp_path / "many").open("wb") as file:
        file.write(b"0123456789" * 60 + b"\n")
        file.write((b"0123456789" * 60 + b"\n") * 30_000)
    tracemalloc.start()
    line = await use(READ, tmp_path, file_path="one line")
    many = await use(READ, tmp_path, file_path="many")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000
    assert text_of(line) == "     1\t" + "x" * 2000 + " [… line cut]"
    assert len(text_of(many)) < MAX_CHARACTERS + 1000
    assert "[The file goes on; read further with offset=" in text_of(many)


@IN_PLACE
@given(content=st.binary(max_size=300), offset=st.integers(1, 5))
def test_reading_any_bytes_gives_text_that_can_be_sent(tmp_path: Path, content: bytes, offset: int) -> None:
    (tmp_path / "f").write_bytes(content)
    result = anyio.run(lambda: use(READ, tmp_path, file_path="f", offset=offset))
    if isinstance(result.content, str):
        assert result.content.encode()
        assert "\0" not in result.content


# ── Write


@pytest.mark.anyio
async def test_a_new_file_is_made_with_its_folders(tmp_path: Path) -> None:
    result = await use(WRITE, tmp_path, file_path="a/b/c.txt", content="ä\n")
    assert result == ToolResult(f"Created {tmp_path}/a/b/c.txt (3 bytes).")
    assert (tmp_path / "a/b/c.txt").read_bytes() == "ä\n".encode()
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "a/b/c.txt").stat().st_mode) == 0o666 & ~umask


@pytest.mark.anyio
async def test_an_existing_file_keeps_its_mode_and_the_link_to_it(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o751)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("new/target")
    assert text_of(await use(WRITE, tmp_path, file_path="link", content="new")).startswith("Updated")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o751
    assert text_of(await use(WRITE, tmp_path, file_path="dangling", content="x")).startswith("Created")
    assert (tmp_path / "new/target").read_text() == "x"
    assert sorted(os.listdir(tmp_path)) == ["dangling", "link", "new", "real"]


@pytest.mark.anyio
async def test_a_lone_surrogate_is_not_written(tmp_path: Path) -> None:
    result = await use(WRITE, tmp_path, file_path="f", content="\ud800")
    assert result.is_error
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("tool", [WRITE, EDIT], ids=lambda tool: tool.name)
@pytest.mark.anyio
async def test_a_file_that_changed_since_the_approval_is_not_written(tmp_path: Path, tool: Tool) -> None:
    path = tmp_path / "f"
    path.write_text("approved")
    others = {"content": "x"} if tool is WRITE else {"old_string": "e", "new_string": "x", "replace_all": True}
    state = file_state(str(path))
    path.write_text("changed since then")
    result = await use(tool, tmp_path, expected=state, file_path="f", **others)
    assert result.is_error
    assert "the file has changed since this was approved" in text_of(result)
    assert path.read_text() == "changed since then"
    assert os.listdir(tmp_path) == ["f"]
    result = await use(tool, tmp_path, expected=file_state(str(path)), file_path="f", **others)
    assert not result.is_error


@pytest.mark.anyio
async def test_a_file_that_appeared_since_the_approval_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    result = await use(WRITE, tmp_path, expected="absent", file_path="f", content="x")
    assert result.is_error
    assert (tmp_path / "f").read_text() == ""
    result = await use(WRITE, tmp_path, expected="absent", file_path="new/g", content="x")
    assert not result.is_error


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
@pytest.mark.anyio
async def test_write_protection_is_respected(tmp_path: Path) -> None:
    (tmp_path / "f").touch(mode=0o444)
    result = await use(WRITE, tmp_path, file_path="f", content="x")
    assert "write-protected" in text_of(result)


# ── Edit


@pytest.mark.parametrize(
    ("content", "old", "new", "after"),
    [
        (b"one two\n", "two", "2", b"one 2\n"),
        (b"a\r\nb\r\n", "a\nb", "x\ny", b"x\r\ny\r\n"),
        (b"a\r\nb\r\n", "b", "x\ny", b"a\r\nx\r\ny\r\n"),
        (b"a\r\nb\nc\n", "a\nb", "x\ny", b"x\r\ny\nc\n"),
        (b"a\r\nb\nc\n", "b\nc", "x\ny", b"a\r\nx\ny\n"),
        ("\ufeffä b".encode(), "ä", "ö", "\ufeffö b".encode()),
        ("ä b".encode("utf-16"), "ä", "漢", "漢 b".encode("utf-16")),
        (b"\xe4 \xf6", "ä", "ü", b"\xfc \xf6"),
        (b"\xe4 \xc3\xb6", "ö", "漢", b"\xe4 " + "漢".encode()),
        (b"x", "x", "", b""),
    ],
)
@pytest.mark.anyio
async def test_an_edit_keeps_encoding_mark_and_line_ends(
    tmp_path: Path, content: bytes, old: str, new: str, after: bytes
) -> None:
    (tmp_path / "f").write_bytes(content)
    result = await use(EDIT, tmp_path, file_path="f", old_string=old, new_string=new)
    assert not result.is_error, result.content
    assert (tmp_path / "f").read_bytes() == after


@pytest.mark.parametrize(
    ("content", "change", "words"),
    [
        (b"a b", {"old_string": "x", "new_string": "y"}, "not found"),
        (b"a a a", {"old_string": "a", "new_string": "y"}, "occurs 3 times"),
        (b"aaa", {"old_string": "aa", "new_string": "y"}, "occurs 2 times"),
        (b"a", {"old_string": "a", "new_string": "a"}, "old_string is new_string"),
        (b"a\0", {"old_string": "a", "new_string": "b"}, "binary"),
        (b"\xe4", {"old_string": "ä", "new_string": "漢"}, "latin-1, which has no character"),
        (b"a", {"old_string": "a", "new_string": "\ud800"}, "has no character"),
    ],
    ids=["missing", "several", "overlapping", "same", "binary", "latin-1", "surrogate"],
)
@pytest.mark.anyio
async def test_an_edit_that_cannot_be_done_is_said_and_changes_nothing(
    tmp_path: Path, content: bytes, change: dict[str, str], words: str
) -> None:
    (tmp_path / "f").write_bytes(content)
    result = await use(EDIT, tmp_path, file_path="f", **change)
    assert result.is_error
    assert words in text_of(result)
    assert (tmp_path / "f").read_bytes() == content


@pytest.mark.anyio
async def test_every_place_is_replaced_when_asked(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x\na b a\na")
    result = await use(EDIT, tmp_path, file_path="f", old_string="a", new_string="aa", replace_all=True)
    assert text_of(result) == f"Updated {tmp_path}/f: replaced in 3 places, the first in line 2."
    assert (tmp_path / "f").read_text() == "x\naa b aa\naa"


@IN_PLACE
@given(
    before=st.text("ab\n é", max_size=8),
    after=st.text("ab\n é", max_size=8),
    old=st.text("xy", min_size=1),
    new=st.text("pq\n"),
)
def test_an_edit_replaces_exactly_its_place(tmp_path: Path, before: str, after: str, old: str, new: str) -> None:
    assume(old != new)
    path = tmp_path / "f"
    path.write_bytes((before + old + after).encode())
    result = anyio.run(lambda: use(EDIT, tmp_path, file_path="f", old_string=old, new_string=new))
    assert not result.is_error
    assert path.read_bytes() == (before + new + after).encode()
    if new:
        anyio.run(lambda: use(EDIT, tmp_path, file_path="f", old_string=new, new_string=old))
        back = path.read_bytes()
        assert back in ((before + old + after).encode(), (before + new + after).encode())


def test_the_facts_name_the_path_fields() -> None:
    assert READ.facts({}).reads == "file_path"
    assert READ.read_only
    assert WRITE.facts({}).writes == EDIT.facts({}).writes == "file_path"


# ── huge files


@pytest.mark.parametrize(
    ("tool", "tool_input", "told"),
    [
        (EDIT, {"old_string": "a", "new_string": "b"}, "is larger than 20 MB, the most that Edit takes."),
        (WRITE, {"content": "small"}, "Updated"),
    ],
    ids=["Edit", "Write"],
)
@pytest.mark.anyio
async def test_a_huge_file_holds_nobody_up(tmp_path: Path, tool: Tool, tool_input: dict[str, Any], told: str) -> None:
    """Neither tool reads it: both are done at once, in little memory, and cancelling need not wait."""
    path = tmp_path / "f"
    with path.open("wb") as file:
        file.truncate(1_000_000_000_000)
    tracemalloc.start()
    with anyio.fail_after(2):
        result = await use(tool, tmp_path, expected=file_state(str(path)), file_path="f", **tool_input)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert told in text_of(result)
    assert peak < 5_000_000


@pytest.mark.anyio
async def test_a_huge_file_that_changed_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with path.open("wb") as file:
        file.truncate(1_000_000_000)
    approved = file_state(str(path))
    os.truncate(path, 1_000_000_001)
    result = await use(WRITE, tmp_path, expected=approved, file_path="f", content="small")
    assert result.is_error
    assert path.stat().st_size == 1_000_000_001
