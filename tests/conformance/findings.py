"""Answers to questions that several checks ask about a record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agent_sdk import ResultMessage, ToolResultBlock, UserMessage
from tests.conformance import conversation
from tests.conformance.expect import Seen
from tests.conformance.record import Record

Block = Mapping[str, Any]


def in_sub_agent(seen: Seen) -> bool:
    """Whether the call of the case is made inside a sub-agent."""
    return seen.case.scene.get("agent") == "sub"


def requests(seen: Seen) -> list[dict[str, Any]]:
    """The requests of the agent that makes the calls of the case."""
    return seen.record.requests(sub=in_sub_agent(seen))


def call_results(seen: Seen) -> dict[str, Block]:
    """Every result of a call as it was first sent to the model; those never sent, as they were stored."""
    found: dict[str, Block] = {}
    for body in requests(seen):
        for result in conversation.results(body["messages"]):
            found.setdefault(result["tool_use_id"], result)
    for result in conversation.results(seen.record.saved or ()):
        found.setdefault(result["tool_use_id"], result)
    return found


def next_request(seen: Seen) -> dict[str, Any]:
    """The first request after the calls of the case; in a case without calls, the one after the first reply."""
    sent = requests(seen)
    for body in sent:
        if any(conversation.calls(body["messages"])):
            return body
    later = seen.record.later_requests(sub=in_sub_agent(seen))
    first = 0 if seen.record.facts.get("began_stored") else 1
    candidates = later or sent[first:]
    assert candidates, f"there is no request after the calls ({len(sent)} requests in all)"
    return candidates[0]


def executed_ids(seen: Seen) -> list[str]:
    """The ids of the calls that ran, in order; an answered question ran."""
    ids = [ran.id for ran in seen.record.ran]
    for run in seen.record.runs:
        for message in run.messages:
            if isinstance(message, UserMessage) and message.tool_use_result is not None:
                ids += [id_ for id_ in _answered(message) if id_ not in ids]
    return ids


def _answered(message: UserMessage) -> list[str]:
    if isinstance(message.content, str):
        return []
    results = [block for block in message.content if isinstance(block, ToolResultBlock)]
    return [block.tool_use_id for block in results if not block.is_error]


def last_result(record: Record) -> ResultMessage:
    """The last ResultMessage of all runs."""
    found = [message for run in record.runs for message in run.messages if isinstance(message, ResultMessage)]
    assert found, "no run yielded a ResultMessage"
    return found[-1]


def all_text(seen: Seen) -> str:
    """What an application, or the model in an error result, could read about a fault."""
    errors = [conversation.result_text(result) for result in call_results(seen).values() if result.get("is_error")]
    return "\n".join([*seen.record.diagnostics, *errors])


def as_text(value: Any) -> str:
    """JSON text in which non-ASCII characters stand for themselves; random ids and times are left out."""
    return json.dumps(_without_marks(value), ensure_ascii=False)


def _without_marks(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_marks(item) for key, item in value.items() if not key.lower().endswith(_MARKS)}
    return [_without_marks(item) for item in value] if isinstance(value, list) else value


_MARKS = ("uuid", "timestamp", "session_id", "sessionid", "digest")
