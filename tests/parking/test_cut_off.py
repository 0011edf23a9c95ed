"""`task.cancel()` knows no shield: it can cut off any use of a store, before the store has done it or after."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from agent_sdk import AgentOptions, InMemoryStore, ResultMessage, ToolContext, query
from agent_sdk.ledger import session_key
from agent_sdk.permissions import messages
from agent_sdk.testing import ScriptedModel
from tests.engine.dialogue import Ran, say_yes, use
from tests.parking.far_store import METHODS, Kind, Wire, far_store
from tests.parking.test_random_faults import check_results


@dataclass
class CutWire(Wire):
    """In the use of the store with the number `at` the task of its caller is cancelled: `after` it was done, or before.

    A wire to a server is like that: the request may have left or not, and the answer is not waited for.
    """

    at: int = 0
    after: bool = False

    async def _carried(self, kind: Kind | None, method: str, *arguments: Any, **named: Any) -> Any:
        cut = len(self.used) == self.at + 1
        came = await super()._carried(kind, method, *arguments, **named) if self.after or not cut else None
        if cut:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)
        return came


async def consume(prompt: str | None, options: AgentOptions) -> ResultMessage:
    """One run to its end."""
    *_, last = [message async for message in query(prompt, options=options)]
    assert isinstance(last, ResultMessage)
    return last


async def cut_run(at: int, after: bool, methods: Sequence[str]) -> bool:
    """A run that is cut off in this use of its store, and another that goes on; whether there was such a use."""
    ran, finished, inner = Ran(), set[str](), InMemoryStore()

    async def work(tool_input: Any, context: ToolContext) -> str:
        finished.add(context.tool_use_id)
        return f"ran {context.tool_use_id}"

    def options(store: Any, **more: Any) -> AgentOptions:
        return AgentOptions(
            model=model, tools=[ran.tool("save", work)], can_use_tool=say_yes, session_store=store,
            on_unknown="report", **more,
        )  # fmt: skip

    model = ScriptedModel([[use("save", "a"), use("save", "b")], [use("save", "c")], *["fine"] * 4])
    wire = CutWire(inner, Random(0), at=at, after=after)
    task = asyncio.create_task(consume("go", options(far_store(wire, methods), session_id="s")))
    await asyncio.wait([task])
    if not task.cancelled():
        assert task.result().subtype == "success"
    check_results(await inner.load(session_key("s")) or [])
    if (session := inner._sessions.get("s")) is not None:
        session.claim = None
    if await inner.load(session_key("s")) is not None:
        assert (await consume("and now?", options(inner, resume="s"))).subtype == "success"
        told = check_results(await inner.load(session_key("s")) or [])
        unknown = (messages.UNKNOWN_OUTCOME, messages.INTERRUPTED_RUNNING)
        for call_id in finished:
            assert told[call_id] == f"ran {call_id}" or told[call_id] in unknown, told
        assert {call_id for call_id, text in told.items() if text.startswith("ran ")} <= finished
    assert len(ran.calls) == len(finished)
    return len(wire.used) > at


@pytest.mark.parametrize("methods", [METHODS, METHODS[:5]], ids=["parks", "transcripts only"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_run_that_is_cut_off_in_any_use_of_its_store_leaves_a_legal_transcript(
    after: bool, methods: Sequence[str]
) -> None:
    """No result is there without its call, none is lost, and no tool runs twice."""

    async def main() -> None:
        at = 0
        while await cut_run(at, after, methods):
            at += 1
        assert at > 4

    asyncio.run(main())
