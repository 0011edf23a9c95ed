"""Lines are read whole, in order, on both back ends, from anything that has a file descriptor."""

from __future__ import annotations

import os
import pty
import tty
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from agent_sdk.terminal import LineReader, LineTooLong
from agent_sdk.terminal.lines import MAX_BYTES, TERMINAL_BYTES

pytestmark = pytest.mark.anyio


class Pipe:
    """Both ends of a pipe."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()
        self.open = True

    def write(self, data: bytes) -> None:
        os.write(self.writing, data)

    def end(self) -> None:
        if self.open:
            os.close(self.writing)
            self.open = False


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    made.end()
    os.close(made.reading)


async def all_lines(reader: LineReader) -> list[str]:
    """Everything up to the end of the input."""
    lines = []
    while (line := await reader.read()) is not None:
        lines.append(line)
    return lines


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        pytest.param(b"", [], id="nothing"),
        pytest.param(b"one\n", ["one"], id="one"),
        pytest.param(b"1\n2\n\n3\n", ["1", "2", "", "3"], id="several at once"),
        pytest.param(b"1\n2", ["1", "2"], id="last line without its end"),
        pytest.param(b"one\r\ntwo\r\n", ["one", "two"], id="CRLF"),
        pytest.param("公司内网\n".encode(), ["公司内网"], id="Chinese"),
        pytest.param(b"\xff\xc3\n", ["\ufffd\ufffd"], id="broken UTF-8"),
        pytest.param(b"\xed\xa0\x80\n", ["\ufffd" * 3], id="encoded surrogate"),
    ],
)
async def test_a_pipe_gives_its_lines(pipe: Pipe, data: bytes, lines: list[str]) -> None:
    """Every line of a pipe arrives once and in order, and then the end."""
    pipe.write(data)
    pipe.end()
    assert await all_lines(LineReader(pipe.reading)) == lines


async def test_a_line_may_come_in_pieces(pipe: Pipe) -> None:
    """A line counts when its end is there, even if a character is cut in the middle."""
    async with anyio.create_task_group() as tasks:

        async def write() -> None:
            for piece in (b"\xe5\x85", b"\xac", b" one\ntw", b"o\n"):
                pipe.write(piece)
                await anyio.sleep(0.01)

        reader = LineReader(pipe.reading)
        tasks.start_soon(write)
        assert [await reader.read(), await reader.read()] == ["公 one", "two"]


async def test_a_cancelled_read_loses_nothing(pipe: Pipe) -> None:
    """What came in before and after a cancellation is read by the next one."""
    reader = LineReader(pipe.reading)
    pipe.write(b"half ")
    with anyio.move_on_after(0.05) as scope:
        await reader.read()
    assert scope.cancelled_caught
    pipe.write(b"and half\nnext\n")
    assert [await reader.read(), await reader.read()] == ["half and half", "next"]


async def test_regular_files_and_dev_null_can_be_read(tmp_path: Path) -> None:
    """Files that no event loop can wait for are read all the same."""
    path = tmp_path / "answers"
    path.write_bytes(b"1\n2\n")
    with path.open() as source:
        assert await all_lines(LineReader(source)) == ["1", "2"]
    null = os.open("/dev/null", os.O_RDONLY)
    assert await all_lines(LineReader(null)) == []
    os.close(null)


async def test_a_closed_input_has_ended(pipe: Pipe) -> None:
    """A closed file or descriptor is the end of the input and no error."""
    with os.fdopen(os.dup(pipe.reading)) as source:
        pass
    assert await LineReader(source).read() is None
    spare = os.dup(pipe.reading)
    os.close(spare)
    assert await LineReader(spare).read() is None


async def test_a_missing_standard_input_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that was started without standard input simply gets no answers."""
    monkeypatch.setattr("sys.stdin", None)
    assert await LineReader().read() is None


