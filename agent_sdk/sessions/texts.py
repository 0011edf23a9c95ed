"""Records as the texts that stores keep, and back: ASCII-escaped JSON. All raise SessionError for what does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from agent_sdk.calls import CallKey, ToolResult
from agent_sdk.errors import SessionError
from agent_sdk.sessions import codec
from agent_sdk.sessions.fields import json_object, json_text
from agent_sdk.sessions.records import Answer, Entry, PendingApproval, SettledCall


def utc_now() -> datetime:
    """The time of this machine, as an aware datetime."""
    return datetime.now(UTC)


def entry_texts(entries: Sequence[Entry]) -> list[tuple[str | None, str]]:
    """Every entry's uuid, when it has one, and its text."""
    texts: list[tuple[str | None, str]] = []
    for entry in entries:
        uuid = entry.get("uuid")
        if uuid is not None and not isinstance(uuid, str):
            raise SessionError(f"Entry.uuid: expected a text, got {type(uuid).__name__}")
        texts.append((uuid, json_text("Entry", entry)))
    return texts


def settled_texts(settled: Sequence[SettledCall]) -> dict[CallKey, str]:
    """The text of every verdict, by its call."""
    return {call.key: json_text("SettledCall", codec.settled_to_json(call)) for call in settled}


def settled_from_text(text: str) -> SettledCall:
    """A stored verdict."""
    return codec.settled_from_json(json_object("SettledCall", text))


def approval_text(approval: PendingApproval) -> str:
    """A parked call without its answer, which is kept beside it."""
    return json_text("PendingApproval", codec.pending_to_json(replace(approval, answer=None)))


def approval_from_text(text: str, answer: str | None = None) -> PendingApproval:
    """A stored parked call with its stored answer."""
    approval = codec.pending_from_json(json_object("PendingApproval", text))
    return approval if answer is None else replace(approval, answer=answer_from_text(answer))


def answer_text(answer: Answer) -> str:
    """An answer."""
    return json_text("Answer", codec.answer_to_json(answer))


def answer_from_text(text: str) -> Answer:
    """A stored answer."""
    return codec.answer_from_json(json_object("Answer", text))


def result_text(result: ToolResult) -> str:
    """A result of the journal."""
    return json_text("ToolResult", codec.result_to_json(result))


def result_from_text(text: str) -> ToolResult:
    """A stored result."""
    return codec.result_from_json(json_object("ToolResult", text))
