"""AgentClient: the person's stop button wherever a run stands, prompts in the middle, modes that change."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agent_sdk import (
    Allow,
    Defer,
    Deny,
    HookMatcher,
)
from agent_sdk.ledger import session_key
from agent_sdk.testing import FunctionModel
from tests.engine.dialogue import Ran, say_yes, use
from tests.engine.talk import talk, waits

TURN = [use("save", "a", n=1), use("save", "b", n=2)]


@pytest.mark.anyio
@pytest.mark.parametrize("swallow", [False, True], ids=["obeys", "swallows"])
@pytest.mark.parametrize("place", ["hook", "request-hook", "callback", "all-callbacks", "tool", "post-hook"])
async def test_an_interrupt_cancels_whatever_the_turn_waits_for(place: str, swallow: bool) -> None:
    """What waited is not run, what ran is unknown, and the next prompt is answered."""
    ran, inside = Ran(), anyio.Event()
    gate = waits(inside, Allow(), swallow=swallow)
    options: dict[str, Any] = {"tools": [ran.tool("save")], "can_use_tool": say_yes}
    match place:
        case "hook":
            options["hooks"] = {"PreToolUse": [HookMatcher(hooks=[gate])]}
        case "request-hook":
            options["hooks"] = {"PermissionRequest": [HookMatcher(hooks=[gate])]}
        case "callback" | "all-callbacks":
            options |= {"can_use_tool": gate, "max_parallel_prompts": None if place == "all-callbacks" else 1}
        case "tool":
            options["tools"] = [ran.tool("save", waits(inside, "finished", swallow=swallow))]
        case "post-hook":
            options["hooks"] = {"PostToolUse": [HookMatcher(hooks=[waits(inside, None, swallow=swallow)])]}
    async with talk([TURN, "hello"], **options) as it:
        await it.client.query("go")
        await inside.wait()
        await it.client.interrupt()
        ended = await it.response()
        assert (ended.terminal_reason, ended.stop_reason) == ("aborted_tools", "tool_use")
        assert (ended.subtype, ended.is_error) == ("error_during_execution", True)
        assert len(it.model.requests) == 1
        assert [n["n"] for _, n in ran.calls] == ([1] if place in ("tool", "post-hook") else [])
        assert "interrupted by the person" in it.words["b"]
        if place == "tool" and not swallow:
            assert it.words["a"] == "Interrupted while running; its effect is unknown."
        elif place == "post-hook":
            assert it.words["a"] == "save ran"
        await it.client.query("next")
        assert (await it.response()).result == "hello"


@pytest.mark.anyio
async def test_an_interrupt_in_the_models_stream_drops_the_partial_reply() -> None:
    """Nothing of it is stored, and the next prompt is answered."""
    inside = anyio.Event()

    async def says(request: Any) -> str:
        if len(request["messages"]) == 1:
            inside.set()
            await anyio.sleep(30)
        return "hello"

    async with talk(FunctionModel(says)) as it:
        await it.client.query("go")
        await inside.wait()
        await it.client.interrupt()
        ended = await it.response()
        assert (ended.terminal_reason, ended.is_error) == ("aborted_streaming", True)
        await it.client.query("next")
        assert (await it.response()).result == "hello"


@pytest.mark.anyio
async def test_an_interrupt_beats_a_deferral() -> None:
    """Of the same turn: nothing is parked, and every call is answered."""
    ran, inside = Ran(), anyio.Event()
    hang = waits(inside)

    async def person(name: str, tool_input: dict[str, Any], context: Any) -> Any:
        return Defer() if tool_input["n"] == 1 else await hang()

    async with talk([TURN, "hello"], tools=[ran.tool("save")], can_use_tool=person) as it:
        await it.client.query("go")
        await inside.wait()
        await it.client.interrupt()
        assert (await it.response()).terminal_reason == "aborted_tools"
        assert await it.store.pending() == []
        assert sorted(it.words) == ["a", "b"]


@pytest.mark.anyio
async def test_a_denial_with_interrupt_stops_the_turn() -> None:
    """The denied call reads its message, the others that they were interrupted; nobody else is asked."""
    ran, asked = Ran(), []

    async def person(name: str, tool_input: dict[str, Any], context: Any) -> Any:
        asked.append(tool_input["n"])
        return Deny("stop it", interrupt=True) if tool_input["n"] == 2 else Allow()

    calls = [*TURN, use("save", "c", n=3)]
    async with talk([calls, "hello"], tools=[ran.tool("save")], can_use_tool=person) as it:
        await it.client.query("go")
        ended = await it.response()
        assert (ran.calls, asked, ended.terminal_reason) == ([], [1, 2], "aborted_tools")
        assert it.words["b"] == "stop it"
        assert "interrupted" in it.words["a"]
        assert "interrupted" in it.words["c"]
        assert len(ended.permission_denials) == 3


@pytest.mark.anyio
async def test_prompts_in_the_middle_of_a_turn_follow_its_results() -> None:
    """In one user message, after the results; a prompt during the last reply starts the next run."""
    ran, inside, go_on = Ran(), anyio.Event(), anyio.Event()

    async def works(*_: Any) -> str:
        inside.set()
        await go_on.wait()
        return "ok"

    turns = [[use("save", "a")], "first", "second"]
    async with talk(turns, tools=[ran.tool("save", works)], allow=["save"]) as it:
        await it.client.query("go")
        await inside.wait()
        await it.client.query("and this")
        go_on.set()
        assert (await it.response()).result == "first"
        blocks = it.model.requests[1]["messages"][-1]["content"]
        assert [block["type"] for block in blocks] == ["tool_result", "text"]
        await it.client.query("more")
        assert (await it.response()).result == "second"


@pytest.mark.anyio
async def test_a_prompt_sent_before_an_interrupt_is_the_next_run() -> None:
    """It is not lost, and not part of the turn that was stopped."""
    ran, inside = Ran(), anyio.Event()
    async with talk([[use("save", "a")], "hello"], tools=[ran.tool("save")], can_use_tool=waits(inside)) as it:
        await it.client.query("go")
        await inside.wait()
        await it.client.query("do this instead")
        await it.client.interrupt()
        assert (await it.response()).terminal_reason == "aborted_tools"
        assert (await it.response()).result == "hello"
        assert it.model.requests[-1]["messages"][-1]["content"][-1]["text"] == "do this instead"


@pytest.mark.anyio
async def test_the_record_tells_what_became_of_each_call() -> None:
    """A yes that was overtaken by an interrupt is stored as a no; what had started stays a yes, stored once."""
    ran, inside = Ran(), anyio.Event()
    tools = [ran.tool("save", waits(inside))]
    async with talk([TURN], tools=tools, can_use_tool=say_yes) as it:
        await it.client.query("go")
        await inside.wait()
        await it.client.interrupt()
        await it.response()
        entries = await it.store.load(session_key(it.client.session_id)) or []
    told = [(e["tool_use_id"], e["behavior"]) for e in entries if e["type"] == "permission"]
    assert told == [("a", "allow"), ("b", "deny")]
