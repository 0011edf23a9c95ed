"""`@tool` and servers in this process, in the spelling of the Claude Agent SDK."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

import pytest
from pydantic import BaseModel

from agent_sdk import OptionsError
from agent_sdk.compat import ToolAnnotations, create_sdk_mcp_server, tool
from agent_sdk.compat.tools import tools_of
from tests.compat.programs import results, run
from tests.engine.dialogue import use

pytestmark = pytest.mark.anyio


async def quiet(args: Any) -> dict[str, Any]:
    return {"content": []}


class Point(TypedDict):
    x: Annotated[int, "how far to the right"]
    y: NotRequired[int]


SCHEMAS: list[tuple[Any, dict[str, Any], list[str]]] = [
    ({"a": int, "b": str}, {"a": {"type": "integer"}, "b": {"type": "string"}}, ["a", "b"]),
    ({"a": Annotated[float, "a number"]}, {"a": {"type": "number", "description": "a number"}}, ["a"]),
    ({}, {}, []),
    (Point, {"x": {"type": "integer", "description": "how far to the right"}, "y": {"type": "integer"}}, ["x"]),
    ({"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": []}, {"a": {"enum": [1, 2]}}, []),
    ({"a": list[int]}, {"a": {"type": "array", "items": {"type": "integer"}}}, ["a"]),
    ({"a": int | None}, {"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}, ["a"]),
]


@pytest.mark.parametrize(("form", "properties", "required"), SCHEMAS, ids=lambda value: str(value)[:30])
def test_input_schemas(form: Any, properties: dict[str, Any], required: list[str]) -> None:
    """Names with types, a TypedDict, or a JSON schema."""
    [made] = tools_of("s", create_sdk_mcp_server("s", tools=[tool("t", "T.", form)(quiet)])["instance"])  # type: ignore[arg-type]
    assert made.input_schema == {"type": "object", "properties": properties, "required": required}


@pytest.mark.parametrize("form", [{"a": object()}, 3, int, {"type": "object", "properties": {}, "odd": 1}], ids=str)
def test_a_schema_that_is_none_is_refused(form: Any) -> None:
    """The error names the tool."""
    with pytest.raises(OptionsError, match="mcp__s__t"):
        tools_of("s", create_sdk_mcp_server("s", tools=[tool("t", "T.", form)(quiet)])["instance"])  # type: ignore[arg-type]


class Hints(BaseModel):
    readOnlyHint: bool = True


@pytest.mark.parametrize(
    "hints",
    [ToolAnnotations(readOnlyHint=True), ToolAnnotations(read_only_hint=True), Hints(), {"readOnlyHint": True}],
    ids=str,
)
def test_hints_about_a_tool(hints: object) -> None:
    """Read-only, in every spelling."""
    [made] = tools_of("s", create_sdk_mcp_server("s", tools=[tool("t", "T.", {}, hints)(quiet)])["instance"])  # type: ignore[arg-type]
    assert made.read_only
    assert not made.destructive


RETURNED: list[tuple[object, str, bool]] = [
    ({"content": [{"type": "text", "text": "five"}]}, "five", False),
    ({"content": [{"type": "text", "text": "no"}], "is_error": True}, "no", True),
    ({"content": []}, "the tool returned nothing", False),
    ({"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}, "image/png", False),
    ({"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}], "is_error": True}, "nothing", True),
    ({"content": [{"type": "resource", "resource": {"text": "inside"}}]}, "inside", False),
    ({"content": [{"type": "resource_link", "name": "n", "uri": "file:///x"}]}, "file:///x", False),
    ({"content": [{"type": "audio"}]}, "the tool returned nothing", False),
    ("text", "instead of a dict with content", True),
    (ValueError("no such user"), "no such user", True),
]


@pytest.mark.parametrize(("returned", "words", "is_error"), RETURNED, ids=lambda value: str(value)[:40])
async def test_what_a_tool_returns(returned: object, words: str, is_error: bool, tmp_path: Path) -> None:
    """Blocks in the form of MCP become blocks of the Messages API; what it raises is told to the model in its words."""
    inputs: list[Any] = []

    @tool("t", "T.", {"a": int})
    async def handler(args: Any) -> Any:
        inputs.append(args)
        if isinstance(returned, Exception):
            raise returned
        return returned

    servers = {"s": create_sdk_mcp_server("other", tools=[handler])}
    turns = [[use("mcp__s__t", a="x")], [use("mcp__s__t", a=1)]]
    messages = await run(turns, tmp_path, mcp_servers=servers, allowed_tools=["mcp__s"])
    (refused, _), (told, failed) = results(messages)
    assert "a" in refused
    assert inputs == [{"a": 1}]
    assert words in told
    assert failed == is_error
    assert messages[0].data["mcp_servers"] == [{"name": "s", "status": "connected"}]  # type: ignore[union-attr]


def test_a_server_takes_only_their_tools() -> None:
    """A function that is not decorated is refused."""
    with pytest.raises(OptionsError, match="made with @tool"):
        create_sdk_mcp_server("s", tools=[quiet])  # type: ignore[list-item]
