"""Small builders that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent_sdk.rules.files import FileView, TableFiles
from agent_sdk.rules.matching import Place, Reading, Rulebook, known_facts
from agent_sdk.rules.rule import RuleSource, read_rules

CWD = "/home/dev/proj"
SOURCE = RuleSource("project", "settings.json", CWD)


def book(*, allow: Sequence[str] = (), ask: Sequence[str] = (), deny: Sequence[str] = ()) -> Rulebook:
    """A rulebook from rule texts."""
    rules = []
    rules += read_rules(allow, "allow", SOURCE)[0]
    rules += read_rules(ask, "ask", SOURCE)[0]
    rules += read_rules(deny, "deny", SOURCE)[0]
    return Rulebook(rules)


def reading(
    tool: str,
    tool_input: Mapping[str, Any],
    *,
    cwd: str = CWD,
    additional: tuple[str, ...] = (),
    files: FileView | None = None,
    registry: frozenset[str] | None = None,
) -> Reading:
    """A call of a well-known tool."""
    place = Place(cwd, additional, files=files or TableFiles())
    return Reading(tool, tool_input, known_facts(tool), place, registry=registry)


def verdict(rules: Rulebook, call: Reading) -> str:
    """Deny, ask or allow by rules alone; `none` when no rule covers the call."""
    if call.refused or rules.deny(call):
        return "deny"
    if rules.ask(call):
        return "ask"
    return "allow" if rules.allow(call) else "none"
