"""Write and Edit: files change as a whole or not at all, and only if they are still what was approved."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable

from agent_sdk.calls import ToolResult
from agent_sdk.errors import ToolError
from agent_sdk.tools.base import Runner, Tool, ToolContext
from agent_sdk.tools.disk import CHANGED, in_thread, open_regular, resolved, write_atomically
from agent_sdk.tools.encoding import is_binary, readings
from agent_sdk.tools.schema import compile_check
from agent_sdk.values import JsonObject

MAX_EDIT_BYTES = 20_000_000


def _write(tool_input: JsonObject, context: ToolContext) -> ToolResult:
    match tool_input:
        case {"file_path": str(file_path), "content": str(content)}:
            path = resolved(file_path, context.cwd)
            if path.endswith("/"):
                raise ToolError(f"{path} names a folder, not a file.")
        case _:
            raise ToolError("Write takes file_path and content, both strings.")
    try:
        data = content.encode()
    except UnicodeEncodeError:
        raise ToolError("The content holds a lone surrogate, which is no character; nothing was written.") from None
    created = write_atomically(path, data, expected=context.expected_state, target=context.target)
    return ToolResult(f"{'Created' if created else 'Updated'} {path} ({len(data)} bytes).")


def _edit(tool_input: JsonObject, context: ToolContext) -> ToolResult:
    match tool_input:
        case {"file_path": str(file_path), "old_string": str(old), "new_string": str(new)}:
            path, every = resolved(file_path, context.cwd), tool_input.get("replace_all") is True
        case _:
            raise ToolError("Edit takes file_path, old_string and new_string, all strings.")
    if not old or old == new:
        raise ToolError("old_string is empty; use Write for a new file." if not old else "old_string is new_string.")
    before = _whole(path, context.target)
    state = "sha256:" + hashlib.sha256(before).hexdigest()
    if context.expected_state not in (None, state):
        raise ToolError(CHANGED)
    after, count, line = _replaced(before, old, new, every=every)
    write_atomically(path, after, expected=state, target=context.target)
    where = f"in line {line}" if count == 1 else f"in {count} places, the first in line {line}"
    return ToolResult(f"Updated {path}: replaced {where}.")


def _whole(path: str, target: str | None) -> bytes:
    """The content of a text file. Raises ToolError when it is too large or no text; OSError."""
    with open_regular(path, target=target) as file:
        size = os.fstat(file.fileno()).st_size
        data = b"" if size > MAX_EDIT_BYTES else file.read(MAX_EDIT_BYTES + 1) or b""
    if max(size, len(data)) > MAX_EDIT_BYTES:
        raise ToolError(f"{path} is larger than {MAX_EDIT_BYTES // 1_000_000} MB, the most that Edit takes.")
    if is_binary(data):
        raise ToolError(f"{path} is a binary file; Edit is for text.")
    return data


def _replaced(data: bytes, old: str, new: str, *, every: bool) -> tuple[bytes, int, int]:
    """The file with `old` replaced, how often, and the line of the first place. Raises ToolError."""
    for encoding, text in readings(data):
        old_here, new_here = _with_endings_of(text, old, new)
        first = text.find(old_here)
        if first < 0:
            continue
        count = text.count(old_here)
        if not every and text.find(old_here, first + 1) >= 0:
            raise ToolError(
                f"old_string occurs {max(count, 2)} times; give more of the text around it, or set replace_all."
            )
        after = encoding.encode(text.replace(old_here, new_here, count if every else 1))
        return after, count if every else 1, text.count("\n", 0, first) + 1
    raise ToolError("old_string was not found; it must be the file's text exactly, blanks and line breaks included.")


def _with_endings_of(text: str, old: str, new: str) -> tuple[str, str]:
    """Both strings with the line ends of the text: models write `\\n` where the file has `\\r\\n`."""
    windows = text.count("\r\n")
    only = windows > 0 and windows == text.count("\n")
    if not only and (not windows or old in text):
        return old, new
    return old.replace("\r\n", "\n").replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")


def _in_thread(work: Callable[[JsonObject, ToolContext], ToolResult]) -> Runner:
    """Runs to its end even when the call is cancelled: what happened to the file is always known.

    That end is near: no file is read beyond its first 32 MB (`state.py`).
    """

    async def run(tool_input: JsonObject, context: ToolContext) -> ToolResult:
        return await in_thread(lambda: work(tool_input, context), abandon=False)

    return run


_FILE_PATH: JsonObject = {
    "type": "string",
    "minLength": 1,
    "description": "The file. A relative path starts at the working directory.",
}
_WRITE_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "file_path": _FILE_PATH,
        "content": {"type": "string", "description": "The whole new content."},
    },
    "required": ["file_path", "content"],
    "additionalProperties": False,
}
_EDIT_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "file_path": _FILE_PATH,
        "old_string": {"type": "string", "minLength": 1, "description": "The text to replace, exactly as it stands."},
        "new_string": {"type": "string", "description": "The text to put in its place."},
        "replace_all": {"type": "boolean", "description": "Replace every place, not just one. Default: false."},
    },
    "required": ["file_path", "old_string", "new_string"],
    "additionalProperties": False,
}

WRITE = Tool(
    name="Write",
    description="""Write a file as a whole: a new one, or in place of what it held.

Missing folders are made. Prefer Edit for a change to a file that is there, and read it first.""",
    input_schema=_WRITE_SCHEMA,
    run=_in_thread(_write),
    check=compile_check(_WRITE_SCHEMA),
    destructive=True,
    writes="file_path",
)
"""Writes UTF-8, through links, atomically (`disk.py`); refuses when the file is not in `expected_state` any more."""

EDIT = Tool(
    name="Edit",
    description="""Replace a piece of text in a file.

old_string must stand in the file exactly once, or replace_all must be true; take enough lines to make it unique. Leave
out the line numbers that Read shows. Encoding and line ends of the file stay as they are.""",
    input_schema=_EDIT_SCHEMA,
    run=_in_thread(_edit),
    check=compile_check(_EDIT_SCHEMA),
    destructive=True,
    writes="file_path",
)
"""Replaces exact text; refuses when the file is not in `expected_state` any more, or changes while it works."""
