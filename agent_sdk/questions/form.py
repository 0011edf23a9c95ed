"""The state of a question card, without any user interface: every action returns a new form.

form = QuestionForm.of(questions).set_answer("PostgreSQL").set_answer(["RSS", "Search"]).submit()
if form.submitted:
    answers = form.answers
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from agent_sdk.questions.answers import resolve
from agent_sdk.questions.labels import distinct
from agent_sdk.questions.schema import Question, Questions, as_questions
from agent_sdk.values import Json


@dataclass(frozen=True, slots=True)
class Entry:
    """What the form holds for one question. `values` is the answer so far: labels in the order of the options, then
    own words. `text` is what stands in the text field; it is no answer before it is set. `note` is a remark beside the
    answer, and none itself.
    """

    values: tuple[str, ...] = ()
    text: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """A card that is being filled in; a new one is made by `QuestionForm.of(questions)`.

    `index` is the question shown; `index == len(questions)` is the submit page, which a card of one single-select
    question does not have: there, answering submits. Rows of a question are its options, and after them one for own
    words. `in_text` tells that keys go to the text field. `confirming` tells that `submit` was asked for with questions
    still open, and that one more `submit` will do it; any other action takes that back.

    Answers and typed text stay while moving. A submitted form does not change any more. Actions on a question do
    nothing on the submit page.
    """

    questions: tuple[Question, ...]
    index: int = 0
    entries: tuple[Entry, ...] = ()
    in_text: bool = False
    confirming: bool = False
    submitted: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", as_questions(self.questions))
        if not self.questions:
            raise ValueError("a form needs at least one question")
        if not self.entries:
            object.__setattr__(self, "entries", tuple(Entry() for _ in self.questions))

    @classmethod
    def of(cls, questions: Questions) -> Self:
        """An empty form for a card in any of its forms, raw or parsed.

        Raises ValueError for questions that cannot be read, and when there are none.
        """
        return cls(as_questions(questions))

    @property
    def has_submit_page(self) -> bool:
        """False for a card of one single-select question."""
        return len(self.questions) > 1 or self.questions[0].multi_select

    @property
    def on_submit_page(self) -> bool:
        """True when no question is shown, but the submit page."""
        return self.index == len(self.questions)

    @property
    def current(self) -> Question | None:
        """The question shown; `None` on the submit page."""
        return None if self.on_submit_page else self.questions[self.index]

    @property
    def entry(self) -> Entry:
        """The answer and typed text of the question shown; empty on the submit page."""
        return Entry() if self.on_submit_page else self.entries[self.index]

    @property
    def answers(self) -> dict[str, Json]:
        """The `answers` to hand back: question text to label or own words, a list for multi-select. Open ones are
        left out.
        """
        return {
            question.question: list(entry.values) if question.multi_select else entry.values[0]
            for question, entry in zip(self.questions, self.entries, strict=True)
            if entry.values
        }

    @property
    def annotations(self) -> dict[str, Json]:
        """The `annotations` to hand back: question text to `{preview?, notes?}`, for questions that have any.

        The preview is that of the chosen option of a single-select question.
        """
        filled = zip(self.questions, self.entries, strict=True)
        found = {question.question: _annotation(question, entry) for question, entry in filled}
        return {text: annotation for text, annotation in found.items() if annotation}

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The texts of the questions that are open."""
        filled = zip(self.questions, self.entries, strict=True)
        return tuple(question.question for question, entry in filled if not entry.values)

    @property
    def all_answered(self) -> bool:
        """True when no question is open."""
        return not self.unanswered

    def is_chosen(self, row: int) -> bool:
        """Whether a row of the question shown is part of its answer. False for rows that do not exist."""
        if self.current is None:
            return False
        labels = self.current.labels
        if row == len(labels):
            return any(value not in labels for value in self.entry.values)
        return 0 <= row < len(labels) and labels[row] in self.entry.values

    def next(self) -> Self:
        """One page on, at most to the last one. Leaves the text field."""
        return self.go_to(self.index + 1)

    def previous(self) -> Self:
        """One page back, at most to the first one. Leaves the text field."""
        return self.go_to(self.index - 1)

    def go_to(self, index: int) -> Self:
        """To the page `index`, or to the nearest one that exists. Leaves the text field."""
        last = len(self.questions) if self.has_submit_page else 0
        return self._changed(replace(self, index=max(0, min(index, last)), in_text=False, confirming=False))

    def set_answer(self, answer: str | Sequence[str], *, advance: bool = True) -> Self:
        """Answer the question shown: a label, own words, or for multi-select several of them. Blank takes the answer
        back. `advance` goes on to the next page, or submits where there is no submit page.

        Raises ValueError for several items when the question is single-select, and for what is no number in range when
        a number is asked for.
        """
        if self.current is None:
            return self
        value = answer if isinstance(answer, str) else list(answer)
        return self._answered(resolve(self.current, value), advance)

    def toggle(self, row: int) -> Self:
        """Choose a row of the question shown, or take it back; the page stays. In a single-select question the others
        are taken back. The row for own words stands for the text typed so far; with none, it opens the text field.

        Raises ValueError for a row that does not exist.
        """
        if self.current is None:
            return self
        labels, values = self.current.labels, self.entry.values
        if not 0 <= row <= len(labels):
            raise ValueError(f"rows are 0 to {len(labels)}, got {row}")
        others = values if self.current.multi_select else ()
        if self.is_chosen(row):
            gone = (labels[row],) if row < len(labels) else tuple(value for value in values if value not in labels)
            return self._answered(tuple(value for value in values if value not in gone), advance=False)
        if row < len(labels):
            return self._answered((*others, labels[row]), advance=False)
        return self.set_text(advance=False) if self.entry.text.strip() else self.enter_text()

    def enter_text(self) -> Self:
        """Open the text field of the question shown."""
        return self._changed(replace(self, in_text=self.current is not None, confirming=False))

    def leave_text(self) -> Self:
        """Close the text field; what was typed stays, and is no answer yet."""
        return self._changed(replace(self, in_text=False, confirming=False))

    def type_text(self, text: str) -> Self:
        """Replace what stands in the text field of the question shown."""
        if self.current is None:
            return self
        return self._changed(self._with(replace(self.entry, text=text)))

    def set_text(self, *, advance: bool = True) -> Self:
        """Make the typed text the answer; in a multi-select question, an answer beside the chosen options. Blank text
        takes own words back.

        Raises ValueError for what is no number in range when a number is asked for.
        """
        if self.current is None:
            return self
        words = resolve(self.current, [self.entry.text])
        labels = tuple(value for value in self.entry.values if value in self.current.labels)
        return self._answered((*labels, *words) if self.current.multi_select or not words else words, advance)

    def set_note(self, text: str) -> Self:
        """Put a note beside the answer of the question shown; blank takes it back. It does not answer."""
        if self.current is None:
            return self
        return self._changed(self._with(replace(self.entry, note=text.strip())))

    def submit(self) -> Self:
        """Hand the card in. With questions still open, the first time only asks for confirmation."""
        sure = self.all_answered or self.confirming
        return self._changed(replace(self, in_text=False, confirming=not sure, submitted=sure))

    def _answered(self, values: Sequence[str], advance: bool) -> Self:
        labels = self.questions[self.index].labels
        own = tuple(value for value in values if value not in labels)
        entry = replace(
            self.entry,
            values=tuple(label for label in labels if label in values) + distinct(own),
            text=own[0] if len(own) == 1 else self.entry.text,
        )
        form = self._changed(replace(self._with(entry), in_text=False))
        if not advance:
            return form
        return form.next() if self.has_submit_page else form.submit()

    def _with(self, entry: Entry) -> Self:
        entries = (*self.entries[: self.index], entry, *self.entries[self.index + 1 :])
        return replace(self, entries=entries, confirming=False)

    def _changed(self, form: Self) -> Self:
        return self if self.submitted else form


def _annotation(question: Question, entry: Entry) -> dict[str, Json]:
    chosen = [option.preview for option in question.options if option.label in entry.values and option.preview]
    annotation: dict[str, Json] = {"preview": chosen[0]} if chosen and not question.multi_select else {}
    return {**annotation, "notes": entry.note} if entry.note else annotation
