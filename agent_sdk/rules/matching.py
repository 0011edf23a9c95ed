"""Does a rule cover a call? The one door into this room: a `Reading` of a call, and a `Rulebook` to hold against it.

Allow needs the one canonical reading to match; deny and ask match if any reading does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from agent_sdk.calls import ToolFacts
from agent_sdk.rules.book import Book
from agent_sdk.rules.book import Found as Found
from agent_sdk.rules.facts import known_facts as known_facts
from agent_sdk.rules.ground import Ground
from agent_sdk.rules.reading import Named, named
from agent_sdk.rules.reading import Place as Place
from agent_sdk.rules.reading import Reading as Reading
from agent_sdk.rules.rule import Rule
from agent_sdk.rules.shell_view import ShellView
from agent_sdk.rules.spelling import spell
from agent_sdk.values import JsonObject


class Rulebook:
    """Rules, compiled once and never changed; `with_rules` makes a new one.

    `deny`, `ask` and `allow` each say which of their rules covers a call. They do not know of one another: the order is
    the judge's.
    """

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules = tuple(rules)
        self._deny = Book("deny", self.rules)
        self._ask = Book("ask", self.rules)
        self._allow = Book("allow", self.rules)
        self._guards_files = self._deny.names_files or self._ask.names_files
        self._inspected = self._deny.inspected | self._ask.inspected

    def with_rules(self, more: Iterable[Rule]) -> Rulebook:
        """A book that also holds `more`."""
        return Rulebook((*self.rules, *more))

    def named(self, tool: str, tool_input: JsonObject, facts: ToolFacts) -> Named | None:
        """What these rules look at in an input; see `reading.named`."""
        return named(tool_input, facts, whole=tool in self._inspected)

    def left_out(self, place: Place) -> Callable[[str], bool]:
        """Tells of files that a search meets whether a Read deny or ask rule covers them, so that it leaves them out.

        Made for one search: links on the side of the rules are followed once. Costs nothing until it is asked.
        """
        ground: Ground | None = None

        def covered(path: str) -> bool:
            nonlocal ground
            if ground is None:
                ground = Ground(place.cwd, place.additional, place.files, root=place.root, fixed=place.fixed)
            spelled = spell(path, place.cwd, place.files)
            return self._deny.hides(spelled, ground) or self._ask.hides(spelled, ground)

        return covered

    def deny(self, reading: Reading) -> Found | None:
        """The deny rule that covers the call in any reading."""
        return self._deny.any_reading(reading)

    def ask(self, reading: Reading) -> Found | None:
        """The ask rule that covers the call in any reading."""
        return self._ask.any_reading(reading)

    def allow(self, reading: Reading) -> Found | None:
        """The allow rules that cover the call in every reading.

        `None` for a call that is odd or refused, writes a protected path or may remove a critical one: no allow rule
        covers these.
        """
        if reading.odd or reading.refused or reading.protected or reading.critical_removal:
            return None
        if reading.bash is not None and self._may_be_denied(reading.bash):
            return None
        return self._allow.every_reading(reading)

    def _may_be_denied(self, shell: ShellView) -> bool:
        """True when a deny or ask rule may cover what is only known at run time."""
        if self._deny.names_commands and (shell.denials.unseen or shell.denials.nameless):
            return True
        return self._guards_files and bool(shell.globs) and (self._deny.may_meet(shell) or self._ask.may_meet(shell))
