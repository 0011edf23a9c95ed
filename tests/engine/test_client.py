"""AgentClient: modes and models that change, one run at a time, and the end of the block."""

from __future__ import annotations

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
    OptionsError,
    SessionBusyError,
    SessionError,
)
from agent_sdk.testing import FunctionModel, ScriptedModel
from tests.engine.dialogue import Ran, check_stored, use
from tests.engine.talk import talk, waits

TURN = [use("save", "a", n=1), use("save", "b", n=2)]


@pytest.mark.anyio
@pytest.mark.parametrize("allow", [True, False], ids=["rule", "no-rule"])
@pytest.mark.parametrize("start", ["default", "bypassPermissions"])
@pytest.mark.parametrize("change", ["plan", "dontAsk"])
@pytest.mark.filterwarnings("ignore::agent_sdk.options.CanUseToolShadowedWarning")
async def test_a_stricter_mode_counts_for_calls_approved_before(start: str, change: str, allow: bool) -> None:
    """The second call of the turn was approved by mode or rule, and is judged again just before it runs."""
    ran, inside, go_on = Ran(), anyio.Event(), anyio.Event()

    async def works(tool_input: Any, context: Any) -> str:
        if tool_input["n"] == 1:
            inside.set()
            await go_on.wait()
        return "ok"

    rules: dict[str, Any] = {"allow": ["save"]} if allow or start == "default" else {}
    asked: list[Any] = []

    async def person(name: str, tool_input: dict[str, Any], context: Any) -> Deny:
        asked.append(tool_input["n"])
        return Deny("not in this mode")

    model = [TURN, "done"]
    options = {"tools": [ran.tool("save", works)], "permission_mode": start, **rules}
    async with talk(model, can_use_tool=person, **options) as it:
        await it.client.query("go")
        await inside.wait()
        await it.client.set_permission_mode(change)
        go_on.set()
        await it.response()
    by_rule = bool(rules) and change == "dontAsk"
    assert [n["n"] for _, n in ran.calls] == ([1, 2] if by_rule else [1])
    assert asked == ([2] if change == "plan" else [])


@pytest.mark.anyio
async def test_a_laxer_mode_counts_only_for_calls_not_yet_judged() -> None:
    """The call that waits for the person is still theirs; the next turn's is not."""
    ran, asked = Ran(), []
    clients: list[AgentClient] = []

    async def person(name: str, tool_input: dict[str, Any], context: Any) -> Any:
        asked.append(context.tool_use_id)
        await clients[0].set_permission_mode("acceptEdits")
        return Deny("no")

    tool = ran.tool("Write", writes="file_path")
    calls = [use("Write", id_, file_path="x.txt", content="x") for id_ in "ab"]
    async with talk([calls, [{**calls[0], "id": "c"}]], tools=[tool], can_use_tool=person) as it:
        clients.append(it.client)
        await it.client.query("go")
        await it.response()
    assert (asked, len(ran.calls)) == (["a", "b"], 1)


@pytest.mark.anyio
async def test_modes_are_checked_and_a_chosen_one_outlives_a_resume() -> None:
    """Unknown ones and a late bypass are refused; what was stored does not take a stricter choice back."""
    ran = Ran()

    async def defers(*_: Any) -> Defer:
        return Defer()

    async with talk([[use("save", "a")], [use("save", "b")]], tools=[ran.tool("save")], can_use_tool=defers) as it:
        for mode in ("bypassPermissions", "strict", ""):
            with pytest.raises(OptionsError):
                await it.client.set_permission_mode(mode)
        await it.client.query("go")
        assert (await it.response()).terminal_reason == "tool_deferred"
        await it.client.set_permission_mode("dontAsk")
        await it.client.resume({"a": Allow()})
        await it.response()
        assert it.messages[0].data["permissionMode"] == "dontAsk"
        assert it.words["a"] == "save ran"
        assert "dontAsk" in it.words["b"]


