"""AgentOptions: a misspelt or impossible gate is an error when it is built, in words that say what to write."""

from __future__ import annotations

import functools
import warnings
from datetime import timedelta
from typing import Any

import pytest

from agent_sdk import (
    AgentClient,
    AgentOptions,
    Allow,
    AskUserQuestionConfig,
    CanUseToolShadowedWarning,
    Defer,
    HookMatcher,
    InMemoryStore,
    OptionsError,
    RuleError,
    query,
    tool,
)
from agent_sdk.testing import ScriptedModel
from tests.engine.dialogue import Ran


async def ask(name: str, tool_input: dict[str, Any], context: Any) -> Allow:
    """A callback."""
    return Allow()


def plain(name: str, tool_input: dict[str, Any], context: Any) -> Allow:
    """No coroutine function."""
    return Allow()


async def two(name: str, tool_input: dict[str, Any]) -> Allow:
    """Too few arguments."""
    return Allow()


async def keyword(name: str, tool_input: dict[str, Any], *, context: Any) -> Allow:
    """The third argument only by keyword."""
    return Allow()


class Asks:
    """An object that can be awaited for an answer."""

    async def __call__(self, *args: Any) -> Allow:
        return Allow()

    async def method(self, name: str, tool_input: dict[str, Any], context: Any) -> Allow:
        """A bound method."""
        return Allow()


class Transcripts:
    """A store that keeps transcripts and nothing else."""

    async def append(self, key: Any, entries: Any) -> None: ...
    async def load(self, key: Any) -> None: ...
    async def list_sessions(self, project_key: Any) -> list[Any]:
        return []

    async def delete(self, key: Any) -> None: ...
    async def list_subkeys(self, key: Any) -> list[str]:
        return []


@tool
async def save(text: str) -> str:
    """Save a text."""
    return text


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "misspelt-callback": ({"can_use_tools": ask}, "'can_use_tools'; did you mean 'can_use_tool'"),
    "misspelt-hooks": ({"hook": {}}, "did you mean 'hooks'"),
    "misspelt-deny": ({"denied_tools": ["Bash"]}, "denied_tools"),
    "misspelt-mode": ({"permissionmode": "plan"}, "did you mean 'permission_mode'"),
    "camel-case": ({"permissionMode": "plan"}, "did you mean 'permission_mode'"),
    "nothing-near": ({"xyzzy": 1}, "there is no option 'xyzzy'"),
    "unknown-mode": ({"permission_mode": "yolo"}, "permission_mode is one of default, acceptEdits"),
    "settings-dir-without-a-name": ({"settings_dir": "conf/.."}, "settings_dir is the name of a folder"),
    "mode-none": ({"permission_mode": None}, "permission_mode"),
    "plain-callback": ({"can_use_tool": plain}, "must be async.*async def can_use_tool"),
    "callback-of-two": ({"can_use_tool": two}, "3 positional arguments"),
    "callback-by-keyword": ({"can_use_tool": keyword}, "3 positional arguments"),
    "callback-text": ({"can_use_tool": "ask"}, "not callable"),
    "callback-result": ({"can_use_tool": Allow()}, "not callable"),
    "hooks-list": ({"hooks": [HookMatcher(hooks=[ask])]}, "hooks maps event names"),
    "hooks-no-list": ({"hooks": {"PreToolUse": HookMatcher(hooks=[ask])}}, r"hooks\['PreToolUse'\] is a list"),
    "hooks-function": ({"hooks": {"PreToolUse": [ask]}}, "write HookMatcher"),
    "hooks-event": ({"hooks": {"PreTooluse": []}}, "did you mean 'PreToolUse'"),
    "hooks-later": ({"hooks": {"SessionStart": []}}, "not available yet"),
    "rules-text": ({"allow": "Bash"}, r"allow is a list, got 'Bash'; write allow=\[\.\.\.\]"),
    "part-of-a-name": ({"mode": "plan"}, "there is no option 'mode'; did you mean 'permission_mode'"),
    "rules-number": ({"deny": [5]}, "deny"),
    "tools-unknown": ({"tools": ["Bsh"]}, "no built-in tool 'Bsh'; did you mean 'Bash'"),
    "tools-function": ({"tools": [plain]}, "decorate it with @tool"),
    "tools-twice": ({"tools": [save, save]}, "two tools are named 'save'"),
    "tools-text": ({"tools": "Bash"}, r"tools is a list, got 'Bash'; write tools=\['Bash'\]"),
    "model-number": ({"model": 5}, "model is a name or a Model"),
    "client-with-model": ({"model": ScriptedModel([]), "client": object()}, "client is used only with a model's name"),
    "store-text": ({"session_store": "sessions.db"}, "session_store is no SessionStore"),
    "two-sessions": ({"resume": "a", "session_id": "b"}, "two different sessions"),
    "turns-zero": ({"max_turns": 0}, "max_turns is above 0"),
    "turns-true": ({"max_turns": True}, "max_turns"),
    "turns-text": ({"max_turns": "5"}, "max_turns"),
    "seconds-negative": ({"max_seconds": -1}, "max_seconds is above 0"),
    "seconds-nan": ({"max_seconds": float("nan")}, "max_seconds is above 0"),
    "timeout-zero": ({"approval_timeout": 0}, "approval_timeout is above 0"),
    "prompts-zero": ({"max_parallel_prompts": 0}, "max_parallel_prompts is above 0"),
    "on-timeout": ({"on_timeout": "allow"}, "on_timeout"),
    "on-unknown": ({"on_unknown": "retry"}, "on_unknown"),
    "on-tool-changed": ({"on_tool_changed": "allow"}, "on_tool_changed"),
    "budget-without-price": ({"max_budget_usd": 1.0, "model": "house-model"}, "no price is known"),
    "questions-dict": ({"questions": {"timeout": 5}}, "questions"),
    "env-number": ({"env": {"A": 1}}, "env"),
    "defer-without-store": ({"session_store": Transcripts(), "on_timeout": "defer"}, "cannot park"),
    "defer-questions": (
        {"session_store": Transcripts(), "questions": AskUserQuestionConfig(when_nobody="defer")}, "cannot park",
    ),
    "defer-late-questions": (
        {"session_store": Transcripts(), "questions": AskUserQuestionConfig(timeout=1, on_timeout="defer")},
        "cannot park",
    ),
}  # fmt: skip

