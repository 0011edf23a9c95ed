"""Small option values that several rooms need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from agent_sdk.errors import OptionsError

PermissionMode: TypeAlias = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "manual"]
"""How eagerly calls are approved. `manual` is another spelling of `default`."""

RememberScope: TypeAlias = Literal["session", "local", "project", "user"]
SettingSource: TypeAlias = Literal["user", "project", "local"]

REMEMBER_SCOPES: tuple[RememberScope, ...] = get_args(RememberScope)
MODES: tuple[PermissionMode, ...] = get_args(PermissionMode)


def not_available_yet(what: str) -> OptionsError:
    """The one way in which this package declines a feature that is specified but not built."""
    return OptionsError(f"{what} is not available yet in this version of agent_sdk", option=what)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskUserQuestionConfig:
    """How the agent may ask the person.

    `kinds` are the kinds of questions: choices between options, and where an application shows them, also open texts
    and numbers (with limits). `preview_format` says how options' previews are written; the model hears of previews only
    when it is set, and HTML that is more than a plain fragment is refused before anyone sees the question.
    `timeout` is the time limit of one card in seconds (`None` = as long as it takes). `on_timeout` says what then
    happens: the model is told that nobody answered (`"unanswered"`), the call is parked (`"defer"`), or denied.
    `when_nobody` is for runs in which nobody could answer: tell the model to go on with stated assumptions
    (`"tell"`), or park the call (`"defer"`).

    Raises OptionsError for a value outside of these.
    """

    kinds: tuple[str, ...] = ("choice",)
    preview_format: Literal["markdown", "html"] | None = None
    timeout: float | None = None
    on_timeout: Literal["unanswered", "defer", "deny"] = "unanswered"
    when_nobody: Literal["tell", "defer"] = "tell"

    def __post_init__(self) -> None:
        kinds = () if isinstance(self.kinds, str) else tuple(self.kinds)
        if not kinds or not set(kinds) <= {"choice", "text", "number"}:
            raise OptionsError(f"kinds holds 'choice', 'text' and 'number', got {self.kinds!r}", option="kinds")
        object.__setattr__(self, "kinds", kinds)
        if self.preview_format not in (None, "markdown", "html"):
            raise OptionsError(f"preview_format is None, 'markdown' or 'html', got {self.preview_format!r}")
        if self.on_timeout not in ("unanswered", "defer", "deny"):
            raise OptionsError(f"on_timeout is 'unanswered', 'defer' or 'deny', got {self.on_timeout!r}")
        if self.when_nobody not in ("tell", "defer"):
            raise OptionsError(f"when_nobody is 'tell' or 'defer', got {self.when_nobody!r}")
        if self.timeout is not None and not self.timeout > 0:
            raise OptionsError(f"timeout is a number of seconds above 0, got {self.timeout!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefinition:
    """A kind of sub-agent: what it is for, how it is prompted, and how much stricter than its parent it is."""

    description: str
    prompt: str
    tools: tuple[str, ...] | None = None
    model: str | None = None
    max_turns: int | None = None
    permission_mode: PermissionMode | None = None
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
