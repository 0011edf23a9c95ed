"""How wide text is on a terminal, and fitting it into columns. For text that has gone through `visible`."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

TAB = "    "
_PLAIN = re.compile(r"[ -~]*")
_EMOJI_STYLE = "\ufe0f"


@lru_cache(maxsize=4096)
def char_width(char: str) -> int:
    """Columns that one character takes: 0 for marks that sit on the one before, 2 for wide ones, else 1."""
    if unicodedata.category(char) in ("Mn", "Mc", "Me", "Cf") or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def width(text: str) -> int:
    """Columns that a line of text takes."""
    return len(text) if _PLAIN.fullmatch(text) else sum(map(char_width, text))


def drawable(text: str) -> str:
    """`text` as it is drawn in columns: a tab is four blanks, and symbols keep their text style.

    Terminals disagree on the width of a symbol with U+FE0F behind it; without it they agree.
    """
    return text.replace("\t", TAB).replace(_EMOJI_STYLE, "")


def cut(text: str, columns: int) -> str:
    """The beginning of a line in at most `columns` columns, ending in an ellipsis when something is missing."""
    if width(text) <= columns:
        return text
    return _head(text, columns - 1) + "…" if columns > 0 else ""


def padded(text: str, columns: int) -> str:
    """The line in exactly `columns` columns: cut, or filled up with blanks."""
    fitting = cut(text, columns)
    return fitting + " " * (columns - width(fitting))


def chopped(line: str, columns: int) -> list[str]:
    """A line in pieces of at most `columns` columns, nothing left out: for commands and code. At least one piece."""
    columns = max(columns, 2)
    if _PLAIN.fullmatch(line):
        return [line[start : start + columns] for start in range(0, len(line), columns)] or [""]
    pieces: list[str] = []
    start = used = 0
    for place, char in enumerate(line):
        wide = char_width(char)
        if used + wide > columns:
            pieces.append(line[start:place])
            start, used = place, 0
        used += wide
    return [*pieces, line[start:]]


def wrapped(text: str, columns: int) -> list[str]:
    """Words in lines of at most `columns` columns, broken at blanks where there are any. At least one line."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in re.findall(r" *[^ ]+|[ ]+$", paragraph):
            if line and width(line) + width(word) > columns:
                lines.append(line)
                word, line = word.lstrip(), ""
            *full, rest = chopped(line + word, columns)
            lines += full
            line = rest
        lines.append(line)
    return lines


def _head(text: str, columns: int) -> str:
    used = 0
    for place, char in enumerate(text):
        used += char_width(char)
        if used > columns:
            return text[:place]
    return text
