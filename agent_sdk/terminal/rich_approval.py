"""The card of one call that needs a decision: a menu with a cursor, and a text field for changes and reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, Self, TypeAlias

from agent_sdk.render.text import visible
from agent_sdk.terminal.asking import NUMBERS, WORDS, Act, Asking, Decision, Subject, edited, subject_of
from agent_sdk.terminal.draw import trace_lines
from agent_sdk.terminal.rich_card import call_lines, rule_lines
from agent_sdk.terminal.rich_page import (
    Field,
    Key,
    Line,
    OpenEditor,
    Try,
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
from agent_sdk.terminal.rich_remember import Remember

Step: TypeAlias = Literal["menu", "edit", "words", "remember"]

_HINTS: dict[Step, str] = {
    "menu": "↑↓ and Enter, or a number · PgUp PgDn scroll · Esc no · Ctrl-C stops the agent",
    "edit": "Enter tries it · Esc goes back · Ctrl-X opens your editor",
    "words": "Enter says it · Esc goes back",
    "remember": "↑↓ move · a number takes, Space takes or leaves · ←→ where · Enter remembers · Esc goes back",
}


@dataclass(frozen=True, slots=True)
class Body:
    """The lines of a call for one width. They are kept, for a long change is drawn many times while one scrolls."""

    asking: Asking
    _kept: dict[int, tuple[Line, ...]]

    @classmethod
    def of(cls, asking: Asking) -> Body:
        """The body of a call."""
        return cls(asking, {})

    def lines(self, columns: int) -> tuple[Line, ...]:
        """Everything about the call in lines of this width."""
        if columns not in self._kept:
            self._kept.clear()
            self._kept[columns] = call_lines(self.asking, columns)
        return self._kept[columns]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPage:
    """A call and where the person is with it: in the menu, in a text field, or choosing what to remember.

    `cursor` is the row of the menu. `scroll` is the first line of the body that is shown, `rows` how many fit. `text`
    stands in the open field, `problem` tells why the last attempt did not work. `why`: the trace is shown instead of
    the call.
    """

    asking: Asking
    body: Body
    step: Step = "menu"
    cursor: int = 0
    scroll: int = 0
    rows: int = 10
    text: str = ""
    problem: str = ""
    why: bool = False
    remember: Remember | None = None
    opened: int = 0
    want: Want | None = None
    outcome: Decision | None = None

    @classmethod
    def of(cls, asking: Asking) -> Self:
        """The page for a call, with the cursor on the first choice."""
        return cls(asking=asking, body=Body.of(asking))

    @property
    def acts(self) -> tuple[Act, ...]:
        """The rows of the menu."""
        return self.asking.offers()

    @property
    def field(self) -> Field | None:
        """The field for the changed input or for the reason."""
        if self.step in ("edit", "words"):
            return Field(f"{self.step} {self.opened}", self.text)
        return None

    def press(self, key: Key) -> Self:
        """After a key. Nothing but Enter on a row, its number, or Esc decides."""
        if key == "c-c":
            return replace(self, outcome=self.asking.stop())
        if key in ("pageup", "pagedown"):
            step = max(self.rows - 2, 1)
            return replace(self, scroll=max(0, self.scroll + (step if key == "pagedown" else -step)))
        if key in ("s-up", "s-down"):
            return replace(self, scroll=max(0, self.scroll + (1 if key == "s-down" else -1)))
        match self.step:
            case "menu":
                return self._in_menu(key)
            case "edit" | "words":
                return self._in_field(key)
            case "remember":
                return self._remembering(key)

    def typed(self, text: str) -> Self:
        """With another text in the field."""
        return replace(self, text=text, problem="")

    def scrolled(self, start: int, rows: int) -> Self:
        """With the place where the body really is: nobody scrolls beyond its end."""
        return self if (start, rows) == (self.scroll, self.rows) else replace(self, scroll=start, rows=rows)

    def tried(self, came: Asking | str) -> Self:
        """The changed call is shown as it would be, and asked about again; or its problem is told."""
        if isinstance(came, str):
            return replace(self, want=None, problem=came)
        return replace(
            self, asking=came, body=Body.of(came), want=None, step="menu", cursor=0, scroll=0, problem="", text=""
        )

    def from_editor(self, came: str | None, problem: str = "") -> Self:
        """What came from the editor is tried like what was typed."""
        if came is None:
            return replace(self, want=None, problem=problem)
        return replace(self, want=None, text=came, opened=self.opened + 1)._try()

    def view(self, columns: int, rows: int, *, now: datetime, waiting: int) -> View:
        """Bar, body, then what can be done. The body gets the rows that are left, and scrolls in them."""
        columns = max(columns, 20)
        right = news(self.asking.context.deadline, now, waiting)
        top = bar(f"Permission needed: {self.asking.card.title}", right, columns)
        foot = self._foot(columns, rows)
        writing = field_rows(self.text, columns) if self.field is not None else 0
        hint = words(_HINTS[self.step], columns, "dim")
        room = max(rows - 2 - len(foot) - len(hint) - writing, 2)
        shown, start = window(self._body_lines(columns), self.scroll, room)
        question = line(self._question(), "title")
        above, below = [top, *shown, question], [*foot, *hint]
        return View(_all_fitted(above, columns), _all_fitted(below, columns), scroll=start, rows=room)

    def _question(self) -> str:
        match self.step:
            case "edit":
                subject = subject_of(self.asking)
                return f"What shall run instead? Change {subject.label}:"
            case "words":
                return "What should the agent know, or do instead?"
            case "remember":
                return "What shall be remembered?"
            case "menu":
                return "May it run as changed?" if self.asking.changed else "May it run?"

    def _body_lines(self, columns: int) -> tuple[Line, ...]:
        if not self.why:
            return self.body.lines(columns)
        title = line("  What was considered, in this order:", "bold")
        trace = [line(text) for text in trace_lines(self.asking.context)]
        return (title, *trace, *(self._rules(columns) if self.asking.card.rules else []))

    def _rules(self, columns: int) -> list[Line]:
        return [line("  What could be remembered:", "bold"), *rule_lines(self.asking.card, columns)]

    def _foot(self, columns: int, rows: int) -> list[Line]:
        problem = words(visible(self.problem, keep_newlines=False), columns, "error") if self.problem else []
        if self.step == "remember" and self.remember is not None:
            lines = self.remember.lines(columns)
            below = [*self.remember.place_lines(columns), *problem]
            room = max(rows - 4 - len(below) - len(words(_HINTS["remember"], columns)), 2)
            return [*window(lines, around_cursor(lines, room), room)[0], *below]
        if self.step != "menu":
            return problem
        return [*(_row(act, place == self.cursor) for place, act in enumerate(self.acts)), *problem]

    def _in_menu(self, key: Key) -> Self:
        match key:
            case "up" | "s-tab":
                return replace(self, cursor=(self.cursor - 1) % len(self.acts))
            case "down" | "tab":
                return replace(self, cursor=(self.cursor + 1) % len(self.acts))
            case "home" | "end":
                return replace(self, scroll=0 if key == "home" else 10**9)
            case "enter":
                return self._act(self.acts[self.cursor])
            case "escape":
                return replace(self, why=False, scroll=0) if self.why else self._act("no")
            case _:
                found = next((act for act in self.acts if str(NUMBERS[act]) == key), None)
                return self if found is None else self._act(found)

    def _act(self, act: Act) -> Self:
        page = replace(self, cursor=self.acts.index(act), problem="")
        match act:
            case "yes":
                return replace(page, outcome=self.asking.yes())
            case "edit":
                return page._open("edit", subject_of(self.asking).text)
            case "no":
                return replace(page, outcome=self.asking.no())
            case "words":
                return page._open("words", "")
            case "stop":
                return replace(page, outcome=self.asking.stop())
            case "later":
                return replace(page, outcome=self.asking.later())
            case "why" | "all":
                return replace(page, why=not self.why, scroll=0)
            case "remember":
                return replace(page, step="remember", remember=Remember.of(self.asking.suggestions))

    def _open(self, step: Step, text: str) -> Self:
        return replace(self, step=step, text=text, opened=self.opened + 1, why=False)

    def _back(self) -> Self:
        return replace(self, step="menu", text="", problem="", remember=None)

    def _in_field(self, key: Key) -> Self:
        if key == "escape":
            return self._back()
        if self.step == "words":
            said = self.text.strip()
            return replace(self, outcome=self.asking.no(said)) if key == "enter" and said else self
        if key == "c-x":
            return replace(self, want=OpenEditor(self.text, subject_of(self.asking).suffix))
        return self._try() if key == "enter" else self

    def _try(self) -> Self:
        subject: Subject = subject_of(self.asking)
        try:
            tool_input = edited(self.asking, subject, self.text)
        except ValueError as error:
            return replace(self, step="edit", problem=f"That is no input: {error}.")
        return replace(self, step="edit", want=Try(self.asking, tool_input))

    def _remembering(self, key: Key) -> Self:
        if key == "escape" or self.remember is None:
            return self._back()
        if key == "enter":
            updates = self.remember.updates
            if not updates:
                return replace(self, problem="Nothing is taken: a number or Space takes a row.")
            return replace(self, outcome=self.asking.yes(updates))
        return replace(self, remember=self.remember.press(key), problem="")


def _all_fitted(lines: Sequence[Line], columns: int) -> tuple[Line, ...]:
    return tuple(fitted(content, columns) for content in lines)


def _row(act: Act, here: bool) -> Line:
    mark = "❯" if here else " "
    return (span(f"{mark} {NUMBERS[act]}. {WORDS[act]}", "cursor" if here else ""),)
