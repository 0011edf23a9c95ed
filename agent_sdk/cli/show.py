"""Messages of a run as lines for a person, safe to print and without colours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_sdk.messages import (
    AssistantMessage,
    Message,
    ResultMessage,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agent_sdk.render.text import shorten, visible
from agent_sdk.values import JsonObject, to_text

SHOWN_LINES = 12
SHOWN_WIDTH = 160
_HEADLINES = ("command", "file_path", "pattern")


def message_lines(message: Message, store: str = "") -> list[str]:
    """What a person wants to see of a message; empty for one that tells them nothing.

    `store` stands behind commands that are shown: the option for a store that is not the user's own.
    """
    match message:
        case AssistantMessage():
            return [line for block in message.content for line in _said(block)]
        case UserMessage(content=content) if not isinstance(content, str):
            return [line for block in content if isinstance(block, ToolResultBlock) for line in _came_of_it(block)]
        case SystemMessage(subtype="warning" | "hook_message" | "api_retry" as subtype, data=data):
            return [f"({subtype.replace('_', ' ')}: {visible(str(data.get('message', '')), keep_newlines=False)})"]
        case ResultMessage():
            return _ending(message, store)
        case _:
            return []


def call_line(name: str, tool_input: JsonObject) -> str:
    """A call on one line: its tool, and the field that tells most about it."""
    telling = next((tool_input[field] for field in _HEADLINES if field in tool_input), None)
    text = telling if isinstance(telling, str) else to_text(tool_input)
    return shorten(f"{visible(name, keep_newlines=False)}: {visible(text, keep_newlines=False)}", SHOWN_WIDTH)


def _said(block: object) -> Iterator[str]:
    match block:
        case TextBlock(text) if text.strip():
            yield ""
            yield from _indented("agent: ", text)
        case ToolUseBlock(name=name, input=tool_input):
            if name != "AskUserQuestion":  # the card itself follows at once
                yield f"  → {call_line(name, tool_input)}"


def _came_of_it(block: ToolResultBlock) -> Iterator[str]:
    content = block.content
    if isinstance(content, str) or content is None:
        text = content or ""
    else:
        text = "\n".join(str(part["text"]) if part.get("type") == "text" else "(an image)" for part in content)
    yield from _indented("  ✗ " if block.is_error else "  ✓ ", text if text.strip() else "(no output)")


def _indented(mark: str, text: str) -> Iterator[str]:
    """The text with the mark before its first line and as much space before the others; long texts are cut."""
    lines = visible(text).strip("\n").split("\n")
    yield mark + lines[0]
    for line in lines[1:SHOWN_LINES]:
        yield " " * len(mark) + line
    if len(lines) > SHOWN_LINES:
        yield f"{' ' * len(mark)}… {len(lines) - SHOWN_LINES} more lines"


def _ending(result: ResultMessage, store: str) -> list[str]:
    price = "" if result.total_cost_usd is None else f", {result.total_cost_usd:.4f} USD"
    how = f"{result.terminal_reason}, {_counted(result.num_turns, 'model request')}{price}"
    lines = ["", f"({how})", *(f"  {visible(error, keep_newlines=False)}" for error in result.errors)]
    for use in result.deferred_tool_uses:
        lines.append(f"  waits for an answer: {call_line(use.name, use.input)}")
        lines.append(f"    agent-sdk show {result.session_id} {use.id}{store}")
    return [visible(line, keep_newlines=False) for line in lines]


def denial_lines(denials: Sequence[JsonObject]) -> list[str]:
    """The calls that a gate kept from running, and why."""
    lines = []
    for denial in denials:
        tool_input = denial["tool_input"]
        call = call_line(str(denial["tool_name"]), tool_input if isinstance(tool_input, dict) else {})
        lines.append(f"  {call} ({visible(str(denial['reason']), keep_newlines=False)})")
    return lines


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
