"""Reading a record's JSON strictly: a field of the wrong type is a SessionError that names record and field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from agent_sdk.errors import SessionError
from agent_sdk.values import Json, JsonObject, copied, to_text


class Fields:
    """The fields of one stored record. Fields that nobody asks for are ignored; a missing optional one is `None`.

    Every method raises SessionError, naming record and field, when the value has another type than asked for.
    """

    def __init__(self, record: str, raw: Json) -> None:
        if not isinstance(raw, Mapping):
            raise SessionError(f"{record}: expected a JSON object, got {_kind(raw)}")
        self.record = record
        self.raw = raw

    def wrong(self, name: str, expected: str) -> SessionError:
        """The error for the field `name`, ready to be raised."""
        found = _kind(self.raw[name]) if name in self.raw else "nothing"
        return SessionError(f"{self.record}.{name}: expected {expected}, got {found}")

    def text(self, name: str) -> str:
        """A text that must be there."""
        value = self.raw.get(name)
        if not isinstance(value, str):
            raise self.wrong(name, "a text")
        return value

    def text_or(self, name: str, default: str) -> str:
        """A text, or the default when the field is missing."""
        return self.text(name) if name in self.raw else default

    def maybe_text(self, name: str) -> str | None:
        """A text, or `None`."""
        return None if self.raw.get(name) is None else self.text(name)

    def flag(self, name: str) -> bool:
        """True or false; false when missing."""
        value = self.raw.get(name, False)
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return value

    def number(self, name: str) -> int:
        """A whole number; 0 when missing."""
        value = self.raw.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(name, "a whole number")
        return value

    def object(self, name: str) -> dict[str, Json]:
        """An object that must be there, as an own copy."""
        value = self.raw.get(name)
        if not isinstance(value, Mapping):
            raise self.wrong(name, "an object")
        return {key: copied(item) for key, item in value.items()}

    def maybe_object(self, name: str) -> dict[str, Json] | None:
        """An object, or `None`."""
        return None if self.raw.get(name) is None else self.object(name)

    def objects(self, name: str) -> list[dict[str, Json]]:
        """A list of objects; empty when missing."""
        value = self.raw.get(name, [])
        if not isinstance(value, list | tuple):
            raise self.wrong(name, "a list of objects")
        items: list[dict[str, Json]] = []
        for item in value:
            if not isinstance(item, Mapping):
                raise self.wrong(name, f"a list of objects, not of {_kind(item)}s")
            items.append({key: copied(inner) for key, inner in item.items()})
        return items

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; empty when missing."""
        value = self.raw.get(name, [])
        if not isinstance(value, list | tuple):
            raise self.wrong(name, "a list of texts")
        texts = tuple(item for item in value if isinstance(item, str))
        if len(texts) != len(value):
            raise self.wrong(name, "a list of texts only")
        return texts

    def words(self, name: str) -> str | list[dict[str, Json]]:
        """A text, or a list of content blocks; the empty text when missing."""
        value = self.raw.get(name, "")
        return value if isinstance(value, str) else self.objects(name)

    def maybe_moment(self, name: str) -> datetime | None:
        """A date and time with its time zone, or `None`."""
        return None if self.raw.get(name) is None else self.moment(name)

    def moment(self, name: str) -> datetime:
        """A date and time with its time zone (ISO 8601) that must be there."""
        try:
            value = datetime.fromisoformat(self.text(name))
        except ValueError:
            raise self.wrong(name, "a date and time (ISO 8601)") from None
        if value.tzinfo is None:
            raise self.wrong(name, "a date and time with its time zone")
        return value


def moment_text(record: str, name: str, value: datetime | None) -> str | None:
    """ISO 8601 of an aware datetime. Raises SessionError, naming record and field, for a naive one."""
    if value is None:
        return None
    if value.tzinfo is None:
        raise SessionError(f"{record}.{name}: expected a datetime with a time zone, got a naive one")
    return value.isoformat()


def plain(place: str, value: Json) -> Json:
    """A deep copy of a JSON value. Raises SessionError, naming the place, when something inside is not JSON."""
    try:
        return copied(value)
    except (TypeError, RecursionError) as error:
        raise SessionError(f"{place} cannot be stored: {error}") from None


def json_text(record: str, value: JsonObject) -> str:
    """The text that stores keep. Raises SessionError, naming the record, when something inside is not JSON."""
    try:
        return to_text(value)
    except (TypeError, ValueError, RecursionError):
        return to_text(plain(record, value))


def json_object(record: str, text: str) -> dict[str, Json]:
    """The object that a stored text holds. Raises SessionError, naming the record, when it is not one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SessionError(f"{record} is unreadable: {error}") from None
    if not isinstance(value, dict):
        raise SessionError(f"{record} is unreadable: expected a JSON object, got {_kind(value)}")
    return value


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case Mapping():
            return "an object"
        case _:
            return "a list"