@pytest.mark.anyio
async def test_one_session_has_one_run_at_a_time() -> None:
    """A second client is told so, a resume in the middle of a run too; afterwards both go on with one history."""
    ran, inside, go_on = Ran(), anyio.Event(), anyio.Event()

    async def works(*_: Any) -> str:
        inside.set()
        await go_on.wait()
        return "ok"

    store = InMemoryStore()
    shared = {"session_store": store, "session_id": "s", "tools": [ran.tool("save", works)], "allow": ["save"]}
    script = [[use("save", "a")], "one", "two", "three"]
    async with talk(script, **shared) as first, talk(first.model, **shared) as second:
        await first.client.query("go")
        await inside.wait()
        with pytest.raises(SessionError, match="going on"):
            await first.client.resume()
        await second.client.query("me too")
        with pytest.raises(SessionBusyError):
            await second.response()
        go_on.set()
        assert (await first.response()).result == "one"
        await second.client.query("now?")
        assert (await second.response()).result == "two"
        await first.client.query("and me")
        assert (await first.response()).result == "three"
        assert len(first.model.requests[-1]["messages"]) == 7
    assert len(ran.calls) == 1


@pytest.mark.anyio
@pytest.mark.parametrize("place", ["callback", "tool", "stream"])
async def test_leaving_the_client_cancels_what_runs_and_closes_the_session(place: str) -> None:
    """The next client finds a legal session."""
    ran, inside, store = Ran(), anyio.Event(), InMemoryStore()
    hang = waits(inside)
    options: dict[str, Any] = {"session_store": store, "session_id": "s", "tools": [ran.tool("save")]}
    model: Any = ScriptedModel([[use("save", "a")], "hello"])
    if place == "tool":
        options |= {"tools": [ran.tool("save", hang)], "allow": ["save"]}
    if place == "stream":
        model = FunctionModel(lambda request: hang() if len(request["messages"]) == 1 else "hello")
    async with talk(model, can_use_tool=hang, **options) as it:
        await it.client.query("go")
        await inside.wait()
    await check_stored(store, "s")
    async with talk(model, **options) as it:
        await it.client.query("next")
        assert (await it.response()).result == "hello"


@pytest.mark.anyio
async def test_the_client_is_used_inside_its_block() -> None:
    """Outside of it there is nothing that could run."""
    client = AgentClient(AgentOptions(model=ScriptedModel([])))
    with pytest.raises(OptionsError, match="async with"):
        await client.query("hi")
    async with client:
        with pytest.raises(OptionsError, match="empty"):
            await client.query(" ")
        await client.interrupt()


@pytest.mark.anyio
async def test_what_a_hook_said_of_a_parked_turn_is_no_prompt() -> None:
    """The parked calls stay parked; the words follow their results."""
    ran = Ran()

    async def hook(*_: Any) -> Any:
        return {"hookSpecificOutput": {"additionalContext": "be careful"}}

    async def later(*_: Any) -> Defer:
        return Defer()

    hooks = {"PreToolUse": [HookMatcher(hooks=[hook])]}
    async with talk([[use("save", "a")], "bye"], tools=[ran.tool("save")], can_use_tool=later, hooks=hooks) as it:
        await it.client.query("go")
        assert (await it.response()).terminal_reason == "tool_deferred"
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        assert [approval.tool_use_id for approval in await it.store.pending()] == ["a"]
        await it.client.resume({"a": Allow()})
        assert (await it.response()).result == "bye"
        assert "be careful" in str(it.model.requests[-1]["messages"][-1])
    assert len(ran.calls) == 1


@pytest.mark.anyio
async def test_another_model_must_keep_the_budget_too() -> None:
    """A model without a known price is refused where a budget must be kept."""
    model = ScriptedModel(["hi", "hello"], name="claude-opus-4-8")
    async with talk(model, max_budget_usd=5.0) as it:
        with pytest.raises(OptionsError, match="no price is known"):
            await it.client.set_model(ScriptedModel([], name="house-model"))
        with pytest.raises(OptionsError, match="a name or a Model"):
            await it.client.set_model(5)  # type: ignore[arg-type]
        await it.client.set_model(ScriptedModel(["other"], name="claude-opus-4-7"))
        await it.client.query("go")
        assert (await it.response()).result == "other"


@pytest.mark.anyio
async def test_another_model_is_asked_from_the_next_run_on() -> None:
    """The tool loop that is open ends with the model that began it: its thoughts are signed."""
    ran = Ran()
    other = ScriptedModel(["", "", "from the other"])
    clients: list[AgentClient] = []

    async def switches(*_: Any) -> str:
        await clients[0].set_model(other)
        return "ok"

    tools = [ran.tool("save", switches)]
    async with talk([[use("save", "a")], "from the first"], tools=tools, allow=["save"]) as it:
        clients.append(it.client)
        await it.client.query("go")
        assert (await it.response()).result == "from the first"
        await it.client.query("and now?")
        assert (await it.response()).result == "from the other"
        assert len(other.requests) == 1
