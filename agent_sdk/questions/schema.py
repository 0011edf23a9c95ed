"""What the agent may ask: the typed form of an AskUserQuestion input, and the schema that the model is given.

Raw JSON becomes values here and nowhere else. Whatever does not fit ends in one sentence that the model can act on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Literal, TypeAlias, get_args

from agent_sdk.values import Json, JsonObject

Kind: TypeAlias = Literal["choice", "text", "number"]
"""What a question is answered with: options, a text, or a number. `text` and `number` are opt-in."""

KINDS: tuple[Kind, ...] = get_args(Kind)

QUESTION_LIMITS = (1, 4)
OPTION_LIMITS = (2, 4)
HEADER_WIDTH = 12
PERSONS_PART = ("answers", "annotations", "response")
"""The fields that only a hook or a person may fill."""

_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
_FIELDS = ("questions", "metadata", *PERSONS_PART)


@dataclass(frozen=True, slots=True)
class QuestionOption:
    """One choice. `label` is its only name; `preview` is shown beside it and may have many lines."""

    label: str
    description: str
    preview: str | None = None

    @property
    def raw(self) -> dict[str, Json]:
        """The option as JSON, with the key names of the wire."""
        raw: dict[str, Json] = {"label": self.label, "description": self.description}
        return raw if self.preview is None else {**raw, "preview": self.preview}


@dataclass(frozen=True, slots=True)
class Question:
    """One question. `question` is the text that answers are keyed by; `options` is kept as a tuple.

    A question of kind `text` or `number` has no options; `low` and `high` bound a number, both included.
    """

    question: str
    header: str
    options: Sequence[QuestionOption] = ()
    multi_select: bool = False
    kind: Kind = "choice"
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", tuple(self.options))

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in the order of the options."""
        return tuple(option.label for option in self.options)

    @property
    def raw(self) -> dict[str, Json]:
        """The question as JSON, with the key names of the wire; `as_question` reads it back."""
        if self.kind != "choice":
            limits = {"min": self.low, "max": self.high}
            asked: dict[str, Json] = {"question": self.question, "header": self.header, "kind": self.kind}
            return {**asked, **{name: limit for name, limit in limits.items() if limit is not None}}
        return {
            "question": self.question,
            "header": self.header,
            "options": [option.raw for option in self.options],
            "multiSelect": self.multi_select,
        }


@dataclass(frozen=True, slots=True)
class AskUserQuestionInput:
    """A whole card: one to four questions. `metadata` is what the model said about where they come from."""

    questions: Sequence[Question]
    metadata: JsonObject = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", tuple(self.questions))


Questions: TypeAlias = AskUserQuestionInput | JsonObject | Sequence[Question | JsonObject] | str
"""A card in any of its forms: parsed, the raw input, its questions (parsed or raw), or those as JSON text."""


def parse_input(raw: JsonObject) -> AskUserQuestionInput:
    """The typed form of a tool input. `questions` may be JSON text. Fields inside a question that have no meaning
    here are ignored; so are the fields of the person's part, which `read_answers` reads.

    Raises ValueError with one sentence for the model: the field, the limit in digits, what to do.
    """
    for name in raw:
        if name not in _FIELDS:
            raise ValueError(f"Unknown field {quoted(name)}: the fields are questions and metadata; leave it out.")
    if "questions" not in raw:
        raise ValueError("questions is missing: send an array of 1 to 4 questions.")
    items = _array(decoded(raw["questions"]), "questions")
    low, high = QUESTION_LIMITS
    if not low <= len(items) <= high:
        todo = "drop those whose answer would not change what you do" if items else "call the tool only to ask"
        raise ValueError(f"questions holds {low} to {high} questions in one call, got {len(items)}: {todo}.")
    parsed = [_parse_question(item, f"questions[{index}]") for index, item in enumerate(items)]
    return AskUserQuestionInput(_distinct(parsed), _parse_metadata(raw.get("metadata")))


def as_question(value: Question | JsonObject) -> Question:
    """A single question from either form. Raises ValueError for raw JSON that is no question."""
    return _question_at(value, "question")


