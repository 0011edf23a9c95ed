"""HookMatcher in the spelling of the Claude Agent SDK, and the translation of `hooks=`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agent_sdk.callables import check_async_callable, name_of
from agent_sdk.compat.hook_types import HookCallback
from agent_sdk.errors import OptionsError
from agent_sdk.hooks import matcher as ours
from agent_sdk.hooks.events import HOOK_EVENTS, LATER_EVENTS, HookContext, HookEvent

GATES = ("PreToolUse", "PermissionRequest")
"""Where a hook that fails stops the call unless its matcher says otherwise; elsewhere it is passed over, as there."""

_SIGNATURE = "async def hook(input_data, tool_use_id, context): return {}"
_BACKGROUND = ("async", "async_", "asyncTimeout")


@dataclass
class HookMatcher:
    """Hooks for the tools that `matcher` names. `timeout` is in seconds; `None` is 60.

    `on_failure=None` is `"block"` for the hooks that decide about calls (PreToolUse, PermissionRequest), and
    `"continue"` for all others.
    """

    matcher: str | None = None
    hooks: list[HookCallback] = field(default_factory=list)
    timeout: float | None = None
    on_failure: Literal["continue", "block"] | None = None


def as_hooks(theirs: object, remarks: list[str]) -> dict[HookEvent, list[ours.HookMatcher]]:
    """Their `hooks` as ours. Matchers may be theirs, ours, or dicts. Events that never fire go into `remarks`.

    Raises OptionsError for anything else.
    """
    if theirs is None:
        return {}
    if not isinstance(theirs, Mapping):
        raise OptionsError(f"hooks maps event names to lists of HookMatcher, got {theirs!r:.80}", option="hooks")
    hooks: dict[HookEvent, list[ours.HookMatcher]] = {}
    for name, matchers in theirs.items():
        if isinstance(matchers, str) or not isinstance(matchers, Sequence):
            raise OptionsError(f"hooks[{name!r}] is a list of HookMatcher, got {matchers!r:.80}", option="hooks")
        event = next((known for known in HOOK_EVENTS if known == name), None)
        if event is not None:
            hooks[event] = [_as_matcher(event, matcher) for matcher in matchers]
        elif name in LATER_EVENTS:
            remarks.append(f"hooks[{name!r}] (this event never fires)")
        else:
            raise OptionsError(f"hooks: there is no event {name!r}", option="hooks")
    return hooks


def _as_matcher(event: HookEvent, given: object) -> ours.HookMatcher:
    match given:
        case ours.HookMatcher():
            return given
        case HookMatcher():
            theirs = given
        case Mapping():
            unknown = sorted(str(key) for key in given if key not in HookMatcher.__dataclass_fields__)
            if unknown:
                raise OptionsError(f"hooks[{event!r}]: a matcher has no field {unknown[0]!r}", option="hooks")
            theirs = HookMatcher(**given)
        case _:
            raise OptionsError(f"hooks[{event!r}] holds {given!r:.80}; write HookMatcher(...)", option="hooks")
    return ours.HookMatcher(
        matcher=theirs.matcher,
        hooks=[_as_hook(hook) for hook in theirs.hooks],
        timeout=60.0 if theirs.timeout is None else theirs.timeout,
        on_failure=theirs.on_failure or ("block" if event in GATES else "continue"),
    )


def _as_hook(theirs: object) -> Callable[[Any, str | None, HookContext], Awaitable[Any]]:
    check_async_callable(theirs, what="hook", signature=_SIGNATURE, arguments=3)
    assert callable(theirs), "checked above"
    callback: Callable[..., Awaitable[object]] = theirs

    async def hook(input_data: object, tool_use_id: str | None, context: HookContext) -> object:
        return _as_reply(await callback(input_data, tool_use_id, context))

    hook.__qualname__ = name_of(theirs)  # traces name the application's function
    return hook


def _as_reply(said: object) -> object:
    """Their spellings that ours does not have; everything else is handed on, to be read strictly."""
    if not isinstance(said, Mapping):
        return said
    if any(key in said for key in _BACKGROUND):
        return {}
    specific = said.get("hookSpecificOutput")
    if isinstance(specific, Mapping) and "updatedMCPToolOutput" in specific:
        kept = {key: value for key, value in specific.items() if key != "updatedMCPToolOutput"}
        return {**said, "hookSpecificOutput": {"updatedToolOutput": specific["updatedMCPToolOutput"], **kept}}
    return said
