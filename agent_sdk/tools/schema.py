"""Checks a tool's input against its JSON schema: one readable sentence for the model, or nothing.

Our own small checker, so that a fault names field and rule in words, nothing is coerced, and a keyword that we do not
know is an error when the tool is made instead of a gap when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import unquote

from agent_sdk.errors import OptionsError
from agent_sdk.tools.schema_leaves import LEAVES
from agent_sdk.tools.schema_words import Fault, Rule, Walk, field_name, kind
from agent_sdk.values import Json, JsonObject

Check: TypeAlias = Callable[[JsonObject], str | None]

MAX_SCHEMA_DEPTH = 100
MAX_REFERENCE_DEPTH = 100

_PROSE = ("title", "description", "default", "examples", "format", "deprecated", "readOnly", "writeOnly")
_SETTING = (
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
    "discriminator",
    "contentEncoding",
    "contentMediaType",
)
_OBJECT_KEYWORDS = ("properties", "required", "additionalProperties", "propertyNames")
_ITEM_KEYWORDS = ("prefixItems", "items")
_BRANCHES = ("$ref", "allOf", "anyOf", "oneOf")
_KNOWN = frozenset((*_PROSE, *_SETTING, *LEAVES, *_OBJECT_KEYWORDS, *_ITEM_KEYWORDS, *_BRANCHES))

_TOO_DEEP = Fault("{} is nested too deeply to be checked")


def compile_check(schema: JsonObject) -> Check:
    """A check for a JSON schema: `check(input)` is `None`, or one sentence that names the field and the rule.

    Known: type, enum, const, properties, required, additionalProperties, minProperties, maxProperties, propertyNames,
    items, prefixItems, minItems, maxItems, uniqueItems, minLength, maxLength, pattern, minimum, maximum,
    exclusiveMinimum, exclusiveMaximum, multipleOf, anyOf, oneOf, allOf, and `$ref` into `#/$defs` or `#/definitions`.
    Annotations are ignored, `format` and `x-…` among them. A boolean is no number; 1.0 is an integer; NaN is neither.

    The check never raises, whatever it is given, and its work is bounded, with one exception: a `pattern` is searched
    with Python's `re`, so a pattern that backtracks without end is the schema author's risk.

    Raises OptionsError for an unknown keyword, a malformed argument, or a `$ref` to anywhere else.
    """
    rule = _Compiler(schema).rule(schema, "schema")

    def check(value: JsonObject) -> str | None:
        try:
            fault = rule(value, Walk())
        except RecursionError:
            fault = _TOO_DEEP
        except Exception as error:  # no JSON at all: a value that fails when it is looked at
            fault = Fault(f"{{}} cannot be checked ({type(error).__name__})")
        return None if fault is None else fault.sentence()

    return check


@dataclass(slots=True)
class _Compiler:
    """Turns a schema into one function, keyword by keyword. `references` holds `None` while a rule is being made."""

    root: JsonObject
    references: dict[str, Rule | None] = field(default_factory=dict)
    depth: int = 0

    def rule(self, schema: Json, where: str) -> Rule:
        """The rule of a schema; `where` names its place inside the whole schema. Raises OptionsError."""
        if isinstance(schema, bool):
            return _anything if schema else _nothing
        if not isinstance(schema, Mapping):
            raise OptionsError(f"{where} is an object or a boolean, got {schema!r}")
        for keyword in schema:
            if keyword not in _KNOWN and not keyword.startswith("x-"):
                raise OptionsError(f"{where} uses the keyword {keyword!r}, which this package cannot check")
        if self.depth >= MAX_SCHEMA_DEPTH:
            raise OptionsError(f"{where} is nested more than {MAX_SCHEMA_DEPTH} levels deep")
        self.depth += 1
        rules = [build(schema[name], f"{where}.{name}") for name, build in LEAVES.items() if name in schema]
        if any(name in schema for name in _OBJECT_KEYWORDS):
            rules.append(self._object(schema, where))
        if any(name in schema for name in _ITEM_KEYWORDS):
            rules.append(self._items(schema, where))
        rules += self._branches(schema, where)
        self.depth -= 1
        return rules[0] if len(rules) == 1 else _all_of(rules)

    def _branches(self, schema: JsonObject, where: str) -> list[Rule]:
        rules: list[Rule] = []
        if "$ref" in schema:
            rules.append(self._reference(schema["$ref"], f"{where}.$ref"))
        if "allOf" in schema:
            rules += self._list(schema["allOf"], f"{where}.allOf")
        if "anyOf" in schema:
            rules.append(_any_of(self._list(schema["anyOf"], f"{where}.anyOf")))
        if "oneOf" in schema:
            rules.append(_one_of(self._list(schema["oneOf"], f"{where}.oneOf")))
        return rules

    def _list(self, schemas: Json, where: str) -> list[Rule]:
        if not isinstance(schemas, list | tuple) or not schemas:
            raise OptionsError(f"{where} is a list of schemas, got {schemas!r}")
        return [self.rule(schema, f"{where}[{number}]") for number, schema in enumerate(schemas)]

    def _reference(self, target: Json, where: str) -> Rule:
        """The rule behind a local `$ref`, made once; it may lead back to itself."""
        if not isinstance(target, str) or not target.startswith(("#/$defs/", "#/definitions/")):
            raise OptionsError(f"{where} may only point into #/$defs or #/definitions, got {target!r}")
        references = self.references
        if target not in references:
            _, room, name = target.split("/", 2)
            definitions = self.root.get(room)
            key = unquote(name).replace("~1", "/").replace("~0", "~")
            if not isinstance(definitions, Mapping) or key not in definitions:
                raise OptionsError(f"{where} points to {target!r}, which is not there")
            references[target] = None
            references[target] = self.rule(definitions[key], target)

        def follow(value: Json, walk: Walk) -> Fault | None:
            rule = references[target]
            walk.steps -= 1
            if rule is None or walk.steps < 0 or walk.depth >= MAX_REFERENCE_DEPTH:
                return _TOO_DEEP
            walk.depth += 1
            fault = rule(value, walk)
            walk.depth -= 1
            return fault

        return follow

    def _items(self, schema: JsonObject, where: str) -> Rule:
        prefix = self._list(schema["prefixItems"], f"{where}.prefixItems") if "prefixItems" in schema else []
        rest = self.rule(schema.get("items", True), f"{where}.items")

        def check_items(value: Json, walk: Walk) -> Fault | None:
            if not isinstance(value, list | tuple):
                return None
            for number, item in enumerate(value):
                fault = (prefix[number] if number < len(prefix) else rest)(item, walk)
                if fault is not None:
                    return fault.below(f"[{number}]")
            return None

        return check_items

    def _object(self, schema: JsonObject, where: str) -> Rule:
        properties = schema.get("properties", {})
        if not isinstance(properties, Mapping):
            raise OptionsError(f"{where}.properties is an object, got {properties!r}")
        rules = {name: self.rule(inner, f"{where}.properties.{name}") for name, inner in properties.items()}
        required = _names(schema.get("required", ()), f"{where}.required")
        others = self._others(schema.get("additionalProperties", True), list(rules), where)
        check_names = (
            self.rule(schema["propertyNames"], f"{where}.propertyNames") if "propertyNames" in schema else None
        )

        def check_object(value: Json, walk: Walk) -> Fault | None:
            if type(value) is not dict and not isinstance(value, Mapping):
                return None
            for key, item in value.items():
                rule = rules.get(key)
                if rule is None and not isinstance(key, str):
                    return Fault(f"{{}} may only have fields named by strings, got {kind(key)}")
                fault = (others if rule is None else rule)(item, walk)
                if fault is None and check_names is not None:
                    fault = check_names(key, walk)
                if fault is not None:
                    return fault.below(f".{field_name(key)}")
            for name in required:
                if name not in value:
                    return Fault("{} is required", f".{field_name(name)}")
            return None

        return check_object

    def _others(self, schema: Json, expected: list[str], where: str) -> Rule:
        """The rule for fields that `properties` does not name."""
        if schema is not False:
            return self.rule(schema, f"{where}.additionalProperties")
        unexpected = Fault(f"unexpected field {{}}; expected: {', '.join(expected) or 'no fields'}")
        return lambda value, walk: unexpected


def _names(argument: Json, where: str) -> list[str]:
    """The names in `required`. Raises OptionsError when it is no list of strings."""
    names = [name for name in argument if isinstance(name, str)] if isinstance(argument, list | tuple) else []
    if not isinstance(argument, list | tuple) or len(names) != len(argument):
        raise OptionsError(f"{where} is a list of field names, got {argument!r}")
    return names


def _anything(value: Json, walk: Walk) -> Fault | None:
    return None


def _nothing(value: Json, walk: Walk) -> Fault | None:
    return Fault("{} must not be given")


def _all_of(rules: list[Rule]) -> Rule:
    if not rules:
        return _anything

    def all_of(value: Json, walk: Walk) -> Fault | None:
        for rule in rules:
            if fault := rule(value, walk):
                return fault
        return None

    return all_of


def _any_of(rules: list[Rule]) -> Rule:
    def any_of(value: Json, walk: Walk) -> Fault | None:
        faults: list[Fault] = []
        for rule in rules:
            walk.steps -= 1
            fault = rule(value, walk) if walk.steps >= 0 else _TOO_DEEP
            if fault is None or walk.steps < 0:
                return fault
            faults.append(fault)
        return _closest(faults, value)

    return any_of


def _one_of(rules: list[Rule]) -> Rule:
    def one_of(value: Json, walk: Walk) -> Fault | None:
        walk.steps -= len(rules)
        if walk.steps < 0:
            return _TOO_DEEP
        faults = [fault for rule in rules if (fault := rule(value, walk))]
        if walk.steps < 0:
            return _TOO_DEEP
        match len(rules) - len(faults):
            case 1:
                return None
            case 0:
                return _closest(faults, value)
            case fitting:
                return Fault(f"{{}} must fit exactly 1 of {len(rules)} forms, but fits {fitting}")

    return one_of


def _closest(faults: list[Fault], value: Json) -> Fault:
    """One fault for a value that fits no alternative: the types that would do, or what the nearest one lacks."""
    near = [fault for fault in faults if fault.path or fault.wanted is None]
    if not near:
        wanted = " or ".join(dict.fromkeys(fault.wanted for fault in faults if fault.wanted))
        return Fault(f"{{}} must be {wanted}, got {kind(value)}", wanted=wanted)
    if len(near) == 1:
        return near[0]
    reasons = "; or ".join(dict.fromkeys(fault.sentence() for fault in near[:3]))
    return Fault(f"{{}} fits none of the {len(faults)} allowed forms ({reasons})")
