"""The loop: hear the model, take its turn, go on. Every way in which a run goes on or ends is on this page."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from agent_sdk import endings
from agent_sdk.closing import abandon, close_turn, park_turn, store_reply
from agent_sdk.endings import Ended
from agent_sdk.errors import ModelError
from agent_sdk.history import text_of
from agent_sdk.messages import Message
from agent_sdk.models.reply import Reply
from agent_sdk.permissions import messages
from agent_sdk.prompts import admit_arrivals, ask_stop_hooks
from agent_sdk.reply import Asking
from agent_sdk.session import Session
from agent_sdk.sessions.at_once import at_once
from agent_sdk.turn import Turn

MAX_PAUSES = 10


@dataclass(slots=True)
class Progress:
    """Where a run stands: the turn that is open, how the run ended, and what must not go on for ever."""

    turn: Turn | None = None
    ended: Ended | None = None
    pauses: int = 0
    stop_blocks: int = 0


async def run(session: Session, progress: Progress) -> AsyncGenerator[Message, None]:
    """Run the session from where it stands until `progress.ended` is set.

    The prompt has been added already; `progress.turn` is a turn to finish first (resume). Yields everything but the
    result message. Nothing is held open over a `yield`; whatever breaks the run off, the transcript stays legal.
    Raises SessionError when the store fails or another run took the session.
    """
    left = False
    try:
        while progress.ended is None:
            if (asking := _next_request(session, progress)) is not None:
                try:
                    while (item := await asking.news()) is not None:
                        yield item
                except ModelError as error:
                    interrupted = session.interrupt.requested  # it may make an error of the cancellation
                    progress.ended = (
                        endings.aborted("aborted_streaming") if interrupted else endings.model_failed(error)
                    )
                finally:
                    await asking.close()
                if (reply := asking.reply) is not None:
                    yield await _keep_reply(session, progress, reply)
                    if progress.turn is None:
                        progress.ended = await _end_of(session, progress, reply)
                elif progress.ended is None:
                    progress.ended = endings.aborted("aborted_streaming")
            if progress.turn is not None:
                answered = await _take_turn(session, progress, progress.turn)
                progress.turn = None
                for news in session.news():
                    yield news
                if answered is not None:
                    yield answered
            for news in session.news():
                yield news
    except GeneratorExit:
        left = True
        raise
    finally:
        if progress.turn is not None and not progress.turn.parked:
            with at_once(left):
                await abandon(session, progress.turn)


def _next_request(session: Session, progress: Progress) -> Asking | None:
    """A request to the model; `None` while a turn is open, and when a limit is reached: then the run has ended."""
    if progress.turn is not None:
        return None
    progress.ended = _over_limit(session)
    if progress.ended is not None:
        return None
    session.spent.turns += 1
    return Asking(session)


async def _keep_reply(session: Session, progress: Progress, reply: Reply) -> Message:
    """Store a whole reply. Afterwards there is a turn to take, if it holds calls that are to be answered."""
    progress.pauses = progress.pauses + 1 if reply.stop_reason == "pause_turn" else 0
    turn = Turn.of(session, reply)
    if turn.blocks and reply.stop_reason != "refusal":
        progress.turn = turn  # set before the write: if that is cut off, the turn is still closed
    try:
        return await store_reply(session, reply, turn)
    except Exception:
        progress.turn = None  # nothing is stored of it, so there is nothing to close
        raise


async def _end_of(session: Session, progress: Progress, reply: Reply) -> Ended | None:
    """How a reply without calls ends the run, or `None` when it goes on."""
    text = text_of(reply.content)
    match reply.stop_reason:
        case "pause_turn" if progress.pauses <= MAX_PAUSES:
            return None
        case "pause_turn":
            return endings.ended_by_reply("pause_turn", text, f"the model paused {MAX_PAUSES} times in a row")
        case "tool_use":
            session.warn("the model's message ends with tool_use but holds no tool call; taken as its end")
            return await _finished(session, progress, endings.completed(text, "end_turn"))
        case "end_turn" | "stop_sequence" as stop_reason:
            return await _finished(session, progress, endings.completed(text, stop_reason))
        case other:
            return endings.ended_by_reply(other, text, f"the reply ended with stop_reason {other}")


async def _finished(session: Session, progress: Progress, ended: Ended) -> Ended | None:
    after = await ask_stop_hooks(session, ended, progress.stop_blocks)
    progress.stop_blocks += 1
    return after


async def _take_turn(session: Session, progress: Progress, turn: Turn) -> Message | None:
    """Decide and run the calls of a message; the user message that answers them, or `None` when some are parked."""
    if turn.stop_reason != "tool_use":
        return await _not_considered(session, progress, turn)
    if not turn.dockets and not turn.results:
        turn.admit()
        _check_budget(session, turn)
        await turn.decide()
    if turn.deferred and not turn.aborted and turn.stop is None:
        await park_turn(session, turn)
    if not turn.aborted and turn.stop is None:
        _check_time(session, turn)
        await turn.execute()
    if turn.deferred and not turn.aborted:
        await park_turn(session, turn)
        progress.ended = endings.tool_deferred(turn.deferred_uses())
        return None
    progress.ended = _end_of_turn(turn)
    if progress.ended is None and session.arrivals:
        await session.ledger.settle()
        await admit_arrivals(session)
    return await close_turn(session, turn, messages.INTERRUPTED_BEFORE, goes_on=progress.ended is None)


def _end_of_turn(turn: Turn) -> Ended | None:
    if turn.aborted:
        return endings.aborted("aborted_tools")
    if turn.stop is not None:
        return endings.stopped_by_hook(turn.stop, "tool_use")
    if turn.exhausted is not None:
        return endings.exhausted(turn.exhausted, f"the run's limit {turn.exhausted} is used up", "tool_use")
    return None


async def _not_considered(session: Session, progress: Progress, turn: Turn) -> Message:
    """Calls in a message that did not end with tool_use never run."""
    reason = turn.stop_reason
    cut = reason in ("max_tokens", "model_context_window_exceeded")
    text = messages.CUT_OFF if cut else f"Not run: the reply ended with stop_reason {reason}."
    goes_on = reason == "pause_turn" and progress.pauses <= MAX_PAUSES
    if not goes_on and reason in ("end_turn", "stop_sequence"):
        progress.ended = endings.completed(turn.text, reason)
    elif not goes_on:
        progress.ended = endings.ended_by_reply(reason, turn.text, f"the reply ended with stop_reason {reason}")
    turn.leave_out(text)
    return await close_turn(session, turn, text, goes_on=goes_on)


def _over_limit(session: Session) -> Ended | None:
    """Whether a further model request would go over a limit of the run."""
    options, spent = session.options, session.spent
    if options.max_turns is not None and spent.turns >= options.max_turns:
        return endings.exhausted("max_turns", f"the run made {spent.turns} model requests (max_turns)", "tool_use")
    if options.max_seconds is not None and spent.seconds >= options.max_seconds:
        return endings.exhausted("max_seconds", f"the run took {spent.seconds:.1f} s (max_seconds)", None)
    if options.max_budget_usd is not None and (spent.usd or 0.0) >= options.max_budget_usd:
        return endings.exhausted("max_budget_usd", f"the run cost {spent.usd} USD (max_budget_usd)", None)
    return None


def _check_budget(session: Session, turn: Turn) -> None:
    limit, spent = session.options.max_budget_usd, session.spent.usd
    if limit is not None and (spent or 0.0) >= limit:
        turn.exhaust("max_budget_usd", "Not run: the budget of this run is used up.")


def _check_time(session: Session, turn: Turn) -> None:
    limit = session.options.max_seconds
    if limit is not None and session.spent.seconds >= limit:
        turn.exhaust("max_seconds", "Not run: the time of this run is used up.")
