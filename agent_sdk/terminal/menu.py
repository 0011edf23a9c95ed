"""The numbered menu of the plain prompt: one handler for each thing that a person can say to a call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from anyio import to_thread

from agent_sdk.decisions import PermissionUpdate
from agent_sdk.render.rules import PLACES, place_in_words, suggestion_lines
from agent_sdk.render.text import shorten, visible
from agent_sdk.terminal.asking import (
    NUMBERS,
    WORDS,
    Act,
    Asking,
    Decision,
    Subject,
    WhenGone,
    edited,
    subject_of,
    tried,
)
from agent_sdk.terminal.console import Console, InputEnded
from agent_sdk.terminal.draw import card_lines, is_cut, trace_lines
from agent_sdk.terminal.editor import EditorFailed, edit_text

_FULL_WIDTH = str.maketrans("０１２３４５６７８９", "0123456789")

Handler: TypeAlias = Callable[[Console, Asking], Awaitable[Decision | Asking | None]]
"""Returns the decision, the call as it was changed, or `None` when the menu is to be asked again."""


async def ask_about_call(console: Console, asking: Asking, *, when_gone: WhenGone = "deny") -> Decision:
    """Show the menu until a choice decides. Only the number of a choice chooses; nothing is assumed.

    What was typed before the menu was there is dropped. When the input ends, nobody approved: `when_gone` says whether
    the call is denied or parked.
    """
    console.say(*_menu_lines(asking))
    console.forget_typed()
    try:
        while True:
            line = await console.ask()
            act = chosen(line, _offers(asking))
            if act is None:
                console.say(_no_choice(line, asking))
                continue
            came = await _HANDLERS[act](console, asking)
            if isinstance(came, Asking):
                asking = came
                console.say("", f"Permission needed: {asking.card.title}", *card_lines(asking.card))
            elif came is not None:
                return came
            console.say(*_menu_lines(asking))
    except InputEnded:
        what = "denied" if when_gone == "deny" else "parked"
        console.say(f"(the input ended: the call is {what})")
        return asking.nobody(when_gone)


def chosen(line: str, offers: Sequence[Act]) -> Act | None:
    """The act whose number was typed, alone on its line; full-width digits count. `None` for anything else."""
    typed = line.strip().translate(_FULL_WIDTH)
    return next((act for act in offers if typed == str(NUMBERS[act])), None)


def _offers(asking: Asking) -> tuple[Act, ...]:
    return asking.offers(show_all=is_cut(asking.card))


def _menu_lines(asking: Asking) -> list[str]:
    return ["May it run?", *(f"  {NUMBERS[act]}. {WORDS[act]}" for act in _offers(asking))]


def _no_choice(line: str, asking: Asking) -> str:
    said = f"{shorten(visible(line), 40)} is not one of them" if line.strip() else "Nothing was chosen"
    return f"{said}: type {', '.join(str(NUMBERS[act]) for act in _offers(asking))}."


async def _yes(console: Console, asking: Asking) -> Decision | None:
    return asking.yes()


async def _edit(console: Console, asking: Asking) -> Decision | Asking | None:
    """A command is typed anew on one line, every other input as JSON; `!` opens the editor."""
    subject = subject_of(asking)
    if subject.field == "command":
        words, prompt = "The command to run instead, on one line.", "$ "
    else:
        words, prompt = "The whole input to use instead, as JSON on one line.", "JSON> "
    console.say(f"{words} Enter alone goes back, ! alone opens your editor on {subject.label}.")
    while (line := await console.ask(prompt)).strip():
        by_editor = line.strip() == "!"
        if by_editor:
            came = await _from_editor(console, asking, subject)
        else:
            on_line = subject if subject.field == "command" else replace(subject, field=None)
            came = await _changed(asking, on_line, line)
        if isinstance(came, Asking):
            return came if by_editor else replace(came, changed=True).yes()
        console.say(f"{came} Once more, please.")
    return None


async def _from_editor(console: Console, asking: Asking, subject: Subject) -> Asking | str:
    if not console.is_terminal:
        return "There is no terminal for an editor."
    try:
        text = await edit_text(subject.text, subject.suffix)
    except EditorFailed as error:
        return f"The editor failed: {visible(str(error), keep_newlines=False)}."
    return await _changed(asking, subject, text)


async def _changed(asking: Asking, subject: Subject, text: str) -> Asking | str:
    try:
        tool_input = edited(asking, subject, text)
    except ValueError as error:
        return f"That is no input: {visible(str(error), keep_newlines=False)}."
    came = await to_thread.run_sync(tried, asking, tool_input, abandon_on_cancel=True)
    return visible(came, keep_newlines=False) if isinstance(came, str) else came


async def _no(console: Console, asking: Asking) -> Decision | None:
    return asking.no()


async def _words(console: Console, asking: Asking) -> Decision | None:
    console.say("What the agent should know, or do instead. Enter alone goes back.")
    words = (await console.ask()).strip()
    return asking.no(words) if words else None


async def _stop(console: Console, asking: Asking) -> Decision | None:
    return asking.stop()


async def _why(console: Console, asking: Asking) -> Decision | None:
    console.say("What was considered, in this order:", *trace_lines(asking.context))
    return None


async def _all(console: Console, asking: Asking) -> Decision | None:
    console.say(*card_lines(asking.card, limit=None))
    return None


async def _later(console: Console, asking: Asking) -> Decision | None:
    return asking.later()


async def _remember(console: Console, asking: Asking) -> Decision | None:
    suggestions = asking.suggestions
    console.say("What shall be remembered? One number for each part, with commas. Enter alone goes back.")
    covers = None
    for number, update in enumerate(suggestions, 1):
        if update.covers and update.covers != covers:
            covers = update.covers
            console.say(f"  For {visible(covers, keep_newlines=False)}:")
        console.say(*(f"  {number}. {line}" for line in suggestion_lines(update)))
        console.say(f"       kept for {place_in_words(update.destination)}")
    while (line := await console.ask()).strip():
        updates = picked(line, suggestions)
        if isinstance(updates, str):
            console.say(updates)
        elif (kept := await _place(console, updates)) is not None:
            return asking.yes(kept)
    return None


def picked(line: str, suggestions: Sequence[PermissionUpdate]) -> list[PermissionUpdate] | str:
    """The suggestions whose numbers were typed, one for each part of the call at most; or what is wrong, in words."""
    updates: list[PermissionUpdate] = []
    for token in line.translate(_FULL_WIDTH).replace("，", ",").replace("、", ",").split(","):
        number = token.strip()
        if not number.isascii() or not number.isdecimal() or not 1 <= int(number) <= len(suggestions):
            return f"Type numbers from 1 to {len(suggestions)}."
        updates.append(suggestions[int(number) - 1])
    if len({update.covers for update in updates}) < len(updates):
        return "One number for each part: a wider rule covers what a narrower one does."
    return updates


async def _place(console: Console, updates: list[PermissionUpdate]) -> list[PermissionUpdate] | None:
    """The updates for the place that the person names; `None` to go back."""
    console.say("Kept where? Enter alone: as it says above. 0 goes back.")
    console.say(*(f"  {number}. {place_in_words(place)}" for number, place in enumerate(PLACES, 1)))
    while True:
        typed = (await console.ask()).strip().translate(_FULL_WIDTH)
        if typed in ("", "0"):
            return None if typed else updates
        for number, place in enumerate(PLACES, 1):
            if typed == str(number):
                return [update.at(place) for update in updates]
        console.say(f"Type a number from 0 to {len(PLACES)}, or Enter alone.")


_HANDLERS: dict[Act, Handler] = {
    "yes": _yes,
    "edit": _edit,
    "no": _no,
    "words": _words,
    "stop": _stop,
    "why": _why,
    "all": _all,
    "remember": _remember,
    "later": _later,
}
