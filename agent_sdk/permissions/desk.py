"""The desk: one call that a person must decide. PermissionRequest hooks first, then the callback, then nobody.

Whatever goes wrong here is a no: the tool does not run, the model gets a short error, the application the details.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from time import perf_counter
from typing import Literal, TypeVar

from agent_sdk.callables import name_of, shown_as, told_error, traceable
from agent_sdk.calls import ToolCall, ToolResult
from agent_sdk.config import AskUserQuestionConfig
from agent_sdk.decisions import (
    Allow,
    CanUseTool,
    Considered,
    Defer,
    Deny,
    PermissionContext,
    PermissionUpdate,
    Trace,
    Verdict,
)
from agent_sdk.hooks.events import HookEvent
from agent_sdk.hooks.hear import FaultKind, Heard, Scene, Unfit, behavior_of, hear
from agent_sdk.hooks.matcher import HookMatcher
from agent_sdk.permissions import messages
from agent_sdk.permissions.elsewhere import Elsewhere, ask_beside
from agent_sdk.permissions.judge import Case, deny_rules, must_ask
from agent_sdk.rules.suggestions import suggest
from agent_sdk.sessions.records import Answer
from agent_sdk.tools.ask_user_question import nobody_result, unanswered_result
from agent_sdk.tools.base import Tool
from agent_sdk.values import JsonObject, LazySequence, copied_object

log = logging.getLogger("agent_sdk.permissions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """Who decides, and for how long they may think."""

    hooks: Mapping[HookEvent, Sequence[HookMatcher]]
    can_use_tool: CanUseTool | None = None
    approval_timeout: float | None = None
    on_timeout: Literal["deny", "defer"] = "deny"
    questions: AskUserQuestionConfig
    max_parallel_prompts: int | None = 1

    def time_limit(self, tool: Tool) -> float | None:
        """Seconds that one callback may take for a call of this tool."""
        return self.questions.timeout if is_question(tool) else self.approval_timeout


@dataclass(slots=True, kw_only=True)
class Waiting:
    """A call that waits for a person: why, and how to judge it again.

    `steps` grows with what was considered since: it follows the trace of `asked`. `keep` is handed what
    PermissionRequest hooks said. `parked`: it was parked before, so with nobody to ask it stays parked. `otherwise` is
    what the model reads when nobody is there, instead of the usual words. `elsewhere` is where a parked call can be
    answered at the same time.
    """

    case: Case
    tool: Tool
    asked: Verdict
    scene: Callable[[], Scene]
    assistant_text: str = ""
    parked: bool = False
    otherwise: ToolResult | None = None
    elsewhere: Elsewhere | None = None
    state: Callable[[ToolCall], Awaitable[str | None]]
    keep: Callable[[Heard], None]
    state_for: Callable[[ToolCall, ToolCall, str | None], Awaitable[str | None]]
    recheck: Callable[[ToolCall, JsonObject | None], Verdict]
    steps: list[Considered] = field(default_factory=list)

    @property
    def trace(self) -> Trace:
        """All that was considered so far."""
        return (*self.asked.trace, *self.steps)


class WrongAnswer(Unfit):
    """The answers to a question do not fit it: the question is still open."""


_Settled = TypeVar("_Settled", Verdict, Verdict | WrongAnswer)


def is_question(tool: Tool) -> bool:
    """Whether the tool asks the person itself, so that an answer is part of its input."""
    return tool.accept is not None


def fitted(tool: Tool, call: ToolCall, update: JsonObject) -> JsonObject:
    """The input that would run when a hook or person hands back `update`. Raises Unfit, or WrongAnswer."""
    fresh: JsonObject = copied_object(update)
    if tool.accept is not None:
        try:
            fresh = tool.accept(call.effective, fresh)
        except ValueError as error:
            raise WrongAnswer(str(error)) from None
        except Exception as error:
            log.error("the tool %s cannot take an answer over", tool.name, exc_info=error)
            raise Unfit(f"{tool.name} could not take the answer over") from None
    if (problem := tool.fault_in(fresh)) is not None:
        raise Unfit(problem)
    return fresh


async def decide(waiting: Waiting, gates: Gates) -> Verdict:
    """Settle a call that must be asked. The verdict is allow, deny or defer, never ask."""
    matchers = gates.hooks.get("PermissionRequest", ())
    if matchers:
        call = waiting.case.call
        shown = await waiting.state(call)
        heard = await hear(
            "PermissionRequest",
            call,
            matchers,
            waiting.scene(),
            lambda call, update: fitted(waiting.tool, call, update),
            suggestions=LazySequence(lambda: [one.to_dict() for one in _suggestions(waiting) if one.rung == 0]),
        )
        waiting.keep(heard)
        waiting.steps.extend(heard.trace)
        if heard.stop is not None:
            result = ToolResult(heard.stop, is_error=True)
            reason = f"a hook stopped the run: {heard.stop}"
            return settled(waiting, "deny", Deny(heard.stop), "permission_request", reason, result=result)
        if (verdict := _request_hooks_decide(waiting, heard, shown)) is not None:
            return await _bound(waiting, verdict)
        if isinstance(heard.said, Allow) and heard.rewritten_by:
            waiting = replace(waiting, case=replace(waiting.case, call=heard.call))
    if gates.can_use_tool is not None:
        return await _ask_callback(waiting, gates, gates.can_use_tool)
    return _nobody(waiting, gates)


def _request_hooks_decide(waiting: Waiting, heard: Heard, shown: str | None) -> Verdict | None:
    """What the PermissionRequest hooks decided about the file as it was `shown`, or None when the callback must."""
    by, reason = "permission_request", f"hook {heard.by}"
    match heard.said:
        case Deny() as deny:
            result = refusal(deny, heard.fault, heard.unfit)
            return settled(waiting, "deny", deny, by, reason, result=result)
        case Defer() as defer:
            return settled(waiting, "defer", defer, by, defer.reason or reason, state=shown)
        case Allow() as allow:
            case = replace(waiting.case, call=heard.call)
            if (found := deny_rules(case)) is not None:
                return denied_by_rule(waiting, case.call, found.rule, found.reason)
            needs_answer = is_question(waiting.tool) and not _answered(waiting.tool, case.call)
            if needs_answer or (heard.rewritten_by and _ask_rule_covers(case)):
                return None
            return settled(waiting, "allow", allow, by, reason, call=case.call, state=shown)
    return None


def _ask_rule_covers(case: Case) -> bool:
    finding = must_ask(case)
    return finding is not None and finding.by == "ask_rules"


def _answered(tool: Tool, call: ToolCall) -> bool:
    return tool.is_answered(call.effective)


async def _ask_callback(waiting: Waiting, gates: Gates, callback: CanUseTool) -> Verdict:
    """Ask the callback; an answer that does not fit the question is asked for once more."""
    verdict = await _ask_once(waiting, gates, callback)
    if isinstance(verdict, WrongAnswer):
        log.error("can_use_tool gave an answer that does not fit, asking once more: %s", verdict)
        verdict = await _ask_once(waiting, gates, callback)
    if isinstance(verdict, WrongAnswer):
        log.error("can_use_tool gave an answer that does not fit, denied: %s", verdict)
        result = refusal(Deny(), "gave an invalid answer", None)
        return settled(waiting, "deny", Deny(), "callback_failed", str(verdict), result=result)
    return verdict


async def _ask_once(waiting: Waiting, gates: Gates, callback: CanUseTool) -> Verdict | WrongAnswer:
    call, limit = waiting.case.call, gates.time_limit(waiting.tool)
    shown = await waiting.state(call)
    context = _context(waiting, limit)
    handed = copied_object(call.effective)
    started = perf_counter()
    came = await ask_beside(waiting.elsewhere, lambda: callback(call.tool, handed, context), limit)
    if isinstance(came, Answer):
        return await _bound(waiting, _answered_elsewhere(waiting, came))
    said = came.value
    fault: FaultKind | None = None
    details = ""
    if came.error is not None:
        fault, details = "raised an error", told_error(came.error)
        log.error("can_use_tool raised an error for %s", call.tool, exc_info=traceable(came.error))
    elif came.late:
        fault, details = "timed out", f"no answer within {limit} s"
    elif type(said) not in (Allow, Deny, Defer):  # isinstance would believe a mock, and a subclass that checks nothing
        fault, details = "gave an invalid answer", f"returned {shown_as(said)}"
        log.error("can_use_tool must return Allow, Deny or Defer; for %s it returned %s", call.tool, shown_as(said))
    took_us = int((perf_counter() - started) * 1_000_000)
    waiting.steps.append(_callback_step(callback, said, fault, details, took_us))
    if fault == "timed out":
        return _timed_out(waiting, gates, limit or 0.0)
    if fault is not None:
        return settled(waiting, "deny", Deny(), "callback_failed", details, result=refusal(Deny(), fault, None))
    if isinstance(said, Allow) and said.updated_input is None and _differs(handed, call.effective):
        log.warning(
            "can_use_tool changed its tool_input for %s in place: that has no effect; return Allow(updated_input=...)",
            call.tool,
        )
    verdict = _obeyed(waiting, said, shown, "can_use_tool")
    if (other := await _first_elsewhere(waiting, said, verdict)) is not None:
        return await _bound(waiting, _answered_elsewhere(waiting, other))
    return await _bound(waiting, verdict)


async def _bound(waiting: Waiting, verdict: _Settled) -> _Settled:
    """A yes for another input than was shown: what that one is bound to."""
    shown = waiting.case.call
    if not isinstance(verdict, Verdict) or verdict.behavior != "allow" or verdict.call is shown:
        return verdict
    return replace(verdict, state=await waiting.state_for(verdict.call, shown, verdict.state))


def _differs(handed: JsonObject, effective: JsonObject) -> bool:
    """Whether a callback changed its copy of the input. Whatever it put there may fail to be compared."""
    try:
        return bool(handed != effective)
    except Exception:
        return True


async def _first_elsewhere(waiting: Waiting, said: object, verdict: Verdict | WrongAnswer) -> Answer | None:
    """Store what the callback decided where the call can be answered too; the other answer when one was first."""
    if waiting.elsewhere is None or not isinstance(said, Allow | Deny):
        return None
    decided = isinstance(verdict, Verdict) and verdict.by == "callback"
    return await waiting.elsewhere.first(said) if decided else None


def _answered_elsewhere(waiting: Waiting, answer: Answer) -> Verdict | WrongAnswer:
    """A person answered this call at another place, and was first. It counts like the callback's answer."""
    shown = waiting.elsewhere.state if waiting.elsewhere is not None else None
    decision = answer.decision or Allow()
    step = Considered(step="answer", said=behavior_of(decision), by=answer.by or "answer")
    waiting.steps.append(step)
    verdict = _obeyed(waiting, decision, shown, answer.by or "an answer")
    if answer.result is not None and isinstance(verdict, Verdict) and verdict.behavior == "allow":
        return replace(verdict, by="answer", result=answer.result)
    return verdict


