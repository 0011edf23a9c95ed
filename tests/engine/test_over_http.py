"""The same sessions over real HTTP: a service that refuses illegal conversations, and one that fails."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

from agent_sdk import AgentOptions, Allow, Defer, Deny, InMemoryStore, ModelError, ResultMessage, query
from agent_sdk.testing import ScriptedApprover
from tests.engine.dialogue import Held, Ran, hold, use
from tests.support.messages_api import MessagesServer

TEXT = {"type": "text", "text": "I save."}
MODEL = "claude-opus-4-8"
CALLS = [use("save", "a", n=1), use("save", "b", n=2), use("save", "c", n=3), use("gone", "d")]


def client_for(server: MessagesServer, **options: Any) -> AsyncAnthropic:
    """A client of the local service that retries at once."""
    return AsyncAnthropic(base_url=server.base_url, api_key="x", http_client=DefaultAsyncHttpxClient(), **options)


async def over_http(server: MessagesServer, store: InMemoryStore, *prompts: str | None, **options: Any) -> Held:
    """Runs of one session against the service, one for each prompt."""
    held = Held([], None, store)  # type: ignore[arg-type]
    async with client_for(server) as client:
        for prompt in prompts:
            given = AgentOptions(model=MODEL, client=client, session_store=store, **options)
            try:
                async for message in query(prompt, options=given):
                    held.messages.append(message)
            except ModelError as error:
                held.error = error
    return held


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries wait for nothing."""
    monkeypatch.setattr("agent_sdk.models.anthropic.FIRST_PAUSE", 0.001)
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.001)
    monkeypatch.setattr("anthropic._base_client.MAX_RETRY_DELAY", 0.002)


def person() -> ScriptedApprover:
    """Says yes with an edit and a note, no, and yes."""
    return ScriptedApprover({"a": Allow({"n": 9}, note="edited"), "b": Deny("not that"), "c": Allow()})


@pytest.mark.anyio
async def test_a_session_over_http_has_the_results_of_one_in_memory() -> None:
    """And the service refused nothing."""
    script = [
        [{"type": "thinking", "thinking": "hm", "signature": "sig"}, TEXT, *CALLS],
        [use("save", "a", n=1)],
        "bye",
    ]
    ran, far = Ran(), Ran()
    near = await hold(script, tools=[ran.tool("save")], can_use_tool=person())
    with MessagesServer(script) as server:
        held = await over_http(server, InMemoryStore(), "go", tools=[far.tool("save")], can_use_tool=person())
    assert server.illegal == []
    assert [held.words[id_] for id_ in "abcd"] == [near.words[id_] for id_ in "abcd"]
    assert far.calls == ran.calls
    assert held.result.result == near.result.result == "bye"


FAULTS = [
    {"kind": "http", "status": 429, "retry_after": 0}, {"kind": "http", "status": 529}, {"kind": "drop"},
    {"kind": "cut", "inside_block": 1}, {"kind": "cut", "after": 2}, {"kind": "error_event", "inside_block": 1},
    {"kind": "cut", "after": 0},
]  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize("turn", [0, 1], ids=["first-request", "after-results"])
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("fault", FAULTS, ids=[f"{f['kind']}-{f.get('status', f.get('after', ''))}" for f in FAULTS])
async def test_whatever_the_service_does_no_tool_runs_twice(fault: dict[str, Any], times: int, turn: int) -> None:
    """One fault is repeated away; three end the run, and the next prompt goes on."""
    script: list[Any] = [{"content": [TEXT, use("save", "a")]}, {"content": [TEXT]}, "later"]
    script[turn]["faults"] = [fault] * times
    ran, store = Ran(), InMemoryStore()
    options: dict[str, Any] = {"tools": [ran.tool("save")], "allow": ["save"], "session_id": "s"}
    with MessagesServer(script) as server:
        held = await over_http(server, store, "go", **options)
        again = await over_http(server, store, "next", **options)
    assert server.illegal == []
    ended = held.result
    if times == 1:
        assert (ended.terminal_reason, held.error) == ("completed", None)
    else:
        assert (ended.terminal_reason, ended.is_error) == ("model_error", True)
        assert isinstance(held.error, ModelError)
        assert ended.api_error_status == fault.get("status")
    assert again.result.subtype == "success"
    assert len(ran.calls) == 1


@pytest.mark.anyio
async def test_a_stalled_stream_is_given_up_and_repeated() -> None:
    """The client's time limit ends the wait."""
    import httpx2  # noqa: PLC0415

    script = [{"content": [TEXT, use("save", "a")], "faults": [{"kind": "stall", "inside_block": 1, "seconds": 5}]}]
    ran = Ran()
    with MessagesServer(script) as server:
        async with client_for(server, timeout=httpx2.Timeout(2, read=0.1)) as client:
            options = AgentOptions(model=MODEL, client=client, tools=[ran.tool("save")], allow=["save"])
            messages = [message async for message in query("go", options=options)]
    assert isinstance(messages[-1], ResultMessage)
    assert messages[-1].result == "done"
    assert (len(ran.calls), server.illegal, len(server.requests)) == (1, [], 3)


@pytest.mark.anyio
async def test_parked_sessions_stay_legal_for_the_service() -> None:
    """Parked, superseded by a prompt, refused, cut off: every request is taken."""
    script = [
        [TEXT, *CALLS],
        {"content": [TEXT, use("save", "e", n=5)], "stop_reason": "max_tokens"},
        {"content": [TEXT], "stop_reason": "refusal"},
        "bye",
    ]
    ran, store = Ran(), InMemoryStore()
    approver = ScriptedApprover({"a": Allow(), "b": Defer(), "c": Deny("no")})
    options: dict[str, Any] = {"tools": [ran.tool("save")], "can_use_tool": approver, "session_id": "s"}
    with MessagesServer(script) as server:
        held = await over_http(server, store, "go", "never mind", "and now?", "hello?", **options)
    assert server.illegal == []
    ends = [m.terminal_reason for m in held.messages if isinstance(m, ResultMessage)]
    assert ends[:3] == ["tool_deferred", "max_tokens", "refusal"]
    assert [n["n"] for _, n in ran.calls] == [1]
