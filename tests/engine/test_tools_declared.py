"""Whatever happened before, `tools` is declared once the conversation holds a call."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.dialogue import Ran, hold, use


@pytest.mark.anyio
@pytest.mark.parametrize("rules", [{"tools": []}, {"deny": ["save"]}], ids=["no-tools", "all-denied"])
async def test_a_call_of_a_tool_that_is_not_offered_is_answered_and_declared(rules: dict[str, Any]) -> None:
    """The model calls what it was not offered: an error result, and a request that the service takes."""
    ran = Ran()
    options = {"tools": [ran.tool("save")], **rules}
    held = await hold([[use("save", "a")], [use("other", "b")]], **options)
    assert ran.calls == []
    assert list(held.words) == ["a", "b"]
    assert all(block.is_error for block in held.results.values())
    assert held.result.result == "done"


@pytest.mark.anyio
async def test_a_session_whose_tools_are_gone_goes_on() -> None:
    """The definitions that were stored are sent when none are given any more."""
    ran = Ran()
    first = await hold([[use("save", "a")]], tools=[ran.tool("save")], allow=["save"])
    second = await hold(["hi", "hello"], "next", store=first.store, resume=first.session_id, tools=[])
    assert [tool["name"] for tool in second.model.requests[0]["tools"]] == ["save"]
