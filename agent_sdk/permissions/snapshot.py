"""Rules, mode and place of one moment. Immutable: whoever changes something puts a new snapshot in its place."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from agent_sdk.calls import ToolCall, ToolFacts
from agent_sdk.config import PermissionMode
from agent_sdk.permissions.finding import Precedents
from agent_sdk.rules.matching import Place, Reading, Rulebook
from agent_sdk.values import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All that judging needs beside the call. `version` grows with every change of rules, mode or place.

    `precedents` are its own: each new snapshot begins without any.
    """

    rules: Rulebook
    place: Place
    mode: PermissionMode = "default"
    auto_allow_reads: bool = True
    registry: frozenset[str] | None = None
    version: int = field(default=0, compare=False)
    precedents: Precedents = field(default_factory=Precedents, init=False, compare=False, repr=False)

    def reading(self, call: ToolCall, tool_input: JsonObject, facts: ToolFacts) -> Reading:
        """What the rules see in this input of the call, read in the directory where the call is judged."""
        place = self.place
        if call.cwd != place.cwd:
            place = replace(place, cwd=call.cwd, root=place.root or place.cwd)
        return Reading(call.tool, tool_input, facts, place, registry=self.registry)

    def changed(self, *, mode: PermissionMode | None = None, rules: Rulebook | None = None) -> Snapshot:
        """The next snapshot, with another mode or other rules."""
        return replace(
            self,
            mode=self.mode if mode is None else mode,
            rules=self.rules if rules is None else rules,
            version=self.version + 1,
        )

    def moved(self, cwd: str) -> Snapshot:
        """The next snapshot, for calls that are judged in another working directory."""
        if cwd == self.place.cwd:
            return self
        place = replace(self.place, cwd=cwd, root=self.place.root or self.place.cwd)
        return replace(self, place=place, version=self.version + 1)
