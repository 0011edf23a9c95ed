"""Ask the model. A stream that breaks is dropped whole and asked for again; so is a message with unusable ids."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import replace
from time import monotonic
from types import AsyncGeneratorType

import anyio

from agent_sdk.errors import ModelError
from agent_sdk.history import USABLE_ID, tool_use_ids
from agent_sdk.messages import Message, StreamEvent, SystemMessage
from agent_sdk.models.base import StreamBroken
from agent_sdk.models.reply import Reply, ReplyBuilder
from agent_sdk.request import build_request
from agent_sdk.session import Session
from agent_sdk.values import Json, JsonObject, copied_object, fresh_uuid

log = logging.getLogger("agent_sdk.model")

_UNUSABLE_MESSAGES = 2
_CLOSING_SECONDS = 2.0
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


async def ask_model(session: Session) -> AsyncGenerator[Message | Reply, None]:
    """The events of a reply, if they are wanted, then the whole reply. Nothing at all after an interrupt.

    Raises ModelError when no usable reply could be had. No cancel scope is held over a `yield`.
    """
    request = build_request(session)
    broken = unusable = 0
    while True:
        builder = ReplyBuilder()
        started = monotonic()
        try:
            stream = aiter(session.settings.model.stream(request))
            try:
                while (event := await _hear(session, stream, builder)) is not None:
                    yield StreamEvent(uuid=fresh_uuid(), session_id=session.id, event=copied_object(event))
            finally:
                await _close(stream)
            if session.interrupt.requested:
                return
            reply = builder.finish()
        except StreamBroken as error:
            broken += 1
            if broken > session.settings.model.max_retries:
                raise
            pause = session.settings.model.retry_pause(broken)
            log.warning("the reply broke off (%s); asking again in %.1f s", error, pause)
            yield _retry_news(broken, session.settings.model.max_retries, pause, str(error), error.status)
            await _pause(session, pause)
            if session.interrupt.requested:
                return
            continue
        finally:
            session.spent.api_seconds += monotonic() - started
        if not (bad := _bad_ids(reply.content)):
            session.spent.add(session.settings.model.name, reply)
            yield _with_fresh_ids(session, reply)
            return
        unusable += 1
        reason = f"the model's message holds unusable tool_use ids: {', '.join(bad)}"
        if unusable > _UNUSABLE_MESSAGES:
            raise ModelError(reason, kind="bad_tool_use_ids")
        log.warning("%s; it is dropped and asked for again", reason)
        yield _retry_news(unusable, _UNUSABLE_MESSAGES, 0.0, reason, None)


async def _hear(session: Session, stream: AsyncIterator[JsonObject], builder: ReplyBuilder) -> JsonObject | None:
    """Feed the builder, up to the next event that somebody wants to see. `None` at the end and after an interrupt."""
    with session.interrupt.guard():
        async for event in stream:
            if session.interrupt.requested:
                return None
            builder.feed(event)
            if session.options.include_partial_messages:
                return event
    return None


async def _close(stream: AsyncIterator[JsonObject]) -> None:
    """Close a stream that was left before its end. What goes wrong with that is no fault of the reply."""
    if isinstance(stream, AsyncGeneratorType) and stream.ag_frame is None:
        return
    if isinstance(stream, AsyncGenerator):
        try:
            with anyio.move_on_after(_CLOSING_SECONDS, shield=True):
                await stream.aclose()
        except Exception as error:
            log.warning("the model's stream could not be closed", exc_info=error)


async def _pause(session: Session, seconds: float) -> None:
    with session.interrupt.guard():
        await anyio.sleep(seconds)


def _retry_news(attempt: int, most: int, pause: float, error: str, status: int | None) -> SystemMessage:
    data: dict[str, Json] = {
        "attempt": attempt,
        "max_retries": most,
        "retry_delay_ms": int(pause * 1000),
        "error": error,
        "error_status": status,
    }
    return SystemMessage(subtype="api_retry", data=data)


def _bad_ids(content: Sequence[JsonObject]) -> list[str]:
    """Ids and names for which the service would refuse the conversation for ever: empty, ill-formed, or an id twice."""
    bad: list[str] = []
    seen: set[str] = set()
    for block in content:
        if block.get("type") == "tool_use":
            call_id = block.get("id")
            if not isinstance(call_id, str) or not USABLE_ID.fullmatch(call_id) or call_id in seen:
                bad.append(repr(call_id))
            elif not isinstance(name := block.get("name"), str) or not _TOOL_NAME.fullmatch(name):
                bad.append(f"{call_id} (with the tool name {name!r:.80})")
            else:
                seen.add(call_id)
    return bad


def _with_fresh_ids(session: Session, reply: Reply) -> Reply:
    """Replace ids that an earlier message used already: the only change ever made to a received message."""
    used = session.history.tool_use_ids
    if used.isdisjoint(tool_use_ids(reply.content)):
        return reply
    content: list[JsonObject] = []
    for block in reply.content:
        if block.get("type") == "tool_use" and block.get("id") in used:
            fresh = f"toolu_{fresh_uuid()}"
            log.warning("the tool_use id %s was used before; it is replaced by %s", block.get("id"), fresh)
            content.append({**block, "id": fresh})
        else:
            content.append(block)
    return replace(reply, content=content)
