"""The real client over real HTTP: what is said arrives value for value, and every fault has its error."""

from __future__ import annotations

import json
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
import pytest
from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient, Timeout

from agent_sdk.errors import ModelError
from agent_sdk.models import anthropic as door
from agent_sdk.models.anthropic import AnthropicModel
from agent_sdk.models.base import Model, StreamBroken
from agent_sdk.models.reply import Reply, ReplyBuilder
from agent_sdk.models.scripted import ScriptedModel
from tests.support.messages_api import MessagesServer

pytestmark = pytest.mark.anyio
TOOLS = [{"name": "Bash", "description": "x", "input_schema": {"type": "object"}}]


def request(*messages: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": "claude-x",
        "max_tokens": 9,
        "tools": TOOLS,
        "messages": [{"role": "user", "content": "x"}, *messages],
    }


@asynccontextmanager
async def connected(server: MessagesServer, **options: Any) -> AsyncIterator[AnthropicModel]:
    """A model whose client talks to the server. It loads no certificates, which would take most of a test's time."""
    options = {"max_retries": 2, "timeout": 5.0, "http_client": DefaultAsyncHttpxClient(verify=False), **options}
    async with AsyncAnthropic(base_url=server.base_url, api_key="secret-key", **options) as client:
        yield AnthropicModel("claude-x", client)


async def ask(model: Model, request: dict[str, Any]) -> Reply:
    builder = ReplyBuilder()
    async with aclosing(model.stream(request)) as events:  # type: ignore[type-var]
        async for event in events:
            builder.feed(event)
    return builder.finish()


