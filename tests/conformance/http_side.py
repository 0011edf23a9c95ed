"""The model side of a check over HTTP: the real `anthropic` client against a local Messages API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from anthropic import AsyncAnthropic

from agent_sdk.models.script import ERROR_TYPES, Fault, Turn, read_turn
from tests.conformance.record import Record, Sent
from tests.conformance.script import MODEL, SUB_PROMPT, Script, is_fault
from tests.support.messages_api import MessagesServer

STATUS = {name: status for status, name in ERROR_TYPES.items()} | {"api_error": 500}


class _Requests(list[dict[str, Any]]):
    """The server's list of requests, which notes each of them in the record as it comes in."""

    def __init__(self, record: Record) -> None:
        super().__init__()
        self._record = record

    def append(self, body: dict[str, Any]) -> None:
        super().append(body)
        sub = SUB_PROMPT in str(body.get("system", ""))
        self._record.sent.append(Sent(run=self._record.run, body=body, sub=sub))


class _Played:
    """Our script in the form in which the server asks for one: first a fault, then, without a fault, the turn."""

    def __init__(self, script: Script, requests: list[dict[str, Any]]) -> None:
        self._script = script
        self._requests = requests
        self._turn: Mapping[str, Any] = {}

    def next_fault(self, index: int) -> Fault | None:
        self._turn = self._script.reply(self._requests[-1]["messages"])
        return as_fault(self._turn) if is_fault(self._turn) else None

    def turn(self, index: int) -> Turn:
        return read_turn({key: self._turn[key] for key in ("content", "stop_reason") if key in self._turn})


def as_fault(turn: Mapping[str, Any]) -> Fault:
    """An outage or a broken attempt as the server's fault."""
    error = turn.get("error", "overloaded_error")
    if "content" in turn:
        content = tuple(turn["content"])
        return Fault(
            kind="error_event", error=str(error), inside_block=turn.get("breaks_inside_block"), content=content
        )
    status = error if isinstance(error, int) else STATUS.get(error, 529)
    kind = ERROR_TYPES.get(status, "api_error") if isinstance(error, int) else error
    return Fault(kind="http", status=status, error=kind, retry_after=turn.get("retry_after"))


class HttpSide:
    """The model side over HTTP. Made by `serving`, which also ends it."""

    def __init__(self, server: MessagesServer, script: Script) -> None:
        self.script = script
        self.server = server
        self._clients: list[AsyncAnthropic] = []

    def options(self) -> dict[str, Any]:
        """What goes into `AgentOptions` for this model."""
        client = AsyncAnthropic(base_url=self.server.base_url, api_key="none")
        self._clients.append(client)
        return {"client": client, "model": MODEL}

    async def aclose(self) -> None:
        """Close the clients' connections."""
        for client in self._clients:
            await client.close()


@contextmanager
def serving(record: Record, script: Script) -> Iterator[HttpSide]:
    """A server that plays the script as long as the block lasts. What it refused becomes a remark."""
    with MessagesServer([]) as server:
        server.requests = _Requests(record)
        server.script = _Played(script, server.requests)  # type: ignore[assignment]
        yield HttpSide(server, script)
        record.remarks.extend(f"the service refused a request: {reason}" for reason in server.illegal)
