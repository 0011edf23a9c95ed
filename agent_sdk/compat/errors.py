"""The errors of the Claude Agent SDK, as a program written for it catches them.

ClaudeSDKError               (AgentSDKError itself: whatever this package raises on purpose is one)
├── CLIConnectionError           a client that is not connected
│   └── CLINotFoundError             never raised: there is no program to be found
├── ProcessError
│   └── ResultError              a run ended in an error result; raised after its ResultMessage
└── CLIJSONDecodeError, MessageParseError    never raised: no program's output is parsed
"""

from __future__ import annotations

from collections.abc import Mapping

from agent_sdk.errors import AgentSDKError
from agent_sdk.values import Json, JsonObject

ClaudeSDKError = AgentSDKError


class CLIConnectionError(ClaudeSDKError):
    """The client is not connected."""


class CLINotFoundError(CLIConnectionError):
    """Never raised: nothing but this package is needed."""

    def __init__(self, message: str = "Claude Code not found", cli_path: str | None = None) -> None:
        super().__init__(f"{message}: {cli_path}" if cli_path else message)


class ProcessError(ClaudeSDKError):
    """A run failed. `exit_code` and `stderr` are those of a process, and there is none: 1 and `None`."""

    def __init__(self, message: str, exit_code: int | None = None, stderr: str | None = None) -> None:
        told = message if exit_code is None else f"{message} (exit code: {exit_code})"
        super().__init__(f"{told}\nError output: {stderr}" if stderr else told)
        self.exit_code = exit_code
        self.stderr = stderr


class ResultError(ProcessError):
    """A run ended with `ResultMessage(is_error=True)`, which was yielded before this is raised.

    The attributes are those of the message; `data` is the message as a mapping.
    """

    def __init__(self, message: str, data: JsonObject | None = None, exit_code: int | None = None) -> None:
        super().__init__(message, exit_code)
        data = data if isinstance(data, Mapping) else {}
        self.data: JsonObject = data
        self.errors: list[str] = _texts(data.get("errors"))
        self.subtype = _text(data, "subtype")
        self.result = _text(data, "result")
        self.terminal_reason = _text(data, "terminal_reason")
        self.session_id = _text(data, "session_id")
        status = data.get("api_error_status")
        self.api_error_status = status if isinstance(status, int) else None


class CLIJSONDecodeError(ClaudeSDKError):
    """Never raised: no program's output is parsed."""

    def __init__(self, line: str, original_error: Exception) -> None:
        super().__init__(f"Failed to decode JSON: {line[:100]}...")
        self.line = line
        self.original_error = original_error


class MessageParseError(ClaudeSDKError):
    """Never raised: messages are made here, not parsed."""

    def __init__(self, message: str, data: JsonObject | None = None) -> None:
        super().__init__(message)
        self.data = data


def _texts(value: Json) -> list[str]:
    items = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [one.strip() for one in items if isinstance(one, str) and one.strip()]


def _text(data: JsonObject, key: str) -> str | None:
    value = data.get(key)
    return value if isinstance(value, str) else None
