"""Small text facts about bash: what `$'…'` and `echo -e` make of escapes, what a brace list expands to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

_ESCAPE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|(0?[0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}
_BRACES = re.compile(r"[{},]")
MAX_EXPANSIONS = 64
_MAX_STEPS = 400

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
    steps = 0
    while todo:
        current, outline = todo.pop()
        steps += 1
        more = len(todo) + len(done) < MAX_EXPANSIONS and steps < _MAX_STEPS
        span = _first_list(outline) if more else None
        if span is None:
            done.append(current)
            continue
        start, end = span
        room = MAX_EXPANSIONS - len(todo) - len(done)
        parts = list(islice(_alternatives(outline, start + 1, end), room))
        todo += [
            (
                current[:start] + current[left:right] + current[end + 1 :],
                outline[:start] + outline[left:right] + outline[end + 1 :],
            )
            for left, right in reversed(parts)
        ]
    return done


def _first_list(shape: str) -> tuple[int, int] | None:
    """The first `{…,…}` that closes, as (offset of `{`, offset of its `}`)."""
    opened: list[tuple[int, bool]] = []
    found: tuple[int, int] | None = None
    for at in _BRACES.finditer(shape):
        char, index = at[0], at.start()
        if char == "{":
            opened.append((index, False))
        elif not opened:
            continue
        elif char == ",":
            opened[-1] = (opened[-1][0], True)
        else:
            start, comma = opened.pop()
            if comma and (found is None or start < found[0]):
                found = start, index
            if not opened and found is not None:
                return found
    return found


def _alternatives(shape: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The spans between the commas of one list."""
    depth, left = 0, start
    for at in _BRACES.finditer(shape, start, end):
        char = at[0]
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            yield left, at.start()
            left = at.end()
    yield left, end