@pytest.fixture
def no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the client wait a hundredth of its usual pauses."""
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.005)


SAID = [
    {"type": "thinking", "thinking": "Überlegung\n", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "ZGF0YQ=="},
    {"type": "text", "text": "half a \ud83d and a whole \U0001f600, a line end\u2028 and a \r\n"},
    {"type": "dream", "of": {"b": [1, 2.50, None, {"a": "\ud800"}]}},
    {"type": "tool_use", "id": "a", "name": "Bash", "input": {"z": {"y": ["\u0000", -0.0, 10**20]}, "command": "ls"}},
    {"type": "tool_use", "id": "b", "name": "Bash", "input": {}},
]


async def test_what_is_said_arrives_value_for_value() -> None:
    """Over HTTP and in memory the same script gives the same reply, as JSON text."""
    script = [{"content": SAID, "usage": {"input_tokens": 7, "cache_read_input_tokens": 2, "output_tokens": 5}}]
    in_memory = await ask(ScriptedModel(script, name="claude-x"), request())
    with MessagesServer(script) as server:
        async with connected(server) as model:
            over_http = await ask(model, request())
    assert over_http == in_memory
    assert json.dumps(over_http.content) == json.dumps(SAID)


async def test_a_conversation_goes_on_over_one_connection() -> None:
    """What was said goes back and is taken, halves of characters included; the connection is used again."""
    script = [SAID, "done"]
    with MessagesServer(script) as server:
        async with connected(server) as model:
            reply = await ask(model, request())
            results = [{"type": "tool_result", "tool_use_id": id_, "content": "ok"} for id_ in ("a", "b")]
            back = request({"role": "assistant", "content": reply.content}, {"role": "user", "content": results})
            assert (await ask(model, back)).content == [{"type": "text", "text": "done"}]
        assert server.illegal == []
        assert server.connections == 1
        assert server.requests[1]["messages"][1]["content"][2]["text"].startswith(
            "half a \ufffd and a whole \U0001f600"
        )


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"kind": "cut", "after": 0}, "connection_error"),
        ({"kind": "cut", "after": 3}, "connection_error"),
        ({"kind": "cut", "inside_block": 0}, "connection_error"),
        ({"kind": "cut", "after": 99}, None),
        ({"kind": "error_event", "inside_block": 0}, "overloaded_error"),
        ({"kind": "error_event", "after": 0, "error": "api_error"}, "api_error"),
        ({"kind": "stall", "after": 0}, "timeout"),
        ({"kind": "stall", "inside_block": 0}, "timeout"),
        ({"kind": "stall", "seconds": 0.02}, "connection_error"),
    ],
    ids=str,
)
async def test_a_stream_that_breaks_is_told_once(fault: Any, kind: str | None) -> None:
    """After its 200 nothing is retried: StreamBroken comes out, and the identical request is answered next.

    A connection that closes after the last event has lost nothing.
    """
    call = {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "echo 0"}}
    with MessagesServer([{"content": [call], "faults": [fault]}]) as server:
        async with connected(server, timeout=Timeout(5.0, read=0.3)) as model:
            if kind is not None:
                with pytest.raises(StreamBroken) as caught:
                    await ask(model, request())
                assert caught.value.kind == kind
            assert (await ask(model, request())).content == [call]
        assert len(server.requests) == (1 if kind is None else 2)


@pytest.mark.usefixtures("no_long_pauses")
@pytest.mark.parametrize(
    "faults",
    [
        [{"kind": "http", "status": 429, "retry_after": 0.01}, {"kind": "http"}],
        [{"kind": "drop"}, {"kind": "http", "status": 500}],
    ],
    ids=["busy", "dropped"],
)
async def test_before_a_reply_the_client_retries(faults: list[Any]) -> None:
    """Two failures pass unnoticed."""
    with MessagesServer([{"content": [{"type": "text", "text": "x"}], "faults": faults}]) as server:
        async with connected(server) as model:
            assert (await ask(model, request())).content == [{"type": "text", "text": "x"}]
        assert len(server.requests) == 3


@pytest.mark.usefixtures("no_long_pauses")
@pytest.mark.parametrize(
    ("faults", "status", "kind", "requests"),
    [
        ([{"kind": "http", "status": 529}] * 3, 529, "overloaded_error", 3),
        ([{"kind": "http", "status": 401}], 401, "authentication_error", 1),
        ([{"kind": "http", "status": 400, "message": "bad   thing " + "x" * 900}], 400, "invalid_request_error", 1),
        ([{"kind": "drop"}] * 3, None, "connection_error", 3),
    ],
    ids=["overloaded", "no key", "refused", "dropped"],
)
async def test_no_reply_is_a_model_error(faults: list[Any], status: int | None, kind: str, requests: int) -> None:
    """Status and kind are told, in a short message without key and address."""
    with MessagesServer([{"content": [], "faults": faults}]) as server:
        async with connected(server) as model:
            with pytest.raises(ModelError) as caught:
                await ask(model, request())
        assert (caught.value.status, caught.value.kind) == (status, kind)
        assert not isinstance(caught.value, StreamBroken)
        assert len(server.requests) == requests
        message = str(caught.value)
        assert len(message) < 400
        assert "secret-key" not in message
        assert "127.0.0.1" not in message


async def test_an_illegal_conversation_is_refused_with_its_reason() -> None:
    """The reason of the service's 400 reaches the application."""
    with MessagesServer(["x"]) as server:
        async with connected(server) as model:
            with pytest.raises(ModelError, match="first message must use the user role") as caught:
                await ask(model, {**request(), "messages": [{"role": "assistant", "content": "x"}]})
    assert caught.value.status == 400
    assert len(server.illegal) == 1


@pytest.mark.parametrize("taken", range(6))
async def test_a_stream_may_be_closed_at_any_event(taken: int) -> None:
    """Closing early leaves nothing behind that warns, and the model answers the next request."""
    with warnings.catch_warnings(), MessagesServer([SAID]) as server:
        warnings.simplefilter("error")
        async with connected(server) as model:
            stream = model.stream(request())
            for _ in range(taken):
                await anext(stream)
            await stream.aclose()  # type: ignore[attr-defined]
            assert (await ask(model, request())).stop_reason == "tool_use"