def _callback_step(
    callback: CanUseTool, said: object, fault: FaultKind | None, details: str, took_us: int
) -> Considered:
    opinion = said if fault is None and isinstance(said, Allow | Deny | Defer) else Deny()
    name = opinion.by if isinstance(opinion, Allow | Deny) and opinion.by else name_of(callback)
    note = f"{fault}: {details}" if fault else details
    return Considered(step="callback", said=behavior_of(opinion), by=name, note=note, took_us=took_us)


def _obeyed(waiting: Waiting, said: object, shown: str | None, who: str) -> Verdict | WrongAnswer:
    """Turn a decision into a verdict, exactly. `who` gave it, unless it names somebody itself."""
    call = waiting.case.call
    match said:
        case Deny() as deny:
            result = messages.denial(deny, messages.PERSON_DENIED)
            return settled(waiting, "deny", deny, "callback", f"{deny.by or who} said no", result=result)
        case Defer() as defer:
            return settled(waiting, "defer", defer, "callback", defer.reason, state=shown)
        case Allow(updated_input=update) as allow:
            if update is not None:
                try:
                    call = call.rewritten(fitted(waiting.tool, call, update))
                except WrongAnswer as wrong:
                    return wrong
                except Unfit as unfit:
                    log.error("can_use_tool changed the input of %s to one that does not fit: %s", call.tool, unfit)
                    result = refusal(Deny(), None, str(unfit))
                    return settled(waiting, "deny", Deny(), "callback_failed", str(unfit), result=result)
                case_now = replace(waiting.case, call=call)
                if (found := deny_rules(case_now)) is not None:
                    return denied_by_rule(waiting, call, found.rule, found.reason)
            return settled(waiting, "allow", allow, "callback", f"{allow.by or who} said yes", call=call, state=shown)
    raise AssertionError("only decisions come here")


