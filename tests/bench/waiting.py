"""Rows B and C: sessions that wait for an answer, live and parked, and what a resume costs in a fresh process."""

from __future__ import annotations

import gc
import json
import sqlite3
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio

from agent_sdk import (
    AgentOptions,
    Allow,
    Defer,
    Inbox,
    InMemoryStore,
    PermissionContext,
    SQLiteStore,
    UserMessage,
    query,
)
from agent_sdk.ledger import entry, session_key
from agent_sdk.testing import ScriptedModel
from tests.bench.rows import Row, approve, note_tool

SCRIPT: dict[str, Any] = {
    "turns": [],
    "after": {"content": [{"type": "tool_use", "name": "Note", "input": {"text": "n"}}]},
}
DONE: dict[str, Any] = {"turns": [], "after": {"content": [{"type": "text", "text": "done"}]}}


async def later(tool_name: str, tool_input: dict[str, Any], context: PermissionContext) -> Defer:
    """A person who is not there."""
    return Defer("later")


def rss_mb() -> float:
    """The memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4 / 1024


async def live(sessions: int) -> Row:
    """Row B, live: so many sessions wait inside their callbacks, then all are approved."""
    gc.collect()
    before, started = rss_mb(), perf_counter()
    waiting, everybody, go = 0, anyio.Event(), anyio.Event()
    store = InMemoryStore()

    async def person(*_: Any) -> Allow:
        nonlocal waiting
        waiting += 1
        if waiting == sessions:
            everybody.set()
        await go.wait()
        return Allow()

    async def session() -> None:
        model = ScriptedModel([[{"type": "tool_use", "name": "Note", "input": {"text": "n"}}], "done"])
        options = AgentOptions(model=model, tools=[tool], can_use_tool=person, session_store=store)
        async for _ in query("go", options=options):
            pass

    tool = note_tool()
    async with anyio.create_task_group() as group:
        for _ in range(sessions):
            group.start_soon(session)
        await everybody.wait()
        pending_s, pending_mb = perf_counter() - started, rss_mb()
        approved = perf_counter()
        go.set()
    return {
        "how": "live callbacks, in memory",
        "n": sessions,
        "to_pending_s": round(pending_s, 3),
        "approve_to_end_s": round(perf_counter() - approved, 3),
        "rss_before_mb": round(before, 1),
        "rss_pending_mb": round(pending_mb, 1),
        "kb_per_session": round((pending_mb - before) * 1024 / sessions, 1),
        "page_ms": "",
    }


async def parked(sessions: int) -> Row:
    """Row B, parked: so many sessions in a SQLite file, nothing of them in memory; answer and resume them all."""
    with tempfile.TemporaryDirectory() as folder:
        store, tool = SQLiteStore(Path(folder, "s.sqlite")), note_tool()
        gc.collect()
        before, started = rss_mb(), perf_counter()
        for number in range(sessions):
            options = AgentOptions(
                model=ScriptedModel(SCRIPT), tools=[tool], can_use_tool=later, session_store=store,
                session_id=f"s{number}",
            )  # fmt: skip
            async for _ in query("go", options=options):
                pass
        pending_s = perf_counter() - started
        gc.collect()
        pending_mb = rss_mb()
        inbox = Inbox(store)
        pages = []
        for _ in range(5):
            looked = perf_counter()
            page = await inbox.pending()
            pages.append(perf_counter() - looked)
        approved = perf_counter()
        for approval in page:
            await inbox.answer(approval.session_id, approval.tool_use_id, Allow())
            options = AgentOptions(
                model=ScriptedModel(DONE), tools=[tool], session_store=store, resume=approval.session_id
            )
            async for _ in query(options=options):
                pass
        ended = perf_counter() - approved
        store.close()
    return {
        "how": f"parked in SQLite (answered and resumed: {len(page)} of them)",
        "n": sessions,
        "to_pending_s": round(pending_s, 3),
        "approve_to_end_s": round(ended, 3),
        "rss_before_mb": round(before, 1),
        "rss_pending_mb": round(pending_mb, 1),
        "kb_per_session": round((pending_mb - before) * 1024 / sessions, 1),
        "page_ms": round(min(pages) * 1000, 1),
    }


RESUME = """
import json, sys, time
import anyio
from agent_sdk import AgentOptions, Allow, SQLiteStore, query
import agent_sdk.client, agent_sdk.testing
from tests.bench.rows import note_tool
from tests.bench.waiting import DONE
path, call = sys.argv[1:]
async def main():
    began = time.perf_counter()
    store = SQLiteStore(path)
    options = AgentOptions(model=agent_sdk.testing.ScriptedModel(DONE), tools=[note_tool()], session_store=store,
                           resume="s")
    started = time.perf_counter()
    async for message in query(options=options, decisions={call: Allow()}):
        pass
    print(json.dumps({"options_ms": (started - began) * 1000, "resume_ms": (time.perf_counter() - started) * 1000,
                      "reason": message.terminal_reason}))
