"""A JSON schema for the parameters of a function, and a parser from an input that fits to its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema

from agent_sdk.errors import OptionsError, ToolError
from agent_sdk.tools.docstring import read_docstring
from agent_sdk.values import JsonObject

Function: TypeAlias = Callable[..., object]
Parse: TypeAlias = Callable[[JsonObject], dict[str, object]]


class _Generator(GenerateJsonSchema):
    """Pydantic's schema without titles made of names, and without a warning for a default that is no JSON."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def annotations_of(function: Function) -> dict[str, Any]:
    """The annotations of a function, evaluated, `Annotated` kept.

    Raises OptionsError when one names something that cannot be found from the function's module.
    """
    try:
        return get_type_hints(function, include_extras=True)
    except Exception as error:
        raise OptionsError(
            f"{name_of(function)}: its annotations cannot be read ({error}); import what they name"
        ) from None


def name_of(function: Function) -> str:
    """The name of a function, for errors and as the default name of its tool."""
    return function.__name__ if inspect.isroutine(function) else type(function).__name__


def schema_from_signature(function: Function, *, leave_out: Collection[str] = ()) -> tuple[JsonObject, Parse]:
    """The JSON schema of a function's parameters (an object, no further fields), and `parse(input) -> kwargs`.

    Types and limits come from the annotations (`Annotated[int, Field(ge=1)]`), defaults from the signature; a
    description from `Annotated[str, "…"]`, `Field(description=…)` or the docstring, in this order. Parameters named in
    `leave_out` are left out. `parse` raises ToolError, naming the field, for an input that the types refuse.

    Raises OptionsError, naming the parameter, for one without an annotation, `*args`, `**kwargs`, one that can only be
    given by position, and for a type that has no JSON schema.
    """
    hints = annotations_of(function)
    described = read_docstring(function.__doc__).parameters
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in leave_out:
            continue
        _refuse_odd(function, parameter, hints)
        annotation = _described(hints[parameter.name], described.get(parameter.name))
        default = ... if parameter.default is parameter.empty else parameter.default
        key = f"p{len(names)}"  # a neutral name: `schema` or `_x` would clash with the model's own attributes
        fields[key], names[key] = (annotation, default), parameter.name
    model, schema = _model(function, fields, names)

    def parse(tool_input: JsonObject) -> dict[str, object]:
        try:
            parsed = model.model_validate(dict(tool_input))
        except ValidationError as error:
            raise ToolError(first_fault(error)) from None
        return {names[key]: value for key, value in parsed}

    return schema, parse


def schema_of_fields(where: str, hints: Mapping[str, Any], *, optional: Collection[str] = ()) -> JsonObject:
    """The JSON schema of an object with these fields, required but for the `optional` ones.

    A text in `Annotated` describes its field. Raises OptionsError, naming `where` and field, for a type that has no
    JSON schema.
    """
    properties: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    for name, annotation in hints.items():
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(_described(annotation, None))
            field = adapter.json_schema(schema_generator=_Generator)
        except (PydanticUserError, TypeError, ValueError, NameError) as error:
            raise OptionsError(f"{where}: the type of the field `{name}` has no JSON schema: {_short(error)}") from None
        shared |= field.pop("$defs", {})
        properties[name] = field
    required = [name for name in hints if name not in optional]
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    return schema | ({"$defs": shared} if shared else {})


def first_fault(error: ValidationError) -> str:
    """The first complaint of pydantic in one sentence that names the field."""
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in fault["loc"]).removeprefix(".")
    message = fault["msg"].removeprefix("Value error, ")
    return f"`{path}`: {message}" if path else message


def _refuse_odd(function: Function, parameter: inspect.Parameter, hints: Mapping[str, Any]) -> None:
    """Raises OptionsError for a parameter that no field of an object can stand for."""
    where = f"{name_of(function)}: the parameter `{parameter}`"
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise OptionsError(f"{where} takes any number of values; a tool names each of its parameters")
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise OptionsError(f"{where} can only be given by position; remove the `/`")
    if parameter.name not in hints:
        raise OptionsError(f"{where} has no annotation; write `{parameter.name}: str`, or the type it has")


def _described(annotation: Any, documented: str | None) -> Any:
    """The annotation with a description, its own before the docstring's."""
    metadata = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    words = next((item for item in metadata if isinstance(item, str)), None)
    if words is None and any(isinstance(item, FieldInfo) and item.description for item in metadata):
        return annotation
    words = words or documented
    return Annotated[annotation, Field(description=words)] if words else annotation


def _model(function: Function, fields: dict[str, Any], names: dict[str, str]) -> tuple[type[BaseModel], JsonObject]:
    """A pydantic model for the parameters, and its schema. Raises OptionsError."""
    config = ConfigDict(extra="forbid", alias_generator=names.__getitem__, protected_namespaces=())
    try:
        model: type[BaseModel] = create_model(name_of(function), __config__=config, **fields)
        schema = model.model_json_schema(schema_generator=_Generator)
    except (PydanticUserError, TypeError, ValueError, NameError) as error:
        raise OptionsError(
            f"{name_of(function)}: {_culprit(fields, names)} has no JSON schema: {_short(error)}"
        ) from None
    ordered = {"type": "object", "properties": schema.get("properties", {})}
    return model, ordered | {key: value for key, value in schema.items() if key not in ("title", "description")}


def _culprit(fields: dict[str, Any], names: dict[str, str]) -> str:
    for key, (annotation, _) in fields.items():
        try:
            TypeAdapter(annotation).json_schema()
        except Exception:
            return f"the type of the parameter `{names[key]}`"
    return "its signature"


def _short(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
