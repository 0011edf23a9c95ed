"""Permission callbacks in the spelling of the Claude Agent SDK, and their translation."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypeVar

from agent_sdk import updates
from agent_sdk.callables import check_async_callable, name_of
from agent_sdk.decisions import Allow, Defer, Deny, PermissionContext
from agent_sdk.errors import OptionsError
from agent_sdk.values import Json, JsonObject, copied_object

log = logging.getLogger("agent_sdk.compat")

PermissionMode: TypeAlias = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"]
"""`auto` is not there: it is taken as `default`, with a warning."""

PermissionBehavior: TypeAlias = Literal["allow", "deny", "ask"]
PermissionUpdateDestination: TypeAlias = Literal["userSettings", "projectSettings", "localSettings", "session"]

_T = TypeVar("_T")
_SIGNATURE = "async def can_use_tool(tool_name, input_data, context): return PermissionResultAllow()"


@dataclass
class PermissionRuleValue:
    """A rule in its two parts; `rule_content=None` is the whole tool."""

    tool_name: str
    rule_content: str | None = None


@dataclass
class PermissionUpdate:
    """A change of rules, mode or directories. Unlike ours it may be incomplete until it is used."""

    type: updates.UpdateType
    rules: list[PermissionRuleValue] | None = None
    behavior: PermissionBehavior | None = None
    mode: PermissionMode | None = None
    directories: list[str] | None = None
    destination: PermissionUpdateDestination | None = None

    def to_dict(self) -> dict[str, Json]:
        """The wire form. Raises ValueError, naming it, when a field is missing that the type needs."""
        wire: dict[str, Json] = {"type": self.type, "destination": self.destination or "session"}
        match self.type:
            case "addRules" | "replaceRules" | "removeRules":
                wire["rules"] = [_rule_to_dict(rule) for rule in self._needed(self.rules, "rules")]
                wire["behavior"] = self._needed(self.behavior, "behavior")
            case "setMode":
                wire["mode"] = self._needed(self.mode, "mode")
            case "addDirectories" | "removeDirectories":
                wire["directories"] = list(self._needed(self.directories, "directories"))
            case other:
                raise ValueError(f"there is no permission update of the type {other!r}")
        return wire

    def _needed(self, value: _T | None, name: str) -> _T:
        if value is None:
            raise ValueError(f"PermissionUpdate(type={self.type!r}) needs {name}")
        return value

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PermissionUpdate:
        """Read the wire form. Raises KeyError when the type, or the name of a rule's tool, is missing."""
        rules = data.get("rules")
        return cls(
            type=data["type"],
            rules=None if rules is None else [PermissionRuleValue(r["toolName"], r.get("ruleContent")) for r in rules],
            behavior=data.get("behavior"),
            mode=data.get("mode"),
            directories=data.get("directories"),
            destination=data.get("destination"),
        )


def _rule_to_dict(rule: PermissionRuleValue) -> dict[str, Json]:
    if rule.rule_content is None:
        return {"toolName": rule.tool_name}
    return {"toolName": rule.tool_name, "ruleContent": rule.rule_content}


@dataclass
class ToolPermissionContext:
    """What a callback knows beside the tool's name and input. `signal` is always `None`.

    `suggestions` holds the narrowest rule for each part of the call: programs hand the whole list back, and that must
    not save a wide one.
    """

    signal: None = None
    suggestions: list[PermissionUpdate] = field(default_factory=list)
    tool_use_id: str | None = None
    agent_id: str | None = None
    blocked_path: str | None = None
    decision_reason: str | None = None
    title: str | None = None
    display_name: str | None = None
    description: str | None = None


@dataclass
class PermissionResultAllow:
    """Yes, with another input, and with permission updates that are carried out all or none."""

    behavior: Literal["allow"] = "allow"
    updated_input: dict[str, Any] | None = None
    updated_permissions: list[PermissionUpdate] | None = None


@dataclass
class PermissionResultDeny:
    """No. `message` is what the model reads; `interrupt` stops the turn."""

    behavior: Literal["deny"] = "deny"
    message: str = ""
    interrupt: bool = False


PermissionResult: TypeAlias = PermissionResultAllow | PermissionResultDeny
CanUseTool: TypeAlias = Callable[[str, dict[str, Any], ToolPermissionContext], Awaitable[PermissionResult]]


def as_can_use_tool(theirs: object) -> Callable[[str, dict[str, Any], PermissionContext], Awaitable[object]]:
    """A callback in their spelling as one of ours. It may return their results or ours; anything else is a denial.

    Raises OptionsError for what cannot be awaited with three arguments.
    """
    check_async_callable(theirs, what="can_use_tool", signature=_SIGNATURE, arguments=3)
    assert callable(theirs), "checked above"
    callback: Callable[..., Awaitable[object]] = theirs

    async def can_use_tool(tool_name: str, tool_input: dict[str, Any], context: PermissionContext) -> object:
        before = copied_object(tool_input)
        said = await callback(tool_name, tool_input, as_context(context))
        match said:
            case PermissionResultAllow(updated_input=None) if tool_input != before:
                said = replace(said, updated_input=tool_input)  # with them a change in place goes into the call
        return as_decision(said)

    can_use_tool.__qualname__ = name_of(theirs)  # traces name the application's function
    return can_use_tool


def as_context(context: PermissionContext) -> ToolPermissionContext:
    """Our context in their spelling."""
    narrowest = [update for update in context.suggestions if update.rung == 0]
    return ToolPermissionContext(
        suggestions=[PermissionUpdate.from_dict(update.to_dict()) for update in narrowest],
        tool_use_id=context.tool_use_id,
        agent_id=context.agent_id,
        blocked_path=context.blocked_path,
        decision_reason=context.decision_reason,
        title=context.title,
        display_name=context.display_name,
        description=context.description,
    )


def as_decision(said: object) -> object:
    """Their result as our decision; what is none of theirs is handed on, to be judged as it is.

    Raises OptionsError for a result that holds values of the wrong type.
    """
    match said:
        case Allow() | Deny() | Defer():
            return said
        case PermissionResultAllow(behavior="allow", updated_input=update, updated_permissions=wishes):
            return Allow(update, updated_permissions=_as_updates(wishes or []) or None)
        case PermissionResultDeny(behavior="deny", message=message, interrupt=interrupt):
            return Deny(message, interrupt=interrupt)
        case _:
            return said


def _as_updates(theirs: Sequence[PermissionUpdate]) -> list[updates.PermissionUpdate]:
    """Their updates as ours; none at all when one is wrong: it may be the one that narrows what the others widen."""
    try:
        return [updates.PermissionUpdate.from_dict(_wire(update)) for update in theirs]
    except (OptionsError, ValueError, KeyError, TypeError) as error:
        log.warning("the call is allowed, but nothing is remembered: updated_permissions: %s", error)
        return []


def _wire(update: PermissionUpdate | updates.PermissionUpdate | JsonObject) -> JsonObject:
    if isinstance(update, PermissionUpdate | updates.PermissionUpdate):
        return update.to_dict()
    return update
