"""What one settings file says. A value of the wrong type never grants anything, and never goes by in silence.

Wrong values that would widen are ignored with a warning; wrong values that would narrow are a SettingsError.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from agent_sdk.config import MODES, PermissionMode
from agent_sdk.errors import SettingsError
from agent_sdk.rules.rule import Rule, RuleBehavior, RuleScope, RuleSource, read_rules
from agent_sdk.settings.document import Document
from agent_sdk.values import Json, JsonObject

PERMISSION_KEYS = ("allow", "ask", "deny", "additionalDirectories", "defaultMode", "disableBypassPermissionsMode")
GATING_EVENTS = ("PreToolUse", "PermissionRequest", "UserPromptSubmit")
"""Events whose hooks can stop something: passing them over in silence would open a gate."""

HARMLESS_MODES: tuple[PermissionMode, ...] = ("default", "plan", "dontAsk")
_TOP_KEYS = {"permissions": "permissions", "hooks": "hooks", "disableallhooks": "disableAllHooks"}
_READ_KEYS = frozenset((*PERMISSION_KEYS, "permissions", "hooks", "disableAllHooks"))

Warnings: TypeAlias = list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsHook:
    """One hook entry of a settings file. `spec` is what the file says of it, empty when that cannot be read."""

    event: str
    matcher: str
    spec: JsonObject
    file: str
    scope: RuleScope

    @property
    def gating(self) -> bool:
        """True when the hook could stop a call or a prompt, or when nobody can tell."""
        return self.event in GATING_EVENTS or not self.spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What one file says, checked. `directories` are absolute; `default_mode` is `None` when it names none."""

    file: str
    rules: tuple[Rule, ...] = ()
    directories: tuple[str, ...] = ()
    default_mode: PermissionMode | None = None
    disable_bypass: bool = False
    hooks: tuple[SettingsHook, ...] = ()
    disable_all_hooks: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def widening(self) -> tuple[str, ...]:
        """What in this file lets more pass, for people: `3 allow rules`, `hooks`."""
        allows = sum(rule.behavior == "allow" for rule in self.rules)
        found = {
            f"{allows} allow rule{'s' if allows > 1 else ''}": allows > 0,
            "additionalDirectories": bool(self.directories),
            "hooks": bool(self.hooks),
            "disableAllHooks": self.disable_all_hooks,
            f"defaultMode {self.default_mode}": self.default_mode not in (None, *HARMLESS_MODES),
        }
        return tuple(name for name, there in found.items() if there)

    def narrowed(self) -> Content:
        """The same without anything that lets more pass."""
        return replace(
            self,
            rules=tuple(rule for rule in self.rules if rule.behavior != "allow"),
            directories=(),
            default_mode=self.default_mode if self.default_mode in HARMLESS_MODES else None,
            hooks=(),
            disable_all_hooks=False,
        )


def read_content(document: Document, source: RuleSource, *, cwd: str, home: str) -> Content:
    """Read a parsed file. `cwd` is what relative additional directories start from.

    Raises SettingsError for a value that nobody can read on the safe side, and RuleError for a bad deny or ask rule.
    """
    doubled = sorted(document.doubled & _READ_KEYS)
    if doubled:
        raise _wrong(document.path, f"the key {doubled[0]!r} stands twice in one object: only one of them would count")
    warnings: Warnings = []
    top = _object(document.value, "the file", document.path, warnings)
    permissions = _object(top.get("permissions", {}), "permissions", document.path, warnings)
    _name_unknown_keys(top, permissions, document.path, warnings)
    rules: list[Rule] = []
    for behavior in ("deny", "ask", "allow"):
        rules += _rules(permissions, behavior, source, document.path, warnings)
    return Content(
        file=document.path,
        rules=tuple(rules),
        directories=_directories(permissions, document.path, cwd, home, warnings),
        default_mode=_default_mode(permissions, document.path, warnings),
        disable_bypass=_disable_bypass(permissions, document.path, warnings),
        hooks=_hooks(top, document.path, source.scope),
        disable_all_hooks=_disable_all_hooks(top, document.path, warnings),
        warnings=tuple(warnings),
    )


def _wrong(path: str, reason: str) -> SettingsError:
    return SettingsError(f"{path}: {reason}", path=path)


def _object(value: Json, name: str, path: str, warnings: Warnings) -> JsonObject:
    if isinstance(value, Mapping):
        return value
    if value:
        raise _wrong(path, f"{name} is a JSON object, got {_kind(value)}")
    warnings.append(f"{path}: {name} is a JSON object, got {_kind(value)}; it is empty and was ignored")
    return {}


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text {value[:60]!r}"
        case Mapping():
            return "an object"
        case _:
            return "a list"


