"""What an answer may change beside its own call: rules, mode, directories. In the interop wire form and as values.

PermissionUpdate.add_rules([PermissionRule("Bash", "npm test")], destination="localSettings")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from agent_sdk.config import MODES, PermissionMode
from agent_sdk.errors import OptionsError
from agent_sdk.values import Json


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """A rule in its two parts: `Tool(specifier)`; `specifier=None` is the whole tool.

    `""` and `"*"` are other spellings of the whole tool. Raises OptionsError for values of the wrong type and for a
    tool name that is empty or holds a bracket.
    """

    tool: str
    specifier: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.tool, str) or not self.tool or "(" in self.tool or ")" in self.tool:
            raise OptionsError(f"PermissionRule(tool=...) is the name of a tool, got {self.tool!r}", option="tool")
        if self.specifier is not None and not isinstance(self.specifier, str):
            raise OptionsError(f"PermissionRule(specifier=...) is a str, got {self.specifier!r}", option="specifier")
        if self.specifier in ("", "*"):
            object.__setattr__(self, "specifier", None)

    @classmethod
    def from_text(cls, text: str) -> PermissionRule:
        """The rule that `Tool` or `Tool(specifier)` says. Raises OptionsError when the bracket is not closed."""
        tool, bracket, rest = text.partition("(")
        if bracket and not rest.endswith(")"):
            raise OptionsError(f"rule {text!r} does not end with ')'", option="rules")
        return cls(tool, rest[:-1] if bracket else None)

    def to_dict(self) -> dict[str, Json]:
        """The interop wire form; `ruleContent` is left out for the whole tool."""
        return (
            {"toolName": self.tool}
            if self.specifier is None
            else {"toolName": self.tool, "ruleContent": self.specifier}
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Json]) -> PermissionRule:
        """Read the interop wire form. Raises OptionsError naming what is wrong."""
        tool, specifier = data.get("toolName"), data.get("ruleContent")
        if not isinstance(tool, str) or not isinstance(specifier, str | None):
            raise OptionsError(f"a rule is {{toolName, ruleContent?}} with texts, got {dict(data)!r}", option="rules")
        return cls(tool, specifier)

    def __str__(self) -> str:
        return self.tool if self.specifier is None else f"{self.tool}({self.specifier})"


UpdateType: TypeAlias = Literal[
    "addRules", "replaceRules", "removeRules", "setMode", "addDirectories", "removeDirectories"
]
Destination: TypeAlias = Literal["session", "localSettings", "projectSettings", "userSettings"]
UPDATE_TYPES: tuple[UpdateType, ...] = get_args(UpdateType)
DESTINATIONS: tuple[Destination, ...] = get_args(Destination)


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionUpdate:
    """A change of rules, mode or directories that an answer asks for. Build it with the constructor of its kind.

    `destination` is where it is kept: for this session only, or in a settings file; `None` is the session. A file's
    update changes that file alone. In a suggestion `rung` counts from the narrowest (0) to the widest, and `covers`
    says for people which part of the call it covers; neither is part of the wire form.

    Raises OptionsError for an unknown type, destination or mode, and for a field that its type needs or does not take.
    """

    type: UpdateType
    destination: Destination = "session"
    rules: tuple[PermissionRule, ...] = ()
    behavior: Literal["allow", "ask", "deny"] | None = None
    mode: PermissionMode | None = None
    directories: tuple[str, ...] = ()
    rung: int = 0
    covers: str = ""

    def __post_init__(self) -> None:
        if self.type not in UPDATE_TYPES:
            raise OptionsError(f"type is one of {', '.join(UPDATE_TYPES)}, got {self.type!r}", option="type")
        if self.destination is None:
            object.__setattr__(self, "destination", "session")
        if self.destination not in DESTINATIONS:
            message = f"destination is one of {', '.join(DESTINATIONS)}, got {self.destination!r}"
            raise OptionsError(message, option="destination")
        for name in ("rules", "directories"):
            _freeze_sequence(self, name)
        _check_update_fields(self)

    @classmethod
    def add_rules(
        cls,
        rules: Sequence[PermissionRule],
        *,
        behavior: Literal["allow", "ask", "deny"] = "allow",
        destination: Destination | None = None,
        rung: int = 0,
        covers: str = "",
    ) -> PermissionUpdate:
        """Rules to be added to those of `destination`."""
        return cls(
            type="addRules",
            rules=tuple(rules),
            behavior=behavior,
            destination=destination or "session",
            rung=rung,
            covers=covers,
        )

    @classmethod
    def replace_rules(
        cls,
        rules: Sequence[PermissionRule],
        *,
        behavior: Literal["allow", "ask", "deny"],
        destination: Destination | None = None,
    ) -> PermissionUpdate:
        """Rules that take the place of all rules of this behaviour in `destination`."""
        return cls(type="replaceRules", rules=tuple(rules), behavior=behavior, destination=destination or "session")

    @classmethod
    def remove_rules(
        cls,
        rules: Sequence[PermissionRule],
        *,
        behavior: Literal["allow", "ask", "deny"],
        destination: Destination | None = None,
    ) -> PermissionUpdate:
        """Rules to be taken out of `destination`; one that is not there is no fault."""
        return cls(type="removeRules", rules=tuple(rules), behavior=behavior, destination=destination or "session")

    @classmethod
    def set_mode(cls, mode: PermissionMode, *, destination: Destination | None = None) -> PermissionUpdate:
        """Another permission mode; in a file it becomes `defaultMode`, beside the session's own."""
        return cls(type="setMode", mode=mode, destination=destination or "session")

    @classmethod
    def add_directories(cls, directories: Sequence[str], *, destination: Destination | None = None) -> PermissionUpdate:
        """Further working directories."""
        return cls(type="addDirectories", directories=tuple(directories), destination=destination or "session")

    @classmethod
    def remove_directories(
        cls, directories: Sequence[str], *, destination: Destination | None = None
    ) -> PermissionUpdate:
        """Working directories to be taken out again."""
        return cls(type="removeDirectories", directories=tuple(directories), destination=destination or "session")

    def at(self, destination: Destination) -> PermissionUpdate:
        """The same update for another destination."""
        return replace(self, destination=destination)

    def to_dict(self) -> dict[str, Json]:
        """The interop wire form."""
        wire: dict[str, Json] = {"type": self.type, "destination": self.destination}
        if self.behavior is not None:
            wire["rules"] = [rule.to_dict() for rule in self.rules]
            wire["behavior"] = self.behavior
        elif self.mode is not None:
            wire["mode"] = self.mode
        else:
            wire["directories"] = list(self.directories)
        return wire

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PermissionUpdate:
        """Read the interop wire form. Raises OptionsError naming what is wrong."""
        unknown = set(data) - {"type", "destination", "rules", "behavior", "mode", "directories"}
        if unknown:
            raise OptionsError(f"a permission update has no field {sorted(unknown)[0]!r}", option="updated_permissions")
        rules = data.get("rules") or ()
        if not isinstance(rules, list | tuple) or not all(isinstance(rule, Mapping) for rule in rules):
            raise OptionsError(f"rules is a list of {{toolName, ruleContent?}}, got {rules!r}", option="rules")
        return cls(
            type=data.get("type", ""),
            destination=data.get("destination") or "session",
            rules=tuple(PermissionRule.from_dict(rule) for rule in rules),
            behavior=data.get("behavior"),
            mode=data.get("mode"),
            directories=data.get("directories") or (),
        )


