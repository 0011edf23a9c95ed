"""Read: numbered lines of a text file, or an image, in bounded memory and time."""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Iterator
from typing import BinaryIO

from agent_sdk.calls import ToolResult
from agent_sdk.errors import ToolError
from agent_sdk.tools.base import Tool, ToolContext
from agent_sdk.tools.disk import in_thread, open_regular, resolved
from agent_sdk.tools.encoding import encoding_of, is_binary
from agent_sdk.tools.schema import compile_check
from agent_sdk.values import JsonObject

DEFAULT_LINES = 2_000
MAX_LINE = 2_000
MAX_CHARACTERS = 100_000
MAX_IMAGE_BASE64 = 5 * 1024 * 1024
MAX_SECONDS = 20.0

_SNIFFED = 8_192


def _read(tool_input: JsonObject, context: ToolContext) -> ToolResult:
    match tool_input:
        case {"file_path": str(file_path)}:
            path = resolved(file_path, context.cwd)
        case _:
            raise ToolError("Read takes a file_path, which is a string.")
    first, most = _whole_number(tool_input, "offset", 1), _whole_number(tool_input, "limit", DEFAULT_LINES)
    with open_regular(path, target=context.target) as file:
        beginning = file.read(_SNIFFED) or b""  # `None`: a file of the kernel that has nothing to say yet
        file.seek(0)
        if media_type := _image_type(beginning):
            return _image(path, file, media_type)
        if is_binary(beginning):
            return ToolResult(f"{path} is a binary file; Read shows text and images.", is_error=True)
        if not beginning:
            return ToolResult(f"{path} is empty.")
        return _text(path, file, beginning, max(first, 1), most)


def _whole_number(tool_input: JsonObject, name: str, default: int) -> int:
    value = tool_input.get(name)
    return int(value) if isinstance(value, int | float) else default


# ── images


def _image_type(beginning: bytes) -> str | None:
    if beginning.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if beginning.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if beginning.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if beginning.startswith(b"RIFF") and beginning[8:12] == b"WEBP":
        return "image/webp"
    return None


def _image(path: str, file: BinaryIO, media_type: str) -> ToolResult:
    data = file.read(MAX_IMAGE_BASE64)
    text = base64.b64encode(data).decode()
    if len(text) > MAX_IMAGE_BASE64:
        return ToolResult(f"{path} is an image of more than 5 MB (as base64), which cannot be shown.", is_error=True)
    return ToolResult([{"type": "image", "source": {"type": "base64", "media_type": media_type, "data": text}}])


# ── text


def _text(path: str, file: BinaryIO, beginning: bytes, first: int, most: int) -> ToolResult:
    """Lines `first` to `first + most - 1`, and what there is to know beside them."""
    encoding = encoding_of(beginning)
    file.seek(len(encoding.mark))
    lenient = "surrogateescape" if encoding.codec == "utf-8" else "replace"
    shown: list[str] = []
    number = size = 0
    foreign = more = False
    for number, line in enumerate(_lines(io.TextIOWrapper(file, encoding.codec, lenient, newline="\n")), 1):
        if number < first:
            continue
        if len(shown) == most or size > MAX_CHARACTERS:
            more = True
            break
        text, latin = _readable(line)
        foreign = foreign or latin
        shown.append(f"{number:6}\t{text}")
        size += len(shown[-1]) + 1
    if not shown and not more:
        return ToolResult(f"{path} has only {number} lines; there is no line {first}.", is_error=True)
    notes = [f"[The file goes on; read further with offset={number}.]"] if more else []
    if foreign:
        notes.append("[Lines that are not UTF-8 were read as Latin-1.]")
    if encoding.mark and encoding.codec != "utf-8":
        notes.append(f"[The file is {encoding.codec}.]")
    return ToolResult("\n".join(shown + notes))


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    """The lines without their ends, each cut, however long it is in the file. Raises ToolError when it takes long."""
    until = time.monotonic() + MAX_SECONDS
    while line := text.readline(MAX_LINE + 2):
        if line.endswith("\n"):
            yield line[:-2] if line.endswith("\r\n") else line[:-1]
        else:
            cut = len(line) > MAX_LINE
            while (rest := text.readline(_SNIFFED)) and not rest.endswith("\n") and time.monotonic() < until:
                cut = True
            yield f"{line[:MAX_LINE]} [… line cut]" if cut else line
        if time.monotonic() > until:
            raise ToolError(f"The file is too large: reading this far took more than {MAX_SECONDS:g} seconds.")


def _readable(line: str) -> tuple[str, bool]:
    """A line without characters that cannot be sent, and whether it had to be read as Latin-1."""
    line = line.replace("\0", "\ufffd")
    try:
        line.encode()
    except UnicodeEncodeError:
        return line.encode("utf-8", "surrogateescape").decode("latin-1"), True
    return line, False


async def _run(tool_input: JsonObject, context: ToolContext) -> ToolResult:
    return await in_thread(lambda: _read(tool_input, context), abandon=True)


_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "file_path": {
            "type": "string",
            "minLength": 1,
            "description": "The file. A relative path starts at the working directory.",
        },
        "offset": {"type": "integer", "minimum": 1, "description": "The first line to show; 1 when not given."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "description": f"How many lines to show; {DEFAULT_LINES} when not given.",
        },
    },
    "required": ["file_path"],
    "additionalProperties": False,
}

READ = Tool(
    name="Read",
    description=f"""Read a file: text as numbered lines, or an image (PNG, JPEG, GIF, WebP).

Shows up to {DEFAULT_LINES} lines at once, long lines cut; go on with offset and limit. The numbers and the tab before
each line are not part of the file. For a folder use Glob.""",
    input_schema=_SCHEMA,
    run=_run,
    check=compile_check(_SCHEMA),
    read_only=True,
    idempotent=True,
    reads="file_path",
)
"""Shows a text file's lines or an image. Opens regular files only; reads a file of any size in bounded memory."""
