"""The page of a question card: options with a cursor, own words, notes, previews beside or below, a submit page.

The answers are kept by `QuestionForm`; this page adds the cursor and which text field is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, Self, TypeAlias

from agent_sdk.questions.form import QuestionForm
from agent_sdk.questions.schema import Question
from agent_sdk.questions.typed import Answer, Invalid, parse_answer
from agent_sdk.render.card import ShownOption, ShownQuestion
from agent_sdk.render.cells import drawable, padded, width, wrapped
from agent_sdk.render.text import visible
from agent_sdk.terminal.asking import Asking, Decision
from agent_sdk.terminal.draw import who_lines
from agent_sdk.terminal.questions import answered, declined
from agent_sdk.terminal.rich_card import box
from agent_sdk.terminal.rich_page import (
    Field,
    Key,
    Line,
    View,
    Want,
    around_cursor,
    bar,
    field_rows,
    fitted,
    line,
    news,
    span,
    window,
    words,
)

Writing: TypeAlias = Literal["words", "note"]

WIDE = 80
"""From so many columns on a preview stands beside the options."""

_HINT = "↑↓ move · {choose} · N note · S skip · {pages}Esc declines"
_FIELD_HINT = "Enter takes it · Esc goes back, and keeps what is written"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPage:
    """A card and where the person is on it. `cursor` is the row: an option, or behind them the row for own words; on
    the submit page handing in is row 0, and behind it come the questions.

    `writing` is the text field that has the keys. `declining`: Esc was pressed once, and once more declines the card.
    What does not fit is scrolled: to the line `scroll`, or where that is `None` to the row under the cursor. The last
    view began at `start` and had `shown_rows`.
    """

    asking: Asking
    form: QuestionForm
    shown: tuple[ShownQuestion, ...]
    cursor: int = 0
    writing: Writing | None = None
    text: str = ""
    opened: int = 0
    problem: str = ""
    declining: bool = False
    scroll: int | None = 0
    start: int = 0
    shown_rows: int = 10
    want: Want | None = None
    outcome: Decision | None = None

    @classmethod
    def of(cls, asking: Asking, questions: Sequence[Question], shown: Sequence[ShownQuestion]) -> Self:
        """The page for a card. `shown` holds the same questions, safe to draw."""
        return cls(asking=asking, form=QuestionForm.of(tuple(questions)), shown=tuple(shown))._at_page()

    @property
    def field(self) -> Field | None:
        """The field for own words or for a note."""
        return None if self.writing is None else Field(f"{self.writing} {self.opened}", self.text)

    @property
    def rows(self) -> int:
        """How many rows the page has."""
        question = self.form.current
        return len(self.shown) + 1 if question is None else len(question.options) + 1

    def press(self, key: Key) -> Self:
        """After a key."""
        if key == "c-c":
            return replace(self, outcome=self.asking.stop())
        if self.writing is not None:
            return self._in_field(key)
        if key == "escape":
            return self._decline() if self.declining else replace(self, declining=True)
        page = replace(self, declining=False, problem="")
        match key:
            case "pageup" | "pagedown":
                step = max(self.shown_rows - 2, 1)
                return replace(page, scroll=max(0, self.start + (step if key == "pagedown" else -step)))
            case "up" | "down":
                row = (self.cursor + (1 if key == "down" else -1)) % self.rows
                return replace(page, cursor=row, scroll=None, form=self.form.leave_text())
            case "left" | "s-tab":
                return page._moved(self.form.previous())
            case "right" | "tab":
                return page._moved(self.form.next())
            case _ if self.form.on_submit_page:
                return page._on_submit_page(key)
            case _:
                return page._on_question(key)

    def typed(self, text: str) -> Self:
        """With another text in the field; own words are kept in the form at once, as they are typed."""
        form = self.form.type_text(text) if self.writing == "words" else self.form
        return replace(self, text=text, form=form, problem="")

    def scrolled(self, start: int, rows: int) -> Self:
        """With the place where the page really is."""
        here = (self.start, self.shown_rows)
        return self if here == (start, rows) else replace(self, start=start, shown_rows=rows)

    def tried(self, came: Asking | str) -> Self:
        """Nothing is tried here."""
        return replace(self, want=None)

    def from_editor(self, came: str | None, problem: str = "") -> Self:
        """No editor is opened here."""
        return replace(self, want=None)

    def _on_question(self, key: Key) -> Self:
        question = self.form.current
        assert question is not None, "the submit page is handled elsewhere"
        match key:
            case "enter" | "s" | "S" if self.form.confirming:
                return self._moved(self.form.submit())
            case " ":
                return self._toggle(self.cursor)
            case "enter":
                return self._enter(question)
            case "n" | "N":
                return self._open("note", self.form.entry.note)
            case "s" | "S":
                return self._moved(self.form.set_answer(""))
            case _ if key.isascii() and key.isdecimal() and 1 <= int(key) <= self.rows:
                page = replace(self, cursor=int(key) - 1)
                return page._toggle(page.cursor) if question.multi_select else page._enter(question)
            case _:
                return self

    def _enter(self, question: Question) -> Self:
        """Enter chooses in a single-select question; where several may be chosen it goes on."""
        if self.cursor == len(question.options):
            return self._open("words", self.form.entry.text)
        if question.multi_select:
            return self._moved(self.form.next())
        return self._moved(self.form.set_answer(question.labels[self.cursor]))

    def _toggle(self, row: int) -> Self:
        form = self.form.toggle(row)
        if form.in_text:
            return self._open("words", form.entry.text)
        return replace(self, form=form)

    def _on_submit_page(self, key: Key) -> Self:
        if key.isascii() and key.isdecimal() and 1 <= int(key) <= len(self.shown):
            return self._moved(self.form.go_to(int(key) - 1))
        if key not in ("enter", " "):
            return self
        if self.cursor > 0:
            return self._moved(self.form.go_to(self.cursor - 1))
        return self._moved(self.form.submit())

    def _open(self, writing: Writing, text: str) -> Self:
        form = self.form.enter_text() if writing == "words" else self.form
        return replace(self, writing=writing, text=text, form=form, opened=self.opened + 1)

    def _in_field(self, key: Key) -> Self:
        closed = replace(self, writing=None, problem="", form=self.form.leave_text())
        if key == "escape":
            return closed
        if key not in ("enter", "tab", "s-tab"):
            return self
        if self.writing == "note":
            return replace(closed, form=closed.form.set_note(self.text))
        if key == "s-tab":
            return closed._moved(closed.form.previous())
        question = self.form.current
        if question is None or question.kind != "number":
            return closed._moved(self.form.set_text())
        match parse_answer(self.text, question):
            case Invalid(reason):
                return replace(self, problem=reason)
            case Answer((number,)):
                return closed._moved(closed.form.set_answer(number))
            case _:
                return closed._moved(closed.form.set_answer(""))

    def _moved(self, form: QuestionForm) -> Self:
        """With the form as it is now; the cursor starts anew on another page."""
        if form.submitted:
            return replace(self, form=form, outcome=answered(self.asking.tool_input, form, by=self.asking.by))
        page = replace(self, form=form)
        return page if form.index == self.form.index else page._at_page()

    def _at_page(self) -> Self:
        """The cursor on what was chosen before, else on the first row. Where only words can answer, the field opens."""
        question = self.form.current
        if question is None:
            return replace(self, cursor=0)
        chosen = [row for row in range(len(question.options) + 1) if self.form.is_chosen(row)]
        page = replace(self, cursor=chosen[0] if chosen else 0, scroll=0)
        return page._open("words", self.form.entry.text) if not question.options else page

    def _decline(self) -> Self:
        return replace(self, outcome=declined(self.asking.tool_input, by=self.asking.by))

    def view(self, columns: int, rows: int, *, now: datetime, waiting: int) -> View:
        """Bar and tabs, the question with its rows, the preview of the row under the cursor, the field, the hint."""
        columns = max(columns, 20)
        above = [bar(self.asking.card.title, news(self.asking.context.deadline, now, waiting), columns)]
        above += [line(text, "dim") for text in who_lines(replace(self.asking.context, deadline=None))]
        above += [self._tabs()] if self.form.has_submit_page else []
        below = words(visible(self.problem, keep_newlines=False), columns, "error") if self.problem else []
        below += words(self._hint(), columns, "notice" if self.declining or self.form.confirming else "dim")
        writing = 0 if self.field is None else field_rows(self.text, columns)
        label = self._field_label()
        room = max(rows - len(above) - len(label) - len(below) - writing, 3)
        lines = self._submit_lines() if self.form.current is None else self._question_lines(columns, room)
        start = around_cursor(lines, room) if self.scroll is None else self.scroll
        middle, start = window(lines, start, room)
        content = tuple(fitted(text, columns) for text in (*above, *middle, *label))
        return View(content, tuple(fitted(text, columns) for text in below), scroll=start, rows=room)

    def _tabs(self) -> Line:
        spans = []
        for place, question in enumerate(self.shown):
            done = "✓" if self.form.entries[place].values else " "
            spans.append(
                span(f" [{done}] {question.header or place + 1} ", "cursor" if place == self.form.index else "")
            )
        return (*spans, span(" Submit ", "cursor" if self.form.on_submit_page else "dim"))

    def _question_lines(self, columns: int, room: int) -> list[Line]:
        shown = self.shown[self.form.index]
        lines = [line(text, "title") for text in wrapped(drawable(shown.question), columns)]
        if not shown.options:
            return [*lines, *self._note_lines()]
        preview = self._preview(shown)
        has_previews = any(option.preview for option in shown.options) and not shown.multi_select
        if has_previews and columns >= WIDE:
            left = columns * 2 // 5
            rows = self._rows(shown, left - 1)
            frame = box("preview", preview, columns - left, max(room - len(lines) - 1, 3))
            lines += _beside(rows, frame, left)
        else:
            lines += self._rows(shown, columns)
            if has_previews:
                lines += box("preview", preview, columns, max(min(room - len(lines) - 1, 12), 3))
        return [*lines, *self._note_lines()]

    def _preview(self, shown: ShownQuestion) -> list[str]:
        option = shown.options[self.cursor] if self.cursor < len(shown.options) else None
        if option is None or option.preview is None:
            return ["(this row has no preview)"]
        return option.preview.split("\n")

    def _rows(self, shown: ShownQuestion, columns: int) -> list[Line]:
        lines: list[Line] = []
        for row, option in enumerate(shown.options):
            lines += _option_lines(option, row, columns, self._mark(row, shown), here=row == self.cursor)
        row = len(shown.options)
        labels = self.form.questions[self.form.index].labels
        own = ", ".join(value for value in self.form.entry.values if value not in labels) or self.form.entry.text
        words = f"Own words: {visible(own, keep_newlines=False)}" if own else "Own words"
        text = f"{'❯' if row == self.cursor else ' '} {self._mark(row, shown)}{row + 1}. {words}"
        return [*lines, fitted(line(text, "cursor" if row == self.cursor else ""), columns)]

    def _mark(self, row: int, shown: ShownQuestion) -> str:
        chosen = self.form.is_chosen(row)
        if shown.multi_select:
            return "[x] " if chosen else "[ ] "
        return "(●) " if chosen else "( ) "

    def _note_lines(self) -> list[Line]:
        note = self.form.entry.note
        return [line(f"  Your note: {visible(note, keep_newlines=False)}", "dim")] if note else []

    def _field_label(self) -> list[Line]:
        if self.writing is None:
            return []
        shown = self.shown[self.form.index]
        if self.writing == "note":
            return [line("A note beside the answer:", "bold")]
        return [line(f"{shown.hint[:1].upper()}{shown.hint[1:]}:" if shown.hint else "In your own words:", "bold")]

    def _submit_lines(self) -> list[Line]:
        lines = [line("Your answers", "title")]
        lines.append(line(f"{'❯' if self.cursor == 0 else ' '} Hand them in", "cursor" if self.cursor == 0 else "bold"))
        for place, (question, entry) in enumerate(zip(self.shown, self.form.entries, strict=True), 1):
            here = place == self.cursor
            asked = question.question.replace("\n", " ")
            lines.append(line(f"{'❯' if here else ' '} {place}. {asked}", "cursor" if here else ""))
            note = f"  (note: {entry.note})" if entry.note else ""
            said = visible(", ".join(entry.values) + note, keep_newlines=False)
            lines.append(line(f"     → {said}", "chosen") if said else line("     → (open)", "notice"))
        return lines

    def _hint(self) -> str:
        if self.declining:
            return "Esc once more declines all questions; any other key goes on"
        if self.writing is not None:
            return _FIELD_HINT
        if self.form.confirming:
            count = len(self.form.unanswered)
            are = "1 question is" if count == 1 else f"{count} questions are"
            return f"{are} open. Enter once more hands the card in all the same"
        question = self.form.current
        if question is None:
            return "Enter hands in, or goes to the question · ←→ pages · Esc declines"
        choose = "Space takes · Enter goes on" if question.multi_select else "Enter or number chooses"
        return _HINT.format(choose=choose, pages="←→ pages · " if self.form.has_submit_page else "")


def _option_lines(option: ShownOption, row: int, columns: int, mark: str, *, here: bool) -> list[Line]:
    head = f"{'❯' if here else ' '} {mark}{row + 1}. "
    indent = " " * width(head)
    star = " ★" if option.label.casefold().rstrip().endswith("(recommended)") else ""
    first, *rest = wrapped(drawable(option.label) + star, max(columns - width(head), 8))
    style: Literal["cursor", ""] = "cursor" if here else ""
    lines = [line(head + first, style), *(line(indent + more, style) for more in rest)]
    if option.description:
        texts = wrapped(drawable(option.description), max(columns - width(indent), 8))
        lines += [line(indent + text, "dim") for text in texts]
    return lines


def _beside(left: Sequence[Line], right: Sequence[Line], columns: int) -> list[Line]:
    """Two columns; the left one is `columns` wide."""
    lines: list[Line] = []
    for place in range(max(len(left), len(right))):
        content = left[place] if place < len(left) else ()
        used = sum(width(text) for _, text in content)
        filling = span(padded("", max(columns - used, 0)))
        lines.append((*content, filling, *(right[place] if place < len(right) else ())))
    return lines
