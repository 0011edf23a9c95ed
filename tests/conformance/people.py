"""Callbacks and hooks as cases write them: they answer as told and note what they saw."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio

from agent_sdk import HookMatcher, PermissionContext
from tests.conformance.decided import TIMING, decision, deferred, exception, hook_output
from tests.conformance.record import Asked, Heard, Record
from tests.conformance.vocabulary import HOOK_KEYS, check_keys

Written = Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class Person:
    """The callback of a case; an allow when the case says nothing. `beside`: what it adds to the questions it saw."""

    written: Written
    record: Record
    expires_in_s: float | None = None
    beside: Written | None = None

    async def __call__(self, tool: str, tool_input: dict[str, Any], context: PermissionContext) -> Any:
        """Note the question, wait as told, answer as told."""
        seen = copy.deepcopy(dict(tool_input))
        first = not self.record.asked
        self.record.asked.append(
            Asked(id=context.tool_use_id, tool=tool, input=seen, suggestions=_rules(context.suggestions))
        )
        own = self.written.get("by_tool_use_id", {}).get(context.tool_use_id, {})
        timing = {**self.written, **(own if isinstance(own, Mapping) else {})}
        if delay := timing.get("delay_s"):
            await anyio.sleep(delay)
        self.record.requests_at_decision = len(self.record.sent)
        if raises := timing.get("raises"):
            raise exception(raises)
        return self._answer(first, own, seen)

    def _answer(self, first: bool, own: Any, seen: dict[str, Any]) -> Any:
        written = self.written
        if first and "first_returns" in written:
            return self._decision(written["first_returns"])
        if own is None or (isinstance(own, Mapping) and set(own) - set(TIMING)):
            return self._decision(own)
        if "returns_raw" in written:
            return written["returns_raw"]
        if written.get("echo_input"):
            return self._decision({"behavior": "allow", "updated_input": seen})
        beside = {"answers": written["answers"]} if "answers" in written else self.beside
        if beside is not None:
            answered = {"questions": seen.get("questions"), **beside}
            return self._decision({"behavior": "allow", "updated_input": answered})
        return self._decision(written.get("returns", {"behavior": "allow"}))

    def _decision(self, written: Any) -> Any:
        return decision(copy.deepcopy(written), expires_in_s=self.expires_in_s)


def callback(
    written: Written | None, record: Record, *, expires_in_s: float | None = None, beside: Written | None = None
) -> Any:
    """The callable that a case hands over as `can_use_tool`; `None` for none."""
    if written is None:
        return None
    person = Person(written=written, record=record, expires_in_s=expires_in_s, beside=beside)
    if written.get("async") is False:
        return _plain(person)
    if "parameters" in written:
        return _with_parameters(written["parameters"], person)
    return person


def _plain(person: Person) -> Callable[..., Any]:
    def answer(tool: str, tool_input: dict[str, Any], context: PermissionContext) -> Any:
        person.record.asked.append(Asked(id=context.tool_use_id, tool=tool, input=dict(tool_input), suggestions=[]))
        return decision(person.written.get("returns", {"behavior": "allow"}))

    return answer


def _with_parameters(count: int, person: Person) -> Callable[..., Awaitable[Any]]:
    """An async function that takes exactly so many positional arguments."""
    names = [f"argument_{number}" for number in range(count)]
    source = f"async def answer({', '.join(names)}):\n    return await person({', '.join(names[:3])})\n"
    scope: dict[str, Any] = {"person": person}
    exec(source, scope)
    return scope["answer"]  # type: ignore[no-any-return]


def _rules(suggestions: Any) -> list[str]:
    return [str(rule) for update in suggestions for rule in update.rules]


@dataclass(slots=True, kw_only=True)
class Listener:
    """One hook of a case, by its number there."""

    number: int
    written: Written
    event: str
    record: Record
    running: list[int]
    expires_in_s: float | None = None

    async def __call__(self, input_data: Any, tool_use_id: str | None, context: Any) -> Any:
        """Note the input, change it if told to, wait as told, answer as told."""
        tool_input = input_data.get("tool_input", {})
        self.record.heard.append(Heard(hook=self.number, input=copy.deepcopy(dict(tool_input))))
        self.running.append(self.number)
        try:
            if "mutates_input" in self.written:
                tool_input.update(copy.deepcopy(self.written["mutates_input"]))
            await anyio.sleep(self.written.get("sleeps_s", 0))
            if raises := self.written.get("raises"):
                raise exception(raises)
            return self._answer(copy.deepcopy(self.written.get("returns", {})))
        finally:
            self.running.remove(self.number)

    def _answer(self, returns: Any) -> Any:
        defers = isinstance(returns, Mapping) and returns.get("decision") == "defer" and "updated_input" not in returns
        if defers and self.expires_in_s is not None:
            return deferred(returns.get("reason", ""), self.expires_in_s)
        return hook_output(returns, self.event)


def hook_matchers(
    hooks: list[Written],
    record: Record,
    *,
    running: list[int],
    event: str = "PreToolUse",
    together: bool = False,
    expires_in_s: float | None = None,
) -> list[HookMatcher]:
    """Each hook in a matcher of its own, in order; or all in one. `expires_in_s` is the time limit of a deferral."""
    for hook in hooks:
        check_keys(hook, HOOK_KEYS, "hooks[]")
    listeners = [
        Listener(number=number, written=hook, event=event, record=record, running=running, expires_in_s=expires_in_s)
        for number, hook in enumerate(hooks)
    ]
    if not listeners:
        return []
    if together:
        return [HookMatcher(**_matcher_words(hooks), hooks=listeners)]
    return [
        HookMatcher(**_matcher_words([hook]), hooks=[listener]) for hook, listener in zip(hooks, listeners, strict=True)
    ]


def _matcher_words(hooks: list[Written]) -> dict[str, Any]:
    words: dict[str, Any] = {}
    for hook in hooks:
        if "matcher" in hook:
            words["matcher"] = hook["matcher"]
        if "timeout_s" in hook:
            words["timeout"] = hook["timeout_s"]
    return words


def gate_matcher(gates: Mapping[str, Any], expires_in_s: float | None) -> HookMatcher:
    """A hook that gives each call the verdict that is written for its id, and is silent for all others."""

    async def gate(input_data: Any, tool_use_id: str | None, context: Any) -> Any:
        verdict = gates.get(tool_use_id or "")
        if verdict == "defer" and expires_in_s is not None:
            return deferred("", expires_in_s)
        if isinstance(verdict, str):
            return hook_output({"decision": verdict}, "PreToolUse")
        return hook_output(verdict, "PreToolUse") if verdict is not None else None

    return HookMatcher(hooks=[gate])
