"""What a hook said, read strictly: an answer that is not understood is no answer, and no answer is no yes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agent_sdk.decisions import Allow, Ask, Defer, Deny, Opinion, PermissionUpdate
from agent_sdk.errors import OptionsError
from agent_sdk.hooks.events import HookEvent
from agent_sdk.values import Json, JsonObject, copied, copied_object

_TOP = frozenset(
    {"continue", "continue_", "stopReason", "systemMessage", "suppressOutput", "decision", "reason"}
    | {"hookSpecificOutput", "permissionDecision"}
)
_SPECIFIC: Mapping[HookEvent, frozenset[str]] = {
    "PreToolUse": frozenset(
        {"permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext", "hookEventName"}
    ),
    "PermissionRequest": frozenset({"decision", "hookEventName"}),
    "PostToolUse": frozenset({"additionalContext", "updatedToolOutput", "hookEventName"}),
    "PostToolUseFailure": frozenset({"additionalContext", "hookEventName"}),
    "UserPromptSubmit": frozenset({"additionalContext", "hookEventName", "sessionTitle", "suppressOriginalPrompt"}),
    "Stop": frozenset({"additionalContext", "hookEventName"}),
}


class BadReply(ValueError):
    """The hook answered something that has no meaning. The text says what, for the application."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookReply:
    """One hook's answer. `updated_input` and `output` are copies; `stop` is the reason of `continue: false`."""

    said: Opinion | None = None
    updated_input: JsonObject | None = None
    context: str = ""
    system_message: str = ""
    stop: str | None = None
    block: str | None = None
    output: Json = None


NO_OPINION = HookReply()


def read_reply(event: HookEvent, raw: object) -> HookReply:
    """Read what a hook returned. Raises BadReply for anything without a meaning at this event."""
    match raw:
        case None:
            return NO_OPINION
        case Allow() | Deny() | Defer() | Ask() if type(raw) in (Allow, Deny, Defer, Ask):  # no mocks, no subclasses
            return _read_decision(event, raw)
        case Mapping():
            return _read_mapping(event, raw) if raw else NO_OPINION
        case _:
            raise BadReply(f"returned {type(raw).__name__}; expected None, a dict, Allow, Deny, Defer or Ask")


def _read_decision(event: HookEvent, said: Opinion) -> HookReply:
    if event == "PreToolUse" and isinstance(said, Allow) and (said.remember or said.updated_permissions):
        raise BadReply("a PreToolUse hook remembers nothing: answer from a PermissionRequest hook or can_use_tool")
    if event == "PreToolUse" or (event == "PermissionRequest" and not isinstance(said, Ask)):
        updated = said.updated_input if isinstance(said, Allow) else None
        return HookReply(said=said, updated_input=None if updated is None else copied_object(updated))
    raise BadReply(f"{type(said).__name__} has no meaning at {event}")


def _read_mapping(event: HookEvent, raw: Mapping[str, object]) -> HookReply:
    unknown = sorted(str(key) for key in raw if key not in _TOP)
    if unknown or "permissionDecision" in raw:
        raise BadReply(f"unknown key {(unknown or ['permissionDecision'])[0]!r}; decisions go into hookSpecificOutput")
    specific = _specific(event, raw.get("hookSpecificOutput"))
    said = _decision(event, raw, specific)
    going_on = _flag(raw, "continue") and _flag(raw, "continue_")
    updated = specific.get("updatedInput")
    if event == "PermissionRequest" and isinstance(decision := specific.get("decision"), Mapping):
        updated = decision.get("updatedInput")
    return HookReply(
        said=said,
        updated_input=None if updated is None else _object(updated, "updatedInput"),
        context=_text(specific, "additionalContext"),
        system_message=_text(raw, "systemMessage"),
        stop=None if going_on else _text(raw, "stopReason") or "stopped by a hook",
        block=_block(event, raw),
        output=_json(specific.get("updatedToolOutput"), "updatedToolOutput"),
    )


def _specific(event: HookEvent, value: object) -> Mapping[str, object]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadReply(f"hookSpecificOutput is a dict, got {type(value).__name__}")
    name = value.get("hookEventName")
    if name is not None and name != event:
        raise BadReply(f"hookEventName is {name!r}, but the event is {event}")
    unknown = sorted(str(key) for key in value if key not in _SPECIFIC[event])
    if unknown:
        raise BadReply(f"unknown key {unknown[0]!r} in hookSpecificOutput of {event}")
    return value


def _decision(event: HookEvent, raw: Mapping[str, object], specific: Mapping[str, object]) -> Opinion | None:
    if event == "PermissionRequest":
        return _request_decision(specific.get("decision"))
    word = specific.get("permissionDecision")
    if word is not None:
        return _opinion(word, _text(specific, "permissionDecisionReason"))
    match raw.get("decision") if event == "PreToolUse" else None:
        case None:
            return None
        case "approve":
            return Allow()
        case "block":
            return Deny(_text(raw, "reason"))
        case other:
            raise BadReply(f"decision is 'approve' or 'block', got {other!r}")


def _opinion(word: object, reason: str) -> Opinion:
    match word:
        case "allow":
            return Allow()
        case "deny":
            return Deny(reason)
        case "ask":
            return Ask(reason)
        case "defer":
            return Defer(reason)
        case _:
            raise BadReply(f"permissionDecision is 'allow', 'deny', 'ask' or 'defer', got {word!r}")


def _request_decision(value: object) -> Opinion | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise BadReply(f"decision is a dict, got {type(value).__name__}")
    interrupt = value.get("interrupt", False)
    match value.get("behavior"), interrupt:
        case "allow", _:
            return Allow(updated_permissions=_updates(value.get("updatedPermissions")))
        case "deny", bool(stop):
            return Deny(_text(value, "message"), interrupt=stop)
        case behavior, _:
            raise BadReply(f"decision.behavior is 'allow' or 'deny' and interrupt a bool, got {behavior!r}")


def _updates(value: object) -> list[PermissionUpdate] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise BadReply(f"updatedPermissions is a list of dicts, got {type(value).__name__}")
    try:
        return [PermissionUpdate.from_dict(item) for item in value]
    except OptionsError as error:
        raise BadReply(f"updatedPermissions: {error}") from None


def _block(event: HookEvent, raw: Mapping[str, object]) -> str | None:
    """`decision: block` at the events that are no permission: the reason, or None."""
    word = raw.get("decision")
    if event in ("PreToolUse", "PermissionRequest") or word is None:
        return None
    if word != "block":
        raise BadReply(f"decision is 'block' at {event}, got {word!r}")
    return _text(raw, "reason") or "blocked by a hook"


def _flag(raw: Mapping[str, object], key: str) -> bool:
    value = raw.get(key, True)
    if not isinstance(value, bool):
        raise BadReply(f"{key} is True or False, got {value!r}")
    return value


def _text(raw: Mapping[str, object], key: str) -> str:
    value = raw.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadReply(f"{key} is a str, got {type(value).__name__}")
    return value


def _object(value: object, key: str) -> JsonObject:
    if not isinstance(value, Mapping):
        raise BadReply(f"{key} is a dict, got {type(value).__name__}")
    try:
        return copied_object(value)
    except (TypeError, RecursionError) as error:
        raise BadReply(f"{key}: {error}") from None


def _json(value: object, key: str) -> Json:
    try:
        return copied(value)  # type: ignore[arg-type]  # the check is what `copied` does
    except (TypeError, RecursionError) as error:
        raise BadReply(f"{key}: {error}") from None