def _timed_out(waiting: Waiting, gates: Gates, limit: float) -> Verdict:
    reason = f"nobody answered within {limit:g} s"
    log.warning("can_use_tool did not answer within %s s for %s", limit, waiting.case.call.tool)
    question = is_question(waiting.tool)
    match gates.questions.on_timeout if question else gates.on_timeout:
        case "unanswered":
            result = unanswered_result(limit, waiting.case.call.effective)
            return settled(waiting, "allow", Allow(), "timeout", reason, result=result)
        case "defer":
            return settled(waiting, "defer", Defer(reason), "timeout", reason)
        case _:
            result = refusal(Deny(), "timed out", None)
            return settled(waiting, "deny", Deny(), "timeout", reason, result=result)


def _nobody(waiting: Waiting, gates: Gates) -> Verdict:
    reason = "nobody is there to decide"
    if waiting.parked:
        return settled(waiting, "defer", Defer("still waiting for an answer"), "nobody", "still waiting for an answer")
    if waiting.otherwise is not None:
        result = waiting.otherwise
    elif is_question(waiting.tool):
        if gates.questions.when_nobody == "defer":
            return settled(waiting, "defer", Defer(reason), "nobody", reason)
        result = nobody_result()
    else:
        result = ToolResult(messages.nobody_to_ask(waiting.case.call.tool, waiting.asked.by), is_error=True)
    return settled(waiting, "deny", Deny(), "nobody", reason, result=result)


