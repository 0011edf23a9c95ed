"""Permission callbacks for AI agents: it asks at the right moment, and the answer is obeyed exactly."""

from agent_sdk.calls import ToolResult
from agent_sdk.client import AgentClient, query
from agent_sdk.config import AgentDefinition, AskUserQuestionConfig, PermissionMode
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
from agent_sdk.permissions.policy import PermissionPolicy
from agent_sdk.rules.files import FileView
from agent_sdk.sessions.memory import InMemoryStore
from agent_sdk.sessions.records import PendingApproval
from agent_sdk.sessions.store import DeferralStore, Journal, SessionStore
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
    "query",
    "tool",
]
