"""Scripted models: which turn answers, what is filled in, how faults happen, and which scripts are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_sdk.errors import ModelError, OptionsError
from agent_sdk.models.base import Model, StreamBroken
from agent_sdk.models.reply import Reply, ReplyBuilder
from agent_sdk.models.scripted import FunctionModel, ScriptedModel

USER = {"role": "user", "content": "x"}


def request(*, turns: int = 0, prompt: dict[str, Any] = USER) -> dict[str, Any]:
    """A request whose history holds so many assistant messages."""
    later = [{"role": "assistant", "content": "y"}, {"role": "user", "content": "z"}] * turns
    return {"model": "m", "max_tokens": 9, "messages": [prompt, *later]}


async def ask(model: Model, request: dict[str, Any]) -> Reply:
    builder = ReplyBuilder()
    async for event in model.stream(request):
        builder.feed(event)
    return builder.finish()


async def said(model: Model, turns: int) -> Any:
    """The text of the only block that answers a history with so many assistant messages."""
    [block] = (await ask(model, request(turns=turns))).content
    return block["text"]


@pytest.mark.anyio
async def test_turn_k_answers_after_k_assistant_messages() -> None:
    """The place in the script is read off the request, so one script serves many sessions in any order."""
    model = ScriptedModel(["zero", {"content": [{"type": "text", "text": "one"}], "repeat": 2}, "three"])
    assert [await said(model, turns) for turns in (2, 0, 4, 3, 1, 0)] == ["one", "zero", "done", "three", "one", "zero"]
    assert isinstance(model, Model)


@pytest.mark.anyio
async def test_after_answers_every_further_request() -> None:
    """`after` takes the place of the text `done`."""
    model = ScriptedModel({"turns": ["a"], "after": {"content": [{"type": "text", "text": "later {{turn}}"}]}})
    assert [await said(model, turns) for turns in (0, 1, 7)] == ["a", "later 1", "later 7"]


@pytest.mark.anyio
async def test_placeholders_and_ids_are_filled_in() -> None:
    """Numbers of turn and block appear in every string, keys too; missing ids are unique within a session."""
    call = {"type": "tool_use", "name": "Bash", "input": {"k{{turn}}": ["{{block}}", 1]}}
    model = ScriptedModel([{"content": [call, call, {**call, "id": "mine_{{turn}}"}], "repeat": 2}])
    first, second = await ask(model, request()), await ask(model, request(turns=1))
    assert [block["id"] for block in [*first.content, *second.content]] == [
        "toolu_0_0",
        "toolu_0_1",
        "mine_0",
        "toolu_1_0",
        "toolu_1_1",
        "mine_1",
    ]
    assert second.content[1]["input"] == {"k1": ["1", 1]}
    assert (first.stop_reason, first.message_id) == ("tool_use", "msg_0")


@pytest.mark.anyio
async def test_requests_are_recorded_as_they_came() -> None:
    """`requests` holds the very objects, faults included."""
    model = ScriptedModel([{"content": [], "faults": [{"kind": "cut"}], "usage": {"output_tokens": 5}}])
    sent = request()
    with pytest.raises(StreamBroken):
        await ask(model, sent)
    assert (await ask(model, sent)).usage == {"output_tokens": 5}
    assert [one is sent for one in model.requests] == [True, True]


@pytest.mark.anyio
async def test_long_histories_are_counted_right() -> None:
    """The count holds when a history grows, when its tail is fresh copies, when it forks and when it is edited."""
    model = ScriptedModel({"turns": [], "after": {"content": [{"type": "text", "text": "{{turn}}"}]}})
    history: list[dict[str, Any]] = [dict(USER)]
    for turn in range(60):
        sent = [*history[:-1], dict(history[-1])]
        [block] = (await ask(model, {"messages": sent})).content
        assert block["text"] == str(turn)
        history += [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]
    forked = [*history[:21], {"role": "user", "content": "c"}, *history[21:61]]
    edited = [*history[:30], *history[40:]]
    for messages, count in ((forked, 30), (edited, 55), (history, 60), (history[:1], 0), ([], 0)):
        [block] = (await ask(model, {"messages": messages})).content
        assert block["text"] == str(count)


RETRIED = [{"kind": "http", "status": 429, "retry_after": 30}, {"kind": "drop"}]


@pytest.mark.anyio
async def test_faults_before_a_reply_are_retried_as_a_client_does() -> None:
    """Two failed attempts pass unnoticed, without waiting as long as the service asked."""
    assert await said(ScriptedModel([{"content": [{"type": "text", "text": "x"}], "faults": RETRIED}]), 0) == "x"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("faults", "status", "kind"),
    [
        ([{"kind": "http"}] * 3, 529, "overloaded_error"),
        ([{"kind": "http", "status": 400}], 400, "invalid_request_error"),
        ([{"kind": "http", "status": 418, "error": "teapot"}], 418, "teapot"),
        ([*RETRIED, {"kind": "http", "status": 500}], 500, "api_error"),
        ([{"kind": "drop"}] * 3, None, "connection_error"),
    ],
    ids=["overloaded for good", "refused", "unknown status", "last of three", "never reached"],
)
async def test_a_fault_that_stays_is_a_model_error(faults: list[Any], status: int | None, kind: str) -> None:
    """What the client would not retry, or has retried enough, is told with status and kind; then the turn answers."""
    model = ScriptedModel([{"content": [{"type": "text", "text": "x"}], "faults": faults}])
    with pytest.raises(ModelError) as caught:
        await ask(model, request())
    assert (caught.value.status, caught.value.kind) == (status, kind)
    assert not isinstance(caught.value, StreamBroken)
    assert await said(model, 0) == "x"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("fault", "events", "kind"),
    [
        ({"kind": "cut"}, 4, "connection_error"),
        ({"kind": "cut", "after": 0}, 0, "connection_error"),
        ({"kind": "cut", "inside_block": 0}, 4, "connection_error"),
        ({"kind": "error_event", "after": 1}, 1, "overloaded_error"),
        ({"kind": "error_event", "error": "api_error", "content": []}, 2, "api_error"),
        ({"kind": "stall", "after": 2}, 2, "timeout"),
    ],
    ids=["in the middle", "at once", "inside the block", "error event", "content of its own", "stall"],
)
async def test_a_broken_stream_says_a_part_first(fault: Any, events: int, kind: str) -> None:
    """So many events come, then StreamBroken; the next request is answered."""
    model = ScriptedModel([{"content": [{"type": "text", "text": "some words"}], "faults": [fault]}])
    seen: list[Any] = []

    async def read() -> None:
        async for event in model.stream(request()):
            seen.append(event["type"])

    with pytest.raises(StreamBroken) as caught:
        await read()
    assert (len(seen), caught.value.kind) == (events, kind)
    assert await said(model, 0) == "some words"


BAD_SCRIPTS = {
    "no list": ("x", "a list of turns"),
    "no turns": ({"after": "x"}, "`turns`"),
    "a turn that is none": ([3], "turn 0: content"),
    "a misspelt key": (["x", {"content": [], "stop_reson": "x"}], "turn 1: unknown key 'stop_reson'"),
    "a block that is none": ([["x"]], "turn 0, block 0"),
    "a block without type": (["x", [{"type": "text", "text": ""}, {"text": "x"}]], "turn 1, block 1"),
    "text without text": ([[{"type": "text"}]], "turn 0, block 0"),
    "a call without name": ([[{"type": "tool_use", "input": {}}]], "turn 0, block 0"),
    "a misspelt type": ([[{"type": "tooluse", "name": "Bash"}]], "turn 0, block 0: there is no type 'tooluse'"),
    "a type in capitals": ([[{"type": "Text", "text": "x"}]], "turn 0, block 0: there is no type 'Text'"),
    "not JSON": ([[{"type": "x", "y": b"z"}]], "turn 0, block 0: not a JSON value: bytes"),
    "repeat": ([{"content": [], "repeat": 0}], "turn 0: repeat"),
    "faults": ([{"content": [], "faults": {"kind": "cut"}}], "turn 0: faults"),
    "an unknown fault": ([{"content": [], "faults": [{"kind": "fire"}]}], "turn 0, fault 0: kind"),
    "a bad number": ([{"content": [], "faults": [{"kind": "http", "status": "x"}]}], "turn 0, fault 0: status"),
    "after": ({"turns": [], "after": {"content": 1}}, "after: content"),
}


@pytest.mark.parametrize(("script", "words"), BAD_SCRIPTS.values(), ids=BAD_SCRIPTS)
def test_a_bad_script_is_refused_at_construction(script: Any, words: str) -> None:
    """The error names the turn and the block."""
    with pytest.raises(OptionsError) as caught:
        ScriptedModel(script)
    assert words in str(caught.value)


@pytest.mark.anyio
async def test_a_script_is_read_from_a_file(tmp_path: Path) -> None:
    """Keys beside `turns` and `after` belong to whoever shares the file; a byte order mark does not matter."""
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"turns": ["hé"], "answers": []}), encoding="utf-8-sig")
    assert await said(ScriptedModel.from_file(path), 0) == "hé"


@pytest.mark.parametrize("text", [None, "{", "[3]", "\ud83d"], ids=["missing", "not JSON", "bad", "not UTF-8"])
def test_a_bad_file_is_named(tmp_path: Path, text: str | None) -> None:
    """OptionsError names the file, whatever is wrong with it."""
    path = tmp_path / "script.json"
    if text is not None:
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(OptionsError, match=r"script\.json"):
        ScriptedModel.from_file(path)


@pytest.mark.anyio
async def test_a_function_is_a_model() -> None:
    """It may be sync or async and return text, blocks or a turn; it sees the request."""

    async def slowly(request: Any) -> Any:
        return {"content": [{"type": "text", "text": request["model"]}], "stop_reason": "refusal"}

    assert await said(FunctionModel(lambda request: "hi"), 0) == "hi"
    assert (await ask(FunctionModel(slowly), request())).stop_reason == "refusal"
    call = [{"type": "tool_use", "name": "Bash", "input": {}}]
    model = FunctionModel(lambda request: call)
    assert (await ask(model, request(turns=2))).content[0]["id"] == "toolu_2_0"
    assert len(model.requests) == 1


@pytest.mark.anyio
@pytest.mark.parametrize("answer", [None, 3, [{}], {"contents": []}], ids=["none", "number", "bad block", "bad key"])
async def test_what_a_model_cannot_say_is_a_model_error(answer: Any) -> None:
    """A function that returns nonsense ends in ModelError."""
    with pytest.raises(ModelError, match="'function'"):
        await ask(FunctionModel(lambda request: answer), request())
