"""Forks, the last session of a directory, stored messages, and stores that cannot park."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_sdk import (
    AgentOptions,
    Allow,
    AssistantMessage,
    InMemoryStore,
    OptionsError,
    SessionError,
    SessionNotFoundError,
    SessionStore,
    SQLiteStore,
    UserMessage,
    fork_session,
    get_session_messages,
    list_sessions,
    query,
)
from agent_sdk.ledger import entry, session_key
from agent_sdk.testing import ScriptedModel
from tests.engine.dialogue import Ran, check_stored, hold, use
from tests.parking.test_elsewhere import allows
from tests.parking.worker import later

CALLS = [use("save", "a", n=1), use("save", "b", n=2)]


class Transcripts:
    """A store of transcripts, as an adapter for the Claude Agent SDK is one."""

    def __init__(self) -> None:
        self._inner = InMemoryStore()
        self.append, self.load = self._inner.append, self._inner.load
        self.list_sessions, self.delete = self._inner.list_sessions, self._inner.delete
        self.list_subkeys = self._inner.list_subkeys


async def first_only(name: str, tool_input: dict[str, Any], context: Any) -> Any:
    """The first call may run, the second one waits."""
    return Allow() if tool_input["n"] == 1 else await later()


@pytest.mark.anyio
@pytest.mark.parametrize("how", ["function", "option"])
async def test_a_fork_carries_no_approvals(how: str, tmp_path: Path) -> None:
    """What waits reads that it was superseded by the fork, what has a result keeps it, and the origin waits on."""
    ran, store = Ran(), SQLiteStore(tmp_path / "s.sqlite")
    model = ScriptedModel({"turns": [{"content": CALLS}], "after": {"content": [{"type": "text", "text": "fine"}]}})
    options: dict[str, Any] = {"store": store, "tools": [ran.tool("save")]}
    await hold(model, session_id="s", can_use_tool=first_only, **options)
    if how == "function":
        fork = await fork_session("s", store=store)
        held = await hold(model, None, resume=fork, **options)
    else:
        held = await hold(model, None, resume="s", fork_session=True, **options)
        fork = held.session_id
    assert fork != "s"
    assert held.result.result == "fine"
    stored = await get_session_messages(fork, store=store)
    assert [type(message) for message in stored] == [UserMessage, AssistantMessage, UserMessage, AssistantMessage]
    texts = {block.tool_use_id: block.content for block in stored[2].content}  # type: ignore[union-attr]
    assert texts["a"] == "save ran"
    assert "superseded by the fork" in str(texts["b"])
    await check_stored(store, fork)  # type: ignore[arg-type]
    assert [approval.tool_use_id for approval in await store.pending()] == ["b"]
    assert {listed["session_id"] for listed in await list_sessions(store=store)} == {"s", fork}
    done = await hold(model, None, resume="s", decisions={"b": Allow()}, **options)
    assert done.words == {"a": "save ran", "b": "save ran"}
    assert [tool_input["n"] for _, tool_input in ran.calls] == [1, 2]


@pytest.mark.anyio
async def test_the_last_session_of_a_directory_goes_on(tmp_path: Path) -> None:
    """Another directory's session is not taken; where there is none, a new one begins."""
    store = InMemoryStore()
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    first = await hold(["one"], "hello", store=store, continue_conversation=True, cwd=here)
    other = await hold(["two"], "hello", store=store, continue_conversation=True, cwd=there)
    again = await hold(["", "three"], "and?", store=store, continue_conversation=True, cwd=here)
    assert first.session_id == again.session_id != other.session_id
    assert len(again.model.requests[0]["messages"]) == 3
    forked = await hold(["", "", "four"], "x", store=store, continue_conversation=True, fork_session=True, cwd=here)
    assert forked.session_id not in (first.session_id, other.session_id)
    assert len(forked.model.requests[0]["messages"]) == 5


REFUSED: list[dict[str, Any]] = [
    {"fork_session": True},
    {"continue_conversation": True, "resume": "s"},
    {"continue_conversation": True, "session_id": "s"},
    {"resume": "s", "session_id": "t"},
]


@pytest.mark.parametrize("options", REFUSED, ids=str)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any]) -> None:
    """When the options are built."""
    with pytest.raises(OptionsError):
        AgentOptions(model=ScriptedModel(["x"]), **options)


@pytest.mark.anyio
async def test_unknown_sessions_are_told() -> None:
    """To fork, to read, to fork by option."""
    store = InMemoryStore()
    for work in (fork_session, get_session_messages):
        with pytest.raises(SessionNotFoundError):
            await work("nope", store=store)
    with pytest.raises(SessionNotFoundError):
        await hold(["x"], store=store, resume="nope", fork_session=True)


@pytest.mark.anyio
async def test_calls_on_a_store_without_a_journal_never_run_at_a_resume() -> None:
    """Nobody can say whether they ran; the model reads that, and nothing is asked."""
    store: Any = Transcripts()
    assert isinstance(store, SessionStore)
    messages = [("user", [{"type": "text", "text": "go"}]), ("assistant", CALLS)]
    await store.append(session_key("s"), [entry(role, message={"role": role, "content": c}) for role, c in messages])
    ran, model = Ran(), ScriptedModel(["", "fine"])
    options = AgentOptions(model=model, session_store=store, resume="s", tools=[ran.tool("save")], can_use_tool=allows)
    said = [message async for message in query(options=options)]
    assert ran.calls == []
    (results,) = [message for message in said if isinstance(message, UserMessage)]
    assert all("unknown" in str(block.content) for block in results.content)  # type: ignore[union-attr]
    with pytest.raises(SessionError, match="can park"):
        [message async for message in query(options=options, decisions={"a": Allow()})]
