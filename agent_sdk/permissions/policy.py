"""PermissionPolicy: rules and mode as one value that can be asked without running anything.

policy = PermissionPolicy.load(allow=["Bash(npm test:*)"], deny=["Read(./.env)"])
policy.evaluate("Bash", {"command": "npm test"}).behavior    # "allow"
"""

from __future__ import annotations

import logging
import ntpath
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent_sdk.calls import ToolCall
from agent_sdk.config import MODES, PermissionMode, SettingSource
from agent_sdk.decisions import PermissionUpdate, Verdict
from agent_sdk.errors import OptionsError, SettingsError
from agent_sdk.permissions.judge import Case, judge
from agent_sdk.permissions.snapshot import Snapshot
from agent_sdk.rules.files import FileView, OsFiles
from agent_sdk.rules.matching import Place, Reading, Rulebook, known_facts
from agent_sdk.rules.rule import Rule, RuleBehavior, RuleSource, read_rules
from agent_sdk.rules.suggestions import suggest
from agent_sdk.settings.content import Content, absolute_folder
from agent_sdk.settings.extra import read_extra
from agent_sdk.settings.files import LoadedSettings, load_settings
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
        setting_sources: Sequence[SettingSource] = ("user", "project", "local"),
        allow: Sequence[str] = (),
        ask: Sequence[str] = (),
        deny: Sequence[str] = (),
        mode: PermissionMode | None = None,
        additional_directories: Sequence[str | os.PathLike[str]] = (),
        trust_project: bool = False,
        auto_allow_reads: bool = True,
        settings_dir: str = ".claude",
        home: str | None = None,
        platform: str | None = None,
        case_sensitive: bool | None = None,
        files: FileView | None = None,
        settings: str | None = None,
    ) -> PermissionPolicy:
        """Read the rules. `platform` is `linux`, `darwin` or `win32`, `None` = this machine; `files` replaces the disk.

        A relative folder in `additional_directories` starts from `cwd`, and `~/` is the home folder.
        `settings` is one more settings file, or its JSON text, all of which counts before those of the sources.

        `mode=None` is the mode that the settings name, else `default`. A bad allow rule is ignored with a logged
        warning. Raises RuleError for a bad deny or ask rule, SettingsError for a settings file that cannot be read as
        its author meant, and OptionsError for a value that has no meaning. Blocks: reads files, may ask git.
        """
        if mode is not None and mode not in MODES:
            raise OptionsError(f"mode is one of {', '.join(MODES)}, got {mode!r}", option="mode")
        if platform is not None and platform not in PLATFORMS:
            raise OptionsError(f"platform is one of {', '.join(PLATFORMS)}, got {platform!r}", option="platform")
        view = files or OsFiles(home=home, case_sensitive=case_sensitive, platform=platform)
        where = os.fspath(cwd) if view.windows else os.path.abspath(os.fspath(cwd))
        rules = rules_from_options(where, allow=allow, ask=ask, deny=deny)
        loaded = load_settings(
            where, setting_sources, home=view.home, settings_dir=settings_dir, trust_project=trust_project
        )
        if settings is not None:
            loaded = extra_before(read_extra(settings, cwd=where, home=view.home), loaded)
        for warning in loaded.warnings:
            log.warning("%s", warning)
        additional = (*_folders(additional_directories, where, view), *loaded.additional_directories)
        place = Place(cwd=where, additional=additional, settings_dir=settings_dir, files=view)
        book = Rulebook([*rules, *loaded.rules])
        return cls(Snapshot(rules=book, place=place, mode=_mode(mode, loaded), auto_allow_reads=auto_allow_reads))

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
        """Which rules could be remembered so that this call is not asked about again, the narrowest of each part first.

        Empty when nothing could be remembered safely. Raises OptionsError for an input that is not a JSON object.
        """
        try:
            effective = copied_object(tool_input)
        except TypeError as error:
            raise OptionsError(f"tool_input: {error}", option="tool_input") from None
        reading = Reading(tool_name, effective, known_facts(tool_name), self.snapshot.place)
        return suggest(reading, self.snapshot.rules)


def _folders(given: Sequence[str | os.PathLike[str]], cwd: str, view: FileView) -> tuple[str, ...]:
    """The folders as absolute paths, spelled as on the system of the disk."""
    if isinstance(given, str):
        message = f"additional_directories is a list of folders, got the string {given!r}"
        raise OptionsError(message, option="additional_directories")
    names = [os.fspath(folder) for folder in given]
    if view.windows:
        at_home = (view.home + name[1:] if name == "~" or name.startswith(("~/", "~\\")) else name for name in names)
        return tuple(ntpath.normpath(ntpath.join(cwd, name)) for name in at_home)
    return tuple(absolute_folder(name, cwd=cwd, home=view.home) for name in names)


def _mode(given: PermissionMode | None, loaded: LoadedSettings) -> PermissionMode:
    """The mode in force. Raises SettingsError for one that a settings file disables."""
    mode = given or loaded.default_mode or "default"
    if mode == "bypassPermissions" and loaded.disable_bypass:
        raise SettingsError("the mode bypassPermissions is disabled by disableBypassPermissionsMode in a settings file")
    return mode


def extra_before(extra: Content, loaded: LoadedSettings) -> LoadedSettings:
    """The settings of the sources behind those of one more file."""
    return replace(
        loaded,
        rules=extra.rules + loaded.rules,
        additional_directories=extra.directories + loaded.additional_directories,
        default_mode=extra.default_mode or loaded.default_mode,
        disable_bypass=extra.disable_bypass or loaded.disable_bypass,
        warnings=extra.warnings + loaded.warnings,
    )


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
