"""Streams of models as they come: iterators, iterables, generators; some misbehave when they are closed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, ClassVar

import anyio
import anyio.lowlevel
import pytest

from agent_sdk import AgentClient, AgentOptions, InMemoryStore, ModelError, ResultMessage, query
from agent_sdk.models.base import StreamBroken
from agent_sdk.models.script import events_of
from agent_sdk.testing import ScriptedModel
from tests.engine.dialogue import hold

EVENTS: list[Any] = list(events_of({"content": [{"type": "text", "text": "Hello."}]}, 0))


class Steps:
    """An iterator that is no generator."""

    def __init__(self) -> None:
        self.left = list(EVENTS)

    def __aiter__(self) -> Steps:
        return self

    async def __anext__(self) -> Any:
        await anyio.lowlevel.checkpoint()
        if not self.left:
            raise StopAsyncIteration
        return self.left.pop(0)


class Whole:
    """An iterable that begins anew for everybody who asks."""

    def __aiter__(self) -> Steps:
        return Steps()


async def generated() -> AsyncIterator[Any]:
    """A generator."""
    for event in EVENTS:
        yield event


class Streaming:
    """A model with such a stream; what it streams first may be another one."""

    name, max_retries = "m", 1

    def __init__(self, make: Callable[[], Any], first: Callable[[], Any] | None = None) -> None:
        self.makes = [first or make, make, make]

    def retry_pause(self, attempt: int) -> float:
        """At once."""
        return 0.0

    def stream(self, request: Any) -> Any:
        """The next stream."""
        return self.makes.pop(0)()


async def run(model: Any, **options: Any) -> ResultMessage:
    """One run to its end."""
    settings = AgentOptions(model=model, session_store=InMemoryStore(), **options)
    last = [message async for message in query("go", options=settings)][-1]
    assert isinstance(last, ResultMessage)
    return last


@pytest.mark.anyio
@pytest.mark.parametrize("partial", [False, True], ids=["whole", "partial messages"])
@pytest.mark.parametrize("make", [Steps, Whole, generated])
async def test_every_kind_of_stream_is_heard_once(make: Callable[[], Any], partial: bool) -> None:
    """Whoever wants the events as they come gets the same reply."""
    assert (await run(Streaming(make), include_partial_messages=partial)).result == "Hello."


async def fails_when_closed() -> AsyncIterator[Any]:
    """Nonsense, and then an error out of its own cleaning up."""
    try:
        yield EVENTS[0]
        yield 3
    finally:
        raise LookupError("no connection to close")


async def goes_on_when_closed() -> AsyncIterator[Any]:
    """Nonsense, and it does not take being closed for an answer."""
    try:
        yield 3
    except GeneratorExit:
        yield EVENTS[0]


@pytest.mark.anyio
@pytest.mark.parametrize("partial", [False, True], ids=["whole", "partial messages"])
@pytest.mark.parametrize("first", [fails_when_closed, goes_on_when_closed])
async def test_what_goes_wrong_in_closing_does_not_end_the_run(first: Any, partial: bool) -> None:
    """The broken reply is dropped and asked for again, as if the stream had been closed well."""
    assert (await run(Streaming(generated, first), include_partial_messages=partial)).result == "Hello."


@pytest.mark.anyio
async def test_a_stream_that_hangs_in_closing_is_left_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt ends the run although the connection does not end."""
    monkeypatch.setattr("agent_sdk.reply._CLOSING_SECONDS", 0.05)
    inside = anyio.Event()

    async def hangs() -> AsyncIterator[Any]:
        try:
            yield EVENTS[0]
            inside.set()
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope() as scope:
                scope.shield = inside.is_set()
                await anyio.sleep(0.2)

    options = AgentOptions(model=Streaming(hangs), session_store=InMemoryStore(), include_partial_messages=True)
    async with AgentClient(options) as client:
        await client.query("go")
        await inside.wait()
        await client.interrupt()
        with anyio.fail_after(5):
            last = [message async for message in client.receive_response()][-1]
    assert isinstance(last, ResultMessage)
    assert last.terminal_reason == "aborted_streaming"


def refused() -> Any:
    """A stream that is broken before it is one: the model raises when it is asked for it."""
    raise StreamBroken("the connection closed", kind="connection_error")


@pytest.mark.anyio
@pytest.mark.parametrize("partial", [False, True], ids=["whole", "partial messages"])
async def test_a_stream_that_breaks_when_it_is_asked_for_is_asked_for_again(partial: bool) -> None:
    """Where a model tells that a reply broke off makes no difference."""
    result = await run(Streaming(generated, refused), include_partial_messages=partial)
    assert (result.result, result.is_error) == ("Hello.", False)


@pytest.mark.anyio
async def test_a_stream_that_stays_broken_ends_with_its_own_error() -> None:
    """Not with the one of closing it."""
    with pytest.raises(ModelError, match="where an event belongs"):
        await run(Streaming(fails_when_closed))


