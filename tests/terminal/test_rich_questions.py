"""The page of a question card as a value: keys, previews beside and below, and that no answer is ever lost."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from agent_sdk.decisions import Allow, Deny
from agent_sdk.questions import Question, QuestionOption
from agent_sdk.render.cells import width
from agent_sdk.terminal.asking import STOPPED, asked
from agent_sdk.terminal.plain import questions_of
from agent_sdk.terminal.rich_questions import QuestionPage
from tests.questions.cards import CARD, DATABASE, asks
from tests.terminal.people import context

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DB, FT, DP = (question.question for question in CARD)
PORT = Question("Which port?", "Port", kind="number", low=1024, high=65535)
NAME = Question("What is it called?", "Name", kind="text")
PREVIEWS = Question(
    "Which layout?",
    "Layout",
    [QuestionOption("Rows", "one below the other", "a\nb"), QuestionOption("Columns", "side by side", "a | b")],
)


def page(*questions: Question, **known: Any) -> QuestionPage:
    asking = asked("AskUserQuestion", {"questions": [question.raw for question in questions]}, context(**known))
    found = questions_of(asking)
    assert found is not None
    return QuestionPage.of(asking, found[0], found[1].questions)


def pressed(on: QuestionPage, *keys: str) -> QuestionPage:
    """After these keys; `>words` types words into the open field."""
    for key in keys:
        on = on.typed(key[1:]) if key.startswith(">") else on.press(key)
    return on


def text(on: QuestionPage, columns: int = 100, rows: int = 30) -> str:
    return on.view(columns, rows, now=NOW, waiting=0).text


def answers(on: QuestionPage) -> Any:
    assert isinstance(on.outcome, Allow)
    given = on.outcome.updated_input or {}
    return given["answers"]


WALKS = [
    pytest.param([DATABASE], ["enter"], {DB: "PostgreSQL"}, id="one question, Enter"),
    pytest.param([DATABASE], ["2"], {DB: "SQLite"}, id="a number chooses"),
    pytest.param([DATABASE], ["down", "enter"], {DB: "SQLite"}, id="the cursor chooses"),
    pytest.param([DATABASE], ["3", ">DuckDB", "enter"], {DB: "DuckDB"}, id="own words"),
    pytest.param([DATABASE], ["up", "enter", ">2", "enter"], {DB: "2"}, id="a number in words is words"),
    pytest.param([DATABASE], ["3", ">x", "escape", "1"], {DB: "PostgreSQL"}, id="words left, an option taken"),
    pytest.param([DATABASE], ["s", "s"], {}, id="skipped and confirmed"),
    pytest.param([DATABASE], ["escape", "down", "1"], {DB: "PostgreSQL"}, id="Esc once declines nothing"),
    pytest.param([DATABASE], ["escape", "escape"], {}, id="Esc twice declines"),
    pytest.param([*CARD], ["1", " ", "down", " ", "enter", "2", "enter"],
                 {DB: "PostgreSQL", FT: ["Comments", "RSS"], DP: "Own server"}, id="a whole card"),
    pytest.param([*CARD], ["1", "2", "3", "2", "enter", "1", "enter"],
                 {DB: "PostgreSQL", FT: ["Full text, fast"], DP: "Cloud"}, id="numbers take and leave"),
    pytest.param([*CARD], ["1", "4", ">a shop", "enter", "1", "enter"],
                 {DB: "PostgreSQL", FT: ["a shop"], DP: "Cloud"}, id="own words beside several"),
    pytest.param([*CARD], ["1", "s", "1", "enter", "enter"], {DB: "PostgreSQL", DP: "Cloud"}, id="open ones confirmed"),
    pytest.param([*CARD], ["1", "left", "2", "right", "1", "down", "enter", "2", "right", "enter", "enter"],
                 {DB: "SQLite", DP: "Cloud"}, id="back and forth"),
    pytest.param([*CARD], ["right", "right", "right", "2", "1", "enter", "1", "1", "1", "right", "right", "enter"],
                 {DB: "PostgreSQL", FT: ["Comments"], DP: "Cloud"}, id="from the submit page back to a question"),
    pytest.param([*CARD], ["tab", "tab", "tab", "down", "enter", "2", "tab", "tab", "enter", "enter"], {DB: "SQLite"},
                 id="a row of the submit page leads to its question"),
    pytest.param([*CARD], ["right", "right", "right", "enter", "left", "right", "enter", "enter"], {},
                 id="moving takes the confirmation back"),
    pytest.param([NAME, PORT], [">Blog", "enter", ">8080", "enter", "enter"],
                 {NAME.question: "Blog", PORT.question: "8080"}, id="a text and a number"),
    pytest.param([PORT], [">80", "enter", ">８０８０", "enter"], {PORT.question: "8080"}, id="out of range"),
    pytest.param([NAME], ["enter", "enter"], {}, id="an empty text is no answer"),
    pytest.param([NAME], ["escape", "enter", ">1", "enter"], {NAME.question: "1"}, id="out of the field and back"),
]  # fmt: skip


@pytest.mark.parametrize(("questions", "keys", "given"), WALKS)
def test_keys_answer(questions: list[Question], keys: list[str], given: dict[str, Any]) -> None:
    """Each way through a card hands in its answers, with the last key and not before."""
    on = page(*questions)
    for key in keys:
        assert on.outcome is None
        on = pressed(on, key)
    if keys[-2:] == ["escape", "escape"] or on.form.submitted:
        assert answers(on) == given
    else:
        assert answers(pressed(on, "enter")) == given


def test_ctrl_c_stops_the_agent() -> None:
    """Also in the middle of own words."""
    assert pressed(page(*CARD), "3", "c-c").outcome == Deny(STOPPED, interrupt=True)


def test_recommended_is_first_and_marked() -> None:
    """Wherever the model put it; its number is 1, and the answer is its label."""
    on = page(asks("Q?", "a", "b (Recommended)"))
    assert "❯ ( ) 1. b (Recommended) ★" in text(on)
    assert "  ( ) 2. a\n" in text(on)
    assert answers(pressed(on, "1")) == {"Q?": "b (Recommended)"}


def test_notes_stand_beside_answers() -> None:
    """A note answers nothing, is shown, and goes along."""
    on = pressed(page(*CARD), "n", ">ask again in May", "enter")
    assert "Your note: ask again in May" in text(on)
    assert on.form.answers == {}
    on = pressed(on, "1", "right", "right")
    assert "(note: ask again in May)" in text(on)
    done = pressed(on, "enter", "enter").outcome
    assert isinstance(done, Allow)
    assert done.updated_input is not None
    assert done.updated_input["annotations"] == {DB: {"notes": "ask again in May"}}
    assert "Your note" not in text(pressed(page(*CARD), "n", ">x", "escape"))


def test_previews_stand_beside_or_below() -> None:
    """On a wide terminal to the right of the options, on a narrow one below them; it follows the cursor."""
    wide, narrow = text(page(PREVIEWS), 100), text(page(PREVIEWS), 60)
    assert any("1. Rows" in line and "┌─ preview" in line for line in wide.splitlines())
    assert not any("1. Rows" in line and "preview" in line for line in narrow.splitlines())
    assert narrow.splitlines().index("┌─ preview ────────────────────────────────────────────────┐") > 5
    assert "│ a | b" in text(pressed(page(PREVIEWS), "down"))
    assert "(this row has no preview)" in text(pressed(page(PREVIEWS), "up"))


def test_a_chosen_preview_is_handed_back() -> None:
    """The model reads which sketch the person saw."""
    done = pressed(page(PREVIEWS), "2").outcome
    assert isinstance(done, Allow)
    assert done.updated_input is not None
    assert done.updated_input["annotations"] == {"Which layout?": {"preview": "a | b"}}


def test_the_submit_page_lists_everything() -> None:
    """Answers, what is open, and one more confirmation when something is."""
    on = pressed(page(*CARD), "2", "right", "right")
    assert "[✓] Database  [ ] Features  [ ] Deploy  Submit" in text(on)
    assert "→ SQLite" in text(on)
    assert text(on).count("→ (open)") == 2
    assert "2 questions are open. Enter once more" in text(pressed(on, "enter"))
    assert "Submit" not in text(page(DATABASE))


def test_a_long_question_is_scrolled() -> None:
    """The rows can be reached, and the beginning can be read."""
    on = page(asks("Why?\n" + "\n".join(f"reason {n}" for n in range(60)), "a", "b"))
    assert "reason 1\n" in text(on, 80, 24)
    assert "❯ ( ) 1. a" in text(pressed(on, "down", "up"), 80, 24)
    view = on.view(80, 24, now=NOW, waiting=0)
    assert "reason 20" in text(on.scrolled(view.scroll, view.rows).press("pagedown"), 80, 24)


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=40)


@settings(max_examples=150, deadline=None)
@given(
    question=WORDS.filter(str.strip),
    labels=st.lists(WORDS.filter(str.strip), min_size=2, max_size=4, unique_by=str.strip),
    preview=WORDS, several=st.booleans(), columns=st.integers(20, 140), rows=st.integers(18, 40),
    keys=st.lists(st.sampled_from(["1", "n", ">中文字", "enter", "up", "right", "escape", "pagedown"]), max_size=5),
)  # fmt: skip
def test_it_fits_every_terminal(
    question: str, labels: list[str], preview: str, several: bool, columns: int, rows: int, keys: list[str]
) -> None:
    """Whatever the model asks, nothing is drawn beyond the edges."""
    options = [QuestionOption(label, label, preview) for label in labels]
    on = pressed(page(Question(question, "中文标题很长很长很长很长", options, several), PORT), *keys)
    view = on.view(columns, rows, now=NOW, waiting=3)
    lines = ["".join(piece for _, piece in line) for line in (*view.above, *view.below)]
    assert all(width(line) <= columns for line in lines)
    assert len(lines) <= rows


class CardMachine(RuleBasedStateMachine):
    """Random keys on a card of every kind, beside a plain record of what was answered."""

    def __init__(self) -> None:
        super().__init__()
        self.page = page(*CARD, NAME, PORT)

    @rule(key=st.sampled_from(["left", "right", "tab", "s-tab", "up", "down", "pagedown", "escape", "n"]))
    def move(self, key: str) -> None:
        """Moving, opening and leaving fields changes no answer and no note."""
        before = [(entry.values, entry.note) for entry in self.page.form.entries]
        writing = self.page.writing
        on = self.page.press(key)
        if on.outcome is not None:
            return
        if not (writing == "words" and key == "tab") and not (writing == "note" and key in ("tab", "s-tab")):
            assert [(entry.values, entry.note) for entry in on.form.entries] == before
        self.page = on

    @rule(key=st.sampled_from(["1", "2", " ", "s"]))
    def act(self, key: str) -> None:
        """Choosing and skipping touch the question shown and no other."""
        before, index = self.page.form, self.page.form.index
        if self.page.field is not None or before.on_submit_page:
            return
        self.page = self.page.press(key)
        assert self.page.outcome is None
        after = self.page.form
        assert after.entries[:index] == before.entries[:index]
        assert after.entries[index + 1 :] == before.entries[index + 1 :]

    @rule(words=st.sampled_from(["Duck", "8080", "80", "", "中文"]))
    def write(self, words: str) -> None:
        """Words that are typed are no answer before Enter, and stay while moving away and back."""
        if self.page.writing is None:
            return
        before = self.page.form.answers
        self.page = self.page.typed(words)
        assert self.page.form.answers == before
        if self.page.writing == "words":
            away = self.page.press("escape").press("right").press("left")
            assert away.form.entries[self.page.form.index].text == words

    @rule()
    def take(self) -> None:
        """Enter in a field takes the words, or says why not."""
        if self.page.writing != "words":
            return
        index, words = self.page.form.index, self.page.text
        self.page = self.page.press("enter")
        if self.page.problem:
            assert self.page.form.index == index
        elif words.strip():
            assert words in self.page.form.entries[index].values

    @invariant()
    def it_can_be_drawn(self) -> None:
        """And the card hands in exactly what the form holds."""
        assert "The agent asks" in self.page.view(80, 24, now=NOW, waiting=0).text


TestCardMachine = CardMachine.TestCase
TestCardMachine.settings = settings(max_examples=50, stateful_step_count=25, deadline=None)
