"""A call as styled lines for the rich terminal: the same facts as the plain prompt, fitted to the width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from agent_sdk.render.card import Card, Command, Diff, Fields, Part, Questions, Step, Steps, Text
from agent_sdk.render.cells import chopped, drawable, padded, width, wrapped
from agent_sdk.terminal.asking import Asking
from agent_sdk.terminal.draw import STEP_WORDS, who_lines, why_lines
from agent_sdk.terminal.plain import about_lines
from agent_sdk.terminal.rich_page import Line, Style, line, span

_DIFF_STYLES: dict[str, Style] = {"+": "add", "-": "del", "@": "hunk"}
_WIDEST_NAME = 28


def call_lines(asking: Asking, columns: int) -> tuple[Line, ...]:
    """Everything about a call in lines of at most `columns` columns; nothing is left out. What a person should know
    first stands first: who asks, what is unusual, why they are asked.
    """
    card = asking.card
    lines = [line("  " + card.summary)] if card.summary else []
    lines += _words(who_lines(replace(asking.context, deadline=None)), columns, "dim")  # the bar counts down
    lines += _words(about_lines(asking), columns)
    lines += [content for notice in card.notices for content in _marked("  ! ", notice, columns, "notice")]
    lines += _words(why_lines(asking.context), columns, "dim")
    for part in card.body:
        lines += _part_lines(part, columns)
    return tuple(lines)


def rule_lines(card: Card, columns: int) -> list[Line]:
    """The rules that could be remembered, in words."""
    return [content for rule in card.rules for content in _marked("  ", rule, columns)]


def box(title: str, content: Iterable[str], columns: int, rows: int) -> list[Line]:
    """Text in a frame of `columns` columns and at most `rows` rows. Long lines are broken, and what does not fit is
    told in the last row.
    """
    inside = max(columns - 4, 4)
    texts = [piece for text in content for piece in chopped(drawable(text), inside)]
    room = max(rows - 2, 1)
    if len(texts) > room:
        texts = [*texts[: room - 1], f"… {len(texts) - room + 1} more lines"]
    head = "─" * max(columns - 5 - width(drawable(title)), 0)
    lines = [line(f"┌─ {title} {head}┐"[:columns] if columns > width(title) + 6 else f"┌{'─' * (columns - 2)}┐", "dim")]
    lines += [(span("│ ", "dim"), span(padded(text, inside)), span(" │", "dim")) for text in texts]
    return [*lines, line(f"└{'─' * (columns - 2)}┘", "dim")]


def _words(texts: Iterable[str], columns: int, style: Style = "") -> list[Line]:
    return [content for text in texts for content in _marked("  ", text.removeprefix("  "), columns, style)]


def _marked(mark: str, text: str, columns: int, style: Style = "") -> list[Line]:
    """Words behind a mark, and below it where they take several lines."""
    room = columns - width(mark)
    first, *rest = wrapped(drawable(text), room)
    return [line(mark + first, style), *(line(" " * width(mark) + more, style) for more in rest)]


def _part_lines(part: Part, columns: int) -> Iterator[Line]:
    match part:
        case Command(text):
            yield from _command(text, columns)
        case Steps(steps):
            yield line("  Its commands:", "dim")
            for number, step in enumerate(steps, 1):
                yield from _step(number, step, columns)
        case Diff(lines, left_out):
            for content in lines:
                style = _DIFF_STYLES.get(content[:1], "")
                yield from (line("  " + piece, style) for piece in chopped(drawable(content), columns - 2))
            if left_out:
                yield line(f"  … {left_out:,} more lines are not shown here", "notice")
        case Fields(pairs):
            yield from _table(pairs, columns)
        case Text(text):
            for paragraph in text.split("\n"):
                yield from (line("  " + piece) for piece in chopped(drawable(paragraph), columns - 2))
        case Questions():
            pass


def _command(text: str, columns: int) -> Iterator[Line]:
    mark = "  $ "
    for content in text.split("\n"):
        for piece in chopped(drawable(content), columns - 4):
            yield (span(mark, "dim"), span(piece, "bold"))
            mark = "    "


def _step(number: int, step: Step, columns: int) -> Iterator[Line]:
    if step.asks is None:
        yield from _marked(f"   {number}. ", step.text, columns)
        return
    mark = "?" if step.asks else "✓"
    said = f"{step.text}  ({STEP_WORDS[step.asks]})"
    yield from _marked(f" {mark} {number}. ", said, columns, "notice" if step.asks else "dim")


def _table(pairs: Iterable[tuple[str, str]], columns: int) -> Iterator[Line]:
    """Names in one column, values in the other."""
    named = [(drawable(name), drawable(value)) for name, value in pairs]
    names = min(max((width(name) for name, _ in named), default=0), _WIDEST_NAME, max(columns // 3, 4))
    for name, value in named:
        first = True
        texts = [piece for content in value.split("\n") for piece in chopped(content, columns - names - 4)]
        if width(name) > names:
            yield line("  " + name, "dim")
            first = False
        for text in texts:
            yield (span("  " + padded(name if first else "", names), "dim"), span("  " + text))
            first = False
