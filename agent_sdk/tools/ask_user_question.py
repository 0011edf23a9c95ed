"""The AskUserQuestion tool: the model asks, a person answers, the run goes on in the same turn.

The tool itself shows nothing. The card travels as a permission question; whoever answers it puts `answers` beside the
questions, and running the tool turns these into the text that the model reads.
"""

from __future__ import annotations

import logging
from functools import partial

from agent_sdk.calls import ToolResult
from agent_sdk.config import AskUserQuestionConfig
from agent_sdk.errors import ToolError
from agent_sdk.questions.answers import collect, read_answers
from agent_sdk.questions.manual import DESCRIPTION, SYSTEM_SENTENCE, input_schema
from agent_sdk.questions.previews import preview_problem
from agent_sdk.questions.schema import HEADER_WIDTH, PERSONS_PART, parse_input, quoted, tidy
from agent_sdk.questions.wording import NOBODY, format_result, timed_out
from agent_sdk.tools.base import Tool, ToolContext
from agent_sdk.values import JsonObject

NAME = "AskUserQuestion"

_log = logging.getLogger("agent_sdk.questions")

__all__ = ["NAME", "SYSTEM_SENTENCE", "ask_user_question_tool", "nobody_result", "unanswered_result"]


def ask_user_question_tool(config: AskUserQuestionConfig | None = None) -> Tool:
    """The tool as the model is offered it. `config` decides which kinds of questions it may ask, whether it is told of
    previews, and whether these are checked as HTML.

    A person takes part in every call. `accept(current, update)` keeps the questions that were asked and takes over
    `answers`, `annotations` and `response`; it raises ValueError for other questions, wrong keys and unknown fields.
    """
    config = config or AskUserQuestionConfig()
    return Tool(
        name=NAME,
        description=DESCRIPTION,
        input_schema=input_schema(preview=config.preview_format, kinds=config.kinds),
        run=_run,
        check=partial(_check, config),
        read_only=True,
        idempotent=True,
        ask=True,
        prepare=_prepare,
        accept=_accept,
        answered=_answered,
    )


def unanswered_result(seconds: float, tool_input: JsonObject) -> ToolResult:
    """What the model reads when the card's time limit of `seconds` passed. Not an error: nothing went wrong.

    Raises ValueError when `tool_input` holds no questions that can be read.
    """
    return ToolResult(timed_out(seconds), value=collect(parse_input(tool_input), None).as_value())


def nobody_result() -> ToolResult:
    """What the model reads when the run has nobody who could answer. An error result."""
    return ToolResult(NOBODY, is_error=True)


async def _run(tool_input: JsonObject, context: ToolContext) -> ToolResult:
    try:
        answers = collect(parse_input(tool_input), tool_input)
    except ValueError as error:
        _log.error("AskUserQuestion %s: the answers cannot be read: %s", context.tool_use_id, error)
        raise ToolError("The answers could not be read, so nothing is answered. Ask in plain words instead.") from None
    return ToolResult(format_result(answers), value=answers.as_value())


def _check(config: AskUserQuestionConfig, tool_input: JsonObject) -> str | None:
    try:
        card = parse_input(tool_input)
    except ValueError as error:
        return str(error)
    for number, question in enumerate(card.questions):
        if question.kind not in config.kinds:
            return f"questions[{number}].kind is one of {', '.join(config.kinds)} here, got {quoted(question.kind)}."
    return preview_problem(tuple(card.questions)) if config.preview_format == "html" else None


def _prepare(tool_input: JsonObject) -> JsonObject:
    tidied = tidy(tool_input)
    try:
        card = parse_input(tidied)
    except ValueError:
        return tidied
    for question in card.questions:
        if len(question.header) > HEADER_WIDTH:
            _log.info("AskUserQuestion: header %s is shortened for display", quoted(question.header))
        if question.multi_select and any(option.preview is not None for option in question.options):
            _log.info("AskUserQuestion: previews of multi-select question %s are ignored", quoted(question.question))
    return tidied


def _accept(current: JsonObject, update: JsonObject) -> JsonObject:
    for name in update:
        if name not in ("questions", "metadata", *PERSONS_PART):
            raise ValueError(f"AskUserQuestion takes back answers, annotations and response, got {quoted(str(name))}")
    given = read_answers(parse_input(current), update).given()
    asked = {name: value for name, value in current.items() if name not in PERSONS_PART}
    return {**asked, **given} if any(name in update for name in PERSONS_PART) else asked


def _answered(tool_input: JsonObject) -> bool:
    try:
        answers = collect(parse_input(tool_input), tool_input)
    except ValueError:
        return False
    return bool(answers.pairs or answers.response)