def _freeze_sequence(update: PermissionUpdate, name: Literal["rules", "directories"]) -> None:
    """Make a list a tuple, and check what is in it."""
    items: object = update.rules if name == "rules" else update.directories
    items = () if items is None else items
    kind = PermissionRule if name == "rules" else str
    if not isinstance(items, list | tuple) or not all(isinstance(item, kind) and item for item in items):
        raise OptionsError(f"{name} is a list of {kind.__name__}, got {items!r}", option=name)
    object.__setattr__(update, name, tuple(items))


def _check_update_fields(update: PermissionUpdate) -> None:
    """Each type has its own fields and takes no others."""
    kind = update.type
    about_rules, about_folders = kind.endswith("Rules"), kind.endswith("Directories")
    if about_rules and update.behavior not in ("allow", "ask", "deny"):
        raise OptionsError(f"{kind} needs behavior: allow, ask or deny, got {update.behavior!r}", option="behavior")
    if about_rules and not update.rules and kind != "replaceRules":
        raise OptionsError(f"{kind} needs rules", option="rules")
    if about_folders and not update.directories:
        raise OptionsError(f"{kind} needs directories", option="directories")
    if kind == "setMode" and update.mode not in MODES:
        raise OptionsError(f"setMode needs mode: one of {', '.join(MODES)}, got {update.mode!r}", option="mode")
    for name, given, takes in (
        ("rules", bool(update.rules), about_rules),
        ("behavior", update.behavior is not None, about_rules),
        ("mode", update.mode is not None, kind == "setMode"),
        ("directories", bool(update.directories), about_folders),
    ):
        if given and not takes:
            raise OptionsError(f"{kind} takes no {name}", option=name)
