"""Words as deny takes them: `$IFS` is a blank, other expansions are empty, brace lists are expanded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agent_sdk.rules.shell_nodes import Mark, SimpleCommand, Word, first_glob
from agent_sdk.rules.shell_text import expand_braces

_IFS = frozenset(["$IFS", "${IFS}"])
_HELD = "\1"
"""Keeps the place of an expansion that is a word by itself between blanks: `sh -c $IFS"$x"` has a third word."""

ArgvKey: TypeAlias = tuple[str, ...] | tuple[tuple[str, ...], tuple[int | None, ...], bool]
"""What tells two calls apart, see `ArgvKeys`."""


@dataclass(slots=True)  # not frozen, though never changed: it is made for every new command
class Argv:
    """Words as a program would get them, and the words of the command line that they came from.

    `appended`: more words follow that are only known at run time (`xargs`).
    """

    words: tuple[str, ...]
    origins: tuple[Word, ...]
    appended: bool = False

    def hidden(self, index: int) -> bool:
        """True when a word is only known at run time."""
        return any(not _is_ifs(self.origins[index], mark) for mark in self.origins[index].marks)

    def unsure(self, index: int) -> bool:
        """True when a word is only known at run time, or stands for the names that a glob finds."""
        return self.origins[index].glob >= 0 or self.hidden(index)

    @property
    def any_unsure(self) -> bool:
        """True when any word is `unsure`."""
        return any(self.unsure(index) for index in range(len(self.origins)))

    def origin(self, index: int) -> Word:
        """The word of the command line behind a word; words that were cut or expanded stand for themselves.

        Of a brace list with an unquoted tilde or glob, each word that begins with the one or holds the other has it.
        """
        origin, text = self.origins[index], self.words[index]
        if origin.brace or any(_is_ifs(origin, mark) for mark in origin.marks):
            tilde = text.startswith("~") and "~" in origin.shape
            return Word(text, glob=first_glob(text) if origin.glob >= 0 else -1, tilde=tilde)
        return origin if origin.marks or origin.text == text else Word(text)

    @property
    def written(self) -> tuple[str, ...]:
        """The words with their expansions as they are written: `-n"$x"` has its value, and `-n` waits for one."""
        return tuple([self.origin(index).text for index in range(len(self.words))])

    @property
    def any_hidden(self) -> bool:
        """True when any word is only known at run time."""
        return any(self.hidden(index) for index, origin in enumerate(self.origins) if origin.marks)

    def behind(self, start: int, end: int | None = None, *, appended: bool = False) -> Argv:
        """A part of it, as a command of its own."""
        return Argv(self.words[start:end], self.origins[start:end], self.appended or appended)


class ArgvKeys:
    """Tells calls apart: two are the same when they share the texts, and of uncertain words all that is known.

    So `rm "~"` is not `rm ~`, and `trap '' EXIT` is not `trap "$x" EXIT`. Each word is looked at once, however many
    calls it is a part of.
    """

    __slots__ = ("_alive", "_kept", "_numbers")

    def __init__(self) -> None:
        self._numbers: dict[Word, int] = {}
        self._kept: dict[int, int] = {}  # by identity
        self._alive: list[Word] = []  # so that no other word gets the identity of one of these

    def key(self, argv: Argv) -> ArgvKey:
        """What `argv` has in common with the calls that say the same: for certain words that is `argv.words`."""
        numbers = tuple(map(self._kept.get, map(id, argv.origins)))
        if None in numbers:
            for origin in argv.origins:
                if id(origin) not in self._kept:
                    self._keep(origin)
            numbers = tuple(map(self._kept.get, map(id, argv.origins)))
        return (argv.words, numbers, argv.appended) if argv.appended or any(numbers) else argv.words

    def _keep(self, word: Word) -> None:
        self._alive.append(word)
        self._kept[id(word)] = 0 if word.static else self._numbers.setdefault(word, len(self._numbers) + 1)


def _is_ifs(word: Word, mark: Mark) -> bool:
    source = word.text[mark.start : mark.end]
    return source in _IFS or source.startswith(("${IFS:", "${IFS%", "${IFS#", "${IFS/"))


def _emptied(word: Word) -> tuple[str, str]:
    """Text and shape without expansions: a NUL for an unquoted `$IFS`, and in its word `_HELD` for any other."""
    if not word.marks:
        return word.text, word.shape
    text: list[str] = []
    shape: list[str] = []
    at = 0
    blanks = [not mark.quoted and _is_ifs(word, mark) for mark in word.marks]
    other = _HELD if any(blanks) else ""
    for mark, is_blank in zip(word.marks, blanks, strict=True):
        stands = "\0" if is_blank else other
        text += (word.text[at : mark.start], stands)
        shape += (word.shape[at : mark.start], stands)
        at = mark.end
    return "".join((*text, word.text[at:])), "".join((*shape, word.shape[at:]))


def argv_of(command: SimpleCommand) -> Argv:
    """The words of a command as deny takes them."""
    return Argv(command.texts, command.words) if command.static else expanded(command.words)


def expanded(words: Sequence[Word]) -> Argv:
    """Words as deny takes them: `$IFS` is a blank, other expansions are empty, brace lists are expanded."""
    texts: list[str] = []
    origins: list[Word] = []
    certain = True
    for word in words:
        if not word.marks and not word.brace:
            texts.append(word.text)
            origins.append(word)
            continue
        certain = False
        text, shape = _emptied(word)
        for variant in expand_braces(text, shape) if word.brace else (text,):
            parts = variant.split("\0")
            found = [part.replace(_HELD, "") for part in parts if part] if len(parts) > 1 else parts
            texts += found
            origins += [word] * len(found)
    first = 0 if certain else next((index for index, text in enumerate(texts) if text), len(texts))
    return Argv(tuple(texts[first:]), tuple(origins[first:]))
