"""The two ways in: `query()` for one run, `AgentClient` for a conversation.

async for message in query("Tidy up the notes", options=AgentOptions(can_use_tool=ask_me)):
    print(message)
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from agent_sdk.conversation import Conversation, default_store, prompt_blocks
from agent_sdk.decisions import Allow, Deny
from agent_sdk.errors import OptionsError, SessionError
from agent_sdk.interrupt import Interrupt
from agent_sdk.messages import Message, ResultMessage
from agent_sdk.models.base import Model
from agent_sdk.options import AgentOptions
from agent_sdk.session import Arrival
from agent_sdk.values import JsonObject


async def query(
    prompt: str | AsyncIterable[dict[str, Any]] | None = None,
    *,
    options: AgentOptions | None = None,
    decisions: Mapping[str, Allow | Deny] | None = None,
) -> AsyncGenerator[Message, None]:
    """Run a prompt to its end, and yield what happens; the last message is a `ResultMessage`.

    `prompt` is text, or an async iterable of user messages (`{"type": "user", "message": {"role": "user", "content":
    …}}`), each of which is a run of its own. Without a prompt, and with `resume` in the options, the session goes on
    where it stands; `decisions` answers parked calls by their `tool_use_id`.

    Raises OptionsError for an empty prompt, SessionNotFoundError, SessionBusyError, SessionError ("nothing to resume"),
    DeferralError for a decision that does not fit; and ModelError, after the result message, when the model could not
    be reached. A consumer may break off at any time: nothing is left running, the stored session stays legal.
    """
    options = _checked(options)
    conversation = Conversation(options, options.store or default_store())
    if prompt is None or isinstance(prompt, str):
        async with aclosing(_one_run(conversation, _text_prompt(prompt, options), decisions)) as messages:
            async for message in messages:
                yield message
        return
    if not isinstance(prompt, AsyncIterable):
        raise OptionsError(
            f"prompt is a str, an async iterable of user messages or None, got {prompt!r:.80}", option="prompt"
        )
    async for item in prompt:
        async with aclosing(_one_run(conversation, prompt_blocks(item), decisions)) as messages:
            async for message in messages:
                yield message
        decisions = None


def _checked(options: object) -> AgentOptions:
    """The options, or the default ones for None. Raises OptionsError for anything else."""
    if options is None:
        return AgentOptions()
    if not isinstance(options, AgentOptions):
        raise OptionsError(f"options is an AgentOptions(...), got {options!r:.80}", option="options")
    return options


def _text_prompt(prompt: str | None, options: AgentOptions) -> list[JsonObject] | None:
    if prompt is not None and prompt.strip():
        return [{"type": "text", "text": prompt}]
    if options.resume is None and not options.continue_conversation:
        raise OptionsError("the prompt is empty; without a prompt only a session can be resumed", option="prompt")
    return None


async def _one_run(
    conversation: Conversation, prompt: Sequence[JsonObject] | None, decisions: Mapping[str, Allow | Deny] | None
) -> AsyncGenerator[Message, None]:
    async with aclosing(conversation.run(prompt, decisions)) as messages:
        async for message in messages:
            yield message
    if conversation.error is not None:
        raise conversation.error


class AgentClient:
    """A conversation of many turns over one session.

        async with AgentClient(options) as client:
            await client.query("Look around.")
            async for message in client.receive_response():
                print(message)

    Messages arrive live. A prompt sent while a turn is open follows that turn's results; one sent later starts the next
    run. Leaving the block cancels what still runs and closes the session legally. One task at a time may receive.
    """

    def __init__(self, options: AgentOptions | None = None) -> None:
        self.options = _checked(options)
        self._conversation = Conversation(self.options, self.options.store or default_store())
        self._tasks: TaskGroup | None = None
        self._send: MemoryObjectSendStream[Message | Exception]
        self._receive: MemoryObjectReceiveStream[Message | Exception]
        self._running = False

    async def __aenter__(self) -> Self:
        self._send, self._receive = anyio.create_memory_object_stream[Message | Exception](float("inf"))
        self._conversation.session.post = self._send.send_nowait
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        tasks, self._tasks = self._tasks, None
        assert tasks is not None, "entered before it is left"
        tasks.cancel_scope.cancel()
        try:
            await tasks.__aexit__(None, None, None)  # what the block raised leaves it as it is, not inside a group
        finally:
            self._send.close()
            self._receive.close()

    @property
    def session_id(self) -> str:
        """The session's id, known from the start; with `continue_conversation` from the first message on."""
        return self._conversation.session.id

    async def query(self, prompt: str | AsyncIterable[dict[str, Any]]) -> None:
        """Send a prompt. Returns at once; the messages come from `receive_messages` or `receive_response`.

        Raises OptionsError for an empty prompt or outside of the `async with` block.
        """
        if isinstance(prompt, str):
            if not prompt.strip():
                raise OptionsError("the prompt is empty", option="prompt")
            self._submit([{"type": "text", "text": prompt}])
            return
        async for item in prompt:
            self._submit(prompt_blocks(item))

    async def resume(self, decisions: Mapping[str, Allow | Deny] | None = None) -> None:
        """Go on with a parked or broken-off session. Raises SessionError while a run is going on."""
        if self._running:
            raise SessionError(
                "a run is going on in this client; wait for its ResultMessage", session_id=self.session_id
            )
        self._start(None, decisions)

    async def receive_messages(self) -> AsyncIterator[Message]:
        """All messages, run after run, until the client is closed. Raises what a run raised."""
        async for item in self._receive:  # ends when the client is closed
            if isinstance(item, Exception):
                raise item
            yield item

    async def receive_response(self) -> AsyncIterator[Message]:
        """The messages up to and including the next `ResultMessage`. Raises what the run raised."""
        async for item in self._receive:
            if isinstance(item, Exception):
                raise item
            yield item
            if isinstance(item, ResultMessage):
                return

    async def interrupt(self) -> None:
        """Stop the run that is going on: nothing more starts, what waits or runs is cancelled.

        The session stays legal; the run ends with a `ResultMessage` whose `terminal_reason` begins with `aborted_`.
        """
        if self._running:
            self._conversation.session.interrupt.set()

    async def set_permission_mode(self, mode: str) -> None:
        """Change the mode. A stricter one counts at once, a laxer one for calls not yet judged.

        Raises OptionsError for an unknown mode, and for `bypassPermissions` in a session that did not start in it.
        """
        self._conversation.set_mode(mode)

    async def set_model(self, model: str | Model) -> None:
        """Use another model from the next run on. Raises OptionsError for anything but a name or a Model."""
        self._conversation.set_model(model)

    def _submit(self, prompt: Sequence[JsonObject]) -> None:
        if self._running:
            self._conversation.session.arrivals.append(Arrival(prompt, is_prompt=True))
        else:
            self._start(prompt, None)

    def _start(self, prompt: Sequence[JsonObject] | None, decisions: Mapping[str, Allow | Deny] | None) -> None:
        if self._tasks is None:
            raise OptionsError("use the client inside its `async with` block")
        self._running = True
        self._conversation.session.interrupt = Interrupt(armed=True)
        self._tasks.start_soon(self._run, prompt, decisions)

    async def _run(self, prompt: Sequence[JsonObject] | None, decisions: Mapping[str, Allow | Deny] | None) -> None:
        try:
            while True:
                await self._run_once(prompt, decisions)
                prompt, decisions = self._conversation.session.take_prompts(), None
                if not prompt:
                    return
                self._conversation.session.interrupt = Interrupt(armed=True)
        finally:
            self._running = False

    async def _run_once(
        self, prompt: Sequence[JsonObject] | None, decisions: Mapping[str, Allow | Deny] | None
    ) -> None:
        """One run. What it raises reaches whoever receives, in order with the messages."""
        try:
            async with aclosing(self._conversation.run(prompt, decisions)) as messages:
                async for message in messages:
                    self._send.send_nowait(message)
        except Exception as error:
            self._send.send_nowait(error)
