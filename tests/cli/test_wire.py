"""The JSON form of messages."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from agent_sdk.cli.wire import block_to_json, message_to_json
from agent_sdk.messages import (
    AssistantMessage,
    ContentBlock,
    DeferredToolUse,
    Message,
    OtherBlock,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
    content_block,
)
from agent_sdk.values import to_text

BLOCKS: list[ContentBlock] = [
    TextBlock("hello"),
    ThinkingBlock("hm", "signature"),
    ToolUseBlock("toolu_1", "Bash", {"command": "ls"}),
    ToolResultBlock("toolu_1", "fine", False),
    ToolResultBlock("toolu_1", [{"type": "text", "text": "fine"}], True),
    OtherBlock({"type": "redacted_thinking", "data": "x"}),
]
DEFERRED = DeferredToolUse("toolu_1", "Bash", {"command": "ls"})
MESSAGES: list[tuple[str, Message]] = [
    ("assistant", AssistantMessage(content=BLOCKS, model="m", message_id="msg_1", stop_reason="end_turn")),
    ("user", UserMessage(content="hello")),
    ("user", UserMessage(content=BLOCKS, tool_use_result={"answers": {"Q": ["A"]}})),
    ("system", SystemMessage(subtype="init", data={"session_id": "s", "cwd": "/"})),
    ("stream_event", StreamEvent(uuid="u", session_id="s", event={"type": "message_stop"})),
    (
        "result",
        ResultMessage(
            subtype="success",
            duration_ms=1,
            is_error=False,
            num_turns=1,
            session_id="s",
            permission_denials=[{"tool_name": "Bash"}],
            deferred_tool_use=DEFERRED,
            deferred_tool_uses=[DEFERRED],
        ),
    ),
]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: type(block).__name__)
def test_a_block_comes_back_from_its_json(block: ContentBlock) -> None:
    """The JSON form of a block is that of the Messages API, and reading it gives the same block."""
    assert content_block(block_to_json(block)) == block


@pytest.mark.parametrize(("kind", "message"), MESSAGES, ids=lambda value: value if isinstance(value, str) else "")
def test_every_message_is_one_line_of_json(kind: str, message: Message) -> None:
    """Every message class has a form, with its kind in `type`, and fits on one line."""
    line = to_text(message_to_json(message))
    assert "\n" not in line
    assert json.loads(line)["type"] == kind


def test_no_field_of_a_result_is_lost() -> None:
    """A result's JSON has every field of the class."""
    form = message_to_json(MESSAGES[-1][1])
    assert {field.name for field in fields(ResultMessage)} <= set(form)
    assert form["deferred_tool_use"] == {"id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}


def test_news_cannot_pretend_to_be_another_message() -> None:
    """The fields of a system message never replace `type` and `subtype`."""
    news = SystemMessage(subtype="warning", data={"type": "result", "subtype": "success", "message": "m"})
    assert message_to_json(news) == {"type": "system", "subtype": "warning", "message": "m"}
