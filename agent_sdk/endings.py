"""How a run ends, as a value and as its last message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_sdk.errors import ModelError
from agent_sdk.messages import DeferredToolUse, ResultMessage
from agent_sdk.session import Session
from agent_sdk.values import copied_object, fresh_uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Why a run is over. `error` is raised to the caller of `query()` after the result message."""

    terminal_reason: str
    subtype: str = "success"
    is_error: bool = False
    stop_reason: str | None = None
    text: str | None = None
    errors: Sequence[str] = ()
    status: int | None = None
    deferred: Sequence[DeferredToolUse] = ()
    error: ModelError | None = None


def completed(text: str, stop_reason: str) -> Ended:
    """The model has finished."""
    return Ended(terminal_reason="completed", stop_reason=stop_reason, text=text)


def ended_by_reply(stop_reason: str, text: str, why: str) -> Ended:
    """The reply itself ended the run: cut off, refused, or for an unknown reason."""
    return Ended(
        terminal_reason=stop_reason,
        subtype="error_during_execution",
        is_error=True,
        stop_reason=stop_reason,
        text=text,
        errors=[why],
    )


def model_failed(error: ModelError) -> Ended:
    """No usable reply could be had."""
    return Ended(
        terminal_reason="model_error",
        subtype="error_during_execution",
        is_error=True,
        errors=[str(error)],
        status=error.status,
        error=error,
    )


def aborted(where: str) -> Ended:
    """An interrupt: `aborted_tools` in a turn, `aborted_streaming` in the model's reply."""
    stop_reason = "tool_use" if where == "aborted_tools" else None
    return Ended(
        terminal_reason=where, subtype="error_during_execution", is_error=True, stop_reason=stop_reason,
        errors=["interrupted by the person"],
    )  # fmt: skip


def stopped_by_hook(reason: str, stop_reason: str | None) -> Ended:
    """A hook said `continue: false`."""
    return Ended(terminal_reason="hook_stopped", stop_reason=stop_reason, text=reason)


def prompt_blocked(reason: str) -> Ended:
    """A UserPromptSubmit hook did not let the prompt through: nothing was sent."""
    return Ended(
        terminal_reason="hook_stopped", subtype="error_during_execution", is_error=True, text=reason, errors=[reason]
    )


def exhausted(limit: str, why: str, stop_reason: str | None) -> Ended:
    """A limit of the run is used up."""
    reason = "max_turns" if limit == "max_turns" else "budget_exhausted"
    return Ended(terminal_reason=reason, subtype=f"error_{limit}", is_error=True, stop_reason=stop_reason, errors=[why])


def tool_deferred(calls: Sequence[DeferredToolUse]) -> Ended:
    """Calls are parked: the run is over, the session is not."""
    return Ended(terminal_reason="tool_deferred", stop_reason="tool_deferred", text="", deferred=tuple(calls))


def tool_unavailable(calls: Sequence[DeferredToolUse], why: str) -> Ended:
    """A parked call's tool is gone. The call stays parked and can still be resumed."""
    return Ended(
        terminal_reason="tool_deferred_unavailable",
        subtype="error_during_execution",
        is_error=True,
        stop_reason="tool_deferred_unavailable",
        errors=[why],
        deferred=tuple(calls),
    )


def result_message(session: Session, ended: Ended) -> ResultMessage:
    """The last message of a run."""
    spent = session.spent
    return ResultMessage(
        subtype=ended.subtype,
        duration_ms=int((spent.seconds + spent.waited) * 1000),
        duration_api_ms=int(spent.api_seconds * 1000),
        is_error=ended.is_error,
        num_turns=spent.turns,
        session_id=session.id,
        stop_reason=ended.stop_reason,
        terminal_reason=ended.terminal_reason,
        result=ended.text,
        usage=dict(spent.usage),
        total_cost_usd=spent.usd,
        permission_denials=tuple(copied_object(denied) for denied in session.denials),
        deferred_tool_use=ended.deferred[0] if ended.deferred else None,
        deferred_tool_uses=ended.deferred,
        errors=tuple(ended.errors),
        api_error_status=ended.status,
        uuid=fresh_uuid(),
    )
