"""While a resumed run asks its callback, an answer from elsewhere counts like the callback's: the first one wins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_sdk import Allow, Deny, Inbox, InMemoryStore, SessionError, SQLiteStore, Tool, ToolResult
from agent_sdk.testing import ScriptedModel
from tests.engine.dialogue import Held, Ran, hold, use
from tests.parking.worker import later

CALLS = [use("save", "a", n=1), use("save", "b", n=2)]


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A store in memory, and one on disk."""
    return InMemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "s.sqlite")


async def parked(store: Any, ran: Ran) -> ScriptedModel:
    """The session `s` with two parked calls."""
    model = ScriptedModel([CALLS, "done"])
    held = await hold(model, store=store, session_id="s", tools=[ran.tool("save")], can_use_tool=later)
    assert held.result.terminal_reason == "tool_deferred"
    return model


async def resumed(model: ScriptedModel, store: Any, ran: Ran, person: Any, **options: Any) -> Held:
    """Go on with it, with this callback."""
    options.setdefault("tools", [ran.tool("save")])
    return await hold(model, None, store=store, resume="s", can_use_tool=person, **options)


ANSWERS: list[tuple[Any, str, list[int]]] = [
    ({"decision": Allow({"n": 9})}, "save ran", [9, 2]),
    ({"decision": Deny("not that one")}, "not that one", [2]),
    ({"result": "done by hand"}, "done by hand", [2]),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("answer", "words", "ran_with"), ANSWERS, ids=["allow", "deny", "result"])
async def test_an_answer_from_elsewhere_ends_the_question(
    store: Any, answer: dict[str, Any], words: str, ran_with: list[int]
) -> None:
    """The callback is cancelled, and what was answered is obeyed."""
    ran = Ran()
    model = await parked(store, ran)
    cancelled: list[str] = []

    async def person(name: str, tool_input: dict[str, Any], context: Any) -> Allow:
        if context.tool_use_id == "b":
            return Allow()
        try:
            assert await Inbox(store).answer("s", "a", by="ann", **answer)
            await anyio.sleep(30)
        except anyio.get_cancelled_exc_class():
            cancelled.append(context.tool_use_id)
            raise
        return Allow()

    held = await resumed(model, store, ran, person)
    assert cancelled == ["a"]
    assert held.words == {"a": words, "b": "save ran"}
    assert [tool_input["n"] for _, tool_input in ran.calls] == ran_with
    assert any(step.get("by") == "ann" for step in await held.trace("a"))


@pytest.mark.anyio
async def test_the_callback_is_not_asked_about_what_was_answered_while_it_was_busy(store: Any) -> None:
    """Calls are asked about one at a time; an answer to the second one during the first is taken as it is."""
    ran = Ran()
    model = await parked(store, ran)
    asked: list[str] = []

    async def person(name: str, tool_input: dict[str, Any], context: Any) -> Allow:
        asked.append(context.tool_use_id)
        assert await Inbox(store).answer("s", "b", Deny("no"))
        return Allow()

    held = await resumed(model, store, ran, person)
    assert asked == ["a"]
    assert held.words == {"a": "save ran", "b": "no"}


@pytest.mark.anyio
async def test_the_callback_may_be_first(store: Any) -> None:
    """Its decision is stored like an answer, so a later one from elsewhere is told that it came second."""
    ran = Ran()
    model = await parked(store, ran)
    late: list[bool] = []

    async def check(tool_input: Any, context: Any) -> ToolResult:
        late.append(await Inbox(store).answer("s", context.tool_use_id, Deny("too late")))
        return ToolResult("ran")

    tools = [Tool(name="save", description="save.", input_schema={"type": "object"}, run=check, check=lambda _: None)]
    held = await resumed(model, store, ran, allows, tools=tools)
    assert late == [False, False]
    assert held.words == {"a": "ran", "b": "ran"}


@pytest.mark.anyio
async def test_a_deny_rule_beats_an_answer_from_elsewhere() -> None:
    """Also a result that was delivered from outside."""
    ran, store = Ran(), InMemoryStore()
    model = await parked(store, ran)

    async def person(name: str, tool_input: dict[str, Any], context: Any) -> Allow:
        assert await Inbox(store).answer("s", context.tool_use_id, result="done by hand")
        await anyio.sleep(30)
        return Allow()

    held = await resumed(model, store, ran, person, deny=["save"])
    assert ran.calls == []
    assert all("Denied by a permission rule" in words for words in held.words.values())


@pytest.mark.anyio
async def test_a_store_that_fails_while_it_is_listened_to_leaves_the_callback_alone() -> None:
    """Answers from elsewhere are not heard then; the person who is there is."""

    class Deaf(InMemoryStore):
        async def wait(self, *_: Any, **__: Any) -> bool:
            raise SessionError("no connection")

    ran, store = Ran(), Deaf()
    model = await parked(store, ran)

    async def person(*_: Any) -> Allow:
        await anyio.sleep(0.05)
        return Allow()

    held = await resumed(model, store, ran, person)
    assert held.words == {"a": "save ran", "b": "save ran"}


async def allows(*_: Any) -> Allow:
    """A person who says yes."""
    return Allow()
