"""What a write or an edit would change, as a unified diff against the file on disk."""

from __future__ import annotations

import difflib
import os
import stat
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TypeAlias

from agent_sdk.render.card import Diff, Part, Text

MAX_BYTES = 2_000_000
MAX_LINES = 20_000
MAX_LINE_LENGTH = 2_000
_MAX_STEPS = 20_000_000
_CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Absent:
    """There is no such file."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The file is there and cannot be shown. `why` completes the sentence "The file …"."""

    why: str


Current: TypeAlias = str | Absent | Unreadable


def current_text(path: str) -> Current:
    """The text of the file at `path`. Pipes and devices are never opened, and at most `MAX_BYTES` are read.

    Raises nothing: whatever keeps it from being shown is told in words.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return Unreadable("is a folder" if os.path.isdir(path) else "is not a regular file")
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        return Absent()
    except (OSError, ValueError) as error:
        return Unreadable(f"cannot be read: {_reason(error)}")
    try:
        return _text_of(handle)
    except OSError as error:
        return Unreadable(f"cannot be read: {_reason(error)}")
    finally:
        os.close(handle)


def diff_of(old: str, new: str, *, label: str) -> Part:
    """What changes between two texts: at most `MAX_LINES` lines of a unified diff, or words if nothing does.

    `label` names the file in the two header lines. Long lines are cut, and say how much is missing. The time it takes
    is bounded: a change too tangled to be matched line by line is shown as all old lines, then all new ones.
    """
    if old == new:
        return Text("Nothing changes: the file already holds exactly this text.")
    lines = [f"--- {label}", f"+++ {label}", *_hunks(_lines(old), _lines(new))]
    return Diff(tuple(map(_bounded, lines[:MAX_LINES])), left_out=max(0, len(lines) - MAX_LINES))


def _bounded(line: str) -> str:
    missing = len(line) - MAX_LINE_LENGTH
    return line if missing <= 0 else f"{line[:MAX_LINE_LENGTH]} … ({missing:,} more characters)"


def _text_of(handle: int) -> Current:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        return Unreadable("is not a regular file")
    parts: list[bytes] = []
    size = 0
    while size <= MAX_BYTES and (part := os.read(handle, MAX_BYTES + 1)):
        parts.append(part)
        size += len(part)
    raw = b"".join(parts)
    if size > MAX_BYTES:
        return Unreadable(f"is too large to be compared here (over {MAX_BYTES:,} bytes)")
    if b"\0" in raw:
        return Unreadable("is not text but binary data")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return Unreadable("is not UTF-8 text")


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _lines(text: str) -> list[str]:
    """Lines with their line ends: only `\\n` ends one, whatever else Unicode takes for a line break."""
    lines = text.split("\n")
    ended = [line + "\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended


def _hunks(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The hunks of a unified diff. Equal lines at both ends never reach difflib, whose cost grows steeply."""
    head = _common(old, new)
    tail = min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - head)
    start, rest = max(0, head - _CONTEXT), max(0, tail - _CONTEXT)
    before, after = old[start : len(old) - rest], new[start : len(new) - rest]
    cheap = _steps(before, after) <= _MAX_STEPS
    matcher = difflib.SequenceMatcher(None, before, after) if cheap else None
    groups = matcher.get_grouped_opcodes(_CONTEXT) if matcher else [_whole(before, after, head - start, tail - rest)]
    lines: list[str] = []
    for group in groups:
        lines.append(_header(group, start))
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                lines += _marked(" ", before[old_from:old_to])
            else:
                lines += _marked("-", before[old_from:old_to]) + _marked("+", after[new_from:new_to])
    return lines


_Opcode: TypeAlias = tuple[str, int, int, int, int]


def _whole(before: Sequence[str], after: Sequence[str], head: int, tail: int) -> list[_Opcode]:
    """One hunk: everything between the equal ends is replaced."""
    old_end, new_end = len(before) - tail, len(after) - tail
    return [
        ("equal", 0, head, 0, head),
        ("replace", head, old_end, head, new_end),
        ("equal", old_end, len(before), new_end, len(after)),
    ]


def _header(group: Sequence[_Opcode], offset: int) -> str:
    first, last = group[0], group[-1]
    return f"@@ -{_span(first[1], last[2], offset)} +{_span(first[3], last[4], offset)} @@"


def _span(start: int, end: int, offset: int) -> str:
    """`start,count` as unified diffs count: lines from 1, an empty span names the line before it."""
    count = end - start
    first = start + offset + (1 if count else 0)
    return str(first) if count == 1 else f"{first},{count}"


def _marked(mark: str, lines: Sequence[str]) -> list[str]:
    marked: list[str] = []
    for line in lines:
        marked.append(mark + line.removesuffix("\n"))
        if not line.endswith("\n"):
            marked.append("\\ No newline at end of file")
    return marked


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines are equal from the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _steps(old: Sequence[str], new: Sequence[str]) -> int:
    """An upper bound of the comparisons that difflib would make: pairs of equal lines, for every matching block.

    Lines that difflib itself leaves out for being frequent do not count.
    """
    counts = Counter(new)
    frequent = len(new) // 100 + 1 if len(new) >= 200 else len(new)
    pairs = sum(counts[line] for line in old if counts[line] <= frequent)
    return (pairs + len(old)) * min(len(old), len(new))
