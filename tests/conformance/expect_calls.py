"""Checks on what became of the calls: what ran, who was asked, what the model reads, what the application hears."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.conformance import conversation
from tests.conformance.expect import Seen, expects, listed, same
from tests.conformance.findings import all_text, call_results, executed_ids, last_result

RESULT_KEYS = {"id", "tool_use_id", "is_error", "contains", "contains_any", "not_contains", "content_nonempty"}
RESULT_KEYS |= {"says_unanswered"}


@expects("executed")
def executed(seen: Seen, wanted: int) -> None:
    """So many calls ran."""
    same(len(executed_ids(seen)), wanted)


@expects("executed_ids")
def executed_id_set(seen: Seen, wanted: list[str]) -> None:
    """Exactly these calls ran."""
    same(sorted(executed_ids(seen)), sorted(wanted))


@expects("executed_ids_subset_of")
def executed_subset(seen: Seen, wanted: list[str]) -> None:
    """No call ran but some of these."""
    other = set(executed_ids(seen)) - set(wanted)
    assert not other, f"{sorted(other)} ran as well"


@expects("executed_counts")
def executed_counts(seen: Seen, wanted: Mapping[str, int]) -> None:
    """Each of these calls ran so often, in all runs together."""
    counts = Counter(executed_ids(seen))
    same({id_: counts[id_] for id_ in wanted}, dict(wanted))


@expects("executed_inputs")
def executed_inputs(seen: Seen, wanted: Any) -> None:
    """The tools were given these inputs: in order of execution, or by id."""
    if isinstance(wanted, Mapping):
        inputs = {ran.id: ran.input for ran in seen.record.ran}
        same({id_: inputs.get(id_) for id_ in wanted}, dict(wanted))
    else:
        same([ran.input for ran in seen.record.ran], wanted)


@expects("executed_commands")
def executed_commands(seen: Seen, wanted: list[str]) -> None:
    """These commands ran, in this order."""
    same([ran.input.get("command") for ran in seen.record.ran], wanted)


@expects("first_run_executed")
def first_run_executed(seen: Seen, wanted: list[str]) -> None:
    """Exactly these calls ran before the session was parked."""
    same(sorted(ran.id for ran in seen.record.ran if ran.run == "first"), sorted(wanted))


@expects("behavior")
def behavior(seen: Seen, wanted: str) -> None:
    """What became of the call."""
    behavior_in(seen, [wanted])


@expects("behavior_in")
def behavior_in(seen: Seen, wanted: list[str]) -> None:
    """What became of the call is one of these: a verdict, or for a call that was made, how it ended."""
    if seen.record.verdicts:
        verdict = seen.record.verdicts[-1]
        assert verdict in wanted, f"expected {' or '.join(wanted)}, seen {verdict}"
        return
    assert not seen.record.facts.get("no_verdict"), f"no verdict: {seen.record.facts['no_verdict']}"
    assert any(_ended(seen, word) for word in wanted), (
        f"expected {' or '.join(wanted)}; ran: {executed_ids(seen)}, asked: {len(seen.record.asked)}, "
        f"results: {call_results(seen)}"
    )


def _ended(seen: Seen, word: str) -> bool:
    ran, results = executed_ids(seen), call_results(seen)
    match word:
        case "allow":
            return bool(ran)
        case "deny":
            return not ran and bool(results) and all(result.get("is_error") for result in results.values())
        case "ask":
            return bool(seen.record.asked)
        case "defer":
            return not ran and bool(seen.record.pending)
        case _:
            raise AssertionError(f"unknown behavior {word!r}")


@expects("hook_ran")
def hook_ran(seen: Seen, wanted: bool) -> None:
    """Whether any hook was called."""
    same(bool(seen.record.heard), wanted)


@expects("hook_saw_inputs")
def hook_saw_inputs(seen: Seen, wanted: list[Any]) -> None:
    """What each hook, in order, was given first."""
    first: dict[int, Any] = {}
    for heard in seen.record.heard:
        first.setdefault(heard.hook, heard.input)
    same([first.get(number) for number in range(len(wanted))], wanted)
    assert max(first, default=-1) < len(wanted), f"{len(first)} hooks were called"


@expects("callback_calls")
def callback_calls(seen: Seen, wanted: int) -> None:
    """The callback was called so often."""
    same(len(seen.record.asked), wanted)


@expects("callback_saw_input")
def callback_saw_input(seen: Seen, wanted: Any) -> None:
    """The callback was given exactly this input."""
    assert seen.record.asked, "the callback was not called"
    same(seen.record.asked[0].input, wanted)


@expects("callback_saw_answers")
def callback_saw_answers(seen: Seen, wanted: Any) -> None:
    """The `answers` in the input that the callback was given; `null` = there was no such key."""
    assert seen.record.asked, "the callback was not called"
    tool_input = seen.record.asked[0].input
    if wanted is None:
        assert "answers" not in tool_input, f"there are answers: {tool_input['answers']!r}"
    else:
        same(tool_input.get("answers"), wanted)


@expects("suggestions")
def suggestions(seen: Seen, wanted: list[str]) -> None:
    """The rules that the callback's context offered to remember."""
    assert seen.record.asked, "the callback was not called"
    same(seen.record.asked[-1].suggestions, wanted)


