"""A disk that runs full, or cannot be written, in the middle of a run: a clear error, no tool twice, nothing lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_sdk import AgentOptions, Allow, Defer, HookMatcher, SessionError, SQLiteStore, get_session_messages, query
from agent_sdk.testing import ScriptedModel
from tests.engine.dialogue import Ran, hold, use

BIG = "x" * 200_000
FINE = {"content": [{"type": "text", "text": "fine"}]}


class FullStore(SQLiteStore):
    """Its disk is full whenever the method `full_at` writes."""

    full_at = ""

    @asynccontextmanager
    async def _space_for(self, method: str) -> AsyncIterator[None]:
        connection = self._file._shared.connection
        assert connection is not None
        if method == self.full_at:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        try:
            yield
        finally:
            connection.execute("PRAGMA max_page_count = 1073741823")

    async def write(self, claim: Any, key: Any, entries: Any, *, closes: str | None = None) -> None:
        """As its base; a prompt always fits."""
        async with self._space_for("close" if closes else "reply"):
            await super().write(claim, key, entries, closes=closes)

    async def park(self, *arguments: Any) -> None:
        """As its base."""
        async with self._space_for("park"):
            await super().park(*arguments)

    async def begin_call(self, *arguments: Any, **more: Any) -> Any:
        """As its base."""
        async with self._space_for("begin"):
            return await super().begin_call(*arguments, **more)

    async def end_call(self, *arguments: Any) -> None:
        """As its base."""
        async with self._space_for("end"):
            await super().end_call(*arguments)


async def big_result(*_: Any) -> str:
    """A tool that reads a large file."""
    return BIG


async def person(name: str, tool_input: dict[str, Any], context: Any) -> Any:
    """Yes, or later."""
    return Defer() if tool_input.get("later") else Allow()


CASES = {
    "reply": ("reply", {"n": BIG}, 0),
    "begin": ("begin", {"n": BIG}, 0),
    "end": ("end", {"n": 1}, 1),
    "close": ("close", {"n": 1}, 1),
    "park": ("park", {"n": BIG, "later": True}, 0),
}


async def listen(*_: Any) -> None:
    """A hook: a result that somebody hears is stored before that, one that nobody hears with the end of its turn."""


HOOKS: dict[str, Any] = defaultdict(dict, end={"PostToolUse": [HookMatcher(hooks=[listen])]})


@pytest.mark.anyio
@pytest.mark.parametrize(("full_at", "tool_input", "ran_by_then"), CASES.values(), ids=CASES)
async def test_the_disk_runs_full(full_at: str, tool_input: dict[str, Any], ran_by_then: int, tmp_path: Path) -> None:
    """The run ends with an error that says so; when there is room again, the session goes on and no tool ran twice."""
    store, ran = FullStore(tmp_path / "s.sqlite"), Ran()
    tools = [ran.tool("save", big_result)]
    options: dict[str, Any] = {"store": store, "tools": tools, "can_use_tool": person}
    await hold(["hello"], "hi", session_id="s", **options)
    store.full_at = full_at
    broken = ScriptedModel(["", [use("save", "a", **tool_input)]])
    settings = AgentOptions(
        model=broken, session_store=store, session_id="s", tools=tools, can_use_tool=person, hooks=HOOKS[full_at]
    )
    with pytest.raises(SessionError, match="disk of the session store is full"):
        [message async for message in query("go", options=settings)]
    assert len(ran.calls) == ran_by_then
    store.full_at = ""
    again = await hold(ScriptedModel({"turns": [], "after": FINE}), "and now?", session_id="s", **options)
    assert again.result.subtype == "success"
    assert len(ran.calls) == ran_by_then
    prompts = [str(message.content) for message in await get_session_messages("s", store=store)]
    assert "hi" in prompts[0]
    assert any("and now?" in prompt for prompt in prompts)


@pytest.mark.anyio
async def test_a_store_that_cannot_be_made(tmp_path: Path) -> None:
    """Nothing is asked of the model, and the error names the path."""
    (tmp_path / "file").write_text("")
    store, ran = SQLiteStore(tmp_path / "file" / "s.sqlite"), Ran()
    held = await hold([[use("save", "a")]], "go", store=store, tools=[ran.tool("save")], fails=SessionError)  # type: ignore[arg-type]
    assert str(tmp_path / "file") in str(held.error)
    assert (held.model.requests, held.messages, ran.calls) == ([], [], [])
