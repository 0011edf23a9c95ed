"""Typed inputs and outputs of hooks. Key names are those of Claude Code, so that a hook can serve both.

async def no_pushes(input_data, tool_use_id, context):
    if input_data["tool_input"].get("command", "").startswith("git push"):
        return Deny("Leave pushing to me.")
    return None
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, get_args

from agent_sdk.decisions import Opinion

HookEvent: TypeAlias = Literal[
    "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop"
]
HOOK_EVENTS: tuple[HookEvent, ...] = get_args(HookEvent)
LATER_EVENTS = ("SubagentStart", "SubagentStop", "Notification", "SessionStart", "SessionEnd", "PreCompact")


class HookContext(TypedDict):
    """The third argument of a hook. `signal` is always `None`: a hook is cancelled like any other task."""

    signal: None


class BaseHookInput(TypedDict):
    """What every hook is told. `transcript_path` is an empty string: no transcript file is kept."""

    session_id: str
    transcript_path: str
    cwd: str
    permission_mode: str
    agent_id: NotRequired[str]
    agent_type: NotRequired[str]


class PreToolUseHookInput(BaseHookInput):
    """A call is about to be judged."""

    hook_event_name: Literal["PreToolUse"]
    tool_name: str
    tool_input: dict[str, Any]
    tool_use_id: str


class PermissionRequestHookInput(BaseHookInput):
    """A person is about to be asked."""

    hook_event_name: Literal["PermissionRequest"]
    tool_name: str
    tool_input: dict[str, Any]
    tool_use_id: str
    permission_suggestions: list[dict[str, Any]]


class PostToolUseHookInput(BaseHookInput):
    """A tool ran. `tool_response` is its content, text or blocks."""

    hook_event_name: Literal["PostToolUse"]
    tool_name: str
    tool_input: dict[str, Any]
    tool_use_id: str
    tool_response: Any


class PostToolUseFailureHookInput(BaseHookInput):
    """A tool ran and its result is an error."""

    hook_event_name: Literal["PostToolUseFailure"]
    tool_name: str
    tool_input: dict[str, Any]
    tool_use_id: str
    error: str


class UserPromptSubmitHookInput(BaseHookInput):
    """A prompt is about to be sent."""

    hook_event_name: Literal["UserPromptSubmit"]
    prompt: str


class StopHookInput(BaseHookInput):
    """The model has finished. `stop_hook_active` is true when an earlier Stop hook made it go on."""

    hook_event_name: Literal["Stop"]
    stop_hook_active: bool
    last_assistant_message: str


HookInput: TypeAlias = (
    PreToolUseHookInput
    | PermissionRequestHookInput
    | PostToolUseHookInput
    | PostToolUseFailureHookInput
    | UserPromptSubmitHookInput
    | StopHookInput
)


class PermissionRequestDecision(TypedDict, total=False):
    """The `decision` of a PermissionRequest hook."""

    behavior: Literal["allow", "deny"]
    updatedInput: dict[str, Any]
    message: str
    interrupt: bool


class HookSpecificOutput(TypedDict, total=False):
    """The part of a hook's answer that belongs to its event."""

    hookEventName: str
    permissionDecision: Literal["allow", "deny", "ask", "defer"]
    permissionDecisionReason: str
    updatedInput: dict[str, Any]
    additionalContext: str
    updatedToolOutput: Any
    decision: PermissionRequestDecision


# `continue` is a keyword, so this one cannot be a class; `continue_` is the spelling for Python.
HookJSONOutput = TypedDict(
    "HookJSONOutput",
    {
        "continue": bool,
        "continue_": bool,
        "stopReason": str,
        "systemMessage": str,
        "suppressOutput": bool,
        "decision": Literal["approve", "block"],
        "reason": str,
        "hookSpecificOutput": HookSpecificOutput,
    },
    total=False,
)

HookJSONOutput.__doc__ = "What a hook may return as a dict; `{}` and `None` are no opinion."

HookAnswer: TypeAlias = HookJSONOutput | dict[str, Any] | Opinion | None
HookCallback: TypeAlias = Callable[[Any, str | None, HookContext], Awaitable[HookAnswer]]
