"""What the Messages API takes: an independent reading of its rules for conversations with tool calls.

It shares no code with the package, so that a mistake there cannot hide here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

Block: TypeAlias = Mapping[str, Any]
Message: TypeAlias = Mapping[str, Any]

_ID = re.compile(r"[A-Za-z0-9_-]+")
_CALLS = ("tool_use", "server_tool_use")


def faults(messages: Sequence[Message]) -> list[str]:
    """Every reason for which the service would refuse these messages; empty when it takes them."""
    if not messages:
        return ["no messages"]
    found = [] if messages[0]["role"] == "user" else ["the first message is not the user's"]
    found += _id_faults(messages)
    for number, message in enumerate(messages):
        where = f"message {number}"
        found += [f"{where}: {fault}" for fault in _message_faults(message)]
        if message["role"] == "assistant":
            following = messages[number + 1] if number + 1 < len(messages) else None
            found += [f"{where}: {fault}" for fault in _answer_faults(message, following)]
        else:
            before = messages[number - 1] if number else None
            found += [f"{where}: {fault}" for fault in _stray_faults(message, before)]
    return found


def blocks(message: Message) -> list[Block]:
    """The blocks of a message; a plain string counts as one text block."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def blocks_of(message: Message, kind: str) -> list[Block]:
    """The blocks of one type."""
    return [block for block in blocks(message) if block.get("type") == kind]


def result_ids(message: Message) -> list[str]:
    """The calls that a user message answers, in order."""
    return [block["tool_use_id"] for block in blocks_of(message, "tool_result")]


def result_text(result: Block) -> str:
    """All text of a tool result."""
    content = result.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content)


def results(messages: Sequence[Message]) -> Iterator[Block]:
    """Every tool result of a conversation, in order."""
    for message in messages:
        if message["role"] == "user":
            yield from blocks_of(message, "tool_result")


def calls(messages: Sequence[Message]) -> Iterator[Block]:
    """Every tool call of a conversation, in order."""
    for message in messages:
        if message["role"] == "assistant":
            yield from blocks_of(message, "tool_use")


def without_cache_marks(content: Any) -> Any:
    """Content without the request's own `cache_control` marks, for comparing it with what was said."""
    if isinstance(content, str):
        return content
    return [{key: value for key, value in block.items() if key != "cache_control"} for block in content]


def _id_faults(messages: Sequence[Message]) -> Iterator[str]:
    seen: set[str] = set()
    for message in messages:
        for block in blocks(message) if message["role"] == "assistant" else ():
            if block.get("type") not in _CALLS:
                continue
            id_ = block.get("id")
            if not isinstance(id_, str) or not _ID.fullmatch(id_):
                yield f"the id {id_!r} of a call is empty or ill-formed"
            elif id_ in seen:
                yield f"two calls have the id {id_!r}"
            else:
                seen.add(id_)


def _message_faults(message: Message) -> Iterator[str]:
    if message["role"] not in ("user", "assistant"):
        yield f"unknown role {message['role']!r}"
    if not blocks(message):
        yield "it is empty"
    for block in blocks(message):
        match block.get("type"):
            case "text" if not str(block.get("text", "")).strip():
                yield "it holds an empty text"
            case "tool_result":
                yield from _result_faults(block)
            case "tool_use" if not isinstance(block.get("input"), Mapping):
                yield "the input of a call is no object"


def _result_faults(result: Block) -> Iterator[str]:
    content = result.get("content")
    if isinstance(content, str):
        if result.get("is_error") and not content.strip():
            yield "an error result is empty"
        return
    for block in content or ():
        if block.get("type") == "text" and not str(block.get("text", "")).strip():
            yield "a result holds an empty text"
        if result.get("is_error") and block.get("type") != "text":
            yield "an error result holds something else than text"


def _answer_faults(message: Message, following: Message | None) -> Iterator[str]:
    called = [str(block.get("id")) for block in blocks_of(message, "tool_use")]
    if not called:
        return
    answered = result_ids(following) if following is not None and following["role"] == "user" else []
    for id_ in called:
        if answered.count(id_) != 1:
            yield f"the call {id_!r} is answered {answered.count(id_)} times in the next message"


def _stray_faults(message: Message, before: Message | None) -> Iterator[str]:
    called = [block.get("id") for block in blocks_of(before, "tool_use")] if before is not None else []
    seen_other = False
    for block in blocks(message):
        if block.get("type") != "tool_result":
            seen_other = True
            continue
        if seen_other:
            yield f"the result of {block.get('tool_use_id')!r} stands behind other blocks"
        if block.get("tool_use_id") not in called:
            yield f"the result of {block.get('tool_use_id')!r} has no call in the message before"
