"""What counts as an answer, as a choice, and as an error of the application."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk.questions import Answer, Invalid, Question, Skip, parse_answer, read_answers
from agent_sdk.questions.labels import says_something
from tests.questions.cards import CARD, DATABASE, DEPLOY, FEATURES, asks

COMMA = asks("Pick?", "a", "b", "a, b", "c, d", "d", multi=True)
CASES = asks("Pick?", "Yes", "yes", "No")
PORTS = asks("Port?", "8080", "1", "443")
PORTS_MULTI = asks("Port?", "2", "1", "443", multi=True)
FOLD = asks("Pick?", "A, B", "a", "b", multi=True)

READ: list[tuple[str, Question, Any, list[str]]] = [
    ("a label", DATABASE, "SQLite", ["SQLite"]),
    ("a label with spaces around", DATABASE, "  SQLite\n", ["SQLite"]),
    ("a label in another case", DATABASE, "sqlite", ["SQLite"]),
    ("own words", DATABASE, " DuckDB, please ", ["DuckDB, please"]),
    ("several labels in a single-select", DATABASE, "SQLite, PostgreSQL", ["SQLite, PostgreSQL"]),
    ("a list of one for a single-select", DATABASE, ["SQLite"], ["SQLite"]),
    ("a list of one and blanks", DATABASE, ["", "SQLite", " "], ["SQLite"]),
    ("blank", DATABASE, "  ", []),
    ("null", DATABASE, None, []),
    ("empty list", FEATURES, [], []),
    ("list of blanks", FEATURES, ["", " "], []),
    ("list", FEATURES, ["RSS", "Comments"], ["RSS", "Comments"]),
    ("list of one stays one", FEATURES, ["RSS"], ["RSS"]),
    ("list with own words", FEATURES, ["rss", "a shop"], ["RSS", "a shop"]),
    ("a list is never cut", FEATURES, ["RSS, Comments"], ["RSS, Comments"]),
    ("the same twice", FEATURES, ["RSS", "rss"], ["RSS"]),
    ("joined", FEATURES, "RSS, Comments", ["RSS", "Comments"]),
    ("joined in another case", FEATURES, "rss, comments", ["RSS", "Comments"]),
    ("joined with a label that holds a comma", FEATURES, "Full text, fast, RSS", ["Full text, fast", "RSS"]),
    ("joined without a space", FEATURES, "RSS,Comments", ["RSS,Comments"]),
    ("joined with a stranger", FEATURES, "RSS, a shop", ["RSS, a shop"]),
    ("a whole label before its pieces", COMMA, "a, b", ["a, b"]),
    ("the longest piece first", COMMA, "a, b, d", ["a, b", "d"]),
    ("back to a shorter piece", COMMA, "a, c, d", ["a", "c, d"]),
    ("exact pieces before a folded whole", FOLD, "a, b", ["a", "b"]),
    ("exact before folded", CASES, "yes", ["yes"]),
    ("two labels but for case: own words", CASES, "YES", ["YES"]),
    ("markup is text", asks("Q?", "**B** | <b>x</b>", "`c`"), "**B** | <b>x</b>", ["**B** | <b>x</b>"]),
]


@pytest.mark.parametrize(("question", "value", "labels"), [row[1:] for row in READ], ids=[row[0] for row in READ])
def test_reading(question: Question, value: Any, labels: list[str]) -> None:
    """An answer is read as labels where it can be, else as own words; nothing said is not answered."""
    answers = read_answers([question], {"answers": {question.question: value}})
    assert answers.labels(question) == answers.labels(question.question) == labels
    assert answers.unanswered == (() if labels else (question.question,))


REFUSED: list[tuple[str, Any, list[str]]] = [
    ("header", {"answers": {"Database": "SQLite"}}, ["keyed by the question text", "header 'Database'"]),
    ("index", {"answers": {"0": "SQLite"}}, ["keyed by the question text", "index '0'"]),
    ("index as a number", {"answers": {0: "SQLite"}}, ["keyed by the question text", "index 0"]),
    ("label", {"answers": {"SQLite": True}}, ["option label 'SQLite'"]),
    ("another text", {"answers": {"Which db?": "SQLite"}}, ["'Which db?'", "not asked"]),
    ("a wrong key with a blank", {"answers": {"Database": ""}}, ["header 'Database'"]),
    ("a wrong key beside a good one", {"answers": {"Which database?": "SQLite", "x": "y"}}, ["'x'"]),
    ("annotations by header", {"annotations": {"Database": {"notes": "n"}}}, ["annotations", "header 'Database'"]),
    ("answers as a list", {"answers": ["SQLite"]}, ["answers must be an object", "an array"]),
    ("a number", {"answers": {"Which database?": 2}}, ["Which database?", "a number"]),
    ("a boolean", {"answers": {"Which database?": True}}, ["a boolean"]),
    ("an object", {"answers": {"Which database?": {"label": "SQLite"}}}, ["an object"]),
    ("a list with a number", {"answers": {"Which features?": ["RSS", 3]}}, ["list of strings", "a number"]),
    ("a list for a single-select", {"answers": {"Which database?": ["SQLite", "x"]}}, ["list of 2", "single-select"]),
    ("notes as a number", {"annotations": {"Which database?": {"notes": 1}}}, ["notes", "a number"]),
    ("annotation as text", {"annotations": {"Which database?": "n"}}, ["must be an object", "a string"]),
    ("response as a list", {"response": ["x"]}, ["response must be a string"]),
    ("other questions", {"questions": [DEPLOY.raw], "answers": {}}, ["questions that came back"]),
    ("another order", {"questions": [q.raw for q in reversed(CARD)], "answers": {}}, ["questions that came back"]),
    ("questions as prose", {"questions": "x", "answers": {}}, ["questions that came back"]),
    ("no object at all", ["x"], ["must be an object"]),
]


@pytest.mark.parametrize(("update", "says"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refusing(update: Any, says: list[str]) -> None:
    """What cannot be meant for these questions raises ValueError that names the fault."""
    with pytest.raises(ValueError, match=r".") as refused:
        read_answers(CARD, update)
    assert all(part in str(refused.value) for part in says), str(refused.value)


@pytest.mark.parametrize("update", [None, {}, {"answers": None}, {"answers": {}, "annotations": None}], ids=str)
def test_nothing_is_nothing(update: Any) -> None:
    """Without answers every question is open."""
    answers = read_answers(CARD, update)
    assert answers.unanswered == tuple(question.question for question in CARD)
    assert answers.pairs == ()


def test_in_part() -> None:
    """Given answers are kept in the order of the questions, open ones are named, notes answer nothing."""
    update: dict[str, Any] = {
        "questions": [{**question.raw, "header": "changed"} for question in CARD],
        "answers": {"Deploy where?": "cloud", "Which database?": "SQLite"},
        "annotations": {"Which features?": {"notes": " later ", "unknown": 1}, "Deploy where?": {"preview": " p"}},
        "response": " talk first ",
    }
    answers = read_answers(CARD, update)
    assert answers.pairs == (("Which database?", ("SQLite",)), ("Deploy where?", ("Cloud",)))
    assert answers.unanswered == ("Which features?",)
    assert (answers.notes(FEATURES), answers.preview(DEPLOY), answers.response) == ("later", " p", "talk first")
    assert answers.as_value() == {
        "questions": [question.raw for question in CARD],
        "answers": {"Which database?": "SQLite", "Deploy where?": "Cloud"},
        "annotations": {"Which features?": {"notes": "later"}, "Deploy where?": {"preview": " p"}},
        "response": "talk first",
        "unanswered": ["Which features?"],
    }


def test_unknown_question_raises() -> None:
    """Asking for the answer to a question that was not asked is an error, not an empty list."""
    with pytest.raises(ValueError, match="not asked"):
        read_answers(CARD, {}).labels("Other?")


words = st.text(st.sampled_from("ab, AB1"), max_size=12)


@given(st.lists(words.filter(str.strip), min_size=2, max_size=4, unique_by=str.strip), st.lists(words, max_size=4))
def test_given_is_read_back(labels: list[str], value: list[str]) -> None:
    """What was read once is read again as the same, own words and comma labels included."""
    asked = asks("Q?", *labels, multi=True)
    once = read_answers([asked], {"answers": {"Q?": value}, "response": "r"})
    assert read_answers([asked], once.given()) == once


@given(st.lists(words.filter(str.strip), min_size=2, max_size=4, unique_by=str.strip), st.data())
def test_joined_labels_come_back_as_labels(labels: list[str], data: st.DataObject) -> None:
    """Labels joined by a comma and a space are never taken for own words."""
    asked = asks("Q?", *labels, multi=True)
    chosen = data.draw(st.lists(st.sampled_from(labels), min_size=1, max_size=4))
    answers = read_answers([asked], {"answers": {"Q?": ", ".join(label.strip() for label in chosen)}})
    assert set(answers.labels("Q?")) <= set(labels)


@pytest.mark.parametrize(
    ("question", "value", "warned"),
    [(DATABASE, "1", True), (DATABASE, "3", False), (PORTS, "1", False), (FEATURES, ["２"], True)],
    ids=["a position", "out of range", "a label", "full-width in a list"],
)
def test_bare_number(question: Question, value: Any, warned: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A bare option number is passed on as typed, with one warning that names the remedy."""
    with caplog.at_level(logging.WARNING, "agent_sdk"):
        answers = read_answers([question], {"answers": {question.question: value}})
    assert answers.labels(question) == ([value] if isinstance(value, str) else value)
    assert ["parse_answer" in record.message for record in caplog.records] == ([True] if warned else [])


