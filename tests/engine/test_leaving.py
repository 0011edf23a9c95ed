"""A consumer that leaves: nothing keeps running, nothing is held, and the stored session goes on."""

from __future__ import annotations

import gc
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agent_sdk import AgentOptions, InMemoryStore, ResultMessage, SessionBusyError, query
from agent_sdk.testing import ScriptedModel
from tests.engine.dialogue import Ran, hold, say_yes, use

TURNS = [[{"type": "text", "text": "I save."}, use("save", "a", n=1), use("save", "b", n=2)]]


class Left(Exception):
    """Raised by a consumer inside its loop."""


async def leave_at(place: int, options: AgentOptions, how: str) -> None:
    """Consume so many messages, then leave without closing the generator."""
    async for _ in query("go", options=options):
        place -= 1
        if place < 0 and how == "break":
            break
        if place < 0:
            raise Left


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")  # trio's word for a plain break
@pytest.mark.parametrize("how", ["break", "raise"])
@pytest.mark.parametrize("place", range(5))
async def test_leaving_the_loop_gives_the_session_free_at_once(place: int, how: str) -> None:
    """After a plain break or an exception the very next statement may go on with the session."""
    ran, store = Ran(), InMemoryStore()
    options: dict[str, Any] = {"tools": [ran.tool("save")], "can_use_tool": say_yes, "session_store": store}
    try:
        await leave_at(place, AgentOptions(model=ScriptedModel(TURNS), session_id="s", **options), how)
    except Left:
        pass
    again = await hold(["hello", "hello"], "next", store=store, session_id="s", tools=options["tools"])
    assert again.result.subtype == "success"
    assert len(ran.calls) <= 2
    gc.collect()


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")
async def test_leaving_while_commands_ran_leaves_no_process(tmp_path: Path) -> None:
    """The command that a cancelled run had started is gone."""
    mark = tmp_path / "alive"
    command = f"while true; do date > {mark}; sleep 0.01; done"
    options = AgentOptions(
        model=ScriptedModel([[use("Bash", "a", command=command)]]), cwd=tmp_path, permission_mode="bypassPermissions"
    )
    with anyio.move_on_after(0.5):
        async for _ in query("go", options=options):
            pass
    assert mark.exists()
    mark.unlink()
    await anyio.sleep(0.1)
    assert not mark.exists()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_leaving_at_the_end_of_the_program_leaves_nothing_pending(backend: str) -> None:
    """The loop ends right after the break: no warning of pending tasks or unclosed generators of ours."""
    ran = Ran()

    async def main() -> None:
        options = AgentOptions(model=ScriptedModel(TURNS), tools=[ran.tool("save")], can_use_tool=say_yes)
        await leave_at(1, options, "break")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Async generator", ResourceWarning)
        anyio.run(main, backend=backend)
        gc.collect()
    assert ran.calls == []


@pytest.mark.anyio
async def test_two_runs_of_one_session_exclude_each_other() -> None:
    """The second one is told who holds it."""

    store, inside, go_on = InMemoryStore(), anyio.Event(), anyio.Event()
    ran = Ran()

    async def waits(*_: Any) -> str:
        inside.set()
        await go_on.wait()
        return "ok"

    tools = [ran.tool("save", waits)]
    async with anyio.create_task_group() as group:

        async def first() -> None:
            await hold([[use("save", "a")]], store=store, session_id="s", tools=tools, allow=["save"])

        group.start_soon(first)
        await inside.wait()
        busy = await hold(["hi"], store=store, session_id="s", fails=SessionBusyError)
        assert isinstance(busy.error, SessionBusyError)
        assert (busy.error.session_id, busy.messages, busy.model.requests) == ("s", [], [])
        assert busy.error.owner
        go_on.set()
    assert len(ran.calls) == 1


@pytest.mark.anyio
async def test_whoever_hears_that_a_run_is_over_may_go_on() -> None:
    """The session is given back before the result message comes."""
    store = InMemoryStore()
    async for message in query(
        "go", options=AgentOptions(model=ScriptedModel(["hi"]), session_store=store, session_id="s")
    ):
        if isinstance(message, ResultMessage):
            claim = await store.claim("s", "somebody else", timedelta(seconds=1))
            await store.release(claim)
            break


@pytest.mark.anyio
async def test_a_claim_that_cannot_be_given_back_does_not_hide_the_result(caplog: pytest.LogCaptureFixture) -> None:
    """It ends with its lease; the application finds it in the log."""

    class Broken(InMemoryStore):
        async def release(self, claim: Any) -> None:
            raise OSError("the disk is gone")

    held = await hold(["hi"], store=Broken())
    assert held.result.result == "hi"
    assert "could not be given back" in caplog.text
