"""AgentOptions: everything a run is told. A misspelt gate is an error here, never a gate that silently is not there."""

from __future__ import annotations

import difflib
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError

from agent_sdk.callables import check_async_callable
from agent_sdk.config import (
    MODES,
    AskUserQuestionConfig,
    PermissionMode,
    SettingSource,
    not_available_yet,
)
from agent_sdk.decisions import CanUseTool
from agent_sdk.errors import OptionsError
from agent_sdk.hooks.events import HOOK_EVENTS, LATER_EVENTS, HookEvent
from agent_sdk.hooks.matcher import HookMatcher
from agent_sdk.models.base import Model
from agent_sdk.models.prices import price_of
from agent_sdk.permissions.policy import rules_from_options
from agent_sdk.rules.rule import Rule
from agent_sdk.sessions.store import DeferralStore, Journal, SessionStore
from agent_sdk.settings.files import check_settings_dir
from agent_sdk.tools.ask_user_question import ask_user_question_tool
from agent_sdk.tools.base import Tool
from agent_sdk.tools.builtin import BUILTIN_TOOLS
from agent_sdk.tools.function import as_tool
from agent_sdk.values import JsonObject

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

QUESTION_TOOL = "AskUserQuestion"
_CALLBACK = "async def can_use_tool(tool_name, tool_input, context): return Allow()"


class CanUseToolShadowedWarning(UserWarning):
    """The callback can never be called for some tools: they are settled before it is asked."""


