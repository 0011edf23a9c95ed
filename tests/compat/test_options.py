"""ClaudeAgentOptions: everything is accepted, what counts is translated, what does not is named once."""

from __future__ import annotations

import json
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from agent_sdk import AgentOptions, OptionsError, SettingsError
from agent_sdk.compat import (
    AgentDefinition,
    ClaudeAgentOptions,
    HookMatcher,
    NoEffectWarning,
    agent_options,
    create_sdk_mcp_server,
    tool,
)
from agent_sdk.compat.translate import REFUSED, WITHOUT_EFFECT
from agent_sdk.sessions.memory import InMemoryStore
from agent_sdk.testing import ScriptedModel

DEFAULT_MODEL = AgentOptions.model_fields["model"].default
ALL = ["Bash", "Read", "Write", "Edit", "Glob", "Grep", "AskUserQuestion"]


async def hook(input_data: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
    return {}


TRANSLATED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"model": DEFAULT_MODEL, "permission_mode": "default", "system_prompt": None, "tools": ALL}),
    ({}, {"setting_sources": ("user", "project", "local")}),
    ({"setting_sources": []}, {"setting_sources": ()}),
    ({"setting_sources": ["user"]}, {"setting_sources": ("user",)}),
    ({"allowed_tools": ["Read"], "disallowed_tools": ["Bash"]}, {"allowed_tools": ["Read"]}),
    ({"disallowed_tools": ["Bash"]}, {"disallowed_tools": ["Bash"]}),
    ({"permission_mode": "acceptEdits"}, {"permission_mode": "acceptEdits"}),
    ({"cwd": "/tmp"}, {"cwd": "/tmp"}),
    ({"add_dirs": ["/var", Path("/srv")]}, {"additional_directories": ["/var", Path("/srv")]}),
    ({"max_turns": 3, "resume": "id"}, {"max_turns": 3, "resume": "id"}),
    ({"session_id": "id"}, {"session_id": "id"}),
    ({"max_budget_usd": 0.5}, {"max_budget_usd": 0.5}),
    ({"model": "opus"}, {"model": "claude-opus-5-5"}),
    ({"model": "claude-x"}, {"model": "claude-x"}),
    ({"model": "inherit"}, {"model": DEFAULT_MODEL}),
    ({"env": {"ANTHROPIC_MODEL": "claude-y", "DEBUG": "1"}}, {"model": "claude-y", "env": {"DEBUG": "1"}}),
    ({"system_prompt": "Be brief."}, {"system_prompt": "Be brief."}),
    ({"system_prompt": {"type": "custom", "prompt": "Be brief."}}, {"system_prompt": "Be brief."}),
    ({"tools": []}, {"tools": []}),
    ({"tools": ["Read", "Bash"]}, {"tools": ["Read", "Bash"]}),
    ({"tools": {"type": "preset", "preset": "claude_code"}}, {"tools": ALL}),
    ({"include_partial_messages": True, "include_hook_events": True}, {"include_partial_messages": True}),
    ({"thinking": {"type": "adaptive"}}, {"thinking": {"type": "adaptive"}, "max_tokens": 8192}),
    ({"max_thinking_tokens": 0}, {"thinking": {"type": "disabled"}}),
    (
        {"max_thinking_tokens": 9000},
        {"thinking": {"type": "enabled", "budget_tokens": 9000}, "max_tokens": 17192},
    ),
    ({"env": {"MAX_THINKING_TOKENS": "8000"}}, {"thinking": {"type": "enabled", "budget_tokens": 8000}}),
]  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours"), TRANSLATED, ids=lambda value: str(value)[:50])
def test_what_counts(theirs: dict[str, Any], ours: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """An option of theirs comes to this option of ours, without a warning."""
    monkeypatch.delenv("ANTHROPIC_MODEL", raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoEffectWarning)
        made = agent_options(ClaudeAgentOptions(**theirs))
    assert {name: getattr(made, name) for name in ours} == ours


EVERYTHING: dict[str, Any] = {
    "strict_mcp_config": True,
    "fallback_model": "claude-x",
    "betas": ["context-1m-2025-08-07"],
    "permission_prompt_tool_name": "mcp__a__b",
    "cli_path": "/usr/bin/claude",
    "extra_args": {"debug": None},
    "max_buffer_size": 1,
    "stderr": print,
    "user": "ada",
    "forward_subagent_text": True,
    "verbatim_prompts": True,
    "agents": {"reviewer": AgentDefinition(description="reviews", prompt="Review.")},
    "skills": "all",
    "sandbox": {"enabled": True},
    "plugins": [{"type": "local", "path": "/p"}],
    "effort": "low",
    "output_format": {"type": "json_schema", "schema": {}},
    "enable_file_checkpointing": True,
    "session_store_flush": "eager",
    "load_timeout_ms": 5,
    "task_budget": {"total": 5},
    "client_app": "app/1",
}


def test_what_does_not_count_is_named_in_one_warning() -> None:
    """All of them together give one warning; it names each, and says what is not plain."""
    assert EVERYTHING.keys() == WITHOUT_EFFECT.keys()
    with pytest.warns(NoEffectWarning) as told:
        agent_options(ClaudeAgentOptions(**EVERYTHING, debug_stderr=1))
    assert len(told) == 1
    for name in EVERYTHING:
        assert name in str(told[0].message)
    assert "sandbox (commands run without a sandbox)" in str(told[0].message)


REMARKS: list[tuple[dict[str, Any], str]] = [
    ({"permission_mode": "auto"}, "permission_mode='auto'"),
    ({"system_prompt": {"type": "preset", "preset": "claude_code", "append": "Rhyme."}}, "system_prompt's preset"),
    ({"tools": ["Read", "WebFetch", "TodoWrite"]}, "tools WebFetch, TodoWrite"),
    ({"mcp_servers": {"files": {"command": "npx", "args": []}}}, "mcp_servers files"),
    ({"mcp_servers": "/etc/mcp.json"}, "mcp_servers /etc/mcp.json"),
    ({"session_store": object()}, "session_store"),
    ({"hooks": {"Notification": [HookMatcher(hooks=[hook])]}}, "hooks['Notification']"),
]


@pytest.mark.parametrize(("theirs", "named"), REMARKS, ids=lambda value: str(value)[:40])
def test_what_counts_in_part(theirs: dict[str, Any], named: str) -> None:
    """A value that is not there is named; the run starts all the same."""
    with pytest.warns(NoEffectWarning, match="have no effect here") as told:
        agent_options(ClaudeAgentOptions(**theirs))
    assert named in str(told[0].message)


def test_the_words_appended_to_a_preset_are_the_system_prompt() -> None:
    """There is no prompt of Claude Code here, but what a program adds to it counts."""
    with pytest.warns(NoEffectWarning):
        made = agent_options(
            ClaudeAgentOptions(system_prompt={"type": "preset", "preset": "claude_code", "append": "Rhyme."})
        )
    assert made.system_prompt == "Rhyme."


def test_a_system_prompt_in_a_file(tmp_path: Path) -> None:
    """It is read when the run starts; a file that is not there is an error."""
    (tmp_path / "p.md").write_text("Be kind.")
    made = agent_options(ClaudeAgentOptions(system_prompt={"type": "file", "path": str(tmp_path / "p.md")}))
    assert made.system_prompt == "Be kind."
    with pytest.raises(OptionsError, match="cannot be read"):
        agent_options(ClaudeAgentOptions(system_prompt={"type": "file", "path": str(tmp_path / "none")}))


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_do_something_else_is_refused(name: str) -> None:
    """A run that would go on with the wrong conversation does not start."""
    options = ClaudeAgentOptions(**{"resume": "id", name: True})
    with pytest.raises(OptionsError, match=f"{name}.* not available yet"):
        agent_options(options)


def test_every_option_is_translated_named_or_refused() -> None:
    """No option of theirs is forgotten."""
    translated = {name for theirs, _ in TRANSLATED for name in theirs} | {
        name for theirs, _ in REMARKS for name in theirs
    }
    known = translated | set(WITHOUT_EFFECT) | set(REFUSED) | {"settings", "can_use_tool", "debug_stderr"}  # fmt: skip
    assert {field.name for field in fields(ClaudeAgentOptions)} == known


def test_a_callback_and_a_prompt_tool_contradict() -> None:
    """As there, only one of the two may be given."""

    async def callback(name: str, given: Any, context: Any) -> None: ...

    with pytest.raises(OptionsError, match="not both"):
        agent_options(ClaudeAgentOptions(can_use_tool=callback, permission_prompt_tool_name="mcp__a__b"))


def test_key_and_address_in_env_make_a_client() -> None:
    """What `env` says of the service is for the client, and not for commands."""
    env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "A": "b"}
    made = agent_options(ClaudeAgentOptions(env=env))
    assert made.anthropic is not None
    assert (made.anthropic.api_key, str(made.anthropic.base_url)) == ("k", "http://127.0.0.1:9")
    assert made.env == {"A": "b"}


