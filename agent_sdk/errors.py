"""Everything this package raises on purpose.

    AgentSDKError
    ├── OptionsError             an option or a decision that cannot be kept
    ├── SettingsError            a settings file that cannot be trusted to say what its author meant
    ├── RuleError                a deny or ask rule that cannot be read
    ├── SessionError             a session that cannot go on as asked
    │   ├── SessionBusyError         another run holds it
    │   ├── SessionNotFoundError     the store does not have it
    │   └── DeferralError            an answer that fits no open approval
    ├── ModelError               the model could not be reached, or said something unusable
    └── ToolError                raised by a tool: its text is what the model reads

Messages name the thing, the cause and the next step; the facts are attributes as well.
"""

from __future__ import annotations


class AgentSDKError(Exception):
    """The root of every error that this package raises on purpose."""


class OptionsError(AgentSDKError):
    """An option, or a value given to one of our classes, is wrong or contradicts another one.

    Raised when the value is built, never in the middle of a run.
    """

    def __init__(self, message: str, *, option: str | None = None) -> None:
        super().__init__(message)
        self.option = option


class SettingsError(AgentSDKError):
    """A settings file cannot be read as what its author meant. `line` and `column` count from 1."""

    def __init__(
        self, message: str, *, path: str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        super().__init__(message)
        self.path = path
        self.line = line
        self.column = column


class RuleError(AgentSDKError):
    """A permission rule cannot be read. Only deny and ask rules raise: a bad allow rule is ignored with a warning."""

    def __init__(
        self, message: str, *, rule: str | None = None, file: str | None = None, position: int | None = None
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.file = file
        self.position = position


class SessionError(AgentSDKError):
    """A session cannot go on as asked."""

    def __init__(self, message: str, *, session_id: str | None = None) -> None:
        super().__init__(message)
        self.session_id = session_id


class SessionBusyError(SessionError):
    """Another run holds the session. `owner` says which one, `lease_seconds` how long its claim still lasts."""

    def __init__(
        self,
        message: str,
        *,
        session_id: str | None = None,
        owner: str | None = None,
        lease_seconds: float | None = None,
    ) -> None:
        super().__init__(message, session_id=session_id)
        self.owner = owner
        self.lease_seconds = lease_seconds


class SessionNotFoundError(SessionError):
    """The store holds no session of this id."""


class DeferralError(SessionError):
    """A decision does not fit an open approval. Nothing was stored and nothing ran."""

    def __init__(self, message: str, *, session_id: str | None = None, tool_use_id: str | None = None) -> None:
        super().__init__(message, session_id=session_id)
        self.tool_use_id = tool_use_id


class ModelError(AgentSDKError):
    """The model could not be reached after all retries, or its reply cannot be used.

    `status` is the HTTP status of the last answer, if there was one; `kind` is the service's error type.
    """

    def __init__(self, message: str, *, status: int | None = None, kind: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


class ToolError(AgentSDKError):
    """Raise it in a tool to tell the model what went wrong, in words meant for the model."""
