"""The plain prompt: a call or a question card in numbered lines, for any terminal, a pipe or a screen reader."""

from __future__ import annotations

from collections.abc import Sequence

from agent_sdk.questions.schema import Question, as_questions, recommended_first
from agent_sdk.render.card import Card, Questions
from agent_sdk.render.text import visible
from agent_sdk.render.tools import has_renderer
from agent_sdk.terminal.asking import Asking, Decision, WhenGone
from agent_sdk.terminal.console import Console
from agent_sdk.terminal.draw import card_lines, who_lines, why_lines
from agent_sdk.terminal.menu import ask_about_call
from agent_sdk.terminal.questions import ask_questions


async def ask_plainly(console: Console, asking: Asking, *, when_gone: WhenGone = "deny") -> Decision:
    """Show the call and ask. For AskUserQuestion the answer is the filled-in card.

    No colours, boxes or cursor movement. Only an explicit answer counts: an empty or unknown line is asked again.
    """
    context, card = asking.context, asking.card
    others = f" ({console.waiting} more waiting)" if console.waiting else ""
    if questions := questions_of(asking):
        asked, shown = questions
        console.say("", card.title + others, *who_lines(context), *card_lines(card))
        return await ask_questions(
            console, asking.tool_input, asked, shown.questions, by=asking.by, when_gone=when_gone
        )
    console.say("", f"Permission needed: {card.title}{others}", *who_lines(context))
    console.say(*about_lines(asking), *card_lines(card), *why_lines(context))
    return await ask_about_call(console, asking, when_gone=when_gone)


def about_lines(asking: Asking) -> list[str]:
    """What a tool of the application is for; nothing for one that has a renderer, for it explains itself."""
    words = asking.context.description
    if not words or has_renderer(asking.tool_name):
        return []
    return [f"  About the tool: {visible(words, keep_newlines=False)}"]


def questions_of(asking: Asking) -> tuple[Sequence[Question], Questions] | None:
    """The questions to ask, as people see them, and how they are shown; `None` for every other tool, and for a card
    that has none.
    """
    if asking.tool_name != "AskUserQuestion":
        return None
    shown = _shown_questions(asking.card)
    return None if shown is None else (tuple(map(recommended_first, as_questions(asking.tool_input))), shown)


def _shown_questions(card: Card) -> Questions | None:
    return next((part for part in card.body if isinstance(part, Questions)), None)
