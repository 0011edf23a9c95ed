"""The schema checker: what it says, what it refuses to compile, and that it never raises."""

from __future__ import annotations

import math
import re
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk.errors import OptionsError
from agent_sdk.tools.schema import compile_check
from agent_sdk.tools.schema_leaves import LEAVES

COMMAND = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "minLength": 1, "maxLength": 5},
        "timeout": {"type": "integer", "minimum": 1, "maximum": 600000},
        "description": {"type": "string"},
    },
    "required": ["command"],
    "additionalProperties": False,
}
QUESTIONS = {
    "type": "object",
    "properties": {
        "questions": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "items": {
                "type": "object",
                "properties": {"header": {"type": "string", "maxLength": 12}},
                "required": ["header"],
            },
        }
    },
}
TREE = {
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"left": {"$ref": "#/$defs/Node"}, "value": {"type": "integer"}},
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/Node",
}
LOOP = {"$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}]}}, "$ref": "#/$defs/A"}


def check(schema: Any, value: Any) -> str | None:
    return compile_check(schema)(value)


@pytest.mark.parametrize(
    ("schema", "value", "sentence"),
    [
        (COMMAND, {"command": "ls"}, None),
        (COMMAND, {"command": "ls", "timeout": 1.0}, None),
        (COMMAND, {}, "`command` is required"),
        (COMMAND, {"command": 5}, "`command` must be a string, got a number"),
        (COMMAND, {"cmd": "ls"}, "unexpected field `cmd`; expected: command, timeout, description"),
        (COMMAND, {"command": ""}, "`command` must have at least 1 character, got 0"),
        (COMMAND, {"command": "abcdef"}, "`command` must have at most 5 characters, got 6"),
        (COMMAND, {"command": "ls", "timeout": 1.5}, "`timeout` must be an integer, got 1.5"),
        (COMMAND, {"command": "ls", "timeout": True}, "`timeout` must be an integer, got a boolean"),
        (COMMAND, {"command": "ls", "timeout": 0}, "`timeout` must be at least 1, got 0"),
        (COMMAND, {"command": "ls", "timeout": 700000}, "`timeout` must be at most 600000, got 700000"),
        (COMMAND, {"command": None}, "`command` must be a string, got null"),
        (COMMAND, [], "the input must be an object, got an array"),
        (QUESTIONS, {"questions": []}, "`questions` must have at least 1 item, got 0"),
        (QUESTIONS, {"questions": [{"header": "a"}, {}]}, "`questions[1].header` is required"),
        (
            QUESTIONS,
            {"questions": [{"header": "a" * 13}]},
            "`questions[0].header` must have at most 12 characters, got 13",
        ),
        ({"type": ["string", "null"]}, 1, "the input must be a string or null, got a number"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, "the input must be a string or null, got a number"),
        ({"anyOf": [{"type": "null"}, QUESTIONS]}, {"questions": [{}]}, "`questions[0].header` is required"),
        ({"anyOf": [{"const": 1}, {"const": 2}]}, 3, "fits none of the 2 allowed forms"),
        (
            {"oneOf": [{"type": "number"}, {"type": "integer"}]},
            1,
            "the input must fit exactly 1 of 2 forms, but fits 2",
        ),
        ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, 1.5, None),
        ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, 4, "the input must be at most 3, got 4"),
        ({"enum": ["a", "b"]}, "c", 'the input must be one of "a", "b", got "c"'),
        ({"enum": [1]}, True, "the input must be one of 1, got true"),
        ({"enum": [1]}, 1.0, None),
        ({"const": {"a": [1]}}, {"a": [1.0]}, None),
        ({"const": 0}, False, "the input must be 0, got false"),
        ({"uniqueItems": True}, [1, "1", True, 1.0], "must not hold an item twice: items [0] and [3] are equal"),
        ({"exclusiveMinimum": 0}, 0, "the input must be above 0, got 0"),
        ({"exclusiveMaximum": 0}, 0, "the input must be below 0, got 0"),
        ({"multipleOf": 0.1}, 0.3, None),
        ({"multipleOf": 5}, 7, "the input must be a multiple of 5, got 7"),
        ({"multipleOf": 0.5}, 10**400, "must be a multiple of 0.5, got a number of many digits"),
        ({"pattern": "^a{2}$"}, "b", 'the input must match the pattern "^a{2}$", got "b"'),
        ({"prefixItems": [{"type": "string"}], "items": False}, ["a", 1], "`[1]` must not be given"),
        ({"prefixItems": [{"type": "string"}]}, [1], "`[0]` must be a string, got a number"),
        ({"additionalProperties": {"type": "integer"}}, {"a": "b"}, "`a` must be an integer, got a string"),
        ({"propertyNames": {"pattern": "^a"}}, {"b": 1}, '`b` must match the pattern "^a", got "b"'),
        ({"maxProperties": 1}, {"a": 1, "b": 2}, "the input must have at most 1 field, got 2"),
        ({"type": "number"}, math.nan, "the input must be a number, got a number that is not finite"),
        ({"type": "string"}, {1}, "the input must be a string, got a value of type set"),
        (TREE, {"left": {"left": {"value": "x"}}}, "`left.left.value` must be an integer, got a string"),
        (LOOP, 1, "the input is nested too deeply to be checked"),
        (False, 1, "the input must not be given"),
        ({"x-order": 3, "title": "T", "format": "date"}, 1, None),
    ],
)
def test_a_fault_is_one_sentence_that_names_field_and_rule(schema: Any, value: Any, sentence: str | None) -> None:
    said = check(schema, value)
    if sentence is None:
        assert said is None
    else:
        assert said is not None
        assert sentence in said


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ({"not": {}}, "'not'"),
        ({"properties": {"a": {"if": {}}}}, "schema.properties.a"),
        ({"patternProperties": {}}, "'patternProperties'"),
        ({"$ref": "https://example.com/schema"}, "schema.$ref"),
        ({"$ref": "#/$defs/Missing"}, "Missing"),
        ({"type": "strnig"}, "strnig"),
        ({"minLength": "1"}, "schema.minLength"),
        ({"minLength": True}, "schema.minLength"),
        ({"multipleOf": 0}, "above 0"),
        ({"pattern": "("}, "schema.pattern"),
        ({"required": "a"}, "schema.required"),
        ({"required": [1]}, "schema.required"),
        ({"anyOf": []}, "schema.anyOf"),
        ({"items": 3}, "schema.items"),
        ({"uniqueItems": 1}, "schema.uniqueItems"),
    ],
    ids=str,
)
def test_what_cannot_be_checked_is_refused_when_compiled(schema: Any, names: str) -> None:
    with pytest.raises(OptionsError, match=re.escape(names)):
        compile_check(schema)


