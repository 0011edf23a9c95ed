"""The typed dicts of hooks, by the names of the Claude Agent SDK. Events that never fire here are marked as such."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from agent_sdk.hooks.events import BaseHookInput as BaseHookInput
from agent_sdk.hooks.events import HookContext as HookContext
from agent_sdk.hooks.events import HookSpecificOutput as HookSpecificOutput
from agent_sdk.hooks.events import PermissionRequestHookInput as PermissionRequestHookInput
from agent_sdk.hooks.events import PostToolUseFailureHookInput as PostToolUseFailureHookInput
from agent_sdk.hooks.events import PostToolUseHookInput as PostToolUseHookInput
from agent_sdk.hooks.events import PreToolUseHookInput as PreToolUseHookInput
from agent_sdk.hooks.events import StopHookInput as StopHookInput
from agent_sdk.hooks.events import UserPromptSubmitHookInput as UserPromptSubmitHookInput

HookEvent: TypeAlias = Literal[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "Notification",
    "SubagentStart",
    "PermissionRequest",
]


class SubagentStartHookInput(BaseHookInput):
    """Never fires: there are no sub-agents yet."""

    hook_event_name: Literal["SubagentStart"]


class SubagentStopHookInput(BaseHookInput):
    """Never fires: there are no sub-agents yet."""

    hook_event_name: Literal["SubagentStop"]
    stop_hook_active: bool
    agent_transcript_path: str
    last_assistant_message: NotRequired[str]


class PreCompactHookInput(BaseHookInput):
    """Never fires: conversations are not compacted."""

    hook_event_name: Literal["PreCompact"]
    trigger: Literal["manual", "auto"]
    custom_instructions: str | None


class NotificationHookInput(BaseHookInput):
    """Never fires: notifications come later."""

    hook_event_name: Literal["Notification"]
    message: str
    title: NotRequired[str]
    notification_type: str


HookInput: TypeAlias = (
    PreToolUseHookInput
    | PostToolUseHookInput
    | PostToolUseFailureHookInput
    | UserPromptSubmitHookInput
    | StopHookInput
    | SubagentStopHookInput
    | PreCompactHookInput
    | NotificationHookInput
    | SubagentStartHookInput
    | PermissionRequestHookInput
)


class PreToolUseHookSpecificOutput(TypedDict):
    """What a PreToolUse hook says of the call."""

    hookEventName: Literal["PreToolUse"]
    permissionDecision: NotRequired[Literal["allow", "deny", "ask", "defer"]]
    permissionDecisionReason: NotRequired[str]
    updatedInput: NotRequired[dict[str, Any]]
    additionalContext: NotRequired[str]


class PostToolUseHookSpecificOutput(TypedDict):
    """What a PostToolUse hook adds. `updatedMCPToolOutput` is another spelling of `updatedToolOutput`."""

    hookEventName: Literal["PostToolUse"]
    additionalContext: NotRequired[str]
    updatedToolOutput: NotRequired[object]
    updatedMCPToolOutput: NotRequired[object]


class PostToolUseFailureHookSpecificOutput(TypedDict):
    """What a PostToolUseFailure hook adds."""

    hookEventName: Literal["PostToolUseFailure"]
    additionalContext: NotRequired[str]


class UserPromptSubmitHookSpecificOutput(TypedDict):
    """What a UserPromptSubmit hook adds."""

    hookEventName: Literal["UserPromptSubmit"]
    additionalContext: NotRequired[str]


class StopHookSpecificOutput(TypedDict):
    """What a Stop hook adds."""

    hookEventName: Literal["Stop"]
    additionalContext: NotRequired[str]


class PermissionRequestHookSpecificOutput(TypedDict):
    """What a PermissionRequest hook decides."""

    hookEventName: Literal["PermissionRequest"]
    decision: dict[str, Any]


class SubagentStartHookSpecificOutput(TypedDict):
    """Of an event that never fires."""

    hookEventName: Literal["SubagentStart"]
    additionalContext: NotRequired[str]


class SubagentStopHookSpecificOutput(TypedDict):
    """Of an event that never fires."""

    hookEventName: Literal["SubagentStop"]
    additionalContext: NotRequired[str]


class NotificationHookSpecificOutput(TypedDict):
    """Of an event that never fires."""

    hookEventName: Literal["Notification"]
    additionalContext: NotRequired[str]


class SessionStartHookSpecificOutput(TypedDict):
    """Of an event that never fires."""

    hookEventName: Literal["SessionStart"]
    additionalContext: NotRequired[str]


class AsyncHookJSONOutput(TypedDict):
    """A hook that goes on in the background has no opinion: the call does not wait for it."""

    async_: Literal[True]
    asyncTimeout: NotRequired[int]


class SyncHookJSONOutput(TypedDict):
    """What a hook returns as a dict; `{}` is no opinion."""

    continue_: NotRequired[bool]
    suppressOutput: NotRequired[bool]
    stopReason: NotRequired[str]
    decision: NotRequired[Literal["approve", "block"]]
    systemMessage: NotRequired[str]
    reason: NotRequired[str]
    hookSpecificOutput: NotRequired[HookSpecificOutput]


HookJSONOutput: TypeAlias = AsyncHookJSONOutput | SyncHookJSONOutput
HookCallback: TypeAlias = Callable[[Any, str | None, HookContext], Awaitable[HookJSONOutput]]
