"""What a run writes at the ends of things: a reply, a turn, a parked turn, a run that is broken off."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from agent_sdk.ledger import entry
from agent_sdk.messages import AssistantMessage, UserMessage, content_block
from agent_sdk.models.reply import Reply
from agent_sdk.parking import pending_approval, settled_call
from agent_sdk.permissions import messages
from agent_sdk.permissions.pipeline import Docket
from agent_sdk.results import results_content, value_of
from agent_sdk.session import Session
from agent_sdk.tools.state import same_place
from agent_sdk.turn import Turn
from agent_sdk.values import Json, JsonObject, copied_object

log = logging.getLogger("agent_sdk")

CLOSING_SECONDS = 2.0


async def store_reply(session: Session, reply: Reply, turn: Turn) -> AssistantMessage:
    """Store a whole reply, as it was received, before anything is judged. A refusal is stored but never sent back.

    Where a native cancellation cuts the write off, nobody knows whether it was stored: it stays unrecorded, and the
    closing of its turn stores it first.
    """
    message: dict[str, Json] = {
        "role": "assistant",
        "content": reply.content,
        "id": reply.message_id,
        "model": reply.model,
        "stop_reason": reply.stop_reason,
        "usage": reply.usage,
    }
    more: dict[str, Json] = {}
    if reply.stop_reason == "refusal":
        more["refused"] = True
        log.warning("the model refused; its message is kept in the transcript and not sent again")
    else:
        session.history.add_assistant(reply.content)
    turn.unrecorded = [entry("assistant", turn.message_uuid, message=message, **more)]
    await session.write(turn.unrecorded)
    turn.unrecorded = []
    return AssistantMessage(
        content=[content_block(copied_object(block)) for block in reply.content],  # a consumer may change its own copy
        model=reply.model,
        usage=reply.usage,
        message_id=reply.message_id,
        stop_reason=reply.stop_reason,
        session_id=session.id,
        uuid=turn.message_uuid,
    )


async def close_turn(session: Session, turn: Turn, missing: str, *, goes_on: bool) -> UserMessage:
    """Store the one user message that answers every call of the turn, and what came in meanwhile after it.

    A call without a result reads `missing`. When the run does not go on, prompts are left for the next one. After a
    write that failed it writes the same message again, so that what came in is neither lost nor stored twice.
    """
    if turn.answer is None:
        turn.answer = results_content(turn.ids, turn.results, session.take_arrivals(prompts=goes_on), missing)
        session.history.add_user(turn.answer, results=True)
    content, value = turn.answer, value_of(turn.ids, turn.results)
    stored = entry("user", turn.answer_uuid, message={"role": "user", "content": content}, tool_use_result=value)
    await session.write([*turn.unrecorded, stored], closes=turn.message_uuid)
    turn.unrecorded = []
    return UserMessage(
        content=[content_block(copied_object(block)) for block in content],
        uuid=turn.answer_uuid,
        tool_use_result=value,
    )


async def park_turn(session: Session, turn: Turn) -> None:
    """Store all verdicts and all parked calls in one transaction. Results that are known are stored with them."""
    deferral = session.ledger.deferral
    assert deferral is not None, "calls are deferred only where the store can park them"
    now = await deferral.now()
    for docket in turn.deferred:
        if docket.call.id not in turn.parked_before:
            await _bind(session, turn, docket)
    pending = [pending_approval(docket, now, turn.parked_before.get(docket.call.id)) for docket in turn.deferred]
    settled = [
        settled_call(docket, docket.verdict, None if _is_in_journal(turn, call_id) else turn.results.get(call_id))
        for call_id, docket in turn.dockets.items()
        if docket.verdict is not None and docket.verdict.behavior != "defer"
    ]
    fresh = {call.key.tool_use_id for call in settled}
    settled += [known for call_id, known in turn.settled_before.items() if call_id not in fresh]
    await session.ledger.park(turn.unrecorded, settled, pending)
    turn.unrecorded = []
    turn.parked = True


async def _bind(session: Session, turn: Turn, docket: Docket) -> None:
    """Let the call wait for its file as it is now: what the turn's own calls made of it since it was shown is ours."""
    verdict = docket.verdict
    if verdict is None or (verdict.state is not None and not turn.has_written):
        return
    state = await session.target_state(docket.tool, verdict.call)
    if verdict.state is None or (state is not None and same_place(state, verdict.state)):
        docket.verdict = replace(verdict, state=state)


def _is_in_journal(turn: Turn, call_id: str) -> bool:
    return call_id in turn.started and call_id not in turn.reworded


async def add_user(session: Session, content: Sequence[JsonObject]) -> None:
    """Store a prompt, or words that stand for one."""
    session.history.add_user(content)
    await session.write([entry("user", message={"role": "user", "content": list(content)})])


async def abandon(session: Session, turn: Turn) -> None:
    """The run is broken off inside a turn: write, shielded and for a short time at most, what keeps it legal.

    A commit that the disk holds up is waited for all the same.
    """
    with session.ledger.briefly(CLOSING_SECONDS) as scope:
        try:
            turn.give_up(messages.CANCELLED_BEFORE)
            await close_turn(session, turn, messages.CANCELLED_BEFORE, goes_on=False)
        except Exception as error:
            log.error("the open turn of session %s could not be closed", session.id, exc_info=error)
    if scope.cancelled_caught:
        log.error("the open turn of session %s could not be closed within %s s", session.id, CLOSING_SECONDS)
