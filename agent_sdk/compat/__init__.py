"""The spellings of the Claude Agent SDK: a program written for it runs after its import line is changed.

    from agent_sdk.compat import ClaudeAgentOptions, ClaudeSDKClient, PermissionResultAllow, query

What is not there, and what differs, stands in docs/coming-from-claude-agent-sdk.md.
"""

from agent_sdk.compat import types
from agent_sdk.compat.client import ClaudeSDKClient, query
from agent_sdk.compat.errors import (
    ClaudeSDKError,
    CLIConnectionError,
    CLIJSONDecodeError,
    CLINotFoundError,
    MessageParseError,
    ProcessError,
    ResultError,
)
from agent_sdk.compat.translate import NoEffectWarning, agent_options
from agent_sdk.compat.types import *  # noqa: F403 - exactly the names in its `__all__`

__all__ = [
    "CLIConnectionError",
    "CLIJSONDecodeError",
    "CLINotFoundError",
    "ClaudeSDKClient",
    "ClaudeSDKError",
    "MessageParseError",
    "NoEffectWarning",
    "ProcessError",
    "ResultError",
    "agent_options",
    "query",
]
__all__ += types.__all__