@pytest.mark.anyio
async def test_a_script_is_such_a_stream_too() -> None:
    """The model of the tests and the ones above are the same to a run."""
    assert (await hold(ScriptedModel(["Hello."]))).result.result == "Hello."


class Closable(Steps):
    """An iterator that wants to be closed; after so many events it breaks."""

    closed: ClassVar[list[bool]] = []

    def __init__(self, breaks_after: int = 99) -> None:
        super().__init__()
        self.breaks_after = breaks_after

    async def __anext__(self) -> Any:
        if self.breaks_after == 0:
            raise StreamBroken("cut")
        self.breaks_after -= 1
        return await super().__anext__()

    async def aclose(self) -> None:
        """Note it."""
        self.closed.append(True)


@pytest.mark.anyio
@pytest.mark.parametrize("partial", [False, True], ids=["whole", "partial messages"])
async def test_an_iterator_that_can_be_closed_is_closed(partial: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that broke and the one that came to its end."""
    monkeypatch.setattr(Closable, "closed", [])
    assert (await run(Streaming(Closable, lambda: Closable(2)), include_partial_messages=partial)).result == "Hello."
    assert Closable.closed == [True, True]


async def cancelled_from_inside() -> AsyncIterator[Any]:
    """What it waits for is cancelled, not the run."""
    yield EVENTS[0]
    raise anyio.get_cancelled_exc_class()


@pytest.mark.anyio
@pytest.mark.parametrize("partial", [False, True], ids=["whole", "partial messages"])
async def test_a_stream_that_is_cancelled_from_inside_is_a_model_error(partial: bool, anyio_backend_name: str) -> None:
    """The run ends with a result; the conversation of a client goes on."""
    if anyio_backend_name == "trio":
        pytest.skip("trio's Cancelled cannot be raised by hand")
    model = Streaming(generated, cancelled_from_inside)
    settings = AgentOptions(model=model, session_store=InMemoryStore(), include_partial_messages=partial)
    async with AgentClient(settings) as client:
        await client.query("go")
        last = [message async for message in client.receive_response()][-1]
        assert isinstance(last, ResultMessage)
        assert last.terminal_reason == "model_error"
        assert "cancelled from inside" in " ".join(last.errors)
        await client.query("again")
        assert [message async for message in client.receive_response()][-1].result == "Hello."  # type: ignore[union-attr]


async def makes_an_error_of_it() -> AsyncIterator[Any]:
    """A client that tells a cancellation as a failure."""
    yield EVENTS[0]
    try:
        await anyio.sleep(20)
    except BaseException:
        raise ModelError("the connection is gone") from None


@pytest.mark.anyio
async def test_an_interrupt_that_becomes_an_error_is_still_an_interrupt() -> None:
    async with AgentClient(
        AgentOptions(model=Streaming(makes_an_error_of_it), session_store=InMemoryStore())
    ) as client:
        await client.query("go")
        await anyio.wait_all_tasks_blocked()
        await client.interrupt()
        last = [message async for message in client.receive_response()][-1]
        assert isinstance(last, ResultMessage)
        assert last.terminal_reason == "aborted_streaming"


@pytest.mark.anyio
async def test_the_time_of_the_model_is_not_the_time_of_its_reader() -> None:
    """`duration_api_ms` counts while the stream is waited for, not while the application looks at an event."""
    settings = AgentOptions(model=Streaming(generated), session_store=InMemoryStore(), include_partial_messages=True)
    messages = []
    async for message in query("go", options=settings):
        messages.append(message)
        await anyio.sleep(0.05)
    assert isinstance(messages[-1], ResultMessage)
    assert messages[-1].duration_api_ms < messages[-1].duration_ms / 2


async def deep() -> AsyncIterator[Any]:
    """An event that nobody could copy."""
    value: Any = []
    for _ in range(100_000):
        value = [value]
    yield {"type": "x", "value": value}


@pytest.mark.anyio
async def test_an_event_that_cannot_be_shown_breaks_the_reply() -> None:
    assert (await run(Streaming(generated, deep), include_partial_messages=True)).result == "Hello."


class CancelledInClosing(Steps):
    """What its closing waits for is cancelled, not the run."""

    async def aclose(self) -> None:
        """As the cancellation of an inner task would end it."""
        raise anyio.get_cancelled_exc_class()


@pytest.mark.anyio
async def test_a_closing_that_is_cancelled_from_inside_loses_no_reply(anyio_backend_name: str) -> None:
    """The reply is there: what becomes of its stream is no fault of it."""
    if anyio_backend_name == "trio":
        pytest.skip("trio's Cancelled cannot be raised by hand")
    assert (await run(Streaming(CancelledInClosing))).result == "Hello."
