"""Raw events become replies, value for value, and nothing but StreamBroken comes out of bad ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_sdk.models.base import StreamBroken
from agent_sdk.models.reply import MAX_DEPTH, Reply, ReplyBuilder, read_json
from agent_sdk.models.script import events_of, said_block


def built(events: list[dict[str, Any]]) -> Reply:
    builder = ReplyBuilder()
    for event in events:
        builder.feed(event)
    return builder.finish()


def start(**message: Any) -> dict[str, Any]:
    return {"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 3}, **message}}


def opened(block: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(kind: str, index: int = 0, **values: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **values}}


def closed(index: int = 0) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def end(reason: str | None = "end_turn", **usage: int) -> list[dict[str, Any]]:
    return [
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]


CALL = {"type": "tool_use", "id": "a", "name": "Bash", "input": {}}


def call(*pieces: str, reason: str = "tool_use") -> list[dict[str, Any]]:
    deltas = [delta("input_json_delta", partial_json=piece) for piece in pieces]
    return [start(), opened(CALL), *deltas, closed(), *end(reason)]


ONE_BLOCK = {
    "text in pieces": (
        [opened({"type": "text", "text": ""}), delta("text_delta", text="a"), delta("text_delta", text="b")],
        {"type": "text", "text": "ab"},
    ),
    "text at the start": (
        [opened({"type": "text", "text": "a"}), delta("text_delta", text="b")],
        {"type": "text", "text": "ab"},
    ),
    "a character split in halves": (
        [
            opened({"type": "text", "text": ""}),
            delta("text_delta", text="\ud83d"),
            delta("text_delta", text="\ude00"),
        ],
        {"type": "text", "text": "\U0001f600"},
    ),
    "half a character that stays alone": (
        [opened({"type": "text", "text": ""}), delta("text_delta", text="é\ud83d")],
        {"type": "text", "text": "é\ud83d"},
    ),
    "thinking and its signature": (
        [
            opened({"type": "thinking", "thinking": "", "signature": ""}),
            delta("thinking_delta", thinking="hm"),
            delta("signature_delta", signature="c2ln"),
        ],
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
    ),
    "citations": (
        [
            opened({"type": "text", "citations": [], "text": ""}),
            delta("text_delta", text="x"),
            delta("citations_delta", citation={"n": 1}),
            delta("citations_delta", citation={"n": 2}),
        ],
        {"type": "text", "citations": [{"n": 1}, {"n": 2}], "text": "x"},
    ),
    "citations where there were null": (
        [opened({"type": "text", "text": "", "citations": None}), delta("citations_delta", citation={"n": 1})],
        {"type": "text", "text": "", "citations": [{"n": 1}]},
    ),
    "an unknown block": ([opened({"type": "dream", "of": {"x": [1]}})], {"type": "dream", "of": {"x": [1]}}),
    "an unknown delta": (
        [
            opened({"type": "dream", "of": "sh"}),
            delta("dream_delta", of="eep", list=[1]),
            delta("dream_delta", list=[2], depth=3),
        ],
        {"type": "dream", "of": "sheep", "list": [1, 2], "depth": 3},
    ),
    "input in pieces, keys in order": (
        [
            opened(CALL),
            delta("input_json_delta", partial_json='{"b":1,'),
            delta("input_json_delta", partial_json='"a":2}'),
        ],
        {"type": "tool_use", "id": "a", "name": "Bash", "input": {"b": 1, "a": 2}},
    ),
    "no input at all": ([opened(CALL), delta("input_json_delta", partial_json="")], CALL),
    "input at the start": ([opened({**CALL, "input": {"x": 1}})], {**CALL, "input": {"x": 1}}),
    "a call of the service's own tool": (
        [
            opened({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
            delta("input_json_delta", partial_json='{"q":"é"}'),
        ],
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "é"}},
    ),
}


@pytest.mark.parametrize(("events", "block"), ONE_BLOCK.values(), ids=ONE_BLOCK)
def test_a_block_is_kept_as_it_was_said(events: list[dict[str, Any]], block: dict[str, Any]) -> None:
    """Values and key order of a block are those of the stream."""
    reply = built([start(), *events, closed(), *end()])
    assert json.dumps(reply.content) == json.dumps([block])


def test_usage_is_that_of_the_whole_message() -> None:
    """Later numbers replace earlier ones, what is not told again stays."""
    reply = built([start(usage={"input_tokens": 3, "output_tokens": 1, "tier": None}), *end(output_tokens=9)])
    assert reply.usage == {"input_tokens": 3, "output_tokens": 9, "tier": None}
    assert (reply.model, reply.message_id, reply.stop_reason) == ("m", "msg_1", "end_turn")


def test_blocks_stand_in_the_order_of_their_numbers() -> None:
    """Interleaved blocks are sorted by index."""
    reply = built(
        [
            start(),
            opened({"type": "text", "text": "b"}, 1),
            opened({"type": "text", "text": ""}, 0),
            delta("text_delta", 0, text="a"),
            closed(1),
            closed(0),
            *end(),
        ]
    )
    assert [block["text"] for block in reply.content] == ["a", "b"]


BAD_INPUTS = {
    "half an object": '{"command": "rm',
    "a list": "[1]",
    "NaN": '{"x": NaN}',
    "infinity": '{"x": Infinity}',
    "a number beyond all bounds": '{"x": 1e999}',
    "too many digits": '{"x": ' + "1" * 5000 + "}",
    "nested without end": '{"x":' + "[" * 5000 + "]" * 5000 + "}",
}


@pytest.mark.parametrize("text", BAD_INPUTS.values(), ids=BAD_INPUTS)
def test_an_unreadable_input_never_runs(text: str) -> None:
    """In a reply that wants its calls run it breaks the reply; in any other it becomes an empty input."""
    with pytest.raises(StreamBroken, match="the input of block 0"):
        built(call(text))
    for reason in ("max_tokens", "model_context_window_exceeded", "refusal", "pause_turn", "novel_reason"):
        assert built(call(text, reason=reason)).content == [CALL]


BROKEN = {
    "nothing": [],
    "no message_stop": [start(), *end()[:1]],
    "no message_start": end(),
    "an open block": [start(), opened(CALL), *end("tool_use")],
    "no stop reason": [start(), *end(None)],
    "two messages": [start(), start()],
    "a block before the message": [opened(CALL)],
    "a block begun twice": [start(), opened(CALL), opened(CALL)],
    "a delta for no block": [start(), delta("text_delta", text="x")],
    "a delta after the end of its block": [start(), opened(CALL), closed(), delta("text_delta", text="x")],
    "a delta without its value": [start(), opened(CALL), delta("text_delta", text=None)],
    "a stop for no block": [start(), closed()],
    "an index that is none": [start(), {**opened(CALL), "index": "0"}],
    "a block that is none": [start(), opened([])],  # type: ignore[arg-type]
    "an event that is none": ["x"],
}


@pytest.mark.parametrize("events", BROKEN.values(), ids=BROKEN)
def test_what_is_not_whole_is_broken(events: list[Any]) -> None:
    """Incomplete and contradictory streams raise StreamBroken."""
    with pytest.raises(StreamBroken):
        built(events)


def test_an_error_event_tells_its_kind() -> None:
    """The service's error type is the `kind` of the StreamBroken."""
    with pytest.raises(StreamBroken, match="Overloaded") as caught:
        built([start(), {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}])
    assert caught.value.kind == "overloaded_error"


