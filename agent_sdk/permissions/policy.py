"""PermissionPolicy: rules and mode as one value that can be asked without running anything.

policy = PermissionPolicy.load(allow=["Bash(npm test:*)"], deny=["Read(./.env)"])
policy.evaluate("Bash", {"command": "npm test"}).behavior    # "allow"
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_sdk.calls import ToolCall
from agent_sdk.config import MODES, PermissionMode, SettingSource, not_available_yet
from agent_sdk.decisions import PermissionUpdate, Verdict
from agent_sdk.errors import OptionsError
from agent_sdk.permissions.judge import Case, judge
from agent_sdk.permissions.snapshot import Snapshot
from agent_sdk.rules.files import FileView, OsFiles
from agent_sdk.rules.matching import Place, Rulebook, known_facts
from agent_sdk.rules.rule import Rule, RuleBehavior, RuleSource, read_rules
from agent_sdk.values import copied_object

log = logging.getLogger("agent_sdk.permissions")

PLATFORMS = ("linux", "darwin", "win32")


@dataclass(frozen=True, slots=True)
class PermissionPolicy:
    """An immutable snapshot of rules and mode. Build it with `load`, ask it with `evaluate`."""

    snapshot: Snapshot

    @classmethod
    def load(
        cls,
        *,
        cwd: str | os.PathLike[str] = ".",
        setting_sources: Sequence[SettingSource] = (),
        allow: Sequence[str] = (),
        ask: Sequence[str] = (),
        deny: Sequence[str] = (),
        mode: PermissionMode = "default",
        additional_directories: Sequence[str | os.PathLike[str]] = (),
        trust_project: bool = False,
        auto_allow_reads: bool = True,
        settings_dir: str = ".claude",
        home: str | None = None,
        platform: str | None = None,
        case_sensitive: bool | None = None,
        files: FileView | None = None,
    ) -> PermissionPolicy:
        """Read the rules. `platform` is `linux`, `darwin` or `win32`, `None` = this machine; `files` replaces the disk.

        A bad allow rule is ignored with a logged warning. Raises RuleError for a bad deny or ask rule, and OptionsError
        for a value that has no meaning. Settings files are not available yet.
        """
        if setting_sources:
            raise not_available_yet(f"setting_sources={tuple(setting_sources)!r}")
        if trust_project:
            raise not_available_yet("trust_project=True")
        if mode not in MODES:
            raise OptionsError(f"mode is one of {', '.join(MODES)}, got {mode!r}", option="mode")
        if platform is not None and platform not in PLATFORMS:
            raise OptionsError(f"platform is one of {', '.join(PLATFORMS)}, got {platform!r}", option="platform")
        view = files or OsFiles(home=home, case_sensitive=case_sensitive, platform=platform)
        where = os.fspath(cwd) if files is not None else os.path.abspath(os.fspath(cwd))
        rules = rules_from_options(where, allow=allow, ask=ask, deny=deny)
        place = Place(
            cwd=where,
            additional=tuple(os.fspath(folder) for folder in additional_directories),
            settings_dir=settings_dir,
            files=view,
        )
        return cls(Snapshot(rules=Rulebook(rules), place=place, mode=mode, auto_allow_reads=auto_allow_reads))

    def evaluate(
        self, tool_name: str, tool_input: Mapping[str, Any], *, original_input: Mapping[str, Any] | None = None
    ) -> Verdict:
        """What would become of this call: a pure dry run that asks nobody. `ask` means that a person would be asked.

        `original_input` is what the model said, when hooks changed it into `tool_input`. Raises OptionsError for an
        input that is not a JSON object.
        """
        try:
            effective = copied_object(tool_input)
            original = effective if original_input is None else copied_object(original_input)
        except TypeError as error:
            raise OptionsError(f"tool_input: {error}", option="tool_input") from None
        call = ToolCall(id="dry-run", tool=tool_name, said=original, effective=effective, cwd=self.snapshot.place.cwd)
        facts = known_facts(tool_name)
        return judge(Case(call=call, original=original, facts=facts, snapshot=self.snapshot))

    def suggest(self, tool_name: str, tool_input: Mapping[str, Any]) -> list[PermissionUpdate]:
        """Which rules could be remembered for this call. Not available yet: raises OptionsError."""
        raise not_available_yet("PermissionPolicy.suggest")


def rules_from_options(
    cwd: str, *, allow: Sequence[str] = (), ask: Sequence[str] = (), deny: Sequence[str] = ()
) -> list[Rule]:
    """The rules that are given in code. Warnings are logged; raises RuleError for a bad deny or ask rule."""
    source = RuleSource(scope="options", file=None, root=cwd)
    rules: list[Rule] = []
    by_behavior: tuple[tuple[RuleBehavior, Sequence[str]], ...] = (("deny", deny), ("ask", ask), ("allow", allow))
    for behavior, texts in by_behavior:
        if isinstance(texts, str):
            raise OptionsError(f"{behavior} is a list of rules, got the string {texts!r}", option=behavior)
        found, warnings = read_rules(texts, behavior, source)
        rules += found
        for warning in warnings:
            log.warning("%s", warning)
    return rules
