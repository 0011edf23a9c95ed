"""A process of its own that parks, answers and resumes sessions on a store: python worker.py COMMAND PATH …

What it says on standard output is acknowledged: it said it after the store had it.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio

from agent_sdk import (
    AgentOptions,
    Allow,
    Defer,
    Inbox,
    ResultMessage,
    SessionBusyError,
    SessionError,
    SQLiteStore,
    Tool,
    ToolContext,
    ToolResult,
    query,
)
from agent_sdk.calls import CallKey
from agent_sdk.sessions.records import Begun, Claim, Run
from agent_sdk.sessions.store import SessionKey
from agent_sdk.testing import ScriptedModel

LEASE = timedelta(seconds=1)
CALLS = ("a", "b", "c")


class QuickStore(SQLiteStore):
    """Its leases are short, so that what a killed process held is soon free."""

    async def claim(self, session_id: str, owner: str, lease: timedelta) -> Claim:
        """As its base, for a second."""
        return await super().claim(session_id, owner, LEASE)


class ForgetfulStore(QuickStore):
    """A store whose journal is switched off."""

    async def begin_call(self, claim: Claim, key: CallKey, effective: Any, *, settled: Any = ()) -> Begun:
        """Nothing is noted."""
        return Run()

    async def end_call(self, claim: Claim, key: CallKey, result: ToolResult) -> None:
        """Nothing is noted."""


class DyingStore(QuickStore):
    """Its process dies when a tool has run, before its result is stored."""

    async def end_call(self, claim: Claim, key: CallKey, result: ToolResult) -> None:
        """The end."""
        os.kill(os.getpid(), signal.SIGKILL)

    async def write(self, claim: Claim, key: SessionKey, entries: Any, *, closes: str | None = None) -> None:
        """The end, where a turn is closed: its last result is stored with that."""
        if closes is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        await super().write(claim, key, entries)


STORES = {"quick": QuickStore, "forgetful": ForgetfulStore, "dying": DyingStore}


def say(*words: object) -> None:
    """One line, out at once."""
    print(*words, flush=True)


def effect_tool(path: Path, seconds: float, *, read_only: bool = True, idempotent: bool = False) -> Tool:
    """A tool that leaves a line in the file `effects` beside the store, then takes its time."""

    async def run(tool_input: Mapping[str, Any], context: ToolContext) -> ToolResult:
        line = f"{context.session_id} {context.tool_use_id}\n".encode()
        handle = os.open(path.with_name("effects"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, line)
        os.close(handle)
        await anyio.sleep(seconds * random.random() if seconds < 1 else seconds)
        return ToolResult(f"ran {context.tool_use_id}")

    return Tool(
        name="Effect", description="Has an effect.", input_schema={"type": "object"}, run=run, check=lambda given: None,
        read_only=read_only, idempotent=idempotent,
    )  # fmt: skip


def script(calls: Sequence[str]) -> ScriptedModel:
    """A model that wants these calls at once, and then is done."""
    uses = [{"type": "tool_use", "id": call_id, "name": "Effect", "input": {"n": 1}} for call_id in calls]
    return ScriptedModel({"turns": [{"content": uses}], "after": {"content": [{"type": "text", "text": "done"}]}})


async def later(*_: Any) -> Defer:
    """Not now."""
    return Defer("later")


async def yes(*_: Any) -> Allow:
    """Go."""
    return Allow()


async def run_once(store: SQLiteStore, prompt: str | None, **options: Any) -> ResultMessage:
    """One run to its end."""
    options = {"model": script(CALLS), "tools": [effect_tool(store.path, 0.04)], "session_store": store, **options}
    last: Any = None
    async for message in query(prompt, options=AgentOptions(**options)):
        last = message
    assert isinstance(last, ResultMessage)
    return last


async def park(store: SQLiteStore, *session_ids: str) -> None:
    """Park three calls in every session."""
    for session_id in session_ids:
        result = await run_once(store, "go", session_id=session_id, can_use_tool=later)
        say(session_id, result.terminal_reason)


async def start(store: SQLiteStore, session_id: str, calls: str, seconds: str, *facts: str) -> None:
    """Run calls that are approved at once and take so many seconds; `serial`: one after the other."""
    tools = [effect_tool(store.path, float(seconds), read_only="serial" not in facts, idempotent="idempotent" in facts)]
    result = await run_once(
        store, "go", session_id=session_id, can_use_tool=yes, tools=tools, model=script(calls.split(","))
    )
    say(result.terminal_reason)


async def answer(store: SQLiteStore, session_id: str, tool_use_id: str) -> None:
    """Say yes to a call."""
    say(await Inbox(store).answer(session_id, tool_use_id, Allow(), by="worker"))


async def resume(store: SQLiteStore, session_id: str, seconds: str = "0.04", *facts: str) -> None:
    """Go on with a session, asking nobody."""
    try:
        tools = [effect_tool(store.path, float(seconds), idempotent="idempotent" in facts)]
        result = await run_once(store, None, resume=session_id, tools=tools)
        say(result.terminal_reason, *(use.id for use in result.deferred_tool_uses))
    except SessionError as error:
        say(type(error).__name__, error)


async def race(store: SQLiteStore, session_id: str, prompt: str) -> None:
    """Resume, or prompt, as soon as a line comes in."""
    say("ready")
    await anyio.to_thread.run_sync(sys.stdin.readline)
    try:
        result = await run_once(store, prompt or None, resume=session_id, tools=[effect_tool(store.path, 1.5)])
        say(result.terminal_reason)
    except SessionError as error:
        say(type(error).__name__)


async def work(store: SQLiteStore, count: str) -> None:
    """Resume whatever is open, in random order, until all is done or this process is."""
    waiting = [f"s{number}" for number in range(int(count))]
    random.shuffle(waiting)
    say("ready")
    while waiting:
        session_id = waiting.pop(0)
        try:
            result = await run_once(store, None, resume=session_id)
            say("completed" if result.terminal_reason == "completed" else result, session_id)
        except SessionBusyError:
            waiting.append(session_id)
            await anyio.sleep(0.02)
        except SessionError as error:
            if "nothing to resume" not in str(error):
                raise
    say("idle")


def main() -> None:
    """Run one command, on the event loop that the environment names."""
    kind, command, path, *words = sys.argv[1:]
    job: Any = {"park": park, "start": start, "answer": answer, "resume": resume, "race": race, "work": work}[command]
    anyio.run(job, STORES[kind](path), *words, backend=os.environ.get("BACKEND", "asyncio"))


if __name__ == "__main__":
    main()
