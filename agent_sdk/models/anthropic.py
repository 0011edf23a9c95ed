"""The real model: the Messages API through the `anthropic` client, read as raw events.

The client rebuilds typed objects from what it reads; we keep what the model said, so its events are decoded here.
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, cast

import anyio
from anyio.lowlevel import RunVar

from agent_sdk.errors import ModelError
from agent_sdk.models.base import StreamBroken
from agent_sdk.models.reply import raise_error_event, read_json, short
from agent_sdk.values import Json, JsonObject

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncStream
    from anthropic._streaming import ServerSentEvent
    from httpx2 import Response

ALLOW_VARIABLE = "AGENT_SDK_ALLOW_MODEL_REQUESTS"
CLIENT_RETRIES = 2
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0
CLOSE_SECONDS = 5.0
DRAIN_SECONDS = 0.25

_log = logging.getLogger("agent_sdk.models")
_forbidden = False


def forbid_model_requests(forbid: bool = True) -> bool:
    """Let every AnthropicModel of this process refuse to send anything beyond this machine. Returns the setting before.

    For tests. The environment variable AGENT_SDK_ALLOW_MODEL_REQUESTS=0 does the same.
    """
    global _forbidden
    before, _forbidden = _forbidden, forbid
    return before


class AnthropicModel:
    """A Claude model. `name` is the service's name of it; `client` brings key, address, retries and time limits.

    Without a client one is made per event loop, from the environment, when the first request is sent. Before a reply
    begins the client retries by itself; what breaks after that is told as StreamBroken.
    """

    def __init__(self, name: str, client: AsyncAnthropic | None = None) -> None:
        self._name = name
        self._client = client
        self._own: RunVar[AsyncAnthropic] = RunVar("agent_sdk_anthropic_client")

    @property
    def name(self) -> str:
        """The model's name, as sent in requests."""
        return self._name

    @property
    def max_retries(self) -> int:
        """How often a broken stream is repeated: as often as the client retries."""
        return CLIENT_RETRIES if self._client is None else self._client.max_retries

    def retry_pause(self, attempt: int) -> float:
        """Seconds before repetition `attempt`, by the client's own schedule: doubling, bounded, a little random."""
        pause = min(FIRST_PAUSE * 2.0 ** min(attempt - 1, 10), LONGEST_PAUSE)
        return pause * (1 - 0.25 * random.random())

    async def stream(self, request: JsonObject) -> AsyncIterator[JsonObject]:
        """The raw events of the reply. The last one is handed on when the connection has been given back.

        Closing the iterator early closes the connection. Raises ModelError when no reply begins (kind and status as the
        service told them; never headers or keys), and StreamBroken when it breaks off or cannot be read.
        """
        stream = await self._open(request)
        events = type(stream).raw_events(stream.response)
        try:
            while (event := await _next_event(events)) is not None:
                if event.get("type") == "message_stop":
                    break
                yield event
            with anyio.move_on_after(DRAIN_SECONDS):
                await _exhaust(events)
        finally:
            with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                await _close(stream.response, events)
        if event is None:
            raise StreamBroken("the stream ended before the reply was complete", kind="connection_error")
        yield event

    async def _open(self, request: JsonObject) -> AsyncStream[object]:
        client = self._client or self._own_client()
        if (_forbidden or os.environ.get(ALLOW_VARIABLE) == "0") and not _is_loopback(client.base_url.host):
            raise ModelError(f"model requests are forbidden here; {self._name} was not asked", kind="forbidden")
        create = cast("Callable[..., Awaitable[AsyncStream[object]]]", client.messages.create)
        try:
            return await create(**{**request, "stream": True})
        except UnicodeEncodeError:
            _log.warning("the request holds halves of characters, which cannot be sent; they are replaced")
        except Exception as error:
            raise _opening_failed(error) from error
        try:
            return await create(**{**cast("dict[str, Json]", _sendable(request)), "stream": True})
        except Exception as error:
            raise _opening_failed(error) from error

    def _own_client(self) -> AsyncAnthropic:
        try:
            return self._own.get()
        except LookupError:
            pass
        try:
            client = make_client()
        except Exception as error:
            raise _opening_failed(error) from error
        self._own.set(client)
        return client


