"""A card being filled in: step by step, and that moving never loses an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agent_sdk.questions import AskUserQuestionInput, Question, QuestionForm, QuestionOption, read_answers
from tests.questions.cards import CARD, DATABASE, DEPLOY, FEATURES

DB, FT, DP = (question.question for question in CARD)
Step = Callable[[QuestionForm], QuestionForm]

STEPS: list[tuple[str, list[Step], dict[str, Any]]] = [
    ("at the start", [], {"index": 0, "answers": {}, "all_answered": False, "submitted": False}),
    ("answering goes on", [lambda f: f.set_answer("sqlite")], {"index": 1, "answers": {DB: "SQLite"}}),
    ("or stays", [lambda f: f.set_answer("SQLite", advance=False)], {"index": 0, "answers": {DB: "SQLite"}}),
    ("own words", [lambda f: f.set_answer(" DuckDB ")], {"answers": {DB: "DuckDB"}}),
    (
        "blank takes it back",
        [lambda f: f.set_answer("SQLite", advance=False), lambda f: f.set_answer(" ")],
        {"answers": {}, "index": 1},
    ),
    (
        "another choice replaces it",
        [lambda f: f.toggle(0), lambda f: f.toggle(1)],
        {"answers": {DB: "SQLite"}, "index": 0},
    ),
    ("the same choice takes it back", [lambda f: f.toggle(0), lambda f: f.toggle(0)], {"answers": {}}),
    (
        "several are kept in the order of the options",
        [lambda f: f.next(), lambda f: f.toggle(2), lambda f: f.toggle(0)],
        {"answers": {FT: ["Comments", "Full text, fast"]}},
    ),
    (
        "own words stand beside several",
        [
            lambda f: f.next(),
            lambda f: f.toggle(1),
            lambda f: f.toggle(3),
            lambda f: f.type_text("a shop, small"),
            lambda f: f.set_text(advance=False),
        ],
        {"answers": {FT: ["RSS", "a shop, small"]}, "in_text": False, "index": 1},
    ),
    (
        "the row of own words takes them back and keeps the text",
        [lambda f: f.go_to(1), lambda f: f.set_answer(["RSS", "x"], advance=False), lambda f: f.toggle(3)],
        {"answers": {FT: ["RSS"]}, "text": "x"},
    ),
    (
        "and brings them again",
        [lambda f: f.type_text("x"), lambda f: f.toggle(2), lambda f: f.toggle(2), lambda f: f.toggle(2)],
        {"answers": {DB: "x"}},
    ),
    ("with no text it opens the field", [lambda f: f.toggle(2)], {"in_text": True, "answers": {}}),
    (
        "typed text is no answer, and stays while moving",
        [lambda f: f.enter_text(), lambda f: f.type_text("Duck"), lambda f: f.next(), lambda f: f.previous()],
        {"in_text": False, "text": "Duck", "answers": {}, "index": 0},
    ),
    (
        "typed text replaces a choice",
        [lambda f: f.toggle(0), lambda f: f.type_text("Duck"), lambda f: f.set_text()],
        {"answers": {DB: "Duck"}, "index": 1},
    ),
    (
        "blank text leaves a choice",
        [lambda f: f.toggle(0), lambda f: f.type_text(" "), lambda f: f.set_text()],
        {"answers": {DB: "PostgreSQL"}},
    ),
    (
        "a typed label is the label",
        [lambda f: f.type_text("sqlite"), lambda f: f.set_text()],
        {"answers": {DB: "SQLite"}},
    ),
    ("leaving the field keeps the text", [lambda f: f.type_text("x"), lambda f: f.leave_text()], {"text": "x"}),
    (
        "a note is no answer, and stays",
        [lambda f: f.set_note(" later "), lambda f: f.next(), lambda f: f.previous()],
        {"answers": {}, "note": "later", "annotations": {DB: {"notes": "later"}}},
    ),
    (
        "a note stays beside another answer",
        [lambda f: f.set_note("n"), lambda f: f.toggle(0), lambda f: f.set_answer("Duck", advance=False)],
        {"answers": {DB: "Duck"}, "note": "n"},
    ),
    ("blank takes a note back", [lambda f: f.set_note("n"), lambda f: f.set_note(" ")], {"annotations": {}}),
    ("the first page is the first", [lambda f: f.previous()], {"index": 0}),
    ("the last page is the submit page", [lambda f: f.go_to(9)], {"index": 3, "on_submit_page": True, "current": None}),
    (
        "nothing is answered on the submit page",
        [lambda f: f.go_to(3), lambda f: f.set_answer("x"), lambda f: f.toggle(0), lambda f: f.type_text("x")],
        {"answers": {}, "index": 3},
    ),
    (
        "all answered, submitted at once",
        [lambda f: f.set_answer("SQLite").set_answer(["RSS"]).set_answer("Cloud"), lambda f: f.submit()],
        {"index": 3, "submitted": True, "answers": {DB: "SQLite", FT: ["RSS"], DP: "Cloud"}},
    ),
    ("open ones need confirmation", [lambda f: f.submit()], {"submitted": False, "confirming": True}),
    ("and get it", [lambda f: f.submit(), lambda f: f.submit()], {"submitted": True, "answers": {}}),
    ("moving takes it back", [lambda f: f.submit(), lambda f: f.next()], {"confirming": False}),
    ("answering takes it back", [lambda f: f.submit(), lambda f: f.toggle(0)], {"confirming": False}),
    (
        "a submitted form stays as it is",
        [lambda f: f.submit().submit(), lambda f: f.set_answer("SQLite"), lambda f: f.next(), lambda f: f.enter_text()],
        {"submitted": True, "answers": {}, "index": 0, "in_text": False},
    ),
]


@pytest.mark.parametrize(("steps", "expected"), [row[1:] for row in STEPS], ids=[row[0] for row in STEPS])
def test_steps(steps: list[Step], expected: dict[str, Any]) -> None:
    """Each action has one outcome."""
    form = QuestionForm.of(CARD)
    for step in steps:
        form = step(form)
    seen = {
        "index": form.index,
        "answers": form.answers,
        "all_answered": form.all_answered,
        "submitted": form.submitted,
        "confirming": form.confirming,
        "in_text": form.in_text,
        "text": form.entry.text,
        "note": form.entry.note,
        "annotations": form.annotations,
        "on_submit_page": form.on_submit_page,
        "current": form.current,
    }
    assert {name: seen[name] for name in expected} == expected


def test_one_single_select_has_no_submit_page() -> None:
    """Answering the only single-select question submits; moving goes nowhere."""
    form = QuestionForm.of([DATABASE])
    assert not form.has_submit_page
    assert form.next().index == 0
    assert not form.set_answer("SQLite", advance=False).submitted
    assert form.set_answer("SQLite").submitted
    assert form.set_answer("").confirming


def test_one_multi_select_has_a_submit_page() -> None:
    """A multi-select question is not over with its first choice."""
    form = QuestionForm.of([FEATURES]).toggle(0)
    assert form.has_submit_page
    assert not form.submitted
    assert form.next().on_submit_page


def test_rows() -> None:
    """Rows tell what is chosen; one that does not exist is an error to toggle."""
    form = QuestionForm.of([FEATURES]).set_answer(["RSS", "own"], advance=False)
    assert [form.is_chosen(row) for row in range(-1, 5)] == [False, False, True, False, True, False]
    with pytest.raises(ValueError, match="rows are 0 to 3, got 4"):
        form.toggle(4)


def test_several_for_a_single_select_raises() -> None:
    """A single-select question takes no second answer."""
    with pytest.raises(ValueError, match="single-select"):
        QuestionForm.of([DATABASE]).set_answer(["PostgreSQL", "SQLite"])


def test_a_chosen_preview_is_handed_back() -> None:
    """The preview of what was chosen goes along; that of an option not taken, or of several, does not."""
    options = [QuestionOption("a", "d", "A"), QuestionOption("b", "d", "B"), QuestionOption("c", "d")]
    single, several = Question("One?", "H", options), Question("Many?", "H", options, multi_select=True)
    form = QuestionForm.of([single, several]).set_answer("b").set_answer(["a"]).go_to(0).set_note("n")
    assert form.annotations == {"One?": {"preview": "B", "notes": "n"}}
    assert form.set_answer("c", advance=False).annotations == {"One?": {"notes": "n"}}
    assert form.set_answer("own", advance=False).annotations == {"One?": {"notes": "n"}}


def test_no_question_raises() -> None:
    """There is no form without questions."""
    with pytest.raises(ValueError, match="at least one"):
        QuestionForm.of([])


def test_raw_questions_will_do() -> None:
    """A form is made from what a callback is handed, too."""
    raw = {"questions": [question.raw for question in CARD]}
    assert QuestionForm.of(raw) == QuestionForm.of(AskUserQuestionInput(CARD)) == QuestionForm.of(CARD)


TEXTS = st.text(st.sampled_from("ab ,x"), max_size=4) | st.sampled_from(["SQLite", "rss", "Cloud"])


class FormMachine(RuleBasedStateMachine):
    """Random keys on a card, beside a plain record of what was answered."""

    def __init__(self) -> None:
        super().__init__()
        self.form = QuestionForm.of((DATABASE, FEATURES, DEPLOY))
        self.answers: dict[str, Any] = {}
        self.notes: dict[str, str] = {}

    @rule(move=st.sampled_from(["next", "previous", "leave", "enter"]))
    def move(self, move: str) -> None:
        before = self.form
        steps = {
            "next": before.next,
            "previous": before.previous,
            "leave": before.leave_text,
            "enter": before.enter_text,
        }
        self.form = steps[move]()
        assert self.form.entries == before.entries
        assert self.form.in_text is (move == "enter" and not before.on_submit_page)

    @rule(index=st.integers(-2, 6))
    def go_to(self, index: int) -> None:
        self.form = self.form.go_to(index)
        assert self.form.index == max(0, min(index, 3))

    @precondition(lambda self: self.form.current is not None)
    @rule(text=TEXTS, advance=st.booleans())
    def answer(self, text: str, advance: bool) -> None:
        question = self.form.current
        assert question is not None
        read = read_answers([question], {"answers": {question.question: text}})
        index = self.form.index
        self.form = self.form.set_answer(text, advance=advance)
        assert self.form.index == index + advance
        self.answers.pop(question.question, None)
        if labels := read.labels(question):
            self.answers[question.question] = labels

    @precondition(lambda self: self.form.current is not None)
    @rule(text=TEXTS)
    def type_text(self, text: str) -> None:
        before = self.form.answers
        self.form = self.form.type_text(text)
        assert self.form.entry.text == text
        assert self.form.answers == before

    @precondition(lambda self: self.form.current is not None)
    @rule(text=TEXTS)
    def note(self, text: str) -> None:
        question = self.form.current
        assert question is not None
        self.form = self.form.set_note(text)
        self.notes.pop(question.question, None)
        if text.strip():
            self.notes[question.question] = text.strip()

    @precondition(lambda self: self.form.current is not None)
    @rule(row=st.integers(0, 1))
    def toggle(self, row: int) -> None:
        question = self.form.current
        assert question is not None
        was = self.form.is_chosen(row)
        self.form = self.form.toggle(row)
        assert self.form.is_chosen(row) is not was
        assert self.form.toggle(row).is_chosen(row) is was
        self.answers.pop(question.question, None)
        if values := self.form.entry.values:
            self.answers[question.question] = list(values)

    @rule()
    def ask_to_submit(self) -> None:
        asked = self.form.submit()
        assert asked.submitted is (self.form.all_answered or self.form.confirming)
        assert asked.submitted or asked.submit().submitted
        self.form = asked if not asked.submitted else self.form

    @invariant()
    def nothing_is_lost(self) -> None:
        kept = {entry: sorted(value) for entry, value in self.answers.items()}
        answers: dict[str, Any] = self.form.answers
        assert {text: sorted([value] if isinstance(value, str) else value) for text, value in answers.items()} == kept
        assert set(self.form.unanswered) == {DB, FT, DP} - set(kept)

    @invariant()
    def no_note_is_lost(self) -> None:
        assert self.form.annotations == {text: {"notes": note} for text, note in self.notes.items()}

    @invariant()
    def the_answers_are_valid(self) -> None:
        read = read_answers(CARD, {"answers": self.form.answers})
        assert read.unanswered == self.form.unanswered


TestFormMachine = FormMachine.TestCase
TestFormMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
