"""Models without a service: one that plays a script, one that asks a function. For tests and for the offline demo."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import anyio
from anyio.lowlevel import checkpoint

from agent_sdk.errors import ModelError, OptionsError
from agent_sdk.models.base import StreamBroken
from agent_sdk.models.script import Fault, Script, Turn, TurnScript, events_before, events_of, read_turn
from agent_sdk.values import OBJECT, Json, JsonObject

PAUSE = 0.01
RETRIED = (408, 409, 429)
KNOWN_HISTORIES = 1024
TAIL = 4

Answer: TypeAlias = "Callable[[JsonObject], TurnScript | Awaitable[TurnScript]]"


class ScriptedModel:
    """A model that says what its script says; see `Script` for the form of it.

    One object may serve many sessions at once. `requests` holds every request in the order of arrival: the very
    objects that were handed in. Faults happen as over the network, without the long waits: `http` with a status that
    a client retries, and `drop`, are retried `max_retries` times in a row and then raise ModelError.
    """

    max_retries = 2

    def __init__(self, turns: Sequence[TurnScript] | JsonObject, *, name: str = "scripted") -> None:
        """Raises OptionsError, naming turn and block, for a script that cannot be played."""
        self._script = Script(turns)
        self._name = name
        self._histories = _Histories()
        self.requests: list[JsonObject] = []

    @classmethod
    def from_file(cls, path: str | Path, *, name: str = "scripted") -> ScriptedModel:
        """The model for a script in a JSON file. Raises OptionsError when the file is missing or no such script."""
        try:
            source = json.loads(Path(path).read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise OptionsError(f"the script {path} cannot be read: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            raise OptionsError(f"the script {path} is not JSON: {error}") from error
        try:
            return cls(source, name=name)
        except OptionsError as error:
            raise OptionsError(f"the script {path}: {error}") from error

    @property
    def name(self) -> str:
        """The model's name, as sent in requests."""
        return self._name

    def retry_pause(self, attempt: int) -> float:
        """Seconds before a repetition: next to nothing."""
        return PAUSE

    async def stream(self, request: JsonObject) -> AsyncIterator[JsonObject]:
        """The raw events of the turn that answers this request. Raises what the faults of the script stand for."""
        self.requests.append(request)
        index = self._histories.assistant_messages(request)
        turn = self._script.turn(index)
        await checkpoint()
        attempt = 0
        while (fault := self._script.next_fault(index)) is not None:
            if fault.kind in ("cut", "error_event", "stall"):
                for event in events_before(fault, turn, index, model=self._name):
                    yield event
                raise await _broken(fault)
            attempt += 1
            if attempt > self.max_retries or not _retried(fault):
                raise _refused(fault)
            await anyio.sleep(PAUSE)
        for event in events_of(turn, index, model=self._name):
            yield event


class FunctionModel:
    """A model that asks a function what to say: `fn(request)` returns text, content blocks or a turn object.

    `fn` may be async. `requests` holds every request that came. What `fn` raises comes out unchanged.
    """

    max_retries = 2

    def __init__(self, fn: Answer, *, name: str = "function") -> None:
        self._fn = fn
        self._name = name
        self._histories = _Histories()
        self.requests: list[JsonObject] = []

    @property
    def name(self) -> str:
        """The model's name, as sent in requests."""
        return self._name

    def retry_pause(self, attempt: int) -> float:
        """Seconds before a repetition: next to nothing."""
        return PAUSE

    async def stream(self, request: JsonObject) -> AsyncIterator[JsonObject]:
        """The raw events of what the function says. Raises ModelError when that is nothing a model could say."""
        self.requests.append(request)
        await checkpoint()
        answer = self._fn(request)
        turn = self._read(await answer if inspect.isawaitable(answer) else answer)
        for event in events_of(turn, self._histories.assistant_messages(request), model=self._name):
            yield event

    def _read(self, said: TurnScript) -> Turn:
        try:
            return read_turn(said, f"the function of {self._name!r} returned a turn that cannot be played")
        except OptionsError as error:
            raise ModelError(str(error)) from error


@dataclass(slots=True)
class _Counted:
    """So many assistant messages stand before `anchor`, the message at `place`."""

    first: Json
    anchor: Json
    place: int
    assistants: int


class _Histories:
    """Counts assistant messages without walking through the whole of a long history at every request.

    Histories only grow at the end, except that the last few messages may be fresh copies in each request. So the count
    is kept up to a message a little before the end, and used again while that very message stands at its place.
    """

    def __init__(self) -> None:
        self._known: dict[int, _Counted] = {}

    def assistant_messages(self, request: JsonObject) -> int:
        """How many messages of the request are the assistant's."""
        messages = request.get("messages")
        if not isinstance(messages, list | tuple) or not messages:
            return 0
        first = messages[0]
        known = self._known.get(id(first))
        start = assistants = 0
        if known and known.first is first and known.place < len(messages) and messages[known.place] is known.anchor:
            start, assistants = known.place, known.assistants
        place = max(start, len(messages) - TAIL)
        assistants += sum(map(_is_assistant, messages[start:place]))
        if place > TAIL:
            self._keep(_Counted(first, messages[place], place, assistants))
        return assistants + sum(map(_is_assistant, messages[place:]))

    def _keep(self, counted: _Counted) -> None:
        if len(self._known) >= KNOWN_HISTORIES:
            self._known.pop(next(iter(self._known)))
        self._known[id(counted.first)] = counted


def _is_assistant(message: Json) -> bool:
    return isinstance(message, OBJECT) and message.get("role") == "assistant"


def _retried(fault: Fault) -> bool:
    return fault.kind == "drop" or fault.status in RETRIED or fault.status >= 500


def _refused(fault: Fault) -> ModelError:
    if fault.kind == "drop":
        return ModelError("the model service could not be reached", kind="connection_error")
    return ModelError(
        f"the model service answered {fault.status}: {fault.message} ({fault.error})",
        status=fault.status,
        kind=fault.error,
    )


async def _broken(fault: Fault) -> StreamBroken:
    if fault.kind == "error_event":
        return StreamBroken(f"the service broke the reply off: {fault.message} ({fault.error})", kind=fault.error)
    if fault.kind == "stall":
        await anyio.sleep(min(fault.seconds, PAUSE))
        return StreamBroken("the service stopped sending in the middle of the reply", kind="timeout")
    return StreamBroken("the connection closed in the middle of the reply", kind="connection_error")
