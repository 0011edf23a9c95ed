"""Messages as lines for a person."""

from __future__ import annotations

import pytest

from agent_sdk.cli.show import SHOWN_LINES, call_line, message_lines
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


def said(*blocks: object) -> Message:
    return AssistantMessage(content=blocks, model="m")  # type: ignore[arg-type]


CASES: list[tuple[str, Message, list[str]]] = [
    ("words", said(TextBlock("one\ntwo")), ["", "agent: one", "       two"]),
    ("no words", said(TextBlock("  ")), []),
    ("a call", said(ToolUseBlock("t", "Bash", {"command": "ls\nrm x"})), ["  → Bash: ls\\nrm x"]),
    ("a question has a card of its own", said(ToolUseBlock("t", "AskUserQuestion", {})), []),
    ("a result", UserMessage(content=[ToolResultBlock("t", "fine", False)]), ["  ✓ fine"]),
    ("an error", UserMessage(content=[ToolResultBlock("t", "no", True)]), ["  ✗ no"]),
    ("nothing", UserMessage(content=[ToolResultBlock("t", "", False)]), ["  ✓ (no output)"]),
    ("an image", UserMessage(content=[ToolResultBlock("t", [{"type": "image"}], False)]), ["  ✓ (an image)"]),
    ("a prompt", UserMessage(content="hello"), []),
    ("init", SystemMessage(subtype="init"), []),
    ("a warning", SystemMessage(subtype="warning", data={"message": "hm"}), ["(warning: hm)"]),
    (
        "escape sequences",
        said(TextBlock("\x1b[2Jgone"), ToolUseBlock("t", "Bash\x1b", {"command": "\x07"})),
        ["", "agent: \\x1b[2Jgone", "  → Bash\\x1b: \\x07"],
    ),
]


@pytest.mark.parametrize(("message", "lines"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_message_as_lines(message: Message, lines: list[str]) -> None:
    """A message is drawn as these lines; what could steer a terminal is spelt out."""
    assert message_lines(message) == lines


def test_a_long_result_is_cut_and_says_so() -> None:
    """At most so many lines of a result are shown, and how many more there are is told."""
    text = "\n".join(str(number) for number in range(100))
    lines = message_lines(UserMessage(content=[ToolResultBlock("t", text, False)]))
    assert len(lines) == SHOWN_LINES + 1
    assert lines[-1].strip() == f"… {100 - SHOWN_LINES} more lines"


def test_the_end_tells_reason_price_and_errors() -> None:
    """The last lines of a run say how it ended, what it cost and what went wrong."""
    end = ResultMessage(
        subtype="error_max_turns",
        duration_ms=1,
        is_error=True,
        num_turns=1,
        session_id="s",
        terminal_reason="max_turns",
        total_cost_usd=0.5,
        errors=["too long"],
    )
    assert message_lines(end) == ["", "(max_turns, 1 model request, 0.5000 USD)", "  too long"]


def test_a_call_without_a_telling_field_is_shown_as_json() -> None:
    """A tool that nobody knows is shown with its whole input, on one line."""
    assert call_line("Weather", {"city": "Rome"}) == 'Weather: {"city":"Rome"}'
