"""Random turns: whatever gates and tools do, what ran is what was judged, and the conversation stays legal."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agent_sdk import (
    AgentClient,
    AgentOptions,
    Allow,
    Ask,
    Defer,
    Deny,
    HookMatcher,
    InMemoryStore,
    ResultMessage,
    ToolResult,
    query,
)
from agent_sdk.testing import ScriptedModel
from tests.engine.dialogue import Ran, check_requests, check_stored, hold, use

HOOK_ACTS = [
    "none",
    "allow",
    "deny",
    "ask",
    "defer",
    "rewrite",
    "allow-rewrite",
    "bad-rewrite",
    "raise",
    "late",
    "stop",
]
PERSON_ACTS = ["allow", "edit", "bad-edit", "deny", "interrupt", "defer", "raise", "late", "nonsense"]
TOOL_ACTS = ["ok", "raise", "slow", "blocks", "bad", "empty"]
RULES = ["none", "allow", "ask", "deny"]
pytestmark = pytest.mark.filterwarnings("ignore::agent_sdk.CanUseToolShadowedWarning")
FEW = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # shrinking runs whole dialogues: slow, and seldom clearer
    derandomize=True,
)


@dataclass
class Plan:
    """What is done about each call, by its number `n`, and what was seen."""

    hook: dict[int, str]
    person: dict[int, str]
    tool: dict[int, str]
    rule: str
    mode: str
    prompts: int | None
    read_only: bool
    approved: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    refused: set[int] = field(default_factory=set)

    async def hear(self, data: Any, tool_use_id: str | None, context: Any) -> Any:
        """The PreToolUse hook; it spoils what it was given before it answers."""
        n = data["tool_input"]["n"]
        seen = copy.deepcopy(data["tool_input"])
        data["tool_input"]["n"] = 99
        data["tool_input"]["spoilt"] = "by the hook"
        match self.hook[n]:
            case "allow":
                return Allow()
            case "deny":
                self.refused.add(n)
                return Deny("no")
            case "ask":
                return Ask()
            case "defer":
                return Defer()
            case "rewrite":
                return {"hookSpecificOutput": {"updatedInput": {**seen, "by": "hook"}}}
            case "allow-rewrite":
                return Allow({**seen, "by": "hook"})
            case "bad-rewrite":
                self.refused.add(n)
                return Allow({"by": "hook"})
            case "raise":
                self.refused.add(n)
                raise ValueError
            case "late":
                self.refused.add(n)
                await anyio.sleep(20)
            case "stop":
                return {"continue": False, "stopReason": "stop here"}
        return None

    async def decide(self, name: str, tool_input: dict[str, Any], context: Any) -> Any:
        """The person; spoils the input that was shown, and the edit after handing it back."""
        n, seen = tool_input["n"], copy.deepcopy(tool_input)
        tool_input["spoilt"] = "by the person"
        act = self.person[n]
        if act not in ("allow", "edit", "defer"):
            self.refused.add(n)
        match act:
            case "allow":
                return Allow()
            case "edit":
                return Allow({**seen, "by": "person"})
            case "bad-edit":
                return Allow({"by": "person"})
            case "interrupt":
                return Deny("stop", interrupt=True)
            case "defer":
                return Defer()
            case "raise":
                raise ExceptionGroup("x", [ValueError()])
            case "late":
                await anyio.sleep(20)
            case "nonsense":
                return {"behavior": "allow"}
        return Deny("no")

    async def work(self, tool_input: dict[str, Any], context: Any) -> Any:
        """The tool; it may spoil its own input, which is nobody else's."""
        act = self.tool[tool_input["n"]]
        tool_input["n"] = 77
        match act:
            case "raise":
                raise ExceptionGroup("x", [ValueError()])
            case "slow":
                await anyio.sleep(0.002)
            case "blocks":
                return ToolResult([{"type": "text", "text": ""}, {"type": "text", "text": "x"}], is_error=True)
            case "bad":
                return ToolResult(None)  # type: ignore[arg-type]
            case "empty":
                return ToolResult("")
        return ToolResult("ok")

    def options(self, ran: Ran, model: ScriptedModel, store: InMemoryStore) -> AgentOptions:
        """The options of a run of this plan."""
        schema = {"type": "object", "required": ["n"]}
        tool = ran.tool("save", self.work, schema=schema, read_only=self.read_only)
        rules: dict[str, Any] = {} if self.rule == "none" else {self.rule: ["save"]}
        return AgentOptions(
            model=model,
            session_store=store,
            tools=[tool],
            can_use_tool=self.decide,
            hooks={"PreToolUse": [HookMatcher(hooks=[self.hear], timeout=0.01)]},
            approval_timeout=0.01,
            permission_mode=self.mode,
            max_parallel_prompts=self.prompts,
            **rules,
        )


def acts(choices: list[str]) -> st.SearchStrategy[dict[int, str]]:
    """What is done about each of four calls; mostly the plain thing."""
    one = st.one_of(st.just(choices[0]), st.sampled_from(choices))
    return st.fixed_dictionaries(dict.fromkeys(range(4), one))


plans = st.builds(
    Plan,
    hook=acts(HOOK_ACTS),
    person=acts(PERSON_ACTS),
    tool=acts(TOOL_ACTS),
    rule=st.sampled_from(RULES),
    mode=st.sampled_from(["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk"]),
    prompts=st.sampled_from([1, 2, None]),
    read_only=st.booleans(),
)


def script(calls: int) -> ScriptedModel:
    """One turn of so many calls, then the end."""
    return ScriptedModel([[use("save", f"c{n}", n=n, text="x") for n in range(calls)]])


