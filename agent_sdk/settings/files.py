"""Settings files of all scopes, merged: which ones there are, whom they come from, what counts.

loaded = load_settings("/srv/app", ("user", "project", "local"), home="/home/me")
loaded.rules                 # those that count, with file and position
loaded.warnings              # what was ignored, and why
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent_sdk.config import PermissionMode, SettingSource
from agent_sdk.errors import OptionsError, SettingsError
from agent_sdk.rules.rule import Rule, RuleSource
from agent_sdk.settings.content import Content, SettingsHook, read_content
from agent_sdk.settings.document import read_document
from agent_sdk.settings.trust import supplied_by_repository
from agent_sdk.updates import Destination

SOURCES: tuple[SettingSource, ...] = ("local", "project", "user")
"""All sources; one that comes earlier wins where only one value can count."""

SOURCE_OF: Mapping[Destination, SettingSource] = {
    "localSettings": "local",
    "projectSettings": "project",
    "userSettings": "user",
}
_LAXITY: Mapping[PermissionMode, int] = {"dontAsk": 0, "plan": 1, "default": 2}


def check_settings_dir(path: str) -> None:
    """Raises OptionsError unless this is a relative path that ends in a name: writing there is guarded by that name."""
    last = path.rpartition("/")[2]
    if last in ("", ".", "..") or path.startswith("/") or "\\" in path or "\0" in path:
        message = f"settings_dir is the name of a folder, or a relative path with / that ends in one, got {path!r}"
        raise OptionsError(message, option="settings_dir")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsPlaces:
    """Where the settings files of one session lie. All paths are absolute, save `settings_dir`: the name of a folder,
    or a path that starts in the working directory, and for the user's settings at home.

    Raises OptionsError for a `settings_dir` that ends in no name.
    """

    cwd: str
    home: str
    settings_dir: str = ".claude"

    def __post_init__(self) -> None:
        check_settings_dir(self.settings_dir)

    def path(self, source: SettingSource) -> str:
        """The file of one source, there or not."""
        match source:
            case "local":
                return os.path.join(self.cwd, self.settings_dir, "settings.local.json")
            case "project":
                return os.path.join(self.cwd, self.settings_dir, "settings.json")
            case "user":
                return os.path.join(self.home, self.settings_dir, "settings.json")

    def root(self, source: SettingSource) -> str:
        """The folder that a leading `/` in the paths of its rules stands for."""
        return os.path.join(self.home, self.settings_dir) if source == "user" else self.cwd


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSettings:
    """What the settings files say together, as far as it counts.

    `default_mode` is `None` when no file names one. `hooks` are those of trusted files, empty when one of these holds
    `disableAllHooks`. `untrusted` are the sources that the repository supplied and that could not widen anything;
    `files` are the files that exist. `additional_directories`, `default_mode` and `hooks` hold from the start of a
    session to its end.
    """

    rules: tuple[Rule, ...] = ()
    additional_directories: tuple[str, ...] = ()
    default_mode: PermissionMode | None = None
    disable_bypass: bool = False
    hooks: tuple[SettingsHook, ...] = ()
    disable_all_hooks: bool = False
    warnings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    untrusted: frozenset[SettingSource] = field(default_factory=frozenset)


def load_settings(
    cwd: str,
    sources: Sequence[SettingSource] = SOURCES,
    *,
    home: str | None = None,
    settings_dir: str = ".claude",
    trust_project: bool = False,
) -> LoadedSettings:
    """Read the settings files of `sources` for the folder `cwd`. Blocks: reads files, may ask git.

    What widens counts from a file that the repository supplied only with `trust_project`; `warnings` say what was
    ignored. Raises SettingsError for a file that cannot be read as its author meant, RuleError for a bad deny or ask
    rule, OptionsError for an unknown source.
    """
    for source in sources:
        if source not in SOURCES:
            raise OptionsError(
                f"setting_sources holds user, project and local, got {source!r}", option="setting_sources"
            )
    home = os.path.expanduser("~") if home is None else home
    return load_from(
        SettingsPlaces(cwd=os.path.abspath(cwd), home=home, settings_dir=settings_dir), sources, trust_project
    )


def load_from(places: SettingsPlaces, sources: Sequence[SettingSource], trust_project: bool) -> LoadedSettings:
    """`load_settings` for places that are already known. Raises the same."""
    read: dict[SettingSource, Content] = {}
    untrusted: set[SettingSource] = set()
    warnings: list[str] = []
    for source in SOURCES:
        path = places.path(source)
        if source not in sources or (source == "project" and "user" in sources and path == places.path("user")):
            continue
        if not os.path.isabs(path):  # without a home, `~` would be a folder that a repository may bring
            warnings.append(f"user settings are not read: the home folder {places.home!r} is not known")
            continue
        document = read_document(path)
        if document is None:
            continue
        rule_source = RuleSource(scope=source, file=path, root=places.root(source))
        content = read_content(document, rule_source, cwd=places.cwd, home=places.home)
        warnings += content.warnings
        why = None if trust_project else _untrusted(source, content, places)
        if why is not None:
            untrusted.add(source)
            if content.widening:
                warnings.append(_ignored(content, why))
            content = content.narrowed()
        read[source] = content
    return _merged(read, untrusted, warnings)


def _untrusted(source: SettingSource, content: Content, places: SettingsPlaces) -> str | None:
    """Why this file may not widen anything. Git is asked only about a file that would."""
    if source == "project":
        return "project settings come with the repository"
    if source == "user" or not content.widening:
        return None
    return supplied_by_repository(content.file, places.cwd)


def _ignored(content: Content, why: str) -> str:
    way = "trust_project=True, or --trust-project, lets them count"
    return f"{content.file}: ignored {', '.join(content.widening)}: {why} ({way})"


def _merged(
    read: Mapping[SettingSource, Content], untrusted: set[SettingSource], warnings: list[str]
) -> LoadedSettings:
    contents = list(read.values())
    disable_bypass = any(content.disable_bypass for content in contents)
    disable_all_hooks = any(content.disable_all_hooks for content in contents)
    mode = _mode(read, untrusted)
    if mode == "bypassPermissions" and disable_bypass:
        warnings.append("defaultMode bypassPermissions is ignored: disableBypassPermissionsMode forbids it")
        mode = "default"
    hooks = [hook for source in ("user", "project", "local") if source in read for hook in read[source].hooks]
    return LoadedSettings(
        rules=tuple(rule for content in contents for rule in content.rules),
        additional_directories=tuple(dict.fromkeys(path for content in contents for path in content.directories)),
        default_mode=mode,
        disable_bypass=disable_bypass,
        hooks=() if disable_all_hooks else tuple(hooks),
        disable_all_hooks=disable_all_hooks,
        warnings=tuple(warnings),
        files=tuple(content.file for content in contents),
        untrusted=frozenset(untrusted),
    )


def _mode(read: Mapping[SettingSource, Content], untrusted: set[SettingSource]) -> PermissionMode | None:
    """The mode of the first source that names one. A repository may tighten the mode of its user, never loosen it."""
    named = [(source, mode) for source, content in read.items() if (mode := content.default_mode) is not None]
    if not named:
        return None
    trusted = next((mode for source, mode in named if source not in untrusted), None)
    source, first = named[0]
    if source not in untrusted or trusted is None:
        return first
    return min(first, trusted, key=lambda mode: _LAXITY.get(mode, 3))


def refuse_hooks(hooks: Sequence[SettingsHook]) -> None:
    """Refuse to start a session whose settings hold hooks that could stop something: shell hooks are not run yet.

    Raises SettingsError naming file and hook.
    """
    for hook in hooks:
        if hook.gating:
            command = hook.spec.get("command")
            named = repr(command) if command else "that cannot be read"
            raise SettingsError(
                f"{hook.file}: the {hook.event} hook {named} could stop a call, but hooks in settings files are not run"
                " yet, and passing it over would open a gate. Give the hook in code, or set"
                ' "disableAllHooks": true in settings of your own.',
                path=hook.file,
            )


def silent_hooks(loaded: LoadedSettings) -> tuple[str, ...]:
    """Warnings for hooks in settings files that could stop nothing, and that are not run yet."""
    harmless = [hook for hook in loaded.hooks if not hook.gating]
    return tuple(f"{hook.file}: the {hook.event} hook is not run: settings hooks come later" for hook in harmless)
