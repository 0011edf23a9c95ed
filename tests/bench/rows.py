"""The measurements. Each row is a function that returns its figures as a dict."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import anyio

from agent_sdk import (
    AgentOptions,
    Allow,
    InMemoryStore,
    PermissionContext,
    Tool,
    ToolContext,
    ToolResult,
    UserMessage,
    query,
)
from agent_sdk.testing import ScriptedModel

Row = dict[str, str | float | int]


def note_tool() -> Tool:
    """A tool that does nothing but answer, so that what is measured is everything around it."""

    async def run(tool_input: Mapping[str, Any], context: ToolContext) -> ToolResult:
        return ToolResult("ok")

    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return Tool(name="Note", description="Takes a note.", input_schema=schema, run=run, check=lambda tool_input: None)


async def approve(tool_name: str, tool_input: dict[str, Any], context: PermissionContext) -> Allow:
    """A person who says yes at once."""
    return Allow()


async def approved_calls(calls: int) -> Row:
    """Row A: one session in memory, so many approved tool calls in a row, one a turn."""
    turn = {"content": [{"type": "tool_use", "name": "Note", "input": {"text": "n"}}], "repeat": calls}
    options = AgentOptions(
        model=ScriptedModel([turn]), tools=[note_tool()], can_use_tool=approve, session_store=InMemoryStore()
    )
    stamps = [perf_counter()]
    before = process_time()
    async for message in query("go", options=options):
        if isinstance(message, UserMessage):
            stamps.append(perf_counter())
    spent = process_time() - before
    each = [(later - earlier) * 1000 for earlier, later in pairwise(stamps)]
    fifth = max(1, len(each) // 5)
    return {
        "n": calls,
        "ms_per_call": round(sum(each) / len(each), 3),
        "cpu_ms_per_call": round(spent * 1000 / calls, 3),
        "ms_median": round(sorted(each)[len(each) // 2], 3),
        "ms_first_fifth": round(sum(each[:fifth]) / fifth, 3),
        "ms_last_fifth": round(sum(each[-fifth:]) / fifth, 3),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


IMPORT = """
import json, sys, time
def mb(): return int(open("/proc/self/statm").read().split()[1]) * 4 / 1024
before, started = mb(), time.perf_counter()
{statement}
print(json.dumps({{"import_ms": round((time.perf_counter() - started) * 1000, 1),
                   "mb_added": round(mb() - before, 1), "modules": len(sys.modules)}}))
"""


def imports(statement: str) -> Row:
    """Row D: what an import statement costs in a fresh process; the best of five."""
    runs = []
    with tempfile.TemporaryDirectory() as cache:
        environment = {"PYTHONPYCACHEPREFIX": cache, "PYTHONPATH": str(Path.cwd())}
        for _ in range(6):  # the first one fills the cache of compiled modules
            code = IMPORT.format(statement=statement)
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
            if done.returncode != 0:
                return {"statement": statement, "import_ms": "not installed"}
            runs.append(json.loads(done.stdout))
    best: dict[str, float] = min(runs[1:], key=lambda run: float(run["import_ms"]))
    return {"statement": statement, **best}


async def bare_loop(calls: int) -> Row:
    """The floor under row A: a plain loop with one awaited callback, no product at all."""

    async def callback() -> bool:
        return True

    started = perf_counter()
    for _ in range(calls):
        await callback()
    return {"n": calls, "ms_per_call": round((perf_counter() - started) * 1000 / calls, 4)}


def yardstick() -> Row:
    """How fast this machine is at this moment: a million additions in plain Python, the best of five, in ms."""
    best = float("inf")
    for _ in range(5):
        started, total = perf_counter(), 0
        for number in range(1_000_000):
            total += number
        best = min(best, perf_counter() - started)
    return {"what": "1,000,000 additions", "ms": round(best * 1000, 1)}


def row_a(calls: int) -> Row:
    """Row A in an event loop of its own."""
    return anyio.run(approved_calls, calls)
