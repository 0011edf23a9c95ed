"""A call that was started and never finished: it does not run again by itself, and nobody pretends to know."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import anyio
import pytest

from agent_sdk import Allow, Defer, Deny, InMemoryStore, SessionBusyError
from agent_sdk.ledger import session_key
from agent_sdk.sessions.records import Answer
from agent_sdk.testing import ScriptedApprover, ScriptedModel
from tests.engine.dialogue import Held, Ran, hold, use

A, B = use("save", "a", n=1), use("save", "b", n=2)


async def park_one(name: str, tool_input: dict[str, Any], context: Any) -> Any:
    """The first call may run, edited; the second one waits."""
    return Defer() if tool_input["n"] == 2 else Allow({"n": 1, "edited": True})


async def broken_off(ran: Ran, **facts: Any) -> Held:
    """A parked session whose allowed call was started, and whose run was then broken off."""
    inside = anyio.Event()

    async def hangs(*_: Any) -> str:
        inside.set()
        await anyio.sleep(30)
        return "never"

    store, model = InMemoryStore(), ScriptedModel([[A, B], "fine"])
    async with anyio.create_task_group() as group:

        async def run() -> None:
            tools = [ran.tool("save", hangs, **facts)]
            await hold(model, store=store, session_id="s", tools=tools, can_use_tool=park_one)

        group.start_soon(run)
        await inside.wait()
        group.cancel_scope.cancel()
    turn = await store.open_turn("s")
    assert [key.tool_use_id for key in turn.started] == ["a"]
    assert [key.tool_use_id for key in turn.pending] == ["b"]
    return Held([], model, store)


async def resume(held: Held, ran: Ran, decisions: Any = None, **options: Any) -> Held:
    """Go on with it."""
    options.setdefault("tools", [ran.tool("save")])
    prompt = options.pop("prompt", None)
    return await hold(held.model, prompt, store=held.store, resume="s", decisions=decisions, **options)


@pytest.mark.anyio
@pytest.mark.parametrize("told", [None, "report"])
async def test_without_a_person_it_is_reported(told: Any) -> None:
    """The model reads that the outcome is unknown; the parked sibling is not disturbed."""
    ran = Ran()
    held = await broken_off(ran)
    options = {} if told is None else {"on_unknown": told, "can_use_tool": ScriptedApprover({"b": Allow()})}
    done = await resume(held, ran, None if told else {"b": Allow()}, **options)
    assert [n["n"] for _, n in ran.calls] == [1, 2]
    assert "outcome of this call is unknown" in done.words["a"]
    assert done.words["b"] == "save ran"
    assert "a" in [denied["tool_use_id"] for denied in done.result.permission_denials]


@pytest.mark.anyio
@pytest.mark.parametrize("answer", [Allow(), Deny("it did run, I looked")], ids=["again", "no"])
async def test_a_person_is_asked_with_the_input_that_was_started(answer: Any) -> None:
    """Allow runs it again, Deny tells the model what the person says; an answer from before does not count."""
    ran = Ran()
    held = await broken_off(ran)
    person = ScriptedApprover({"a": answer, "b": Allow()})
    done = await resume(held, ran, can_use_tool=person)
    first = person.calls[0]
    assert (first.context.tool_use_id, first.tool_input) == ("a", {"n": 1, "edited": True})
    assert "unknown" in str(first.context.decision_reason)
    again = [{"n": 1, "edited": True}] if isinstance(answer, Allow) else []
    assert [n for _, n in ran.calls[1:]] == [*again, {"n": 2}]
    assert done.words["a"] == ("save ran" if again else "it did run, I looked")


@pytest.mark.anyio
@pytest.mark.parametrize("how", ["decisions", "answer"])
async def test_with_nobody_there_it_can_be_asked_for_later(how: str) -> None:
    """`on_unknown="ask"` parks it as a new approval that says so; its answer is obeyed."""
    ran = Ran()
    held = await broken_off(ran)
    parked = await resume(held, ran, {"b": Allow()}, on_unknown="ask")
    assert parked.result.terminal_reason == "tool_deferred"
    (approval,) = await held.store.pending("s")
    assert (approval.tool_use_id, approval.unknown, approval.tool_input) == ("a", True, {"n": 1, "edited": True})
    assert [n["n"] for _, n in ran.calls] == [1, 2]
    decisions = {"a": Allow()}
    if how == "answer":
        assert await held.store.answer(approval.key, Answer(decision=Allow()))
    done = await resume(held, ran, decisions if how == "decisions" else None, on_unknown="ask")
    assert [n["n"] for _, n in ran.calls] == [1, 2, 1]
    assert done.words == {"a": "save ran", "b": "save ran"}


@pytest.mark.anyio
async def test_an_idempotent_tool_runs_again_as_it_was_approved() -> None:
    """The person's yes outlives the crash; nobody is asked again."""
    ran = Ran()
    held = await broken_off(ran, idempotent=True)
    done = await resume(held, ran, {"b": Allow()}, tools=[ran.tool("save", idempotent=True)])
    assert [n for _, n in ran.calls] == [{"n": 1, "edited": True}, {"n": 1, "edited": True}, {"n": 2}]
    assert ran.contexts[0].idempotency_key == ran.contexts[1].idempotency_key != ran.contexts[2].idempotency_key
    assert done.result.terminal_reason == "completed"


