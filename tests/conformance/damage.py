"""Reads the two kinds of accident that cases describe in words: a damaged file, and where a process is killed."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from tests.conformance.vocabulary import UnknownKey

KillPoint: TypeAlias = Literal["before tool", "in tool", "after tool", "after result", "never"]

_BYTES = re.compile(r"bytes? ((?:[0-9a-f]{2}[ ,]*)+)")
_PLACES = {"first": 0, "second": 1, "third": 2, "middle": None, "last": -1, "final": -1}


def damaged(data: bytes, words: str) -> bytes:
    """The bytes of a JSON-lines file with the damage that the words describe. Raises UnknownKey for other words."""
    text = words.lower()
    lines = data.splitlines(keepends=True)
    added = any(word in text for word in ("added", "appended", "one more", "another"))
    if match := _BYTES.search(text):
        raw = bytes.fromhex(re.sub(r"[ ,]", "", match.group(1)))
        return data + raw if added or "end" in text else raw + data
    if added and ("half" in text or "cut" in text or "torn" in text):
        return data + _half(lines[-1])
    if added and ("empty" in text or "blank" in text):
        return data + b"\n"
    if "twice" in text or "duplicate" in text:
        return data + lines[-1]
    if "newline" in text and any(word in text for word in ("missing", "removed", "stripped", "lacks")):
        return data.rstrip(b"\n")
    return b"".join(_line_damaged(lines, text, words))


def _line_damaged(lines: list[bytes], text: str, words: str) -> list[bytes]:
    place = next((name for name in _PLACES if name in text), None)
    if place is None:
        raise UnknownKey(f"export_damaged: unknown damage {words!r}")
    number = len(lines) // 2 if place == "middle" else _PLACES[place]
    assert number is not None
    last = number in (-1, len(lines) - 1)
    if any(word in text for word in ("half", "cut", "torn", "truncated")):
        lines[number] = _half(lines[number]) + (b"" if last else b"\n")
    elif any(word in text for word in ("removed", "missing", "lost")):
        del lines[number]
    elif any(
        word in text for word in ("garbage", "garbled", "unreadable", "not json", "no json", "replaced", "damaged")
    ):
        lines[number] = b'{"broken\n'
    else:
        raise UnknownKey(f"export_damaged: unknown damage {words!r}")
    return lines


def _half(line: bytes) -> bytes:
    whole = line.rstrip(b"\n")
    return whole[: max(1, len(whole) // 2)]


def kill_point(killed: object) -> KillPoint:
    """Where the process ends. `True`: while the tool runs. Raises UnknownKey for words without a known place."""
    if killed is True:
        return "in tool"
    if killed in (False, None):
        return "never"
    text = str(killed).lower().replace("_", " ")
    head, _, tail = text.partition("before")
    if tail:
        if re.search(r"result|stored|journal|recorded|written|saved|commit", tail):
            return "after tool"
        if re.search(r"model|request|reply", tail):
            return "after result"
        if re.search(r"tool|start|run|call|execut", tail):
            return "before tool"
    if re.search(r"while|during|inside|in the middle|in the tool|started", text):
        return "in tool"
    if re.search(r"after.*(result|journal|recorded)", head):
        return "after result"
    if re.search(r"after.*(tool|ran|run|call|execut)", head):
        return "after tool"
    if re.search(r"after.*(decision|answer|approv|yes)", head):
        return "before tool"
    if re.search(r"after.*park|parked", head):
        return "never"
    raise UnknownKey(f"killed: unknown place {killed!r}")