class AgentOptions(BaseModel):
    """Options of a run; all by keyword, all checked when the object is built.

    Raises OptionsError for an unknown option (naming the nearest known one), a value of the wrong kind, options that
    contradict each other, and options that are specified but not available yet; RuleError for a bad deny or ask rule.

    - `model`: a model's name, or anything that implements `Model`; `client`: an `anthropic.AsyncAnthropic` to use.
    - `system_prompt`, `max_tokens`, `thinking`, `prompt_caching`: as in the Messages API.
    - `include_partial_messages`: yield the raw stream events too. `include_hook_events`: yield a message per hook.
    - `can_use_tool`: the person's voice, `async (tool_name, tool_input, context) -> Allow | Deny | Defer`.
    - `hooks`: event name → matchers. `permission_mode`: see `PermissionMode`.
    - `allow`, `ask`, `deny`: rules such as `"Bash(npm test:*)"`; `allowed_tools` and `disallowed_tools` are other
      spellings of `allow` and `deny`.
    - `tools`: names of built-in tools and `Tool` objects; `None` = all built-in tools. A `Tool` with the name of a
      built-in one takes its place.
    - `cwd`, `additional_directories`: the working directories; a relative one of these starts from `cwd`, and `~/` is
      the home folder. `auto_allow_reads`: reading in them needs nobody.
    - `setting_sources`: which settings files count (`()` = none); `settings_dir`: their folder; `trust_project`:
      whether what widens counts from files that the repository brought.
    - `env`: variables for commands, on top of a scrubbed environment.
    - `session_store` (`None` = the user's own, on disk), `session_id`, `resume`: where the session is kept, its id, the
      id of the one to go on with. `fork_session`: leave that one as it is and go on with a copy.
      `continue_conversation`: go on with the session of this directory that was used last, if there is one.
    - `questions`: how the agent may ask. `approval_timeout` (seconds) and `on_timeout`: how long one callback may take.
    - `max_turns` (model requests), `max_tool_calls`, `max_seconds` (without the time that people take),
      `max_budget_usd`: limits of one run.
    - `max_parallel_tools`: how many read-only tools run side by side; `max_parallel_prompts`: how many callbacks are
      open at once (`None` = all).
    - `on_unknown`, `on_tool_changed`: what a resume does with a call of unknown outcome, or of a tool that changed.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True, frozen=True, strict=True, defer_build=True)

    model: str | Any = "claude-sonnet-5-5"
    client: object = None
    system_prompt: str | None = None
    max_turns: int | None = None
    max_tokens: int = 8192
    thinking: dict[str, Any] | None = None
    prompt_caching: bool = True
    include_partial_messages: bool = False
    include_hook_events: bool = False
    can_use_tool: object = None
    hooks: object = None
    permission_mode: str = "default"
    allow: Sequence[str] = ()
    ask: Sequence[str] = ()
    deny: Sequence[str] = ()
    allowed_tools: Sequence[str] = ()
    disallowed_tools: Sequence[str] = ()
    tools: Sequence[Any] | None = None
    mcp_servers: object = None
    agents: object = None
    cwd: str | os.PathLike[str] | None = None
    additional_directories: Sequence[str | os.PathLike[str]] = ()
    setting_sources: Sequence[SettingSource] = ("user", "project", "local")
    settings_dir: str = ".claude"
    trust_project: bool = False
    auto_allow_reads: bool = True
    platform: Literal["linux", "darwin", "win32"] | None = None
    env: dict[str, str] | None = None
    session_store: object = None
    session_id: str | None = None
    resume: str | None = None
    fork_session: bool = False
    continue_conversation: bool = False
    integrity_key: object = None
    questions: AskUserQuestionConfig = AskUserQuestionConfig()
    approval_timeout: float | None = None
    on_timeout: Literal["deny", "defer"] = "deny"
    on_unknown: Literal["ask", "report"] | None = None
    on_tool_changed: Literal["ask", "deny"] = "ask"
    max_parallel_tools: int | None = 8
    max_parallel_prompts: int | None = 1
    max_budget_usd: float | None = None
    max_tool_calls: int | None = None
    max_seconds: float | None = None
    max_calls_per_tool: object = None
    on_pending: object = None
    on_reminder: object = None
    on_expired: object = None
    audit: object = None
    redact: object = None

    _registry: Mapping[str, Tool] = PrivateAttr(default_factory=dict)
    _rules: Sequence[Rule] = PrivateAttr(default=())
    _hooks: Mapping[HookEvent, Sequence[HookMatcher]] = PrivateAttr(default_factory=dict)

    _LATER: ClassVar[Mapping[str, Any]] = {
        "mcp_servers": None,
        "agents": None,
        "integrity_key": None,
        "max_calls_per_tool": None,
        "on_pending": None,
        "on_reminder": None,
        "on_expired": None,
        "audit": None,
        "redact": None,
    }

    def __init__(self, **data: Any) -> None:
        unknown = [name for name in data if name not in type(self).model_fields]
        if unknown:
            raise OptionsError(_unknown(unknown[0], list(type(self).model_fields)), option=unknown[0])
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise _readable(error) from None

    def model_post_init(self, context: Any, /) -> None:
        """Check what a type cannot say, and work out tools, rules and hooks once."""
        for name, unset in self._LATER.items():
            value = self.__dict__[name]
            if value != unset and not (value in ([], {}, ()) and not unset):
                raise not_available_yet(f"AgentOptions({name}={value!r:.60})")
        self._check_values()
        self._hooks = _checked_hooks(self.hooks)
        self._registry = self._tools_by_name()
        self._rules = rules_from_options(
            self.directory,
            allow=(*self.allow, *self.allowed_tools),
            ask=self.ask,
            deny=(*self.deny, *self.disallowed_tools),
        )
        self._warn()

    def _check_values(self) -> None:
        if self.can_use_tool is not None:
            check_async_callable(self.can_use_tool, what="can_use_tool", signature=_CALLBACK, arguments=3)
        if self.permission_mode not in MODES:
            raise OptionsError(
                f"permission_mode is one of {', '.join(MODES)}, got {self.permission_mode!r}", option="permission_mode"
            )
        if not isinstance(self.model, str | Model):
            raise OptionsError(f"model is a name or a Model, got {self.model!r:.80}", option="model")
        if self.client is not None and not isinstance(self.model, str):
            raise OptionsError("client is used only with a model's name; leave one of the two out", option="client")
        if self.session_store is not None and not isinstance(self.session_store, SessionStore):
            raise OptionsError(f"session_store is no SessionStore: {self.session_store!r:.80}", option="session_store")
        check_settings_dir(self.settings_dir)
        self._check_parking()
        self._check_session()
        above_zero = ("max_turns", "max_tokens", "max_tool_calls", "max_seconds", "max_budget_usd", "approval_timeout")
        for name in (*above_zero, "max_parallel_tools", "max_parallel_prompts"):
            value = self.__dict__[name]
            if value is not None and not value > 0:
                raise OptionsError(f"{name} is above 0, got {value!r}", option=name)

        if self.max_budget_usd is not None and price_of(self._model_name()) is None:
            raise OptionsError(
                f"max_budget_usd cannot be kept: no price is known for the model {self._model_name()!r}",
                option="max_budget_usd",
            )

    def _check_session(self) -> None:
        two = self.resume is not None and self.session_id is not None and self.resume != self.session_id
        if two and not self.fork_session:
            raise OptionsError("resume and session_id name two different sessions; give one", option="resume")
        if self.fork_session and self.resume is None and not self.continue_conversation:
            raise OptionsError("fork_session copies the session that resume names; give resume", option="fork_session")
        if self.continue_conversation and (self.resume is not None or (self.session_id and not self.fork_session)):
            raise OptionsError(
                "continue_conversation looks for the last session itself; leave resume and session_id out",
                option="continue_conversation",
            )

    def _check_parking(self) -> None:
        """Options that park calls need a store that can."""
        asked, store = self.questions, self.session_store
        defers = "defer" in (self.on_timeout, asked.on_timeout, asked.when_nobody)
        if defers and store is not None and not (isinstance(store, DeferralStore) and isinstance(store, Journal)):
            raise OptionsError(
                f"session_store cannot park calls, and on_timeout or when_nobody says 'defer': {store!r:.80} keeps "
                "transcripts only",
                option="session_store",
            )

    def _model_name(self) -> str:
        return self.model.name if isinstance(self.model, Model) else str(self.model)

    def _tools_by_name(self) -> dict[str, Tool]:
        built_in = {**BUILTIN_TOOLS, QUESTION_TOOL: ask_user_question_tool(self.questions)}
        if self.tools is None:
            return built_in
        if isinstance(self.tools, str):
            raise OptionsError(f"tools is a list, got {self.tools!r}; write tools=[{self.tools!r}]", option="tools")
        registry: dict[str, Tool] = {}
        for item in self.tools:
            if isinstance(item, str):
                if item not in built_in:
                    raise OptionsError(
                        f"tools: there is no built-in tool {item!r}{_nearest(item, built_in)}; own tools are given as "
                        "objects, made with @tool",
                        option="tools",
                    )
                tool = built_in[item]
            else:
                tool = as_tool(item)
            if tool.name in registry:
                raise OptionsError(f"tools: two tools are named {tool.name!r}", option="tools")
            registry[tool.name] = tool
        return registry

    def _warn(self) -> None:
        names = list(self._registry)
        for event, matchers in self._hooks.items():
            for matcher in matchers if event not in ("UserPromptSubmit", "Stop") else ():
                if not matcher.covers_some(names):
                    warnings.warn(
                        f"the {event} hook matcher {matcher.matcher!r} matches none of the tools {', '.join(names)}",
                        stacklevel=6,
                    )
        if self.can_use_tool is not None and (reason := self._shadow()) is not None:
            warnings.warn(f"can_use_tool can never be called for {reason}", CanUseToolShadowedWarning, stacklevel=6)

    def _shadow(self) -> str | None:
        """For which tools, and why, the callback is never asked."""
        others = [name for name, tool in self._registry.items() if tool.ask is False]
        match self.permission_mode:
            case "bypassPermissions" if others:
                return f"{', '.join(others)}: permission_mode='bypassPermissions' allows them before"
            case "dontAsk":
                return f"{', '.join(self._registry)}: permission_mode='dontAsk' denies instead of asking"
        whole = [rule for rule in self._rules if rule.behavior == "allow" and rule.specifier is None]
        covered = [name for name in others if any(rule.tool == name for rule in whole)]
        if covered:
            return f"{', '.join(covered)}: rules for the whole tool allow them before; narrow these rules"
        return None

    @property
    def directory(self) -> str:
        """The working directory as an absolute path."""
        return os.path.abspath(self.cwd if self.cwd is not None else Path.cwd())

    @property
    def registry(self) -> Mapping[str, Tool]:
        """The tools of this run, by name."""
        return self._registry

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules given in code."""
        return self._rules

    @property
    def matchers(self) -> Mapping[HookEvent, Sequence[HookMatcher]]:
        """The hooks, by event."""
        return self._hooks

    @property
    def callback(self) -> CanUseTool | None:
        """`can_use_tool`, checked."""
        return cast("CanUseTool | None", self.can_use_tool)

    @property
    def store(self) -> SessionStore | None:
        """`session_store`, if one was given."""
        return cast("SessionStore | None", self.session_store)

    @property
    def anthropic(self) -> AsyncAnthropic | None:
        """`client`, if one was given."""
        return cast("AsyncAnthropic | None", self.client)

    @property
    def mode(self) -> PermissionMode:
        """`permission_mode`, checked."""
        return cast("PermissionMode", self.permission_mode)

    def somebody_could_answer(self) -> bool:
        """Whether a question of the agent could be answered: only then it is offered to the model."""
        if self.can_use_tool is not None or self.questions.when_nobody == "defer":
            return True
        events: tuple[HookEvent, ...] = ("PreToolUse", "PermissionRequest")
        return any(matcher.covers(QUESTION_TOOL) for event in events for matcher in self._hooks.get(event, ()))

    def offered_tools(self) -> list[JsonObject]:
        """The definitions that the model gets to see, in the order of the registry."""
        denied = {rule.tool for rule in self._rules if rule.behavior == "deny" and rule.specifier is None}
        asks = self.somebody_could_answer()
        return [
            tool.definition
            for name, tool in self._registry.items()
            if name not in denied and (name != QUESTION_TOOL or asks)
        ]


