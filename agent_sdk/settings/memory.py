"""What the answers of one session changed for this session. A value: each update makes the next one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agent_sdk.config import PermissionMode
from agent_sdk.rules.rule import Rule, RuleBehavior, RuleScope, RuleSource, parse_rule
from agent_sdk.updates import PermissionRule, PermissionUpdate


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMemory:
    """Rules, folders and mode of this session alone.

    A rule whose source is a settings file is a copy of one that was saved there for a person, in a file that does not
    count by itself. `mode` is `None` until an answer sets one.
    """

    rules: tuple[Rule, ...] = ()
    directories: tuple[str, ...] = ()
    removed_directories: frozenset[str] = frozenset()
    mode: PermissionMode | None = None

    def working_directories(self, base: Sequence[str]) -> tuple[str, ...]:
        """The additional directories in force: those of options and settings, `base`, with this session's changes."""
        every = dict.fromkeys((*base, *self.directories))
        return tuple(folder for folder in every if folder not in self.removed_directories)

    def with_rules(self, update: PermissionUpdate, source: RuleSource, *, add: bool = True) -> SessionMemory:
        """After an update of rules. `source` is where its rules belong; only rules of that scope are touched.

        `add=False` takes out only: the file that the rules were written to gives them itself. Raises RuleError for a
        rule that cannot be read.
        """
        behavior = update.behavior
        if behavior is None:
            return self
        kept = self.rules
        if update.type != "addRules":
            every = update.type == "replaceRules"
            kept = tuple(rule for rule in kept if not _taken_out(rule, update, source.scope, every=every))
        if update.type != "removeRules" and add:
            there = {(rule.behavior, rule.source.scope, rule.text) for rule in kept}
            new = [
                text for text in dict.fromkeys(map(str, update.rules)) if (behavior, source.scope, text) not in there
            ]
            kept += tuple(parse_rule(text, behavior, source, len(kept) + place) for place, text in enumerate(new))
        return replace(self, rules=kept)

    def with_directories(self, update: PermissionUpdate, absolute: Callable[[str], str]) -> SessionMemory:
        """After an update of folders; `absolute` tells which folder a text names."""
        folders = tuple(dict.fromkeys(map(absolute, update.directories)))
        kept = tuple(folder for folder in self.directories if folder not in folders)
        if update.type == "removeDirectories":
            return replace(self, directories=kept, removed_directories=self.removed_directories | set(folders))
        return replace(self, directories=kept + folders, removed_directories=self.removed_directories - set(folders))


def _taken_out(rule: Rule, update: PermissionUpdate, scope: RuleScope, *, every: bool) -> bool:
    if rule.behavior != update.behavior or rule.source.scope != scope:
        return False
    return every or parts_of(rule) in update.rules


def parts_of(rule: Rule) -> PermissionRule:
    """A rule as updates name it."""
    return PermissionRule(rule.tool, rule.specifier)


def checked_rules(update: PermissionUpdate, behavior: RuleBehavior, source: RuleSource) -> None:
    """Raise RuleError when a rule that `update` would add cannot be read: it would be a dead letter."""
    if update.type != "removeRules":
        for position, rule in enumerate(update.rules):
            parse_rule(str(rule), behavior, source, position)
