"""What came back: checked against the questions, kept as lists, never guessed.

Nothing said is nothing answered. What cannot be meant for these questions is the application's error, not an answer.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_sdk.questions.labels import any_label, as_labels, distinct, position, says_something
from agent_sdk.questions.schema import (
    Question,
    Questions,
    as_questions,
    decoded,
    kind_of,
    number_problem,
    quoted,
)
from agent_sdk.values import Json, JsonObject

_log = logging.getLogger("agent_sdk.questions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back for one question. `values` holds labels and own words; empty = not answered.

    `notes` and `preview` are empty when there are none. A note is a remark: it does not answer the question.
    """

    question: Question
    values: tuple[str, ...] = ()
    notes: str = ""
    preview: str = ""

    @property
    def own_words(self) -> bool:
        """True when something in it is no label of the question."""
        return any(value not in self.question.labels for value in self.values)


@dataclass(frozen=True, slots=True)
class Answers:
    """All that came back for a card: one `Reply` per question in their order, and a free `response` to the whole."""

    replies: tuple[Reply, ...]
    response: str = ""

    def reply(self, question: Question | str) -> Reply:
        """The reply to a question, given as a value or as its text. Raises ValueError for one that was not asked."""
        text = question if isinstance(question, str) else question.question
        for reply in self.replies:
            if reply.question.question == text:
                return reply
        raise ValueError(f"{quoted(text)} was not asked on this card")

    def labels(self, question: Question | str) -> list[str]:
        """The chosen labels and own words, a list for single-select questions too; empty = not answered.

        Raises ValueError for a question that was not asked.
        """
        return list(self.reply(question).values)

    def notes(self, question: Question | str) -> str:
        """The note beside the answer, or `""`. Raises ValueError for a question that was not asked."""
        return self.reply(question).notes

    def preview(self, question: Question | str) -> str:
        """The preview that was handed back, or `""`. Raises ValueError for a question that was not asked."""
        return self.reply(question).preview

    @property
    def pairs(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The answered questions: text and values, in the order of the questions."""
        return tuple((reply.question.question, reply.values) for reply in self.replies if reply.values)

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The texts of the questions that are open."""
        return tuple(reply.question.question for reply in self.replies if not reply.values)

    def given(self) -> dict[str, Json]:
        """The person's part of a tool input: `answers` always, `annotations` and `response` when there are any.

        A multi-select question's answer is a list, however few it holds; `read_answers` reads it back unchanged.
        """
        part: dict[str, Json] = {
            "answers": {reply.question.question: _value(reply) for reply in self.replies if reply.values}
        }
        annotations = {reply.question.question: note for reply in self.replies if (note := _annotation(reply))}
        if annotations:
            part["annotations"] = annotations
        if self.response:
            part["response"] = self.response
        return part

    def as_value(self) -> dict[str, Json]:
        """The value for the application: `{questions, answers, annotations, response, unanswered}`, all five always."""
        return {
            "questions": [reply.question.raw for reply in self.replies],
            "answers": {},
            "annotations": {},
            "response": None,
            **self.given(),
            "unanswered": list(self.unanswered),
        }


def read_answers(questions: Questions, updated_input: JsonObject | None) -> Answers:
    """Read `answers`, `annotations` and `response` out of what a hook or person handed back.

    An answer is a label, own words, or for multi-select a list of them. `None`, blanks, an empty list or a missing
    key leave the question open. `questions` may be missing from `updated_input`; if not, texts and order must be those
    that were asked. An answer that is a bare option number is passed on as typed, with one warning in the log.

    Raises ValueError, naming the fault: a key that is no question text, several items for a single-select question,
    a value of another type, other questions.
    """
    answers = collect(questions, updated_input)
    for reply in answers.replies:
        number = _bare_number(reply)
        if number is not None:
            _log.warning(
                "AskUserQuestion: %s was answered with the number %s, which no option is called; the model is told the "
                "number as typed. agent_sdk.questions.parse_answer turns typed numbers into labels.",
                quoted(reply.question.question),
                quoted(number),
            )
            break
    return answers


def collect(questions: Questions, updated_input: JsonObject | None) -> Answers:
    """`read_answers` without its warning, for reading once more what was read before."""
    asked = as_questions(questions)
    if updated_input is None:
        return Answers(tuple(Reply(question=question) for question in asked))
    if not isinstance(updated_input, Mapping):
        raise ValueError(f"the updated input must be an object, got {kind_of(updated_input)}")
    _check_same_questions(asked, updated_input.get("questions"))
    answers = _keyed(asked, updated_input.get("answers"), "answers")
    annotations = _keyed(asked, updated_input.get("annotations"), "annotations")
    replies = [
        _reply(question, answers.get(question.question), annotations.get(question.question)) for question in asked
    ]
    return Answers(tuple(replies), _text(updated_input.get("response"), "response").strip())


def _check_same_questions(asked: Sequence[Question], came_back: Json) -> None:
    if came_back is None:
        return
    items = decoded(came_back)
    items = items if isinstance(items, list | tuple) else ()
    texts = [item.get("question") if isinstance(item, Mapping) else None for item in items]
    if texts != [question.question for question in asked]:
        raise ValueError("the questions that came back are not those that were asked: leave them out, or unchanged")


def _keyed(asked: Sequence[Question], value: Json, what: str) -> JsonObject:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} must be an object keyed by the question text, got {kind_of(value)}")
    for key in value:
        if not any(question.question == key for question in asked):
            raise ValueError(f"{what} are keyed by the question text; got {_describe_key(key, asked)}")
    return value


