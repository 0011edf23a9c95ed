"""Messages as JSON, one object each: the stable form that `agent-sdk run --json` prints, one message a line.

`type` is `assistant`, `user`, `system`, `stream_event` or `result`. Fields are only ever added.
"""

from __future__ import annotations

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
)
from agent_sdk.values import Json, JsonObject


def message_to_json(message: Message) -> JsonObject:
    """The JSON form of a message. Content blocks have the form of the Messages API."""
    match message:
        case AssistantMessage():
            return _assistant(message)
        case UserMessage():
            return _user(message)
        case SystemMessage():
            data = {name: value for name, value in message.data.items() if name not in ("type", "subtype")}
            return {"type": "system", "subtype": message.subtype, **data}
        case StreamEvent():
            return {
                "type": "stream_event",
                "event": message.event,
                "session_id": message.session_id,
                "uuid": message.uuid,
                "parent_tool_use_id": message.parent_tool_use_id,
            }
        case ResultMessage():
            return _result(message)


def block_to_json(block: ContentBlock) -> JsonObject:
    """The JSON form of a content block."""
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text}
        case ThinkingBlock():
            return {"type": "thinking", "thinking": block.thinking, "signature": block.signature}
        case ToolUseBlock():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
        case ToolResultBlock():
            return {
                "type": "tool_result",
                "tool_use_id": block.tool_use_id,
                "content": block.content,
                "is_error": block.is_error,
            }
        case OtherBlock():
            return block.data


def _assistant(message: AssistantMessage) -> JsonObject:
    return {
        "type": "assistant",
        "message": {
            "id": message.message_id,
            "role": "assistant",
            "model": message.model,
            "content": [block_to_json(block) for block in message.content],
            "stop_reason": message.stop_reason,
            "usage": message.usage,
        },
        "parent_tool_use_id": message.parent_tool_use_id,
        "error": message.error,
        "session_id": message.session_id,
        "uuid": message.uuid,
    }


def _user(message: UserMessage) -> JsonObject:
    content: Json = message.content if isinstance(message.content, str) else [*map(block_to_json, message.content)]
    return {
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": message.parent_tool_use_id,
        "tool_use_result": message.tool_use_result,
        "uuid": message.uuid,
    }


def _result(message: ResultMessage) -> JsonObject:
    first = message.deferred_tool_use
    return {
        "type": "result",
        "subtype": message.subtype,
        "is_error": message.is_error,
        "terminal_reason": message.terminal_reason,
        "stop_reason": message.stop_reason,
        "result": message.result,
        "errors": list(message.errors),
        "permission_denials": list(message.permission_denials),
        "deferred_tool_use": None if first is None else _deferred(first),
        "deferred_tool_uses": [_deferred(use) for use in message.deferred_tool_uses],
        "num_turns": message.num_turns,
        "duration_ms": message.duration_ms,
        "duration_api_ms": message.duration_api_ms,
        "usage": message.usage,
        "total_cost_usd": message.total_cost_usd,
        "api_error_status": message.api_error_status,
        "session_id": message.session_id,
        "uuid": message.uuid,
    }


def _deferred(use: DeferredToolUse) -> JsonObject:
    return {"id": use.id, "name": use.name, "input": use.input}
