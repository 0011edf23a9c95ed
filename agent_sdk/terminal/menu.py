"""What a person can say to a call: a list of choices, one element each."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from agent_sdk.decisions import Allow, Defer, Deny, PermissionContext
from agent_sdk.render.card import Card
from agent_sdk.render.text import shorten, visible
from agent_sdk.terminal.console import Console, InputEnded
from agent_sdk.terminal.draw import card_lines, trace_lines
from agent_sdk.values import Json, JsonObject

Decision: TypeAlias = Allow | Deny | Defer

_FULL_WIDTH = str.maketrans("０１２３４５６７８９", "0123456789")
ENDED = "Not approved: nobody answered, because the input of the terminal ended."


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A call that waits for a person, how it is shown, and the terminal where the person is.

    `by` is who answers, for the trace.
    """

    console: Console
    tool_name: str
    tool_input: JsonObject
    context: PermissionContext
    card: Card
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of the menu. `act` returns the decision, or `None` when the menu is to be asked again."""

    words: str
    act: Callable[[Asking], Awaitable[Decision | None]]


async def ask_about_call(asking: Asking, menu: Sequence[Choice]) -> Decision:
    """Show the menu until a choice decides. Only the number of a choice chooses; nothing is assumed.

    What was typed before the menu was there is dropped. When the input ends, the call is denied with those words.
    """
    console = asking.console
    console.say(*_menu_lines(menu))
    console.forget_typed()
    try:
        while True:
            line = await console.ask()
            choice = chosen(line, menu)
            if choice is None:
                console.say(_no_choice(line, menu))
                continue
            decision = await choice.act(asking)
            if decision is not None:
                return decision
            console.say(*_menu_lines(menu))
    except InputEnded:
        console.say("(the input ended: the call is denied)")
        return Deny(ENDED, by=asking.by)


def chosen(line: str, menu: Sequence[Choice]) -> Choice | None:
    """The choice whose number was typed, alone on its line; full-width digits count. `None` for anything else."""
    typed = line.strip().translate(_FULL_WIDTH)
    return next((choice for number, choice in enumerate(menu, 1) if typed == str(number)), None)


def _menu_lines(menu: Sequence[Choice]) -> list[str]:
    return ["May it run?", *(f"  {number}. {choice.words}" for number, choice in enumerate(menu, 1))]


def _no_choice(line: str, menu: Sequence[Choice]) -> str:
    said = f"{shorten(visible(line), 40)} is not one of them" if line.strip() else "Nothing was chosen"
    return f"{said}: type a number from 1 to {len(menu)}."


async def _approve(asking: Asking) -> Decision | None:
    return Allow(by=asking.by)


async def _edit(asking: Asking) -> Decision | None:
    if asking.tool_name == "Bash":
        asking.console.say("The command to run instead, on one line. Enter alone goes back.")
        command = await asking.console.ask("$ ")
        return Allow({**asking.tool_input, "command": command}, by=asking.by) if command.strip() else None
    asking.console.say("The whole input to use instead, as JSON on one line. Enter alone goes back.")
    while (line := await asking.console.ask("JSON> ")).strip():
        try:
            return Allow(_json_object(line), by=asking.by)
        except ValueError as error:
            asking.console.say(f"That is no input: {visible(str(error), keep_newlines=False)}. Once more, please.")
    return None


async def _deny(asking: Asking) -> Decision | None:
    return Deny(by=asking.by)


async def _deny_with_words(asking: Asking) -> Decision | None:
    asking.console.say("What the agent should know, or do instead. Enter alone goes back.")
    words = (await asking.console.ask()).strip()
    return Deny(words, by=asking.by) if words else None


async def _interrupt(asking: Asking) -> Decision | None:
    return Deny("The person interrupted the work.", interrupt=True, by=asking.by)


async def _explain(asking: Asking) -> Decision | None:
    asking.console.say("What was considered, in this order:", *trace_lines(asking.context))
    return None


async def _show_all(asking: Asking) -> Decision | None:
    asking.console.say(*card_lines(asking.card, limit=None))
    return None


MENU: tuple[Choice, ...] = (
    Choice("Yes, once", _approve),
    Choice("Yes, with changes: edit the input, then run it", _edit),
    Choice("No", _deny),
    Choice("No, and say why or what to do instead", _deny_with_words),
    Choice("No, and stop the agent", _interrupt),
    Choice("Why am I asked?", _explain),
)
"""The choices of this version, in the order of their numbers."""

LONG_MENU = (*MENU, Choice("Show all of the change", _show_all))
"""For a call that is too long to be shown at once."""


def _json_object(line: str) -> dict[str, Json]:
    """Raises ValueError, in words for a person, for anything but one JSON object."""
    try:
        value = json.loads(line, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at column {error.colno}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("it must be an object in braces")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