def _describe_key(key: object, asked: Sequence[Question]) -> str:
    if not isinstance(key, str):
        return f"index {key!r}" if isinstance(key, int) else kind_of(key)
    if any(key.strip() == question.header.strip() for question in asked):
        return f"header {quoted(key)}"
    if key.strip().isdecimal():
        return f"index {quoted(key)}"
    if any(key in question.labels for question in asked):
        return f"option label {quoted(key)}"
    return f"{quoted(key)}, which was not asked"


def _reply(question: Question, value: Json, annotation: Json) -> Reply:
    where = f"annotations[{quoted(question.question)}]"
    if annotation is not None and not isinstance(annotation, Mapping):
        raise ValueError(f"{where} must be an object with notes or preview, got {kind_of(annotation)}")
    remarks = annotation or {}
    preview = _text(remarks.get("preview"), f"{where}.preview")
    return Reply(
        question=question,
        values=resolve(question, value),
        notes=_text(remarks.get("notes"), f"{where}.notes").strip(),
        preview=preview if preview.strip() else "",
    )


def _text(value: Json, where: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise ValueError(f"{where} must be a string, got {kind_of(value)}")


def resolve(question: Question, value: Json) -> tuple[str, ...]:
    """The labels and own words that one answer stands for; empty when it says nothing.

    A `number` question takes numbers as well as texts, and keeps them as text.

    Raises ValueError for a value of another type than text, a list of texts or `None`, for several items when only
    one may be chosen, and for what is no number in range when one was asked for.
    """
    where = f"answers[{quoted(question.question)}]"
    if question.kind == "number":
        return _resolve_number(question, value, where)
    if isinstance(value, list | tuple):
        for item in value:
            if not isinstance(item, str):
                raise ValueError(f"{where} must be a list of strings, got {kind_of(item)} in it")
        given = [item.strip() for item in value if isinstance(item, str) and says_something(item)]
        if len(given) > 1 and not question.multi_select:
            raise ValueError(f"{where} takes one answer, got a list of {len(given)}: the question is single-select")
        return distinct([any_label(item, question) or item for item in given])
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{where} must be a string or a list of strings, got {kind_of(value)}")
    words = (value or "").strip() if says_something(value or "") else ""
    if not words:
        return ()
    return as_labels(words, question) or (words,)


def _resolve_number(question: Question, value: Json, where: str) -> tuple[str, ...]:
    if isinstance(value, list | tuple):
        if len(value) > 1:
            raise ValueError(f"{where} takes one number, got a list of {len(value)}")
        value = value[0] if value else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = f"{value:.15g}" if isinstance(value, float) else str(value)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{where} must be a number, got {kind_of(value)}")
    text = (value or "").strip()
    if text and (problem := number_problem(text, question)) is not None:
        raise ValueError(f"{where}: {problem.rstrip('.')}")
    return (text,) if text else ()


def _value(reply: Reply) -> Json:
    return list(reply.values) if reply.question.multi_select else reply.values[0]


def _annotation(reply: Reply) -> dict[str, Json]:
    named = {"preview": reply.preview, "notes": reply.notes}
    return {name: text for name, text in named.items() if text}


def _bare_number(reply: Reply) -> str | None:
    for value in reply.values:
        if value not in reply.question.labels and position(value, reply.question) is not None:
            return value
    return None