def allowed_inputs(plan: Plan, n: int) -> list[dict[str, Any]]:
    """Every input with which call `n` may have run: what the model said, as rewritten by whoever may."""
    said = {"n": n, "text": "x"}
    heard = {**said, "by": "hook"} if plan.hook[n] in ("rewrite", "allow-rewrite") else said
    edited = {**heard, "by": "person"}
    return [heard, edited] if plan.person[n] == "edit" else [heard]


def check_plan(plan: Plan, ran: Ran) -> None:
    """What ran was allowed, as it was judged, and once."""
    numbers = [tool_input["n"] for _, tool_input in ran.calls]
    assert len(numbers) == len(set(numbers)), "a call ran twice"
    assert not plan.refused & set(numbers), "what a gate refused ran"
    assert plan.rule != "deny" or not numbers, "a deny rule was passed over"
    for _, tool_input in ran.calls:
        assert tool_input in allowed_inputs(plan, tool_input["n"]), tool_input
    if "stop" in plan.hook.values() and any(plan.hook[n] == "stop" for n in numbers):
        raise AssertionError("a call ran whose hook stopped the run")


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@FEW
@given(plan=plans, calls=st.integers(1, 4))
def test_what_ran_is_what_was_judged(backend: str, plan: Plan, calls: int) -> None:
    """Run to the end, and resume what is parked with a yes: still nothing runs that was refused, nothing twice."""

    async def main() -> None:
        ran, store = Ran(), InMemoryStore()
        options = plan.options(ran, script(calls), store)
        last: Any = None
        async for message in query("go", options=options):
            last = message
        assert isinstance(last, ResultMessage)
        check_plan(plan, ran)
        check_requests(options.model.requests)
        await check_stored(store, last.session_id, tools=options.offered_tools())
        if last.terminal_reason == "tool_deferred":
            yes = {use.id: Allow() for use in last.deferred_tool_uses}
            again = options.model_copy(update={"resume": last.session_id})
            async for message in query(options=again, decisions=yes):
                last = message
            check_plan(plan, ran)
            check_requests(options.model.requests)
        final = await hold(["bye"], "and now?", store=store, resume=last.session_id, tools=[ran.tool("save")])
        assert final.result.subtype == "success"

    anyio.run(main, backend=backend)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@FEW
@given(
    plan=plans,
    calls=st.integers(1, 4),
    after=st.integers(0, 60),
    how=st.sampled_from(["scope", "native", "break", "raise"]),
)
def test_a_run_that_is_broken_off_anywhere_stays_legal(
    backend: str, plan: Plan, calls: int, after: int, how: str
) -> None:
    """Cancelled after so many steps of the event loop, or left by its consumer: the session goes on."""

    async def main() -> None:
        ran, store = Ran(), InMemoryStore()
        options = plan.options(ran, script(calls), store)
        options = options.model_copy(update={"session_id": "s"})
        try:
            if how == "native" and backend == "asyncio":
                await cancelled_natively(options, after)
            elif how in ("scope", "native"):
                await cancelled_after(options, after)
            else:
                await left_after(options, after % 6, how)
        except ZeroDivisionError:
            pass
        for _ in range(30):
            await anyio.lowlevel.checkpoint()
        check_plan(plan, ran)
        check_requests(options.model.requests)
        if await store.load({"project_key": "agent_sdk", "session_id": "s"}) is not None:
            await check_stored(store, "s", tools=options.offered_tools())
        final = await hold(["bye"], "and now?", store=store, session_id="s", tools=[ran.tool("save")])
        assert final.result.subtype == "success"

    anyio.run(main, backend=backend)


async def consume(options: AgentOptions) -> None:
    """Run to the end."""
    async for _ in query("go", options=options):
        pass


async def cancelled_after(options: AgentOptions, steps: int) -> None:
    """Run, and cancel the scope around it after so many steps of the event loop."""
    async with anyio.create_task_group() as group:
        group.start_soon(consume, options)
        for _ in range(steps):
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()


async def cancelled_natively(options: AgentOptions, steps: int) -> None:
    """Run in an asyncio task, and cancel that."""
    task = asyncio.create_task(consume(options))
    for _ in range(steps):
        await anyio.lowlevel.checkpoint()
    task.cancel()
    await asyncio.wait([task])
    assert task.done()
    if not task.cancelled():
        task.result()


async def left_after(options: AgentOptions, messages: int, how: str) -> None:
    """Leave the loop after so many messages, without closing the generator."""
    async for _ in query("go", options=options):
        messages -= 1
        if messages < 0:
            if how == "raise":
                raise ZeroDivisionError
            break


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@FEW
@given(plan=plans, calls=st.integers(1, 4), after=st.integers(0, 60))
def test_an_interrupt_anywhere_ends_the_run_legally(backend: str, plan: Plan, calls: int, after: int) -> None:
    """The run ends with its ResultMessage, and the next prompt is answered."""

    async def main() -> None:
        ran, store = Ran(), InMemoryStore()
        options = plan.options(ran, script(calls), store)
        async with AgentClient(options) as client:
            await client.query("go")
            for _ in range(after):
                await anyio.lowlevel.checkpoint()
            await client.interrupt()
            last = [message async for message in client.receive_response()][-1]
            assert isinstance(last, ResultMessage)
            check_plan(plan, ran)
            await check_stored(store, client.session_id, tools=options.offered_tools())
            session = client.session_id
        check_requests(options.model.requests)
        final = await hold(["bye"], "and now?", store=store, resume=session, tools=[ran.tool("save")])
        assert final.result.subtype == "success"

    anyio.run(main, backend=backend)
