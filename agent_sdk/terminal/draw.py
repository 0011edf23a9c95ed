"""Cards as plain lines, for pipes, dumb terminals and screen readers.

Text of the model is always indented or follows a word of ours, so that it cannot pass for a line of the prompt.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent_sdk.decisions import PermissionContext
from agent_sdk.render.card import Card, Command, Diff, Fields, Part, Questions, ShownQuestion, Text
from agent_sdk.render.text import visible

INDENT = "    "


def card_lines(card: Card) -> list[str]:
    """The card without its questions, which are drawn one at a time by `question_lines`."""
    lines = [INDENT + card.summary] if card.summary else []
    lines += [f"  Note: {notice}" for notice in card.notices]
    for part in card.body:
        lines += _part_lines(part)
    return lines


def question_lines(question: ShownQuestion, number: int, count: int) -> list[str]:
    """One question with its numbered options; `number` counts from 1."""
    first, *rest = question.question.split("\n")
    chip = f"[{question.header}] " if question.header.strip() else ""
    lines = [f"{chip}({number}/{count}) {first}", *(INDENT + line for line in rest)]
    for place, option in enumerate(question.options, 1):
        description = f" — {option.description}" if option.description else ""
        lines.append(f"  {place}. {option.label}{description}")
        if option.preview:
            lines += [INDENT * 2 + line for line in option.preview.split("\n")]
    numbers = "Type numbers with commas, such as 1,2," if question.multi_select else "Type a number"
    return [*lines, f"  {numbers} or your own words; Enter skips."]


def context_lines(context: PermissionContext) -> list[str]:
    """Who asks, why a person is asked, and until when. Empty for the main agent when nothing else is known."""
    lines = []
    if context.agent_path or context.agent_type or context.agent_id:
        name = context.agent_type or context.agent_id or "without a name"
        path = f" ({' / '.join(context.agent_path)})" if context.agent_path else ""
        lines.append(f"  Asked by the sub-agent {_one_line(name + path)}")
    if context.description:
        lines.append(f"  About: {_one_line(context.description)}")
    if context.decision_reason:
        lines.append(f"  Why you are asked: {_one_line(context.decision_reason)}")
    if context.matched_rule:
        lines.append(f"  Rule: {_one_line(context.matched_rule)}")
    if context.blocked_path:
        lines.append(f"  Path: {_one_line(context.blocked_path)}")
    if context.deadline is not None:
        lines.append(f"  Answer before {context.deadline.astimezone().isoformat(sep=' ', timespec='seconds')}")
    return lines


def trace_lines(context: PermissionContext) -> list[str]:
    """What was considered before a person was asked, one line a step."""
    if not context.trace:
        return [INDENT + "Nothing was recorded for this call."]
    return [f"{INDENT}{number}. {_one_line(str(step))}" for number, step in enumerate(context.trace, 1)]


def _part_lines(part: Part) -> Iterator[str]:
    match part:
        case Command(text):
            first, *rest = text.split("\n")
            yield f"  $ {first}"
            yield from (INDENT + line for line in rest)
        case Diff(lines, left_out):
            yield from (INDENT + line for line in lines)
            if left_out:
                yield f"{INDENT}… {left_out:,} more lines"
        case Fields(pairs):
            for name, value in pairs:
                first, *rest = value.split("\n")
                yield f"{INDENT}{name}: {first}"
                yield from (INDENT * 2 + line for line in rest)
        case Text(text):
            yield from (INDENT + line for line in text.split("\n"))
        case Questions():
            pass


def _one_line(text: str) -> str:
    return visible(text, keep_newlines=False)