LATER: dict[str, Any] = {
    "mcp_servers": {"x": {}}, "agents": {"x": object()}, "integrity_key": b"x",
    "max_calls_per_tool": {"Bash": 1}, "on_pending": ask, "on_reminder": ask, "on_expired": ask, "audit": "x",
    "redact": ask,
}  # fmt: skip


@pytest.mark.parametrize(("given", "words"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_kept_is_refused_when_it_is_built(given: dict[str, Any], words: str) -> None:
    """OptionsError with one readable line that names the option."""
    with pytest.raises(OptionsError, match=words) as caught:
        AgentOptions(**given)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(("name", "value"), LATER.items(), ids=LATER)
def test_what_is_not_built_yet_says_so(name: str, value: Any) -> None:
    """Every gate that does not work yet is refused, so that nobody relies on it; its unset value is taken."""
    with pytest.raises(OptionsError, match=r"not available yet"):
        AgentOptions(**{name: value})
    unset = AgentOptions.model_fields[name].default
    AgentOptions(**{name: unset})


@pytest.mark.parametrize("behavior", ["deny", "ask"])
def test_a_bad_rule_that_would_hold_something_back_is_an_error(behavior: str) -> None:
    """A bad allow rule is ignored: it would only have widened."""
    with pytest.raises(RuleError):
        AgentOptions(**{behavior: ["Bash(npm test"]})
    AgentOptions(allow=["Bash(npm test"])


def test_every_kind_of_async_callable_is_taken() -> None:
    """Functions, objects, methods and partials of them."""
    for callback in (ask, Asks(), Asks().method, functools.partial(ask), functools.partial(Asks())):
        options = AgentOptions(can_use_tool=callback, hooks={"PreToolUse": [HookMatcher(hooks=[callback])]})
        assert options.callback is callback


def test_options_cannot_be_changed_later() -> None:
    """What was checked stays checked."""
    options = AgentOptions()
    with pytest.raises(Exception, match="frozen"):
        options.permission_mode = "bypassPermissions"


SHADOWED: list[tuple[dict[str, Any], str | None]] = [
    ({"permission_mode": "bypassPermissions"}, "bypassPermissions"), ({"permission_mode": "dontAsk"}, "dontAsk"),
    ({"allow": ["save"]}, "narrow these rules"), ({"allowed_tools": ["save"]}, "narrow these rules"),
    ({}, None), ({"allow": ["save(text:x)"]}, None), ({"deny": ["save"]}, None), ({"permission_mode": "plan"}, None),
]  # fmt: skip


@pytest.mark.parametrize(("given", "words"), SHADOWED, ids=[str(given) for given, _ in SHADOWED])
def test_a_callback_that_can_never_be_called_is_warned_of(given: dict[str, Any], words: str | None) -> None:
    """The warning names the tools and what settles them; it points at the line that builds the options."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        AgentOptions(tools=[save], can_use_tool=ask, **given)
    told = [warning for warning in caught if warning.category is CanUseToolShadowedWarning]
    assert len(told) == (words is not None)
    for warning in told:
        assert words in str(warning.message)
        assert "save" in str(warning.message)
        assert warning.filename == __file__


@pytest.mark.parametrize(
    ("matcher", "warned"),
    [("sav", True), ("mcp__memory", True), ("save", False), ("s.*", False), (None, False), ("Bash|save", False)],
)
def test_a_matcher_that_hears_no_tool_is_warned_of(matcher: str | None, warned: bool) -> None:
    """A misspelt gate is no gate: the warning names matcher and tools."""
    hooks = {"PreToolUse": [HookMatcher(matcher, [ask])]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        AgentOptions(tools=[save], hooks=hooks)
    assert [("matches none of the tools save" in str(w.message), w.filename) for w in caught] == [
        (True, __file__)
    ] * warned


MATCHERS: dict[str, tuple[dict[str, Any], str]] = {
    "no-expression": ({"matcher": "("}, "no regular expression"),
    "matcher-list": ({"matcher": ["save"]}, "a str or None"),
    "plain-hook": ({"hooks": [plain]}, "must be async"),
    "hook-of-two": ({"hooks": [two]}, "3 positional arguments"),
    "hooks-function": ({"hooks": ask}, "list of async functions"),
    "hooks-text": ({"hooks": "ask"}, "list of async functions"),
    "timeout-zero": ({"timeout": 0}, "seconds above 0"),
    "timeout-text": ({"timeout": "60"}, "seconds above 0"),
    "timeout-true": ({"timeout": True}, "seconds above 0"),
    "on-failure": ({"on_failure": "allow"}, "'block' or 'continue'"),
}


@pytest.mark.parametrize(("given", "words"), MATCHERS.values(), ids=MATCHERS)
def test_a_matcher_is_checked_when_it_is_built(given: dict[str, Any], words: str) -> None:
    """OptionsError says what to write."""
    with pytest.raises(OptionsError, match=words):
        HookMatcher(**given)


def test_questions_are_offered_only_where_somebody_could_answer() -> None:
    """A callback, a hook that covers them, or a store to park them in."""

    def offered(**given: Any) -> bool:
        return "AskUserQuestion" in [definition["name"] for definition in AgentOptions(**given).offered_tools()]

    assert not offered()
    assert offered(can_use_tool=ask)
    assert offered(questions=AskUserQuestionConfig(when_nobody="defer"), session_store=InMemoryStore())
    for matcher, covered in (("AskUserQuestion", True), (None, True), ("Bash", False)):
        assert offered(hooks={"PreToolUse": [HookMatcher(matcher, [ask])]}) is covered
    assert not offered(can_use_tool=ask, tools=[Ran().tool("save")])
    assert not offered(can_use_tool=ask, deny=["AskUserQuestion"])


NO_OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "a dict of options": ({"prompt": "go", "options": {"model": "m"}}, r"options is an AgentOptions\(\.\.\.\), got {"),
    "bytes": ({"prompt": b"go", "options": AgentOptions(setting_sources=())}, "prompt is a str, an async iterable"),
    "a list": ({"prompt": ["go"], "options": AgentOptions(setting_sources=())}, "prompt is a str, an async iterable"),
}


@pytest.mark.anyio
@pytest.mark.parametrize(("given", "words"), NO_OPTIONS.values(), ids=NO_OPTIONS)
async def test_query_says_what_it_takes(given: dict[str, Any], words: str) -> None:
    """OptionsError, before anything is stored."""
    with pytest.raises(OptionsError, match=words):
        async for _ in query(**given):
            pass


def test_the_client_says_what_it_takes() -> None:
    with pytest.raises(OptionsError, match="options is an AgentOptions"):
        AgentClient({"model": "m"})  # type: ignore[arg-type]


@pytest.mark.parametrize("span", [-1, -0.5, timedelta(seconds=-1)], ids=str)
def test_an_approval_cannot_expire_before_it_is_asked_for(span: Any) -> None:
    with pytest.raises(OptionsError, match="not below 0"):
        Defer(expires_in=span)
