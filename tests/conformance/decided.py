"""Decisions as cases write them, turned into what an application would hand over."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import agent_sdk
from agent_sdk import Allow, Ask, Defer, Deny

TIMING = ("delay_s", "raises")


def decision(written: Any, *, expires_in_s: float | None = None) -> Any:
    """`{behavior: …}` becomes `Allow`, `Deny`, `Defer` or `Ask` with the other keys as arguments; the rest stays.

    Raises what those classes raise: a TypeError for an argument that they do not take.
    """
    if not isinstance(written, Mapping) or "behavior" not in written:
        return written
    arguments = {key: value for key, value in written.items() if key not in ("behavior", *TIMING)}
    match written["behavior"]:
        case "allow":
            return Allow(**arguments)
        case "deny":
            return Deny(**arguments)
        case "defer":
            reason = arguments.pop("message", arguments.pop("reason", ""))
            return deferred(reason, expires_in_s, **arguments)
        case "ask":
            return Ask(arguments.pop("message", arguments.pop("reason", "")), **arguments)
        case _:
            return dict(written)


def deferred(reason: str = "", expires_in_s: float | None = None, **arguments: Any) -> Defer:
    """A `Defer`, with the time limit of the case if there is one."""
    if expires_in_s is not None:
        arguments.setdefault("expires_in", timedelta(seconds=expires_in_s))
    return Defer(reason, **arguments)


def hook_output(written: Any, event: str) -> Any:
    """A hook's answer in the interop dict form. What is no object, and keys that are not ours, stay as they are."""
    if not isinstance(written, Mapping):
        return written
    rest = {key: value for key, value in written.items() if key not in _HOOK_WORDS}
    specific = {name: written[key] for key, name in _HOOK_WORDS.items() if key in written}
    if not specific:
        return rest
    if event == "PermissionRequest":
        specific = {"decision": {_REQUEST_WORDS[name]: value for name, value in specific.items()}}
    return {**rest, "hookSpecificOutput": {"hookEventName": event, **specific}}


_HOOK_WORDS = {
    "decision": "permissionDecision",
    "reason": "permissionDecisionReason",
    "updated_input": "updatedInput",
    "additionalContext": "additionalContext",
}
_REQUEST_WORDS = {
    "permissionDecision": "behavior",
    "permissionDecisionReason": "message",
    "updatedInput": "updatedInput",
    "additionalContext": "additionalContext",
}


def exception(written: str) -> BaseException:
    """`Type: text` as an exception of that type: a built-in one, one of ours, or a RuntimeError."""
    name, _, text = written.partition(":")
    found = getattr(builtins, name.strip(), None) or getattr(agent_sdk, name.strip(), None)
    if isinstance(found, type) and issubclass(found, BaseException):
        return found(text.strip())
    return RuntimeError(written)