def _context(waiting: Waiting, limit: float | None) -> PermissionContext:
    call, asked = waiting.case.call, waiting.asked
    path = call.agent_path
    return PermissionContext(
        tool_use_id=call.id,
        session_id=call.session_id,
        suggestions=_suggestions(waiting),
        agent_id="/".join(path) or None,
        agent_path=path,
        decision_reason=asked.reason or None,
        decision_reason_type=asked.kind,
        matched_rule=asked.rule,
        blocked_path=_blocked_path(waiting) if asked.by == "safety" else None,
        title=f"Allow {call.tool}?",
        display_name=call.tool,
        description=waiting.tool.description.partition("\n")[0],
        requires_user_interaction=waiting.case.facts.interaction,
        assistant_text=waiting.assistant_text,
        trace=waiting.trace,
        deadline=None if limit is None else datetime.now(UTC) + timedelta(seconds=limit),
        cwd=call.cwd,
        _recheck=partial(waiting.recheck, call),
    )


def _suggestions(waiting: Waiting) -> Sequence[PermissionUpdate]:
    """What could be remembered, worked out when somebody looks. Nothing for what a rule could not spare a person."""
    if waiting.asked.by in ("hook", "interaction", "ask_rules", "changed", "unknown"):
        return ()
    return LazySequence(lambda: suggest(waiting.case.reading, waiting.case.snapshot.rules))


def _blocked_path(waiting: Waiting) -> str | None:
    field = waiting.case.facts.writes
    value = waiting.case.call.effective.get(field) if field else None
    return value if isinstance(value, str) else None


def settled(
    waiting: Waiting,
    behavior: Literal["allow", "deny", "defer"],
    decision: Allow | Deny | Defer,
    by: str,
    reason: str,
    *,
    call: ToolCall | None = None,
    result: ToolResult | None = None,
    state: str | None = None,
) -> Verdict:
    """The verdict for a call that was asked, with the trace so far. `call` is what a hook or person made of it."""
    asked = waiting.asked
    return Verdict(
        behavior=behavior,
        call=call or waiting.case.call,
        decision=decision,
        by=by,
        reason=reason,
        rule=None if behavior == "allow" else asked.rule,
        trace=waiting.trace,
        fix=asked.fix,
        kind=asked.kind,
        result=result,
        state=state or asked.state,
    )


def denied_by_rule(waiting: Waiting, call: ToolCall, rule: str | None, reason: str) -> Verdict:
    """The verdict when a deny rule covers what a hook or person made of the input."""
    waiting.steps.append(Considered(step="deny_rules", said="deny", by=rule or "", note=reason))
    result = ToolResult(messages.RULE_DENIED, is_error=True)
    return replace(settled(waiting, "deny", Deny(), "deny_rules", reason, call=call, result=result), rule=rule)


def refusal(deny: Deny, fault: FaultKind | None, unfit: str | None) -> ToolResult:
    """What the model reads for a hook's or callback's no, or for its failure."""
    if fault is not None:
        return ToolResult(messages.check_failed(fault), is_error=True)
    if unfit is not None:
        return ToolResult(messages.bad_rewrite(unfit), is_error=True)
    return messages.denial(deny, messages.HOOK_DENIED)
