"""What a tool is, what it is handed when it runs, and the port through which it may start a sub-agent."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from agent_sdk.calls import ToolCall, ToolFacts, ToolResult
from agent_sdk.values import JsonObject, copied_object, digest, lazy


class Spawn(Protocol):
    """Starts a sub-agent and waits for its last word. Lets a tool do so without knowing the engine."""

    async def __call__(self, agent: str, prompt: str, parent: ToolCall) -> ToolResult:
        """Run the sub-agent `agent` on `prompt` on behalf of the call `parent`."""
        ...


ReadGuard: TypeAlias = Callable[[str], bool]
"""True when the file at the absolute path is covered by a Read deny or ask rule, so that a search leaves it out."""


@dataclass(slots=True, kw_only=True)
class ToolContext:
    """What a running tool knows of its surroundings.

    `cwd` is where the call was judged. `idempotency_key` is the same for every attempt at this very call: hand it to
    services that can tell a repetition. `expected_state` is the state of the target that was approved (see
    `tools/state.py`), `None` when nothing is bound. `target` is the file that the input names (in the field
    `Tool.writes`, without one in `Tool.reads`), links followed, as it was judged: open this one, and no link in its
    place. `left_out` says which files Grep and Glob must not open. A tool that moves the working directory sets
    `new_cwd`; it counts from the next turn.
    """

    cwd: str
    session_id: str = ""
    tool_use_id: str = ""
    agent_path: tuple[str, ...] = ()
    idempotency_key: str = ""
    working_directories: tuple[str, ...] = ()
    env: JsonObject | None = None
    expected_state: str | None = None
    target: str | None = None
    left_out: ReadGuard | None = None
    spawn: Spawn | None = None
    new_cwd: str | None = None


log = logging.getLogger("agent_sdk.tools")

Runner: TypeAlias = Callable[[JsonObject, ToolContext], Awaitable[ToolResult]]
Check: TypeAlias = Callable[[JsonObject], str | None]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool: what the model is told of it, what the rules must know of it, and the function that does the work.

    `input_schema` is a JSON schema of type `object`. `check` returns `None` for an input that fits, else one readable
    sentence for the model that names field and rule. `run` gets a deep copy of the input that was judged; it returns a
    `ToolResult` or raises: a `ToolError` is told to the model in its own words, anything else in short.

    `read_only`: changes nothing, may run beside others. `destructive`: shown to people. `idempotent`: may run again
    when a crash left its outcome unknown. `timeout`: seconds. `ask`: a person must take part in every call (`True`),
    or in those for which the callable says so; a callable that fails counts as yes.
    `writes` / `reads`: the input field with the path of the file that it writes or reads.

    The last three are for tools that talk to a person. `prepare` tidies the model's input before anything sees it;
    `accept(current, update)` merges what a hook or person handed back, and raises ValueError, naming the fault, for an
    update that does not fit; `answered` tells whether an input holds the person's part, so that a hook's allow will do.
    """

    name: str
    description: str
    input_schema: JsonObject
    run: Runner
    check: Check
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    timeout: float | None = None
    ask: bool | Callable[[JsonObject], bool] = False
    writes: str | None = None
    reads: str | None = None
    prepare: Callable[[JsonObject], JsonObject] | None = None
    accept: Callable[[JsonObject, JsonObject], JsonObject] | None = None
    answered: Callable[[JsonObject], bool] | None = None

    @lazy
    def schema_digest(self) -> str:
        """A digest of the input schema: an approval does not outlive a change of what the tool takes."""
        return digest(self.input_schema)

    @lazy
    def definition(self) -> JsonObject:
        """The tool as the Messages API takes it."""
        return {"name": self.name, "description": self.description, "input_schema": self.input_schema}

    @lazy
    def _facts(self) -> tuple[ToolFacts, ToolFacts]:
        def facts(interaction: bool) -> ToolFacts:
            return ToolFacts(
                name=self.name,
                read_only=self.read_only,
                interaction=interaction,
                writes=self.writes,
                reads=self.reads,
            )

        return facts(False), facts(True)

    def facts(self, tool_input: JsonObject) -> ToolFacts:
        """What the rules must know for this very input."""
        return self._facts[self._must_ask(tool_input)]

    def fault_in(self, tool_input: JsonObject) -> str | None:
        """What `check` says; a check that fails is a fault too."""
        try:
            return self.check(tool_input)
        except Exception as error:
            log.error("the input check of the tool %s failed", self.name, exc_info=error)
            return f"The input of {self.name} could not be checked."

    def is_answered(self, tool_input: JsonObject) -> bool:
        """What `answered` says; without one, or when it fails, nothing is answered."""
        try:
            return self.answered is not None and self.answered(tool_input)
        except Exception as error:
            log.error("the tool %s cannot tell whether it is answered", self.name, exc_info=error)
            return False

    def _must_ask(self, tool_input: JsonObject) -> bool:
        if isinstance(self.ask, bool):
            return self.ask
        try:
            return bool(self.ask(copied_object(tool_input)))
        except Exception:
            return True
