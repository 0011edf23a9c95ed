"""Cards as plain lines, for pipes, dumb terminals and screen readers.

Text of the model is always indented or follows a word of ours, so that it cannot pass for a line of the prompt.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent_sdk.decisions import PermissionContext
from agent_sdk.render.card import Card, Command, Diff, Fields, Part, Questions, ShownQuestion, Step, Steps, Text
from agent_sdk.render.text import visible

INDENT = "    "
STEP_WORDS = {True: "needs your approval", False: "allowed without asking"}


SHOWN_LINES = 400


def card_lines(card: Card, *, limit: int | None = SHOWN_LINES) -> list[str]:
    """The card without its questions, which are drawn one at a time by `question_lines`.

    At most `limit` lines of a diff are drawn, and how many more there are is told. `None` draws them all.
    """
    lines = [INDENT + card.summary] if card.summary else []
    lines += [f"  Note: {notice}" for notice in card.notices]
    for part in card.body:
        lines += _part_lines(part, limit)
    return lines


def is_cut(card: Card) -> bool:
    """True when `card_lines` does not draw the whole card by default."""
    return any(isinstance(part, Diff) and len(part.lines) > SHOWN_LINES for part in card.body)


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
    if not question.options:
        return [*lines, f"  {question.hint[:1].upper()}{question.hint[1:]}; Enter skips."]
    numbers = "Type numbers with commas, such as 1,2," if question.multi_select else "Type a number"
    return [*lines, f"  {numbers} or your own words; Enter skips."]


def who_lines(context: PermissionContext) -> list[str]:
    """Which sub-agent asks and until when it waits. Empty for the main agent without a time limit."""
    lines = []
    if context.agent_path or context.agent_type or context.agent_id:
        name = context.agent_type or context.agent_id or "without a name"
        path = f" ({' / '.join(context.agent_path)})" if context.agent_path else ""
        lines.append(f"  Asked by the sub-agent {_one_line(name + path)}")
    if context.deadline is not None:
        lines.append(f"  Answer before {context.deadline.astimezone().isoformat(sep=' ', timespec='seconds')}")
    return lines


def why_lines(context: PermissionContext) -> list[str]:
    """Why a person is asked at all, as far as it is known."""
    lines = []
    if context.decision_reason:
        lines.append(f"  Why you are asked: {_one_line(context.decision_reason)}")
    if context.matched_rule:
        lines.append(f"  Rule: {_one_line(context.matched_rule)}")
    if context.blocked_path:
        lines.append(f"  Path: {_one_line(context.blocked_path)}")
    return lines


def trace_lines(context: PermissionContext) -> list[str]:
    """What was considered before a person was asked, one line a step."""
    if not context.trace:
        return [INDENT + "Nothing was recorded for this call."]
    return [f"{INDENT}{number}. {_one_line(str(step))}" for number, step in enumerate(context.trace, 1)]


def _part_lines(part: Part, limit: int | None) -> Iterator[str]:
    match part:
        case Command(text):
            first, *rest = text.split("\n")
            yield f"  $ {first}"
            yield from (INDENT + line for line in rest)
        case Steps(steps):
            yield "  Its commands:"
            yield from (f"{INDENT}{number}. {_step(step)}" for number, step in enumerate(steps, 1))
        case Diff(lines, left_out):
            drawn = lines[:limit]
            yield from (INDENT + line for line in drawn)
            if missing := len(lines) - len(drawn) + left_out:
                yield f"  … {missing:,} more lines are not shown here"
        case Fields(pairs):
            for name, value in pairs:
                first, *rest = value.split("\n")
                yield f"{INDENT}{name}: {first}"
                yield from (INDENT * 2 + line for line in rest)
        case Text(text):
            yield from (INDENT + line for line in text.split("\n"))
        case Questions():
            pass


def _step(step: Step) -> str:
    return step.text if step.asks is None else f"{step.text}  ({STEP_WORDS[step.asks]})"


def _one_line(text: str) -> str:
    return visible(text, keep_newlines=False)