def _name_unknown_keys(top: JsonObject, permissions: JsonObject, path: str, warnings: Warnings) -> None:
    for key in permissions:
        if key not in PERMISSION_KEYS:
            near = difflib.get_close_matches(key.lower(), [known.lower() for known in PERMISSION_KEYS], 1, 0.5)
            meant = next((known for known in PERMISSION_KEYS if near and known.lower() == near[0]), None)
            hint = f"did you mean {meant!r}?" if meant else f"known are {', '.join(PERMISSION_KEYS)}"
            warnings.append(f"{path}: unknown key {key!r} in permissions, which does nothing; {hint}")
    for key in top:
        if key in PERMISSION_KEYS:
            warnings.append(f"{path}: {key!r} stands outside of permissions and does nothing: move it inside")
        elif key not in _TOP_KEYS.values() and (
            near := difflib.get_close_matches(key.lower(), list(_TOP_KEYS), 1, 0.8)
        ):
            warnings.append(f"{path}: unknown key {key!r}, which does nothing; did you mean {_TOP_KEYS[near[0]]!r}?")


def _rules(
    permissions: JsonObject, behavior: RuleBehavior, source: RuleSource, path: str, warnings: Warnings
) -> list[Rule]:
    value = permissions.get(behavior, [])
    if behavior == "allow":
        if not isinstance(value, list | tuple):
            warnings.append(f"{path}: permissions.allow is a list of rules, got {_kind(value)}; it grants nothing")
            return []
        texts = [item if isinstance(item, str) else f"<{_kind(item)}>" for item in value]
    else:
        texts = _narrowing_texts(value, behavior, path)
    found, said = read_rules(texts, behavior, source)
    warnings += said
    return found


def _narrowing_texts(value: Json, behavior: RuleBehavior, path: str) -> list[str]:
    if isinstance(value, str):
        return [value]
    items = value if isinstance(value, list | tuple) else [None]
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) != len(items):
        raise _wrong(path, f"permissions.{behavior} is a list of rules written as texts, and holds something else")
    return texts


def _directories(permissions: JsonObject, path: str, cwd: str, home: str, warnings: Warnings) -> tuple[str, ...]:
    value = permissions.get("additionalDirectories", [])
    if not isinstance(value, list | tuple):
        warnings.append(f"{path}: permissions.additionalDirectories is a list of folders, got {_kind(value)}; ignored")
        return ()
    found = []
    for position, item in enumerate(value):
        if not isinstance(item, str) or not item.strip() or "\0" in item:
            warnings.append(f"{path}: permissions.additionalDirectories[{position}] is no folder's name; ignored")
            continue
        found.append(absolute_folder(item, cwd=cwd, home=home))
    return tuple(dict.fromkeys(found))


def absolute_folder(text: str, *, cwd: str, home: str) -> str:
    """The folder that a text in `additionalDirectories` names: a leading `~/` is home, the rest starts from `cwd`."""
    if text == "~" or text.startswith("~/"):
        text = home + text[1:]
    return os.path.normpath(os.path.join(cwd, text))


def _default_mode(permissions: JsonObject, path: str, warnings: Warnings) -> PermissionMode | None:
    if "defaultMode" not in permissions:
        return None
    value = permissions["defaultMode"]
    mode = next((mode for mode in MODES if mode == value), None)
    if mode is None:
        known = ", ".join(MODES)
        warnings.append(f"{path}: permissions.defaultMode is one of {known}, got {_kind(value)}; taken as default")
        return "default"
    return "default" if mode == "manual" else mode


def _disable_bypass(permissions: JsonObject, path: str, warnings: Warnings) -> bool:
    value = permissions.get("disableBypassPermissionsMode")
    if value is None or value == "disable":
        return value == "disable"
    meaning = "taken as 'disable'" if value is True else "ignored"
    warnings.append(f"{path}: permissions.disableBypassPermissionsMode is 'disable', got {_kind(value)}; {meaning}")
    return value is True


def _disable_all_hooks(top: JsonObject, path: str, warnings: Warnings) -> bool:
    value = top.get("disableAllHooks", False)
    if isinstance(value, bool):
        return value
    warnings.append(f"{path}: disableAllHooks is true or false, got {_kind(value)}; ignored")
    return False


def _hooks(top: JsonObject, path: str, scope: RuleScope) -> tuple[SettingsHook, ...]:
    """Every hook entry; what cannot be read as one is an entry with an empty `spec`."""

    def entry(event: str, matcher: Json, spec: Json) -> SettingsHook:
        readable = spec if isinstance(spec, Mapping) and isinstance(matcher, str | None) else {}
        named = matcher if isinstance(matcher, str) else ""
        return SettingsHook(event=event, matcher=named, spec=readable, file=path, scope=scope)

    by_event = top.get("hooks") or {}
    if not isinstance(by_event, Mapping):
        return (entry("hooks", None, None),)
    found = []
    for event, groups in by_event.items():
        for group in groups if isinstance(groups, list | tuple) else [groups] if groups else []:
            entries = group.get("hooks", []) if isinstance(group, Mapping) else group
            matcher = group.get("matcher") if isinstance(group, Mapping) else None
            many = entries if isinstance(entries, list | tuple) else [entries]
            found += [entry(event, matcher, spec) for spec in many]
    return tuple(found)
