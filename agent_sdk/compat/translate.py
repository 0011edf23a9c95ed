"""What ClaudeAgentOptions come to: AgentOptions, and one warning that names what has no effect."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from agent_sdk.compat.hooks import as_hooks
from agent_sdk.compat.options import ClaudeAgentOptions
from agent_sdk.compat.permissions import as_can_use_tool
from agent_sdk.compat.tools import ServerInProcess, tools_of
from agent_sdk.config import PermissionMode, SettingSource, not_available_yet
from agent_sdk.errors import OptionsError, SettingsError
from agent_sdk.models.anthropic import make_client
from agent_sdk.models.base import Model
from agent_sdk.options import QUESTION_TOOL, AgentOptions
from agent_sdk.sessions.store import SessionStore
from agent_sdk.settings.extra import read_extra
from agent_sdk.settings.files import refuse_hooks
from agent_sdk.tools.base import Tool
from agent_sdk.tools.builtin import BUILTIN_TOOLS

ALL_SOURCES: tuple[SettingSource, ...] = ("user", "project", "local")

WITHOUT_EFFECT: Mapping[str, str] = {
    "strict_mcp_config": "",
    "fallback_model": "",
    "betas": "",
    "permission_prompt_tool_name": "calls that need an answer are denied without can_use_tool",
    "cli_path": "",
    "extra_args": "",
    "max_buffer_size": "",
    "stderr": "",
    "user": "",
    "forward_subagent_text": "",
    "verbatim_prompts": "",
    "agents": "there are no sub-agents yet",
    "skills": "",
    "sandbox": "commands run without a sandbox",
    "plugins": "",
    "effort": "",
    "output_format": "",
    "enable_file_checkpointing": "",
    "session_store_flush": "",
    "load_timeout_ms": "",
    "task_budget": "",
    "client_app": "",
}
"""Options that are accepted and change nothing; with what that means, where it is not plain."""

REFUSED = ("continue_conversation", "fork_session", "resume_session_at", "resume_drops_turn")
"""Options without which a run would do something else than was asked: it does not start."""

ALIASES: Mapping[str, str] = {
    "sonnet": "claude-sonnet-5-5",
    "opus": "claude-opus-5-5",
    "haiku": "claude-haiku-4-5",
}


class NoEffectWarning(UserWarning):
    """Options of a program written for the Claude Agent SDK that change nothing here."""


def agent_options(options: ClaudeAgentOptions | None = None, **ours: Any) -> AgentOptions:
    """The AgentOptions that `options` come to. `ours` are options of ours, and count instead of theirs.

    Warns once, by name, of what has no effect. Raises OptionsError for a value that has no meaning and for options that
    cannot be passed over (`REFUSED`), SettingsError and RuleError for `settings`.
    """
    options = options or ClaudeAgentOptions()
    remarks = _remarks(options)
    found = _translated(options, remarks) | ours
    if remarks:
        told = f"ClaudeAgentOptions: these options have no effect here: {', '.join(remarks)}"
        warnings.warn(told, NoEffectWarning, stacklevel=3)
    return AgentOptions(**found)


def _remarks(options: ClaudeAgentOptions) -> list[str]:
    """The names of options that are set and change nothing. Raises OptionsError for those that must not be ignored."""
    if options.can_use_tool is not None and options.permission_prompt_tool_name is not None:
        raise OptionsError("give can_use_tool or permission_prompt_tool_name, not both", option="can_use_tool")
    given, unset = vars(options), vars(ClaudeAgentOptions())
    for name in REFUSED:
        if given[name]:
            raise not_available_yet(f"ClaudeAgentOptions({name}={given[name]!r:.60})")
    named = [(name, why) for name, why in WITHOUT_EFFECT.items() if given[name] != unset[name]]
    return [f"{name} ({why})" if why else name for name, why in named]


def _translated(options: ClaudeAgentOptions, remarks: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "allowed_tools": list(options.allowed_tools),
        "disallowed_tools": list(options.disallowed_tools),
        "additional_directories": list(options.add_dirs),
        "setting_sources": ALL_SOURCES if options.setting_sources is None else tuple(options.setting_sources),
        "include_partial_messages": options.include_partial_messages,
        "include_hook_events": options.include_hook_events,
        "system_prompt": _system_prompt(options.system_prompt, remarks),
        "hooks": as_hooks(options.hooks, remarks),
        "tools": _tools(options, remarks),
    }
    for name in ("cwd", "max_turns", "max_budget_usd", "resume", "session_id"):
        value = vars(options)[name]
        if value is not None:
            found[name] = value
    if options.can_use_tool is not None:
        found["can_use_tool"] = as_can_use_tool(options.can_use_tool)
    if (mode := _mode(options.permission_mode, remarks)) is not None:
        found["permission_mode"] = mode
    if isinstance(options.session_store, SessionStore):
        found["session_store"] = options.session_store
    elif options.session_store is not None:
        remarks.append("session_store (a store of agent_sdk has other methods)")
    found |= _model(options) | _thinking(options)
    return _with_settings(options, found)


def _mode(theirs: str | None, remarks: list[str]) -> str | None:
    if theirs != "auto":
        return theirs
    remarks.append("permission_mode='auto' (taken as 'default': what no rule decides is asked)")
    return "default"


def _system_prompt(given: object, remarks: list[str]) -> str | None:
    match given:
        case None | str():
            return given
        case {"type": "preset", **rest}:
            remarks.append("system_prompt's preset (there is no such prompt here)")
            append = rest.get("append")
            return append if isinstance(append, str) else None
        case {"type": "custom", "prompt": str(prompt)}:
            return prompt
        case {"type": "file", "path": str(path)}:
            try:
                return Path(path).read_text("utf-8")
            except (OSError, ValueError) as error:
                raise OptionsError(f"system_prompt: {path} cannot be read: {error}", option="system_prompt") from None
        case _:
            raise OptionsError(f"system_prompt is a text or a preset, got {given!r:.80}", option="system_prompt")


def _tools(options: ClaudeAgentOptions, remarks: list[str]) -> list[str | Tool]:
    """The built-in tools that are asked for, and those of servers in this process."""
    built_in = (*BUILTIN_TOOLS, QUESTION_TOOL)
    wanted = options.tools
    if wanted is None or isinstance(wanted, Mapping):
        names = list(built_in)
    else:
        names = [name for name in dict.fromkeys(wanted) if name in built_in]
        unknown = [name for name in wanted if name not in built_in]
        if unknown:
            remarks.append(f"tools {', '.join(map(str, unknown))} (there are no such tools here)")
    tools: list[str | Tool] = list(names)
    for key, instance in servers_in_process(options).items():
        tools += tools_of(key, instance)
    others = _other_servers(options)
    if others:
        remarks.append(f"mcp_servers {', '.join(others)} (only servers made with create_sdk_mcp_server are there)")
    return tools


def servers_in_process(options: ClaudeAgentOptions) -> dict[str, ServerInProcess]:
    """The servers made with `create_sdk_mcp_server`, by the key under which their tools are named."""
    found: dict[str, ServerInProcess] = {}
    for key, config in _servers(options).items():
        instance = config.get("instance") if isinstance(config, Mapping) else None
        if isinstance(instance, ServerInProcess):
            found[key] = instance
    return found


def _other_servers(options: ClaudeAgentOptions) -> list[str]:
    here = servers_in_process(options)
    if isinstance(options.mcp_servers, Mapping):
        return [str(key) for key in options.mcp_servers if key not in here]
    return [str(options.mcp_servers)] if options.mcp_servers else []


def _servers(options: ClaudeAgentOptions) -> Mapping[str, object]:
    return options.mcp_servers if isinstance(options.mcp_servers, Mapping) else {}


def _model(options: ClaudeAgentOptions) -> dict[str, Any]:
    """Model, client and environment. What `env` says of the service goes to the client, the rest to commands."""
    service = {name: value for name, value in options.env.items() if name.startswith("ANTHROPIC_")}
    rest = {name: value for name, value in options.env.items() if name not in service}
    named = options.model or service.get("ANTHROPIC_MODEL") or os.environ.get("ANTHROPIC_MODEL")
    found: dict[str, Any] = {"env": rest} if rest else {}
    if isinstance(named, Model):
        found["model"] = named
    elif named and named not in ("default", "inherit"):
        found["model"] = ALIASES.get(named, named)
    if service.keys() & {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"}:
        found["client"] = make_client(
            api_key=service.get("ANTHROPIC_API_KEY"),
            auth_token=service.get("ANTHROPIC_AUTH_TOKEN"),
            base_url=service.get("ANTHROPIC_BASE_URL"),
        )
    return found


def _thinking(options: ClaudeAgentOptions) -> dict[str, Any]:
    thinking: Mapping[str, object] | None = options.thinking
    tokens = options.max_thinking_tokens
    if tokens is None and (given := options.env.get("MAX_THINKING_TOKENS", "")).isdecimal():
        tokens = int(given)
    if thinking is None and tokens is not None:
        thinking = {"type": "enabled", "budget_tokens": tokens} if tokens else {"type": "disabled"}
    if thinking is None:
        return {}
    budget = thinking.get("budget_tokens")
    found: dict[str, Any] = {"thinking": dict(thinking)}
    if isinstance(budget, int):  # the service counts thoughts as output
        found["max_tokens"] = budget + int(AgentOptions.model_fields["max_tokens"].default)
    return found


def _with_settings(options: ClaudeAgentOptions, found: dict[str, Any]) -> dict[str, Any]:
    """`settings` is a file, or JSON text, of the program itself: all that it says counts."""
    if options.settings is None:
        return found
    content = read_extra(options.settings, cwd=os.path.abspath(options.cwd or "."), home=os.path.expanduser("~"))
    refuse_hooks(() if content.disable_all_hooks else content.hooks)
    for message in content.warnings:
        warnings.warn(message, stacklevel=5)
    for behavior in ("allow", "ask", "deny"):
        found[behavior] = [rule.text for rule in content.rules if rule.behavior == behavior]
    found["additional_directories"] += content.directories
    mode = found.get("permission_mode") or content.default_mode
    if mode == "bypassPermissions" and content.disable_bypass:
        raise SettingsError("the mode bypassPermissions is disabled by disableBypassPermissionsMode in `settings`")
    return found if mode is None else {**found, "permission_mode": cast("PermissionMode", mode)}