@expects("errors")
def errors(seen: Seen, wanted: list[str]) -> None:
    """Exactly these calls have an error result."""
    same(sorted(id_ for id_, result in call_results(seen).items() if result.get("is_error")), sorted(wanted))


@expects("kept_results")
def kept_results(seen: Seen, wanted: list[str]) -> None:
    """The results of these calls are those from before the park: they ran then, once, and the model reads that."""
    results, ran = call_results(seen), [(each.id, each.run) for each in seen.record.ran]
    for id_ in wanted:
        same([run for other, run in ran if other == id_], ["first"], f"the runs in which {id_} ran")
        assert id_ in results, f"{id_} has no result"
        same(conversation.result_text(results[id_]), "ok", f"the result of {id_}")


@expects("tool_result")
def tool_result(seen: Seen, wanted: Mapping[str, Any]) -> None:
    """The result of the only call, or of the named one, as it was sent to the model."""
    results = call_results(seen)
    if wanted and all(isinstance(value, Mapping) and key not in RESULT_KEYS for key, value in wanted.items()):
        for id_, about in wanted.items():
            tool_result(seen, {**about, "id": id_})
        return
    unknown = set(wanted) - RESULT_KEYS
    assert not unknown, f"unknown key {sorted(unknown)}"
    named = wanted.get("id", wanted.get("tool_use_id", seen.case.scene.get("id")))
    if named is None:
        assert len(results) == 1, f"{len(results)} results, and none is named: {sorted(results)}"
        named = next(iter(results))
    assert named in results, f"{named} has no result"
    _result_holds(results[named], wanted)


def _result_holds(result: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    text = conversation.result_text(result)
    if "is_error" in wanted:
        same(bool(result.get("is_error")), wanted["is_error"], f"is_error of {text!r}")
    for part in listed(wanted.get("contains", [])):
        assert part in text, f"{part!r} is not in {text!r}"
    if any_of := wanted.get("contains_any"):
        assert any(part in text for part in any_of), f"none of {any_of} is in {text!r}"
    for part in listed(wanted.get("not_contains", [])):
        assert part not in text, f"{part!r} is in {text!r}"
    if "content_nonempty" in wanted:
        same(bool(text.strip()), wanted["content_nonempty"], "the result has text")
    for question in wanted.get("says_unanswered", ()):
        _, marker, named = text.partition("Not answered:")
        escaped = json.dumps(question, ensure_ascii=False)[1:-1]
        assert marker, f"nothing is named as open in {text!r}"
        assert question in named or escaped in named, f"{question!r} is not named as open in {text!r}"


@expects("diagnostics_min")
def diagnostics_min(seen: Seen, wanted: int) -> None:
    """At least so many warnings or errors reached the application."""
    told = seen.record.diagnostics
    assert len(told) >= wanted, f"expected at least {wanted}, seen {told}"


@expects("error_names")
def error_names(seen: Seen, wanted: Any) -> None:
    """These words stand in an exception, a diagnostic or an error result."""
    text = all_text(seen)
    for word in listed(wanted):
        assert word in text, f"{word!r} is not in {text!r}"


@expects("error_contains_any")
def error_contains_any(seen: Seen, wanted: list[str]) -> None:
    """One of these stands in an exception, a diagnostic or an error result."""
    text = all_text(seen)
    assert any(word in text for word in wanted), f"none of {wanted} is in {text!r}"


@expects("error_at")
def error_at(seen: Seen, wanted: str) -> None:
    """The step at which an exception came out."""
    places = [error.where for error in seen.record.raised]
    assert wanted in places, f"errors came out at: {places}"


@expects("error")
def error(seen: Seen, wanted: bool) -> None:
    """Whether the last run ended with an error."""
    last = seen.record.runs[-1]
    failed = last.error is not None or (bool(last.messages) and last_result(seen.record).is_error)
    same(failed, wanted)


@expects("error_or_warning")
def error_or_warning(seen: Seen, wanted: bool) -> None:
    """Whether the application heard of a fault in any way."""
    same(bool(all_text(seen)), wanted)


@expects("no_crash")
def no_crash(seen: Seen, wanted: bool) -> None:
    """Nothing came out but errors of this package."""
    foreign = [error.details for error in seen.record.raised if not error.ours]
    same(not foreign, wanted, "\n".join(foreign))
