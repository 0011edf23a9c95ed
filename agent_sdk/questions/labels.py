"""Which labels a text means: exactly before by case-folding, one label before several."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import TypeAlias

from agent_sdk.questions.schema import Question

Match: TypeAlias = Callable[[str], str]


def _exact(text: str) -> str:
    return text.strip()


def _folded(text: str) -> str:
    return text.strip().casefold()


def _label(text: str, question: Question, match: Match) -> str | None:
    """The one label that equals `text` under `match`; `None` when none does, or more than one."""
    wanted = match(text)
    found = [label for label in question.labels if match(label) == wanted]
    return found[0] if len(found) == 1 else None


def any_label(text: str, question: Question) -> str | None:
    """The one label that `text` is, exactly or else but for its case."""
    exact = _label(text, question, _exact)
    return exact if exact is not None else _label(text, question, _folded)


def as_labels(text: str, question: Question) -> tuple[str, ...]:
    """The labels that `text` spells: one, or in a multi-select several joined by `", "`; empty when it spells none.

    A case-folded reading counts only where no exact one, of one label or of several, is found.
    """
    for match in (_exact, _folded):
        label = _label(text, question, match)
        if label is not None:
            return (label,)
        if question.multi_select and (several := _cut(text, question, match)):
            return several
    return ()


def _cut(text: str, question: Question, match: Match) -> tuple[str, ...]:
    """Cut `text` at `", "` so that every piece is a label, the longest possible one first; empty when that fails."""
    pieces = text.split(", ")
    span = max((label.count(", ") for label in question.labels), default=0) + 1
    tails: list[tuple[str, ...] | None] = [None] * len(pieces) + [()]
    for start in range(len(pieces) - 1, -1, -1):
        for end in range(min(start + span, len(pieces)), start, -1):
            tail = tails[end]
            label = None if tail is None else _label(", ".join(pieces[start:end]), question, match)
            if tail is not None and label is not None:
                tails[start] = distinct([label, *tail])
                break
    return tails[0] or ()


def distinct(values: Sequence[str]) -> tuple[str, ...]:
    """The values in their order, each one once."""
    return tuple(dict.fromkeys(values))


def position(token: str, question: Question) -> int | None:
    """The index of the option whose number `token` is, digits of any script; `None` when there is no such option."""
    if not token.isdecimal():
        return None
    digits = "".join(str(int(digit)) for digit in token).lstrip("0")
    number = int(digits) if 0 < len(digits) < 4 else 0
    return number - 1 if 1 <= number <= len(question.options) else None


def says_something(text: str) -> bool:
    """Whether anything in the text can be seen: blanks and invisible characters are no answer."""
    return any(not char.isspace() and unicodedata.category(char) not in ("Cf", "Cc") for char in text)
