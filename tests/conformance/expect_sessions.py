"""Checks on the stored session, on parked calls and on resuming."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.conformance import conversation
from tests.conformance.expect import Seen, expects, listed, same
from tests.conformance.findings import as_text, call_results, executed_ids


def _saved(seen: Seen) -> list[dict[str, Any]]:
    assert seen.record.saved is not None, "the stored session was not read"
    return seen.record.saved


@expects("saved_session_valid")
def saved_session_valid(seen: Seen, wanted: bool) -> None:
    """The Messages API takes the stored messages."""
    faults = conversation.faults(_saved(seen))
    same(not faults, wanted, "; ".join(faults))


@expects("saved_session_contains")
def saved_session_contains(seen: Seen, wanted: Any) -> None:
    """Each of these texts stands in the stored session."""
    text = as_text(seen.record.entries)
    for part in listed(wanted):
        assert part in text, f"{part!r} is not stored"


@expects("saved_session_lacks")
def saved_session_lacks(seen: Seen, wanted: Any) -> None:
    """None of these texts stands in the stored session."""
    text = as_text(seen.record.entries)
    for part in listed(wanted):
        assert part not in text, f"{part!r} is stored"


@expects("saved_session_no_empty_ids")
def saved_session_no_empty_ids(seen: Seen, wanted: bool) -> None:
    """No stored call and no stored result has an empty id."""
    ids = [call.get("id") for call in conversation.calls(_saved(seen))]
    ids += [result.get("tool_use_id") for result in conversation.results(_saved(seen))]
    same(all(ids), wanted, str(ids))


@expects("saved_result_ids")
def saved_result_ids(seen: Seen, wanted: list[str]) -> None:
    """The stored results, in order."""
    same([result["tool_use_id"] for result in conversation.results(_saved(seen))], wanted)


@expects("saved_result_count")
def saved_result_count(seen: Seen, wanted: Any) -> None:
    """So many stored results for each id, or in all."""
    counts = Counter(result["tool_use_id"] for result in conversation.results(_saved(seen)))
    if isinstance(wanted, Mapping):
        same({id_: counts[id_] for id_ in wanted}, dict(wanted))
    else:
        same(counts.total(), wanted)


@expects("loads_again")
def loads_again(seen: Seen, wanted: bool) -> None:
    """What was written loads once more, complete."""
    fault = seen.record.loads_again
    assert fault is not None, "it was not loaded again"
    same(fault == "", wanted, fault)


@expects("transcript_unchanged")
def transcript_unchanged(seen: Seen, wanted: bool) -> None:
    """The stored messages are those from before the resume."""
    same(seen.record.saved_before == _saved(seen), wanted)


@expects("still_pending")
def still_pending(seen: Seen, wanted: list[str]) -> None:
    """Exactly these calls still wait for an answer."""
    same(sorted(seen.record.pending), sorted(wanted))


@expects("pending_shows")
def pending_shows(seen: Seen, wanted: Mapping[str, Any]) -> None:
    """The list of pending approvals shows this input: of the only one, or by id."""
    shown = seen.record.pending_inputs
    assert shown, "nothing was pending"
    if set(wanted) <= set(shown) and all(isinstance(value, Mapping) for value in wanted.values()):
        same({id_: shown[id_] for id_ in wanted}, dict(wanted))
    else:
        assert dict(wanted) in shown.values(), f"expected {wanted!r}, seen {shown!r}"


@expects("copy_b_pending")
def copy_b_pending(seen: Seen, wanted: list[str]) -> None:
    """Exactly these calls are pending in the second copy."""
    same(sorted(seen.record.pending_in_copy), sorted(wanted))


@expects("unknown_ids")
def unknown_ids(seen: Seen, wanted: list[str]) -> None:
    """These calls were not run again; the model reads that their outcome is unknown, or a person is asked anew."""
    counts, results = Counter(executed_ids(seen)), call_results(seen)
    for id_ in wanted:
        assert counts[id_] <= 1, f"{id_} ran {counts[id_]} times"
        told = id_ in results and "unknown" in conversation.result_text(results[id_]).lower()
        asked = id_ in seen.record.pending or any(asked.id == id_ for asked in seen.record.asked)
        assert told or asked, f"{id_} is neither told as unknown nor asked anew: {results.get(id_)}"


@expects("second_resume_in")
def second_resume_in(seen: Seen, wanted: list[str]) -> None:
    """How the second resume went: `refused`, or `nothing to do`."""
    runs = [run for run in seen.record.runs if run.name == "again"]
    assert runs, "there was no second resume"
    busy = bool(seen.record.requests("again")) or any(ran.run == "again" for ran in seen.record.ran)
    error = runs[-1].error
    how = "refused" if error is not None else "nothing to do" if not busy else "done once more"
    assert error is None or error.ours, error.details if error else ""
    assert how in wanted, f"expected {' or '.join(wanted)}, seen: {how}"
