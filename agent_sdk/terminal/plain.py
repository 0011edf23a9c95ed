"""The plain prompt: `can_use_tool` for a person at a terminal, a pipe or a screen reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from anyio import to_thread

from agent_sdk.decisions import Allow, Defer, Deny, PermissionContext
from agent_sdk.questions.schema import Question, as_questions
from agent_sdk.render.card import Card, Questions
from agent_sdk.render.text import visible
from agent_sdk.render.tools import has_renderer, render_call
from agent_sdk.terminal.console import Console
from agent_sdk.terminal.draw import card_lines, is_cut, who_lines, why_lines
from agent_sdk.terminal.lines import LineReader
from agent_sdk.terminal.menu import LONG_MENU, MENU, Asking, ask_about_call
from agent_sdk.terminal.questions import ask_questions
from agent_sdk.values import JsonObject


class TerminalApprover:
    """Asks the person at the terminal about every call that needs an answer. Pass it as `can_use_tool`.

    `input` is an open file or a file descriptor, `None` = standard input; `output` is an open text file, `None` =
    standard output. Or `console`: a Console that is shared with others who talk on the same terminal. `by` names the
    person in the trace.

    Everything is numbered lines, without colours, boxes or cursor movement. Only an explicit answer counts: an empty
    or unknown line is asked again, and the end of the input is a denial that says so. One call is asked at a time.
    Cancelling it leaves the terminal ready for the next one. Raises what writing to `output` raises.

        AgentOptions(can_use_tool=TerminalApprover())
    """

    def __init__(
        self,
        *,
        input: TextIO | int | None = None,
        output: TextIO | None = None,
        console: Console | None = None,
        by: str | None = None,
    ) -> None:
        self._console = console or Console(reader=LineReader(input), output=output)
        self._by = by

    async def __call__(
        self, tool_name: str, tool_input: dict[str, Any], context: PermissionContext
    ) -> Allow | Deny | Defer:
        """Show the call, ask, and return the answer. For AskUserQuestion the answer is the filled-in card."""
        console = self._console
        async with console.conversation():
            card = await to_thread.run_sync(_card, tool_name, tool_input, context.cwd, abandon_on_cancel=True)
            if questions := _questions(tool_name, tool_input, card):
                asked, shown = questions
                console.say("", card.title + self._others(), *who_lines(context), *card_lines(card))
                return await ask_questions(console, tool_input, asked, shown.questions, by=self._by)
            console.say("", f"Permission needed: {card.title}{self._others()}", *who_lines(context))
            if context.description and not has_renderer(tool_name):
                console.say(f"  About the tool: {visible(context.description, keep_newlines=False)}")
            console.say(*card_lines(card), *why_lines(context))
            asking = Asking(
                console=console, tool_name=tool_name, tool_input=tool_input, context=context, card=card, by=self._by
            )
            return await ask_about_call(asking, LONG_MENU if is_cut(card) else MENU)

    def _others(self) -> str:
        waiting = self._console.waiting
        return f" ({waiting} more waiting)" if waiting else ""


def _card(tool_name: str, tool_input: JsonObject, cwd: str) -> Card:
    return render_call(tool_name, tool_input, cwd=cwd or ".")


def _questions(tool_name: str, tool_input: JsonObject, card: Card) -> tuple[Sequence[Question], Questions] | None:
    """The questions to ask and how they are shown; `None` for every other tool, and for a card that has none."""
    if tool_name != "AskUserQuestion":
        return None
    shown = next((part for part in card.body if isinstance(part, Questions)), None)
    return None if shown is None else (as_questions(tool_input), shown)
