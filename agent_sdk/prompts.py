"""Words that go to the model as a user message: prompts, past the UserPromptSubmit hooks, and what Stop hooks say."""

from __future__ import annotations

from collections.abc import Sequence

from agent_sdk import endings
from agent_sdk.closing import add_user
from agent_sdk.endings import Ended
from agent_sdk.history import text_of
from agent_sdk.hooks.hear import EventHeard, hear_event
from agent_sdk.session import Arrival, Session
from agent_sdk.values import Json, JsonObject

MAX_STOP_BLOCKS = 8


async def admit_prompt(session: Session, content: Sequence[JsonObject]) -> Ended | list[JsonObject]:
    """Take a prompt past the UserPromptSubmit hooks: what is to be sent, or how the run ends because they blocked it.

    A hook that fails blocks the prompt: a gate that did not answer is no yes.
    """
    matchers = session.hooks.get("UserPromptSubmit", ())
    if not matchers:
        return list(content)
    prompt = text_of(content)

    def told(output: Json) -> dict[str, Json]:
        return {**session.scene().facts("UserPromptSubmit"), "prompt": prompt}

    heard = EventHeard(faults=("it was interrupted",))
    with session.interrupt.guard():
        heard = await hear_event("UserPromptSubmit", matchers, told)
    if session.interrupt.requested:
        return endings.aborted("aborted_streaming")
    _tell(session, heard)
    if heard.faults:
        return endings.prompt_blocked(f"a UserPromptSubmit hook failed, the prompt was not sent: {heard.faults[0]}")
    if heard.stop is not None or heard.block is not None:
        return endings.prompt_blocked(heard.block or heard.stop or "")
    return [*content, *({"type": "text", "text": text} for text in heard.contexts)]


async def admit_arrivals(session: Session) -> None:
    """Take the prompts that came in during a turn past the hooks, before they follow its results."""
    arrivals, session.arrivals = session.arrivals, []
    for arrival in arrivals:
        if arrival.admitted or not arrival.is_prompt:
            session.arrivals.append(arrival)
            continue
        match await admit_prompt(session, arrival.content):
            case Ended() as blocked:
                session.warn(f"a prompt was blocked by a hook and not sent: {blocked.text}")
            case admitted:
                session.arrivals.append(Arrival(admitted, is_prompt=True, admitted=True))


async def ask_stop_hooks(session: Session, ended: Ended, stop_blocks: int) -> Ended | None:
    """The model has finished: Stop hooks may send it on (`None`), at most eight times in a row."""
    matchers = session.hooks.get("Stop", ())
    if not matchers:
        return ended

    def told(output: Json) -> dict[str, Json]:
        facts = session.scene().facts("Stop")
        return {**facts, "stop_hook_active": stop_blocks > 0, "last_assistant_message": ended.text or ""}

    heard = EventHeard()
    with session.interrupt.guard():
        heard = await hear_event("Stop", matchers, told)
    _tell(session, heard)
    for fault in heard.faults:
        session.warn(f"Stop hook {fault}; the run ends")
    if heard.stop is not None:
        return endings.stopped_by_hook(heard.stop, ended.stop_reason)
    words = [*([heard.block] if heard.block else []), *heard.contexts]
    if not words or heard.faults:
        return ended
    if stop_blocks >= MAX_STOP_BLOCKS:
        session.warn(f"Stop hooks sent the model on {MAX_STOP_BLOCKS} times in a row; the run ends")
        return ended
    await add_user(session, [{"type": "text", "text": text} for text in words])
    return None


def _tell(session: Session, heard: EventHeard) -> None:
    session.tell_hooks(heard.trace)
    for notice in heard.notices:
        session.tell("hook_message", message=notice)
