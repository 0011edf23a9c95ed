"""A client in use: what it yielded, and the checks that every conversation must pass."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from agent_sdk import AgentClient, AgentOptions, InMemoryStore, ResultMessage, ToolResultBlock, UserMessage
from agent_sdk.testing import ScriptedModel
from tests.engine.dialogue import check_requests, check_stored, text_of


class Talk:
    """A client in use, with what it yielded."""

    def __init__(self, client: AgentClient, model: Any, store: InMemoryStore) -> None:
        self.client, self.model, self.store = client, model, store
        self.messages: list[Any] = []

    async def response(self) -> ResultMessage:
        """Receive up to the next result; checks what is stored."""
        self.messages = []
        with anyio.fail_after(5):
            async for message in self.client.receive_response():
                self.messages.append(message)
        await check_stored(self.store, self.client.session_id)
        last = self.messages[-1]
        assert isinstance(last, ResultMessage)
        return last

    @property
    def words(self) -> dict[str, str]:
        """What the model read of the calls in the last response."""
        blocks = [b for m in self.messages if isinstance(m, UserMessage) for b in m.content]
        return {b.tool_use_id: text_of(b.content) for b in blocks if isinstance(b, ToolResultBlock)}


@asynccontextmanager
async def talk(model: Any, **options: Any) -> AsyncIterator[Talk]:
    """A client for the model; at the end every request must have been legal."""
    store = options.setdefault("session_store", InMemoryStore())
    model = ScriptedModel(model) if isinstance(model, list) else model
    async with AgentClient(AgentOptions(model=model, **options)) as client:
        yield Talk(client, model, store)
    check_requests(model.requests)


def waits(inside: anyio.Event, answer: Any = None, *, swallow: bool = False) -> Callable[..., Any]:
    """A gate or tool that hangs; one that swallows answers once it is cancelled."""

    async def hangs(*_: Any) -> Any:
        inside.set()
        try:
            await anyio.sleep(30)
        except anyio.get_cancelled_exc_class():
            if not swallow:
                raise
        return answer

    return hangs
