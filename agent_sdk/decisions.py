"""Decisions and how they came about. One class per variant, none to be subclassed: no illegal decision can exist.

async def can_use_tool(tool_name, tool_input, context):
    if tool_name == "Bash" and "--force" in tool_input["command"]:
        return Deny("Not with --force. Push to a branch instead.")
    return Allow()
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias, final

from agent_sdk.calls import ToolCall, ToolResult
from agent_sdk.config import REMEMBER_SCOPES, RememberScope
from agent_sdk.errors import OptionsError
from agent_sdk.updates import PermissionRule as PermissionRule
from agent_sdk.updates import PermissionUpdate as PermissionUpdate
from agent_sdk.values import copied_object, is_json, quickly_made

Behavior: TypeAlias = Literal["allow", "ask", "deny", "defer"]
Words: TypeAlias = str | Sequence[Mapping[str, Any]]


def _own_words(words: Words, where: str) -> Words:
    """A copy of text, or of text and image blocks. Raises OptionsError naming the place."""
    if isinstance(words, str):
        return words
    blocks = words if isinstance(words, list | tuple) else ()
    if not blocks or not all(is_text_or_image(block) for block in blocks):
        raise OptionsError(f"{where} is a str or a list of text and image blocks, got {words!r}", option=where)
    return [copied_object(block) for block in blocks]


def is_text_or_image(block: object) -> bool:
    """Whether a block is `{"type": "text", "text": str}` or `{"type": "image", "source": {"type": …}}`, and JSON."""
    match block:
        case {"type": "text", "text": str()} | {"type": "image", "source": {"type": "base64" | "url" | "file"}}:
            return is_json(block)
    return False


def _check_updates(updates: object) -> None:
    """Raises OptionsError for anything but a sequence of updates."""
    if updates is None:
        return
    if not isinstance(updates, Sequence) or not all(isinstance(update, PermissionUpdate) for update in updates):
        raise OptionsError(
            f"Allow(updated_permissions=...) is a list of PermissionUpdate, got {updates!r:.80}",
            option="updated_permissions",
        )


@final
@dataclass(frozen=True, slots=True)
class Allow:
    """Yes, this call may run.

    `updated_input` replaces the whole input; `None` leaves it as it was shown. The new input is validated and tried on
    the deny rules again. `note` is told to the model inside the call's result; `by` names who said yes, for the trace.

    `remember` saves the narrowest rule that is suggested for each part of the call: for this session, or in the local,
    project or user settings. `updated_permissions` carries out these updates, all or none; both may be given. If saving
    fails, the call runs all the same, and trace and log say why.

    Raises OptionsError for values of the wrong type.
    """

    updated_input: Mapping[str, Any] | None = None
    _: KW_ONLY
    updated_permissions: Sequence[PermissionUpdate] | None = None
    remember: RememberScope | None = None
    note: Words | None = None
    by: str | None = None

    def __post_init__(self) -> None:
        if self.updated_input is not None:
            try:
                copied_object(self.updated_input)
            except TypeError as error:
                raise OptionsError(f"Allow(updated_input=...): {error}", option="updated_input") from None
        if self.note is not None:
            object.__setattr__(self, "note", _own_words(self.note, "Allow(note=...)"))
        if self.by is not None and not isinstance(self.by, str):
            raise OptionsError(f"Allow(by=...) is a str, got {self.by!r}", option="by")
        if self.remember is not None and self.remember not in REMEMBER_SCOPES:
            raise OptionsError(
                f"Allow(remember=...) is one of {', '.join(REMEMBER_SCOPES)}, got {self.remember!r}", option="remember"
            )
        _check_updates(self.updated_permissions)


@final
@dataclass(frozen=True, slots=True)
class Deny:
    """No. `message` is what the model reads, word for word: say what to do instead and the run goes on with that.

    `interrupt=True` also stops the turn: nothing that has not started starts, and the model is not asked again.

    Raises OptionsError for values of the wrong type.
    """

    message: Words = ""
    _: KW_ONLY
    interrupt: bool = False
    by: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", _own_words(self.message, "Deny(message=...)"))
        if not isinstance(self.interrupt, bool):
            raise OptionsError(f"Deny(interrupt=...) is True or False, got {self.interrupt!r}", option="interrupt")
        if self.by is not None and not isinstance(self.by, str):
            raise OptionsError(f"Deny(by=...) is a str, got {self.by!r}", option="by")


@final
@dataclass(frozen=True, slots=True)
class Defer:
    """Not now: the run ends, the call is parked, and whoever resumes the session brings the answer.

    `expires_in` (seconds, or a timedelta) is how long an answer is still taken; `None` = for ever.

    Raises OptionsError for values of the wrong type.
    """

    reason: str = ""
    _: KW_ONLY
    expires_in: timedelta | float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str):
            raise OptionsError(f"Defer(reason=...) is a str, got {self.reason!r}", option="reason")
        span = self.expires_in
        if span is None:
            return
        if isinstance(span, bool) or not isinstance(span, int | float | timedelta):
            raise OptionsError(f"Defer(expires_in=...) is seconds or a timedelta, got {span!r}", option="expires_in")
        lifetime = span if isinstance(span, timedelta) else timedelta(seconds=span)
        if lifetime < timedelta(0):
            raise OptionsError(f"Defer(expires_in=...) is not below 0, got {span!r}", option="expires_in")
        object.__setattr__(self, "expires_in", lifetime)

    @property
    def lifetime(self) -> timedelta | None:
        """`expires_in` as a timedelta."""
        span = self.expires_in
        return span if span is None or isinstance(span, timedelta) else timedelta(seconds=span)


@final
@dataclass(frozen=True, slots=True)
class Ask:
    """A person must speak. For hooks only: from a callback, which is that person, it is an unknown value."""

    reason: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str):
            raise OptionsError(f"Ask(reason=...) is a str, got {self.reason!r}", option="reason")


Settled: TypeAlias = Allow | Deny | Defer
Opinion: TypeAlias = Allow | Deny | Defer | Ask


@quickly_made
@dataclass(frozen=True, kw_only=True)
class Considered:
    """One step of a trace: who was asked, what it said, and how long that took.

    `step` names the step of the order (`hook`, `deny_rules`, `ask_rules`, `interaction`, `mode`, `allow_rules`,
    `reads`, `permission_request`, `callback`, `before_run`, …); `said` is `None` when it had no opinion; `by` is the
    hook, rule, mode or callback; `where` is file and position of a rule; `took_us` is microseconds.
    """

    step: str
    said: Behavior | None = None
    by: str = ""
    where: str | None = None
    note: str = ""
    took_us: int = 0

    def __str__(self) -> str:
        said = self.said or "no opinion"
        name = f" {self.by}" if self.by else ""
        place = f" ({self.where})" if self.where else ""
        note = f": {self.note}" if self.note else ""
        return f"{self.step}{name}{place} → {said}{note}"


Trace: TypeAlias = tuple[Considered, ...]


def trace_lines(trace: Trace) -> list[str]:
    """The steps of a trace for people, numbered from 1."""
    return [f"{number}. {step}" for number, step in enumerate(trace, 1)]


@quickly_made
@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What became of a call, and why. The same type for a live run, a dry run and the session log.

    `behavior` is `ask` only in a dry run (`PermissionPolicy.evaluate`): a live run settles every call. `call` holds
    the very input that was judged and may run. `by` is the step that decided, `rule` the rule's text if it was one.
    `decision` is the value that was given or stands for it; `fix` says what would have changed the outcome; `kind` is
    the interop word for the reason of a prompt: `rule`, `hook`, `mode`, `safetyCheck`, `interaction`, `other`.
    `result`, when set, is what the model reads instead of running the tool. `state` is the state of the file that a
    person was shown (`tools/state.py`), when the approval is bound to one.
    """

    behavior: Behavior
    call: ToolCall
    decision: Opinion
    by: str
    reason: str = ""
    rule: str | None = None
    trace: Trace = ()
    fix: str = ""
    kind: str = "other"
    result: ToolResult | None = None
    state: str | None = None

    @property
    def by_person(self) -> bool:
        """True when a person, or a PermissionRequest hook in their place, gave this answer for this very input."""
        return self.by in ("callback", "permission_request", "answer")

    def explain(self) -> str:
        """The whole story, one line per step, for people."""
        lines = [f"{self.call.tool}: {self.behavior} (decided by {self.by}{f': {self.rule}' if self.rule else ''})"]
        if self.reason:
            lines.append(f"  reason: {self.reason}")
        lines += [f"  {line}" for line in trace_lines(self.trace)]
        if self.fix:
            lines.append(f"  what would change it: {self.fix}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionContext:
    """What a callback knows beside the tool's name and input.

    `trace` tells why it is asked; `deadline` is when `approval_timeout` cancels it (`None` = never); `recheck()` judges
    the call again under the rules of this moment and returns a `Verdict`: `ask` means that the answer is still needed.
    `recheck(updated_input)` judges what the call would be with that input; one that does not fit the tool is `deny`.
    `assistant_text` is what the model wrote in the same message. `agent_path` is empty for the main agent.
    """

    tool_use_id: str
    session_id: str
    suggestions: Sequence[PermissionUpdate] = ()
    agent_id: str | None = None
    agent_type: str | None = None
    agent_path: tuple[str, ...] = ()
    blocked_path: str | None = None
    decision_reason: str | None = None
    decision_reason_type: str | None = None
    matched_rule: str | None = None
    title: str | None = None
    display_name: str | None = None
    description: str | None = None
    requires_user_interaction: bool = False
    assistant_text: str = ""
    trace: Trace = ()
    deadline: datetime | None = None
    cwd: str = ""
    _recheck: Callable[[Mapping[str, Any] | None], Verdict] | None = field(default=None, repr=False, compare=False)

    def recheck(self, updated_input: Mapping[str, Any] | None = None) -> Verdict:
        """Judge the call, or the one with `updated_input`, under the rules in force now. Nothing is decided by it.

        Raises OptionsError outside of a run.
        """
        if self._recheck is None:
            raise OptionsError("recheck() works only on the context that a run hands to can_use_tool")
        return self._recheck(updated_input)


CanUseTool: TypeAlias = Callable[[str, dict[str, Any], PermissionContext], Awaitable[Allow | Deny | Defer]]
