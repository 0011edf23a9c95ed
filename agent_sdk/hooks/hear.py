"""Ask all hooks that hear an event. The most restrictive answer wins; a hook that fails is a no.

Matchers are heard in order, each seeing the input that the one before left; the hooks inside one matcher run side by
side and are merged in the order of the list.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Literal, TypeAlias

import anyio

from agent_sdk.apart import apart
from agent_sdk.callables import name_of, told_error, traceable
from agent_sdk.calls import ToolCall
from agent_sdk.decisions import Allow, Ask, Behavior, Considered, Defer, Deny, Opinion, Trace
from agent_sdk.hooks.events import HookCallback, HookEvent
from agent_sdk.hooks.matcher import HookMatcher
from agent_sdk.hooks.replies import NO_OPINION, BadReply, HookReply, read_reply
from agent_sdk.values import Json, JsonObject, copied_object

log = logging.getLogger("agent_sdk.hooks")

FaultKind: TypeAlias = Literal["timed out", "raised an error", "gave an invalid answer"]
HookInputMaker: TypeAlias = Callable[[], dict[str, Json]]
Fit: TypeAlias = Callable[[ToolCall, JsonObject], JsonObject]
"""Takes over a rewritten input for a call: returns the input that would run, or raises Unfit."""


_GATES: frozenset[HookEvent] = frozenset({"PreToolUse", "PermissionRequest", "UserPromptSubmit"})
"""Where a hook that fails is a no, so that what the others would say does not matter any more."""


class Unfit(ValueError):
    """A rewritten input does not fit the tool. The text names field and rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Where hooks are called: the facts that every hook is told."""

    session_id: str
    cwd: str
    mode: str
    agent_path: tuple[str, ...] = ()

    def facts(self, event: HookEvent) -> dict[str, Json]:
        """A fresh dict with the fields that all events share."""
        base: dict[str, Json] = {
            "session_id": self.session_id,
            "transcript_path": "",
            "cwd": self.cwd,
            "permission_mode": self.mode,
            "hook_event_name": event,
        }
        if self.agent_path:
            base["agent_id"] = "/".join(self.agent_path)
        return base


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What one hook said, or how it failed."""

    hook: str
    reply: HookReply = NO_OPINION
    fault: FaultKind | None = None
    details: str = ""
    took_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The merged answer of all hooks to one call. `call` carries the input as they left it.

    `fault` is set when `said` is a Deny because a hook failed, `unfit` when it is one because a rewrite did not fit the
    tool; `stop` when a hook ended the run (`continue: false`).
    """

    call: ToolCall
    said: Opinion | None = None
    by: str = ""
    rewritten_by: str = ""
    fault: FaultKind | None = None
    unfit: str | None = None
    stop: str | None = None
    contexts: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    trace: Trace = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventHeard:
    """The merged answer to an event that is no permission. `block` is the reason of the first hook that blocked."""

    block: str | None = None
    stop: str | None = None
    output: Json = None
    contexts: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    trace: Trace = ()


async def hear(
    event: Literal["PreToolUse", "PermissionRequest"],
    call: ToolCall,
    matchers: Sequence[HookMatcher],
    scene: Scene,
    fit: Fit,
    *,
    suggestions: Sequence[JsonObject] = (),
) -> Heard:
    """Ask the hooks that hear `call` about it. Never raises on account of a hook."""
    heard = Heard(call=call)
    for matcher in matchers:
        if not matcher.hooks or not matcher.covers(call.tool):
            continue
        current = heard.call

        def make_input(current: ToolCall = current) -> dict[str, Json]:
            told = scene.facts(event)
            told["tool_name"] = current.tool
            told["tool_input"] = copied_object(current.effective)
            told["tool_use_id"] = current.id
            if event == "PermissionRequest":
                told["permission_suggestions"] = [copied_object(suggestion) for suggestion in suggestions]
            return told

        spoken = await run_hooks(event, matcher, make_input, call.id)
        heard = _merged(heard, spoken, matcher, fit, step="hook" if event == "PreToolUse" else "permission_request")
        if heard.stop is not None or isinstance(heard.said, Deny):
            break
    return heard


async def hear_event(
    event: HookEvent,
    matchers: Sequence[HookMatcher],
    make_input: Callable[[Json], dict[str, Json]],
    *,
    tool: str | None = None,
    tool_use_id: str | None = None,
) -> EventHeard:
    """Ask the hooks of an event that is no permission. `make_input` is given the output as hooks left it so far."""
    heard = EventHeard()
    for matcher in matchers:
        if not matcher.hooks or (tool is not None and not matcher.covers(tool)):
            continue
        spoken = await run_hooks(event, matcher, partial(make_input, heard.output), tool_use_id)
        for one in spoken:
            reply = one.reply
            fails = one.fault is not None and matcher.on_failure == "block"
            heard = replace(
                heard,
                block=reply.block if heard.block is None else heard.block,
                stop=reply.stop if heard.stop is None else heard.stop,
                output=heard.output if reply.output is None else reply.output,
                contexts=(*heard.contexts, reply.context) if reply.context else heard.contexts,
                notices=(*heard.notices, reply.system_message) if reply.system_message else heard.notices,
                faults=(*heard.faults, f"{one.hook} {one.fault}") if fails else heard.faults,
                trace=(*heard.trace, _said_at_event(event, one)),
            )
    return heard


def _said_at_event(event: HookEvent, one: Spoken) -> Considered:
    note = f"{one.fault}: {one.details}" if one.fault else one.reply.block or one.details
    return Considered(step=event, by=one.hook, note=note, took_us=one.took_us)


async def run_hooks(
    event: HookEvent, matcher: HookMatcher, make_input: HookInputMaker, tool_use_id: str | None
) -> list[Spoken]:
    """Run the hooks of one matcher side by side; what they said, in the order of the list.

    As soon as one denies, the others are cancelled: they count as having no opinion. Each gets its own copy of the
    input. Never raises on account of a hook.
    """
    hooks = matcher.hooks
    if len(hooks) == 1:
        return [await _run_hook(event, hooks[0], matcher.timeout, make_input(), tool_use_id)]
    # What counts for a hook whose task ends without a word: it failed. A denial cancels the others, which is no fault.
    lost = [Spoken(hook=name_of(hook), fault="raised an error", details="its task was cancelled") for hook in hooks]
    spoken = list(lost)
    denied: list[int] = []

    async with anyio.create_task_group() as group:

        async def run(place: int, hook: HookCallback) -> None:
            said = await _run_hook(event, hook, matcher.timeout, make_input(), tool_use_id)
            spoken[place] = said
            failed = event in _GATES and said.fault is not None and matcher.on_failure == "block"
            if failed or isinstance(said.reply.said, Deny):
                denied.append(place)
                group.cancel_scope.cancel()

        for place, hook in enumerate(hooks):
            group.start_soon(run, place, hook)
    if denied:
        quiet = [replace(one, fault=None, details="cancelled: another hook denied") for one in lost]
        return [quiet[place] if one is lost[place] else one for place, one in enumerate(spoken)]
    return spoken


async def _run_hook(
    event: HookEvent, hook: HookCallback, timeout: float | None, told: dict[str, Json], tool_use_id: str | None
) -> Spoken:
    name = name_of(hook)
    started = perf_counter()
    fault: FaultKind | None = None
    details = ""
    reply = NO_OPINION

    async def answer() -> HookReply:
        return read_reply(event, await hook(told, tool_use_id, {"signal": None}))

    came = await apart(answer, timeout)
    if came.late:  # an answer that came in spite of the cancellation is late: it does not count
        fault, details = "timed out", f"no answer within {timeout} s"
        log.error("%s hook %s timed out after %s s", event, name, timeout)
    elif isinstance(came.error, BadReply):
        fault, details = "gave an invalid answer", str(came.error)
        log.error("%s hook %s gave an invalid answer: %s", event, name, came.error)
    elif came.error is not None:
        fault, details = "raised an error", told_error(came.error)
        log.error("%s hook %s raised an error: %s", event, name, details, exc_info=traceable(came.error))
    else:
        reply = came.value or NO_OPINION
    took_us = int((perf_counter() - started) * 1_000_000)
    return Spoken(hook=name, reply=reply, fault=fault, details=details, took_us=took_us)


_RANK: dict[type[Opinion] | None, int] = {None: 0, Allow: 1, Ask: 2, Defer: 3, Deny: 4}
_BEHAVIOR: dict[type[Opinion], Behavior] = {Allow: "allow", Ask: "ask", Defer: "defer", Deny: "deny"}


def behavior_of(said: Opinion | None) -> Behavior | None:
    """The word for an opinion."""
    return None if said is None else _BEHAVIOR[type(said)]


def _merged(heard: Heard, spoken: Sequence[Spoken], matcher: HookMatcher, fit: Fit, *, step: str) -> Heard:
    for one in spoken:
        heard = _with_opinion(heard, one, matcher, step)
    rewrites = [(one.hook, one.reply.updated_input) for one in spoken if one.reply.updated_input is not None]
    if not rewrites or isinstance(heard.said, Deny):
        return heard
    (first_hook, first), *others = rewrites
    for other_hook, other in others:
        if other != first:
            reason = f"two hooks changed the input in different ways: {first_hook}, {other_hook}"
            conflict = Considered(step=step, said="ask", by=f"{first_hook}, {other_hook}", note=reason)
            heard = replace(heard, trace=(*heard.trace, conflict))
            asks = _RANK[type(heard.said) if heard.said else None] < _RANK[Ask]
            return replace(heard, said=Ask(reason), by=first_hook) if asks else heard
    return _rewritten(heard, first_hook, first, fit, step)


def _rewritten(heard: Heard, hook: str, update: JsonObject | None, fit: Fit, step: str) -> Heard:
    if update is None:
        return heard
    try:
        fitting = fit(heard.call, update)
    except Unfit as error:
        log.error("hook %s changed the input of %s to one that does not fit: %s", hook, heard.call.tool, error)
        note = f"its changed input does not fit the tool: {error}"
        failed = Considered(step=step, said="deny", by=hook, note=note)
        return replace(heard, said=Deny(), by=hook, unfit=str(error), trace=(*heard.trace, failed))
    return replace(heard, call=heard.call.rewritten(fitting), rewritten_by=hook)


def _with_opinion(heard: Heard, one: Spoken, matcher: HookMatcher, step: str) -> Heard:
    said, fault, note = one.reply.said, one.fault, one.details
    if fault is not None and matcher.on_failure == "block":
        said, note = Deny(), f"{fault}: {note}"
    elif fault is not None:
        fault, note = None, f"passed over: {fault}: {note}"
    elif one.reply.updated_input is not None and not note:
        note = "changed the input"
    considered = Considered(step=step, said=behavior_of(said), by=one.hook, note=note, took_us=one.took_us)
    heard = replace(
        heard,
        trace=(*heard.trace, considered),
        stop=one.reply.stop if heard.stop is None else heard.stop,
        contexts=(*heard.contexts, one.reply.context) if one.reply.context else heard.contexts,
        notices=(*heard.notices, one.reply.system_message) if one.reply.system_message else heard.notices,
    )
    if said is None or _RANK[type(said)] <= _RANK[type(heard.said) if heard.said else None]:
        return heard
    return replace(heard, said=said, by=one.hook, fault=fault)