def test_a_schema_nested_without_end_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(500):
        schema = {"items": schema}
    with pytest.raises(OptionsError, match="levels deep"):
        compile_check(schema)


def test_an_input_nested_without_end_is_told_so() -> None:
    value: dict[str, Any] = {}
    for _ in range(50_000):
        value = {"left": value}
    assert "nested too deeply" in str(check(TREE, value))
    assert "nested too deeply" in str(check({"enum": [1]}, value))
    while value:  # taken apart by hand: a chain this long is not freed recursively
        value = cast("dict[str, Any]", value.popitem()[1])


def test_alternatives_on_every_level_do_not_explode() -> None:
    """Each level tries two forms that both look all the way down; the work is cut, the input refused."""
    node = {"anyOf": [{"items": {"$ref": "#/$defs/N"}, "minItems": 9}, {"items": {"$ref": "#/$defs/N"}, "maxItems": 0}]}
    value: Any = []
    for _ in range(60):
        value = [value]
    assert check({"$defs": {"N": node}, "$ref": "#/$defs/N"}, value) is not None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
SCHEMAS = [COMMAND, QUESTIONS, TREE, LOOP, {"uniqueItems": True}, {"enum": [1, "a", [], {}]}, {"multipleOf": 0.3}]


@given(json_values, st.sampled_from(SCHEMAS))
def test_a_check_never_raises_and_says_one_line(value: Any, schema: Any) -> None:
    said = check(schema, value)
    assert said is None or ("\n" not in said and said.encode())


@given(json_values)
def test_a_value_fits_its_own_const_and_nothing_else_of_another_kind(value: Any) -> None:
    said = check({"const": value}, value)
    assert said is None or "nan" in repr(value)
    assert check({"const": [value]}, value) is not None


KEYWORDS = [*LEAVES, "items", "prefixItems", "properties", "required", "additionalProperties", "propertyNames"]
KEYWORDS += ["anyOf", "oneOf", "allOf", "$ref", "$defs", "title", "not"]
argument_values = st.recursive(
    json_values | st.sampled_from(["string", "object", "array", "#/$defs/a", "a+"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYWORDS, "a"]), inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(KEYWORDS), argument_values, max_size=5), json_values)
def test_any_schema_is_compiled_or_refused_and_then_checks_without_raising(schema: Any, value: Any) -> None:
    try:
        compiled = compile_check(schema)
    except OptionsError:
        return
    assert compiled(value) is None or isinstance(compiled(value), str)
