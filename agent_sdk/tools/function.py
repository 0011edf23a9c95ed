"""`@tool`: a tool from an async function; `as_tool`: a tool from whatever an application brings.

@tool(read_only=True)
async def weather(city: Annotated[str, "a city, in English"], days: int = 1) -> str:
    "The weather forecast of a city."
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol, TypeAlias, cast, overload, runtime_checkable

import anyio.to_thread
from pydantic import ValidationError

from agent_sdk.calls import ToolResult
from agent_sdk.errors import OptionsError
from agent_sdk.tools.base import Runner, Tool, ToolContext
from agent_sdk.tools.docstring import read_docstring
from agent_sdk.tools.results import as_result
from agent_sdk.tools.schema import compile_check
from agent_sdk.tools.signature import annotations_of, first_fault, name_of, schema_from_signature
from agent_sdk.values import JsonObject, copied

Body: TypeAlias = Callable[..., Awaitable[object]]
NeedsPerson: TypeAlias = bool | Callable[[JsonObject], bool]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")


@overload
def tool(function: Body, /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    timeout: float | None = None,
    ask: NeedsPerson = False,
) -> Callable[[Body], Tool]: ...


def tool(
    function: Body | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    timeout: float | None = None,
    ask: NeedsPerson = False,
) -> Tool | Callable[[Body], Tool]:
    """Make a `Tool` of an `async def`. The decorated name is the tool.

    Its schema comes from the signature, its description from the docstring up to the first section (`Args:`, `:param`),
    each parameter's from `Annotated` or the docstring. A parameter annotated `ToolContext` receives the context and is
    not in the schema. The function returns text, a `ToolResult`, a list of text and image blocks, or any value that can
    be written as JSON, pydantic models included. The keywords are the fields of `Tool`; `timeout` is in seconds.

    Raises OptionsError for a plain `def`, a parameter that cannot be described, a missing description, a bad name.
    """
    _refuse_options(timeout, ask)

    def make(body: Body) -> Tool:
        schema, runner = _runner(body)
        words = description or _description(body)
        return _checked(
            Tool(
                name=name or name_of(body),
                description=words,
                input_schema=schema,
                run=runner,
                check=compile_check(schema),
                read_only=read_only,
                destructive=destructive,
                idempotent=idempotent,
                timeout=timeout,
                ask=ask,
            )
        )

    return make if function is None else make(function)


def _refuse_options(timeout: float | None, ask: NeedsPerson) -> None:
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0):
        raise OptionsError(f"@tool(timeout=...) is a number of seconds above 0, got {timeout!r}", option="timeout")
    if inspect.iscoroutinefunction(ask) or not (isinstance(ask, bool) or callable(ask)):
        raise OptionsError(f"@tool(ask=...) is True, False or a plain function of the input, got {ask!r}", option="ask")


def _description(body: Body) -> str:
    words = read_docstring(body.__doc__).summary
    if not words:
        raise OptionsError(f"@tool: {name_of(body)} has no description; write a docstring, or @tool(description=...)")
    return words


def _runner(body: Body) -> tuple[JsonObject, Runner]:
    """The input schema of an async function, and what runs it. Raises OptionsError for anything else."""
    if not callable(body):
        raise OptionsError(f"@tool goes on an async function, got {body!r}")
    if not inspect.iscoroutinefunction(body):
        raise OptionsError(
            f"@tool: {name_of(body)} is a plain function; write `async def {name_of(body)}(...)`, "
            "and move slow work into `await anyio.to_thread.run_sync(...)`"
        )
    contexts = [key for key, hint in annotations_of(body).items() if hint is ToolContext and key != "return"]
    schema, parse = schema_from_signature(body, leave_out=contexts)

    async def run(tool_input: JsonObject, context: ToolContext) -> ToolResult:
        arguments = parse(tool_input) | dict.fromkeys(contexts, context)
        return as_result(await body(**arguments))

    return schema, run


def _checked(made: Tool) -> Tool:
    """The tool, if the Messages API takes its name. Raises OptionsError."""
    if not isinstance(made.name, str) or not _NAME.match(made.name):
        raise OptionsError(
            f"a tool's name is 1 to 128 of the characters A-Z a-z 0-9 _ -, got {made.name!r}", option="name"
        )
    return made


@runtime_checkable
class _Foreign(Protocol):
    """The shape of what anthropic's `beta_tool` and `beta_async_tool` make."""

    name: str
    description: str
    input_schema: Any

    def call(self, input: object) -> object: ...

    def to_dict(self) -> object: ...


@runtime_checkable
class _WithContent(Protocol):
    """The shape of anthropic's ToolError."""

    content: object


def as_tool(value: object) -> Tool:
    """A `Tool` as it is; a tool made with anthropic's `beta_tool` or `beta_async_tool`, made one of ours.

    A synchronous one runs in a worker thread. A thread cannot be stopped: when the call is cancelled the thread is left
    behind and the call's effect is unknown. Raises OptionsError, naming the type, for anything else.
    """
    if isinstance(value, Tool):
        return _checked(value)
    if isinstance(value, _Foreign) and not isinstance(value, type):
        return _from_foreign(value)
    hint = "; decorate it with @tool" if inspect.isroutine(value) else ""
    raise OptionsError(
        "a tool is made with @tool, Tool(...), beta_tool or beta_async_tool, "
        f"got {value!r:.200} of type {type(value).__name__}{hint}"
    )


def _from_foreign(foreign: _Foreign) -> Tool:
    schema = foreign.input_schema
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        raise OptionsError(f"the tool {foreign.name!r} has no input schema of type object")
    plain = cast("JsonObject", copied(schema))

    async def run(tool_input: JsonObject, context: ToolContext) -> ToolResult:
        try:
            if inspect.iscoroutinefunction(foreign.call):
                returned: object = await foreign.call(tool_input)
            else:
                returned = await anyio.to_thread.run_sync(foreign.call, tool_input, abandon_on_cancel=True)
        except Exception as error:
            if (told := _told(error)) is None:
                raise
            return told
        return _foreign_result(returned)

    try:
        check = compile_check(plain)
    except OptionsError as error:
        raise OptionsError(f"the tool {foreign.name!r}: {error}") from None
    return _checked(Tool(name=foreign.name, description=foreign.description, input_schema=plain, run=run, check=check))


def _told(error: Exception) -> ToolResult | None:
    """What the model is told of a foreign tool's error, when the error was meant for it."""
    if isinstance(error.__cause__, ValidationError):
        return ToolResult(first_fault(error.__cause__), is_error=True)
    if type(error).__module__.startswith("anthropic.") and isinstance(error, _WithContent):
        result = _foreign_result(error.content)
        return ToolResult(result.content, is_error=True, value=result.value)
    return None


def _foreign_result(returned: object) -> ToolResult:
    if isinstance(returned, Iterable) and not isinstance(returned, str | bytes | Mapping):
        blocks = list(returned)
        if blocks and all(isinstance(block, Mapping) and isinstance(block.get("type"), str) for block in blocks):
            return ToolResult(cast("list[JsonObject]", copied(blocks)))
        return as_result(blocks)
    return as_result(returned)