anyio.run(main)
"""


async def _stop_at_an_approval(path: Path, messages: int) -> tuple[str, float]:
    """A session of so many messages that is parked; the id of its call, and how long the parking run took in ms."""
    store = SQLiteStore(path)
    entries = []
    for number in range(messages // 2):
        said = [{"type": "text", "text": f"message {number}: " + "x" * 700}]
        entries.append(entry("user", message={"role": "user", "content": said}))
        entries.append(entry("assistant", message={"role": "assistant", "content": said}))
    await store.append(session_key("s"), entries)
    options = AgentOptions(
        model=ScriptedModel(SCRIPT), tools=[note_tool()], can_use_tool=later, session_store=store, resume="s"
    )
    started = perf_counter()
    async for _ in query("go", options=options):
        pass
    spent = (perf_counter() - started) * 1000
    (approval,) = await store.pending()
    store.close()
    return approval.tool_use_id, spent


def resumed(messages: int) -> Row:
    """Row C: a session of so many messages stops at an approval; a fresh process answers and resumes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.sqlite")
        call, spent = anyio.run(_stop_at_an_approval, path, messages)
        size = path.stat().st_size
        started = perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", RESUME, str(path), call], capture_output=True, text=True, check=True
        )
        whole = (perf_counter() - started) * 1000
        said = json.loads(done.stdout)
    return {
        "messages": messages,
        "state_bytes": size,
        "park_ms": round(spent, 1),
        "first_options_ms": round(said["options_ms"], 1),  # pydantic builds the model of the options at its first use
        "resume_ms": round(said["resume_ms"], 1),
        "resume_process_ms": round(whole, 1),
        "ended": said["reason"],
    }


async def stored_calls(calls: int) -> Row:
    """Row A on disk: one session in SQLite with its journal, so many approved tool calls in a row."""
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteStore(Path(folder, "s.sqlite"))
        turn = {"content": [{"type": "tool_use", "name": "Note", "input": {"text": "n"}}], "repeat": calls}
        options = AgentOptions(
            model=ScriptedModel([turn]), tools=[note_tool()], can_use_tool=approve, session_store=store
        )
        stamps = [perf_counter()]
        async for message in query("go", options=options):
            if isinstance(message, UserMessage):
                stamps.append(perf_counter())
        store.close()
    each = [(after - before) * 1000 for before, after in pairwise(stamps)]
    fifth = max(1, len(each) // 5)
    return {
        "n": calls,
        "ms_per_call": round(sum(each) / len(each), 3),
        "ms_median": round(sorted(each)[len(each) // 2], 3),
        "ms_first_fifth": round(sum(each[:fifth]) / fifth, 3),
        "ms_last_fifth": round(sum(each[-fifth:]) / fifth, 3),
    }


def commit_ms() -> Row:
    """The floor under every row on disk: one commit of a kilobyte with its fsync, the median of a hundred."""
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder, "s.sqlite"), isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE t (body TEXT)")
        spent = []
        for _ in range(100):
            started = perf_counter()
            connection.execute("INSERT INTO t VALUES (?)", ("x" * 1000,))
            spent.append((perf_counter() - started) * 1000)
        connection.close()
    return {"what": "one commit of 1 KB in SQLite", "ms": round(sorted(spent)[50], 3)}
