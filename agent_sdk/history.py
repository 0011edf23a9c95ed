"""The conversation as the model knows it, kept so that what is sent is always acceptable to the Messages API.

What the model said is stored and sent back value for value. Only for the request, never in the store, left out are:
thinking without a signature, thinking at the very end of a message, empty blocks and messages.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from agent_sdk.values import Json, JsonObject

log = logging.getLogger("agent_sdk.history")

USABLE_ID = re.compile(r"[A-Za-z0-9_-]+")
"""What the service takes as the id of a call. A conversation with any other id is refused for ever."""

_THINKING = ("thinking", "redacted_thinking")


class History:
    """Messages in the order of the conversation. Append-only: one message costs the same however long it is."""

    def __init__(self) -> None:
        self.messages: list[JsonObject] = []
        self.tool_use_ids: set[str] = set()
        self.tool_names: set[str] = set()
        self.thinking_off = False

    def add_user(self, content: Sequence[JsonObject], *, results: bool = False) -> None:
        """Add a user message; `results` tells that it answers tool calls, so the model's tool loop goes on."""
        if not results:
            self.thinking_off = False
        kept = [block for block in content if not _is_empty(block)]
        if kept:
            self.messages.append({"role": "user", "content": kept})

    def add_assistant(self, content: Sequence[JsonObject]) -> None:
        """Add a message of the model, as it was received."""
        self.tool_use_ids.update(tool_use_ids(content))
        self.tool_names.update(str(block.get("name")) for block in content if block.get("type") == "tool_use")
        kept = [block for block in content if not _is_empty(block)]
        if any(_is_unsigned(block) for block in kept):
            log.warning("a thinking block without a signature is not sent back; thinking is off until the turn ends")
            self.thinking_off = True
            kept = [block for block in kept if not _is_unsigned(block)]
        while kept and kept[-1].get("type") in _THINKING:
            log.warning("a thinking block at the end of a message is not sent back")
            kept.pop()
        if kept:
            unchanged = len(kept) == len(content)
            self.messages.append({"role": "assistant", "content": content if unchanged else kept})

    @property
    def has_tool_blocks(self) -> bool:
        """Whether tools must be declared in every further request."""
        return bool(self.tool_use_ids)


def tool_use_ids(content: Sequence[JsonObject]) -> list[str]:
    """The ids of the tool calls in a message, in order."""
    return [str(block.get("id", "")) for block in content if block.get("type") == "tool_use"]


def blocks_of(content: Json) -> list[JsonObject]:
    """Message content as a list of blocks."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, Sequence):
        return [block for block in content if isinstance(block, dict)]
    return []


def text_of(content: Sequence[JsonObject]) -> str:
    """The text of a message."""
    return "\n".join(str(block["text"]) for block in content if block.get("type") == "text" and block.get("text"))


def _is_empty(block: JsonObject) -> bool:
    return block.get("type") == "text" and not str(block.get("text", "")).strip()


def _is_unsigned(block: JsonObject) -> bool:
    return block.get("type") == "thinking" and not block.get("signature")
