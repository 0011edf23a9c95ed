"""Finds files below a folder by a glob pattern, without following links, in bounded time."""

from __future__ import annotations

import fnmatch
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

from agent_sdk.errors import ToolError
from agent_sdk.tools.base import ReadGuard

MAX_PATTERN = 1_000
MAX_ALTERNATIVES = 64
_SKIPPED = ".git"
_ANY_DEPTH = "**"


@dataclass(frozen=True, slots=True)
class GlobPattern:
    """A glob: `*`, `?`, `[…]` within a name, `**` for any number of folders, `{a,b}` for alternatives.

    It is read name by name from the top, so a folder in which nothing can match is never entered; the work is linear.
    `None` in `alternatives` stands for `**`.
    """

    alternatives: tuple[tuple[re.Pattern[str] | None, ...], ...]

    @classmethod
    def parse(cls, text: str) -> GlobPattern:
        """Raises ToolError for an empty or very long pattern, and for one that leaves the folder to search."""
        if not text or len(text) > MAX_PATTERN:
            raise ToolError(f"A pattern has 1 to {MAX_PATTERN} characters.")
        if text.startswith(("/", "~/")) or ".." in text.split("/"):
            raise ToolError("A pattern starts at the folder to search and stays in it; name another folder as path.")
        return cls(tuple(cls._names(alternative) for alternative in _expanded(text)))

    @staticmethod
    def _names(text: str) -> tuple[re.Pattern[str] | None, ...]:
        parts = [part for part in text.split("/") if part not in ("", ".")]
        return tuple(None if part == _ANY_DEPTH else re.compile(fnmatch.translate(part)) for part in parts)

    def start(self) -> Places:
        """The places at the top folder."""
        return self._closed({(number, 0) for number in range(len(self.alternatives))})

    def below(self, places: Places, name: str) -> Places:
        """The places after one more name of a path; empty when nothing below can match."""
        after = set()
        for number, place in places:
            parts = self.alternatives[number]
            if place == len(parts):
                continue
            part = parts[place]
            if part is None:
                after.add((number, place))
            elif part.match(name):
                after.add((number, place + 1))
        return self._closed(after)

    def matches(self, places: Places) -> bool:
        """True when the whole pattern is used up."""
        return any(place == len(self.alternatives[number]) for number, place in places)

    def _closed(self, places: set[tuple[int, int]]) -> Places:
        """`**` may stand for no folder at all: the place behind it is reached as well."""
        waiting = list(places)
        while waiting:
            number, place = waiting.pop()
            parts = self.alternatives[number]
            if place < len(parts) and parts[place] is None and (number, place + 1) not in places:
                places.add((number, place + 1))
                waiting.append((number, place + 1))
        return frozenset(places)


Places = frozenset[tuple[int, int]]
"""Where in its alternatives a pattern stands after some names of a path."""

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def _expanded(text: str) -> list[str]:
    """The alternatives of `{a,b}`, innermost first. Raises ToolError when there are too many."""
    done: list[str] = []
    waiting = [text]
    while waiting:
        if len(waiting) + len(done) > MAX_ALTERNATIVES:
            raise ToolError(f"The pattern has more than {MAX_ALTERNATIVES} alternatives.")
        current = waiting.pop()
        if match := _BRACES.search(current):
            waiting += [current[: match.start()] + word + current[match.end() :] for word in match[1].split(",")]
        else:
            done.append(current)
    return done


@dataclass(slots=True)
class Tally:
    """What a search passed over, and when it must end (`time.monotonic()`)."""

    until: float
    left_out: int = 0
    unreadable: int = 0
    late: bool = False

    def is_late(self) -> bool:
        """True once the time is up; stays true."""
        self.late = self.late or time.monotonic() > self.until
        return self.late


@dataclass(frozen=True, slots=True, kw_only=True)
class Walker:
    """Walks the folders below `root` in the order of their names.

    Folders behind links are not entered, `.git` is skipped. `links` says whether a link that matches is found as well.
    A file that `guard` covers is left out and counted.
    """

    root: str
    pattern: GlobPattern
    links: bool
    guard: ReadGuard | None
    tally: Tally

    def files(self) -> Iterator[str]:
        """The absolute paths of the files that match, until the time is up."""
        waiting = [(self.root, self.pattern.start())]
        while waiting and not self.tally.is_late():
            folder, places = waiting.pop()
            folders = []
            for entry in self._entries(folder):
                reached = self.pattern.below(places, entry.name)
                if not reached or self.tally.is_late():
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != _SKIPPED:
                        folders.append((entry.path, reached))
                elif self.pattern.matches(reached) and self._is_wanted(entry):
                    yield entry.path
            waiting += reversed(folders)

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError:
            self.tally.unreadable += 1
            return []

    def _is_wanted(self, entry: os.DirEntry[str]) -> bool:
        if entry.is_symlink():
            if not self.links:
                return False
        elif not entry.is_file(follow_symlinks=False):
            return False
        if is_covered(self.guard, entry.path):
            self.tally.left_out += 1
            return False
        return True


def is_covered(guard: ReadGuard | None, path: str) -> bool:
    """True when the guard covers a path; a guard that fails covers everything."""
    try:
        return guard is not None and guard(path)
    except Exception:
        return True
