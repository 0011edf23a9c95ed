"""Model, system prompt and thinking of an open turn stay; a warning names what was given and does not count yet."""

from __future__ import annotations

from typing import Any

import pytest

from agent_sdk import AgentOptions, Defer, InMemoryStore, SystemMessage, query
from agent_sdk.testing import ScriptedModel

pytestmark = pytest.mark.anyio

CALL = {"type": "tool_use", "id": "b", "name": "Bash", "input": {"command": "echo one"}}
FIRST = {"system_prompt": "Be brief.", "thinking": {"type": "enabled", "budget_tokens": 2_000}}
CASES: list[Any] = [
    pytest.param({}, [], id="nothing given"),
    pytest.param(FIRST, [], id="the same given again"),
    pytest.param({"model": "another"}, ["model"], id="another model"),
    pytest.param({"model": "scripted"}, [], id="the same model"),
    pytest.param({**FIRST, "system_prompt": "Be long."}, ["system_prompt"], id="another system prompt"),
    pytest.param({"system_prompt": None, "thinking": None}, ["system_prompt, thinking"], id="none of either"),
]


async def later(*_: Any) -> Defer:
    return Defer()


@pytest.mark.parametrize(("given", "named"), CASES)
async def test_only_what_was_given_and_differs_is_warned_of(given: dict[str, Any], named: list[str]) -> None:
    """The same default, or one that nobody chose, is no news."""
    store = InMemoryStore()
    first = AgentOptions(
        model=ScriptedModel([[CALL]]), session_store=store, session_id="s", can_use_tool=later, **FIRST
    )
    async for _ in query("go", options=first):
        pass
    again = AgentOptions(session_store=store, resume="s", can_use_tool=later, **given)
    warnings = [
        str(message.data["message"])
        async for message in query(options=again)
        if isinstance(message, SystemMessage) and message.subtype == "warning"
    ]
    assert [warning.rpartition(": ")[2] for warning in warnings] == named
