"""AgentClient: the person's stop button wherever a run stands, prompts in the middle, modes that change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
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
    ResultMessage,
    SessionBusyError,
    SessionError,
    ToolResultBlock,
    UserMessage,
)
from agent_sdk.testing import FunctionModel, ScriptedModel
from tests.engine.dialogue import Ran, check_requests, check_stored, say_yes, text_of, use

TURN = [use("save", "a", n=1), use("save", "b", n=2)]


class Talk:
    """A client in use, with what it yielded."""

    def __init__(self, client: AgentClient, model: Any, store: InMemoryStore) -> None:
        self.client, self.model, self.store = client, model, store
        self.messages: list[Any] = []

    async def response(self) -> ResultMessage:
        """Receive up to the next result; checks what is stored."""
        self.messages = []
        with anyio.fail_after(5):
            async for message in self.client.receive_response():
                self.messages.append(message)
        await check_stored(self.store, self.client.session_id)
        last = self.messages[-1]
        assert isinstance(last, ResultMessage)
        return last

    @property
    def words(self) -> dict[str, str]:
        """What the model read of the calls in the last response."""
        blocks = [b for m in self.messages if isinstance(m, UserMessage) for b in m.content]
        return {b.tool_use_id: text_of(b.content) for b in blocks if isinstance(b, ToolResultBlock)}


@asynccontextmanager
async def talk(model: Any, **options: Any) -> AsyncIterator[Talk]:
    """A client for the model; at the end every request must have been legal."""
    store = options.setdefault("session_store", InMemoryStore())
    model = ScriptedModel(model) if isinstance(model, list) else model
    async with AgentClient(AgentOptions(model=model, **options)) as client:
        yield Talk(client, model, store)
    check_requests(model.requests)


def waits(inside: anyio.Event, answer: Any = None, *, swallow: bool = False) -> Callable[..., Any]:
    """A gate or tool that hangs; one that swallows answers once it is cancelled."""

    async def hangs(*_: Any) -> Any:
        inside.set()
        try:
            await anyio.sleep(30)
        except anyio.get_cancelled_exc_class():
            if not swallow:
                raise
        return answer

    return hangs


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
