"""Permission callbacks for AI agents: it asks at the right moment, and the answer is obeyed exactly.

A name is loaded when it is first used, so that `import agent_sdk` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_sdk.calls import ToolResult
    from agent_sdk.client import AgentClient, query
    from agent_sdk.config import AgentDefinition, AskUserQuestionConfig, PermissionMode
    from agent_sdk.copies import fork_session, get_session_messages
    from agent_sdk.decisions import (
        Allow,
        Ask,
        CanUseTool,
        Considered,
        Defer,
        Deny,
        PermissionContext,
        PermissionRule,
        PermissionUpdate,
        Verdict,
    )
    from agent_sdk.errors import (
        AgentSDKError,
        DeferralError,
        ModelError,
        OptionsError,
        RuleError,
        SessionBusyError,
        SessionError,
        SessionNotFoundError,
        SettingsError,
        ToolError,
    )
    from agent_sdk.hooks.events import HookContext, HookEvent, HookInput, HookJSONOutput
    from agent_sdk.hooks.matcher import HookMatcher
    from agent_sdk.inbox import Inbox
    from agent_sdk.messages import (
        AssistantMessage,
        ContentBlock,
        DeferredToolUse,
        Message,
        OtherBlock,
        ResultMessage,
        StreamEvent,
        SystemMessage,
        TextBlock,
        ThinkingBlock,
        ToolResultBlock,
        ToolUseBlock,
        UserMessage,
    )
    from agent_sdk.models.base import Model, StreamBroken
    from agent_sdk.options import AgentOptions, CanUseToolShadowedWarning
    from agent_sdk.permissions import presets
    from agent_sdk.permissions.policy import PermissionPolicy
    from agent_sdk.rules.files import FileView
    from agent_sdk.sessions.memory import InMemoryStore
    from agent_sdk.sessions.portable import export_session, import_session
    from agent_sdk.sessions.records import PendingApproval
    from agent_sdk.sessions.sqlite import SQLiteStore
    from agent_sdk.sessions.store import DeferralStore, Journal, SessionStore
    from agent_sdk.sessions.upkeep import delete_session, list_sessions, prune_sessions
    from agent_sdk.tools.base import Tool, ToolContext
    from agent_sdk.tools.function import tool

__all__ = [
    "AgentClient",
    "AgentDefinition",
    "AgentOptions",
    "AgentSDKError",
    "Allow",
    "Ask",
    "AskUserQuestionConfig",
    "AssistantMessage",
    "CanUseTool",
    "CanUseToolShadowedWarning",
    "Considered",
    "ContentBlock",
    "Defer",
    "DeferralError",
    "DeferralStore",
    "DeferredToolUse",
    "Deny",
    "FileView",
    "HookContext",
    "HookEvent",
    "HookInput",
    "HookJSONOutput",
    "HookMatcher",
    "InMemoryStore",
    "Inbox",
    "Journal",
    "Message",
    "Model",
    "ModelError",
    "OptionsError",
    "OtherBlock",
    "PendingApproval",
    "PermissionContext",
    "PermissionMode",
    "PermissionPolicy",
    "PermissionRule",
    "PermissionUpdate",
    "ResultMessage",
    "RuleError",
    "SQLiteStore",
    "SessionBusyError",
    "SessionError",
    "SessionNotFoundError",
    "SessionStore",
    "SettingsError",
    "StreamBroken",
    "StreamEvent",
    "SystemMessage",
    "TextBlock",
    "ThinkingBlock",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "ToolResultBlock",
    "ToolUseBlock",
    "UserMessage",
    "Verdict",
    "delete_session",
    "export_session",
    "fork_session",
    "get_session_messages",
    "import_session",
    "list_sessions",
    "presets",
    "prune_sessions",
    "query",
    "tool",
]

_HOMES = {
    "AgentClient": "agent_sdk.client",
    "AgentDefinition": "agent_sdk.config",
    "AgentOptions": "agent_sdk.options",
    "AgentSDKError": "agent_sdk.errors",
    "Allow": "agent_sdk.decisions",
    "Ask": "agent_sdk.decisions",
    "AskUserQuestionConfig": "agent_sdk.config",
    "AssistantMessage": "agent_sdk.messages",
    "CanUseTool": "agent_sdk.decisions",
    "CanUseToolShadowedWarning": "agent_sdk.options",
    "Considered": "agent_sdk.decisions",
    "ContentBlock": "agent_sdk.messages",
    "Defer": "agent_sdk.decisions",
    "DeferralError": "agent_sdk.errors",
    "DeferralStore": "agent_sdk.sessions.store",
    "DeferredToolUse": "agent_sdk.messages",
    "Deny": "agent_sdk.decisions",
    "FileView": "agent_sdk.rules.files",
    "HookContext": "agent_sdk.hooks.events",
    "HookEvent": "agent_sdk.hooks.events",
    "HookInput": "agent_sdk.hooks.events",
    "HookJSONOutput": "agent_sdk.hooks.events",
    "HookMatcher": "agent_sdk.hooks.matcher",
    "InMemoryStore": "agent_sdk.sessions.memory",
    "Inbox": "agent_sdk.inbox",
    "Journal": "agent_sdk.sessions.store",
    "Message": "agent_sdk.messages",
    "Model": "agent_sdk.models.base",
    "ModelError": "agent_sdk.errors",
    "OptionsError": "agent_sdk.errors",
    "OtherBlock": "agent_sdk.messages",
    "PendingApproval": "agent_sdk.sessions.records",
    "PermissionContext": "agent_sdk.decisions",
    "PermissionMode": "agent_sdk.config",
    "PermissionPolicy": "agent_sdk.permissions.policy",
    "PermissionRule": "agent_sdk.decisions",
    "PermissionUpdate": "agent_sdk.decisions",
    "ResultMessage": "agent_sdk.messages",
    "RuleError": "agent_sdk.errors",
    "SQLiteStore": "agent_sdk.sessions.sqlite",
    "SessionBusyError": "agent_sdk.errors",
    "SessionError": "agent_sdk.errors",
    "SessionNotFoundError": "agent_sdk.errors",
    "SessionStore": "agent_sdk.sessions.store",
    "SettingsError": "agent_sdk.errors",
    "StreamBroken": "agent_sdk.models.base",
    "StreamEvent": "agent_sdk.messages",
    "SystemMessage": "agent_sdk.messages",
    "TextBlock": "agent_sdk.messages",
    "ThinkingBlock": "agent_sdk.messages",
    "Tool": "agent_sdk.tools.base",
    "ToolContext": "agent_sdk.tools.base",
    "ToolError": "agent_sdk.errors",
    "ToolResult": "agent_sdk.calls",
    "ToolResultBlock": "agent_sdk.messages",
    "ToolUseBlock": "agent_sdk.messages",
    "UserMessage": "agent_sdk.messages",
    "Verdict": "agent_sdk.decisions",
    "delete_session": "agent_sdk.sessions.upkeep",
    "export_session": "agent_sdk.sessions.portable",
    "fork_session": "agent_sdk.copies",
    "get_session_messages": "agent_sdk.copies",
    "import_session": "agent_sdk.sessions.portable",
    "list_sessions": "agent_sdk.sessions.upkeep",
    "presets": "agent_sdk.permissions",
    "prune_sessions": "agent_sdk.sessions.upkeep",
    "query": "agent_sdk.client",
    "tool": "agent_sdk.tools.function",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'agent_sdk' has no attribute {name!r}")
    home = _HOMES[name]
    value: object = import_module(f"{home}.{name}") if name == "presets" else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
