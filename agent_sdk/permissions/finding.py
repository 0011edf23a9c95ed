"""What the judge finds, and what it found before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from agent_sdk.calls import ToolFacts
from agent_sdk.decisions import Behavior, Opinion, Trace
from agent_sdk.rules.files import Glance
from agent_sdk.rules.reading import Named

_MAX_KEPT = 1_024
_MAX_LETTERS = 4_000
"""In all names that were seen together. To look at more again would cost as much as judging anew, and what is kept must
not grow with what a model sends.
"""


@dataclass(slots=True, kw_only=True)  # not frozen, though never changed: it is made for every judgement
class Finding:
    """What a step decided. `kind` is the interop word for the reason of a prompt."""

    behavior: Behavior
    decision: Opinion
    by: str
    reason: str = ""
    kind: str = "other"
    rule: str | None = None
    where: str | None = None
    fix: str = ""


Ruling: TypeAlias = tuple[Finding, Trace]
Question: TypeAlias = tuple[str, Named]
"""The tool, and what the rules look at in its input."""


class Precedents:
    """Rulings under one snapshot, each with everything that was seen of the disk for it.

    A ruling follows from the question, from the facts of the tool, from the snapshot and from what the disk said, and
    from nothing else. So it holds again when the disk, looked at anew, says the same of every
    name: nothing that was seen is taken for granted, only the thinking is saved. (What links in very many rules lead to
    is followed once and kept by the rules, with precedents and without.)
    """

    def __init__(self) -> None:
        self._kept: dict[Question, tuple[ToolFacts, Ruling, Glance]] = {}

    def find(self, question: Question, facts: ToolFacts) -> tuple[Ruling, Glance] | None:
        """The ruling on the same question and what was seen for it, if the disk still says what it said then."""
        kept = self._kept.get(question)
        if kept is None:
            return None
        then, ruling, seen = kept
        return (ruling, seen) if (then is facts or then == facts) and seen.still_so() else None

    def keep(self, question: Question, facts: ToolFacts, ruling: Ruling, seen: Glance) -> None:
        """Remember a ruling. Bounded: what is kept is dropped when it has become too much."""
        if seen.letters > _MAX_LETTERS:
            return
        if len(self._kept) >= _MAX_KEPT:
            self._kept.clear()
        self._kept[question] = (facts, ruling, seen)
