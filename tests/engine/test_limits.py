"""Limits of a run, and the ways in which a model's message may end it."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agent_sdk import (
    AgentOptions,
    AssistantMessage,
    HookMatcher,
    InMemoryStore,
    ModelError,
    StreamEvent,
    ToolResult,
    UserMessage,
    query,
)
from agent_sdk.testing import FunctionModel, ScriptedModel
from tests.engine.dialogue import Held, Ran, check_requests, hold, say_yes, use

TEXT = {"type": "text", "text": "hm"}


def turns(count: int, *calls: Any) -> list[Any]:
    """So many turns of these calls."""
    return [{"content": list(calls or [use("save")]), "repeat": count}]


@pytest.mark.anyio
async def test_max_turns_counts_model_requests_and_answers_the_last_calls() -> None:
    """Per run: the session goes on with the next prompt."""
    ran = Ran()
    options: dict[str, Any] = {"tools": [ran.tool("save")], "allow": ["save"]}
    held = await hold(turns(9), max_turns=3, **options)
    assert (len(held.model.requests), len(ran.calls), held.result.num_turns) == (3, 3, 3)
    assert (held.result.terminal_reason, held.result.subtype, held.result.is_error) == (
        "max_turns", "error_max_turns", True,
    )  # fmt: skip
    again = await hold(held.model, "go on", store=held.store, resume=held.session_id, max_turns=2, **options)
    assert (len(ran.calls), again.result.num_turns) == (5, 2)


@pytest.mark.anyio
async def test_max_tool_calls_lets_the_first_run_and_tells_the_others() -> None:
    """The rest of the turn gets error results, and the run ends there."""
    ran = Ran()
    calls = [use("save", id_) for id_ in "abc"]
    held = await hold([calls, calls], tools=[ran.tool("save")], can_use_tool=say_yes, max_tool_calls=2)
    assert len(ran.calls) == 2
    assert [held.results[id_].is_error for id_ in "abc"] == [False, False, True]
    assert (held.result.terminal_reason, held.result.subtype) == ("budget_exhausted", "error_max_tool_calls")
    assert len(held.model.requests) == 1


@pytest.mark.anyio
@pytest.mark.parametrize("gate", ["hook", "callback"])
async def test_a_used_up_budget_asks_nobody_and_runs_nothing(gate: str) -> None:
    """The message that used it up is stored, its calls are answered."""
    ran, asked = Ran(), []

    async def notes(*args: Any) -> None:
        asked.append(args)

    gates: dict[str, Any] = (
        {"can_use_tool": notes} if gate == "callback" else {"hooks": {"PreToolUse": [HookMatcher(hooks=[notes])]}}
    )
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}
    script = [{"content": [use("save", "a")], "usage": usage}]
    model = ScriptedModel(script, name="claude-sonnet-4-5")
    held = await hold(model, tools=[ran.tool("save")], max_budget_usd=1.0, **gates)
    assert (ran.calls, asked, len(model.requests)) == ([], [], 1)
    assert "budget" in held.words["a"]
    assert (held.result.terminal_reason, held.result.subtype) == ("budget_exhausted", "error_max_budget_usd")
    assert held.result.total_cost_usd == pytest.approx(3.0)


@pytest.mark.anyio
async def test_a_budget_is_kept_under_whatever_name_the_reply_comes() -> None:
    """A proxy may answer for another model: then the price of the one that was asked counts."""
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}

    class Renamed(ScriptedModel):
        async def stream(self, request: Any) -> Any:
            async for event in super().stream(request):
                if event["type"] == "message_start":
                    event = {**event, "message": {**event["message"], "model": "proxy-1"}}
                yield event

    model = Renamed([{"content": [use("save", "a")], "usage": usage}], name="claude-sonnet-4-5")
    held = await hold(model, tools=[Ran().tool("save")], max_budget_usd=1.0)
    assert held.result.terminal_reason == "budget_exhausted"


@pytest.mark.anyio
async def test_the_time_that_people_take_is_not_the_runs_own() -> None:
    """A slow person is no reason to stop; a slow tool is, before the next request."""

    async def thinks(*args: Any) -> Any:
        await anyio.sleep(0.15)
        return await say_yes(*args)

    async def works(*_: Any) -> str:
        await anyio.sleep(0.15)
        return "ok"

    ran = Ran()
    held = await hold(turns(1), tools=[ran.tool("save")], can_use_tool=thinks, max_seconds=0.12)
    assert held.result.terminal_reason == "completed"
    held = await hold(turns(2), tools=[ran.tool("save", works)], allow=["save"], max_seconds=0.12)
    assert (held.result.terminal_reason, held.result.subtype) == ("budget_exhausted", "error_max_seconds")
    assert len(held.model.requests) == 1


STOPS = [
    ("end_turn", "completed", "end_turn", False), ("stop_sequence", "completed", "stop_sequence", False),
    ("max_tokens", "max_tokens", "max_tokens", True), ("refusal", "refusal", "refusal", True),
    ("model_context_window_exceeded", "model_context_window_exceeded", "model_context_window_exceeded", True),
    ("something_new", "something_new", "something_new", True), ("tool_use", "completed", "end_turn", False),
]  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize("call", [False, True], ids=["words", "with-call"])
@pytest.mark.parametrize(("said", "terminal", "stop", "error"), STOPS, ids=[row[0] for row in STOPS])
async def test_every_stop_reason_has_its_end(said: str, terminal: str, stop: str, error: bool, call: bool) -> None:
    """Calls run only in a message that ends with tool_use; in any other each gets an error result; refusals are not
    sent again."""
    if said == "tool_use" and call:
        pytest.skip("that is an ordinary turn")
    ran = Ran()
    content = [TEXT, use("save", "a")] if call else [TEXT]
    options: dict[str, Any] = {"tools": [ran.tool("save")], "allow": ["save"]}
    held = await hold([{"content": content, "stop_reason": said}, "next"], **options)
    assert ran.calls == []
    assert (held.result.terminal_reason, held.result.stop_reason, held.result.is_error) == (terminal, stop, error)
    if call and said != "refusal":
        assert held.results["a"].is_error
        assert [denied["tool_use_id"] for denied in held.result.permission_denials] == ["a"]
    if said in ("max_tokens", "model_context_window_exceeded") and call:
        assert "cut off" in held.words["a"]
    again = await hold(held.model, "more", store=held.store, resume=held.session_id, **options)
    assert again.result.subtype == "success" or said == "refusal"
    assert ("hm" in str(again.model.requests[1]["messages"])) is (said != "refusal")


@pytest.mark.anyio
@pytest.mark.parametrize("call", [False, True], ids=["words", "with-call"])
async def test_a_pause_is_sent_back_as_it_is_ten_times_at_most(call: bool) -> None:
    """No user message of ours comes between, unless calls must be answered."""
    ran = Ran()
    content = [TEXT, use("save")] if call else [TEXT]
    pause = {"content": content, "stop_reason": "pause_turn"}
    options: dict[str, Any] = {"tools": [ran.tool("save")], "allow": ["save"]}
    held = await hold([{**pause, "repeat": 10}, "done at last"], **options)
    assert (held.result.result, len(held.model.requests), ran.calls) == ("done at last", 11, [])
    roles = [message["role"] for message in held.model.requests[1]["messages"]]
    assert roles == (["user", "assistant", "user"] if call else ["user", "assistant"])
    held = await hold([{**pause, "repeat": 30}], **options)
    assert (held.result.terminal_reason, held.result.is_error, len(held.model.requests)) == ("pause_turn", True, 11)


@pytest.mark.anyio
@pytest.mark.parametrize("ids", [["b", ""], ["a b"], ["a", "a"], ["ü"]], ids=["empty", "blank", "twice", "letters"])
@pytest.mark.parametrize("times", [1, 2, 3])
async def test_a_message_with_unusable_ids_is_dropped_whole(ids: list[str], times: int) -> None:
    """Nothing of it is shown, stored, judged or run; it is asked for again twice, then ModelError names the ids."""
    left = [times]
    ran = Ran()

    def says(request: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            return [{**use("save"), "id": id_} for id_ in ids]
        return "fine"

    model: Any = FunctionModel(says)
    fails = ModelError if times == 3 else None
    held = await hold_any(model, fails, tools=[ran.tool("save")], allow=["save"])
    assert ran.calls == []
    assert not any(isinstance(message, UserMessage) for message in held.messages)
    assert len(held.news("api_retry")) == min(times, 2)
    if times == 3:
        assert repr(ids[-1]) in str(held.error)
        assert (held.result.terminal_reason, held.result.is_error) == ("model_error", True)
    else:
        assert held.result.result == "fine"


async def hold_any(model: Any, fails: Any, **options: Any) -> Any:
    """A run of a model that is no ScriptedModel."""
    store = InMemoryStore()
    held = Held([], model, store)
    try:
        async for message in query("go", options=AgentOptions(model=model, session_store=store, **options)):
            held.messages.append(message)
    except ModelError as error:
        assert fails is not None
        held.error = error
    assert (held.error is None) is (fails is None)
    check_requests(model.requests)
    return held


@pytest.mark.anyio
async def test_an_id_that_was_used_before_is_replaced_before_anybody_sees_it() -> None:
    """Gates, messages and the store know only the fresh one."""
    ran, seen = Ran(), []

    async def person(name: str, tool_input: Any, context: Any) -> Any:
        seen.append(context.tool_use_id)
        return await say_yes(name, tool_input, context)

    held = await hold(
        [[use("save", "a")], [use("save", "a")], [use("save", "a")]], tools=[ran.tool("save")], can_use_tool=person
    )
    assert len(ran.calls) == len(set(seen)) == len(held.results) == 3
    assert seen[0] == "a"


BREAKS = [{"kind": kind, "inside_block": block} for kind in ("cut", "error_event", "stall") for block in (0, 1)]


@pytest.mark.anyio
@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("fault", BREAKS, ids=[f"{b['kind']}-{b['inside_block']}" for b in BREAKS])
async def test_a_stream_that_breaks_is_dropped_and_repeated_word_for_word(fault: dict[str, Any], times: int) -> None:
    """Nothing of a partial message is shown as a message, stored, judged or run; after all retries it is an error."""
    ran = Ran()
    turn = {"content": [TEXT, use("save", "a")], "faults": [fault] * times}
    held = await hold(
        [turn],
        tools=[ran.tool("save")],
        allow=["save"],
        include_partial_messages=True,
        fails=ModelError if times == 3 else None,
    )
    news = held.news("api_retry")
    assert len(news) == min(times, 2)
    assert all(said["max_retries"] == 2 and said["error"] for said in news)
    assert all(request == held.model.requests[0] for request in held.model.requests[:times])
    replies = [m for m in held.messages if isinstance(m, AssistantMessage)]
    if times == 3:
        assert (replies, ran.calls, held.result.terminal_reason) == ([], [], "model_error")
    else:
        assert (len(replies), len(ran.calls), held.result.result) == (2, 1, "done")
    stored = await held.entries("assistant")
    assert len(stored) == len(replies)


@pytest.mark.anyio
async def test_raw_events_come_where_they_are_wanted_and_begin_anew_after_a_retry() -> None:
    """After the retry's news a whole reply follows; a consumer that spoils an event spoils nothing."""
    ran = Ran()

    def spoil(message: Any) -> None:
        if isinstance(message, StreamEvent):
            for part in ("content_block", "delta"):
                if isinstance(block := message.event.get(part), dict):
                    block.clear()

    turn = {"content": [use("save", "a", text="x")], "faults": [{"kind": "cut", "after": 3}]}
    held = await hold([turn], tools=[ran.tool("save")], allow=["save"], include_partial_messages=True, on_message=spoil)
    kinds = [m.event["type"] if isinstance(m, StreamEvent) else type(m).__name__ for m in held.messages]
    retry = next(n for n, m in enumerate(held.messages) if getattr(m, "subtype", "") == "api_retry")
    assert kinds[retry - 3 : retry] == ["message_start", "content_block_start", "content_block_delta"]
    assert kinds[retry + 1] == "message_start"
    assert ran.calls == [("save", {"text": "x"})]
    assert not any(isinstance(m, StreamEvent) for m in (await hold(["hi"])).messages)


