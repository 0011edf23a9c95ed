"""Settle the calls of one turn: hear the hooks, judge, ask whoever must be asked, judge again what was changed.

Nothing runs here. When `settle` returns, every call has a verdict of allow, deny or defer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial

import anyio
from anyio.abc import TaskStatus

from agent_sdk.calls import ToolCall, ToolResult
from agent_sdk.config import PermissionMode
from agent_sdk.decisions import Allow, Ask, Considered, Deny, Verdict
from agent_sdk.hooks.hear import Heard, Scene, Unfit, hear
from agent_sdk.hooks.matcher import HookMatcher
from agent_sdk.permissions import messages
from agent_sdk.permissions.desk import Gates, Waiting, decide, fitted, is_question, refusal
from agent_sdk.permissions.elsewhere import Elsewhere
from agent_sdk.permissions.in_force import CurrentPolicy
from agent_sdk.permissions.judge import Case, find, judge, verdict_on
from agent_sdk.permissions.modes import stricter
from agent_sdk.permissions.snapshot import Snapshot
from agent_sdk.rules.files import Glance
from agent_sdk.tools.base import Tool
from agent_sdk.values import JsonObject


@dataclass(slots=True, kw_only=True)
class Docket:
    """One call on its way through the gates. `original` is the input before any rewrite, `mode` the permission mode in
    which it was first judged: a laxer one that comes later does not count for it. `parked` marks a call that was parked
    before: with nobody to ask it stays so; `unknown` one that was started before and whose outcome nobody knows.
    `elsewhere` is where it can be answered while a callback is asked.
    `requested` is what PermissionRequest hooks said when it was last asked. `target` is the file that the tool would
    open, links followed, as it was when the call was last judged.
    """

    call: ToolCall
    tool: Tool
    original: JsonObject
    heard: Heard | None = None
    requested: Heard | None = None
    verdict: Verdict | None = None
    version: int = -1
    mode: PermissionMode | None = None
    parked: bool = False
    unknown: bool = False
    elsewhere: Elsewhere | None = None
    target: str | None = None

    def keep_requested(self, heard: Heard) -> None:
        """Take note of what PermissionRequest hooks said."""
        self.requested = heard


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came of settling a turn, beside the verdicts.

    `stop` is the reason when a hook ended the run; `interrupted_by` is the id of the call whose denial interrupts.
    `contexts` and `notices` are in call order. `waited`: hooks or people took their time, the disk may have changed.
    """

    stop: str | None = None
    interrupted_by: str | None = None
    contexts: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    waited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The gates in front of the tools of one session.

    `target_state` tells what an approval of a call is bound to, `state_for` what one is bound to that was given for
    another input than was shown. `people` is entered while people are waited for.
    """

    gates: Gates
    policy: CurrentPolicy
    scene: Callable[[], Scene]
    target_state: Callable[[Tool, ToolCall], Awaitable[str | None]]
    state_for: Callable[[Tool, ToolCall, ToolCall, str | None], Awaitable[str | None]]
    people: AbstractContextManager[None]

    async def settle(self, dockets: Sequence[Docket], *, assistant_text: str = "") -> Outcome:
        """Give every docket a verdict. Never raises on account of a hook or callback."""
        outcome = Outcome()
        await self.policy.refresh()
        matchers = self.gates.hooks.get("PreToolUse", ())
        if matchers:
            await _side_by_side([self._hear_and_judge(docket, matchers) for docket in dockets])
        else:
            for docket in dockets:
                self._judge(docket)
        for docket in dockets:
            if docket.heard is not None:
                outcome.contexts += docket.heard.contexts
                outcome.notices += docket.heard.notices
                outcome.stop = docket.heard.stop if outcome.stop is None else outcome.stop
            _note_interrupt(outcome, docket)
        asked = [docket for docket in dockets if _asks(docket)]
        if asked and outcome.stop is None and outcome.interrupted_by is None:
            with self.people:
                await self._ask_all(asked, outcome, assistant_text)
        outcome.waited = bool(asked or matchers)
        if outcome.stop is None and outcome.interrupted_by is None:
            for docket in dockets:
                _deny_unsettled(docket)
        return outcome

    async def _hear_and_judge(self, docket: Docket, matchers: Sequence[HookMatcher]) -> None:
        """Hear the hooks and judge; when that is cancelled from inside, there is no verdict."""
        docket.heard = await hear(
            "PreToolUse",
            docket.call,
            matchers,
            self.scene(),
            lambda call, update: fitted(docket.tool, call, update),
        )
        docket.call = docket.heard.call
        self._judge(docket)

    def _judge(self, docket: Docket) -> None:
        snapshot = self._snapshot(docket)
        docket.verdict = _with_result(judge(case_of(docket, snapshot)), docket.heard)
        docket.version = snapshot.version
        docket.mode = snapshot.mode

    def _snapshot(self, docket: Docket) -> Snapshot:
        """The rules of this moment, in the stricter of the modes of then and now."""
        now = self.policy.snapshot
        if docket.mode is None or docket.mode == now.mode:
            return now
        return replace(now, mode=stricter(docket.mode, now.mode))

    async def _ask_all(self, dockets: Sequence[Docket], outcome: Outcome, assistant_text: str) -> None:
        limit = self.gates.max_parallel_prompts
        if limit == 1 or len(dockets) == 1:
            for docket in dockets:
                if outcome.interrupted_by is None and outcome.stop is None:
                    await self._ask(docket, assistant_text)
                    _note_interrupt(outcome, docket)
            return
        limiter = anyio.CapacityLimiter(limit or len(dockets) or 1)
        open_prompts: dict[str, anyio.CancelScope] = {}
        async with anyio.create_task_group() as group:

            async def ask(docket: Docket, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
                async with limiter:
                    task_status.started()
                    with anyio.CancelScope() as scope:
                        open_prompts[docket.call.id] = scope
                        await self._ask(docket, assistant_text)
                    open_prompts.pop(docket.call.id, None)
                    self._release([other for other in dockets if other.call.id in open_prompts], open_prompts)
                _note_interrupt(outcome, docket)
                if outcome.interrupted_by is not None or outcome.stop is not None:
                    group.cancel_scope.cancel()

            for docket in dockets:
                await group.start(ask, docket)  # one after the other: people see the calls in their order

    def _release(self, waiting: Sequence[Docket], open_prompts: Mapping[str, anyio.CancelScope]) -> None:
        """An answer may have added rules: settle the waiting calls that they cover, and close their prompts."""
        for docket in waiting:
            if docket.version != self.policy.snapshot.version:
                asked = docket.verdict
                self._judge(docket)
                if _asks(docket):
                    docket.verdict = asked  # the open prompt goes on, and its answer is awaited for this verdict
                else:
                    open_prompts[docket.call.id].cancel()

    async def _ask(self, docket: Docket, assistant_text: str) -> None:
        if docket.version != self.policy.snapshot.version:
            self._judge(docket)  # the rules changed while it waited: it may be settled by now
        if not _asks(docket) or docket.verdict is None:
            return
        asked = docket.verdict
        decided = await decide(self._waiting(docket, asked, assistant_text), self.gates)
        if docket.verdict is asked:  # else a rule settled it meanwhile, and this answer is late
            docket.verdict = decided
            await self.remember(docket)

    async def remember(self, docket: Docket) -> None:
        """Carry out what the answer asks to remember; the receipts go into the trace."""
        verdict = docket.verdict
        if verdict is None or verdict.behavior != "allow" or not isinstance(verdict.decision, Allow):
            return
        if verdict.decision.remember is None and verdict.decision.updated_permissions is None:
            return
        facts = docket.tool.facts(verdict.call.effective)
        reading = self.policy.snapshot.reading(verdict.call, verdict.call.effective, facts)
        receipts = await self.policy.remember(verdict.decision, reading)
        steps = tuple(Considered(step="remember", by=one.destination, note=str(one)) for one in receipts)
        if steps:
            docket.verdict = replace(verdict, trace=verdict.trace + steps)

    def _waiting(self, docket: Docket, asked: Verdict, assistant_text: str) -> Waiting:
        elsewhere = docket.elsewhere
        if elsewhere is not None and not elsewhere.shows(
            docket.call.digest(docket.tool.schema_digest, elsewhere.state)
        ):
            elsewhere = None
        return Waiting(
            case=case_of(docket, self._snapshot(docket)),
            tool=docket.tool,
            asked=asked,
            scene=self.scene,
            assistant_text=assistant_text,
            state=lambda call: self.target_state(docket.tool, call),
            state_for=partial(self.state_for, docket.tool),
            keep=docket.keep_requested,
            parked=docket.parked,
            elsewhere=elsewhere,
            recheck=partial(self._judge_anew, docket),
        )

    def _judge_anew(self, docket: Docket, shown: ToolCall, update: JsonObject | None) -> Verdict:
        """What would become of the call as it is `shown`, or of one with the input `update` in its place. Pure."""
        if update is None:
            return judge(case_of(docket, self._snapshot(docket), call=shown))
        try:
            call = shown.rewritten(fitted(docket.tool, shown, update))
        except Unfit as unfit:
            return Verdict(behavior="deny", call=shown, decision=Deny(), by="input", reason=str(unfit))
        changed = replace(docket, call=call, original=call.effective)
        return judge(case_of(changed, self._snapshot(docket)))

    def look_again(self, docket: Docket) -> tuple[Verdict, Glance | None]:
        """Judge a settled call once more, just before it would run; and what was seen of the disk for that. Pure.

        A person's yes stands unless a deny rule covers the call now; any other yes must be given anew: the verdict is
        `ask` when it is not.
        """
        verdict = docket.verdict
        assert verdict is not None, "only settled calls are looked at again"
        case = case_of(docket, self._snapshot(docket), call=verdict.call)
        ruling, seen = find(case)
        stands = verdict.by_person or verdict.by == "timeout"
        if stands and ruling[0].by != "deny_rules":
            return verdict, seen
        now = verdict_on(case, ruling)
        if not stands:
            return _with_result(now, docket.heard), seen
        step = replace(now.trace[-1], step="before_run")
        result = ToolResult(messages.RULE_DENIED, is_error=True)
        return replace(now, result=result, trace=(*verdict.trace, step)), seen

    async def ask_again(self, docket: Docket, asked: Verdict, *, otherwise: ToolResult | None = None) -> None:
        """Ask a person about a call whose approval no longer holds. Gives the docket its new verdict.

        `otherwise` is what the model reads when nobody is there to ask.
        """
        waiting = replace(self._waiting(docket, asked, ""), otherwise=otherwise)
        with self.people:
            docket.verdict = await decide(waiting, self.gates)
            await self.remember(docket)

    async def ask_about_change(self, docket: Docket) -> None:
        """The file that a call would write is not as it was shown: ask again, with the file as it is now."""
        before = docket.verdict
        assert before is not None, "only approved calls are asked about again"
        docket.call = before.call
        docket.elsewhere = None  # what is shown there is the file as it was
        reason = "the file has changed since this was approved"
        step = Considered(step="before_run", said="ask", by="target", note=reason)
        asked = replace(
            before,
            behavior="ask",
            decision=Ask(reason),
            by="changed",
            reason=reason,
            trace=(*before.trace, step),
            state=await self.target_state(docket.tool, before.call),  # if it is parked now, it waits for this file
        )
        await self.ask_again(docket, asked, otherwise=ToolResult(messages.FILE_CHANGED, is_error=True))


def case_of(docket: Docket, snapshot: Snapshot, *, call: ToolCall | None = None) -> Case:
    """The docket as the judge wants it; `call` is what a hook or person made of its call."""
    heard = docket.heard
    return Case(
        call=call or docket.call,
        original=docket.original,
        facts=docket.tool.facts(docket.call.effective),
        snapshot=snapshot,
        heard=heard.said if heard else None,
        heard_by=heard.by if heard else "",
        heard_trace=heard.trace if heard else (),
        answered=is_question(docket.tool) and docket.tool.is_answered(docket.call.effective),
    )


async def _side_by_side(jobs: list[Awaitable[None]]) -> None:
    """Await all, at the same time when there is more than one."""
    if len(jobs) == 1:
        await jobs[0]
        return

    async def run(job: Awaitable[None]) -> None:
        await job

    async with anyio.create_task_group() as group:
        for job in jobs:
            group.start_soon(run, job)


def _deny_unsettled(docket: Docket) -> None:
    """A gate whose task was cancelled from inside gave no answer, and no answer is no yes."""
    if docket.verdict is not None and docket.verdict.behavior != "ask":
        return
    step = Considered(step="gate", said="deny", note="its task was cancelled")
    trace = docket.verdict.trace if docket.verdict is not None else ()
    docket.verdict = Verdict(
        behavior="deny",
        call=docket.call,
        decision=Deny(),
        by="gate",
        reason="a gate was cancelled from inside",
        result=ToolResult(messages.check_failed("raised an error"), is_error=True),
        trace=(*trace, step),
    )


def _asks(docket: Docket) -> bool:
    return docket.verdict is not None and docket.verdict.behavior == "ask"


def _note_interrupt(outcome: Outcome, docket: Docket) -> None:
    verdict = docket.verdict
    if docket.requested is not None:
        outcome.notices += docket.requested.notices
        outcome.stop = docket.requested.stop if outcome.stop is None else outcome.stop
    if outcome.interrupted_by is None and verdict is not None and verdict.behavior == "deny":
        decision = verdict.decision
        if isinstance(decision, Deny) and decision.interrupt:
            outcome.interrupted_by = docket.call.id


def _with_result(verdict: Verdict, heard: Heard | None) -> Verdict:
    """Put into a judge's denial what the model will read."""
    if verdict.behavior != "deny":
        return verdict
    match verdict.by, verdict.decision:
        case "hook", Deny() as deny:
            result = refusal(deny, heard.fault if heard else None, heard.unfit if heard else None)
            if heard is not None and (heard.fault or heard.unfit):
                notes = [step.note for step in heard.trace if step.by == heard.by and step.note]
                verdict = replace(verdict, reason=f"hook {heard.by}: {notes[-1] if notes else heard.fault}")
        case "deny_rules", _:
            result = ToolResult(messages.RULE_DENIED, is_error=True)
        case "unreadable", _:
            result = ToolResult(messages.unreadable(verdict.reason), is_error=True)
        case _:
            result = ToolResult(messages.DONT_ASK_DENIED, is_error=True)
    return replace(verdict, result=result)
