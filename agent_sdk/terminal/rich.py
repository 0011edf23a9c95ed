"""Asks richly: a call or a question card as a page on the terminal, and one line in the scrollback when it is over."""

from __future__ import annotations

from agent_sdk.decisions import Allow, Defer, Deny
from agent_sdk.render.text import shorten, visible
from agent_sdk.terminal.asking import Asking, Decision, WhenGone
from agent_sdk.terminal.console import Console
from agent_sdk.terminal.plain import questions_of
from agent_sdk.terminal.questions import nobody
from agent_sdk.terminal.rich_approval import ApprovalPage
from agent_sdk.terminal.rich_page import Page
from agent_sdk.terminal.rich_questions import QuestionPage
from agent_sdk.terminal.rich_screen import Gone, run_page


async def ask_richly(console: Console, asking: Asking, *, when_gone: WhenGone = "deny") -> Decision:
    """Draw the call and take keys until there is a decision. A cancelled prompt leaves the terminal as it was.

    When the terminal vanishes nobody approved: `when_gone` says whether the call is denied or parked.
    Raises whatever goes wrong with drawing; the terminal is restored first.
    """
    questions = questions_of(asking)
    page: Page = (
        ApprovalPage.of(asking) if questions is None else QuestionPage.of(asking, questions[0], questions[1].questions)
    )
    came = await run_page(console, page)
    if isinstance(came, Gone):
        return asking.nobody(when_gone) if questions is None else nobody(when_gone)
    console.say(_record(asking, came))
    return came


def _record(asking: Asking, decision: Decision) -> str:
    """What was decided, as it stays in the scrollback."""
    title = asking.card.title
    match decision:
        case Allow() if asking.tool_name == "AskUserQuestion":
            said = "answered" if (decision.updated_input or {}).get("answers") else "declined"
        case Allow(updated_permissions=kept):
            changed = ", with changes" if decision.updated_input is not None else ""
            said = f"yes{changed}, and remembered" if kept else f"yes{changed or ', once'}"
        case Deny(message=str(words), interrupt=False) if words:
            said = f"no: {shorten(visible(words, keep_newlines=False), 60)}"
        case Deny(interrupt=stops):
            said = "no, and the agent stops" if stops else "no"
        case Defer():
            said = "put off"
    return f"  ({title}: {said})"
