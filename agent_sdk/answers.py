"""Answers to parked calls: those handed in at a resume, and those that come in while its callback is asking."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta

import anyio

from agent_sdk.callables import shown_as
from agent_sdk.calls import ToolCall
from agent_sdk.decisions import Allow, Deny
from agent_sdk.errors import DeferralError, SessionError
from agent_sdk.hooks.hear import Unfit
from agent_sdk.permissions.desk import fitted
from agent_sdk.session import Session
from agent_sdk.sessions.records import Answer, OpenTurn, PendingApproval
from agent_sdk.sessions.store import DeferralStore
from agent_sdk.turn import Turn

log = logging.getLogger("agent_sdk.sessions")

_A_WHILE = timedelta(hours=1)


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


class AtTheInbox:
    """A parked call whose answer may come in through the store while a callback is asking (`Elsewhere`)."""

    def __init__(self, deferral: DeferralStore, parked: PendingApproval) -> None:
        self.state = parked.state
        self._deferral = deferral
        self._parked = parked

    def shows(self, digest: str) -> bool:
        """Whether the call is parked with this tool and input."""
        return digest == self._parked.digest

    async def answered(self) -> Answer | None:
        """The stored answer, if there is one."""
        answer, _ = await self._look()
        return answer

    async def heard(self) -> Answer:
        """Wait for an answer. When the store fails, none will come: the callback is asked all the same."""
        try:
            while True:
                answer, seen = await self._look()
                if answer is not None:
                    return answer
                await self._deferral.wait(self._parked.session_id, _A_WHILE, seen=seen)
        except SessionError as error:
            log.warning("answers from elsewhere to %s are not heard: %s", self._parked.tool_use_id, error)
            await anyio.sleep_forever()
            raise AssertionError("for ever has no end") from None

    async def first(self, decision: Allow | Deny) -> Answer | None:
        """Store the callback's decision, unless another answer was first: then that one."""
        digest = self._parked.digest
        if await self._deferral.answer(self._parked.key, Answer(decision=decision, by=decision.by), digest=digest):
            return None
        return await self.answered()

    async def _look(self) -> tuple[Answer | None, int]:
        pending = (await self._deferral.open_turn(self._parked.session_id)).pending
        seen = sum(parked.answer is not None for parked in pending.values())
        own = pending.get(self._parked.key)
        return (None if own is None else own.answer), seen
