"""What a command line is made of: words, redirections, simple commands. Plain values; both readings build them.

They are never changed. Those that each new line needs are not frozen all the same: that makes them three times as dear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from agent_sdk.values import lazy

MarkKind: TypeAlias = Literal["param", "status", "other"]
CommandKind: TypeAlias = Literal["command", "group", "define", "words"]

_GLOBS = frozenset("*?[")
_TILDE = re.compile(r"~|[A-Za-z_][A-Za-z0-9_]*(?:\[.*?\])?\+?=(?:.*:)?~", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Mark:
    """An active expansion inside a word: `text[start:end]` is its source.

    `param` is a plain `$x` or `${x}`, `status` one of `$?`, `$#` and `$!`, `other` everything else (substitutions,
    `${x:-y}`, arithmetic). `quoted` tells whether it stands in double quotes and so stays one word.
    """

    start: int
    end: int
    kind: MarkKind
    quoted: bool


@dataclass(slots=True, unsafe_hash=True)
class Word:
    """One word. `text` is what the program would get: quotes and escapes are gone, active expansions stand as written.

    `glob` is the offset of the first unquoted glob character, or -1. `brace` marks an unquoted brace list, `tilde` an
    unquoted `~` that bash expands. `quoted` is true when any part was quoted or escaped. `shape` is `text` with quoted
    characters and expansions blanked by NUL; it is empty when nothing of the word is special.
    """

    text: str
    marks: tuple[Mark, ...] = ()
    glob: int = -1
    brace: bool = False
    tilde: bool = False
    quoted: bool = False
    shape: str = ""

    @property
    def dynamic(self) -> bool:
        """True when the text is only known at run time: an expansion, or a brace list."""
        return bool(self.marks) or self.brace

    @property
    def static(self) -> bool:
        """True when the program gets exactly `text`."""
        return not (self.marks or self.brace or self.tilde or self.glob >= 0)


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirection. `op` is the operator, `fd` the digits before it, `target` the word behind it.

    For a here-document `target` is the delimiter and `body` the text; `literal` is true when the delimiter is quoted,
    so that nothing in the body is expanded.
    """

    op: str
    fd: str
    target: Word
    body: str = ""
    literal: bool = False


@dataclass(unsafe_hash=True)  # no slots: what is worked out of it is kept with it
class SimpleCommand:
    """One program call: its words, the assignments before it, its redirections.

    A `group` has redirections only: they hold for a whole group, loop or subshell. A `define` is the definition of a
    function; its only word is the name. `words` is no call at all: a word that a `case` or `for` is about.
    """

    words: tuple[Word, ...]
    assigns: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    kind: CommandKind = "command"

    @lazy
    def texts(self) -> tuple[str, ...]:
        """The texts of its words."""
        return tuple([word.text for word in self.words])

    @lazy
    def static(self) -> bool:
        """True when the program gets exactly `texts`."""
        for word in self.words:
            if word.marks or word.brace or word.tilde or word.glob >= 0:  # as `Word.static`, without a call for each
                return False
        return True


@dataclass(frozen=True, slots=True)
class Feed:
    """Output of `commands[source[0]:source[1]]` that becomes the input of `commands[sink[0]:sink[1]]`."""

    source: tuple[int, int]
    sink: tuple[int, int]


@dataclass(slots=True)
class Script:
    """One reading of a command line: every simple command anywhere in it, and what feeds what."""

    commands: tuple[SimpleCommand, ...]
    feeds: tuple[Feed, ...] = ()


@dataclass(slots=True)
class ShellReading:
    """What a command line would run.

    `script` is the reading of the grammar. `not_understood` says why it must not be trusted; then, and whenever the
    line is no plain script, `loose` holds a best-effort split beside it, which only deny and ask rules look at.
    `plain` is true when the second reading listed the very same commands: the precondition of a scoped allow. `text` is
    the command line itself.
    """

    script: Script
    loose: Script
    plain: bool
    not_understood: str | None = None
    text: str = ""


@lru_cache(maxsize=4096)
def plain_word(text: str) -> Word:
    """The word for text without any special character."""
    return Word(text)


class WordBuilder:
    """Collects the pieces of one word."""

    __slots__ = ("_marks", "_parts", "_quoted", "_shape", "_size", "touched")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._shape: list[str] = []
        self._marks: list[Mark] = []
        self._size = 0
        self._quoted = False
        self.touched = False

    def bare(self, text: str) -> None:
        """Unquoted text: globs, braces and a leading tilde in it are special."""
        self._add(text, text)

    def literal(self, text: str) -> None:
        """Quoted or escaped text: nothing in it is special. Empty text still makes a word."""
        self._quoted = True
        self._add(text, "\0" * len(text))

    def mark(self, source: str, kind: MarkKind, *, quoted: bool) -> None:
        """An active expansion, written as `source`."""
        self._marks.append(Mark(self._size, self._size + len(source), kind, quoted))
        self._add(source, "\0" * len(source))

    def _add(self, text: str, shape: str) -> None:
        self.touched = True
        self._parts.append(text)
        self._shape.append(shape)
        self._size += len(text)

    def build(self) -> Word:
        """The finished word. In what looks like an assignment, operands included, a tilde behind `=` or `:` counts."""
        text = "".join(self._parts)
        shape = "".join(self._shape)
        glob = first_glob(shape)
        brace = "{" in shape and has_brace_list(shape)
        tilde = "~" in shape and bool(_TILDE.match(shape))
        if not (self._marks or self._quoted or brace or tilde or glob >= 0):
            return plain_word(text)
        kept = shape if brace or glob >= 0 else ""
        return Word(text, tuple(self._marks), glob, brace, tilde, self._quoted, kept)


def first_glob(shape: str) -> int:
    """Offset of the first character that bash reads as a glob, or -1. A lone `[` is none."""
    closed = shape.rfind("]")
    for index, char in enumerate(shape):
        if char in _GLOBS and (char != "[" or index < closed):
            return index
    return -1


def has_brace_list(shape: str) -> bool:
    """True when an unquoted `{…,…}` or `{…..…}` is in it. `{}` and `@{1}` are plain text for bash."""
    start = shape.find("{")
    end = shape.rfind("}")
    if start < 0 or end < start:
        return False
    inside = shape[start:end]
    return "," in inside or ".." in inside