def test_options_of_ours_count_instead() -> None:
    """What only we have is given beside theirs."""
    store, model = InMemoryStore(), ScriptedModel(["hi"])
    made = agent_options(ClaudeAgentOptions(model="x"), session_store=store, model=model, trust_project=True)
    assert (made.store, made.model, made.trust_project) == (store, model, True)


SETTINGS = {
    "permissions": {
        "allow": ["Bash(ls)"],
        "deny": ["Bash(rm:*)"],
        "additionalDirectories": ["/srv"],
        "defaultMode": "plan",
    }
}


@pytest.mark.parametrize("inline", [True, False], ids=["text", "file"])
def test_settings_count(inline: bool, tmp_path: Path) -> None:
    """`settings` is a file or its text; rules, directories and mode in it count."""
    text = json.dumps(SETTINGS)
    (tmp_path / "s.json").write_text(text)
    made = agent_options(ClaudeAgentOptions(settings=text if inline else str(tmp_path / "s.json"), cwd=tmp_path))
    assert [(rule.behavior, rule.text) for rule in made.rules] == [("deny", "Bash(rm:*)"), ("allow", "Bash(ls)")]
    assert (list(made.additional_directories), made.permission_mode) == (["/srv"], "plan")


@pytest.mark.parametrize(
    ("settings", "more", "words"),
    [
        ("/nowhere/s.json", {}, "there is no settings file"),
        ("{", {}, "line 1"),
        ({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x"}]}]}}, {}, "hooks in settings files"),
        (
            {"permissions": {"disableBypassPermissionsMode": "disable"}},
            {"permission_mode": "bypassPermissions"},
            "disabled by",
        ),
    ],
    ids=["no file", "no JSON", "a shell hook", "bypass disabled"],
)
def test_settings_that_cannot_be_kept(settings: Any, more: dict[str, Any], words: str) -> None:
    """A run whose settings cannot be kept does not start."""
    text = settings if isinstance(settings, str) else json.dumps(settings)
    with pytest.raises(SettingsError, match=words):
        agent_options(ClaudeAgentOptions(settings=text, **more))


def test_tools_of_a_server_come_beside_the_built_in_ones() -> None:
    """They are named after the key in `mcp_servers`, not after the server's own name."""

    @tool("add", "Add.", {"a": int})
    async def add(args: Any) -> dict[str, Any]:
        return {"content": []}

    server = create_sdk_mcp_server("other", tools=[add])
    made = agent_options(ClaudeAgentOptions(mcp_servers={"calc": server}, tools=[]))
    assert list(made.registry) == ["mcp__calc__add"]
