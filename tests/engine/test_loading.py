"""A stored session that the service would refuse is sent in a form that it takes; the store keeps what it has."""

from __future__ import annotations

from typing import Any

import pytest

from agent_sdk import AgentOptions, InMemoryStore, query
from agent_sdk.ledger import entry, session_key
from agent_sdk.testing import ScriptedModel
from tests.support.messages_api import check_conversation

SESSION = "stored-1"


def call(call_id: str) -> dict[str, Any]:
    """A Bash call of this id."""
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": "ls"}}


def result(call_id: str) -> dict[str, Any]:
    """Its result."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": "ok", "is_error": False}


STORED = {
    "empty id": ([call("")], [result("")]),
    "ill-formed id": ([call("a b")], [result("a b")]),
    "same id twice": ([call("x"), call("x")], [result("x"), result("x")]),
    "one good, one bad": ([call("x"), call("")], [result("x"), result("")]),
    "a result too many": ([call("x")], [result("x"), result("y")]),
    "a result missing": ([call("x"), call("y")], [result("y")]),
    "empty text beside the call": (
        [{"type": "text", "text": ""}, call("x")],
        [result("x"), {"type": "text", "text": " "}],
    ),
    "thinking without signature": ([{"type": "thinking", "thinking": "half"}, call("x")], [result("x")]),
    "only a bad call": ([call("")], []),
}


@pytest.mark.anyio
@pytest.mark.parametrize(("said", "answered"), STORED.values(), ids=STORED)
async def test_what_is_sent_is_always_acceptable(said: list[dict[str, Any]], answered: list[dict[str, Any]]) -> None:
    """Whatever a store holds, the next request is one that the Messages API takes."""
    store = InMemoryStore()
    messages = [("user", [{"type": "text", "text": "hi"}]), ("assistant", said), ("user", answered)]
    entries = [entry(role, message={"role": role, "content": content}) for role, content in messages if content]
    await store.append(session_key(SESSION), entries)
    model = ScriptedModel({"turns": [], "after": {"content": [{"type": "text", "text": "done"}]}})
    options = AgentOptions(model=model, session_store=store, resume=SESSION)
    assert [message async for message in query("go on", options=options)]
    assert check_conversation(dict(model.requests[0])) is None
    kept = await store.load(session_key(SESSION))
    assert kept is not None
    assert [e.get("message") for e in kept[: len(entries)]] == [e["message"] for e in entries]
