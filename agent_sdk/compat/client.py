"""`query()` and ClaudeSDKClient in the spelling of the Claude Agent SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from types import TracebackType
from typing import Any, Self

import anyio
from anyio.abc import TaskGroup

from agent_sdk import client as ours
from agent_sdk.compat.errors import CLIConnectionError
from agent_sdk.compat.messages import Message, ResultMessage, as_theirs, result_error
from agent_sdk.compat.options import ClaudeAgentOptions, McpStatusResponse
from agent_sdk.compat.translate import ALIASES, agent_options, servers_in_process
from agent_sdk.config import not_available_yet
from agent_sdk.errors import ModelError
from agent_sdk.models.base import Model

Prompt = str | AsyncIterable[dict[str, Any]]


async def query(
    *, prompt: Prompt, options: ClaudeAgentOptions | None = None, transport: object = None
) -> AsyncGenerator[Message, None]:
    """Run a prompt, or a stream of them, to its end.

    After a ResultMessage with `is_error` it raises ResultError, an interrupt and a denial with `interrupt=True`
    included. Otherwise raises what `agent_sdk.query` raises, all of it ClaudeSDKError.
    """
    _refuse_transport(transport)
    last: ResultMessage | None = None
    servers = list(servers_in_process(options)) if options is not None else []
    run = ours.query(prompt, options=agent_options(options))
    try:
        async with aclosing(run) as messages:
            async for message in messages:
                told = as_theirs(message, servers)
                last = told if isinstance(told, ResultMessage) else last
                yield told
    except ModelError as error:
        if last is None or not last.is_error:
            raise
        raise result_error(last) from error
    if last is not None and last.is_error:
        raise result_error(last)


def _refuse_transport(transport: object) -> None:
    if transport is not None:
        raise not_available_yet("transport=... (there is no process to talk to)")


class ClaudeSDKClient:
    """A conversation of many turns.

        async with ClaudeSDKClient(options) as client:
            await client.query("Look around.")
            async for message in client.receive_response():
                print(message)

    `connect` and `disconnect` belong to the same task. Error results are yielded and not raised, so that the
    conversation can go on. Methods raise CLIConnectionError while the client is not connected.
    """

    def __init__(self, options: ClaudeAgentOptions | None = None, transport: object = None) -> None:
        _refuse_transport(transport)
        self.options = options or ClaudeAgentOptions()
        self._client: ours.AgentClient | None = None
        self._tasks: TaskGroup | None = None
        self._stack = AsyncExitStack()
        self._model: str | Model = ""

    async def connect(self, prompt: Prompt | None = None) -> None:
        """Begin the conversation, with a prompt or a stream of prompts if one is given.

        Raises OptionsError for options that have no meaning. Settings files are read at the first prompt.
        """
        if self._client is not None:
            return
        options = agent_options(self.options)
        self._model = options.model
        client = await self._stack.enter_async_context(ours.AgentClient(options))
        tasks = await self._stack.enter_async_context(anyio.create_task_group())
        self._stack.callback(tasks.cancel_scope.cancel)
        self._client, self._tasks = client, tasks
        if isinstance(prompt, str):
            await client.query(prompt)
        elif prompt is not None:
            tasks.start_soon(client.query, prompt)

    async def disconnect(self) -> None:
        """End the conversation: what still runs is cancelled, the session is closed legally."""
        self._client = self._tasks = None
        stack, self._stack = self._stack, AsyncExitStack()
        await stack.aclose()

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        await self.disconnect()
        return False

    def _connected(self) -> ours.AgentClient:
        if self._client is None:
            raise CLIConnectionError("the client is not connected: call connect(), or use `async with`")
        return self._client

    async def query(self, prompt: Prompt, session_id: str = "default") -> None:
        """Send a prompt, or a stream of prompts until its end. `session_id` has no meaning: a client is one session."""
        await self._connected().query(prompt)

    async def receive_messages(self) -> AsyncIterator[Message]:
        """All messages until the client is disconnected. Raises what a run raised, but no error results."""
        servers = list(servers_in_process(self.options))
        async for message in self._connected().receive_messages():
            yield as_theirs(message, servers)

    async def receive_response(self) -> AsyncIterator[Message]:
        """The messages up to and including the next ResultMessage."""
        servers = list(servers_in_process(self.options))
        async for message in self._connected().receive_response():
            yield as_theirs(message, servers)

    async def interrupt(self) -> None:
        """Stop the run that is going on."""
        await self._connected().interrupt()

    async def set_permission_mode(self, mode: str) -> None:
        """Change the mode. Raises OptionsError for `auto`, and for `bypassPermissions` later than at the start."""
        await self._connected().set_permission_mode(mode)

    async def set_model(self, model: str | None = None) -> None:
        """Use another model from the next run on; `None` is the one of the options."""
        await self._connected().set_model(self._model if model is None else ALIASES.get(model, model))

    async def get_server_info(self) -> dict[str, Any] | None:
        """What their program says of itself at the start: here commands, agents and output styles, none of them."""
        self._connected()
        return {"commands": [], "agents": [], "output_style": "default", "available_output_styles": ["default"]}

    async def get_mcp_status(self) -> McpStatusResponse:
        """The servers in this process, with their tools; all of them are connected."""
        self._connected()
        return {
            "mcpServers": [
                {
                    "name": key,
                    "status": "connected",
                    "serverInfo": {"name": server.name, "version": server.version},
                    "tools": [{"name": tool.name, "description": tool.description} for tool in server.tools],
                }
                for key, server in servers_in_process(self.options).items()
            ]
        }

    async def get_context_usage(self) -> dict[str, Any]:
        """Not there. Raises OptionsError."""
        raise not_available_yet("get_context_usage()")

    async def rewind_files(self, user_message_id: str) -> None:
        """Not there. Raises OptionsError."""
        raise not_available_yet("rewind_files()")

    async def reconnect_mcp_server(self, server_name: str) -> None:
        """Not there. Raises OptionsError."""
        raise not_available_yet("reconnect_mcp_server()")

    async def toggle_mcp_server(self, server_name: str, enabled: bool) -> None:
        """Not there. Raises OptionsError."""
        raise not_available_yet("toggle_mcp_server()")

    async def stop_task(self, task_id: str) -> None:
        """Not there. Raises OptionsError."""
        raise not_available_yet("stop_task()")