@pytest.mark.parametrize("after", [0, 3])
async def test_a_waiting_read_may_be_cancelled(after: int) -> None:
    """Cancelling while the service is silent closes the connection; the model answers the next request."""
    fault = {"kind": "stall", "after": after}
    with MessagesServer([{"content": SAID, "faults": [fault]}]) as server:
        async with connected(server) as model:
            with anyio.move_on_after(0.2) as scope:
                await ask(model, request())
            assert scope.cancelled_caught
            assert (await ask(model, request())).stop_reason == "tool_use"


async def test_unknown_parameters_are_named() -> None:
    """A parameter that the client does not take is a ModelError with its name."""
    with MessagesServer(["x"]) as server:
        async with connected(server) as model:
            with pytest.raises(ModelError, match="flavour"):
                await ask(model, {**request(), "flavour": "sweet"})
        assert server.requests == []


async def test_a_missing_key_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Without key and client the error says what to set."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", door.ALLOW_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with MessagesServer(["x"]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        with pytest.raises(ModelError, match="ANTHROPIC_API_KEY"):
            await ask(AnthropicModel("claude-x"), request())
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        model = AnthropicModel("claude-x")
        assert [(await ask(model, request())).stop_reason for _ in range(2)] == ["end_turn"] * 2


@pytest.fixture
def switch() -> Iterator[Callable[[bool], bool]]:
    """The switch, put back afterwards."""
    before = door.forbid_model_requests(False)
    yield door.forbid_model_requests
    door.forbid_model_requests(before)


@pytest.mark.parametrize("by_variable", [True, False])
async def test_requests_beyond_this_machine_can_be_forbidden(
    switch: Callable[[bool], bool], monkeypatch: pytest.MonkeyPatch, by_variable: bool
) -> None:
    """Forbidden means refused before anything is sent; a server on this machine may still be asked."""
    if by_variable:
        monkeypatch.setenv(door.ALLOW_VARIABLE, "0")
    else:
        assert switch(True) is False
    async with AsyncAnthropic(base_url="http://service.invalid", api_key="x", max_retries=0) as client:
        with pytest.raises(ModelError, match="forbidden"):
            await ask(AnthropicModel("claude-x", client), request())
    with MessagesServer(["x"]) as server:
        async with connected(server) as model:
            assert (await ask(model, request())).stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("127.0.0.9", True),
        ("[::1]", True),
        ("::1", True),
        ("10.0.0.1", False),
        ("localhost.a.b", False),
        ("", False),
    ],
)
def test_loopback(host: str, local: bool) -> None:
    """Only this very machine counts."""
    assert door._is_loopback(host) is local


def test_pauses_double_up_to_a_bound() -> None:
    """The schedule is the client's: half a second, doubling, at most eight, up to a quarter less."""
    model = AnthropicModel("claude-x")
    assert (model.name, model.max_retries) == ("claude-x", 2)
    for attempt, longest in ((1, 0.5), (2, 1.0), (3, 2.0), (5, 8.0), (9, 8.0), (5000, 8.0)):
        assert 0.75 * longest <= model.retry_pause(attempt) <= longest


@pytest.mark.parametrize(
    "data",
    ["{", "NaN", "[]", "3", '"x"', '{"type": "error"}', '{"x": 1e999}', "[" * 9999],
    ids=["half", "NaN", "list", "number", "string", "error", "infinity", "deep"],
)
async def test_undecodable_data_breaks_the_stream(data: str) -> None:
    """What is no event is StreamBroken, whatever it is."""
    with MessagesServer([], raw=f"data: {data}\n\n".encode()) as server:
        async with connected(server) as model:
            with pytest.raises(StreamBroken):
                await ask(model, request())


@pytest.mark.parametrize(
    "raw", [b"", b"data: \xff\n\n", b"<html>", b": ping\n\n"], ids=["nothing", "not UTF-8", "a page", "a comment"]
)
async def test_a_body_that_is_no_stream_breaks_the_stream(raw: bytes) -> None:
    """A 200 that holds no events is StreamBroken."""
    with MessagesServer([], raw=raw) as server:
        async with connected(server) as model:
            with pytest.raises(StreamBroken):
                await ask(model, request())
