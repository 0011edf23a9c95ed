"""A question card, line by line: every question once, own words always possible, Enter skips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_sdk.decisions import Allow, Defer, Deny
from agent_sdk.questions.form import QuestionForm
from agent_sdk.questions.schema import Question
from agent_sdk.questions.typed import Answer, Invalid, Skip, parse_answer
from agent_sdk.render.card import ShownQuestion
from agent_sdk.render.text import visible
from agent_sdk.terminal.asking import NOBODY, WhenGone
from agent_sdk.terminal.console import Console, InputEnded
from agent_sdk.terminal.draw import INDENT, question_lines
from agent_sdk.values import Json, JsonObject

ENDED = "Nobody answered: the input of the terminal ended before the questions were answered."
COMMANDS = "  (also: :back, :note and your words, :review to see all answers, :decline to answer nothing)"


def answered(tool_input: JsonObject, form: QuestionForm, *, by: str | None) -> Allow:
    """The card as it is handed in: the answers, and notes and previews beside them."""
    part: dict[str, Json] = {"questions": tool_input["questions"], "answers": form.answers}
    return Allow({**part, "annotations": form.annotations} if form.annotations else part, by=by)


def declined(tool_input: JsonObject, *, by: str | None) -> Allow:
    """The card handed in with nothing on it: the model reads that the person did not want to answer."""
    return Allow({"questions": tool_input["questions"], "answers": {}}, by=by)


def nobody(when_gone: WhenGone) -> Deny | Defer:
    """The person is gone before anything was answered."""
    return Defer("the terminal is gone") if when_gone == "defer" else Deny(ENDED, by=NOBODY)


async def ask_questions(
    console: Console,
    tool_input: JsonObject,
    questions: Sequence[Question],
    shown: Sequence[ShownQuestion],
    *,
    by: str | None = None,
    when_gone: WhenGone = "deny",
) -> Allow | Deny | Defer:
    """Ask all questions of a card and hand back the answers; skipped questions stay open.

    `shown` holds the same questions, safe to print. When the input ends, the rest stays open; when it ends before
    anything was answered, nobody was there: the card is denied with those words, or parked (`when_gone`).
    """
    card = _Card(console, shown, QuestionForm.of(questions))
    try:
        while card.place <= len(questions) and not card.declined:
            await card.ask()
    except InputEnded:
        left = card.form.answers or when_gone == "deny"
        console.say(f"(the input ended: {'what is not answered stays open' if left else 'the card is parked'})")
        if not card.form.answers:
            return nobody(when_gone)
    return declined(tool_input, by=by) if card.declined else answered(tool_input, card.form, by=by)


@dataclass(slots=True)
class _Card:
    """A card on its way. `place` is the question shown, or the review behind the last one, which is left out until the
    person went back or asked for it.
    """

    console: Console
    shown: Sequence[ShownQuestion]
    form: QuestionForm
    place: int = 0
    review: bool = False
    declined: bool = False
    _typed_before: bool = field(default=True)

    async def ask(self) -> None:
        """Show the place and take one line for it. Raises InputEnded."""
        if self.place < len(self.shown):
            await self._ask_question()
        elif self.review:
            await self._ask_review()
        else:
            self.place += 1

    async def _ask_question(self) -> None:
        lines = question_lines(self.shown[self.place], self.place + 1, len(self.shown))
        self.form = self.form.go_to(self.place)
        entry = self.form.entries[self.place]
        lines += [f"  So far: {visible(value, keep_newlines=False)}" for value in entry.values]
        lines += [f"  Your note: {visible(entry.note, keep_newlines=False)}"] if entry.note else []
        self.console.say(*lines)
        if self._typed_before:
            self.console.say(COMMANDS)
            self.console.forget_typed()
            self._typed_before = False
        while not self._takes(await self.console.ask()):
            pass

    def _takes(self, line: str) -> bool:
        """Act on a line; False when it must be asked again."""
        command, _, words = line.strip().partition(" ")
        match command:
            case ":back":
                self.place, self.review = max(0, self.place - 1), True
            case ":review":
                self.place, self.review = len(self.shown), True
            case ":decline":
                self.declined = True
            case ":note":
                self.form = self.form.set_note(words)
                self.console.say("Your note goes with the answer." if words.strip() else "There is no note now.")
                return False
            case _:
                return self._answers(line)
        return True

    def _answers(self, line: str) -> bool:
        match parse_answer(line, self.form.questions[self.place]):
            case Answer(values):
                self._set(values)
            case Skip() if not self.form.entries[self.place].values:
                pass
            case Skip():
                self.console.say("It stays as it is.")
            case Invalid(reason):
                self.console.say(reason)
                return False
        self.place += 1
        return True

    def _set(self, values: Sequence[str]) -> None:
        self.form = self.form.go_to(self.place).set_answer(list(values), advance=False)

    async def _ask_review(self) -> None:
        self.console.say("Your answers:")
        for number, (question, entry) in enumerate(zip(self.shown, self.form.entries, strict=True), 1):
            said = ", ".join(entry.values) or "(open)"
            note = f" (note: {entry.note})" if entry.note else ""
            self.console.say(
                f"  {number}. {question.question.replace(chr(10), ' ')}",
                INDENT + visible(said + note, keep_newlines=False),
            )
        self.console.say("  Enter hands them in; a number goes back to that question; :decline answers nothing.")
        line = (await self.console.ask()).strip()
        if not line:
            self.place += 1
        elif line == ":decline":
            self.declined = True
        elif line.isdecimal() and 1 <= int(line) <= len(self.shown):
            self.place = int(line) - 1
        else:
            self.console.say(f"Type a number from 1 to {len(self.shown)}, or Enter alone.")
