"""Ask the model. A stream that breaks is dropped whole and asked for again; so is a message with unusable ids."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from time import monotonic
from types import AsyncGeneratorType
from typing import Protocol, runtime_checkable

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from agent_sdk.apart import native_cancellations
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


class Asking:
    """One request to the model, until its whole reply is there: read `news` until there is none, then `reply`.

    Always to be closed. No cancel scope is held open between two calls. (A plain object, not an async generator: the
    event loop keeps books of every one of those, and there is one of these for each request.)
    """

    def __init__(self, session: Session) -> None:
        self.reply: Reply | None = None
        self._session = session
        self._request = build_request(session)
        self._builder = ReplyBuilder()
        self._stream: AsyncIterator[JsonObject] | None = None
        self._pause: float | None = None
        self._broken = self._unusable = 0

    async def news(self) -> Message | None:
        """The next event of the reply, if they are wanted, or that it is asked for again.

        `None` when `reply` is there, and after an interrupt, which leaves none. Raises ModelError when no usable reply
        could be had.
        """
        if self._pause is not None:
            await self._wait(self._pause)
        if self.reply is not None or self._session.interrupt.requested:
            return None
        try:
            event = await self._hear()
            if event is not None:
                return self._shown(event)
            await self.close()
            if self._session.interrupt.requested:
                return None
            reply = self._builder.finish()
        except StreamBroken as error:
            await self.close()
            return self._asked_again(error)
        if bad := _bad_ids(reply.content):
            return self._dropped(f"the model's message holds unusable tool_use ids: {', '.join(bad)}")
        self._session.spent.add(self._session.settings.model.name, reply)
        self.reply = _with_fresh_ids(self._session, reply)
        return None

    async def close(self) -> None:
        """Close the stream, if one is open."""
        stream, self._stream = self._stream, None
        if stream is not None:
            await _close(stream)

    async def _hear(self) -> JsonObject | None:
        """Feed the builder, up to the next event that somebody wants to see. `None` at the end and after an interrupt.

        Raises StreamBroken, ModelError, and whatever else comes out of the stream.
        """
        session, builder, stream = self._session, self._builder, self._stream
        began, cancelled_before = monotonic(), native_cancellations()
        try:
            if stream is None:
                stream = self._stream = aiter(session.settings.model.stream(self._request))
            with session.interrupt.guard():
                async for event in stream:
                    if session.interrupt.requested:
                        return None
                    builder.feed(event)
                    if session.options.include_partial_messages:
                        return event
        except anyio.get_cancelled_exc_class():
            await checkpoint_if_cancelled()
            if native_cancellations() > cancelled_before:
                raise
            raise ModelError("the model's stream was cancelled from inside") from None
        finally:
            session.spent.api_seconds += monotonic() - began
        return None

    def _shown(self, event: JsonObject) -> Message:
        """An event for the application, in a copy of its own. Raises StreamBroken for one that cannot be copied."""
        try:
            own = copied_object(event)
        except TypeError as error:
            raise StreamBroken(f"the stream held an event that is no JSON object: {error}") from None
        return StreamEvent(uuid=fresh_uuid(), session_id=self._session.id, event=own)

    def _asked_again(self, error: StreamBroken) -> Message:
        """The stream broke: ask once more after a pause. Raises the error itself when it has broken too often."""
        model = self._session.settings.model
        self._broken += 1
        if self._broken > model.max_retries:
            raise error
        pause = model.retry_pause(self._broken)
        log.warning("the reply broke off (%s); asking again in %.1f s", error, pause)
        return self._begin_again(self._broken, model.max_retries, pause, str(error), error.status)

    def _dropped(self, reason: str) -> Message:
        """The reply cannot be used: ask once more at once. Raises ModelError when that happens again and again."""
        self._unusable += 1
        if self._unusable > _UNUSABLE_MESSAGES:
            raise ModelError(reason, kind="bad_tool_use_ids")
        log.warning("%s; it is dropped and asked for again", reason)
        return self._begin_again(self._unusable, _UNUSABLE_MESSAGES, 0.0, reason, None)

    def _begin_again(self, attempt: int, most: int, pause: float, error: str, status: int | None) -> Message:
        self._builder = ReplyBuilder()
        self._pause = pause
        data: dict[str, Json] = {
            "attempt": attempt,
            "max_retries": most,
            "retry_delay_ms": int(pause * 1000),
            "error": error,
            "error_status": status,
        }
        return SystemMessage(subtype="api_retry", data=data)

    async def _wait(self, seconds: float) -> None:
        self._pause = None
        with self._session.interrupt.guard():
            await anyio.sleep(seconds)


@runtime_checkable
class _Closable(Protocol):
    async def aclose(self) -> None: ...


async def _close(stream: AsyncIterator[JsonObject]) -> None:
    """Close a stream that was left before its end. What goes wrong with that is no fault of the reply."""
    if isinstance(stream, AsyncGeneratorType) and stream.ag_frame is None:
        return
    if isinstance(stream, _Closable):
        cancelled_before = native_cancellations()
        try:
            with anyio.move_on_after(_CLOSING_SECONDS, shield=True):
                await stream.aclose()
        except anyio.get_cancelled_exc_class():
            await checkpoint_if_cancelled()
            if native_cancellations() > cancelled_before:
                raise
            log.warning("the closing of the model's stream was cancelled from inside")
        except Exception as error:
            log.warning("the model's stream could not be closed", exc_info=error)


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
