"""What a schema check says of a value: its kind, a short form of it, where it is wrong and why."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from agent_sdk.values import Json, is_json, to_text

MAX_STEPS = 20_000


@dataclass(slots=True)
class Walk:
    """What one check may still spend on references and alternatives, so that nothing loops and nothing explodes."""

    steps: int = MAX_STEPS
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an input is wrong (`{}` in `message` stands for the place) and where; the path grows from the inside out.

    `wanted` is set when the type is wrong: the types that would do, in words.
    """

    message: str
    path: str = ""
    wanted: str | None = None

    def below(self, step: str) -> Fault:
        """The same fault, seen from the array or object around it."""
        return Fault(self.message, step + self.path, self.wanted)

    def sentence(self) -> str:
        """The fault in one sentence."""
        where = f"`{self.path.removeprefix('.')}`" if self.path else "the input"
        return self.message.replace("{}", where, 1)


Rule: TypeAlias = Callable[[Json, Walk], Fault | None]


def kind(value: object) -> str:
    """The JSON type of a value, in words; the Python type when it is no JSON."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case float() if not math.isfinite(value):
            return "a number that is not finite"
        case int() | float():
            return "a number"
        case list() | tuple():
            return "an array"
        case Mapping():
            return "an object"
        case _:
            return f"a value of type {type(value).__name__}"


def shown(value: Json, limit: int = 60) -> str:
    """A value for a message: as JSON, on one line, cut."""
    if isinstance(value, str) and value[:limit].isprintable():
        text = f'"{value[:limit]}"' if len(value) <= limit else f'"{value[:limit]}…"'
        return text
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return "a number of many digits"
    text = to_text(value) if is_json(value) else repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def field_name(key: object) -> str:
    """A field's name for a path: as it is when it is short and printable, else escaped and cut."""
    if isinstance(key, str) and len(key) <= 60 and key.isprintable():
        return key
    return ascii(key)[:60] if isinstance(key, str) else f"({kind(key)})"


def frozen(value: Json) -> Hashable:
    """Equal JSON values, and only these, have equal frozen forms: 1 is 1.0, but true is not 1."""
    match value:
        case bool():
            return ("boolean", value)
        case list() | tuple():
            return ("array", tuple(frozen(item) for item in value))
        case Mapping():
            return ("object", frozenset((key, frozen(item)) for key, item in value.items()))
        case _:
            return value
