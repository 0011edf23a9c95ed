"""The text that the model reads about a card.

No answer can pass for another one. Between the double quotes and in notes, previews and the free response, every double
quote, backslash, line break and control character is written as an escape, so that an unescaped double quote is always
ours. Two exceptions keep previews readable: their line breaks and tabs stay, as no structure hangs on these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from agent_sdk.questions.answers import Answers, Reply, read_answers
from agent_sdk.questions.schema import Questions
from agent_sdk.values import Json

TEXT_LIMIT = 100_000
"""The most characters that a result has."""

DECLINED = (
    "User declined to answer questions. Nothing was chosen and nothing agreed to: ask in plain words what they want "
    "instead, do not guess."
)
NOBODY = (
    "The user is not available: nobody can answer questions in this mode. Go on with sensible defaults and state the "
    "assumptions that you make."
)

_ALL_LABELS = ("Your questions have been answered: ", ". You can now continue with these answers in mind.")
_OWN_WORDS = (
    "The user answered: ",
    ". Read the answers carefully: they may ask for clarification or changes, or ask you not to proceed. "
    "Follow what they actually say.",
)
_RESPONSE = "The user responded: "
_OPEN = ("Not answered: ", ".")
_PREVIEW = " selected preview:\n"
_NOTES = " user notes: "

_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_TO_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]')
_TO_ESCAPE_IN_PREVIEWS = re.compile(r'["\\\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]')
"""Control characters, line breaks of every kind, lone surrogates; a preview keeps its tabs and line feeds."""


def format_answers(
    questions: Questions,
    answers: Mapping[str, Json],
    annotations: Mapping[str, Json] | None = None,
    response: str | None = None,
) -> str:
    """The text for the model. `answers` maps question texts to a label, own words, or a list of them; `annotations`
    maps them to `{notes, preview}`; `response` is a free reply to the whole card.

    Raises ValueError for what `read_answers` refuses, such as a key that is no question text.
    """
    return format_result(
        read_answers(questions, {"answers": answers, "annotations": annotations, "response": response})
    )


def format_result(answers: Answers) -> str:
    """The text for the model, at most `TEXT_LIMIT` characters: when there is more, the longest parts are cut in the
    middle and say how much is missing. Nothing answered, noted or replied is `DECLINED`.
    """
    if not answers.response and not any(reply.values or reply.notes for reply in answers.replies):
        return DECLINED
    text = _render(answers, TEXT_LIMIT)
    if len(text) <= TEXT_LIMIT:
        return text
    fits, too_much = 0, TEXT_LIMIT
    while too_much - fits > 1:
        part = (fits + too_much) // 2
        if len(_render(answers, part)) <= TEXT_LIMIT:
            fits = part
        else:
            too_much = part
    return _render(answers, fits)


def timed_out(seconds: float) -> str:
    """The text for a card whose time limit of `seconds` passed."""
    return (
        f"The user did not answer within {round(seconds, 3):.15g} s. Go on with sensible defaults and state the "
        "assumptions that you make; do not ask the same again at once."
    )


def _render(answers: Answers, part: int) -> str:
    """The whole text, each part of it cut to `part` characters before it is escaped."""
    answered = [reply for reply in answers.replies if reply.values]
    still_open = [reply for reply in answers.replies if not reply.values]
    sentences: list[str] = []
    if answered:
        own_words = any(reply.own_words for reply in answered) or any(reply.notes for reply in answers.replies)
        sentences.append(_listed(_OWN_WORDS if own_words else _ALL_LABELS, answered, part, _pair))
    if still_open:
        sentences.append(_listed(_OPEN, still_open, part, _open_question))
    text = " ".join(sentences)
    if not answers.response:
        return text
    response = _RESPONSE + _escaped(_shortened(answers.response, part))
    return f"{response}\n{text}" if text else response


def _listed(frame: tuple[str, str], replies: Sequence[Reply], part: int, written: Callable[[Reply, int], str]) -> str:
    before, after = frame
    return before + ", ".join(written(reply, part) for reply in replies) + after


def _pair(reply: Reply, part: int) -> str:
    question, answer = _quoted(reply.question.question, part), _quoted(", ".join(reply.values), part)
    return f"{question}={answer}{_preview(reply.preview, part)}{_notes(reply.notes, part)}"


def _open_question(reply: Reply, part: int) -> str:
    return _quoted(reply.question.question, part) + _notes(reply.notes, part)


def _preview(preview: str, part: int) -> str:
    if not preview:
        return ""
    text = _TO_ESCAPE_IN_PREVIEWS.sub(_escape, _shortened(preview.replace("\r\n", "\n"), part))
    # A note begins at these words: a preview that holds them must not seem to end there.
    return _PREVIEW + text.replace(" user notes:", " user notes\\:")


def _notes(notes: str, part: int) -> str:
    return _NOTES + _escaped(_shortened(notes, part)) if notes else ""


def _quoted(text: str, part: int) -> str:
    return f'"{_escaped(_shortened(text, part))}"'


def _escaped(text: str) -> str:
    return _TO_ESCAPE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    char = found.group()
    return _SHORT_ESCAPES.get(char, f"\\u{ord(char):04x}")


def _shortened(text: str, part: int) -> str:
    """`text` with its middle taken out, when it is longer than `part` characters."""
    if len(text) <= part:
        return text
    head, tail = part - part // 2, part // 2
    return f"{text[:head]} [… {len(text) - part} characters left out …] {text[len(text) - tail :]}"
