"""Enter a turn with what is stored of it instead of a model message: answers, results, and what is still open.

Nothing runs here. `reenter` builds the turn: every call gets its result, its verdict, or waits on; the loop does the
rest, the same as for a fresh turn.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from agent_sdk.answers import check_decisions
from agent_sdk.calls import ToolCall, ToolResult
from agent_sdk.decisions import Allow, Ask, Considered, Deny, Verdict
from agent_sdk.endings import Ended, tool_unavailable
from agent_sdk.hooks.hear import Heard, Unfit, hear
from agent_sdk.messages import DeferredToolUse
from agent_sdk.permissions import messages
from agent_sdk.permissions.desk import fitted, refusal
from agent_sdk.permissions.judge import deny_rules
from agent_sdk.permissions.pipeline import Docket, case_of
from agent_sdk.session import Session, target_of
from agent_sdk.sessions.records import Answer, OpenTurn, PendingApproval, SettledCall
from agent_sdk.tools.base import Tool
from agent_sdk.turn import Turn
from agent_sdk.values import JsonObject

log = logging.getLogger("agent_sdk.sessions")


async def reenter(
    session: Session, turn: Turn, decisions: Mapping[str, Allow | Deny] | None, *, superseded: bool
) -> Ended | None:
    """Prepare an open turn to be finished. Returns how the run ends when it cannot be.

    `decisions` are checked as a whole before any is stored, and count like answers from elsewhere. `superseded`: a new
    prompt came, so what is still open gets an error result. Raises DeferralError for a decision that does not fit.
    """
    stored = await session.ledger.open_turn()
    if decisions:
        await check_decisions(session, turn, stored, decisions)
        stored = await session.ledger.open_turn()
    now = await session.ledger.now()
    turn.admit()
    reentry = _Reentry(session, turn, stored, now, superseded)
    if gone := reentry.unavailable():
        uses = [DeferredToolUse(p.tool_use_id, p.tool_name, p.original_input) for p in gone]
        return tool_unavailable(uses, f"the tool or folder of a parked call is gone: {gone[0].tool_name}")
    for call_id in turn.ids:
        await reentry.place(call_id)
    await turn.settle([docket for docket in reentry.to_judge if docket.call.id not in turn.results])
    turn.take_verdicts()
    return None


class _Reentry:
    """Puts each call of a stored turn where it belongs."""

    def __init__(self, session: Session, turn: Turn, stored: OpenTurn, now: datetime, superseded: bool) -> None:
        self.session = session
        self.turn = turn
        self.now = now
        self.superseded = superseded
        self.settled = {
            key.tool_use_id: value for key, value in stored.settled.items() if self._is_ours(key.message_uuid)
        }
        self.pending = {
            key.tool_use_id: value for key, value in stored.pending.items() if self._is_ours(key.message_uuid)
        }
        self.done = {key.tool_use_id: value for key, value in stored.done.items() if self._is_ours(key.message_uuid)}
        self.started = {key.tool_use_id for key in stored.started if self._is_ours(key.message_uuid)}
        self.started_with = {
            key.tool_use_id: value for key, value in stored.effective.items() if self._is_ours(key.message_uuid)
        }
        self.to_judge: list[Docket] = []
        turn.parked_before = dict(self.pending)
        turn.settled_before = {id_: settled for id_, settled in self.settled.items() if settled.result is not None}

    def _is_ours(self, message_uuid: str) -> bool:
        return message_uuid == self.turn.message_uuid

    def unavailable(self) -> list[PendingApproval]:
        """Parked calls whose tool, or whose folder, is gone. With a new prompt they are superseded instead."""
        if self.superseded:
            return []
        return [
            parked
            for call_id, parked in self.pending.items()
            if call_id not in self.done
            and (parked.tool_name not in self.session.tools or not os.path.isdir(parked.cwd))
        ]

    async def place(self, call_id: str) -> None:
        """Give the call its result or verdict, or put it among those that are judged from the start."""
        docket, parked, settled = self.turn.dockets.get(call_id), self.pending.get(call_id), self.settled.get(call_id)
        stored_input = self.started_with.get(call_id)
        if (result := self.done.get(call_id)) is not None:
            self.turn.results[call_id] = result
        elif settled is not None and settled.result is not None:
            self.turn.results[call_id] = settled.result
        elif docket is None:
            pass  # its tool is unknown or its input does not fit: it has its error result
        elif call_id in self.started and not (parked is not None and parked.unknown and parked.answer is not None):
            await self._unknown(docket, settled, parked, stored_input)
        elif parked is not None:
            await self._parked(docket, parked)
        elif settled is not None and settled.by_person:
            await self._answered(
                docket, settled.effective, Answer(decision=_allow(settled)), settled.cwd, settled.state
            )
        elif self.superseded:
            self._refuse(docket, messages.SUPERSEDED)
        else:
            self.to_judge.append(docket)

    async def _parked(self, docket: Docket, parked: PendingApproval) -> None:
        docket.parked = True
        docket.unknown = parked.unknown
        answer = parked.answer
        if parked.digest != _digest(docket.tool, docket.call, parked.tool_input):
            if self.session.options.on_tool_changed == "deny":
                return self._refuse(docket, "Not run: the tool has changed since this call was parked.")
            if answer is not None:
                self.session.warn(f"the tool {parked.tool_name} has changed: the stored answer is void, ask anew")
            answer = None
        if answer is not None:
            await self._answered(docket, parked.tool_input, answer, parked.cwd, parked.state)
        elif parked.expires_at is not None and parked.expires_at <= self.now:
            self._refuse(docket, messages.EXPIRED)
        elif self.superseded:
            self._refuse(docket, messages.SUPERSEDED)
        elif parked.unknown:
            await self._ask_about_unknown(docket)
        else:
            self.to_judge.append(docket)
        return None

    async def _answered(
        self, docket: Docket, effective: JsonObject, answer: Answer, cwd: str, state: str | None
    ) -> None:
        """A person's answer holds, unless a deny rule or a hook says no now. A hook's rewrite is not taken."""
        call = replace(docket.call, effective=effective, cwd=cwd)
        docket.call = call
        by = answer.by or "answer"
        step = Considered(step="answer", said="deny" if isinstance(answer.decision, Deny) else "allow", by=by)
        asked = Verdict(behavior="ask", call=call, decision=Ask(), by="answer", trace=(step,))
        docket.verdict = replace(asked, behavior="allow", decision=Allow(), state=state)
        match answer.decision:
            case Deny() as deny:
                result = messages.denial(deny, messages.PERSON_DENIED)
                docket.verdict = replace(
                    asked, behavior="deny", decision=deny, reason="the person said no", result=result
                )
                self.turn.aborted = self.turn.aborted or deny.interrupt
                return
            case Allow(updated_input=update) as allow:
                if update is not None:
                    try:
                        call = call.rewritten(fitted(docket.tool, call, update))
                    except Unfit as unfit:
                        return self._refuse(docket, messages.bad_rewrite(str(unfit)))
                    if target_of(docket.tool, call) != target_of(docket.tool, docket.call):
                        docket.verdict = replace(docket.verdict, state=None)  # another file than was shown
                docket.verdict = replace(docket.verdict, call=call, decision=allow, reason="the person said yes")
        if self.turn.aborted:
            return None  # a denial before this one has stopped the turn
        if (found := deny_rules(replace(case_of(docket, self.session.policy.snapshot), call=call))) is not None:
            log.warning("the deny rule %s covers the answered call %s: denied", found.rule, call.id)
            return self._refuse(docket, messages.RULE_DENIED)
        heard = await self._hear(docket, call)
        if isinstance(heard.said, Deny):
            result = refusal(heard.said, heard.fault, heard.unfit)
            docket.verdict = replace(asked, behavior="deny", decision=heard.said, by="hook", result=result)
        elif answer.result is not None:
            docket.verdict = replace(docket.verdict, result=answer.result)
        await self.session.pipeline.remember(docket)
        if docket.unknown or call.id in self.started:
            await self.session.ledger.restart(call.key)
        return None

    async def _hear(self, docket: Docket, call: ToolCall) -> Heard:
        matchers = self.session.options.matchers.get("PreToolUse", ())
        if not matchers:
            return Heard(call=call)
        scene = self.session.scene()
        heard = Heard(call=call)
        with self.session.interrupt.guard():
            heard = await hear(
                "PreToolUse", call, matchers, scene, lambda call, update: fitted(docket.tool, call, update)
            )
        self.turn.aborted = self.turn.aborted or self.session.interrupt.requested
        self.session.arrive(*heard.contexts)
        for notice in heard.notices:
            self.session.tell("hook_message", message=notice)
        self.turn.stop = heard.stop if self.turn.stop is None else self.turn.stop
        if heard.rewritten_by:
            self.session.warn(f"hook {heard.rewritten_by} changed the input of an answered call: ignored, {call.id}")
        return heard

    async def _unknown(
        self,
        docket: Docket,
        settled: SettledCall | None,
        parked: PendingApproval | None,
        started_with: JsonObject | None,
    ) -> None:
        """It was started and has no result: it never runs again by itself, unless its tool says that it may."""
        docket.unknown = True
        if started_with is not None and not docket.tool.idempotent:
            docket.call = docket.call.rewritten(started_with)
        docket.parked = parked is not None
        if docket.tool.idempotent and not self.superseded:
            answer = parked.answer if parked is not None else None
            if answer is not None and parked is not None:
                await self._answered(docket, parked.tool_input, answer, parked.cwd, parked.state)
            elif settled is not None and settled.by_person:
                decision = Answer(decision=_allow(settled))
                await self._answered(docket, settled.effective, decision, settled.cwd, settled.state)
            else:
                await self.session.ledger.restart(docket.call.key)
                self.to_judge.append(docket)
            return
        asks = self.session.options.on_unknown or ("ask" if self.session.options.can_use_tool else "report")
        if asks == "report" or self.superseded:
            self._refuse(docket, messages.UNKNOWN_OUTCOME)
        else:
            await self._ask_about_unknown(docket)

    async def _ask_about_unknown(self, docket: Docket) -> None:
        reason = "it was started before and its outcome is unknown: running it again may do it twice"
        docket.unknown = docket.parked = True
        asked = Verdict(behavior="ask", call=docket.call, decision=Ask(reason), by="unknown", reason=reason)
        with self.session.interrupt.guard():
            await self.session.pipeline.ask_again(docket, asked)
        self.turn.note_asked(docket)
        if docket.verdict is not None and docket.verdict.behavior == "allow":
            await self.session.ledger.restart(docket.call.key)

    def _refuse(self, docket: Docket, text: str) -> None:
        result = ToolResult(text, is_error=True)
        step = Considered(step="resume", said="deny", note=text)
        docket.verdict = Verdict(
            behavior="deny", call=docket.call, decision=Deny(), by="resume", reason=text, result=result, trace=(step,)
        )


def _digest(tool: Tool, call: ToolCall, effective: JsonObject) -> str:
    return call.rewritten(effective).digest(tool.schema_digest)


def _allow(settled: SettledCall) -> Allow:
    note = (settled.note or {}).get("note")
    if isinstance(note, str):
        return Allow(note=note)
    return (
        Allow(note=[dict(block) for block in note if isinstance(block, Mapping)]) if isinstance(note, list) else Allow()
    )
