"""Runs sessions of a case: builds the options from what is given, runs `query()`, notes what happens."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import anyio
from anyio.lowlevel import checkpoint

from agent_sdk import (
    AgentDefinition,
    AgentOptions,
    AgentSDKError,
    AskUserQuestionConfig,
    HookMatcher,
    ResultMessage,
    query,
)
from agent_sdk import SystemMessage as News
from tests.conformance.diagnostics import QUIET_NEWS
from tests.conformance.people import callback, gate_matcher, hook_matchers
from tests.conformance.record import Raised, Ran, Record, RunSeen
from tests.conformance.recorders import Workbench
from tests.conformance.script import SUB_PROMPT

ALLOW_ALL: Mapping[str, Any] = {"returns": {"behavior": "allow"}}
DEFAULT_PROMPT = "Begin."


class ModelSide(Protocol):
    """Where the replies come from: in memory, or over HTTP."""

    def options(self) -> dict[str, Any]:
        """What goes into `AgentOptions` for the model."""
        ...

    async def aclose(self) -> None:
        """Close what is open, inside the event loop that used it."""
        ...


@dataclass(slots=True, kw_only=True)
class Stage:
    """One check's surroundings. `tools` are the names that the agent has; `inside` is awaited in every recorder."""

    scene: Mapping[str, Any]
    record: Record
    side: ModelSide
    store: Any
    work: Path
    tools: list[str]
    sources: tuple[str, ...] = ()
    default_callback: Mapping[str, Any] | None = None
    beside: Mapping[str, Any] | None = None
    inside: Callable[[Ran], Awaitable[None]] | None = None
    journal: Path | None = None
    can_use_tool: Any = None
    hooks_running: list[int] = field(default_factory=list)

    def options(self, resumed: bool = False, **more: Any) -> AgentOptions:
        """The options of a run. Raises what `AgentOptions` raises.

        The mode belongs to the start of a session: at a resume the product restores it, or does not.
        """
        scene = self.scene
        words: dict[str, Any] = {
            **self.side.options(),
            "tools": self.bench(resumed).tools(self._tool_names(resumed)),
            "cwd": self.work,
            "session_store": self.store,
            "hooks": {"PreToolUse": self._pre_tool_hooks(resumed)},
            "can_use_tool": self._callback(),
            **((scene.get("rules_at_resume") if resumed else None) or scene.get("rules") or {}),
        }
        if "mode" in scene and not resumed:
            words["permission_mode"] = scene["mode"]
        words["setting_sources"] = self.sources or ()
        for key in ("platform", "trust_project"):
            if key in scene:
                words[key] = scene[key]
        if "question_timeout_s" in scene:
            words["questions"] = AskUserQuestionConfig(timeout=scene["question_timeout_s"])
        if scene.get("agent") == "sub":
            words["agents"] = {"helper": AgentDefinition(description="Does what it is told.", prompt=SUB_PROMPT)}
        words.update(self._own_options(scene.get("options") or {}, resumed))
        if resumed:
            words.update(self._own_options(scene.get("resume_options") or {}, resumed))
        return AgentOptions(**{**more, **words})

    def bench(self, resumed: bool = False) -> Workbench:
        """Makes the recorders of a run."""
        scene = self.scene
        schema = scene.get("tool_schema")
        if resumed and "schema_at_resume" in scene:
            schema = scene["schema_at_resume"]
        return Workbench(
            record=self.record,
            tool_schema=schema,
            stub_tools=frozenset(scene.get("stub_tools") or ()),
            inside=self.inside,
            journal=self.journal,
        )

    def _tool_names(self, resumed: bool) -> list[str]:
        if resumed and "tools_at_resume" in self.scene:
            return list(self.scene["tools_at_resume"])
        return self.tools

    def _callback(self) -> Any:
        if self.can_use_tool is not None:
            return self.can_use_tool
        written = self.scene.get("callback", self.default_callback)
        beside = None if "callback" in self.scene else self.beside
        return callback(written, self.record, expires_in_s=self.scene.get("expires_in_s"), beside=beside)

    def _pre_tool_hooks(self, resumed: bool) -> list[HookMatcher]:
        scene = self.scene
        matchers = hook_matchers(
            list(scene.get("hooks") or ()),
            self.record,
            running=self.hooks_running,
            together=bool(scene.get("hooks_in_one_matcher")),
            expires_in_s=scene.get("expires_in_s"),
        )
        gates = dict(scene.get("gates") or {})
        if resumed:
            says = scene.get("resume_gate_says")
            gates = dict(says) if isinstance(says, Mapping) else dict.fromkeys(gates, says) if says else {}
        if gates:
            matchers.append(gate_matcher(gates, scene.get("expires_in_s")))
        return matchers

    def _own_options(self, written: Mapping[str, Any], resumed: bool) -> dict[str, Any]:
        """The options that a case spells out, with hooks, tools and small values as an application would give them."""
        words = dict(written)
        if isinstance(words.get("hooks"), Mapping):
            words["hooks"] = {event: self._matchers(event, listed) for event, listed in words["hooks"].items()}
        if isinstance(words.get("tools"), list):
            words["tools"] = self.bench(resumed).tools(words["tools"])
        if isinstance(words.get("questions"), Mapping):
            words["questions"] = AskUserQuestionConfig(**words["questions"])
        if isinstance(words.get("agents"), Mapping):
            words["agents"] = {name: AgentDefinition(**agent) for name, agent in words["agents"].items()}
        return words

    def _matchers(self, event: str, listed: Any) -> Any:
        if not isinstance(listed, list) or not all(isinstance(hook, Mapping) for hook in listed):
            return listed
        return hook_matchers(listed, self.record, running=self.hooks_running, event=event)

    async def run(
        self,
        name: str,
        *,
        prompt: str | None = None,
        decisions: Any = None,
        go_on: bool = False,
        parked: bool = False,
    ) -> RunSeen:
        """One run of the session through `query()`; what it raises is noted, not raised.

        `go_on`: the session exists. `parked`: it was parked, so what the case says of the resume counts.
        """
        seen = self.begin(name)
        try:
            options = self.options(parked, **self.identity(go_on))
        except AgentSDKError as error:
            self.note(seen, error, "construction")
            return seen
        requests, ran = len(self.record.sent), len(self.record.ran)
        started, tasks = time.monotonic(), len(anyio.get_running_tasks())
        try:
            async for message in query(prompt, options=options, decisions=decisions):
                self.see(seen, message)
        except Exception as error:
            told = [message for message in seen.messages if not isinstance(message, News)]
            untouched = requests == len(self.record.sent) and ran == len(self.record.ran) and not told
            self.note(seen, error, "decision" if decisions is not None and untouched else "run")
        seen.seconds = time.monotonic() - started
        seen.ended = True
        await checkpoint()
        seen.tasks_left = max(0, len(anyio.get_running_tasks()) - tasks) + len(self.hooks_running)
        return seen

    def identity(self, go_on: bool) -> dict[str, str]:
        """The option that names the session: a new one, or the one to go on with."""
        if self.record.session_id is None:
            self.record.session_id = str(uuid.uuid4())
        return {"resume" if go_on else "session_id": self.record.session_id}

    def begin(self, name: str) -> RunSeen:
        """A new run in the record."""
        self.record.run = name
        seen = RunSeen(name=name)
        self.record.runs.append(seen)
        return seen

    def see(self, seen: RunSeen, message: Any) -> None:
        """Note a message of a run."""
        seen.messages.append(message)
        if isinstance(message, ResultMessage):
            self.record.session_id = message.session_id
        if isinstance(message, News):
            told = f"SystemMessage {message.subtype}: {dict(message.data)}"
            (self.record.remarks if message.subtype in QUIET_NEWS else self.record.warnings).append(told)

    def note(self, seen: RunSeen, error: Exception, where: str) -> None:
        """Note an exception that came out of a run."""
        seen.error = Raised.of(error, where)
        self.record.raised.append(seen.error)


async def cancelled_after(seconds: float | None, work: Callable[[], Awaitable[Any]]) -> None:
    """Do the work; with a number of seconds, the task that does it is cancelled then."""
    if seconds is None:
        await work()
        return
    with anyio.move_on_after(seconds):
        await work()


@contextmanager
def home_directory(home: Path) -> Iterator[None]:
    """While it is open, this is the user's home."""
    before = os.environ.get("HOME")
    os.environ["HOME"] = str(home)
    try:
        yield
    finally:
        if before is None:
            del os.environ["HOME"]
        else:
            os.environ["HOME"] = before
