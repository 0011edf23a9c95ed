"""Small text facts about bash: what `$'…'` and `echo -e` make of escapes, what a brace list expands to."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ESCAPE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|(0?[0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}
MAX_EXPANSIONS = 64

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")

RESERVED = frozenset(
    [
        *("if", "then", "elif", "else", "fi", "do", "done", "while", "until", "for", "select", "case", "esac", "in"),
        *("function", "coproc", "time", "!", "{", "}", "[[", "]]"),
    ]
)


def decode_escapes(text: str) -> str:
    """The text that `$'text'` stands for. `echo -e` and `printf` agree closely enough for looking inside."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_one_escape, text)


def _one_escape(match: re.Match[str]) -> str:
    for group, base in ((1, 16), (2, 16), (3, 16), (4, 8)):
        digits = match[group]
        if digits:
            number = int(digits, base)
            if group in (1, 4):
                number &= 0xFF
            return chr(number) if number <= 0x10FFFF else ""
    if match[5]:
        return chr(ord(match[5]) & 0x1F)
    return _SIMPLE.get(match[6], match[6] if match[6] in "\\'\"?" else match[0])


def expand_braces(text: str, shape: str) -> list[str]:
    """The words that a brace list makes, at most `MAX_EXPANSIONS`; the text itself when there is no list in it.

    `shape` is the text with every quoted character blanked, so that only unquoted braces count.
    """
    done: list[str] = []
    todo = [(text, shape)]
    while todo and len(done) < MAX_EXPANSIONS:
        current, outline = todo.pop(0)
        span = _first_list(outline)
        if span is None:
            done.append(current)
            continue
        start, end = span
        parts = list(_alternatives(outline, start + 1, end))
        for left, right in parts[:MAX_EXPANSIONS]:
            todo.append(
                (
                    current[:start] + current[left:right] + current[end + 1 :],
                    outline[:start] + outline[left:right] + outline[end + 1 :],
                )
            )
    return done


def _first_list(shape: str) -> tuple[int, int] | None:
    """The first `{…,…}` as (offset of `{`, offset of its `}`)."""
    start = shape.find("{")
    for _ in range(MAX_EXPANSIONS):
        if start < 0:
            return None
        depth, comma = 0, False
        for index in range(start, len(shape)):
            char = shape[index]
            depth += (char == "{") - (char == "}")
            comma = comma or (char == "," and depth == 1)
            if depth == 0:
                if comma:
                    return start, index
                break
        start = shape.find("{", start + 1)
    return None


def _alternatives(shape: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The spans between the commas of one list."""
    depth, left = 0, start
    for index in range(start, end):
        char = shape[index]
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            yield left, index
            left = index + 1
    yield left, end
