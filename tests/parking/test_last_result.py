"""The last result of a turn is stored with the message that closes the turn: one commit less, and nothing less kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_sdk import AgentClient, AgentOptions, Allow, HookMatcher, InMemoryStore, SessionBusyError, SQLiteStore, query
from agent_sdk.calls import CallKey, ToolResult
from agent_sdk.sessions.records import Claim, OpenTurn
from agent_sdk.testing import ScriptedModel
from tests.engine.dialogue import Ran, hold, use


async def yes(*_: Any) -> Allow:
    """A person who agrees."""
    return Allow()


class Watched(InMemoryStore):
    """Notes which results were stored by themselves; `breaks` is raised instead of closing a turn."""

    def __init__(self, breaks: Exception | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.ended: list[str] = []
        self.breaks = breaks

    async def end_call(self, claim: Claim, key: CallKey, result: ToolResult) -> None:
        """As its base."""
        await super().end_call(claim, key, result)
        self.ended.append(key.tool_use_id)

    async def write(self, *arguments: Any, closes: str | None = None) -> None:
        """As its base, as long as it works."""
        if closes is not None and self.breaks is not None:
            raise self.breaks
        await super().write(*arguments, closes=closes)


@pytest.mark.anyio
async def test_an_approved_call_costs_three_commits(tmp_path: Path) -> None:
    """The message, the start, and the turn's end with the result in it."""
    store, ran, commits = SQLiteStore(tmp_path / "s.sqlite"), Ran(), []
    turn = {"content": [use("save")], "repeat": 5}
    options = AgentOptions(
        model=ScriptedModel([turn, "fine"]), tools=[ran.tool("save")], can_use_tool=yes, session_store=store
    )
    await store.projects()
    connection = store._file._shared.connection
    assert connection is not None
    connection.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)
    async for _ in query("go", options=options):
        pass
    reading_claiming_prompt_reply_releasing = 5
    assert len(ran.calls) == 5
    assert len(commits) == 5 * 3 + reading_claiming_prompt_reply_releasing
    store.close()


@pytest.mark.anyio
async def test_results_before_the_last_are_stored_at_once() -> None:
    """Of three calls the first two are in the journal before the next one begins."""
    store, ran = Watched(), Ran()
    await hold([[use("save", id_) for id_ in "abc"], "fine"], store=store, tools=[ran.tool("save")], can_use_tool=yes)
    assert store.ended == ["a", "b"]


@pytest.mark.anyio
async def test_a_result_is_stored_before_a_hook_hears_it() -> None:
    """A hook may take its time, so the result does not wait for it."""
    store, ran = Watched(), Ran()
    seen: list[OpenTurn] = []

    async def hear(*_: Any) -> None:
        seen.append(await store.open_turn("s"))

    hooks: Any = {"PostToolUse": [HookMatcher(hooks=[hear])]}
    tools = [ran.tool("save")]
    await hold([[use("save", "a")], "fine"], store=store, tools=tools, can_use_tool=yes, hooks=hooks, session_id="s")
    assert [result.content for turn in seen for result in turn.done.values()] == ["save ran"]


@pytest.mark.anyio
async def test_a_result_is_stored_before_a_prompt_that_came_in_is_heard() -> None:
    """Hooks hear a prompt before it follows the results: that may take long too."""
    store, ran = Watched(), Ran()
    heard: list[str] = []

    async def interject(*_: Any) -> str:
        await client.query("and this?")
        return "saved"

    async def hear(hook_input: Any, *_: Any) -> None:
        heard.append(f"{hook_input['prompt']} {store.ended}")

    model = ScriptedModel([[use("save", "a")], "fine"])
    options = AgentOptions(
        model=model, tools=[ran.tool("save", interject)], can_use_tool=yes, session_store=store,
        hooks={"UserPromptSubmit": [HookMatcher(hooks=[hear])]},
    )  # fmt: skip
    async with AgentClient(options) as client:
        await client.query("go")
        async for _ in client.receive_response():
            pass
    assert heard == ["go []", "and this? ['a']"]


@pytest.mark.anyio
@pytest.mark.parametrize("error", [OSError("the disk is gone"), RuntimeError("odd")], ids=repr)
async def test_a_result_is_kept_when_the_turn_cannot_be_closed(error: Exception) -> None:
    """It is stored by itself then, and the next run goes on with it; the tool does not run again."""
    store, ran, model = Watched(error), Ran(), ScriptedModel([[use("save", "a")], "fine"])
    tools = [ran.tool("save")]
    options = AgentOptions(model=model, tools=tools, can_use_tool=yes, session_store=store, session_id="s")
    with pytest.raises(type(error), match=str(error)):
        [message async for message in query("go", options=options)]
    assert store.ended == ["a"]
    store.breaks = None
    again = await hold(model, None, store=store, tools=tools, can_use_tool=yes, resume="s")
    assert again.words == {"a": "save ran"}
    assert len(ran.calls) == 1


@pytest.mark.anyio
async def test_a_result_is_kept_when_the_claim_was_lost_meanwhile() -> None:
    """Another run took the session over while the tool ran: this one ends, and what it began is not unknown."""
    late = timedelta()

    def clock() -> datetime:
        return datetime.now(UTC) + late

    store, ran = Watched(now=clock), Ran()

    async def slow(*_: Any) -> str:
        nonlocal late
        late = timedelta(hours=1)
        await store.claim("s", "another run", timedelta(seconds=60))
        return "saved"

    held = await hold(
        [[use("save", "a")], "fine"], store=store, tools=[ran.tool("save", slow)], can_use_tool=yes,
        fails=SessionBusyError, session_id="s",
    )  # fmt: skip
    assert len(held.model.requests) == 1
    stored = await store.open_turn("s")
    assert [result.content for result in stored.done.values()] == ["saved"]
    assert not stored.started