async def _next_event(events: AsyncIterator[ServerSentEvent]) -> JsonObject | None:
    """The next event that is no ping, or `None` at the end. Raises StreamBroken when there is no reading it."""
    while True:
        try:
            sent = await anext(events, None)
        except Exception as error:
            name = type(error).__name__
            kind = "timeout" if "Timeout" in name else "connection_error"
            raise StreamBroken(f"the connection failed in the middle of the reply ({name})", kind=kind) from error
        if sent is None:
            return None
        if sent.event == "ping" or not sent.data:
            continue
        event = _decoded(sent.data)
        if sent.event == "error" or event.get("type") == "error":
            raise_error_event(event)
        if event.get("type") != "ping":
            return event


def _decoded(data: str) -> JsonObject:
    try:
        event = read_json(data)
    except ValueError as error:
        raise StreamBroken(f"the stream held something that is not JSON: {short(str(error))}") from error
    if not isinstance(event, dict):
        raise StreamBroken("the stream held something that is no event")
    return event


async def _close(response: Response, events: AsyncIterator[ServerSentEvent]) -> None:
    """Close the connection, and then read on: the closed connection ends every iterator between it and us.

    An iterator that is dropped half-way is left to the garbage collector, which trio warns about.
    """
    with suppress(Exception):
        await response.aclose()
    await _exhaust(events)


async def _exhaust(events: AsyncIterator[ServerSentEvent]) -> None:
    """Read whatever is left. After the last event that is next to nothing, and the connection can be used again."""
    with suppress(Exception):
        async for _ in events:
            pass


def make_client(
    *, api_key: str | None = None, auth_token: str | None = None, base_url: str | None = None
) -> AsyncAnthropic:
    """A client; what is `None` comes from the environment."""
    from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient  # noqa: PLC0415

    # The HTTP client that it would make itself schedules its own end on whatever asyncio loop runs when it is
    # collected, which fails when it belonged to another loop or to trio.
    return AsyncAnthropic(
        api_key=api_key,
        auth_token=auth_token,
        base_url=base_url,
        max_retries=CLIENT_RETRIES,
        http_client=DefaultAsyncHttpxClient(),
    )


def _opening_failed(error: Exception) -> ModelError:
    """The ModelError for what the client raised before a reply began."""
    import anthropic  # noqa: PLC0415

    match error:
        case anthropic.APIStatusError(status_code=status, type=kind, api_message=text):
            said = f": {short(text)}" if isinstance(text, str) else ""
            known = kind if isinstance(kind, str) else None
            return ModelError(
                f"the model service answered {status}{said}" + (f" ({short(known)})" if known else ""),
                status=status,
                kind=known,
            )
        case anthropic.APITimeoutError():
            return ModelError("the model service did not answer in time", kind="timeout")
        case anthropic.APIConnectionError():
            return ModelError("the model service could not be reached", kind="connection_error")
        case TypeError() if "unexpected keyword" in str(error) or "required argument" in str(error):
            return ModelError(f"the client cannot send this request: {short(str(error))}", kind="invalid_request_error")
        case TypeError() if "authentication" in str(error):
            return ModelError(
                "there is no key for the model service: set ANTHROPIC_API_KEY, or give a client that has one",
                kind="authentication_error",
            )
        case _:
            return ModelError(f"the request could not be sent ({type(error).__name__})")


def _sendable(value: Json) -> Json:
    """The value with each half of a character, which UTF-8 cannot hold, replaced by U+FFFD."""
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case dict():
            return {cast(str, _sendable(key)): _sendable(item) for key, item in value.items()}
        case list() | tuple():
            return [_sendable(item) for item in value]
        case _:
            return value


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
