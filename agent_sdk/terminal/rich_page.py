"""What the rich terminal shows: a page that takes keys and draws itself as lines. Pure values, no terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, Protocol, Self, TypeAlias

from agent_sdk.render.cells import chopped, cut, drawable, width, wrapped
from agent_sdk.render.text import visible
from agent_sdk.terminal.asking import Asking, Decision
from agent_sdk.values import JsonObject

Style: TypeAlias = Literal["", "title", "dim", "notice", "add", "del", "hunk", "cursor", "chosen", "error", "bold"]
Span: TypeAlias = tuple[Style, str]
Line: TypeAlias = tuple[Span, ...]
Key: TypeAlias = str
"""A printable character, or a name: up, down, left, right, enter, escape, tab, s-tab, pageup, pagedown, home, end, c-c,
c-x, backspace, s-up, s-down.
"""

FIELD_ROWS = 10


@dataclass(frozen=True, slots=True)
class Field:
    """A text field that has the keys. `text` stands in it when it opens; `name` tells one field from another."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class View:
    """A page drawn for one size: lines above the place of the text field, and below it.

    `scroll` is the first line of the scrolled part that is shown, `rows` how many of its lines fit.
    """

    above: tuple[Line, ...]
    below: tuple[Line, ...] = ()
    scroll: int = 0
    rows: int = 1

    @property
    def text(self) -> str:
        """The lines as plain text."""
        return "\n".join("".join(text for _, text in line).rstrip() for line in (*self.above, *self.below))


@dataclass(frozen=True, slots=True)
class Try:
    """The page wants to know what would become of the call with this input. The answer goes to `tried`."""

    asking: Asking
    tool_input: JsonObject


@dataclass(frozen=True, slots=True)
class OpenEditor:
    """The page wants the person's editor on a text. The answer goes to `from_editor`."""

    text: str
    suffix: str


Want: TypeAlias = Try | OpenEditor


class Page(Protocol):
    """A prompt as a value: every key gives a new one, until one has an `outcome`."""

    @property
    def outcome(self) -> Decision | None:
        """The decision, once there is one."""

    @property
    def field(self) -> Field | None:
        """The text field that is open."""

    @property
    def want(self) -> Want | None:
        """What the page needs before it can go on."""

    def press(self, key: Key) -> Self:
        """After a key. With a field open only keys that are no text come here."""

    def typed(self, text: str) -> Self:
        """With another text in the open field."""

    def scrolled(self, start: int, rows: int) -> Self:
        """With the place in the scrolled part where the last view really was, and its size."""

    def tried(self, came: Asking | str) -> Self:
        """After `Try`: the call as it would be, or why it cannot run."""

    def from_editor(self, came: str | None, problem: str = "") -> Self:
        """After `OpenEditor`: the text, or `None` and what went wrong."""

    def view(self, columns: int, rows: int, *, now: datetime, waiting: int) -> View:
        """The page in at most `rows` rows, the text field included."""


def span(text: str, style: Style = "") -> Span:
    """A piece of a line, as it is drawn."""
    return style, drawable(text)


def line(text: str, style: Style = "") -> Line:
    """A line in one style."""
    return (span(text, style),)


def words(text: str, columns: int, style: Style = "") -> list[Line]:
    """Words in as many lines as they need."""
    return [line(content, style) for content in wrapped(drawable(text), columns)]


def fitted(content: Line, columns: int) -> Line:
    """The line, cut at `columns` columns."""
    left: list[Span] = []
    room = columns
    for style, text in content:
        if width(text) > room:
            left.append((style, cut(text, room)))
            break
        left.append((style, text))
        room -= width(text)
    return tuple(left)


def bar(title: str, right: str, columns: int) -> Line:
    """The rule at the top of a page: a title on the left, news on the right."""
    right = f" {right} ─" if right else ""
    head = f"── {drawable(cut(title, max(columns - width(right) - 6, 10)))} "
    filling = "─" * max(columns - width(head) - width(right), 1)
    return fitted((("title", head + filling), ("notice", right)), columns)


def news(deadline: datetime | None, now: datetime, waiting: int) -> str:
    """What the bar tells on the right: how many wait, and how long is left."""
    parts = [f"{waiting} more waiting"] if waiting else []
    if deadline is not None:
        left = max(0, round((deadline - now).total_seconds()))
        minutes, seconds = divmod(left, 60)
        hours, minutes = divmod(minutes, 60)
        parts.append(f"{hours}:{minutes:02}:{seconds:02} left" if hours else f"{minutes}:{seconds:02} left")
    return " · ".join(parts)


def field_rows(text: str, columns: int) -> int:
    """Rows that a text field takes for this text: as many as needed, up to `FIELD_ROWS`."""
    rows = 0
    for content in text.split("\n", FIELD_ROWS)[:FIELD_ROWS]:
        rows += len(chopped(drawable(visible(content)), columns))  # the cursor may stand behind the last character
        rows += width(drawable(visible(content))) % columns == 0 and content != ""
    return min(rows, FIELD_ROWS)


def now_utc() -> datetime:
    """The time that deadlines are counted against."""
    return datetime.now(UTC)


def window(lines: Sequence[Line], start: int, rows: int) -> tuple[list[Line], int]:
    """At most `rows` lines from `start` on, and the start that was possible. The last row tells when there is more."""
    if len(lines) <= rows:
        return list(lines), 0
    rows = max(rows, 2)
    start = max(0, min(start, len(lines) - (rows - 1)))
    end = start + rows - 1
    more = f"  lines {start + 1:,}-{end:,} of {len(lines):,}"
    tail = f"{more} · PgDn shows more" if end < len(lines) else f"{more} · the end"
    return [*lines[start:end], line(tail, "notice" if end < len(lines) else "dim")], start


def around_cursor(lines: Sequence[Line], room: int) -> int:
    """The first line to show so that the row under the cursor is seen."""
    here = next((place for place, content in enumerate(lines) if content and content[0][1].startswith("❯")), 0)
    return max(0, here - max(room - 4, 0))
