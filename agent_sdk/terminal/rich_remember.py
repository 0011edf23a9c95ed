"""Choosing what to remember: for each part of the call one rule from narrow to wide, and where it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from agent_sdk.decisions import PermissionUpdate
from agent_sdk.render.cells import drawable, wrapped
from agent_sdk.render.rules import PLACES, place_in_words, suggestion_lines
from agent_sdk.render.text import visible
from agent_sdk.terminal.rich_page import Key, Line, line, span, words
from agent_sdk.updates import Destination


@dataclass(frozen=True, slots=True)
class Remember:
    """The suggestions as rows. `taken` holds the rows that are taken: one for each part of the call at most.

    `place` is where all of them are kept; `None` = where each suggestion says.
    """

    suggestions: tuple[PermissionUpdate, ...]
    taken: frozenset[int]
    cursor: int = 0
    place: Destination | None = None

    @classmethod
    def of(cls, suggestions: Sequence[PermissionUpdate]) -> Self:
        """The narrowest rule of each part is taken at the start, and nothing wider."""
        rows = {row for row, update in enumerate(suggestions) if update.rung == 0}
        return cls(tuple(suggestions), frozenset(rows))

    @property
    def updates(self) -> list[PermissionUpdate]:
        """What is remembered as it stands."""
        chosen = [self.suggestions[row] for row in sorted(self.taken)]
        return chosen if self.place is None else [update.at(self.place) for update in chosen]

    def press(self, key: Key) -> Self:
        """After a key: move, take a row or leave it, another place. A number only takes: it chooses, as on the card."""
        match key:
            case "up" | "down":
                return replace(self, cursor=(self.cursor + (1 if key == "down" else -1)) % len(self.suggestions))
            case "left" | "right":
                places = [None, *PLACES]
                step = 1 if key == "right" else -1
                return replace(self, place=places[(places.index(self.place) + step) % len(places)])
            case " ":
                return self._leave(self.cursor) if self.cursor in self.taken else self._take(self.cursor)
            case _ if key.isascii() and key.isdecimal() and 1 <= int(key) <= len(self.suggestions):
                return replace(self, cursor=int(key) - 1)._take(int(key) - 1)
            case _:
                return self

    def _take(self, row: int) -> Self:
        covers = self.suggestions[row].covers
        others = {other for other in self.taken if self.suggestions[other].covers != covers}
        return replace(self, taken=frozenset(others | {row}))

    def _leave(self, row: int) -> Self:
        return replace(self, taken=self.taken - {row})

    def lines(self, columns: int) -> list[Line]:
        """The rows: rule and what it would cover, below the part of the call that they are for."""
        lines: list[Line] = []
        covers = None
        for row, update in enumerate(self.suggestions):
            if update.covers and update.covers != covers:
                covers = update.covers
                lines.append(line(f"  For {visible(covers, keep_newlines=False)}", "dim"))
            here = row == self.cursor
            box = "(●)" if row in self.taken else "( )"
            for text in suggestion_lines(update):
                first, *rest = wrapped(drawable(f"{box} {row + 1}. {text}"), columns - 2)
                lines.append((span(f"{'❯' if here else ' '} {first}", "cursor" if here else ""),))
                lines += [line("      " + more) for more in rest]
        return lines

    def place_lines(self, columns: int) -> list[Line]:
        """Where it is kept: all of it, or the row under the cursor."""
        kept = place_in_words(self.place or self.suggestions[self.cursor].destination)
        return words(f"Kept for {kept}", columns, "bold")
