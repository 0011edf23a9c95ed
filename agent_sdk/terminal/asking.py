"""A call that waits for a person: what they can say to it, and what becomes of it. Every front end says the same."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NoReturn, TypeAlias

from agent_sdk.decisions import Allow, Defer, Deny, PermissionContext, PermissionUpdate, Verdict
from agent_sdk.errors import OptionsError
from agent_sdk.render.card import Card
from agent_sdk.render.tools import mark_steps, render_call
from agent_sdk.values import Json, JsonObject, copied_object

Decision: TypeAlias = Allow | Deny | Defer
Act: TypeAlias = Literal["yes", "edit", "no", "words", "stop", "why", "all", "remember", "later"]
WhenGone: TypeAlias = Literal["deny", "defer"]

WORDS: dict[Act, str] = {
    "yes": "Yes, once",
    "edit": "Yes, with changes: edit the input, then run it",
    "no": "No",
    "words": "No, and say why or what to do instead",
    "stop": "No, and stop the agent",
    "why": "Why am I asked?",
    "all": "Show all of the change",
    "remember": "Yes, and remember it: choose what and where",
    "later": "Not now: park it, somebody answers later",
}
"""What a person can say, in the order of the numbers. A number always means the same, also when others are missing."""

NUMBERS: dict[Act, int] = {act: number for number, act in enumerate(WORDS, 1)}
ENDED = "Not approved: nobody answered, because the input of the terminal ended."
NOBODY = "end of input"
"""Who denied where the person was gone: nobody is blamed who said nothing."""
STOPPED = "The person interrupted the work."
_SUBJECTS = {"Bash": "command", "Write": "content", "Edit": "new_string"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A call as it waits for a person. `tool_input` is what would run: the model's, or what the person made of it
    (`changed`). `by` is who answers, for the trace. `offer_defer`: may it be parked?
    """

    tool_name: str
    tool_input: JsonObject
    context: PermissionContext
    card: Card
    by: str | None = None
    offer_defer: bool = False
    changed: bool = False

    @property
    def suggestions(self) -> Sequence[PermissionUpdate]:
        """What could be remembered; nothing for a changed call, for the suggestions were made for the other one."""
        return () if self.changed else self.context.suggestions

    def offers(self, *, show_all: bool = False) -> tuple[Act, ...]:
        """What can be said to this call, in the order of the numbers."""
        left_out: set[Act] = set() if show_all else {"all"}
        left_out |= set() if self.suggestions else {"remember"}
        left_out |= set() if self.offer_defer else {"later"}
        return tuple(act for act in WORDS if act not in left_out)

    def yes(self, updates: Sequence[PermissionUpdate] = ()) -> Allow:
        """It may run, and `updates` are remembered."""
        return Allow(self.tool_input if self.changed else None, updated_permissions=list(updates) or None, by=self.by)

    def no(self, words: str = "") -> Deny:
        """It does not run; the model reads the words."""
        return Deny(words, by=self.by)

    def stop(self) -> Deny:
        """It does not run, and the turn ends."""
        return Deny(STOPPED, interrupt=True, by=self.by)

    def later(self) -> Defer:
        """It is parked."""
        return Defer("put off by the person at the terminal")

    def nobody(self, when_gone: WhenGone) -> Deny | Defer:
        """The person is gone: the input ended, or the terminal vanished."""
        return Defer("the terminal is gone") if when_gone == "defer" else Deny(ENDED, by=NOBODY)


def asked(
    tool_name: str,
    tool_input: JsonObject,
    context: PermissionContext,
    *,
    by: str | None = None,
    offer_defer: bool = False,
) -> Asking:
    """The call with its card. May read the file that it would change."""
    card = render_call(tool_name, tool_input, cwd=context.cwd or ".", suggestions=context.suggestions)
    if tool_name == "Bash":
        card = mark_steps(card, lambda step: _asks(context, {**tool_input, "command": step}))
    return Asking(
        tool_name=tool_name, tool_input=tool_input, context=context, card=card, by=by, offer_defer=offer_defer
    )


def tried(asking: Asking, tool_input: JsonObject) -> Asking | str:
    """The same call with another input, judged at once; or one sentence that says why it cannot run like that.

    May read the file that it would change. Outside of a run nothing can be judged before the answer is handed back.
    """
    if tool_input == asking.tool_input:
        return asking
    verdict = _rechecked(asking.context, tool_input)
    if verdict is not None and verdict.behavior == "deny":
        return f"That cannot run: {verdict.reason or verdict.by}."
    changed = asked(asking.tool_name, tool_input, asking.context, by=asking.by, offer_defer=asking.offer_defer)
    card = replace(changed.card, notices=("Changed by you.", *changed.card.notices), rules=())
    return replace(changed, card=card, changed=True)


def settled(context: PermissionContext) -> Allow | Deny | None:
    """What the rules of this moment say to a call that waits; `None` when the person is still needed."""
    verdict = _rechecked(context, None)
    if verdict is None or verdict.behavior not in ("allow", "deny"):
        return None
    by = f"rule {verdict.rule}" if verdict.rule else verdict.by
    if verdict.behavior == "allow":
        return Allow(by=by)
    return Deny("A rule that came into force meanwhile denies this call.", by=by)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a person edits of a call: a field of the input, or all of it as JSON when `field` is `None`."""

    field: str | None
    text: str
    suffix: str

    @property
    def label(self) -> str:
        """What it is, in words."""
        return "the whole input, as JSON" if self.field is None else f"the {self.field.replace('_', ' ')}"


def subject_of(asking: Asking) -> Subject:
    """The command of a Bash call, the new text of a Write or Edit, the whole input of every other call."""
    field = _SUBJECTS.get(asking.tool_name)
    text = asking.tool_input.get(field) if field is not None else None
    if not isinstance(text, str):
        return Subject(None, json.dumps(asking.tool_input, ensure_ascii=False, indent=2), ".json")
    path = asking.tool_input.get("file_path")
    return Subject(field, text, os.path.splitext(path)[1] if isinstance(path, str) else ".sh")


def edited(asking: Asking, subject: Subject, text: str) -> JsonObject:
    """The input with the subject replaced by `text`. Raises ValueError, in words for a person, for what is no JSON
    object, and for a blank command.
    """
    if subject.field is None:
        return json_object(text)
    if subject.field == "command" and not text.strip():
        raise ValueError("there is no command")
    return {**asking.tool_input, subject.field: text}


def json_object(text: str) -> dict[str, Json]:
    """Raises ValueError, in words for a person, for anything but one JSON object."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
        return copied_object(value) if isinstance(value, dict) else _no_object()
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except (RecursionError, TypeError):
        raise ValueError("it is nested too deeply, or holds a number that is none") from None


def _no_object() -> NoReturn:
    raise ValueError("it must be an object in braces")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _asks(context: PermissionContext, tool_input: JsonObject) -> bool | None:
    verdict = _rechecked(context, tool_input)
    return None if verdict is None else verdict.behavior != "allow"


def _rechecked(context: PermissionContext, tool_input: JsonObject | None) -> Verdict | None:
    try:
        return context.recheck(tool_input)
    except OptionsError:
        return None