TYPED: list[tuple[str, Question, str, Answer | Skip]] = [
    ("a position", DATABASE, "2", Answer(("SQLite",))),
    ("spaces", DATABASE, " 2 ", Answer(("SQLite",))),
    ("full-width", DATABASE, "２", Answer(("SQLite",))),
    ("leading zero", DATABASE, "02", Answer(("SQLite",))),
    ("several", FEATURES, "1,3", Answer(("Comments", "Full text, fast"))),
    ("several, full-width comma", FEATURES, "1，3", Answer(("Comments", "Full text, fast"))),
    ("several, enumeration comma", FEATURES, "１、３", Answer(("Comments", "Full text, fast"))),
    ("several, spaced", FEATURES, "1 , 3", Answer(("Comments", "Full text, fast"))),
    ("one twice", FEATURES, "2,2", Answer(("RSS",))),
    ("a label", DATABASE, "sqlite", Answer(("SQLite",))),
    ("labels", FEATURES, "rss, Comments", Answer(("RSS", "Comments"))),
    ("empty", DATABASE, "", Skip()),
    ("blank", DATABASE, " \t", Skip()),
    ("own words", DEPLOY, "公司内网的 Nginx", Answer(("公司内网的 Nginx",), own_words=True)),
    ("own words that hold numbers", FEATURES, "1 and 3", Answer(("1 and 3",), own_words=True)),
    ("a minus", DATABASE, "-1", Answer(("-1",), own_words=True)),
    ("a superscript", DATABASE, "²", Answer(("²",), own_words=True)),
    ("literal", DATABASE, "=8080", Answer(("8080",), own_words=True)),
    ("literal position", DATABASE, "= 2", Answer(("2",), own_words=True)),
    ("a label that is a number", PORTS, "1", Answer(("1",))),
    ("a position beside number labels", PORTS, "3", Answer(("443",))),
    ("label and position in a list", PORTS_MULTI, "1,3", Answer(("1", "443"))),
]


