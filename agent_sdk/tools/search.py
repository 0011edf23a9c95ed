"""Glob and Grep: find files by name and lines by a regular expression, within the rules and within bounds."""

from __future__ import annotations

import os
import stat
import time
from itertools import islice

import anyio.to_thread

from agent_sdk.calls import ToolResult
from agent_sdk.errors import ToolError
from agent_sdk.tools.base import ReadGuard, Tool, ToolContext
from agent_sdk.tools.disk import in_thread, resolved
from agent_sdk.tools.grep import MAX_LINES, SEARCH_SECONDS, Hits, matching_lines
from agent_sdk.tools.schema import compile_check
from agent_sdk.tools.walk import GlobPattern, Tally, Walker, is_covered
from agent_sdk.values import Json, JsonObject

MAX_FOUND = 500
MAX_SEARCHED = 50_000
WALK_SECONDS = 10.0


# ── Glob


def _glob(tool_input: JsonObject, context: ToolContext) -> ToolResult:
    pattern, root = _arguments(tool_input, context)
    if not os.path.isdir(root):
        raise ToolError(f"{root} is no folder.")
    tally = Tally(until=time.monotonic() + WALK_SECONDS)
    walker = Walker(root=root, pattern=GlobPattern.parse(pattern), links=True, guard=context.left_out, tally=tally)
    files = walker.files()
    lines = [_shown(path, context.cwd) for path in islice(files, MAX_FOUND)]
    more = sum(1 for _ in files)
    notes = [f"[{more} more files match; use a narrower pattern.]"] if more else []
    return ToolResult("\n".join([*(lines or ["No file matches."]), *notes, *_passed_over(tally)]))


def _arguments(tool_input: JsonObject, context: ToolContext) -> tuple[str, str]:
    """The pattern and the absolute path to search. Raises ToolError."""
    match tool_input:
        case {"pattern": str(pattern)}:
            path = tool_input.get("path")
        case _:
            raise ToolError("A search takes a pattern, which is a string.")
    root = resolved(path, context.cwd) if isinstance(path, str) else context.cwd
    return pattern, os.path.realpath(root) if ".." in root.split("/") else os.path.normpath(root)


def _shown(path: str, cwd: str) -> str:
    """A path as Read takes it: relative below the working directory. A name that is no plain text is escaped."""
    short = path.removeprefix(cwd.rstrip("/") + "/")
    return short if short.isprintable() else ascii(short)[1:-1]


def _passed_over(tally: Tally) -> list[str]:
    notes = []
    if tally.left_out:
        notes.append(f"[{_files(tally.left_out)} left out by permission rules.]")
    if tally.unreadable:
        notes.append(f"[{tally.unreadable} unreadable folder{'s' * (tally.unreadable > 1)} skipped.]")
    if tally.late:
        notes.append(f"[Looking for files was stopped after {WALK_SECONDS:g} seconds; use a narrower path.]")
    return notes


def _files(count: Json) -> str:
    return "1 file" if count == 1 else f"{count} files"


async def _run_glob(tool_input: JsonObject, context: ToolContext) -> ToolResult:
    return await in_thread(lambda: _glob(tool_input, context), abandon=True)


# ── Grep


async def _run_grep(tool_input: JsonObject, context: ToolContext) -> ToolResult:
    try:
        pattern, root = _arguments(tool_input, context)
        tally = Tally(until=time.monotonic() + WALK_SECONDS)
        files = await anyio.to_thread.run_sync(_searched, root, context.left_out, tally, abandon_on_cancel=True)
        hits = await matching_lines(pattern, files[:MAX_SEARCHED])
    except ToolError as error:
        return ToolResult(str(error), is_error=True)
    except OSError as error:
        return ToolResult(f"{error.strerror or type(error).__name__}: {error.filename}", is_error=True)
    lines = [f"{_shown(files[file], context.cwd)}:{line}: {text}" for file, line, text in hits.lines]
    notes = _unsearched(hits, len(files)) + _passed_over(tally)
    return ToolResult("\n".join([*(lines or ["No line matches."]), *notes]))


def _searched(root: str, guard: ReadGuard | None, tally: Tally) -> list[str]:
    """The files to search: those below a folder, or the one that was named. Raises ToolError, OSError."""
    mode = os.stat(root).st_mode
    if stat.S_ISDIR(mode):
        walker = Walker(root=root, pattern=GlobPattern.parse("**"), links=False, guard=guard, tally=tally)
        return list(islice(walker.files(), MAX_SEARCHED + 1))
    if not stat.S_ISREG(mode):
        raise ToolError(f"{root} is neither a folder nor a regular file; it was not opened.")
    if is_covered(guard, root):
        tally.left_out += 1
        return []
    return [os.path.realpath(root)]


def _unsearched(hits: Hits, files: int) -> list[str]:
    """What the reader must know about lines and files that are not shown."""
    notes = []
    if more := hits.counts.get("more"):
        notes.append(f"[{more} more lines match; use a narrower pattern or path.]")
    if hits.late:
        notes.append(f"[The search was stopped after {SEARCH_SECONDS:g} seconds; use a simpler pattern.]")
    if files > MAX_SEARCHED:
        notes.append(f"[Only the first {MAX_SEARCHED} files were searched; use a narrower path.]")
    for key, word in (("large", "very large"), ("unreadable", "unreadable")):
        if count := hits.counts.get(key):
            notes.append(f"[{_files(count)} skipped: {word}.]")
    return notes


# ── the tools


def _schema(pattern: str, path: str) -> JsonObject:
    return {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "maxLength": 1000, "description": pattern},
            "path": {"type": "string", "minLength": 1, "description": path},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    }


_GLOB_SCHEMA = _schema(
    "The glob, relative to path: `*.py`, `src/**/*.{ts,tsx}`.",
    "The folder to look in; the working directory when not given.",
)
_GREP_SCHEMA = _schema(
    "The regular expression, in Python's syntax, tried on each line.",
    "The file or folder to search; the working directory when not given.",
)

GLOB = Tool(
    name="Glob",
    description=f"""List files whose path fits a glob: `*` and `?` within a name, `**` for any folders, `{{a,b}}`.

`*.py` looks only at the top of path, `**/*.py` everywhere below it. At most {MAX_FOUND} files are shown. Folders behind
links and `.git` are not searched.""",
    input_schema=_GLOB_SCHEMA,
    run=_run_glob,
    check=compile_check(_GLOB_SCHEMA),
    read_only=True,
    idempotent=True,
    reads="path",
)
"""Lists files; what `ToolContext.left_out` covers is left out and counted."""

GREP = Tool(
    name="Grep",
    description=f"""Find lines by a regular expression in a file or in all text files below a folder.

Shows `path:line: text` for at most {MAX_LINES} lines. Binary files, links and `.git` are skipped. Write `(?i)` at the
start of the pattern to ignore case.""",
    input_schema=_GREP_SCHEMA,
    run=_run_grep,
    check=compile_check(_GREP_SCHEMA),
    read_only=True,
    idempotent=True,
    reads="path",
)
"""Searches lines; what `ToolContext.left_out` covers is never opened and counted."""
