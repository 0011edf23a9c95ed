"""The message that closes a turn cannot be stored, or nobody knows whether it was: what the turn knows is kept."""

from __future__ import annotations

from random import Random
from typing import Any

import anyio
import pytest

from agent_sdk import (
    AgentClient,
    AgentOptions,
    Allow,
    HookMatcher,
    InMemoryStore,
    PermissionUpdate,
    ResultMessage,
    query,
)
from agent_sdk.ledger import session_key
from agent_sdk.testing import ScriptedModel
from tests.engine.dialogue import Ran, check_requests, say_yes, use
from tests.parking.far_store import Fault, Kind, Wire, far_store
from tests.parking.test_random_faults import check_results

CLOSING = 5
"""The uses of the store before a turn of one call is closed: claim, load, prompt, message, start."""


async def run_with(fault: Fault, ran: Ran, **options: Any) -> list[Any]:
    """One run with this fault; what is stored of it."""
    inner = InMemoryStore()
    wire = Wire(inner, Random(0), fault=fault)
    settings = AgentOptions(
        model=ScriptedModel([[use("save", "a")], "fine"]), tools=[ran.tool("save")],
        session_store=far_store(wire), session_id="s", **{"can_use_tool": say_yes, **options},
    )  # fmt: skip
    with pytest.raises(OSError, match=r"the wire is cut|the answer was lost"):
        [message async for message in query("go", options=settings)]
    assert [method for method, _ in wire.used][:CLOSING] == ["claim", "load", "write", "write", "begin_call"]
    return await inner.load(session_key("s")) or []


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["before", "after"])
async def test_it_is_tried_once_more(kind: Kind) -> None:
    """The turn is closed in the end, once, with result and decision; the error that is told is the first."""
    ran = Ran()
    entries = await run_with(Fault(CLOSING, kind, "write"), ran)
    assert check_results(entries) == {"a": "save ran"}
    assert [e["behavior"] for e in entries if e["type"] == "permission"] == ["allow"]
    assert len([e for e in entries if e["type"] == "user"]) == 2, "the prompt, and the results once"


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["before", "after"])
async def test_what_a_hook_said_is_written_with_the_second_try(kind: Kind) -> None:
    """The context that follows the results is stored once, whether or not the first try counted."""

    async def tell(*_: Any) -> dict[str, Any]:
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "mind the gap"}}

    hooks = {"PostToolUse": [HookMatcher(hooks=[tell])]}
    fault = Fault(CLOSING + 1, kind, "write")  # a result that a hook hears has been stored by itself
    entries = await run_with(fault, Ran(), hooks=hooks)
    assert words_after_results(entries) == ["mind the gap"]


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["before", "after"])
async def test_a_prompt_sent_in_the_turn_is_written_with_the_second_try(kind: Kind) -> None:
    """It is stored once, whether or not the first try counted, and the model reads it in the next run."""
    inner = InMemoryStore()
    wire = Wire(inner, Random(0), fault=Fault(CLOSING + 1, kind, "write"))

    async def interject(*_: Any) -> str:
        await client.query("and this?")
        return "saved"

    model = ScriptedModel([[use("save", "a")], "fine"])
    options = AgentOptions(
        model=model, tools=[Ran().tool("save", interject)], can_use_tool=say_yes,
        session_store=far_store(wire), session_id="s",
    )  # fmt: skip
    async with AgentClient(options) as client:
        await client.query("go")
        with pytest.raises(OSError, match=r"the wire is cut|the answer was lost"):
            [message async for message in client.receive_response()]
        assert words_after_results(await inner.load(session_key("s")) or []) == ["and this?"]
        await client.resume()
        assert [m.result async for m in client.receive_response() if isinstance(m, ResultMessage)] == ["fine"]
    check_requests(model.requests)
    assert [block["type"] for block in model.requests[-1]["messages"][-1]["content"]] == ["tool_result", "text"]


def words_after_results(entries: list[Any]) -> list[str]:
    """The text in the one message that closes the turn."""
    [closing] = [e for e in entries if e["type"] == "user"][1:]
    return [block["text"] for block in closing["message"]["content"] if block["type"] == "text"]


@pytest.mark.anyio
async def test_a_state_that_did_not_reach_the_store_is_written_again() -> None:
    """The mode that a person chose with the yes is stored with the end of the turn, at the second try as well."""

    async def yes_and_plan(*_: Any) -> Allow:
        return Allow(updated_permissions=[PermissionUpdate.set_mode("plan", destination="session")])

    entries = await run_with(Fault(CLOSING, "before", "write"), Ran(), can_use_tool=yes_and_plan)
    assert [e["mode"] for e in entries if e["type"] == "state"] == ["default", "plan"]


@pytest.mark.anyio
async def test_a_result_is_told_though_the_journal_could_not_take_it() -> None:
    """Of two calls the first ends while the store is away for a moment: the model reads its result all the same."""
    ran, inner = Ran(), InMemoryStore()
    wire = Wire(inner, Random(0), fault=Fault(0, "before", "end_call"))
    settings = AgentOptions(
        model=ScriptedModel([[use("save", "a"), use("save", "b")], "fine"]), tools=[ran.tool("save")],
        can_use_tool=say_yes, session_store=far_store(wire), session_id="s",
    )  # fmt: skip
    with pytest.raises(OSError, match="the wire is cut"):
        [message async for message in query("go", options=settings)]
    results = check_results(await inner.load(session_key("s")) or [])
    assert results["a"] == "save ran"
    assert len(ran.calls) == 1


@pytest.mark.anyio
async def test_a_store_that_hangs_does_not_hold_up_a_cancelled_run_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run writes at its end has two seconds; here it has less."""
    monkeypatch.setattr("agent_sdk.closing.CLOSING_SECONDS", 0.05)
    monkeypatch.setattr("agent_sdk.conversation.CLOSING_SECONDS", 0.05)
    inside = anyio.Event()

    class Hanging(InMemoryStore):
        async def write(self, *arguments: Any, closes: str | None = None) -> None:
            if closes is not None:
                await anyio.sleep_forever()
            await super().write(*arguments, closes=closes)

    async def wait(*_: Any) -> str:
        inside.set()
        await anyio.sleep_forever()
        return ""

    store, tools = Hanging(), [Ran().tool("save", wait)]
    model = ScriptedModel([[use("save", "a")], "fine"])
    options = AgentOptions(model=model, tools=tools, can_use_tool=say_yes, session_store=store, session_id="s")

    async def consume() -> None:
        async for _ in query("go", options=options):
            pass

    with anyio.fail_after(2):
        async with anyio.create_task_group() as group:
            group.start_soon(consume)
            await inside.wait()
            group.cancel_scope.cancel()
    assert store._sessions["s"].claim is None
