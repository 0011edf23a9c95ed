"""A scripted person: answers calls from a list, keeps what was asked, and tells when script and run disagree."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from agent_sdk.decisions import Allow, Defer, Deny, PermissionContext
from agent_sdk.errors import OptionsError
from agent_sdk.values import Json, JsonObject, copied_object, to_text

Decision: TypeAlias = Allow | Deny | Defer
Step: TypeAlias = Decision | Callable[[str, dict[str, Any], PermissionContext], Decision | Awaitable[Decision]]
"""A decision, or a function (plain or async) that is called like `can_use_tool` and returns one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One call that the approver was asked about, as it was at that moment."""

    tool_name: str
    tool_input: JsonObject
    context: PermissionContext


class UnexpectedAsk(AssertionError):
    """The script has no answer for this call. In a run it becomes a denial; `assert_done` raises it once more."""


def answers(
    given: Mapping[str, str | Sequence[str]],
    *,
    annotations: JsonObject | None = None,
    response: str | None = None,
) -> Step:
    """A step that answers an AskUserQuestion card: question text to label, own words, or a list of them."""

    def fill_in(tool_name: str, tool_input: dict[str, Any], context: PermissionContext) -> Decision:
        if tool_name != "AskUserQuestion":
            raise UnexpectedAsk(
                f"The script answers questions here, but was asked about {_call(tool_name, tool_input)}"
            )
        filled: dict[str, Json] = {"questions": tool_input["questions"], "answers": dict(given)}
        if annotations is not None:
            filled["annotations"] = annotations
        if response is not None:
            filled["response"] = response
        return Allow(filled)

    return fill_in


@dataclass(slots=True)
class _Lane:
    """The steps for one tool or id. A single step serves every call; a list is used up in order."""

    name: str
    steps: Sequence[Step]
    endless: bool
    used: int = 0

    def next(self) -> Step | None:
        """The step for the next call, `None` when all are used up."""
        place = 0 if self.endless else self.used
        if place >= len(self.steps):
            return None
        self.used += 1
        return self.steps[place]

    @property
    def left(self) -> int:
        """How many steps nobody has asked for."""
        return max(0, len(self.steps) - self.used)


@dataclass(slots=True, eq=False)
class ScriptedApprover:
    """A `can_use_tool` that plays a script.

    A list answers the calls in the order in which they come. A mapping answers by `tool_use_id` or, after that, by
    tool name: a single step answers every call of that name, a list of steps is used up in order.

        person = ScriptedApprover([Allow(), Deny("Use git."), answers({"Which library?": "httpx"})])
        ...
        person.assert_done()

    `calls` holds what was asked. A call that the script does not expect raises UnexpectedAsk, which a run turns into a
    denial; so does whatever a function in the script raises. Both are kept, and `assert_done` raises for them.

    Raises OptionsError, naming the place, when something in the script is no decision and no function.
    """

    script: Sequence[Step] | Mapping[str, Step | Sequence[Step]] = ()
    calls: list[Asked] = field(default_factory=list, init=False)
    faults: list[Exception] = field(default_factory=list, init=False)
    _lanes: dict[str, _Lane] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.script, Mapping):
            for key, value in self.script.items():
                steps, endless = (value, False) if isinstance(value, Sequence) else ([value], True)
                self._lanes[key] = _Lane(key, _steps(steps, key), endless)
        else:
            self._lanes[""] = _Lane("the script", _steps(self.script, "the script"), False)

    async def __call__(self, tool_name: str, tool_input: dict[str, Any], context: PermissionContext) -> Decision:
        """The scripted answer. Raises UnexpectedAsk when there is none."""
        self.calls.append(Asked(tool_name, copied_object(tool_input), context))
        try:
            step = self._step(tool_name, tool_input, context)
            if isinstance(step, Allow | Deny | Defer):
                return step
            said = step(tool_name, tool_input, context)
            return await said if inspect.isawaitable(said) else said
        except Exception as fault:
            self.faults.append(fault)
            raise

    def assert_done(self) -> None:
        """Raises AssertionError when a step was never used, a call was not expected, or a function raised."""
        left = [f"{lane.name}: {lane.left} left over" for lane in self._lanes.values() if lane.left]
        told = [f"{type(fault).__name__}: {fault}" for fault in self.faults]
        if left or told:
            asked = ", ".join(call.tool_name for call in self.calls) or "nothing"
            problems = "\n  ".join([*told, *left])
            message = f"The scripted approver and the run disagree (asked: {asked}):\n  {problems}"
            raise AssertionError(message) from (self.faults[0] if self.faults else None)

    def _step(self, tool_name: str, tool_input: JsonObject, context: PermissionContext) -> Step:
        for key in (context.tool_use_id, tool_name, ""):
            step = self._lanes[key].next() if key in self._lanes else None
            if step is not None:
                return step
        raise UnexpectedAsk(
            f"Nothing in the script answers ask number {len(self.calls)}: {_call(tool_name, tool_input)}"
        )


def _steps(steps: Sequence[Step], where: str) -> list[Step]:
    checked: list[Step] = []
    for number, step in enumerate(steps, 1):
        if not isinstance(step, Allow | Deny | Defer) and not callable(step):
            raise OptionsError(f"{where}, step {number}: expected Allow, Deny, Defer or a function, got {step!r}")
        checked.append(step)
    return checked


def _call(tool_name: str, tool_input: JsonObject) -> str:
    text = to_text(tool_input)
    return f"{tool_name} {text if len(text) <= 300 else text[:300] + '…'}"
