"""The JSON schema keywords that look at one value and hold no further schema."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping
from typing import TypeAlias

from agent_sdk.errors import OptionsError
from agent_sdk.tools.schema_words import Fault, Rule, Walk, frozen, kind, shown
from agent_sdk.values import Json

LeafBuilder: TypeAlias = Callable[[Json, str], Rule]
"""Makes the rule of one keyword from its argument; the second value names the place for OptionsError."""


def is_number(value: Json) -> bool:
    """A finite number; booleans are none."""
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and (type(value) is int or math.isfinite(value))
    )


def _is_integer(value: Json) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


TYPES: dict[str, tuple[str, Callable[[Json], bool]]] = {
    "string": ("a string", lambda value: isinstance(value, str)),
    "number": ("a number", is_number),
    "integer": ("an integer", _is_integer),
    "boolean": ("a boolean", lambda value: isinstance(value, bool)),
    "array": ("an array", lambda value: isinstance(value, list | tuple)),
    "object": ("an object", lambda value: type(value) is dict or isinstance(value, Mapping)),
    "null": ("null", lambda value: value is None),
}


def _type(argument: Json, where: str) -> Rule:
    names = [argument] if isinstance(argument, str) else argument
    if not isinstance(names, list | tuple) or not names:
        raise OptionsError(f"{where} is a type or a list of types, got {argument!r}")
    known = [name for name in names if isinstance(name, str) and name in TYPES]
    if len(known) != len(names):
        raise OptionsError(f"{where} is one of {', '.join(TYPES)}, got {argument!r}")
    wanted = " or ".join(TYPES[name][0] for name in known)
    first, *others = [TYPES[name][1] for name in known]
    whole = "integer" in known

    def check_type(value: Json, walk: Walk) -> Fault | None:
        if first(value) or any(test(value) for test in others):
            return None
        got = shown(value) if whole and is_number(value) else kind(value)
        return Fault(f"{{}} must be {wanted}, got {got}", wanted=wanted)

    return check_type


def _enum(argument: Json, where: str) -> Rule:
    if not isinstance(argument, list | tuple):
        raise OptionsError(f"{where} is a list of values, got {argument!r}")
    allowed = frozenset(frozen(value) for value in argument)
    listed = ", ".join(shown(value) for value in argument)

    def check_enum(value: Json, walk: Walk) -> Fault | None:
        return None if frozen(value) in allowed else Fault(f"{{}} must be one of {listed}, got {shown(value)}")

    return check_enum


def _const(argument: Json, where: str) -> Rule:
    only, words = frozen(argument), shown(argument)

    def check_const(value: Json, walk: Walk) -> Fault | None:
        return None if frozen(value) == only else Fault(f"{{}} must be {words}, got {shown(value)}")

    return check_const


def _pattern(argument: Json, where: str) -> Rule:
    if not isinstance(argument, str):
        raise OptionsError(f"{where} is a regular expression, got {argument!r}")
    try:
        search = re.compile(argument).search
    except (re.error, OverflowError, RecursionError) as error:
        raise OptionsError(f"{where} is not a regular expression that Python reads: {error}") from None
    words = shown(argument, 200)

    def check_pattern(value: Json, walk: Walk) -> Fault | None:
        if not isinstance(value, str) or search(value):
            return None
        return Fault(f"{{}} must match the pattern {words}, got {shown(value)}")

    return check_pattern


def _unique(argument: Json, where: str) -> Rule:
    if not isinstance(argument, bool):
        raise OptionsError(f"{where} is true or false, got {argument!r}")

    def check_unique(value: Json, walk: Walk) -> Fault | None:
        if not argument or not isinstance(value, list | tuple):
            return None
        places: dict[Hashable, int] = {}
        for number, item in enumerate(value):
            before = places.setdefault(frozen(item), number)
            if before != number:
                return Fault(f"{{}} must not hold an item twice: items [{before}] and [{number}] are equal")
        return None

    return check_unique


def _size(measured: tuple[type, ...], units: tuple[str, str], *, least: bool) -> LeafBuilder:
    """The builder of a rule on the length of a string, array or object. `units` is one and many."""

    def build(argument: Json, where: str) -> Rule:
        if isinstance(argument, bool) or not isinstance(argument, int) or argument < 0:
            raise OptionsError(f"{where} is a whole number from 0 up, got {argument!r}")
        limit = argument
        words = f"{{}} must have at {'least' if least else 'most'} {limit} {units[0] if limit == 1 else units[1]}"

        def check_size(value: Json, walk: Walk) -> Fault | None:
            if not isinstance(value, str | list | tuple | Mapping) or not isinstance(value, measured):
                return None
            size = len(value)
            return None if (size >= limit if least else size <= limit) else Fault(f"{words}, got {size}")

        return check_size

    return build


def _bound(words: str, holds: Callable[[float, float], bool], *, positive: bool = False) -> LeafBuilder:
    """The builder of a rule on a number."""

    def build(argument: Json, where: str) -> Rule:
        if isinstance(argument, bool) or not isinstance(argument, int | float) or not is_number(argument):
            raise OptionsError(f"{where} is a number, got {argument!r}")
        if positive and argument <= 0:
            raise OptionsError(f"{where} is a number above 0, got {argument!r}")
        bound = argument

        def check_bound(value: Json, walk: Walk) -> Fault | None:
            if isinstance(value, bool) or not isinstance(value, int | float) or holds(value, bound):
                return None
            return Fault(f"{{}} must be {words} {bound}, got {shown(value)}")

        return check_bound

    return build


def _is_multiple(value: float, step: float) -> bool:
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    try:
        times = value / step
    except OverflowError:
        return False
    return math.isfinite(times) and math.isclose(times, round(times), rel_tol=1e-12, abs_tol=1e-12)


_CHARACTERS = ("character", "characters")
_ITEMS = ("item", "items")
_FIELDS = ("field", "fields")

LEAVES: dict[str, LeafBuilder] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minLength": _size((str,), _CHARACTERS, least=True),
    "maxLength": _size((str,), _CHARACTERS, least=False),
    "pattern": _pattern,
    "minimum": _bound("at least", lambda value, bound: value >= bound),
    "maximum": _bound("at most", lambda value, bound: value <= bound),
    "exclusiveMinimum": _bound("above", lambda value, bound: value > bound),
    "exclusiveMaximum": _bound("below", lambda value, bound: value < bound),
    "multipleOf": _bound("a multiple of", _is_multiple, positive=True),
    "minItems": _size((list, tuple), _ITEMS, least=True),
    "maxItems": _size((list, tuple), _ITEMS, least=False),
    "minProperties": _size((Mapping,), _FIELDS, least=True),
    "maxProperties": _size((Mapping,), _FIELDS, least=False),
    "uniqueItems": _unique,
}
"""Every leaf keyword; `type` first, so that its fault is told before any other."""
