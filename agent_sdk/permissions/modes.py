"""What each permission mode says by itself. Pure.

| mode | says |
|---|---|
| `default` (also `manual`) | nothing |
| `acceptEdits` | allows edits inside the working directories |
| `plan` | whatever is not read-only needs a person |
| `bypassPermissions` | allows, but not the removal of critical paths |
| `dontAsk` | nothing by itself: whatever would need a person is denied |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from agent_sdk.calls import ToolFacts
from agent_sdk.config import PermissionMode
from agent_sdk.rules.matching import Reading

# How much a mode lets pass. A change to a smaller number counts at once, to a larger one only for later calls.
_LAXITY: Mapping[PermissionMode, int] = {
    "dontAsk": 0,
    "plan": 1,
    "default": 2,
    "manual": 2,
    "acceptEdits": 3,
    "bypassPermissions": 4,
}


SILENT: frozenset[PermissionMode] = frozenset(("default", "manual", "dontAsk"))
"""The modes that say nothing by themselves."""


def stricter(one: PermissionMode, other: PermissionMode) -> PermissionMode:
    """The mode of the two that lets less pass."""
    return one if _LAXITY[one] <= _LAXITY[other] else other


def mode_says(
    mode: PermissionMode, facts: ToolFacts, reading: Reading, original: Reading
) -> tuple[Literal["allow", "ask"], str] | None:
    """The mode's opinion on a call and its reason; `original` is the reading of the input before any rewrite."""
    match mode:
        case "bypassPermissions":
            critical = reading.critical_removal or original.critical_removal
            return ("ask", critical) if critical else ("allow", "the mode bypassPermissions allows it")
        case "acceptEdits" if facts.writes is not None and _edits_inside(reading) and _edits_inside(original):
            return "allow", "the mode acceptEdits allows edits inside the working directories"
        case "plan" if not facts.read_only:
            return "ask", "in the mode plan whatever is not read-only needs a person"
    return None


def _edits_inside(reading: Reading) -> bool:
    return reading.inside and reading.protected is None and reading.odd is None
