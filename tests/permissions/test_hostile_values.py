"""Values and exceptions of the application that lie: what is judged is what runs, and a gate that breaks is a no."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agent_sdk import AgentOptions, Allow, Deny, HookMatcher, InMemoryStore, Tool, ToolContext, ToolResult, query
from agent_sdk.testing import ScriptedModel
from agent_sdk.values import copied


class TwoFaced(str):
    """Reads as one thing and encodes as another."""

    def encode(self, *args: Any, **kwargs: Any) -> bytes:
        """Another thing."""
        return b"touch pwned"

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Mute(Exception):
    """Cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def use(name: str, /, **tool_input: Any) -> dict[str, Any]:
    """A call."""
    return {"type": "tool_use", "name": name, "input": tool_input}


def recorder(ran: list[Any], *, read_only: bool = False, work: Callable[[], Any] | None = None) -> Tool:
    """A tool that notes its input; `work` is called when it runs."""

    async def run(tool_input: Any, context: ToolContext) -> ToolResult:
        ran.append(tool_input)
        if work is not None:
            await work()
        return ToolResult("ok")

    return Tool(
        name="act",
        description="Acts.",
        input_schema={"type": "object"},
        run=run,
        check=lambda tool_input: None,
        read_only=read_only,
    )


async def results_of(options: AgentOptions) -> list[Any]:
    """What the model read, from the second request."""
    assert [message async for message in query("go", options=options)]
    assert isinstance(options.model, ScriptedModel)
    request: Any = options.model.requests[1]
    return [block for block in request["messages"][2]["content"] if block["type"] == "tool_result"]


def test_a_copy_holds_plain_values_only() -> None:
    """Subclasses of str, int and float are rebuilt, as values and as keys."""

    class Number(int):
        pass

    copy = copied({TwoFaced("key"): [TwoFaced("value"), Number(3), True]})
    assert isinstance(copy, dict)
    ((key, values),) = copy.items()
    assert type(key) is str
    assert [type(value) for value in values] == [str, int, bool]


@pytest.mark.anyio
@pytest.mark.parametrize("by", ["hook", "callback"])
async def test_a_rewrite_cannot_bring_a_value_with_two_faces(by: str) -> None:
    """What a hook or callback hands back is a plain copy by the time it is judged, and that copy runs."""
    ran: list[Any] = []

    async def hook(told: Any, tool_use_id: str | None, context: Any) -> Any:
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": TwoFaced("ls")}}}

    async def callback(name: str, tool_input: dict[str, Any], context: Any) -> Allow:
        return Allow({"command": TwoFaced("ls")} if by == "callback" else None)

    options = AgentOptions(
        model=ScriptedModel([{"content": [use("act", command="rm x")]}]),
        tools=[recorder(ran)],
        can_use_tool=callback,
        hooks={"PreToolUse": [HookMatcher(hooks=[hook])]} if by == "hook" else None,
        session_store=InMemoryStore(),
    )
    await results_of(options)
    assert type(ran[0]["command"]) is str
    assert ran[0]["command"].encode() == b"ls"


@pytest.mark.anyio
async def test_a_hook_that_cancels_its_own_task_is_a_no() -> None:
    """Beside another hook too: a task that ends without a word gave no yes."""
    ran: list[Any] = []

    async def gone(told: Any, tool_use_id: str | None, context: Any) -> Deny:
        task = _asyncio_task()
        if task is None:
            raise RuntimeError("trio knows no such thing")
        task.cancel()
        await anyio.lowlevel.checkpoint()
        return Deny("never")

    async def fine(told: Any, tool_use_id: str | None, context: Any) -> None:
        return None

    options = AgentOptions(
        model=ScriptedModel([{"content": [use("act")]}]),
        tools=[recorder(ran)],
        allow=["act"],
        hooks={"PreToolUse": [HookMatcher(hooks=[gone, fine])]},
        session_store=InMemoryStore(),
    )
    (result,) = await results_of(options)
    assert result["is_error"]
    assert ran == []


