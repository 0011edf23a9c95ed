"""Dialogues: a scripted model, whoever answers, tools that keep what they were given, and a check of all that was sent.

`hold` plays one run and checks what every run must keep: each request is one that the service takes, the stored
transcript too, and each call has one result.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from agent_sdk import (
    AgentOptions,
    Allow,
    AssistantMessage,
    CanUseToolShadowedWarning,
    Deny,
    InMemoryStore,
    Message,
    ResultMessage,
    SessionBusyError,
    SystemMessage,
    Tool,
    ToolContext,
    ToolResult,
    ToolResultBlock,
    UserMessage,
    query,
)
from agent_sdk.ledger import session_key
from agent_sdk.testing import ScriptedModel
from tests.support.messages_api import check_conversation

Block = Mapping[str, Any]
Body = Callable[[dict[str, Any], ToolContext], Awaitable[str | ToolResult]]
ANY: dict[str, Any] = {"type": "object"}


def use(name: str, id_: str = "", **tool_input: Any) -> dict[str, Any]:
    """A tool_use block; without an id the script gives one."""
    block = {"type": "tool_use", "name": name, "input": tool_input}
    return {**block, "id": id_} if id_ else block


@dataclass
class Ran:
    """What tools were run with: name and a deep copy of the input, in the order in which they began."""

    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    contexts: list[ToolContext] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The names of the tools that ran."""
        return [name for name, _ in self.calls]

    def tool(self, name: str, body: Body | None = None, *, schema: dict[str, Any] = ANY, **facts: Any) -> Tool:
        """A tool that keeps what it is run with, then does what `body` does, or answers `<name> ran`."""

        async def run(tool_input: Any, context: ToolContext) -> ToolResult:
            self.calls.append((name, copy.deepcopy(tool_input)))
            self.contexts.append(context)
            said = f"{name} ran" if body is None else await body(tool_input, context)
            return ToolResult(said) if isinstance(said, str) else said

        def check(tool_input: Any) -> str | None:
            missing = [key for key in schema.get("required", ()) if key not in tool_input]
            return f"{name}.{missing[0]}: this field is required" if missing else None

        return Tool(name=name, description=f"{name}.", input_schema=schema, run=run, check=check, **facts)


@dataclass
class Held:
    """One run that is over: what it yielded, and the model and store that it used."""

    messages: list[Message]
    model: ScriptedModel
    store: InMemoryStore
    error: BaseException | None = None

    @property
    def result(self) -> ResultMessage:
        """The last message."""
        last = self.messages[-1]
        assert isinstance(last, ResultMessage)
        return last

    @property
    def session_id(self) -> str:
        """The session's id."""
        return str(next(m.data["session_id"] for m in self.messages if isinstance(m, SystemMessage)))

    @property
    def results(self) -> dict[str, ToolResultBlock]:
        """What the model reads, by the id of the call."""
        blocks = [b for m in self.messages if isinstance(m, UserMessage) for b in m.content]
        return {block.tool_use_id: block for block in blocks if isinstance(block, ToolResultBlock)}

    @property
    def words(self) -> dict[str, str]:
        """The text of the results, by the id of the call."""
        return {id_: text_of(block.content) for id_, block in self.results.items()}

    def news(self, subtype: str) -> list[Mapping[str, Any]]:
        """The data of the system messages of this kind."""
        return [m.data for m in self.messages if isinstance(m, SystemMessage) and m.subtype == subtype]

    def said(self) -> list[str]:
        """Why each reply of the model ended."""
        return [str(m.stop_reason) for m in self.messages if isinstance(m, AssistantMessage)]

    async def entries(self, kind: str) -> list[Mapping[str, Any]]:
        """The stored entries of this kind."""
        return [e for e in await self.store.load(session_key(self.session_id)) or [] if e["type"] == kind]

    async def trace(self, tool_use_id: str) -> list[Mapping[str, Any]]:
        """The stored trace of a call."""
        found = [e for e in await self.entries("permission") if e["tool_use_id"] == tool_use_id]
        return list(found[-1]["trace"])


def text_of(content: Any) -> str:
    """Result content as text."""
    return content if isinstance(content, str) else "\n".join(str(block.get("text", "[image]")) for block in content)


async def hold(
    turns: Sequence[Any] | ScriptedModel,
    prompt: str | None = "go",
    *,
    store: InMemoryStore | None = None,
    decisions: Mapping[str, Allow | Deny] | None = None,
    on_message: Callable[[Message], object] | None = None,
    fails: type[BaseException] | None = None,
    **options: Any,
) -> Held:
    """Play one run to its end and check it. `fails` is what the run is expected to raise at its end."""
    model = turns if isinstance(turns, ScriptedModel) else ScriptedModel(turns)
    store = store or InMemoryStore()
    held = Held([], model, store)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CanUseToolShadowedWarning)
        settings = AgentOptions(model=model, session_store=store, **options)
    try:
        async with aclosing(query(prompt, options=settings, decisions=decisions)) as messages:
            async for message in messages:
                held.messages.append(message)
                if on_message is not None:
                    on_message(message)
    except BaseException as error:
        if fails is None or not isinstance(error, fails):
            raise
        held.error = error
    assert fails is None or held.error is not None, f"{fails} was not raised"
    check_requests(model.requests)
    if held.messages and not isinstance(held.error, SessionBusyError):
        await check_stored(store, held.session_id, tools=settings.offered_tools())
    return held


def check_requests(requests: Sequence[Any]) -> None:
    """Every request is one that the service takes."""
    for request in requests:
        assert check_conversation(request) is None, check_conversation(request)


async def check_stored(store: InMemoryStore, session_id: str, *, tools: Sequence[Any] = ()) -> None:
    """The stored conversation is legal as it stands, apart from a turn that is parked at its end."""
    entries = await store.load(session_key(session_id)) or []
    messages = [
        {"role": e["type"], "content": e["message"]["content"]}
        for e in entries
        if e["type"] in ("user", "assistant") and not e.get("refused")
    ]
    parked = bool((await store.open_turn(session_id)).pending)
    if messages and messages[-1]["role"] == "assistant" and parked:
        messages.pop()
    if not messages:
        return
    body = {"model": "m", "max_tokens": 1, "tools": list(tools) or [dict(ANY, name="t")], "messages": messages}
    reason = check_conversation(body)
    assert reason is None, reason


async def say_yes(name: str, tool_input: dict[str, Any], context: Any) -> Allow:
    """A person who allows everything."""
    return Allow()
