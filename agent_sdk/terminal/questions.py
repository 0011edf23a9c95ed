"""A question card, line by line: every question once, own words always possible, Enter skips."""

from __future__ import annotations

from collections.abc import Sequence

from agent_sdk.decisions import Allow, Deny
from agent_sdk.questions.schema import Question
from agent_sdk.questions.typed import Answer, Invalid, Skip, parse_answer
from agent_sdk.render.card import ShownQuestion
from agent_sdk.terminal.console import Console, InputEnded
from agent_sdk.terminal.draw import question_lines
from agent_sdk.values import Json, JsonObject

ENDED = "Nobody answered: the input of the terminal ended before the questions were answered."


async def ask_questions(
    console: Console,
    tool_input: JsonObject,
    questions: Sequence[Question],
    shown: Sequence[ShownQuestion],
    *,
    by: str | None = None,
) -> Allow | Deny:
    """Ask all questions of a card and hand back the answers; skipped questions stay open.

    `shown` holds the same questions, safe to print. When the input ends, the rest stays open; when it ends before
    anything was answered, nobody was there, and the card is denied with those words.
    """
    answers: dict[str, Json] = {}
    try:
        for number, (question, drawn) in enumerate(zip(questions, shown, strict=True), 1):
            console.say(*question_lines(drawn, number, len(questions)))
            if number == 1:
                console.forget_typed()
            values = await _answer(console, question)
            if values:
                answers[question.question] = list(values) if question.multi_select else values[0]
    except InputEnded:
        console.say("(the input ended: what is not answered stays open)")
        if not answers:
            return Deny(ENDED, by=by)
    return Allow({"questions": tool_input["questions"], "answers": answers}, by=by)


async def _answer(console: Console, question: Question) -> tuple[str, ...]:
    """What was chosen or written; empty when the question was skipped. Raises InputEnded."""
    while True:
        match parse_answer(await console.ask(), question):
            case Answer(values):
                return values
            case Skip():
                return ()
            case Invalid(reason):
                console.say(reason)
