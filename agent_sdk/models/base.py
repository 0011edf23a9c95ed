"""The port for models: whatever can turn a Messages API request into a stream of its raw events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from agent_sdk.errors import ModelError
from agent_sdk.values import JsonObject


class StreamBroken(ModelError):
    """A reply that began well and then broke off: an error event, a closed connection, a stall.

    The loop drops the partial reply and repeats the identical request, `Model.max_retries` times at most.
    """


@runtime_checkable
class Model(Protocol):
    """A model. `name` is what is sent as `model` in the request and shown in messages.

    `max_retries` and `retry_pause(attempt)` (seconds; the first repetition is attempt 1) say how a stream that broke is
    repeated. Failures before the stream begins are retried by the model itself.
    """

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    @property
    def max_retries(self) -> int:
        """How often a broken stream is repeated."""
        ...

    def retry_pause(self, attempt: int) -> float:
        """Seconds to wait before repetition number `attempt`, counted from 1."""
        ...

    def stream(self, request: JsonObject) -> AsyncIterator[JsonObject]:
        """The raw stream events (`message_start` … `message_stop`) of the reply to a Messages API request.

        No cancel scope or task may be held open between two events. Raises StreamBroken when the stream breaks after
        it began, and ModelError when no reply could be had.
        """
        ...
