"""What a tool's function returned becomes what the model reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from agent_sdk.calls import ToolResult
from agent_sdk.errors import ToolError
from agent_sdk.values import Json, JsonObject, copied, to_text


def as_result(value: object) -> ToolResult:
    """What a tool function returned, as a `ToolResult`.

    Raises ToolError for a value that cannot be written as JSON.
    """
    match value:
        case ToolResult():
            return value
        case None:
            return ToolResult("Done; the tool returned nothing.")
        case str():
            return ToolResult(value or "The tool returned an empty text.")
        case list() if value and all(_is_block(item) for item in value):
            return ToolResult(cast("list[JsonObject]", copied(value)))
        case _:
            return _json_result(value)


def _is_block(item: object) -> bool:
    match item:
        case {"type": "text", "text": str(text)}:
            return bool(text)
        case {"type": "image", "source": Mapping()}:
            return True
        case _:
            return False


def _json_result(value: object) -> ToolResult:
    try:
        plain = cast("Json", to_jsonable_python(value))
        text = json.dumps(plain, ensure_ascii=False)
    except (PydanticSerializationError, ValueError, TypeError, RecursionError):
        kind = type(value).__name__
        raise ToolError(f"The tool returned a value of type {kind} that cannot be written as JSON.") from None
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates
        text = to_text(plain)
    return ToolResult(text, value=plain)
