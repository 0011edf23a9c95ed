"""Runs of programs in the spelling of the Claude Agent SDK, and what they show."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path
from typing import Any

from agent_sdk.compat import ClaudeAgentOptions, Message, ResultMessage, ToolResultBlock, UserMessage, query
from agent_sdk.models.script import TurnScript
from agent_sdk.testing import ScriptedModel


async def run(
    turns: list[TurnScript] | ScriptedModel, cwd: Path, *, fails: type[Exception] | None = None, **options: Any
) -> list[Message]:
    """All messages of a run, in a folder of its own, without settings files."""
    model = turns if isinstance(turns, ScriptedModel) else ScriptedModel(turns)
    made = ClaudeAgentOptions(**{"model": model, "cwd": cwd, "setting_sources": [], **options})
    messages: list[Message] = []
    try:
        async with aclosing(query(prompt="go", options=made)) as running:
            async for message in running:
                messages.append(message)
    except Exception as error:
        if fails is None or not isinstance(error, fails):
            raise
    else:
        assert fails is None
    return messages


def results(messages: list[Message]) -> list[tuple[str, bool]]:
    """Text and error flag of every tool result."""
    blocks = [block for message in messages if isinstance(message, UserMessage) for block in message.content]
    return [(str(block.content), bool(block.is_error)) for block in blocks if isinstance(block, ToolResultBlock)]


def final(messages: list[Message]) -> ResultMessage:
    last = messages[-1]
    assert isinstance(last, ResultMessage)
    return last