def as_questions(value: Questions) -> tuple[Question, ...]:
    """The questions of a card in any of its forms, however many. Raises ValueError when one cannot be read."""
    if isinstance(value, AskUserQuestionInput):
        return tuple(value.questions)
    items: Sequence[Question | Json]
    match value:
        case Mapping():
            items = _array(decoded(value.get("questions")), "questions")
        case str():
            items = _array(decoded(value), "questions")
        case _:
            items = value
    return _distinct([_question_at(item, f"questions[{index}]") for index, item in enumerate(items)])


def tidy(raw: JsonObject) -> JsonObject:
    """What is done to the model's input before anyone sees it; never raises.

    The person's part is taken out: the model does not answer for them. `questions` as JSON text becomes an array, and
    a missing `multiSelect` becomes false. Whatever is too odd for that stays as it is, for `parse_input` to refuse.
    """
    tidied = {name: value for name, value in raw.items() if name not in PERSONS_PART}
    items = decoded(tidied.get("questions"))
    if isinstance(items, list | tuple):
        tidied["questions"] = [
            {**item, "multiSelect": False} if isinstance(item, Mapping) and _lacks_multi_select(item) else item
            for item in items
        ]
    return tidied


def _lacks_multi_select(item: JsonObject) -> bool:
    return "multiSelect" not in item and item.get("kind", "choice") == "choice"


def is_recommended(option: QuestionOption) -> bool:
    """True when the label ends with "(Recommended)", as the model is told to mark the option that it would take."""
    return option.label.rstrip().casefold().endswith("(recommended)")


def recommended_first(question: Question) -> Question:
    """The question with its recommended options in front, for showing it; answers are labels and stay the same."""
    ordered = sorted(question.options, key=lambda option: not is_recommended(option))
    return question if ordered == list(question.options) else replace(question, options=ordered)


def number_problem(text: str, question: Question) -> str | None:
    """Why `text` is no answer to a `number` question, in one sentence for a person; `None` when it is one."""
    value = float(text) if _NUMBER.fullmatch(text) else float("nan")
    if not isfinite(value):
        return f"{quoted(text, 20)} is not a number: {range_words(question)}."
    if (question.low is not None and value < question.low) or (question.high is not None and value > question.high):
        return f"{text} is out of range: {range_words(question)}."
    return None


def range_words(question: Question) -> str:
    """Which numbers a `number` question takes, in words."""
    match question.low, question.high:
        case None, None:
            return "type a number"
        case low, None:
            return f"type a number, {low:.15g} or more"
        case None, high:
            return f"type a number, {high:.15g} or less"
        case low, high:
            return f"type a number from {low:.15g} to {high:.15g}"


def display_header(header: str) -> str:
    """The header as a chip: at most 12 characters, the last one an ellipsis when something was cut."""
    header = header.strip()
    return header if len(header) <= HEADER_WIDTH else header[: HEADER_WIDTH - 1].rstrip() + "…"


def quoted(text: str, width: int = 80) -> str:
    """`text` as it may stand in a one-line message: in quotes, made visible, cut to about `width` characters."""
    return repr(text if len(text) <= width else text[:width] + "…")