@pytest.mark.parametrize(("question", "line", "parsed"), [row[1:] for row in TYPED], ids=[row[0] for row in TYPED])
def test_typed_line(question: Question, line: str, parsed: Answer | Skip) -> None:
    """A typed line is a position, a label, a skip or own words; raw questions will do."""
    assert parse_answer(line, question) == parsed
    assert parse_answer(line, question.raw) == parsed


@pytest.mark.parametrize(
    ("question", "line", "says"),
    [
        (DATABASE, "1,2", "Only one"),
        (DATABASE, "9", "no option 9"),
        (DATABASE, "0", "1 to 2"),
        (FEATURES, "1,9", "no option 9"),
        (DATABASE, "9" * 10_000, "no option 999"),
        (DATABASE, "=", "after the ="),
    ],
    ids=["several in a single-select", "out of range", "zero", "one of several", "huge", "nothing literal"],
)
def test_invalid_line(question: Question, line: str, says: str) -> None:
    """A line that cannot be meant says why, briefly."""
    parsed = parse_answer(line, question)
    assert isinstance(parsed, Invalid)
    assert says in parsed.reason
    assert len(parsed.reason) < 200


@given(st.text(max_size=20), st.sampled_from([*CARD, PORTS, COMMA]))
def test_every_typed_answer_is_accepted(line: str, question: Question) -> None:
    """Whatever a typed line becomes, its values are a valid answer to its question."""
    match parse_answer(line, question):
        case Answer(values=values):
            assert read_answers([question], {"answers": {question.question: list(values)}}).labels(question)
        case Skip():
            assert not says_something(line)
        case Invalid(reason=reason):
            assert reason
