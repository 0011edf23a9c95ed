"""The order of a decision. Pure and sync: the same for a live run, a dry run, a resume and a second look.

Each step of `STEPS` is asked in turn; it decides or has no opinion. A feature is one more step, not one more `if`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from agent_sdk.calls import ToolCall, ToolFacts
from agent_sdk.decisions import Allow, Ask, Behavior, Considered, Defer, Deny, Opinion, Trace, Verdict
from agent_sdk.permissions.finding import Finding, Question, Ruling
from agent_sdk.permissions.modes import SILENT, mode_says
from agent_sdk.permissions.snapshot import Snapshot
from agent_sdk.rules.files import Glance
from agent_sdk.rules.matching import Found, Reading
from agent_sdk.values import JsonObject, lazy


@dataclass(kw_only=True)  # not frozen, though never changed: it is made for every look, and freezing doubles that
class Case:
    """A call before the judge. `original` is the input before any rewrite (equal to the call's when there was none).

    `heard` is what the PreToolUse hooks said together, `heard_by` the hook that decided; `answered` is true when the
    input holds the person's part of a question, so that a hook's allow will do.
    """

    call: ToolCall
    original: JsonObject
    facts: ToolFacts
    snapshot: Snapshot
    heard: Opinion | None = None
    heard_by: str = ""
    heard_trace: Trace = ()
    answered: bool = False

    @property
    def reading(self) -> Reading:
        """The input that would run, as the rules read it."""
        return self.readings[0]

    @property
    def original_reading(self) -> Reading:
        """The input before any rewrite, as the rules read it."""
        return self.readings[-1]

    @property
    def question(self) -> Question | None:
        """What a precedent must agree in; None when there can be none: a hook spoke, or the input was rewritten."""
        call = self.call
        if self.heard is not None or self.original is not call.effective or call.cwd != self.snapshot.place.cwd:
            return None
        named = self.snapshot.rules.named(call.tool, call.effective, self.facts)
        return None if named is None else (call.tool, named)

    @lazy
    def readings(self) -> tuple[Reading, ...]:
        """What the rules read: the input that would run, and the one before any rewrite when it is another."""
        call, original = self.call, self.original
        would_run = self.snapshot.reading(call, call.effective, self.facts)
        if original is call.effective or original == call.effective:
            return (would_run,)
        return (would_run, self.snapshot.reading(call, original, self.facts))


Step: TypeAlias = Callable[[Case], Finding | None]
_ALLOW = Allow()


def hook_denies(case: Case) -> Finding | None:
    """A hook's deny ends it."""
    if not isinstance(case.heard, Deny):
        return None
    return Finding(behavior="deny", decision=case.heard, by="hook", reason=f"hook {case.heard_by} denied")


def deny_rules(case: Case) -> Finding | None:
    """A deny rule wins in every mode, on the original and on the rewritten input."""
    for reading in case.readings:
        if found := case.snapshot.rules.deny(reading):
            return _by_rule("deny", Deny(), "deny_rules", found, "remove or narrow the deny rule {}")
    return None


def unreadable(case: Case) -> Finding | None:
    """An empty path, or one with a NUL character, names no file: nobody can approve it."""
    for reading in case.readings:
        if reading.refused is not None:
            return Finding(behavior="deny", decision=Deny(), by="unreadable", reason=reading.refused)
    return None


def hook_defers(case: Case) -> Finding | None:
    """A hook's defer parks the call: it is no prompt, so every mode lets it."""
    if not isinstance(case.heard, Defer):
        return None
    return Finding(behavior="defer", decision=case.heard, by="hook", reason=case.heard.reason)


def must_ask(case: Case) -> Finding | None:
    """Ask rules, a hook's ask, and tools that need a person: no mode, hook or allow rule answers for them."""
    for reading in case.readings:
        if found := case.snapshot.rules.ask(reading):
            return _by_rule("ask", Ask(found.because), "ask_rules", found, "remove or narrow the ask rule {}")
    if isinstance(case.heard, Ask):
        reason = case.heard.reason or f"hook {case.heard_by} wants a person to decide"
        return Finding(behavior="ask", decision=Ask(reason), by="hook", reason=reason, kind="hook")
    if case.facts.interaction:
        if isinstance(case.heard, Allow) and case.answered:
            return _hook_allow(case)
        reason = f"{case.call.tool} needs a person"
        return Finding(behavior="ask", decision=Ask(reason), by="interaction", reason=reason, kind="interaction")
    return None


def mode(case: Case) -> Finding | None:
    """What the permission mode says by itself."""
    if case.snapshot.mode in SILENT:
        return None
    said = mode_says(case.snapshot.mode, case.facts, case.reading, case.original_reading)
    if said is None:
        return None
    behavior, reason = said
    decision: Opinion = _ALLOW if behavior == "allow" else Ask(reason)
    fix = f"another permission mode than {case.snapshot.mode}"
    return Finding(behavior=behavior, decision=decision, by="mode", reason=reason, kind="mode", fix=fix)


def never_by_itself(case: Case) -> Finding | None:
    """Protected paths, critical removals and unreadable inputs: no allow rule and no hook's allow covers them."""
    for reading in case.readings:
        if reason := reading.protected or reading.critical_removal or reading.odd:
            return Finding(behavior="ask", decision=Ask(reason), by="safety", reason=reason, kind="safetyCheck")
    return None


def hook_allows(case: Case) -> Finding | None:
    """A hook's allow waives the prompt."""
    return _hook_allow(case) if isinstance(case.heard, Allow) else None


def allow_rules(case: Case) -> Finding | None:
    """An allow rule; for a rewritten call allow rules must cover the original as well."""
    covers = case.snapshot.rules.allow
    readings = case.readings
    found = covers(readings[0])
    if found is None or (len(readings) > 1 and not covers(readings[1])):
        return None
    return _by_rule("allow", _ALLOW, "allow_rules", found, "without the allow rule {} it would be asked")


def reads(case: Case) -> Finding | None:
    """Reading inside the working directories needs nobody."""
    facts = case.facts
    if not (case.snapshot.auto_allow_reads and facts.read_only and facts.reads is not None):
        return None
    if not all(reading.inside for reading in case.readings):
        return None
    return Finding(behavior="allow", decision=_ALLOW, by="reads", reason="it reads inside the working directories")


STEPS: tuple[Step, ...] = (
    hook_denies,
    deny_rules,
    unreadable,
    hook_defers,
    must_ask,
    mode,
    never_by_itself,
    hook_allows,
    allow_rules,
    reads,
)
_OF_HOOKS = frozenset([hook_denies, hook_defers, hook_allows])
"""The steps that have no opinion when no hook spoke."""
_WITHOUT_HOOKS = tuple(step for step in STEPS if step not in _OF_HOOKS)
_SILENT = tuple(Considered(step=step.__name__) for step in STEPS)
"""What the trace says of each step when it had no opinion."""
_BEFORE = {step: _SILENT[:place] for place, step in enumerate(STEPS)}
"""The same of the steps before each."""


def judge(case: Case) -> Verdict:
    """Decide the case, or find that a person must (`ask`). Never raises, waits for nothing, runs nothing."""
    return verdict_on(case, find(case)[0])


def find(case: Case) -> tuple[Ruling, Glance | None]:
    """What `judge` finds, and what it saw for that of the real disk; `None` for any other disk."""
    question, precedents = case.question, case.snapshot.precedents
    kept = None if question is None else precedents.find(question, case.facts)
    if kept is None:
        ruling = _ruling(case)
        seen = case.reading.seen
        if question is not None and seen is not None:
            precedents.keep(question, case.facts, ruling, seen)
    else:
        ruling, seen = kept
    return ruling, seen


def verdict_on(case: Case, ruling: Ruling) -> Verdict:
    """The ruling as the verdict on this very call."""
    finding, trace = ruling
    return Verdict(
        behavior=finding.behavior,
        call=case.call,
        decision=finding.decision,
        by=finding.by,
        reason=finding.reason,
        rule=finding.rule,
        trace=case.heard_trace + trace,
        fix=finding.fix,
        kind=finding.kind,
    )


def _ruling(case: Case) -> Ruling:
    """The finding of the first step that decides, and the steps that were asked."""
    for step in _WITHOUT_HOOKS if case.heard is None else STEPS:
        if (finding := step(case)) is not None:
            by = case.heard_by if finding.by == "hook" else finding.rule or case.snapshot.mode
            said = Considered(
                step=step.__name__, said=finding.behavior, by=by, where=finding.where, note=finding.reason
            )
            trace = (*_BEFORE[step], said)
            break
    else:
        finding, trace = _nothing_covers(case), _SILENT
    if finding.behavior == "ask" and case.snapshot.mode == "dontAsk":
        finding = _no_prompts(finding)
        trace = (*trace, Considered(step="mode", said="deny", by="dontAsk", note=finding.reason))
    return finding, trace


def _nothing_covers(case: Case) -> Finding:
    reason = "no rule and no mode decides it"
    fix = "an allow rule that covers it, a hook that allows it, or a person"
    return Finding(behavior="ask", decision=Ask(reason), by="nothing", reason=reason, fix=fix)


def _no_prompts(finding: Finding) -> Finding:
    reason = f"the mode dontAsk denies what would need a person ({finding.reason})"
    return replace(finding, behavior="deny", decision=Deny(), by="mode", reason=reason, kind="mode")


def _hook_allow(case: Case) -> Finding:
    said = case.heard if isinstance(case.heard, Allow) else Allow()
    return Finding(behavior="allow", decision=said, by="hook", reason=f"hook {case.heard_by} allowed it", kind="hook")


def _by_rule(behavior: Behavior, decision: Opinion, by: str, found: Found, fix: str) -> Finding:
    """The finding of a rule. `fix` holds `{}` where the rule and its place are to be named."""
    rule = found.rule
    where = rule.where
    return Finding(
        behavior=behavior,
        decision=decision,
        by=by,
        reason=found.because,
        kind="rule",
        rule=rule.text,
        where=where,
        fix=fix.format(f"{rule.text} ({where})"),
    )
