"""Messages and blocks as the Claude Agent SDK yields them: ours, with the fields and classes that only they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypedDict

from agent_sdk import messages as ours
from agent_sdk.compat.errors import ResultError
from agent_sdk.messages import DeferredToolUse as DeferredToolUse
from agent_sdk.messages import OtherBlock as OtherBlock
from agent_sdk.messages import StreamEvent as StreamEvent
from agent_sdk.messages import SystemMessage as SystemMessage
from agent_sdk.messages import TextBlock as TextBlock
from agent_sdk.messages import ThinkingBlock as ThinkingBlock
from agent_sdk.messages import ToolResultBlock as ToolResultBlock
from agent_sdk.messages import ToolUseBlock as ToolUseBlock
from agent_sdk.values import Json, JsonObject

ServerToolName: TypeAlias = str
AssistantMessageError: TypeAlias = str
MessageOriginKind: TypeAlias = str
MessageOrigin: TypeAlias = JsonObject
ModelUsage: TypeAlias = JsonObject
TaskNotificationStatus: TypeAlias = Literal["completed", "failed", "stopped"]
TaskUpdatedStatus: TypeAlias = Literal["pending", "running", "paused", "completed", "failed", "killed"]


@dataclass(frozen=True, slots=True)
class ServerToolUseBlock:
    """A tool that the service runs by itself."""

    id: str
    name: ServerToolName
    input: JsonObject


@dataclass(frozen=True, slots=True)
class ServerToolResultBlock:
    """What such a tool returned, as the service says it."""

    tool_use_id: str
    content: Json


ContentBlock: TypeAlias = (
    TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock | ServerToolUseBlock | ServerToolResultBlock | OtherBlock
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """A prompt, or the results of a turn. `origin` is always `None`."""

    content: str | Sequence[ContentBlock]
    uuid: str | None = None
    parent_tool_use_id: str | None = None
    tool_use_result: Json = None
    origin: MessageOrigin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage:
    """One whole reply of the model. The ids of the prompts behind it are not known: always `None`."""

    content: Sequence[ContentBlock]
    model: str
    parent_tool_use_id: str | None = None
    error: str | None = None
    usage: JsonObject | None = None
    message_id: str | None = None
    stop_reason: str | None = None
    session_id: str | None = None
    uuid: str | None = None
    user_message_uuid: str | None = None
    user_message_uuids: list[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultMessage(ours.ResultMessage):
    """How a run ended. The last five fields are theirs alone and always `None` here.

    A model that could not be reached is told as there: `subtype` is `success`, `is_error` is true, `terminal_reason`
    is `api_error` and `result` holds the words.
    """

    structured_output: Json = None
    model_usage: JsonObject | None = None
    origin: MessageOrigin | None = None
    user_message_uuid: str | None = None
    user_message_uuids: list[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEventMessage(SystemMessage):
    """What a hook said (`include_hook_events`); `data` is the step of the trace."""

    hook_event_name: str = ""
    session_id: str | None = None
    uuid: str | None = None


class SystemInitMcpServer(TypedDict):
    """A server in the `init` message."""

    name: str
    status: str


class SystemInitData(TypedDict, total=False):
    """The data of the `init` message, the first of each run. What there is none of here is an empty list."""

    type: Literal["system"]
    subtype: Literal["init"]
    session_id: str
    cwd: str
    model: str
    permissionMode: str
    tools: list[str]
    mcp_servers: list[SystemInitMcpServer]
    agents: list[str]
    slash_commands: list[str]
    skills: list[str]
    plugins: list[JsonObject]
    output_style: str


class TaskUsage(TypedDict):
    """Of tasks in the background, which are not there."""

    total_tokens: int
    tool_uses: int
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStartedMessage(SystemMessage):
    """Never yielded: there are no tasks in the background."""

    task_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProgressMessage(SystemMessage):
    """Never yielded: there are no tasks in the background."""

    task_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskUpdatedMessage(SystemMessage):
    """Never yielded: there are no tasks in the background."""

    task_id: str = ""
    status: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskNotificationMessage(SystemMessage):
    """Never yielded: there are no tasks in the background."""

    task_id: str = ""
    status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorErrorMessage(SystemMessage):
    """Never yielded: what cannot be stored ends the run."""

    key: JsonObject | None = None
    error: str = ""


RateLimitStatus: TypeAlias = Literal["allowed", "allowed_warning", "rejected"]
RateLimitType: TypeAlias = str


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimitInfo:
    """Of `RateLimitEvent`."""

    status: RateLimitStatus
    resets_at: int | None = None
    rate_limit_type: RateLimitType | None = None
    utilization: float | None = None
    raw: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimitEvent:
    """Never yielded: the limits of a subscription are not known here. A 429 is repeated by the client."""

    rate_limit_info: RateLimitInfo
    uuid: str
    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationResetMessage:
    """Never yielded: there is no command that empties a conversation."""

    session_id: str | None = None


TERMINAL_TASK_STATUSES = frozenset({"completed", "failed", "stopped", "killed"})

Message: TypeAlias = (
    UserMessage
    | AssistantMessage
    | SystemMessage
    | ResultMessage
    | StreamEvent
    | RateLimitEvent
    | ConversationResetMessage
)


def as_theirs(message: ours.Message, servers: Sequence[str] = ()) -> Message:
    """One of our messages in their classes. `servers` are the names of the servers, for the `init` message."""
    match message:
        case ours.AssistantMessage():
            return _assistant(message)
        case ours.UserMessage(content=content):
            return UserMessage(
                content=content if isinstance(content, str) else [_block(block) for block in content],
                uuid=message.uuid,
                parent_tool_use_id=message.parent_tool_use_id,
                tool_use_result=message.tool_use_result,
            )
        case ours.SystemMessage(subtype="init", data=data):
            return replace(message, data={**_init(servers), **data})
        case ours.SystemMessage(subtype="hook_event", data=data):
            return HookEventMessage(subtype="hook_response", data=data, hook_event_name=_event_of(data))
        case ours.SystemMessage() | ours.StreamEvent():
            return message
        case ours.ResultMessage():
            return _result(message)


def _assistant(message: ours.AssistantMessage) -> AssistantMessage:
    return AssistantMessage(
        content=[_block(block) for block in message.content],
        model=message.model,
        parent_tool_use_id=message.parent_tool_use_id,
        error=message.error,
        usage=message.usage,
        message_id=message.message_id,
        stop_reason=message.stop_reason,
        session_id=message.session_id,
        uuid=message.uuid,
    )


def _block(block: ours.ContentBlock) -> ContentBlock:
    if not isinstance(block, OtherBlock):
        return block
    match block.data:
        case {"type": "server_tool_use", "id": str(id_), "name": str(name), "input": Mapping() as tool_input}:
            return ServerToolUseBlock(id_, name, tool_input)
        case {"type": str(kind), "tool_use_id": str(id_), "content": content} if kind.endswith("_tool_result"):
            return ServerToolResultBlock(id_, content)
        case _:
            return block


def _init(servers: Sequence[str]) -> dict[str, Json]:
    """What their `init` message holds beside ours."""
    return {
        "type": "system",
        "subtype": "init",
        "mcp_servers": [{"name": name, "status": "connected"} for name in servers],
        "agents": [],
        "slash_commands": [],
        "skills": [],
        "plugins": [],
        "output_style": "default",
    }


_EVENTS = {"hook": "PreToolUse", "permission_request": "PermissionRequest"}


def _event_of(data: JsonObject) -> str:
    step = data.get("step")
    return _EVENTS.get(step, step) if isinstance(step, str) else ""


def _result(message: ours.ResultMessage) -> ResultMessage:
    unreachable = message.terminal_reason == "model_error"
    status = f"{message.api_error_status} " if message.api_error_status is not None else ""
    words = f"API Error: {status}{'; '.join(message.errors)}"
    return ResultMessage(
        subtype="success" if unreachable else message.subtype,
        duration_ms=message.duration_ms,
        duration_api_ms=message.duration_api_ms,
        is_error=message.is_error,
        num_turns=message.num_turns,
        session_id=message.session_id,
        stop_reason=message.stop_reason,
        terminal_reason="api_error" if unreachable else message.terminal_reason,
        result=words if unreachable else message.result,
        usage=message.usage,
        total_cost_usd=message.total_cost_usd,
        permission_denials=list(message.permission_denials),
        deferred_tool_use=message.deferred_tool_use,
        deferred_tool_uses=message.deferred_tool_uses,
        errors=[] if unreachable else list(message.errors),
        api_error_status=message.api_error_status,
        uuid=message.uuid,
    )


def result_error(result: ResultMessage) -> ResultError:
    """What is raised after an error result."""
    words = "; ".join(result.errors) or result.result or result.subtype
    data: JsonObject = {
        "type": "result",
        "subtype": result.subtype,
        "is_error": result.is_error,
        "errors": list(result.errors),
        "result": result.result,
        "api_error_status": result.api_error_status,
        "terminal_reason": result.terminal_reason,
        "stop_reason": result.stop_reason,
        "num_turns": result.num_turns,
        "duration_ms": result.duration_ms,
        "session_id": result.session_id,
        "uuid": result.uuid,
    }
    return ResultError(f"the run ended with an error: {words}", data, exit_code=1)
