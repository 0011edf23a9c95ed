"""@tool and as_tool: what they make of functions, what they refuse, and what the model reads."""

from __future__ import annotations

import contextlib
import enum
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from anthropic import beta_async_tool, beta_tool
from anthropic.lib.tools import ToolError as AnthropicToolError
from pydantic import BaseModel, Field

from agent_sdk.calls import ToolResult
from agent_sdk.errors import OptionsError, ToolError
from agent_sdk.tools.base import Tool, ToolContext
from agent_sdk.tools.function import as_tool, tool
from agent_sdk.tools.schema import compile_check
from agent_sdk.tools.signature import schema_from_signature

CONTEXT = ToolContext(cwd="/")
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}


class Place(BaseModel):
    """A place."""

    name: str
    height: int = 0


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@tool(read_only=True, timeout=5)
async def forecast(
    context: ToolContext,
    city: Annotated[str, "a city, in English"],
    days: Annotated[int, Field(ge=1, le=7)] = 1,
    schema: str = "x",
    unit: Literal["C", "F"] = "C",
) -> str:
    """The weather forecast of a city.

    Days count from today.

    Args:
        city: not this one, the annotation comes first
        days (int): how many days,
            today included
        unit: Celsius or Fahrenheit

    Returns:
        text
    """
    return f"{city} {days} {schema} {unit} in {context.cwd}"


def test_the_schema_comes_from_annotations_defaults_and_docstring() -> None:
    assert forecast.input_schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "a city, in English"},
            "days": {
                "type": "integer",
                "minimum": 1,
                "maximum": 7,
                "default": 1,
                "description": "how many days, today included",
            },
            "schema": {"type": "string", "default": "x"},
            "unit": {"type": "string", "enum": ["C", "F"], "default": "C", "description": "Celsius or Fahrenheit"},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    assert forecast.description == "The weather forecast of a city.\n\nDays count from today."
    assert (forecast.name, forecast.read_only, forecast.timeout) == ("forecast", True, 5)
    assert forecast.check({"city": "Rome", "days": 8}) == "`days` must be at most 7, got 8"


@pytest.mark.anyio
async def test_a_tool_runs_with_its_defaults_and_its_context() -> None:
    assert await forecast.run({"city": "Rome"}, CONTEXT) == ToolResult("Rome 1 x C in /")


def test_sphinx_docstrings_describe_parameters() -> None:
    async def find(word: str, limit: int = 3) -> None:
        """Find a word.

        :param word: what to
            look for
        :param int limit: how many
        :returns: nothing
        """

    made = tool(find)
    properties: Any = made.input_schema["properties"]
    assert properties["word"]["description"] == "what to look for"
    assert properties["limit"]["description"] == "how many"
    assert made.description == "Find a word."


def test_parse_gives_typed_arguments_and_names_a_field_that_does_not_fit() -> None:
    async def plan(when: date, place: Place, colours: list[Colour], extra: dict[str, int] | None = None) -> None:
        """Plan."""

    schema, parse = schema_from_signature(plan)
    given = {"when": "2026-01-02", "place": {"name": "Rome"}, "colours": ["red"]}
    assert compile_check(schema)(given) is None
    assert parse(given) == {
        "when": date(2026, 1, 2),
        "place": Place(name="Rome"),
        "colours": [Colour.RED],
        "extra": None,
    }
    with pytest.raises(ToolError, match=r"^`when`: Input should be a valid date"):
        parse(given | {"when": "soon"})


@pytest.mark.parametrize(
    ("returned", "content", "value"),
    [
        ("text", "text", None),
        ("", "The tool returned an empty text.", None),
        (None, "Done; the tool returned nothing.", None),
        (ToolResult("no", is_error=True), "no", None),
        ([{"type": "text", "text": "a"}, PICTURE], [{"type": "text", "text": "a"}, PICTURE], None),
        ([{"type": "text"}], '[{"type": "text"}]', [{"type": "text"}]),
        ([], "[]", []),
        (Place(name="Zürich"), '{"name": "Zürich", "height": 0}', {"name": "Zürich", "height": 0}),
        ({"when": date(2026, 1, 2)}, '{"when": "2026-01-02"}', {"when": "2026-01-02"}),
        (["\ud800"], '["\\ud800"]', ["\ud800"]),
        (7, "7", 7),
    ],
    ids=repr,
)
@pytest.mark.anyio
async def test_what_a_function_returns_becomes_a_result(returned: object, content: object, value: object) -> None:
    async def give() -> object:
        """Give."""
        return returned

    result = await tool(give).run({}, CONTEXT)
    assert (result.content, result.value) == (content, value)


@pytest.mark.anyio
async def test_a_value_that_is_no_json_is_told_to_the_model() -> None:
    @tool
    async def give() -> object:
        """Give."""
        return object()

    with pytest.raises(ToolError, match="type object that cannot be written as JSON"):
        await give.run({}, CONTEXT)


