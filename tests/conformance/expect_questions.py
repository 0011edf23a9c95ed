"""Checks on questions to the person and on the answers that came back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_sdk import UserMessage
from tests.conformance import conversation
from tests.conformance.expect import Seen, expects, same
from tests.conformance.findings import call_results

REPORTED = ("have been answered", "The user answered", '"="')


@expects("input_valid")
def input_valid(seen: Seen, wanted: bool) -> None:
    """A valid input is asked; for any other the model gets an error result and nobody is asked."""
    results = list(call_results(seen).values())
    if wanted:
        assert seen.record.asked or (results and not results[0].get("is_error")), f"it was not asked: {results}"
    else:
        assert not seen.record.asked, "somebody was asked"
        assert results, "the model got no result"
        assert results[0].get("is_error"), f"the model got no error: {results}"


@expects("answers_valid")
def answers_valid(seen: Seen, wanted: bool) -> None:
    """Valid answers reach the model; for others the application hears an error and nothing counts as answered."""
    texts = [conversation.result_text(result) for result in call_results(seen).values()]
    reported = any(word in text for text in texts for word in REPORTED)
    if wanted:
        assert reported, f"nothing was reported as answered: {texts}"
    else:
        assert seen.record.diagnostics, "the application heard nothing"
        assert not reported, f"something was reported as answered: {texts}"


@expects("selected_labels")
def selected_labels(seen: Seen, wanted: Any) -> None:
    """What was selected, as parsed: for the only question, or by question."""
    selected = _selected(seen)
    if isinstance(wanted, Mapping):
        same({question: selected.get(question) for question in wanted}, dict(wanted))
    else:
        assert len(selected) == 1, f"{len(selected)} questions are answered: {selected}"
        same(next(iter(selected.values())), wanted)


@expects("selected_count")
def selected_count(seen: Seen, wanted: Any) -> None:
    """How many were selected: for the only question, or by question."""
    counts = {question: len(labels) for question, labels in _selected(seen).items()}
    if isinstance(wanted, Mapping):
        same({question: counts.get(question, 0) for question in wanted}, dict(wanted))
    else:
        same(sum(counts.values()), wanted)


def _selected(seen: Seen) -> dict[str, list[str]]:
    """The value behind the answered question, as the run yields it."""
    values = [
        message.tool_use_result
        for run in seen.record.runs
        for message in run.messages
        if isinstance(message, UserMessage) and isinstance(message.tool_use_result, Mapping)
    ]
    assert values, "no run yielded the value of an answered question"
    answers: Any = values[-1].get("answers") or {}
    return {
        question: [answer] if isinstance(answer, str) else list(answer)
        for question, answer in answers.items()
        if answer
    }
