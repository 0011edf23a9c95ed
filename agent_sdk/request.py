"""The Messages API request for a session as it stands."""

from __future__ import annotations

from collections.abc import Sequence

from agent_sdk.questions.manual import SYSTEM_SENTENCE
from agent_sdk.session import Session
from agent_sdk.values import Json, JsonObject

_CACHE: JsonObject = {"type": "ephemeral"}


def build_request(session: Session) -> dict[str, Json]:
    """A fresh request dict; messages are shared with the history, never changed.

    With `prompt_caching` there are three breakpoints: after the tools, after the system prompt, and at the end of the
    conversation so far.
    """
    options, settings, history = session.options, session.settings, session.history
    caching = options.prompt_caching
    request: dict[str, Json] = {"model": settings.model.name, "max_tokens": options.max_tokens}
    system = settings.system
    if system is None and any(tool.get("name") == "AskUserQuestion" for tool in settings.tools):
        system = SYSTEM_SENTENCE
    if system:
        block: JsonObject = {"type": "text", "text": system}
        request["system"] = [_marked(block)] if caching else [block]
    tools = settings.tools or [_absent(name) for name in sorted(history.tool_names)]
    if tools:
        request["tools"] = _marked_last(tools) if caching else list(tools)
    if settings.thinking is not None and not history.thinking_off:
        request["thinking"] = settings.thinking
    request["messages"] = _messages(history.messages) if caching else list(history.messages)
    return request


def _absent(name: str) -> JsonObject:
    """A tool that the history holds calls of, where none is offered any more: the service wants tools declared."""
    return {"name": name, "description": "Not available any more.", "input_schema": {"type": "object"}}


def _messages(messages: Sequence[JsonObject]) -> list[JsonObject]:
    marked = list(messages)
    last = marked[-1] if marked else None
    content = last.get("content") if last is not None else None
    if last is not None and isinstance(content, list) and content and _may_carry(content[-1]):
        marked[-1] = {**last, "content": _marked_last(content)}
    return marked


def _may_carry(block: JsonObject) -> bool:
    return block.get("type") not in ("thinking", "redacted_thinking")


def _marked_last(blocks: Sequence[JsonObject]) -> list[JsonObject]:
    return [*blocks[:-1], _marked(blocks[-1])]


def _marked(block: JsonObject) -> JsonObject:
    return {**block, "cache_control": _CACHE}
