"""`@tool` and in-process servers in the spelling of the Claude Agent SDK. A server is a list of tools, nothing more."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, Required, TypeAlias, TypedDict, get_args, get_origin, is_typeddict

from pydantic import BaseModel

from agent_sdk.calls import ToolResult
from agent_sdk.errors import OptionsError, ToolError
from agent_sdk.tools.base import Runner, Tool, ToolContext
from agent_sdk.tools.function import as_tool
from agent_sdk.tools.schema import compile_check
from agent_sdk.tools.signature import annotations_of, schema_of_fields
from agent_sdk.values import JsonObject, copied_object

log = logging.getLogger("agent_sdk.compat")

Handler: TypeAlias = Callable[[Any], Awaitable[Mapping[str, Any]]]
Hints: TypeAlias = Mapping[str, object]

_WIRE = {
    "read_only_hint": "readOnlyHint",
    "destructive_hint": "destructiveHint",
    "idempotent_hint": "idempotentHint",
    "open_world_hint": "openWorldHint",
    "max_result_size_chars": "maxResultSizeChars",
}


class ToolAnnotations:
    """Hints about a tool, in either spelling. What counts here: read-only, destructive, idempotent."""

    def __init__(self, **hints: object) -> None:
        self.hints: dict[str, object] = {_WIRE.get(name, name): value for name, value in hints.items()}

    def __repr__(self) -> str:
        return f"ToolAnnotations({', '.join(f'{name}={value!r}' for name, value in self.hints.items())})"


@dataclass
class SdkMcpTool:
    """A tool of a server, not yet under the name that the model sees."""

    name: str
    description: str
    input_schema: type | dict[str, Any]
    handler: Handler
    annotations: object = None


@dataclass(frozen=True, slots=True)
class ServerInProcess:
    """The tools of one server."""

    name: str
    version: str
    tools: Sequence[SdkMcpTool]


class McpSdkServerConfig(TypedDict):
    """What `create_sdk_mcp_server` returns."""

    type: Literal["sdk"]
    name: str
    instance: ServerInProcess


def tool(
    name: str, description: str, input_schema: type | dict[str, Any], annotations: object = None
) -> Callable[[Handler], SdkMcpTool]:
    """Make a tool of an `async def` that takes its whole input as one dict and returns `{"content": [...]}`.

    `input_schema` maps names to types, or is a TypedDict, or a JSON schema.
    """

    def make(handler: Handler) -> SdkMcpTool:
        return SdkMcpTool(name, description, input_schema, handler, annotations)

    return make


def create_sdk_mcp_server(
    name: str, version: str = "1.0.0", tools: Sequence[SdkMcpTool] | None = None
) -> McpSdkServerConfig:
    """A server for `mcp_servers=`. Under the key `calc` its tool `add` is `mcp__calc__add` for the model and in rules.

    Raises OptionsError for what is not made with `@tool`.
    """
    for item in tools or ():
        if not isinstance(item, SdkMcpTool):
            raise OptionsError(f"create_sdk_mcp_server: a tool is made with @tool(name, ...), got {item!r:.80}")
    return {"type": "sdk", "name": name, "instance": ServerInProcess(name, version, tuple(tools or ()))}


def tools_of(server: str, instance: ServerInProcess) -> list[Tool]:
    """The tools of a server under their full names. Raises OptionsError for a schema or name that is none."""
    return [_as_ours(f"mcp__{server}__{item.name}", item) for item in instance.tools]


def _as_ours(name: str, theirs: SdkMcpTool) -> Tool:
    schema = _schema(name, theirs.input_schema)
    hints = _hints(theirs.annotations)
    try:
        check = compile_check(schema)
    except OptionsError as error:
        raise OptionsError(f"the tool {name!r}: {error}") from None
    return as_tool(
        Tool(
            name=name,
            description=theirs.description,
            input_schema=schema,
            run=_runner(name, theirs.handler),
            check=check,
            read_only=hints.get("readOnlyHint") is True,
            destructive=hints.get("destructiveHint") is True,
            idempotent=hints.get("idempotentHint") is True,
        )
    )


def _hints(annotations: object) -> Hints:
    match annotations:
        case ToolAnnotations():
            return annotations.hints
        case BaseModel():  # the class of the mcp package
            return annotations.model_dump(by_alias=True)
        case Mapping():
            return annotations
        case _:
            return {}


def _schema(name: str, form: object) -> JsonObject:
    if isinstance(form, Mapping):
        if isinstance(form.get("type"), str) and "properties" in form:
            return copied_object(form)
        return schema_of_fields(name, form)
    if isinstance(form, type) and is_typeddict(form):
        hints = annotations_of(form)
        kinds = {key: get_origin(hint) for key, hint in hints.items()}
        unless_required = {key for key in vars(form)["__optional_keys__"] if kinds[key] is not Required}
        optional = unless_required | {key for key, kind in kinds.items() if kind is NotRequired}
        return schema_of_fields(name, {key: _bare(hint) for key, hint in hints.items()}, optional=optional)
    raise OptionsError(f"the tool {name!r}: input_schema is a dict or a TypedDict, got {form!r:.80}")


def _bare(hint: object) -> object:
    return get_args(hint)[0] if get_origin(hint) in (NotRequired, Required) else hint


def _runner(name: str, handler: Handler) -> Runner:
    async def run(tool_input: JsonObject, context: ToolContext) -> ToolResult:
        try:
            returned = await handler(tool_input)
        except ToolError:
            raise
        except Exception as error:
            log.exception("the tool %s raised an error", name)
            raise ToolError(str(error) or type(error).__name__) from error
        if not isinstance(returned, Mapping):
            raise ToolError(f"The tool returned {type(returned).__name__} instead of a dict with content.")
        is_error = returned.get("is_error") is True
        return ToolResult(_content(name, returned.get("content"), is_error=is_error), is_error=is_error)

    return run


def _content(name: str, items: object, *, is_error: bool) -> str | list[JsonObject]:
    blocks: list[JsonObject] = []
    for item in items if isinstance(items, list | tuple) else ():
        block = _block(item)
        if block is None or (is_error and block["type"] != "text"):
            log.warning("the tool %s returned a block that cannot be told to the model: %.80r", name, item)
        else:
            blocks.append(block)
    return blocks or "Done; the tool returned nothing."


def _block(item: object) -> JsonObject | None:
    match item:
        case {"type": "text", "text": str(text)} if text.strip():
            return {"type": "text", "text": text}
        case {"type": "image", "data": str(data), "mimeType": str(kind)}:
            return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
        case {"type": "resource", "resource": {"text": str(text)}} if text.strip():
            return {"type": "text", "text": text}
        case {"type": "resource_link", **link}:
            words = [str(link[key]) for key in ("name", "uri", "description") if link.get(key)]
            return {"type": "text", "text": "\n".join(words) or "Resource link"}
        case _:
            return None
