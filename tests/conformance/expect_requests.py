"""Checks on model requests and on how runs end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.conformance import conversation
from tests.conformance.expect import Seen, expects, listed, same
from tests.conformance.findings import call_results, last_result, next_request, requests
from tests.conformance.record import BEFORE_PARK

Body = Mapping[str, Any]


@expects("next_request")
def next_request_holds(seen: Seen, wanted: Mapping[str, Any]) -> None:
    """What must hold of the first request after the calls."""
    _holds(seen, next_request(seen), wanted)


@expects("second_request")
def second_request_holds(seen: Seen, wanted: Mapping[str, Any]) -> None:
    """What must hold of the second request of all."""
    sent = requests(seen)
    assert len(sent) > 1, f"there are only {len(sent)} requests"
    _holds(seen, sent[1], wanted)


@expects("requests_2_and_3_identical")
def second_and_third(seen: Seen, wanted: bool) -> None:
    """The bodies of the second and the third request are the same."""
    sent = requests(seen)
    assert len(sent) > 2, f"there are only {len(sent)} requests"
    same(sent[1] == sent[2], wanted)


def _holds(seen: Seen, body: Body, wanted: Mapping[str, Any]) -> None:
    for key, value in wanted.items():
        assert key in _OF_A_REQUEST, f"unknown key {key!r}"
        try:
            _OF_A_REQUEST[key](seen, body, value)
        except AssertionError as error:
            raise AssertionError(f"{key}: {error}") from None


def _valid(seen: Seen, body: Body, wanted: bool) -> None:
    faults = conversation.faults(body["messages"])
    same(not faults, wanted, "; ".join(faults))


def _tool_result_ids(seen: Seen, body: Body, wanted: list[str]) -> None:
    answering = [ids for message in body["messages"] if message["role"] == "user" and (ids := _ids(message))]
    assert answering, "no message holds results"
    same(answering[-1], wanted)


def _ids(message: Body) -> list[str]:
    return conversation.result_ids(message)


def _assistant_contents(body: Body) -> list[Any]:
    contents = [message["content"] for message in body["messages"] if message["role"] == "assistant"]
    return [conversation.without_cache_marks(content) for content in contents]


def _assistant_content_identical(seen: Seen, body: Body, wanted: bool) -> None:
    sent, said = _assistant_contents(body), seen.record.facts.get("said", [])
    assert sent, "the request holds no assistant message"
    same(sent == said[: len(sent)], wanted, f"said {said[: len(sent)]}, sent back {sent}")


def _last_assistant_block_not(seen: Seen, body: Body, wanted: str) -> None:
    messages = [message for message in body["messages"] if message["role"] == "assistant"]
    for message in messages[-1:]:
        assert conversation.blocks(message)[-1].get("type") != wanted, f"the last block is {wanted}"


def _no_unsigned_thinking(seen: Seen, body: Body, wanted: bool) -> None:
    thoughts = [block for message in body["messages"] for block in conversation.blocks_of(message, "thinking")]
    same(all(block.get("signature") for block in thoughts), wanted)


def _user_text_after_results(seen: Seen, body: Body, wanted: Any) -> None:
    answering = [message for message in body["messages"] if message["role"] == "user" and _ids(message)]
    assert answering, "no message holds results"
    texts = [block["text"] for block in conversation.blocks_of(answering[-1], "text")]
    if isinstance(wanted, bool):
        same(bool(texts), wanted)
        return
    for text in listed(wanted):
        assert any(text in each for each in texts), f"{text!r} does not follow the results: {texts}"


def _system_contains(seen: Seen, body: Body, wanted: Any) -> None:
    system = body.get("system") or ""
    text = system if isinstance(system, str) else "\n".join(block.get("text", "") for block in system)
    for part in listed(wanted):
        assert part in text, f"{part!r} is not in the system prompt {text!r}"


def _no_new_user_message(seen: Seen, body: Body, wanted: bool) -> None:
    same(body["messages"][-1]["role"] == "assistant", wanted)


_OF_A_REQUEST: dict[str, Callable[[Seen, Body, Any], None]] = {
    "valid": _valid,
    "tool_result_ids": _tool_result_ids,
    "assistant_content_identical": _assistant_content_identical,
    "last_assistant_block_not": _last_assistant_block_not,
    "no_unsigned_thinking": _no_unsigned_thinking,
    "user_text_after_results": _user_text_after_results,
    "system_contains": _system_contains,
    "no_new_user_message": _no_new_user_message,
}


def _counted(seen: Seen) -> Sequence[Body]:
    """The requests that count: in the kind `resume` those of the resumed run, else all."""
    return seen.record.requests("resume") if seen.case.kind == "resume" else seen.record.requests()


@expects("model_calls")
def model_calls(seen: Seen, wanted: int) -> None:
    """The model was asked so often."""
    same(len(_counted(seen)), wanted)


@expects("model_calls_max")
def model_calls_max(seen: Seen, wanted: int) -> None:
    """The model was asked at most so often."""
    assert len(_counted(seen)) <= wanted, f"the model was asked {len(_counted(seen))} times"


@expects("model_calls_after")
def model_calls_after(seen: Seen, wanted: int) -> None:
    """The model was asked so often after the decision: the callback's last one, or the one given at resume."""
    before = seen.record.requests_at_decision
    if before is None:
        before = len(seen.record.requests(*BEFORE_PARK))
    same(len(seen.record.sent) - before, wanted)


@expects("model_calls_between")
def model_calls_between(seen: Seen, wanted: int) -> None:
    """The model was asked so often after the park and before the request with the results."""
    later = seen.record.later_requests()
    after = next_request(seen)
    number = next((place for place, body in enumerate(later) if body is after), len(later))
    same(number, wanted)


@expects("result")
def result(seen: Seen, wanted: Mapping[str, Any]) -> None:
    """Fields of the last ResultMessage."""
    last = last_result(seen.record)
    for name, value in wanted.items():
        assert hasattr(last, name), f"a ResultMessage has no field {name!r}"
        same(getattr(last, name), value, name)


@expects("final_text")
def final_text(seen: Seen, wanted: str) -> None:
    """The last words of the last run."""
    same(last_result(seen.record).result, wanted)


@expects("run_continues")
def run_continues(seen: Seen, wanted: bool) -> None:
    """Whether the model is asked again after the call."""
    answered = [body for body in requests(seen) if any(conversation.results(body["messages"]))]
    same(bool(answered), wanted, f"results: {list(call_results(seen))}")


@expects("stops")
def stops(seen: Seen, wanted: bool) -> None:
    """The last run came to its end."""
    same(bool(seen.record.runs) and seen.record.runs[-1].ended, wanted)


@expects("finishes_within_s")
def finishes_within_s(seen: Seen, wanted: float) -> None:
    """All runs together took no longer than so many seconds."""
    took = sum(run.seconds for run in seen.record.runs)
    assert took <= wanted, f"it took {took:.2f} s"


@expects("tasks_left_after_run")
def tasks_left_after_run(seen: Seen, wanted: int) -> None:
    """So many tasks are still there after each run."""
    for run in seen.record.runs:
        same(run.tasks_left, wanted, run.name)
