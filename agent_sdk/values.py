"""JSON values, and the few things that every room does with them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from math import isfinite
from typing import Any, Generic, Self, TypeAlias, TypeVar, cast, overload

T = TypeVar("T")
Owner = TypeVar("Owner")

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]

OBJECT = (dict, Mapping)
"""What counts as a JSON object, for `isinstance`: plain dicts first, because an abstract class is slow to ask."""
_ARRAY = (list, tuple)


def copied(value: Json) -> Json:
    """A deep copy of a JSON value: mappings become `dict`, sequences become `list`, all values plain ones.

    Raises TypeError, naming the type, when something inside is not JSON.
    """
    kind = type(value)
    if kind is str or value is None or kind is bool or kind is int:
        return value
    if isinstance(value, OBJECT):
        return {key if type(key) is str else _copied_key(key): copied(item) for key, item in value.items()}
    if isinstance(value, _ARRAY):
        return [copied(item) for item in value]
    return _copied_scalar(value)


def _copied_key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"JSON object keys are strings, got {type(key).__name__}")
    return str.__str__(key)


def _copied_scalar(value: object) -> Json:
    """A plain value: what is judged must be what runs, and a subclass of `str` may say one thing and be another."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        plain = float.__float__(value)
        if not isfinite(plain):
            raise TypeError(f"not a JSON number: {plain}")
        return plain
    raise TypeError(f"not a JSON value: {type(value).__name__}")


def copied_object(value: Mapping[str, Json]) -> dict[str, Json]:
    """`copied` for an object. Raises TypeError when it is not a mapping or holds something that is not JSON."""
    if not isinstance(value, OBJECT):
        raise TypeError(f"expected a JSON object, got {type(value).__name__}")
    try:
        return {key if type(key) is str else _copied_key(key): copied(item) for key, item in value.items()}
    except RecursionError:
        raise TypeError("the value is nested too deeply, or holds itself") from None


def is_json(value: object) -> bool:
    """Whether a value from outside is JSON throughout, and not nested too deeply to be copied."""
    try:
        copied(cast("Json", value))
    except (TypeError, RecursionError):
        return False
    return True


_ENCODER = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False, check_circular=False)


def to_text(value: Json) -> str:
    """Compact JSON text, escaped to ASCII so that it can be stored anywhere, keys in the order they came.

    Raises TypeError or ValueError for what is no JSON, an infinite number too; RecursionError for a value without end.
    """
    return _ENCODER.encode(value)


def digest(value: Json) -> str:
    """A SHA-256 over the value with sorted keys: equal values have equal digests, whatever their key order."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def fresh_uuid() -> str:
    """A random UUID (version 4) as text. Less than half the time of `uuid.uuid4`, whose object nobody would keep."""
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{'89ab'[int(text[16], 16) & 3]}{text[17:20]}-{text[20:]}"


def quickly_made(cls: type[T]) -> type[T]:
    """For a frozen, keyword-only dataclass that is made for every call: the same `__init__`, in half the time.

    What `dataclass` writes for a frozen class sets each field through `object.__setattr__`; here all are put into the
    dictionary of the instance. So the class has no slots, no `__post_init__` and no default factories; raises
    TypeError for one that does.
    """
    if "__slots__" in vars(cls) or "__post_init__" in dir(cls):
        raise TypeError(f"{cls.__name__} needs the `__init__` of its dataclass")
    if any(not f.init or f.default_factory is not MISSING for f in fields(cls)):  # type: ignore[arg-type]
        raise TypeError(f"{cls.__name__} has fields that are not simply given")
    defaults = {f.name: f.default for f in fields(cls) if f.default is not MISSING}  # type: ignore[arg-type]
    names = [f.name for f in fields(cls)]  # type: ignore[arg-type]
    taken = ", ".join(f"{name}=defaults[{name!r}]" if name in defaults else name for name in names)
    lines = [
        f"def __init__(self, *, {taken}):",
        "made = self.__dict__",
        *(f"made[{name!r}] = {name}" for name in names),
    ]
    room: dict[str, Any] = {"defaults": defaults}
    exec("\n    ".join(lines), room)
    made = room["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__wrapped__ = vars(cls)["__init__"]  # where `inspect` finds the types
    cls.__init__ = made  # type: ignore[method-assign]
    return cls


class lazy(Generic[Owner, T]):  # used like `property`
    """A property that is worked out when it is first read, and kept.

    `functools.cached_property` without its lock (Python 3.11), which costs more than most of what is kept here.
    """

    def __init__(self, work: Callable[[Owner], T]) -> None:
        self.work = work
        self.name = work.__name__
        self.__doc__ = work.__doc__

    @overload
    def __get__(self, owner: None, kind: type[Owner]) -> Self: ...

    @overload
    def __get__(self, owner: Owner, kind: type[Owner]) -> T: ...

    def __get__(self, owner: Owner | None, kind: type[Owner]) -> Self | T:
        if owner is None:
            return self
        value = owner.__dict__[self.name] = self.work(owner)
        return value


class LazySequence(Sequence[T]):
    """A sequence that is worked out when it is first looked at."""

    def __init__(self, work: Callable[[], Sequence[T]]) -> None:
        self._work = work
        self._items: Sequence[T] | None = None

    @property
    def items(self) -> Sequence[T]:
        """The items."""
        if self._items is None:
            self._items = self._work()
        return self._items

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...

    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        return self.items[place]

    def __len__(self) -> int:
        return len(self.items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # equal to lists, which have none

    def __repr__(self) -> str:
        return repr(self.items)
