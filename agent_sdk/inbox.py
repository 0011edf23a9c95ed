"""The desk at which parked calls are looked at and answered, from any process, without running anything."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TypeAlias

from agent_sdk.calls import CallKey, ToolResult
from agent_sdk.decisions import Allow, Deny
from agent_sdk.errors import DeferralError, OptionsError
from agent_sdk.sessions import checks
from agent_sdk.sessions.fields import plain
from agent_sdk.sessions.records import Answer, PendingApproval
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.sessions.store import DeferralStore
from agent_sdk.tools.ask_user_question import NAME as QUESTION_TOOL
from agent_sdk.tools.ask_user_question import ask_user_question_tool
from agent_sdk.tools.schema import compile_check
from agent_sdk.values import Json, to_text

log = logging.getLogger("agent_sdk.sessions")

AgentPath: TypeAlias = str | Sequence[str]
"""Which agent asked: its path, or its steps joined by `/`. Empty: wherever the call is pending, if only once."""


class Inbox:
    """The parked calls of a store. `store=None` is the user's own (`SQLiteStore()`).

    Raises OptionsError for a store that keeps transcripts only. Every method raises SessionError when the store cannot
    be used.
    """

    def __init__(self, store: DeferralStore | None = None) -> None:
        chosen: DeferralStore = SQLiteStore() if store is None else store
        if not isinstance(chosen, DeferralStore):
            raise OptionsError(f"Inbox(store=...): {type(chosen).__name__} cannot park calls", option="store")
        self._store = chosen

    async def pending(
        self, session_id: str | None = None, *, after: str | None = None, limit: int = 100
    ) -> list[PendingApproval]:
        """The calls that wait for an answer, oldest first, at most `limit` of them.

        The next page begins `after` the last one's `cursor`. Raises SessionError for any other `after`.
        """
        return await self._store.pending(session_id, after=after, limit=limit)

    async def show(self, session_id: str, tool_use_id: str, agent_path: AgentPath = ()) -> PendingApproval:
        """One parked call, answered or expired ones too, until its session goes on.

        Raises DeferralError when no such call is parked, and when several are and `agent_path` does not say which.
        """
        approval = await self._find(session_id, tool_use_id, agent_path)
        if approval is not None:
            return approval
        gone = await self._gone(session_id, tool_use_id, agent_path)
        why = "is not pending any more: its session went on" if gone else "was never pending"
        raise _error(f"call {tool_use_id} of session {session_id} {why}", session_id, tool_use_id)

    async def answer(
        self,
        session_id: str,
        tool_use_id: str,
        decision: Allow | Deny | None = None,
        *,
        result: ToolResult | Json = None,
        by: str | None = None,
        digest: str | None = None,
        agent_path: AgentPath = (),
    ) -> bool:
        """Answer a parked call: True for the first valid answer; False for a second, expired or superseded one.

        `decision` is a value, checked here: a changed input must fit the tool, answers their questions. `result` stands
        for running the tool: a ToolResult, a text, a list of content blocks, or any JSON value, which the model reads
        as JSON. `by` is stored with it; `digest`, when given, must be that of the call as it is pending now.

        Raises DeferralError, and stores nothing, unless exactly one of `decision` and `result` is given, for an id that
        was never pending or is pending more than once, for another digest, and for an input that does not fit.
        """
        answer = _answer(session_id, tool_use_id, decision, result, by)
        approval = await self._find(session_id, tool_use_id, agent_path)
        if approval is None:
            if await self._gone(session_id, tool_use_id, agent_path):
                return False
            raise _error(f"call {tool_use_id} of session {session_id} was never pending", session_id, tool_use_id)
        if isinstance(decision, Allow) and decision.updated_input is not None:
            _check_edit(approval, decision.updated_input)
        accepted = await self._store.answer(approval.key, answer, digest=digest or approval.digest)
        if not accepted and checks.is_expired(approval, await self._store.now()):
            log.warning("the answer to call %s of session %s came too late", tool_use_id, session_id)
        return accepted

    async def wait(self, session_id: str, timeout: timedelta) -> bool:
        """Wait until the session has an answer to resume with: True; or until the time is over: False."""
        return await self._store.wait(session_id, timeout)

    async def _find(self, session_id: str, tool_use_id: str, agent_path: AgentPath) -> PendingApproval | None:
        turn = await self._store.open_turn(session_id)
        found = [approval for key, approval in turn.pending.items() if _is_meant(key, tool_use_id, agent_path)]
        if len(found) > 1:
            paths = ", ".join(repr("/".join(approval.agent_path)) for approval in found)
            raise _error(
                f"call {tool_use_id} is pending more than once in session {session_id}; "
                f"say which one with agent_path: {paths}",
                session_id,
                tool_use_id,
            )
        return found[0] if found else None

    async def _gone(self, session_id: str, tool_use_id: str, agent_path: AgentPath) -> bool:
        parked = await self._store.parked(session_id, tool_use_id)
        return any(_is_meant(key, tool_use_id, agent_path) for key in parked)


def _is_meant(key: CallKey, tool_use_id: str, agent_path: AgentPath) -> bool:
    if key.tool_use_id != tool_use_id:
        return False
    if isinstance(agent_path, str):
        return agent_path in ("", "/".join(key.agent_path))
    return tuple(agent_path) in ((), key.agent_path)


def _answer(
    session_id: str, tool_use_id: str, decision: Allow | Deny | None, result: ToolResult | Json, by: str | None
) -> Answer:
    if (decision is None) == (result is None):
        raise _error("give exactly one of decision and result", session_id, tool_use_id)
    if result is not None:
        return Answer(result=_result(result), by=by)
    if not isinstance(decision, Allow | Deny):
        raise _error(f"decision is an Allow or a Deny, got {decision!r:.80}", session_id, tool_use_id)
    return Answer(decision=decision, by=by if by is not None else decision.by)


def _result(result: ToolResult | Json) -> ToolResult:
    if isinstance(result, ToolResult):
        return result
    if isinstance(result, str):
        return ToolResult(result)
    value = plain("result", result)
    blocks = [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
    if blocks and blocks == value and all(block.get("type") in ("text", "image") for block in blocks):
        return ToolResult(blocks)
    return ToolResult(to_text(value), value=value)


def _check_edit(approval: PendingApproval, update: Mapping[str, Json]) -> None:
    """What a person changed must fit. A tool that reads answers in its own way checks them when the session resumes."""
    problem: str | None = None
    if approval.questions:
        accept = ask_user_question_tool().accept if approval.tool_name == QUESTION_TOOL else None
        try:
            if accept is not None:
                accept(approval.tool_input, update)
        except ValueError as error:
            problem = str(error)
    elif approval.input_schema is not None:
        try:
            problem = compile_check(approval.input_schema)(update)
        except OptionsError as error:
            log.info("the changed input of %s is checked at resume only: %s", approval.tool_use_id, error)
    if problem is not None:
        raise _error(
            f"the answer to call {approval.tool_use_id} does not fit {approval.tool_name}: {problem}",
            approval.session_id,
            approval.tool_use_id,
        )


def _error(message: str, session_id: str, tool_use_id: str) -> DeferralError:
    return DeferralError(message, session_id=session_id, tool_use_id=tool_use_id)
