"""The matchers for `*`, `?` and character classes: two pointers, no regular expressions, no backtracking blow-up.

A match looks at no more than `len(pattern) * len(text)` pairs, whatever the pattern.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

_POSIX: dict[str, Callable[[str], bool]] = {
    "alnum": str.isalnum,
    "alpha": str.isalpha,
    "blank": lambda char: char in " \t",
    "digit": lambda char: char in "0123456789",
    "lower": str.islower,
    "punct": lambda char: char.isascii() and char.isprintable() and not char.isalnum() and char != " ",
    "space": str.isspace,
    "upper": str.isupper,
    "xdigit": lambda char: char in "0123456789abcdefABCDEF",
}


@dataclass(frozen=True, slots=True)
class AnyChar:
    """`?`: one character."""

    def holds(self, char: str) -> bool:
        """True for every character."""
        return True


@dataclass(frozen=True, slots=True)
class CharClass:
    """`[...]`: one character of a set, or with `!` one that is not in it. An upside-down range is empty.

    `caseless`: a character is in the set when its upper or lower case is.
    """

    negated: bool
    ranges: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    caseless: bool = False

    def holds(self, char: str) -> bool:
        """True when the class lets `char` through."""
        cases = (char, char.lower(), char.upper()) if self.caseless else (char,)
        return any(self._has(case) for case in cases) != self.negated

    def _has(self, char: str) -> bool:
        return any(low <= char <= high for low, high in self.ranges) or any(_POSIX[name](char) for name in self.names)


@dataclass(frozen=True, slots=True)
class Literal:
    """One character that stands for itself."""

    char: str

    def holds(self, char: str) -> bool:
        """True for this very character."""
        return char == self.char


@dataclass(frozen=True, slots=True)
class Star:
    """`*`: any number of characters."""


Token: TypeAlias = "AnyChar | CharClass | Literal | Star"
STAR = Star()


def tokens(pattern: str) -> tuple[Token, ...]:
    """The parts of one path segment of a gitignore pattern. An unclosed `[` and a last backslash are literal."""
    found: list[Token] = []
    position = 0
    while position < len(pattern):
        char = pattern[position]
        position += 1
        if char == "*":
            if not found or found[-1] != STAR:
                found.append(STAR)
        elif char == "?":
            found.append(AnyChar())
        elif char == "\\" and position < len(pattern):
            found.append(Literal(pattern[position]))
            position += 1
        elif char == "[" and (read := _char_class(pattern, position)) is not None:
            found.append(read[0])
            position = read[1]
        else:
            found.append(Literal(char))
    return tuple(found)


def _char_class(pattern: str, position: int) -> tuple[CharClass, int] | None:
    """The class whose `[` lies before `position`, and where it ends; `None` when it is never closed."""
    negated = pattern[position : position + 1] in ("!", "^")
    position += negated
    ranges: list[tuple[str, str]] = []
    names: list[str] = []
    first = True
    while position < len(pattern):
        char = pattern[position]
        if char == "]" and not first:
            return CharClass(negated, tuple(ranges), tuple(names)), position + 1
        first = False
        end = pattern.find(":]", position + 2) if pattern.startswith("[:", position) else -1
        name = pattern[position + 2 : end] if end >= 0 else ""
        if name in _POSIX:
            names.append(name)
            position += len(name) + 4
            continue
        low, position = _class_char(pattern, position)
        high = low
        if pattern[position : position + 1] == "-" and pattern[position + 1 : position + 2] not in ("", "]"):
            high, position = _class_char(pattern, position + 1)
        ranges.append((low, high))
    return None


def _class_char(pattern: str, position: int) -> tuple[str, int]:
    if pattern[position] == "\\" and position + 1 < len(pattern):
        return pattern[position + 1], position + 2
    return pattern[position], position + 1


def matches(pattern: tuple[Token, ...], text: str) -> bool:
    """True when the whole `text` fits `pattern`.

    After a mismatch only the last star takes one character more: an earlier one could gain nothing by growing.
    """
    at = here = 0
    star = -1
    resume = 0
    while here < len(text):
        token = pattern[at] if at < len(pattern) else None
        if token is STAR:
            star, resume = at, here
            at += 1
        elif token is not None and not isinstance(token, Star) and token.holds(text[here]):
            at += 1
            here += 1
        elif star >= 0:
            resume += 1
            at, here = star + 1, resume
        else:
            return False
    while at < len(pattern) and pattern[at] is STAR:
        at += 1
    return at == len(pattern)


def fold(pattern: tuple[Token, ...], how: Callable[[str], str]) -> tuple[Token, ...]:
    """The pattern for texts that went through `how`: literal stretches do too, classes forget about case."""
    found: list[Token] = []
    stretch = ""
    for token in (*pattern, None):
        if isinstance(token, Literal):
            stretch += token.char
            continue
        found += [Literal(char) for char in how(stretch)]
        stretch = ""
        if isinstance(token, CharClass):
            found.append(replace(token, caseless=True))
        elif token is not None:
            found.append(token)
    return tuple(found)


def literal(pattern: tuple[Token, ...]) -> str | None:
    """The only text that fits `pattern`, or `None` when more than one does."""
    chars = [token.char for token in pattern if isinstance(token, Literal)]
    return "".join(chars) if len(chars) == len(pattern) else None


def pieces_of(pattern: tuple[Token, ...]) -> tuple[str, ...] | None:
    """The literal texts between the stars of `pattern`, or `None` when it has other wildcards."""
    found = [""]
    for token in pattern:
        match token:
            case Literal(char):
                found[-1] += char
            case Star():
                found.append("")
            case _:
                return None
    return tuple(found)


@lru_cache(maxsize=4096)
def pieces(pattern: str) -> tuple[str, ...]:
    """The literal texts between the stars of a pattern in which `*` is the only wildcard.

    A backslash makes `*`, brackets and itself literal.
    """
    found = [""]
    position = 0
    while position < len(pattern):
        char = pattern[position]
        if char == "\\" and pattern[position + 1 : position + 2] in tuple("*\\()[]{}"):
            position += 1
            found[-1] += pattern[position]
        elif char == "*":
            if len(found) == 1 or found[-1]:
                found.append("")
        else:
            found[-1] += char
        position += 1
    return tuple(found)


def fits(parts: tuple[str, ...], text: str, start: int = 0) -> bool:
    """True when `text` from `start` on is the `parts` with anything between them, each taken as early as it comes."""
    if len(parts) == 1:
        return len(text) - start == len(parts[0]) and text.startswith(parts[0], start)
    if not text.startswith(parts[0], start):
        return False
    here = start + len(parts[0])
    for part in parts[1:-1]:
        found = text.find(part, here)
        if found < 0:
            return False
        here = found + len(part)
    return len(text) - len(parts[-1]) >= here and text.endswith(parts[-1])
