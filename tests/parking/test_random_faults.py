"""Runs that are cut off anywhere, on stores that fail anywhere: no result is lost, and no tool runs twice."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agent_sdk import (
    AgentClient,
    AgentOptions,
    Allow,
    Defer,
    Deny,
    HookMatcher,
    InMemoryStore,
    ResultMessage,
    SessionError,
    SQLiteStore,
    ToolContext,
    ToolResultBlock,
    UserMessage,
    query,
)
from agent_sdk.ledger import session_key
from agent_sdk.permissions import messages
from agent_sdk.testing import ScriptedModel
from tests.engine.dialogue import ANY, Ran, check_requests, hold, say_yes, text_of, use
from tests.parking.far_store import METHODS, Fault, Wire, far_store
from tests.support.messages_api import check_conversation

ENDS = ("plain", "plain", "scope", "native", "break", "interrupt", "leave", "prompts", "lost")
UNKNOWN = (messages.UNKNOWN_OUTCOME, messages.INTERRUPTED_RUNNING)


@dataclass
class World:
    """One random run and what was seen of it. `heard` are the results that a consumer was told."""

    dice: Random
    backend: str
    ran: Ran = field(default_factory=Ran)
    finished: set[str] = field(default_factory=set)
    heard: dict[str, str] = field(default_factory=dict)
    client: AgentClient | None = None
    end: str = ""

    def __post_init__(self) -> None:
        dice = self.dice
        self.end = dice.choice(ENDS)
        self.inner = InMemoryStore()
        self.wire = Wire(self.inner, dice, dice.choice([0, 0, 1, 3]))
        self.store = far_store(self.wire, METHODS if dice.random() < 0.9 else METHODS[:5])
        if dice.random() < 0.7:
            method = dice.choice([None, "write", "write", "end_call", "begin_call", "park", "release", "append"])
            times = dice.choice([1, 1, 2, 99])
            self.wire.fault = Fault(dice.randint(0, 30), dice.choice(["before", "after", "late"]), method, times)
        uses = [use(dice.choice(["save", "look"]), f"c{n}", n=n) for n in range(dice.randint(1, 4))]
        self.person = {f"c{n}": dice.choice(["yes"] * 6 + ["no", "later", "stop"]) for n in range(len(uses))}
        self.model = ScriptedModel([uses, [use("save", "z")], *["fine"] * 9])
        self.tools = [self.ran.tool("save", self.work), self.ran.tool("look", self.work, read_only=True)]

    async def work(self, tool_input: Any, context: ToolContext) -> str:
        """The tool: a few steps, then its effect."""
        for _ in range(self.dice.randrange(4)):
            await anyio.lowlevel.checkpoint()
        if self.end == "prompts" and self.client is not None and self.dice.random() < 0.5:
            await self.client.query("and this?")
        if self.end == "lost" and self.dice.random() < 0.5:
            self.free()
            await self.inner.claim("s", "another run", timedelta(seconds=60))
        self.finished.add(context.tool_use_id)
        return f"ran {context.tool_use_id}"

    async def decide(self, name: str, tool_input: Any, context: Any) -> Any:
        """The person."""
        await anyio.lowlevel.checkpoint()
        answers = {"yes": Allow(), "no": Deny("no"), "later": Defer(), "stop": Deny("no", interrupt=True)}
        return answers[self.person.get(context.tool_use_id, "yes")]

    async def listen(self, *_: Any) -> Any:
        """A hook."""
        await anyio.lowlevel.checkpoint()
        if self.dice.random() < 0.2:
            return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "mind the gap"}}
        return {"continue": False, "stopReason": "enough"} if self.dice.random() < 0.1 else None

    def options(self, **more: Any) -> AgentOptions:
        """The options of a run."""
        return AgentOptions(
            model=self.model, session_store=self.store, tools=self.tools, can_use_tool=self.decide,
            on_unknown="report", **more,
        )  # fmt: skip

    def free(self) -> None:
        """No claim is good any more: its lease is over."""
        if (session := self.inner._sessions.get("s")) is not None:
            session.claim = None

    async def consume(self, prompt: str | None, **more: Any) -> ResultMessage:
        """Run to the end, and note what is told."""
        last: Any = None
        async for last in query(prompt, options=self.options(**more)):
            self.hear(last)
        return last

    def hear(self, message: Any) -> None:
        """Note the results that a consumer was told."""
        if isinstance(message, UserMessage):
            self.heard |= {b.tool_use_id: text_of(b.content) for b in message.content if isinstance(b, ToolResultBlock)}

    async def first_run(self) -> None:
        """The run with the faults, ended as planned."""
        hooks: Any = {"PostToolUse": [HookMatcher(hooks=[self.listen])]} if self.dice.random() < 0.4 else {}
        more: Any = {"session_id": "s", "hooks": hooks, "include_partial_messages": self.dice.random() < 0.3}
        more["max_turns"] = self.dice.choice([None, None, 1])
        steps = self.dice.randrange(80)
        if self.end in ("plain", "lost"):
            await self.consume("go", **more)
        elif self.end == "native" and self.backend == "asyncio":
            task = asyncio.create_task(self.consume("go", **more))
            await walk(steps)
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.result()
        elif self.end in ("scope", "native"):
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: self.consume("go", **more))
                await walk(steps)
                group.cancel_scope.cancel()
        elif self.end == "break":
            async for message in query("go", options=self.options(**more)):
                self.hear(message)
                steps -= 10
                if steps < 0:
                    break
        else:
            await self.talk(steps, more)

    async def talk(self, steps: int, more: Any) -> None:
        """The run in a client."""
        async with AgentClient(self.options(**more)) as self.client:
            await self.client.query("go")
            await walk(steps if self.end != "prompts" else 0)
            if self.end == "interrupt":
                await self.client.interrupt()
            if self.end != "leave":
                async for message in self.client.receive_response():
                    self.hear(message)
            self.client = None

    async def go_on(self) -> None:
        """Resume until it has ended, with a yes to what is parked; then it takes another prompt."""
        self.person = {}
        for _ in range(4):
            try:
                if (await self.consume(None, resume="s")).terminal_reason == "completed":
                    break
            except SessionError as error:
                if "nothing to resume" not in str(error):
                    raise
                break
        assert (await self.consume("bye", resume="s")).subtype == "success"

    async def check(self) -> None:
        """Each tool ran at most once, each call has one result, and it is the true one or says that it is unknown."""
        check_requests(self.model.requests)
        entries = await self.inner.load(session_key("s")) or []
        results = check_results(entries)
        counts = Counter(context.tool_use_id for context in self.ran.contexts)
        assert set(counts.values()) <= {1}, f"ran twice: {counts}"
        for call_id, text in results.items():
            if text == f"ran {call_id}":
                assert call_id in self.finished
            elif call_id in self.finished:
                assert text in UNKNOWN, f"the result of {call_id} is lost, the model reads: {text}"
        for call_id, text in self.heard.items():
            assert results[call_id] == text, "a result that somebody was told has become another"


def check_results(entries: Sequence[Any]) -> dict[str, str]:
    """The results in a transcript, by the id of the call; it must be legal as it stands."""
    said = [e["message"] for e in entries if e["type"] in ("user", "assistant")]
    reason = check_conversation({"model": "m", "max_tokens": 1, "tools": [dict(ANY, name="t")], "messages": said})
    assert not said or reason is None, reason
    blocks = [block for message in said if message["role"] == "user" for block in message["content"]]
    return {b["tool_use_id"]: text_of(b["content"]) for b in blocks if b["type"] == "tool_result"}


async def walk(steps: int) -> None:
    """So many steps of the event loop."""
    for _ in range(steps):
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 1000), marks=pytest.mark.slow)], ids=repr)
def test_nothing_is_lost_and_nothing_runs_twice(seeds: range, backend: str) -> None:
    """Whatever the store does and whoever breaks off the run, the session goes on and tells the truth."""

    async def main(seed: int) -> None:
        world = World(Random(seed), backend)
        with suppress(OSError, SessionError):
            try:
                await world.first_run()
            except BaseExceptionGroup as group:
                if group.split((OSError, SessionError))[1] is not None:
                    raise
        await walk(100)
        await anyio.sleep(0.015)  # a late store, and a generator that was left, come to their end
        release_failed = any(method == "release" and kind != "late" for method, kind in world.wire.used)
        never_known = "claim" in world.wire.cut or ("claim", "after") in world.wire.used
        session = world.inner._sessions.get("s")
        if world.end != "lost" and session is not None and not release_failed and not never_known:
            assert session.claim is None, "nobody runs it, and it is held"
        world.free()
        world.wire.fault, world.end = None, "over"
        if await world.inner.load(session_key("s")) is not None:
            await world.go_on()
            await world.check()

    for seed in seeds:
        try:
            anyio.run(main, seed, backend=backend)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


async def cancelled_run(store: SQLiteStore, session_id: str, seconds: float) -> tuple[Ran, set[str]]:
    """A run that is cancelled by asyncio's own means after so long; what ran, and what was finished."""
    ran, finished = Ran(), set()

    async def work(tool_input: Any, context: ToolContext) -> str:
        finished.add(context.tool_use_id)
        return f"ran {context.tool_use_id}"

    model = ScriptedModel([[use("save", "a"), use("save", "b")], [use("save", "c")], "fine"])
    options = AgentOptions(
        model=model, tools=[ran.tool("save", work)], can_use_tool=say_yes, session_store=store, session_id=session_id
    )

    async def consume() -> None:
        async for _ in query("go", options=options):
            pass

    task = asyncio.create_task(consume())
    await asyncio.sleep(seconds)
    task.cancel()
    await asyncio.wait([task])
    return ran, finished


@pytest.mark.parametrize("runs", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_cancelled_task_leaves_the_file_as_if_it_were_waited_for(runs: int) -> None:
    """`task.cancel()` knows no shield. What was begun in the file is still ended: result, turn and claim."""

    async def main(folder: str) -> None:
        dice, store = Random(runs), SQLiteStore(Path(folder) / "s.sqlite")
        await store.projects()
        for number in range(runs):
            session_id = f"s{number}"
            ran, finished = await cancelled_run(store, session_id, dice.random() * 0.03)
            final: Any = await hold(["fine"], "and now?", store=store, session_id=session_id, tools=[ran.tool("save")])  # type: ignore[arg-type]
            assert final.result.subtype == "success"
            results = check_results(await store.load(session_key(session_id)) or [])
            assert {id_: results.get(id_) for id_ in finished} == {id_: f"ran {id_}" for id_ in finished}
            assert len(ran.calls) == len(finished)
        store.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(folder))
