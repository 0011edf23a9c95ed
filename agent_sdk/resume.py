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
from typing import TypeVar

from agent_sdk.answers import AtTheInbox, check_decisions
from agent_sdk.calls import CallKey, ToolCall, ToolResult
from agent_sdk.decisions import Allow, Ask, Considered, Deny, Verdict
from agent_sdk.endings import Ended, tool_unavailable
from agent_sdk.hooks.hear import Heard, Unfit, hear
from agent_sdk.messages import DeferredToolUse
from agent_sdk.permissions import messages
from agent_sdk.permissions.desk import fitted, refusal
from agent_sdk.permissions.judge import deny_rules
from agent_sdk.permissions.pipeline import Docket, case_of
from agent_sdk.session import Session
from agent_sdk.sessions.records import Answer, OpenTurn, PendingApproval, SettledCall
from agent_sdk.turn import Turn
from agent_sdk.values import JsonObject

log = logging.getLogger("agent_sdk.sessions")

Value = TypeVar("Value")


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
        return tool_unavailable(gone, f"the tool or folder of a parked call is gone: {gone[0].name}")
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
        self.settled = self._of_turn(stored.settled)
        self.pending = self._of_turn(stored.pending)
        self.done = self._of_turn(stored.done)
        self.began = self._of_turn({key: stored.effective[key] for key in stored.started})
        self.to_judge: list[Docket] = []
        turn.parked_before = dict(self.pending)
        turn.settled_before = {id_: settled for id_, settled in self.settled.items() if settled.result is not None}

    def _of_turn(self, stored: Mapping[CallKey, Value]) -> dict[str, Value]:
        return {key.tool_use_id: value for key, value in stored.items() if key.message_uuid == self.turn.message_uuid}

    def unavailable(self) -> list[DeferredToolUse]:
        """Approved or waiting calls whose tool or folder is gone. With a new prompt they are superseded instead, and
        with `on_tool_changed="deny"` denied."""
        if self.superseded or self.session.options.on_tool_changed == "deny":
            return []
        waiting = [(p.tool_use_id, p.tool_name, p.original_input, p.cwd) for p in self.pending.values()]
        waiting += [
            (s.key.tool_use_id, s.tool, s.effective, s.cwd)
            for s in self.settled.values()
            if s.result is None and s.by_person and s.key.tool_use_id not in self.began
        ]
        return [
            DeferredToolUse(call_id, name, tool_input)
            for call_id, name, tool_input, cwd in waiting
            if call_id not in self.done and self._is_gone(name, cwd)
        ]

    def _is_gone(self, tool_name: str, cwd: str) -> bool:
        return tool_name not in self.session.tools or not os.path.isdir(cwd)

    async def place(self, call_id: str) -> None:
        """Give the call its result or verdict, or put it among those that are judged from the start."""
        docket, parked, settled = self.turn.dockets.get(call_id), self.pending.get(call_id), self.settled.get(call_id)
        if settled is not None and settled.result is not None:
            self.turn.results[call_id] = settled.result
        elif (result := self.done.get(call_id)) is not None:
            self.turn.results[call_id] = result
        elif docket is None:
            pass  # its tool is unknown or its input does not fit: it has its error result
        elif not self.session.ledger.can_park:
            self._refuse(docket, messages.UNKNOWN_OUTCOME)  # no journal: nobody can say whether it ran
        elif call_id in self.began:
            await self._unknown(docket, self.began[call_id], settled, parked)
        elif parked is not None:
            await self._parked(docket, parked)
        elif settled is not None and settled.by_person:
            await self._approved(docket, settled)
        elif self.superseded:
            self._refuse(docket, messages.SUPERSEDED)
        else:
            self.to_judge.append(docket)

    async def _approved(self, docket: Docket, settled: SettledCall) -> None:
        """A person's yes that was stored before the call could begin."""
        if self._changed(docket, settled.effective, settled.digest, settled.cwd):
            if self.session.options.on_tool_changed == "deny" or self.superseded:
                self._refuse(docket, messages.TOOL_CHANGED)
            else:
                self.to_judge.append(docket)
            return
        answer = Answer(decision=_allow(settled))
        await self._answered(docket, settled.effective, answer, settled.cwd, settled.state)

    async def _parked(self, docket: Docket, parked: PendingApproval) -> None:
        docket.parked = True
        docket.unknown = parked.unknown
        answer = parked.answer
        if self._changed(docket, parked.tool_input, parked.digest, parked.cwd, parked.state):
            if self.session.options.on_tool_changed == "deny":
                return self._refuse(docket, messages.TOOL_CHANGED)
            if answer is not None:
                self.session.warn(f"the tool {parked.tool_name} has changed: the stored answer is void, ask anew")
            answer = None
        elif (deferral := self.session.ledger.deferral) is not None:
            docket.elsewhere = AtTheInbox(deferral, parked)
        if answer is not None:
            await self._answered(docket, parked.tool_input, answer, parked.cwd, parked.state)
        elif parked.expires_at is not None and parked.expires_at <= self.now:
            self._refuse(docket, messages.EXPIRED)
        elif self.superseded:
            self._refuse(docket, messages.UNKNOWN_OUTCOME if parked.unknown else messages.SUPERSEDED)
        elif parked.unknown:
            await self._ask_about_unknown(docket, parked.tool_input, parked.cwd)
        else:
            self.to_judge.append(docket)
        return None

    def _changed(self, docket: Docket, effective: JsonObject, digest: str, cwd: str, state: str | None = None) -> bool:
        """Whether the tool is another one than that which was shown, or the folder in which it would run is gone."""
        now = docket.call.rewritten(effective).digest(docket.tool.schema_digest, state)
        return digest != now or not os.path.isdir(cwd)

    async def _answered(
        self, docket: Docket, effective: JsonObject, answer: Answer, cwd: str, state: str | None
    ) -> None:
        """A person's answer holds, unless a deny rule or a hook says no now. A hook's rewrite is not taken."""
        call = replace(docket.call, effective=effective, cwd=cwd)
        docket.call = call
        by, who = answer.by or "answer", answer.by or "an answer"
        step = Considered(step="answer", said="deny" if isinstance(answer.decision, Deny) else "allow", by=by)
        asked = Verdict(behavior="ask", call=call, decision=Ask(), by="answer", trace=(step,))
        docket.verdict = replace(asked, behavior="allow", decision=Allow(), state=state)
        match answer.decision:
            case Deny() as deny:
                result = messages.denial(deny, messages.PERSON_DENIED)
                docket.verdict = replace(asked, behavior="deny", decision=deny, reason=f"{who} said no", result=result)
                self.turn.aborted = self.turn.aborted or deny.interrupt
                return
            case Allow(updated_input=update) as allow:
                if update is not None:
                    try:
                        call = call.rewritten(fitted(docket.tool, call, update))
                    except Unfit as unfit:
                        return self._refuse(docket, messages.bad_rewrite(str(unfit)))
                    state = await self.session.state_for(docket.tool, call, docket.call, state)
                    docket.verdict = replace(docket.verdict, state=state)
                docket.verdict = replace(docket.verdict, call=call, decision=allow, reason=f"{who} said yes")
        if self.turn.aborted:
            return None  # a denial before this one has stopped the turn
        if (found := deny_rules(replace(case_of(docket, self.session.policy.snapshot), call=call))) is not None:
            log.warning("the deny rule %s covers the answered call %s: denied", found.rule, call.id)
            return self._refuse(docket, messages.RULE_DENIED)
        if await self._hooks_deny(docket, call):
            return None
        if answer.result is not None:
            docket.verdict = replace(docket.verdict, result=answer.result)
        elif docket.unknown:
            await self.session.ledger.restart(call.key)
        await self.session.pipeline.remember(docket)
        return None

    async def _hooks_deny(self, docket: Docket, call: ToolCall) -> bool:
        """Let the hooks hear a call that a person decides or decided: of what they say only a no counts."""
        heard = await self._hear(docket, call)
        if not isinstance(heard.said, Deny):
            return False
        result = refusal(heard.said, heard.fault, heard.unfit)
        docket.verdict = Verdict(
            behavior="deny", call=call, decision=heard.said, by="hook", reason=f"hook {heard.by} denied",
            result=result, trace=heard.trace,
        )  # fmt: skip
        return True

    async def _hear(self, docket: Docket, call: ToolCall) -> Heard:
        matchers = self.session.hooks.get("PreToolUse", ())
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
        self, docket: Docket, began_with: JsonObject, settled: SettledCall | None, parked: PendingApproval | None
    ) -> None:
        """It was started and has no result: it never runs again by itself, unless its tool says that it may."""
        if parked is not None and parked.unknown and parked.answer is not None:
            return await self._parked(docket, parked)  # a person knows of it, and has answered
        docket.unknown = True
        if docket.tool.idempotent and not self.superseded:
            await self.session.ledger.restart(docket.call.key)
            docket.unknown = False
            if settled is not None and settled.by_person:
                await self._approved(docket, settled)
            else:
                self.to_judge.append(docket)
            return None
        asks = self.session.options.on_unknown or ("ask" if self.session.options.can_use_tool else "report")
        if self.superseded or (asks == "report" and parked is None):
            self._refuse(docket, messages.UNKNOWN_OUTCOME)
        elif parked is not None and parked.unknown:
            await self._parked(docket, parked)
        else:
            cwd = settled.cwd if settled is not None else docket.call.cwd
            await self._ask_about_unknown(docket, began_with, cwd)
        return None

    async def _ask_about_unknown(self, docket: Docket, began_with: JsonObject, cwd: str) -> None:
        """Ask a person, with the input that it was started with, whether it may run again."""
        reason = "it was started before and its outcome is unknown: running it again may do it twice"
        docket.unknown = docket.parked = True
        docket.call = replace(docket.call, effective=began_with, cwd=cwd)
        if await self._hooks_deny(docket, docket.call):
            return
        asked = Verdict(behavior="ask", call=docket.call, decision=Ask(reason), by="unknown", reason=reason)
        with self.session.interrupt.guard():
            await self.session.pipeline.ask_again(docket, asked)
        self.turn.note_asked(docket)
        verdict = docket.verdict
        if verdict is not None and verdict.behavior == "allow" and verdict.result is None:
            await self.session.ledger.restart(docket.call.key)

    def _refuse(self, docket: Docket, text: str) -> None:
        result = ToolResult(text, is_error=True)
        step = Considered(step="resume", said="deny", note=text)
        docket.verdict = Verdict(
            behavior="deny", call=docket.call, decision=Deny(), by="resume", reason=text, result=result, trace=(step,)
        )


def _allow(settled: SettledCall) -> Allow:
    note = (settled.note or {}).get("note")
    if isinstance(note, str):
        return Allow(note=note)
    return (
        Allow(note=[dict(block) for block in note if isinstance(block, Mapping)]) if isinstance(note, list) else Allow()
    )
