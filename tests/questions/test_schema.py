"""What the agent may ask, and what it is told when it may not."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk.questions import AskUserQuestionInput, Question, QuestionOption
from agent_sdk.questions.manual import input_schema
from agent_sdk.questions.schema import as_question, as_questions, display_header, parse_input, tidy
from tests.questions.cards import CARD, FEATURES


def option(label: str = "a", **more: Any) -> dict[str, Any]:
    return {"label": label, "description": "d", **more}


def question(text: str = "Q?", **more: Any) -> dict[str, Any]:
    return {"question": text, "header": "H", "options": [option("a"), option("b")], "multiSelect": False, **more}


def without(value: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key != name}


ACCEPTED = {
    "one question": {"questions": [question()]},
    "four questions": {"questions": [question(f"Q{n}?") for n in range(4)]},
    "four options": {"questions": [question(options=[option(label) for label in "abcd"])]},
    "no multiSelect": {"questions": [without(question(), "multiSelect")]},
    "a header of 60 characters": {"questions": [question(header="h" * 60)]},
    "a blank header and a blank description": {
        "questions": [question(header="", options=[option("a", description=""), option("b")])]
    },
    "questions as JSON text": {"questions": json.dumps([question()])},
    "unknown fields inside": {"questions": [question(kind="choice", options=[option("a", x=1), option("b")])]},
    "a preview, even in a multi-select": {
        "questions": [question(multiSelect=True, options=[option("a", preview="p"), option("b")])]
    },
    "a preview of null": {"questions": [question(options=[option("a", preview=None), option("b")])]},
    "labels that differ in case": {"questions": [question(options=[option("Yes"), option("yes")])]},
    "metadata": {"questions": [question()], "metadata": {"source": "plan"}},
    "the person's part": {"questions": [question()], "answers": {"Q?": "a"}, "annotations": {}, "response": ""},
}


@pytest.mark.parametrize("raw", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_fits(raw: dict[str, Any]) -> None:
    """An input that fits becomes values."""
    assert parse_input(raw).questions


REFUSED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({}, ["questions is missing", "1 to 4"]),
    "no question": ({"questions": []}, ["questions", "1 to 4", "got 0"]),
    "five questions": ({"questions": [question(f"Q{n}?") for n in range(5)]}, ["1 to 4", "got 5", "drop"]),
    "one option": ({"questions": [question(options=[option()])]}, ["[0].options", "2 to 4", "got 1", "filler"]),
    "no option": ({"questions": [question(options=[])]}, ["2 to 4", "got 0", "do not invent"]),
    "five options": ({"questions": [question(options=[option(x) for x in "abcde"])]}, ["2 to 4", "got 5", "4 best"]),
    "a label twice": ({"questions": [question(options=[option("foo.txt")] * 2)]}, ["'foo.txt'", "twice"]),
    "labels apart by a space": ({"questions": [question(options=[option("a"), option("a ")])]}, ["'a '", "twice"]),
    "a question twice": ({"questions": [question("Same?"), question("Same?")]}, ["'Same?'", "twice"]),
    "no header": ({"questions": [without(question(), "header")]}, ["questions[0].header is missing"]),
    "no question text": ({"questions": [without(question(), "question")]}, ["questions[0].question is missing"]),
    "no options": ({"questions": [without(question(), "options")]}, ["questions[0].options is missing"]),
    "no description": (
        {"questions": [question(options=[option(), {"label": "b"}])]},
        ["questions[0].options[1].description is missing"],
    ),
    "a blank label": ({"questions": [question(options=[option(" "), option()])]}, ["options[0].label is blank"]),
    "a blank question": ({"questions": [question("\n")]}, ["questions[0].question is blank"]),
    "multiSelect as text": ({"questions": [question(multiSelect="false")]}, ["multiSelect must be", "a string"]),
    "multiSelect of null": ({"questions": [question(multiSelect=None)]}, ["multiSelect must be", "null"]),
    "a label that is a number": ({"questions": [question(options=[option(1), option()])]}, ["label", "a number"]),  # type: ignore[arg-type]
    "a preview that is an object": (
        {"questions": [question(options=[option(preview={}), option("b")])]},
        ["preview must be a string", "an object"],
    ),
    "questions as an object": ({"questions": {}}, ["questions must be an array", "an object"]),
    "questions as prose": ({"questions": "Which?"}, ["questions must be an array", "a string"]),
    "questions as text of another kind": ({"questions": "7"}, ["questions must be an array", "a number"]),
    "a question as text": ({"questions": ["Which?"]}, ["questions[0] must be an object", "a string"]),
    "an unknown field": ({"questions": [question()], "bogus": 1}, ["'bogus'", "questions and metadata"]),
    "metadata as text": ({"questions": [question()], "metadata": "x"}, ["metadata must be an object"]),
    "a source that is no text": ({"questions": [question()], "metadata": {"source": 1}}, ["metadata.source"]),
}


@pytest.mark.parametrize(("raw", "says"), REFUSED.values(), ids=REFUSED.keys())
def test_does_not_fit(raw: dict[str, Any], says: list[str]) -> None:
    """An input that does not fit is refused in one line that names field, limit and what to do."""
    with pytest.raises(ValueError, match=r".") as refused:
        parse_input(raw)
    message = str(refused.value)
    assert all(part in message for part in says), message
    assert "\n" not in message


def test_deep_json_text_is_refused_quietly() -> None:
    """JSON text nested beyond all sense is refused like other text."""
    with pytest.raises(ValueError, match="must be an array"):
        parse_input({"questions": "[" * 100_000})


TIDIED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "JSON text": ({"questions": json.dumps([question()])}, {"questions": [question()]}),
    "no multiSelect": ({"questions": [without(question(), "multiSelect")]}, {"questions": [question()]}),
    "the model answers itself": (
        {"questions": [question()], "answers": {"Q?": "a"}, "annotations": {"Q?": {}}, "response": "ok"},
        {"questions": [question()]},
    ),
    "unknown fields stay": ({"questions": [question(x=1)], "y": 2}, {"questions": [question(x=1)], "y": 2}),
    "prose stays": ({"questions": "Which?"}, {"questions": "Which?"}),
    "odd items stay": ({"questions": [1, "x", None]}, {"questions": [1, "x", None]}),
    "nothing stays": ({}, {}),
}


@pytest.mark.parametrize(("raw", "tidied"), TIDIED.values(), ids=TIDIED.keys())
def test_tidy(raw: dict[str, Any], tidied: dict[str, Any]) -> None:
    """Tidying parses, fills in and strips, and leaves alone what it does not understand."""
    assert tidy(raw) == tidied


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["questions", "answers", "metadata", "x"]), json_values))
def test_no_input_breaks_anything(raw: dict[str, Any]) -> None:
    """Whatever the input is, tidying never fails and parsing fails with ValueError only."""
    tidied = tidy(raw)
    assert "answers" not in tidied
    assert tidy(tidied) == tidied
    try:
        parse_input(tidied)
    except ValueError:
        pass


@pytest.mark.parametrize(
    ("header", "shown"),
    [
        ("Library", "Library"),
        ("exactly 12 c", "exactly 12 c"),
        ("thirteen char", "thirteen ch…"),
        ("数据库的选择问题", "数据库的选择问题"),
        ("数据库的选择问题数据库的选择问题", "数据库的选择问题数据库…"),
        (" padded ", "padded"),
    ],
)
def test_header_is_shortened_by_characters(header: str, shown: str) -> None:
    """A chip shows at most 12 characters, whatever their bytes."""
    assert display_header(header) == shown


def test_raw_and_back() -> None:
    """A question survives the way to JSON and back, previews included."""
    asked = Question("Q?", "H", [QuestionOption("a", "d", "p"), QuestionOption("b", "d")], multi_select=True)
    assert as_question(asked.raw) == asked
    assert "preview" not in str(asked.raw["options"][1])  # type: ignore[index]


def test_every_form_of_a_card_is_the_same_card() -> None:
    """Parsed, raw, as a list or as JSON text: the questions are the same."""
    raw = [question.raw for question in CARD]
    forms = (CARD, AskUserQuestionInput(CARD), raw, {"questions": raw}, json.dumps(raw))
    assert {as_questions(form) for form in forms} == {CARD}
    assert as_questions([FEATURES.raw, CARD[0]]) == (FEATURES, CARD[0])


@pytest.mark.parametrize("preview", [None, "markdown", "html"])
def test_schema_offers_previews_only_when_asked_for(preview: Literal["markdown", "html"] | None) -> None:
    """The model hears of previews only when the application shows them, and never of the person's part."""
    schema = json.dumps(input_schema(preview=preview))
    assert ('"preview"' in schema) is (preview is not None)
    assert not any(f'"{name}"' in schema for name in ("answers", "annotations", "response"))


def test_every_field_of_the_schema_is_described() -> None:
    """The schema is the model's manual: no field goes without a description."""
    missing: list[str] = []

    def walk(node: Any) -> None:
        for name, value in node.get("properties", {}).items():
            if "description" not in value:
                missing.append(name)
            walk(value)
            walk(value.get("items", {}))

    walk(input_schema(preview="html", kinds=("choice", "text", "number")))
    assert missing == []
