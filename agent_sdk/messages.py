"""What a run yields: messages and the blocks inside them.

Names and fields follow the Claude Agent SDK, so that code which reads its messages reads ours. The content that is
stored and sent back to the model is kept apart from these, value for value as it was received (`sessions/`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from agent_sdk.values import Json, JsonObject


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Words of the model or of the person."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """The model's visible reasoning; `signature` belongs to exactly these words."""

    thinking: str
    signature: str


@dataclass(frozen=True, slots=True)
class ToolUseBlock:
    """A tool call as the model said it. What ran may differ: see the verdict's trace."""

    id: str
    name: str
    input: JsonObject


@dataclass(frozen=True, slots=True)
class ToolResultBlock:
    """What the model reads as the result of the call `tool_use_id`."""

    tool_use_id: str
    content: str | Sequence[JsonObject] | None = None
    is_error: bool | None = None


@dataclass(frozen=True, slots=True)
class OtherBlock:
    """A block of a kind that has no class here (redacted thinking, server tools, images): `data` is the block."""

    data: JsonObject


ContentBlock: TypeAlias = TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock | OtherBlock


@dataclass(frozen=True, slots=True)
class DeferredToolUse:
    """A parked call: nothing ran, a person has yet to answer."""

    id: str
    name: str
    input: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage:
    """One whole reply of the model."""

    content: Sequence[ContentBlock]
    model: str
    parent_tool_use_id: str | None = None
    error: str | None = None
    usage: JsonObject | None = None
    message_id: str | None = None
    stop_reason: str | None = None
    session_id: str | None = None
    uuid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """A prompt, or the results of a turn. `tool_use_result` is the value behind an answered question."""

    content: str | Sequence[ContentBlock]
    uuid: str | None = None
    parent_tool_use_id: str | None = None
    tool_use_result: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMessage:
    """News for the application that the model does not see: `init`, `api_retry`, `hook_message`, `warning`, …

    With `include_partial_messages` also `tool_started` and `tool_finished`, each with `tool_use_id` and `tool_name`.
    """

    subtype: str
    data: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEvent:
    """A raw event of a reply that is still coming (`include_partial_messages`). Void after an `api_retry`."""

    uuid: str
    session_id: str
    event: JsonObject
    parent_tool_use_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultMessage:
    """How a run ended; the last message of every run.

    `permission_denials` holds every call that a gate kept from running: `{tool_name, tool_use_id, tool_input}` and the
    `reason` for the application. `total_cost_usd` is `None` when no price of the model is known.
    """

    subtype: str
    duration_ms: int
    is_error: bool
    num_turns: int
    session_id: str
    duration_api_ms: int = 0
    stop_reason: str | None = None
    terminal_reason: str | None = None
    result: str | None = None
    usage: JsonObject | None = None
    total_cost_usd: float | None = None
    permission_denials: Sequence[JsonObject] = ()
    deferred_tool_use: DeferredToolUse | None = None
    deferred_tool_uses: Sequence[DeferredToolUse] = ()
    errors: Sequence[str] = ()
    api_error_status: int | None = None
    uuid: str | None = None


Message: TypeAlias = AssistantMessage | UserMessage | SystemMessage | StreamEvent | ResultMessage


def content_block(raw: JsonObject) -> ContentBlock:
    """The typed view of one stored content block; a kind or shape without a class becomes an `OtherBlock`."""
    match raw:
        case {"type": "tool_use", "id": str(id_), "name": str(name), "input": Mapping() as tool_input}:
            return ToolUseBlock(id_, name, tool_input)
        case {"type": "tool_result", "tool_use_id": str(tool_use_id)}:
            return ToolResultBlock(tool_use_id, _result_content(raw.get("content")), raw.get("is_error") is True)
        case {"type": "text", "text": str(text)}:
            return TextBlock(text)
        case {"type": "thinking", "thinking": str(thinking)}:
            signature = raw.get("signature")
            return ThinkingBlock(thinking, signature if isinstance(signature, str) else "")
        case _:
            return OtherBlock(raw)


def _result_content(raw: Json) -> str | list[JsonObject] | None:
    if raw is None or isinstance(raw, str):
        return raw
    if isinstance(raw, Sequence):
        return [block for block in raw if isinstance(block, Mapping)]
    return None