@pytest.mark.anyio
async def test_a_tool_that_cancels_its_own_task_has_an_unknown_outcome() -> None:
    """Beside another read-only one: it started, so the model is never told that it did not run."""
    ran: list[Any] = []
    first = [True]

    async def cancel_first() -> None:
        task = _asyncio_task()
        if first and task is not None:
            first.clear()
            task.cancel()
            await anyio.lowlevel.checkpoint()

    options = AgentOptions(
        model=ScriptedModel([{"content": [use("act", n=1), use("act", n=2)]}]),
        tools=[recorder(ran, read_only=True, work=cancel_first)],
        allow=["act"],
        session_store=InMemoryStore(),
    )
    results = await results_of(options)
    assert len(ran) == 2
    assert not any("Not run" in str(result["content"]) for result in results)


@pytest.mark.anyio
@pytest.mark.parametrize("where", ["hook", "callback", "tool"])
async def test_an_exception_without_words_does_not_end_the_run(where: str) -> None:
    """It is a denial, or a failed tool, and the run goes on."""

    async def hook(told: Any, tool_use_id: str | None, context: Any) -> None:
        raise Mute

    async def callback(name: str, tool_input: dict[str, Any], context: Any) -> Allow:
        if where == "callback":
            raise Mute
        return Allow()

    async def fail() -> None:
        raise Mute

    options = AgentOptions(
        model=ScriptedModel([{"content": [use("act")]}]),
        tools=[recorder([], work=fail if where == "tool" else None)],
        can_use_tool=callback,
        hooks={"PreToolUse": [HookMatcher(hooks=[hook])]} if where == "hook" else None,
        session_store=InMemoryStore(),
    )
    (result,) = await results_of(options)
    assert result["is_error"]


@pytest.mark.anyio
@pytest.mark.parametrize("swapped", ["a folder below", "the working directory itself"])
async def test_a_directory_that_became_a_link_widens_nothing(tmp_path: Path, swapped: str) -> None:
    """acceptEdits covers what lay inside when the session began, not what a link leads to by now."""
    work, outside = tmp_path / "work", tmp_path / "outside"
    (work / "sub").mkdir(parents=True)
    outside.mkdir()

    async def swap(name: str, tool_input: dict[str, Any], context: Any) -> Allow | Deny:
        if name != "act":
            return Deny("asked")
        old = work / "sub" if swapped == "a folder below" else work
        old.rename(tmp_path / "old")
        old.symlink_to(outside)
        return Allow()

    model = ScriptedModel(
        [
            {"content": [use("act")]},
            {
                "content": [
                    use("Write", file_path=str(work / "sub" / "x"), content="x"),
                    use("Write", file_path="y", content="y"),
                ]
            },
            {"content": [use("Write", file_path=str(outside / "z"), content="z")]},
        ]
    )
    options = AgentOptions(
        model=model,
        tools=[recorder([]), "Write"],
        can_use_tool=swap,
        permission_mode="acceptEdits",
        cwd=work,
        session_store=InMemoryStore(),
    )
    assert [message async for message in query("go", options=options)]
    assert os.listdir(outside) == []


@pytest.mark.anyio
async def test_the_disk_is_looked_at_again_after_somebody_thought(tmp_path: Path) -> None:
    """A folder that another process swaps for a link during a prompt does not carry an edit out of the directory."""
    work, outside = tmp_path / "work", tmp_path / "outside"
    (work / "sub").mkdir(parents=True)
    outside.mkdir()

    async def think(name: str, tool_input: dict[str, Any], context: Any) -> Deny:
        if name == "act":
            (work / "sub").rmdir()
            (work / "sub").symlink_to(outside)
        return Deny("no")

    options = AgentOptions(
        model=ScriptedModel([{"content": [use("Write", file_path="sub/a", content="a"), use("act")]}]),
        tools=[recorder([]), "Write"],
        can_use_tool=think,
        permission_mode="acceptEdits",
        cwd=work,
        session_store=InMemoryStore(),
    )
    assert [message async for message in query("go", options=options)]
    assert os.listdir(outside) == []


def _asyncio_task() -> Any:
    """The asyncio task that runs, or None on trio."""

    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
