"""Lines by a regular expression, found in a process of its own.

Python's `re` cannot be interrupted and holds up every other thread while it searches. So `grep_worker.py` does the
searching, and is killed when the time is up or the call is cancelled; it ends by itself when the application dies.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

import anyio
from anyio.abc import Process

from agent_sdk.errors import ToolError
from agent_sdk.tools import grep_worker
from agent_sdk.tools.environment import scrubbed_environment
from agent_sdk.values import JsonObject

MAX_LINES = 250
SEARCH_SECONDS = 20.0
_SPARE_SECONDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """Lines that match, as (file number, line number, text), and how much was passed over (`grep_worker.py`).

    `late`: the time was up; only what had been found until then is here.
    """

    lines: Sequence[tuple[int, int, str]]
    counts: JsonObject
    late: bool


async def matching_lines(pattern: str, files: Sequence[str]) -> Hits:
    """Have the lines of `files` that match found by a process of its own.

    Raises ToolError for a pattern that is no regular expression, and when the process cannot do its work; OSError.
    """
    limits = {"limit": MAX_LINES, "seconds": int(SEARCH_SECONDS) + _SPARE_SECONDS}
    request = json.dumps({"pattern": pattern, "files": list(files), **limits}) + "\n"
    if not sys.executable or "frozen" in vars(sys):
        raise ToolError("Grep needs a Python interpreter, and this application has none to start.")
    process = await anyio.open_process(
        [sys.executable, "-I", "-S", grep_worker.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=scrubbed_environment(),
        start_new_session=True,
    )
    answer = bytearray()
    try:
        with anyio.move_on_after(SEARCH_SECONDS) as limit:
            await _talk(process, request.encode(), answer)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()
    return _hits(bytes(answer), late=limit.cancelled_caught)


async def _talk(process: Process, request: bytes, answer: bytearray) -> None:
    """Send the request, then take the answer as it comes: what is there counts even if the time is up.

    The worker's stdin stays open: it ends when that is closed.
    """
    if process.stdin is None or process.stdout is None:
        raise ToolError("The search could not be started.")
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # it ended early: the answer tells
        await process.stdin.send(request)
    async for chunk in process.stdout:
        answer += chunk


def _hits(answer: bytes, *, late: bool) -> Hits:
    """The answer of the worker. A last line that was cut short is dropped."""
    values = [json.loads(line) for line in answer.splitlines(keepends=True) if line.endswith(b"\n")]
    lines = [cast("tuple[int, int, str]", tuple(value)) for value in values if isinstance(value, list)]
    counts = next((value for value in values if isinstance(value, dict)), None)
    if counts is None and not late:
        raise ToolError("The search broke off; the pattern may need too much memory.")
    if counts is not None and "error" in counts:
        raise ToolError(f"The pattern is no regular expression that Python reads: {counts['error']}.")
    return Hits(lines=lines, counts=counts or {}, late=late)