def plain(x: int) -> str:
    """Plain."""
    return ""


async def bare(x: int) -> str:
    return ""


async def unannotated(x) -> str:  # type: ignore[no-untyped-def]
    """Doc."""
    return ""


async def starred(*words: str) -> str:
    """Doc."""
    return ""


async def by_position(x: int, /) -> str:
    """Doc."""
    return ""


async def odd(x: int, call: Callable[[], int]) -> str:
    """Doc."""
    return ""


async def lost(x: Missing) -> str:  # type: ignore[name-defined]  # noqa: F821
    """Doc."""
    return ""


async def fine(x: int) -> str:
    """Doc."""
    return ""


@pytest.mark.parametrize(
    ("body", "options", "words"),
    [
        (plain, {}, "write `async def plain"),
        (bare, {}, "bare has no description"),
        (unannotated, {}, "`x` has no annotation"),
        (starred, {}, r"`\*words"),
        (by_position, {}, "remove the `/`"),
        (odd, {}, "`call` has no JSON schema"),
        (lost, {}, "Missing"),
        (fine, {"name": "a b"}, "'a b'"),
        (fine, {"timeout": 0}, "above 0"),
        (fine, {"ask": fine}, "plain function of the input"),
        (7, {}, "async function, got 7"),
    ],
    ids=["plain", "bare", "unannotated", "starred", "position", "type", "lost", "name", "timeout", "ask", "number"],
)
def test_what_cannot_be_a_tool_is_refused_by_name(body: Any, options: Any, words: str) -> None:
    with pytest.raises(OptionsError, match=words):
        tool(**options)(body)


def test_ask_is_handed_on() -> None:
    made = tool(ask=lambda tool_input: tool_input["x"] == 1)(fine)
    assert made.facts({"x": 1}).interaction
    assert not made.facts({"x": 2}).interaction
    assert made.facts({}).interaction, "a callable that fails counts as yes"


# ── anthropic's own


@beta_tool
def sync_add(left: int, right: int) -> str:
    """Add.

    Args:
        left: the first one
    """
    return f"{left + right} {threading.current_thread() is threading.main_thread()}"


@beta_async_tool
async def async_fail(how: str) -> str:
    """Fail."""
    match how:
        case "blocks":
            raise AnthropicToolError([{"type": "text", "text": "told"}])
        case "text":
            raise AnthropicToolError("told")
        case _:
            raise RuntimeError("secret")


@beta_tool
def stream_blocks() -> Iterator[Any]:  # type: ignore[type-var]
    """Blocks, one by one."""
    yield {"type": "text", "text": "one"}


@pytest.mark.anyio
async def test_tools_made_with_anthropic_run_as_they_are() -> None:
    add = as_tool(sync_add)
    assert (add.name, add.description) == ("sync_add", "Add.")
    assert add.check({"left": 1}) == "`right` is required"
    assert await add.run({"left": 1, "right": 2}, CONTEXT) == ToolResult("3 False")
    assert (await as_tool(stream_blocks).run({}, CONTEXT)).content == [{"type": "text", "text": "one"}]


@pytest.mark.anyio
async def test_what_an_anthropic_tool_tells_the_model_is_passed_on() -> None:
    fail = as_tool(async_fail)
    assert await fail.run({"how": "blocks"}, CONTEXT) == ToolResult([{"type": "text", "text": "told"}], is_error=True)
    assert await fail.run({"how": "text"}, CONTEXT) == ToolResult("told", is_error=True)
    with pytest.raises(RuntimeError):
        await fail.run({"how": "bug"}, CONTEXT)
    refused = await fail.run({"how": 5}, CONTEXT)
    assert refused.is_error
    assert "`how`" in str(refused.content)


@pytest.mark.anyio
async def test_an_anthropic_tool_that_is_a_context_manager_runs() -> None:
    @beta_async_tool(input_schema={"type": "object", "properties": {"x": {"type": "string"}}}, name="held")
    @contextlib.asynccontextmanager
    async def held() -> AsyncIterator[Any]:
        async def inner(x: str) -> str:
            return x.upper()

        yield inner

    assert await as_tool(held).run({"x": "a"}, CONTEXT) == ToolResult("A")


@pytest.mark.parametrize(
    "value", [print, "Bash", {"name": "x"}, Tool, object(), fine], ids=lambda value: type(value).__name__
)
def test_anything_else_is_no_tool_and_its_type_is_named(value: object) -> None:
    with pytest.raises(OptionsError, match=type(value).__name__):
        as_tool(value)


def test_our_own_tools_pass_through() -> None:
    assert as_tool(forecast) is forecast
    assert json.dumps(forecast.definition)
