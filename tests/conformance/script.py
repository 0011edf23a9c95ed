"""What the model of a case says, request by request."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from agent_sdk import ModelError
from agent_sdk.testing import FunctionModel
from tests.conformance.record import Record, Sent

Turn: TypeAlias = Mapping[str, Any]

DONE: Turn = {"content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn"}
MODEL = "claude-conformance"
SUB_PROMPT = "You are the sub-agent of this case."


def call_turn(calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One reply with these calls: `{id, tool, input}` each."""
    content = [
        {"type": "tool_use", "id": call["id"], "name": call["tool"], "input": copy.deepcopy(call["input"])}
        for call in calls
    ]
    return {"content": content, "stop_reason": "tool_use"}


def text_turn(text: str) -> dict[str, Any]:
    """One reply of text."""
    return {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}


def is_fault(turn: Turn) -> bool:
    """Whether this answer is an outage, or a stream that breaks, instead of a whole reply."""
    return "error" in turn or "breaks_inside_block" in turn


@dataclass(slots=True, kw_only=True)
class Script:
    """Replies in order of the requests; the very same request once more gets the same reply once more.

    A turn may be an outage, `{"error": status or type, "retry_after": …}`, which answers one request. `outage` answers
    every request while it is set. After the last turn the model says `done`.
    """

    turns: list[Turn]
    repeat: Turn | None = None
    outage: Turn | None = None
    position: int = 0
    _last: Any = field(default=None)

    def reply(self, messages: Any) -> Turn:
        """The turn, or the outage, that answers a request with these messages."""
        if self.outage is not None:
            return self.outage
        again = self.position > 0 and messages == self._last and not is_fault(self._turn(self.position - 1))
        if not again:
            self.position += 1
            self._last = copy.deepcopy(messages)
        return self._turn(self.position - 1)

    def _turn(self, index: int) -> Turn:
        if index < len(self.turns):
            return self.turns[index]
        return DONE if self.repeat is None else self.repeat


@dataclass(slots=True, kw_only=True)
class ScriptedSide:
    """The model side of a check without a network: `model` plays the scripts and notes each request."""

    record: Record
    script: Script
    sub_script: Script | None = None

    def options(self) -> dict[str, Any]:
        """What goes into `AgentOptions` for this model."""
        return {"model": FunctionModel(self._answer, name=MODEL)}

    async def aclose(self) -> None:
        """Nothing is open."""

    def _answer(self, request: Any) -> Any:
        sub = SUB_PROMPT in str(request.get("system", ""))
        self.record.sent.append(Sent(run=self.record.run, body=plain(request), sub=sub))
        script = self.sub_script if sub and self.sub_script is not None else self.script
        turn = script.reply(request.get("messages"))
        if "error" in turn:
            status = turn["error"] if isinstance(turn["error"], int) else None
            raise ModelError(f"the model service answered {turn['error']}", status=status, kind=str(turn["error"]))
        return {key: value for key, value in turn.items() if key in ("content", "stop_reason")}


def plain(value: Any) -> Any:
    """A deep copy made of dicts and lists only."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