async def test_a_line_without_end_is_bounded(pipe: Pipe) -> None:
    """A line that is too long is refused whole; not even its tail is taken for an answer."""
    reader = LineReader(pipe.reading)

    async def write() -> None:
        data = b"x" * (MAX_BYTES + 70_000) + b"1\n2\n"
        while data:
            await anyio.wait_writable(pipe.writing)
            data = data[os.write(pipe.writing, data[:65_536]) :]

    os.set_blocking(pipe.writing, False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        with pytest.raises(LineTooLong, match="cannot be taken whole"):
            await reader.read()
        assert await reader.read() == "2"


async def test_the_tail_of_a_long_line_is_refused_after_a_cancellation(pipe: Pipe) -> None:
    """Cancelling in the middle of a line that is too long does not turn its tail into an answer."""
    reader = LineReader(pipe.reading)
    os.set_blocking(pipe.writing, False)

    async def write() -> None:
        data = b"x" * (MAX_BYTES + 1)
        while data:
            await anyio.wait_writable(pipe.writing)
            data = data[os.write(pipe.writing, data[:65_536]) :]

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        with anyio.move_on_after(0.3):
            await reader.read()
    pipe.write(b"1\n3\n")
    with pytest.raises(LineTooLong):
        await reader.read()
    assert await reader.read() == "3"


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """A pseudo-terminal: where a person types, and what the program reads."""
    keyboard, screen = pty.openpty()
    yield keyboard, screen
    os.close(keyboard)
    os.close(screen)


async def test_typed_ahead_lines_can_be_dropped(terminal: tuple[int, int]) -> None:
    """What was typed before counts for nothing afterwards; what is typed later does."""
    keyboard, screen = terminal
    reader = LineReader(screen)
    os.write(keyboard, b"1\n1\nhalf")
    await anyio.sleep(0.05)
    reader.discard_typed()
    os.write(keyboard, b"3\n")
    assert await reader.read() == "3"


async def test_lines_in_a_pipe_are_never_dropped(pipe: Pipe) -> None:
    """Lines in a pipe were put there on purpose."""
    reader = LineReader(pipe.reading)
    pipe.write(b"1\n2\n")
    assert await reader.read() == "1"
    reader.discard_typed()
    assert await reader.read() == "2"


async def test_end_of_input_on_a_terminal_is_not_for_ever(terminal: tuple[int, int]) -> None:
    """Ctrl-D ends one read; the terminal can still be used for the next."""
    keyboard, screen = terminal
    reader = LineReader(screen)
    os.write(keyboard, b"\x04")
    assert await reader.read() is None
    os.write(keyboard, b"2\n")
    assert await reader.read() == "2"


async def test_a_line_that_a_terminal_has_cut_is_refused(terminal: tuple[int, int]) -> None:
    """A terminal silently drops the end of a very long line, so what is left of it is not run."""
    keyboard, screen = terminal
    reader = LineReader(screen)
    os.write(keyboard, b"x" * (TERMINAL_BYTES + 100) + b"\n")
    with pytest.raises(LineTooLong):
        await reader.read()


async def test_a_terminal_that_hangs_up_has_ended() -> None:
    """A lost connection is the end of the input."""
    keyboard, screen = pty.openpty()
    tty.setraw(screen)
    os.close(keyboard)
    try:
        assert await LineReader(screen).read() is None
    finally:
        os.close(screen)


async def test_whether_the_input_has_ended_is_told_without_waiting(pipe: Pipe, tmp_path: Path) -> None:
    """What is there to be read is not lost; a pipe that may still bring something has not ended."""
    reader = LineReader(pipe.reading)
    assert not reader.has_ended
    pipe.write(b"one\ntwo")
    assert not reader.has_ended
    pipe.end()
    assert not reader.has_ended
    assert await all_lines(reader) == ["one", "two"]
    assert reader.has_ended
    (tmp_path / "empty").touch()
    for name in ("/dev/null", str(tmp_path / "empty")):
        handle = os.open(name, os.O_RDONLY)
        assert LineReader(handle).has_ended
        os.close(handle)
        assert LineReader(handle).has_ended
    typing, terminal = pty.openpty()
    assert not LineReader(terminal).has_ended
    os.close(typing)
    os.close(terminal)