@pytest.mark.anyio
@pytest.mark.parametrize("idempotent", [False, True])
async def test_a_new_prompt_does_not_run_it_again(idempotent: bool) -> None:
    """It reads as unknown, the open one as superseded."""
    ran = Ran()
    held = await broken_off(ran, idempotent=idempotent)
    done = await resume(held, ran, prompt="forget it", tools=[ran.tool("save", idempotent=idempotent)])
    assert len(ran.calls) == 1
    assert "unknown" in done.words["a"]
    assert "superseded" in done.words["b"]


@pytest.mark.anyio
async def test_a_result_that_was_stored_is_never_run_for_again() -> None:
    """The run died after the tool and before the message: the journal has the result."""
    ran, store = Ran(), InMemoryStore()
    held = await hold([[A, B], "fine"], tools=[ran.tool("save")], can_use_tool=park_one, store=store)
    claim = await store.claim(held.session_id, "other", timedelta(seconds=1))
    await store.release(claim)
    for _ in range(2):
        again = await hold(held.model, None, store=store, resume=held.session_id, tools=[ran.tool("save")])
        assert again.result.terminal_reason == "tool_deferred"
    decisions = {"b": Deny("no")}
    done = await hold(
        held.model, None, store=store, resume=held.session_id, tools=[ran.tool("save")], decisions=decisions
    )
    assert [n["n"] for _, n in ran.calls] == [1]
    assert done.words == {"a": "save ran", "b": "no"}


@pytest.mark.anyio
async def test_a_transcript_that_ends_inside_a_turn_is_judged_from_the_start() -> None:
    """Nothing is stored of the calls: none runs because a record is missing."""
    ran, store = Ran(), InMemoryStore()
    entries = [
        {"type": "user", "uuid": "1", "message": {"role": "user", "content": "go"}},
        {"type": "assistant", "uuid": "2", "message": {"role": "assistant", "content": [A, B]}},
    ]
    await store.append(session_key("s"), entries)
    person = ScriptedApprover([Allow(), Deny("no")])
    model = ScriptedModel([[], "fine"])
    done = await hold(model, None, store=store, resume="s", tools=[ran.tool("save")], can_use_tool=person)
    person.assert_done()
    assert (ran.calls, done.words) == ([("save", {"n": 1})], {"a": "save ran", "b": "no"})
    assert done.result.result == "fine"


@pytest.mark.anyio
async def test_a_run_that_lost_its_session_starts_nothing_more() -> None:
    """Another run took it while a person was thinking."""

    ran, store = Ran(), InMemoryStore()

    async def person(*_: Any) -> Allow:
        store._sessions["s"].claim = None  # the lease ran out
        await store.claim("s", "somebody else", timedelta(seconds=60))
        return Allow()

    held = await hold(
        [[A, B]], store=store, session_id="s", tools=[ran.tool("save")], can_use_tool=person, fails=SessionBusyError
    )
    assert ran.calls == []
    assert len(held.model.requests) == 1
