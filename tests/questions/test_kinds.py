"""Questions for a text or a number: what the model may send, what a person may type, what is kept."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk import AskUserQuestionConfig
from agent_sdk.errors import OptionsError
from agent_sdk.questions import Answer, Invalid, QuestionForm, Skip, format_answers, parse_answer, read_answers
from agent_sdk.questions.manual import input_schema
from agent_sdk.questions.schema import Question, as_question, recommended_first
from agent_sdk.tools.ask_user_question import ask_user_question_tool
from tests.questions.cards import DATABASE, asks

ALL = AskUserQuestionConfig(kinds=("choice", "text", "number"))
NAME = Question("What is it called?", "Name", kind="text")
PORT = Question("Which port?", "Port", kind="number", low=1024, high=65535)
SHARE = Question("Which share?", "Share", kind="number", low=0.0)


def raw(**fields: Any) -> dict[str, Any]:
    return {"questions": [{"question": "Q?", "header": "H", **fields}]}


def problem(tool_input: dict[str, Any], config: AskUserQuestionConfig = ALL) -> str:
    return ask_user_question_tool(config).check(tool_input) or ""


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"kind": "text"}, id="text"),
        pytest.param({"kind": "number"}, id="number"),
        pytest.param({"kind": "number", "min": 1, "max": 1}, id="one number"),
        pytest.param({"kind": "number", "min": -0.5}, id="half a range"),
        pytest.param({"kind": "text", "options": [], "multiSelect": False}, id="empty fields say nothing"),
        pytest.param({"kind": "choice", "options": DATABASE.raw["options"]}, id="choice by name"),
    ],
)
def test_open_questions_are_taken(fields: dict[str, Any]) -> None:
    """Where an application opens these kinds the model may use them."""
    assert problem(raw(**fields)) == ""


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({"kind": "slider"}, "kind is one of choice, text, number, got 'slider'", id="unknown"),
        pytest.param({"kind": 3}, "got a number", id="no text"),
        pytest.param({"kind": "text", "options": DATABASE.raw["options"]}, "options does not go with", id="options"),
        pytest.param({"kind": "number", "multiSelect": True}, "multiSelect does not go with", id="several"),
        pytest.param({"kind": "text", "min": 1}, "min goes with kind 'number' only", id="a limit for a text"),
        pytest.param({"kind": "number", "min": "1"}, "min must be a number, got a string", id="a limit as text"),
        pytest.param({"kind": "number", "max": True}, "max must be a number, got a boolean", id="a limit as boolean"),
        pytest.param({"kind": "number", "min": 2, "max": 1}, "min is 2 and max is 1", id="an empty range"),
        pytest.param({"kind": "choice"}, "options is missing", id="a choice without options"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(fields: dict[str, Any], words: str) -> None:
    """The model reads the field, what is wrong with it, and what to do."""
    assert words in problem(raw(**fields))


@pytest.mark.parametrize("kind", ["text", "number"])
def test_open_questions_are_opt_in(kind: str) -> None:
    """Without the option the model hears nothing of them, and is refused when it tries."""
    assert f"kind is one of choice here, got '{kind}'" in problem(raw(kind=kind), AskUserQuestionConfig())
    schema = json.dumps(input_schema())
    assert not any(word in schema for word in ('"kind"', '"min"', '"max"'))


def test_the_schema_offers_what_is_opened() -> None:
    """Options are required only where nothing else can be asked."""
    item = input_schema(kinds=("choice", "number"))["properties"]["questions"]["items"]  # type: ignore[index,call-overload]
    assert item["properties"]["kind"]["enum"] == ["choice", "number"]
    assert item["required"] == ["question", "header"]


@pytest.mark.parametrize("kinds", [(), ("choice", "slider"), "text"])
def test_odd_kinds_are_an_error_at_once(kinds: Any) -> None:
    """A misspelt kind is found when the options are built."""
    with pytest.raises(OptionsError, match="kinds holds"):
        AskUserQuestionConfig(kinds=kinds)


@pytest.mark.parametrize("question", [NAME, PORT, SHARE, DATABASE])
def test_raw_and_parsed_are_the_same(question: Question) -> None:
    """A question of any kind survives the way to JSON and back."""
    assert as_question(json.loads(json.dumps(question.raw))) == question


@pytest.mark.parametrize(
    ("line", "question", "parsed"),
    [
        ("8080", PORT, Answer(("8080",), own_words=True)),
        (" ８０８０ ", PORT, Answer(("8080",), own_words=True)),
        ("2e3", PORT, Answer(("2e3",), own_words=True)),
        ("0.5", SHARE, Answer(("0.5",), own_words=True)),
        ("-1", SHARE, Invalid("-1 is out of range: type a number, 0 or more.")),
        ("80", PORT, Invalid("80 is out of range: type a number from 1024 to 65535.")),
        ("many", PORT, Invalid("'many' is not a number: type a number from 1024 to 65535.")),
        ("nan", PORT, Invalid("'nan' is not a number: type a number from 1024 to 65535.")),
        ("1e999", SHARE, Invalid("'1e999' is not a number: type a number, 0 or more.")),
        ("1_0", SHARE, Invalid("'1_0' is not a number: type a number, 0 or more.")),
        ("", PORT, Skip()),
        ("1", NAME, Answer(("1",), own_words=True)),
        ("=1, 2", NAME, Answer(("=1, 2",), own_words=True)),
        ("公司", NAME, Answer(("公司",), own_words=True)),
        ("  ", NAME, Skip()),
    ],
)
def test_typed_lines(line: str, question: Question, parsed: Answer | Invalid | Skip) -> None:
    """A text is taken as it is typed; a number must be one, and in range."""
    assert parse_answer(line, question) == parsed


@pytest.mark.parametrize(
    ("given_back", "kept"),
    [("8080", ["8080"]), (8080, ["8080"]), (["8080"], ["8080"]), (1024.5, ["1024.5"]), (" ", []), (None, []), ([], [])],
)
def test_numbers_are_kept_as_text(given_back: Any, kept: list[str]) -> None:
    """An application may hand back a number or its text."""
    assert read_answers([PORT], {"answers": {PORT.question: given_back}}).labels(PORT) == kept


@pytest.mark.parametrize(
    ("given_back", "words"),
    [
        ("80", "out of range"),
        ("x", "not a number"),
        (True, "a boolean"),
        ([8080, 8081], "list of 2"),
        ({}, "an object"),
    ],
)
def test_what_is_no_number_is_the_applications_error(given_back: Any, words: str) -> None:
    """Nothing that was not asked for reaches the model as an answer."""
    with pytest.raises(ValueError, match=words):
        read_answers([PORT], {"answers": {PORT.question: given_back}})


def test_the_model_reads_words_and_numbers_as_own_words() -> None:
    """Neither is a label, so the model is told to read carefully."""
    text = format_answers([NAME, PORT], {NAME.question: "Blog", PORT.question: "8080"})
    assert text.startswith('The user answered: "What is it called?"="Blog", "Which port?"="8080". Read the answers')


def test_a_bare_number_that_was_asked_for_is_no_mistake(caplog: pytest.LogCaptureFixture) -> None:
    """The warning about untranslated option numbers is for choices."""
    with caplog.at_level(logging.WARNING, "agent_sdk"):
        read_answers([PORT, NAME], {"answers": {PORT.question: "2000", NAME.question: "1"}})
    assert caplog.messages == []


def test_a_form_takes_them() -> None:
    """Row 0 is the text field; a number out of range is refused and nothing changes."""
    form = QuestionForm.of([NAME, PORT]).toggle(0)
    assert form.in_text
    form = form.type_text("Blog").set_text()
    with pytest.raises(ValueError, match="out of range"):
        form.type_text("80").set_text()
    form = form.type_text("8080").set_text().submit()
    assert form.submitted
    assert form.answers == {NAME.question: "Blog", PORT.question: "8080"}


@given(st.text(max_size=12) | st.integers().map(str) | st.floats().map(repr))
def test_what_is_typed_as_a_number_is_read_back(line: str) -> None:
    """A line that passes for a number is taken by everyone behind it."""
    match parse_answer(line, SHARE):
        case Answer((text,)):
            assert read_answers([SHARE], {"answers": {SHARE.question: text}}).labels(SHARE) == [text]
            assert 0 <= float(text) < float("inf")


def test_the_recommended_option_comes_first_for_people() -> None:
    """Shown first whatever place it was sent in; the order of the others stays."""
    question = asks("Q?", "a", "b", "c (Recommended)")
    assert recommended_first(question).labels == ("c (Recommended)", "a", "b")
    assert recommended_first(DATABASE) is DATABASE
