"""Past calls against the rules of today: what would be decided otherwise? Runs nothing, asks nobody.

Hooks are not run again: what they said then counts again, so that only rules, mode and place make a difference.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeAlias

from agent_sdk.calls import ToolCall
from agent_sdk.config import MODES, PermissionMode
from agent_sdk.decisions import Allow, Ask, Behavior, Defer, Deny, Opinion, Trace, Verdict
from agent_sdk.permissions.judge import STEPS, Case, judge
from agent_sdk.permissions.policy import PermissionPolicy
from agent_sdk.rules.matching import known_facts
from agent_sdk.sessions.past import Decided, PastCall, past_calls
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.sessions.store import SessionStore
from agent_sdk.values import JsonObject

Change: TypeAlias = Literal["same", "changed", "unclear"]
"""`unclear`: the records do not tell enough of what was decided then."""

PolicyFor: TypeAlias = Callable[[PastCall], PermissionPolicy]

_JUDGED = frozenset(step.__name__ for step in STEPS)
_PEOPLE = frozenset({"callback", "callback_failed", "permission_request", "answer", "timeout", "nobody", "changed"})
_SAID: dict[Behavior, Opinion] = {"deny": Deny(), "defer": Defer(), "ask": Ask(), "allow": Allow()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedCall:
    """A past call, then and now.

    `then` is what rules, mode and hooks said before any person did (`ask`: a person was needed), `None` when that is
    not known; what became of the call is `call.outcome`. `now` is today's verdict, with its trace.
    """

    call: PastCall
    then: Behavior | None
    now: Verdict
    change: Change


async def replay_policy(
    policy: PermissionPolicy | PolicyFor,
    *,
    store: SessionStore | None = None,
    session_id: str | None = None,
    since: datetime | None = None,
    mode: PermissionMode | None = None,
) -> AsyncIterator[ReplayedCall]:
    """Hold the calls of a store (`None` = the user's own), or of one session, against `policy`, one after the other.

    `policy` may be a function that gives the policy for a call, so that each session meets the rules of its own
    directory. Each call is judged in the directory that the records name; where the policy is of another directory than
    the session was, that one stands for the session's. The permission mode is the one of then, unless `mode` is given.
    Rules given in code and remembered for a session only are in no file: they count only if `policy` holds them.
    Raises what `past_calls` raises.
    """
    async for call in past_calls(store or SQLiteStore(), session_id=session_id, since=since):
        yield replayed(call, policy if isinstance(policy, PermissionPolicy) else policy(call), mode=mode)


def replayed(call: PastCall, policy: PermissionPolicy, *, mode: PermissionMode | None = None) -> ReplayedCall:
    """One past call against a policy. Pure but for the links that rules look at."""
    then = _then(call.decided)
    now = _judged(call, policy, mode)
    return ReplayedCall(call=call, then=then, now=now, change=_change(call, then, now))


def _then(decided: Decided | None) -> Behavior | None:
    """What was said before any person was asked, from the trace and from who decided in the end."""
    if decided is None:
        return None
    if any(step.step == "mode" and step.by == "dontAsk" and step.said == "deny" for step in decided.trace):
        return "deny"
    judged = [step for step in decided.trace if step.step in _JUDGED]
    said = next((step.said for step in judged if step.said is not None), None)
    if said is not None:
        return said
    return "ask" if judged or decided.by in _PEOPLE else None


def _judged(call: PastCall, policy: PermissionPolicy, mode: PermissionMode | None) -> Verdict:
    decided = call.decided
    snapshot = policy.snapshot
    chosen = mode or next((known for known in MODES if known == call.mode), None)
    snapshot = replace(snapshot, mode=chosen or snapshot.mode)
    effective: JsonObject = call.said
    if decided is not None and decided.by not in _PEOPLE:  # what a person changed was judged before the change
        effective = decided.input
    judged = ToolCall(
        id=call.tool_use_id,
        tool=call.tool,
        said=call.said,
        effective=effective,
        cwd=_working_directory(call, snapshot.place.cwd),
        session_id=call.session_id,
    )
    heard, by = _heard(decided.trace if decided is not None else ())
    facts = known_facts(call.tool)
    return judge(Case(call=judged, original=call.said, facts=facts, snapshot=snapshot, heard=heard, heard_by=by))


def _working_directory(call: PastCall, base: str) -> str:
    """Where the call is judged: as far below `base` as it was below the directory of its session."""
    cwd, directory = call.cwd, call.directory
    if cwd is None or directory is None or directory == base:
        return cwd or base
    inside = cwd == directory or cwd.startswith(f"{directory.rstrip('/')}/")
    return os.path.normpath(os.path.join(base, os.path.relpath(cwd, directory))) if inside else base


def _heard(trace: Trace) -> tuple[Opinion | None, str]:
    """What the PreToolUse hooks said together, and the hook that decided: the strictest counts."""
    hooks = [step for step in trace if step.step == "hook"]
    for behavior, opinion in _SAID.items():
        for step in hooks:
            if step.said == behavior:
                return opinion, step.by
    return None, ""


def _change(call: PastCall, then: Behavior | None, now: Verdict) -> Change:
    if then is not None:
        return "same" if then == now.behavior else "changed"
    if call.outcome == "ran" and now.behavior == "deny":
        return "changed"  # whoever let it run: today nothing would
    return "unclear"