def kind_of(value: object) -> str:
    """What JSON calls the type of `value`, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "an array"
        case _:
            return f"a Python {type(value).__name__}"


def _question_at(value: Question | Json, where: str) -> Question:
    return value if isinstance(value, Question) else _parse_question(value, where)


def decoded(value: Json) -> Json:
    """The value behind JSON text; everything else, and text that is no JSON, as it is."""
    if not isinstance(value, str):
        return value
    try:
        inside: Json = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return inside


def _array(value: Json, where: str) -> Sequence[Json]:
    if isinstance(value, list | tuple):
        return value
    raise ValueError(f"{where} must be an array, got {kind_of(value)}: send a JSON array of objects.")


def _object(value: Json, where: str) -> JsonObject:
    if isinstance(value, Mapping):
        return value
    raise ValueError(f"{where} must be an object, got {kind_of(value)}.")


def _text(raw: JsonObject, name: str, where: str, *, blank: bool = False) -> str:
    if name not in raw:
        raise ValueError(f"{where}.{name} is missing: send it as a string.")
    value = raw[name]
    if not isinstance(value, str):
        raise ValueError(f"{where}.{name} must be a string, got {kind_of(value)}.")
    if not blank and not value.strip():
        raise ValueError(f"{where}.{name} is blank: write what the person shall read.")
    return value


def _parse_question(value: Json, where: str) -> Question:
    raw = _object(value, where)
    text = _text(raw, "question", where)
    header = _text(raw, "header", where, blank=True)
    kind = _parse_kind(raw, where)
    if kind != "choice":
        return _parse_open_question(raw, where, text, header, kind)
    if "options" not in raw:
        raise ValueError(f"{where}.options is missing: send an array of 2 to 4 options.")
    items = _array(raw["options"], f"{where}.options")
    _check_option_count(len(items), f"{where}.options")
    options = [_parse_option(item, f"{where}.options[{index}]") for index, item in enumerate(items)]
    twice = _first_repeated([option.label for option in options])
    if twice is not None:
        raise ValueError(
            f"{where}.options: the label {quoted(twice)} occurs twice; labels are unique within a question, "
            "so reword or drop one."
        )
    multi = raw.get("multiSelect", False)
    if not isinstance(multi, bool):
        raise ValueError(f"{where}.multiSelect must be true or false, got {kind_of(multi)}.")
    return Question(text, header, options, multi)


def _parse_kind(raw: JsonObject, where: str) -> Kind:
    given = raw.get("kind")
    for kind in KINDS:
        if given == kind:
            return kind
    if given is None:
        return "choice"
    shown = quoted(given) if isinstance(given, str) else kind_of(given)
    raise ValueError(f"{where}.kind is one of {', '.join(KINDS)}, got {shown}.")


def _parse_open_question(raw: JsonObject, where: str, text: str, header: str, kind: Kind) -> Question:
    """A question that is answered with a text or a number. `options: []` and `multiSelect: false` say nothing."""
    for name in ("options", "multiSelect"):
        if raw.get(name):
            raise ValueError(f"{where}.{name} does not go with kind {quoted(kind)}: leave it out, or ask a choice.")
    low, high = _limit(raw, "min", where, kind), _limit(raw, "max", where, kind)
    if low is not None and high is not None and low > high:
        raise ValueError(f"{where}.min is {low:.15g} and max is {high:.15g}: no number lies between.")
    return Question(text, header, kind=kind, low=low, high=high)


def _limit(raw: JsonObject, name: str, where: str, kind: Kind) -> float | None:
    value = raw.get(name)
    if value is None:
        return None
    if kind != "number":
        raise ValueError(f"{where}.{name} goes with kind 'number' only: leave it out.")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{where}.{name} must be a number, got {kind_of(value)}.")
    return value


def _check_option_count(count: int, where: str) -> None:
    low, high = OPTION_LIMITS
    if count < low:
        raise ValueError(
            f"{where} holds {low} to {high} options, got {count}: do not invent a filler; "
            "if there is no real choice, decide yourself and say so, or ask in plain text."
        )
    if count > high:
        raise ValueError(
            f"{where} holds {low} to {high} options, got {count}: keep the {high} best, "
            "the person can always answer in their own words."
        )


def _parse_option(value: Json, where: str) -> QuestionOption:
    raw = _object(value, where)
    label = _text(raw, "label", where)
    description = _text(raw, "description", where, blank=True)
    preview = raw.get("preview")
    if preview is not None and not isinstance(preview, str):
        raise ValueError(f"{where}.preview must be a string, got {kind_of(preview)}.")
    return QuestionOption(label, description, preview)


def _distinct(questions: Sequence[Question]) -> tuple[Question, ...]:
    twice = _first_repeated([question.question for question in questions])
    if twice is not None:
        raise ValueError(
            f"questions: {quoted(twice)} is asked twice; question texts are unique in a call, so reword or drop one."
        )
    return tuple(questions)


def _first_repeated(texts: Sequence[str]) -> str | None:
    seen: set[str] = set()
    for text in texts:
        if text.strip() in seen:
            return text
        seen.add(text.strip())
    return None


def _parse_metadata(value: Json) -> JsonObject:
    if value is None:
        return {}
    metadata = _object(value, "metadata")
    source = metadata.get("source")
    if source is not None and not isinstance(source, str):
        raise ValueError(f"metadata.source must be a string, got {kind_of(source)}.")
    return metadata