@pytest.mark.anyio
async def test_a_consumer_that_spoils_messages_changes_nothing_that_runs_or_is_sent() -> None:
    """What was said is stored, judged, run and sent back as it was."""
    ran = Ran()

    def spoil(message: Any) -> None:
        for block in message.content if isinstance(message, AssistantMessage | UserMessage) else ():
            if hasattr(block, "input"):
                block.input["command"] = "rm -rf ~"
            if hasattr(block, "tool_use_id") and isinstance(block.content, list):
                block.content.clear()

    async def shown(*_: Any) -> Any:
        return ToolResult([{"type": "text", "text": "fine"}])

    held = await hold(
        [[use("run", "a", command="ls")]], tools=[ran.tool("run", shown)], allow=["run"], on_message=spoil
    )
    assert ran.calls == [("run", {"command": "ls"})]
    sent = held.model.requests[1]["messages"]
    assert sent[1]["content"][0]["input"] == {"command": "ls"}
    assert sent[2]["content"][0]["content"][0]["text"] == "fine"


@pytest.mark.anyio
@pytest.mark.parametrize("status", [400, 401, 429, 529])
async def test_a_model_that_cannot_be_reached_ends_the_run_after_its_results(status: int) -> None:
    """The results of the turn before are stored; the result message comes first, then the error."""
    ran = Ran()
    script = [
        [use("save", "a")],
        {"content": [TEXT], "faults": [{"kind": "http", "status": status}] * (3 if status > 401 else 1)},
    ]
    held = await hold(script, tools=[ran.tool("save")], allow=["save"], fails=ModelError)
    assert held.result.terminal_reason == "model_error"
    assert (held.result.api_error_status, held.result.subtype) == (status, "error_during_execution")
    assert held.words == {"a": "save ran"}
    again = await hold(held.model, None, store=held.store, resume=held.session_id, tools=[ran.tool("save")])
    assert (again.result.result, len(ran.calls)) == ("hm", 1)
