"""A line that a person typed below numbered options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agent_sdk.questions.labels import any_label, as_labels, distinct, position, says_something
from agent_sdk.questions.schema import Question, as_question, number_problem
from agent_sdk.values import JsonObject

_PLAIN_MARKS = str.maketrans("．－＋−", ".-+-")
_SEPARATORS = re.compile("[,，、]")
_NUMBERS = re.compile(r"\d+\s*(?:[,，、]\s*\d+\s*)*[,，、]?")


@dataclass(frozen=True, slots=True)
class Answer:
    """A typed line that answers: labels, or own words. `list(values)` fits into `answers` for every question."""

    values: tuple[str, ...]
    own_words: bool = False


@dataclass(frozen=True, slots=True)
class Skip:
    """An empty line: the question stays open."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """A line that cannot be meant: ask again. `reason` is one sentence for the person."""

    reason: str


Parsed: TypeAlias = Answer | Skip | Invalid


def parse_answer(line: str, question: Question | JsonObject) -> Parsed:
    """Read a line that a person typed below numbered options.

    `2` is the second option; `1,3`, `1，3`, `1、3` are several; digits may be full-width. A label may be typed out, and
    one that is itself a number wins over a position. `=8080` means the words `8080`. An empty line skips. Anything else
    is the person's own words. Several numbers in a single-select question, and numbers out of range, are `Invalid`.
    Where a text is asked for every line that is not empty is the answer; where a number is, only a number in range.

    Raises ValueError when `question` is raw JSON that is no question.
    """
    asked = as_question(question)
    words = line.strip()
    if not says_something(words):
        return Skip()
    if asked.kind == "text":
        return Answer((words,), own_words=True)
    if asked.kind == "number":
        return _number(words, asked)
    known = as_labels(words, asked)
    if known:
        return Answer(known)
    if words[0] in "=＝":
        literal = words[1:].strip()
        if not says_something(literal):
            return Invalid("Write the words after the = sign.")
        return Answer((literal,), own_words=literal not in asked.labels)
    if _NUMBERS.fullmatch(words):
        return _by_number([token.strip() for token in _SEPARATORS.split(words) if token.strip()], asked)
    return Answer((words,), own_words=True)


def _number(words: str, question: Question) -> Parsed:
    """A typed number, digits of any script, as plain digits."""
    plain = "".join(str(int(char)) if char.isdecimal() else char for char in words).translate(_PLAIN_MARKS)
    problem = number_problem(plain, question)
    return Answer((plain,), own_words=True) if problem is None else Invalid(problem)


def _by_number(tokens: Sequence[str], question: Question) -> Parsed:
    if len(tokens) > 1 and not question.multi_select:
        return Invalid("Only one option can be chosen here: type one number, or your own words after an = sign.")
    chosen: list[str] = []
    for token in tokens:
        label = _numbered(token, question)
        if label is None:
            count = len(question.options)
            shown = token if len(token) <= 20 else token[:20] + "…"
            return Invalid(f"There is no option {shown}: type a number from 1 to {count}, or ={shown} for the words.")
        chosen.append(label)
    return Answer(distinct(chosen))


def _numbered(token: str, question: Question) -> str | None:
    label = any_label(token, question)
    place = position(token, question)
    if label is not None or place is None:
        return label
    return question.labels[place]
