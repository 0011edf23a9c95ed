"""Decisions that are handed in when a session is resumed: checked as a whole, then stored like any other answer."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from agent_sdk.callables import shown_as
from agent_sdk.calls import ToolCall
from agent_sdk.decisions import Allow, Deny
from agent_sdk.errors import DeferralError
from agent_sdk.hooks.hear import Unfit
from agent_sdk.permissions.desk import fitted
from agent_sdk.session import Session
from agent_sdk.sessions.records import Answer, OpenTurn, PendingApproval
from agent_sdk.turn import Turn

log = logging.getLogger("agent_sdk.sessions")


async def check_decisions(
    session: Session, turn: Turn, stored: OpenTurn, decisions: Mapping[str, Allow | Deny]
) -> None:
    """Check every decision, then store all of them. A decision for an expired call is logged as late and not stored.

    Raises DeferralError, naming the id, for a wrong type, an id that is not pending, an input that does not fit, or
    answers under a wrong key; nothing is stored then.
    """
    if not isinstance(decisions, Mapping):
        raise DeferralError(f"decisions maps ids of calls to Allow or Deny, got {shown_as(decisions)}")
    now = await session.ledger.now()
    fitting: list[tuple[PendingApproval, Allow | Deny]] = []
    for name, decision in decisions.items():
        parked = _pending(session.id, stored, name)
        _check_one(session, parked, decision)
        if parked.expires_at is not None and parked.expires_at <= now:
            log.warning("the decision for %s came too late: the approval has expired", name)
            session.warn(f"the decision for {name} came too late: the approval has expired")
        else:
            fitting.append((parked, decision))
    deferral = session.ledger.deferral
    for parked, decision in fitting if deferral is not None else ():
        assert deferral is not None, "calls are parked only where the store can"
        if not await deferral.answer(parked.key, Answer(decision=decision, by=decision.by)):
            raise DeferralError(
                f"{parked.tool_use_id} was answered by somebody else meanwhile; resume without decisions to obey that",
                session_id=session.id,
                tool_use_id=parked.tool_use_id,
            )


def _pending(session_id: str, stored: OpenTurn, name: str) -> PendingApproval:
    *path, call_id = name.split("/") if isinstance(name, str) else [repr(name)]
    found = [
        parked
        for key, parked in stored.pending.items()
        if key.tool_use_id == call_id and (not path or list(key.agent_path) == path)
    ]
    if len(found) > 1:
        raise DeferralError(
            f"{call_id} is pending more than once; name it as agent-path/{call_id}",
            session_id=session_id,
            tool_use_id=call_id,
        )
    if not found or found[0].answer is not None:
        why = "has an answer already" if found else "is not pending"
        open_ids = ", ".join(key.tool_use_id for key, parked in stored.pending.items() if parked.answer is None)
        raise DeferralError(
            f"decisions: {name} {why}; pending: {open_ids or 'none'}", session_id=session_id, tool_use_id=call_id
        )
    return found[0]


def _check_one(session: Session, parked: PendingApproval, decision: object) -> None:
    if type(decision) not in (Allow, Deny):
        raise DeferralError(
            f"decisions[{parked.tool_use_id!r}] is an Allow or a Deny, got {shown_as(decision)}",
            session_id=session.id,
            tool_use_id=parked.tool_use_id,
        )
    tool = session.tools.get(parked.tool_name)
    if tool is None or not isinstance(decision, Allow) or decision.updated_input is None:
        return
    call = ToolCall(
        id=parked.tool_use_id,
        tool=parked.tool_name,
        said=parked.original_input,
        effective=parked.tool_input,
        cwd=parked.cwd,
    )
    try:
        fitted(tool, call, decision.updated_input)
    except Unfit as unfit:
        raise DeferralError(
            f"decisions[{parked.tool_use_id!r}]: the changed input does not fit: {unfit}",
            session_id=session.id,
            tool_use_id=parked.tool_use_id,
        ) from None