def _checked_hooks(value: object) -> dict[HookEvent, tuple[HookMatcher, ...]]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise OptionsError(f"hooks maps event names to lists of HookMatcher, got {value!r:.80}", option="hooks")
    hooks: dict[HookEvent, tuple[HookMatcher, ...]] = {}
    for event, matchers in value.items():
        if event in LATER_EVENTS:
            raise not_available_yet(f"hooks={{{event!r}: ...}}")
        if event not in HOOK_EVENTS:
            raise OptionsError(f"hooks: there is no event {event!r}{_nearest(str(event), HOOK_EVENTS)}", option="hooks")
        if isinstance(matchers, str) or not isinstance(matchers, Sequence):
            raise OptionsError(f"hooks[{event!r}] is a list of HookMatcher, got {matchers!r:.80}", option="hooks")
        for matcher in matchers:
            if not isinstance(matcher, HookMatcher):
                raise OptionsError(
                    f"hooks[{event!r}] holds {matcher!r:.80}; write HookMatcher(matcher=..., hooks=[...])",
                    option="hooks",
                )
        hooks[event] = tuple(matchers)
    return hooks


def _nearest(word: str, known: Sequence[str] | Mapping[str, object]) -> str:
    holding = [name for name in known if name.endswith(f"_{word}")]
    close = holding or difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def _unknown(name: str, known: Sequence[str]) -> str:
    return f"there is no option {name!r}{_nearest(name, known)}"


def _readable(error: ValidationError) -> OptionsError:
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else "options"
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "sequence_str":
        return OptionsError(f"{place} is a list, got {first['input']!r:.80}; write {place}=[...]", option=name)
    return OptionsError(f"{place}: {first['msg']}, got {first['input']!r:.80}", option=name)
