"""The AskUserQuestion tool: what is made of the model's input, of what comes back, and of both together."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from agent_sdk.config import AskUserQuestionConfig
from agent_sdk.errors import ToolError
from agent_sdk.tools.ask_user_question import SYSTEM_SENTENCE, ask_user_question_tool, nobody_result, unanswered_result
from agent_sdk.tools.base import ToolContext
from tests.questions.cards import CARD

TOOL = ask_user_question_tool(AskUserQuestionConfig())
DB, FT, DP = (question.question for question in CARD)
ASKED: dict[str, Any] = {"questions": [question.raw for question in CARD], "metadata": {"source": "plan"}}
CONTEXT = ToolContext(cwd="/", tool_use_id="toolu_1")


def accept(update: dict[str, Any], current: dict[str, Any] = ASKED) -> dict[str, Any]:
    assert TOOL.accept is not None
    return dict(TOOL.accept(current, update))


def test_what_the_rules_know() -> None:
    """A person takes part in every call, and nothing is changed by it."""
    facts = TOOL.facts(ASKED)
    assert (facts.name, facts.read_only, facts.interaction) == ("AskUserQuestion", True, True)


def test_manual() -> None:
    """The description says when to ask, how, and when not; the schema is JSON."""
    for part in ("really the person's", "single call", "(Recommended)", '"Other"', "permission", "plan", "again"):
        assert part in TOOL.description
    assert json.loads(json.dumps(TOOL.definition))["input_schema"]["required"] == ["questions"]
    assert "only if the answer changes what you do" in SYSTEM_SENTENCE


def test_previews_are_described_on_request() -> None:
    """`preview_format` alone decides whether the model hears of previews."""
    with_previews = ask_user_question_tool(AskUserQuestionConfig(preview_format="markdown"))
    assert "preview" in json.dumps(with_previews.definition)
    assert "preview" not in json.dumps(TOOL.definition)


def test_check_tells_the_fault() -> None:
    """`check` is silent for a good input and gives one sentence for a bad one."""
    assert TOOL.check(ASKED) is None
    assert "got 0" in (TOOL.check({"questions": []}) or "")


def test_prepare_takes_out_what_the_model_answered(caplog: pytest.LogCaptureFixture) -> None:
    """The model's own answers are gone before anyone sees the card, and oddities are logged."""
    assert TOOL.prepare is not None
    odd = [{**ASKED["questions"][1], "header": "A header that is long"}]
    odd[0]["options"][0]["preview"] = "p"
    with caplog.at_level(logging.INFO, "agent_sdk"):
        prepared = TOOL.prepare({"questions": json.dumps(odd), "answers": {FT: "RSS"}})
    assert prepared == {"questions": odd}
    assert ["shortened" in caplog.messages[0], "ignored" in caplog.messages[1]] == [True, True]
    assert TOOL.prepare({"questions": 5}) == {"questions": 5}


ACCEPTED: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = [
    ("only answers", {"answers": {DB: "sqlite"}}, {"answers": {DB: "SQLite"}}, True),
    ("questions echoed", {**ASKED, "answers": {FT: "RSS, Comments"}}, {"answers": {FT: ["RSS", "Comments"]}}, True),
    ("a list stays a list", {"answers": {FT: ["RSS"]}}, {"answers": {FT: ["RSS"]}}, True),
    ("nothing", {}, {}, False),
    ("an echo", ASKED, {}, False),
    ("blanks", {"answers": {DB: " "}}, {"answers": {}}, False),
    ("a reply", {"response": "later"}, {"answers": {}, "response": "later"}, True),
    (
        "a note alone",
        {"annotations": {DB: {"notes": "n"}}},
        {"answers": {}, "annotations": {DB: {"notes": "n"}}},
        False,
    ),
]


@pytest.mark.parametrize(
    ("update", "part", "answered"), [row[1:] for row in ACCEPTED], ids=[row[0] for row in ACCEPTED]
)
def test_accept(update: dict[str, Any], part: dict[str, Any], answered: bool) -> None:
    """The questions stay as they were asked; the person's part is taken over, checked and tidied."""
    merged = accept(update)
    assert merged == {**ASKED, **part}
    assert TOOL.check(merged) is None
    assert TOOL.answered is not None
    assert TOOL.answered(merged) is answered
    assert accept(merged, merged) == merged


def test_the_originals_are_used() -> None:
    """Changes beside texts and order do not reach the tool."""
    changed = [{**question, "header": "x", "options": []} for question in ASKED["questions"]]
    assert accept({"questions": changed, "answers": {DB: "SQLite"}})["questions"] == ASKED["questions"]


def test_an_update_replaces_what_was_answered_before() -> None:
    """The last word counts whole: earlier answers are not mixed in."""
    earlier = accept({"answers": {DB: "SQLite"}, "response": "r"})
    assert accept({"answers": {DP: "Cloud"}}, earlier) == {**ASKED, "answers": {DP: "Cloud"}}
    assert accept({"questions": ASKED["questions"]}, earlier) == ASKED


@pytest.mark.parametrize(
    ("update", "says"),
    [
        ({"answers": {"Database": "SQLite"}}, "header 'Database'"),
        ({"questions": [], "answers": {}}, "questions that came back"),
        ({"answer": {DB: "SQLite"}}, "'answer'"),
        ({"answers": "SQLite"}, "must be an object"),
    ],
    ids=["wrong key", "other questions", "misspelt field", "no object"],
)
def test_refuse(update: dict[str, Any], says: str) -> None:
    """An update that does not fit raises ValueError that names the fault."""
    with pytest.raises(ValueError, match=says):
        accept(update)


def test_unreadable_input_is_not_answered() -> None:
    """An input with a wrong key does not count as answered by anyone."""
    assert TOOL.answered is not None
    assert TOOL.answered({**ASKED, "answers": {"Database": "SQLite"}}) is False


@pytest.mark.anyio
async def test_run() -> None:
    """Running gives the text to the model and the value to the application."""
    result = await TOOL.run(accept({"answers": {DB: "SQLite", FT: ["RSS"]}}), CONTEXT)
    assert result.content == (
        f'Your questions have been answered: "{DB}"="SQLite", "{FT}"="RSS". '
        f'You can now continue with these answers in mind. Not answered: "{DP}".'
    )
    assert result.value == {
        "questions": ASKED["questions"],
        "answers": {DB: "SQLite", FT: ["RSS"]},
        "annotations": {},
        "response": None,
        "unanswered": [DP],
    }
    assert not result.is_error


@pytest.mark.anyio
async def test_run_without_answers() -> None:
    """A yes without answers is a person who declined, never a choice."""
    result = await TOOL.run(ASKED, CONTEXT)
    assert str(result.content).startswith("User declined to answer questions.")
    assert not result.is_error


@pytest.mark.anyio
async def test_run_refuses_what_was_never_accepted(caplog: pytest.LogCaptureFixture) -> None:
    """Answers that went around `accept` are an error for the log, and not told as answers."""
    with pytest.raises(ToolError, match="nothing is answered"):
        await TOOL.run({**ASKED, "answers": {"Database": "SQLite"}}, CONTEXT)
    assert "header 'Database'" in caplog.text


def test_time_limit_and_nobody() -> None:
    """A passed time limit is no error and leaves all open; nobody being there is an error."""
    late = unanswered_result(60, ASKED)
    assert "did not answer within 60 s" in str(late.content)
    assert not late.is_error
    assert isinstance(late.value, dict)
    assert late.value["unanswered"] == [DB, FT, DP]
    assert nobody_result().is_error