def test_json_may_be_nested_so_deeply_and_no_deeper() -> None:
    """The bound is exact."""
    assert read_json("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    with pytest.raises(ValueError, match="deeply"):
        read_json("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))


TEXTS = st.text(st.characters(), max_size=30).map(lambda text: json.loads(json.dumps(text)).replace("{{", "{"))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
INPUTS = st.dictionaries(TEXTS, VALUES, max_size=4)
BLOCKS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, TEXTS),
    st.builds(lambda text, sign: {"type": "thinking", "thinking": text, "signature": sign}, TEXTS, TEXTS),
    st.builds(lambda data: {"type": "redacted_thinking", "data": data}, TEXTS),
    st.builds(lambda given: {"type": "tool_use", "id": "a", "name": "Bash", "input": given}, INPUTS),
    st.builds(lambda given: {"input": given, "name": "web_search", "id": "b", "type": "server_tool_use"}, INPUTS),
    st.builds(lambda given: {"type": "dream", "of": given}, VALUES),
)


@given(content=st.lists(BLOCKS, max_size=4), index=st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_what_a_script_says_is_what_comes_out(content: list[dict[str, Any]], index: int) -> None:
    """The builder takes back together what the script took apart, as JSON text, key order included."""
    reply = built(list(events_of({"content": content}, index)))
    expected = [said_block(block, index, number) for number, block in enumerate(content)]
    assert json.dumps(reply.content) == json.dumps(expected) == json.dumps(content)


STARTS_AND_ENDS = ["message_start", "message_delta", "message_stop", "content_block_start", "content_block_stop"]
KINDS = st.sampled_from([*STARTS_AND_ENDS, "content_block_delta", "error", "ping", "novel"])
DELTAS = st.sampled_from(
    ["text_delta", "input_json_delta", "thinking_delta", "signature_delta", "citations_delta", "novel"]
)
GARBAGE = st.one_of(
    VALUES,
    st.fixed_dictionaries(
        {"type": KINDS | VALUES},
        optional={
            "index": st.integers(0, 1) | VALUES,
            "content_block": BLOCKS | VALUES,
            "delta": st.fixed_dictionaries(
                {"type": DELTAS},
                optional=dict.fromkeys(("text", "partial_json", "thinking", "citation", "input", "content"), VALUES),
            )
            | VALUES,
            "message": INPUTS | VALUES,
            "usage": INPUTS | VALUES,
            "error": INPUTS | VALUES,
        },
    ),
)


@given(events=st.lists(GARBAGE, max_size=10))
@settings(max_examples=120, deadline=None)
def test_garbage_is_broken_and_nothing_worse(events: list[Any]) -> None:
    """Arbitrary events end in a reply or in StreamBroken, whatever comes after a good beginning."""
    for beginning in ([], [start()], [start(), opened(CALL)], [start(), opened({"type": "text", "text": 1})]):
        try:
            built([*beginning, *events])
        except StreamBroken:
            continue
