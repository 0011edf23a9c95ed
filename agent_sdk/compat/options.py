"""ClaudeAgentOptions: every option of the Claude Agent SDK, taken as it is. What it comes to is in `translate`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from agent_sdk.compat.permissions import PermissionMode
from agent_sdk.compat.tools import McpSdkServerConfig
from agent_sdk.config import SettingSource
from agent_sdk.models.base import Model

EffortLevel: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]
SdkBeta: TypeAlias = str
ThinkingDisplay: TypeAlias = Literal["summarized", "omitted"]


@dataclass
class AgentDefinition:
    """A kind of sub-agent. There are none yet: the names of those given are told in the warning."""

    description: str
    prompt: str
    tools: list[str] | None = None
    disallowedTools: list[str] | None = None
    model: str | None = None
    skills: list[str] | None = None
    memory: Literal["user", "project", "local"] | None = None
    mcpServers: list[str | dict[str, Any]] | None = None
    initialPrompt: str | None = None
    maxTurns: int | None = None
    background: bool | None = None
    effort: EffortLevel | int | None = None
    permissionMode: PermissionMode | None = None


class SystemPromptPreset(TypedDict):
    """There is no such prompt here; `append` becomes the system prompt."""

    type: Literal["preset"]
    preset: Literal["claude_code"]
    append: NotRequired[str]
    exclude_dynamic_sections: NotRequired[bool]


class SystemPromptCustom(TypedDict):
    """A system prompt; another spelling of the plain text."""

    type: Literal["custom"]
    prompt: str
    snapshot: NotRequired[bool]


class SystemPromptFile(TypedDict):
    """A system prompt that is read from a file when the run starts."""

    type: Literal["file"]
    path: str


class ToolsPreset(TypedDict):
    """All built-in tools."""

    type: Literal["preset"]
    preset: Literal["claude_code"]


class ThinkingConfigAdaptive(TypedDict):
    """The model decides how much it thinks."""

    type: Literal["adaptive"]
    display: NotRequired[ThinkingDisplay]


class ThinkingConfigEnabled(TypedDict):
    """The model thinks in at most so many tokens."""

    type: Literal["enabled"]
    budget_tokens: int
    display: NotRequired[ThinkingDisplay]


class ThinkingConfigDisabled(TypedDict):
    """The model does not think aloud."""

    type: Literal["disabled"]


ThinkingConfig: TypeAlias = ThinkingConfigAdaptive | ThinkingConfigEnabled | ThinkingConfigDisabled


class McpStdioServerConfig(TypedDict):
    """A server that is a process. Not started yet."""

    type: NotRequired[Literal["stdio"]]
    command: str
    args: NotRequired[list[str]]
    env: NotRequired[dict[str, str]]


class McpSSEServerConfig(TypedDict):
    """A server behind a URL. Not reached yet."""

    type: Literal["sse"]
    url: str
    headers: NotRequired[dict[str, str]]


class McpHttpServerConfig(TypedDict):
    """A server behind a URL. Not reached yet."""

    type: Literal["http"]
    url: str
    headers: NotRequired[dict[str, str]]


McpServerConfig: TypeAlias = McpStdioServerConfig | McpSSEServerConfig | McpHttpServerConfig | McpSdkServerConfig


McpServerConnectionStatus: TypeAlias = Literal["connected", "failed", "needs-auth", "pending", "disabled"]


class McpToolAnnotations(TypedDict, total=False):
    """Hints about a tool of a server."""

    readOnly: bool
    destructive: bool
    openWorld: bool


class McpToolInfo(TypedDict):
    """A tool of a server."""

    name: str
    description: NotRequired[str]
    annotations: NotRequired[McpToolAnnotations]


class McpServerInfo(TypedDict):
    """Name and version of a server."""

    name: str
    version: str


McpServerStatusConfig: TypeAlias = dict[str, Any]


class McpServerStatus(TypedDict):
    """One server in the answer of `get_mcp_status`."""

    name: str
    status: McpServerConnectionStatus
    serverInfo: NotRequired[McpServerInfo]
    error: NotRequired[str]
    config: NotRequired[McpServerStatusConfig]
    scope: NotRequired[str]
    tools: NotRequired[list[McpToolInfo]]


class McpStatusResponse(TypedDict):
    """What `get_mcp_status` answers."""

    mcpServers: list[McpServerStatus]


class SdkPluginConfig(TypedDict):
    """A plugin. There are none here."""

    type: Literal["local"]
    path: str


class TaskBudget(TypedDict):
    """A budget of tokens. Not sent."""

    total: int


SandboxSettings: TypeAlias = dict[str, Any]
SandboxNetworkConfig: TypeAlias = dict[str, Any]
SandboxIgnoreViolations: TypeAlias = dict[str, Any]
SessionStoreFlushMode: TypeAlias = Literal["batched", "eager"]


@dataclass
class ClaudeAgentOptions:
    """Options of a run, in their names. Nothing is checked here: it is when a run or a client starts.

    Options without an effect are named in one warning then. `setting_sources=None` is all of them. `model` may also be
    a Model of ours, such as a ScriptedModel; other options that are ours alone are given by
    `agent_options(options, ...)`.
    """

    tools: list[str] | ToolsPreset | None = None
    allowed_tools: list[str] = field(default_factory=list)
    system_prompt: str | SystemPromptPreset | SystemPromptCustom | SystemPromptFile | None = None
    mcp_servers: Mapping[str, McpServerConfig] | str | os.PathLike[str] = field(default_factory=dict)
    strict_mcp_config: bool = False
    permission_mode: PermissionMode | None = None
    continue_conversation: bool = False
    resume: str | None = None
    session_id: str | None = None
    max_turns: int | None = None
    max_budget_usd: float | None = None
    disallowed_tools: list[str] = field(default_factory=list)
    model: str | Model | None = None
    fallback_model: str | None = None
    betas: Sequence[SdkBeta] = field(default_factory=list)
    permission_prompt_tool_name: str | None = None
    cwd: str | os.PathLike[str] | None = None
    cli_path: str | os.PathLike[str] | None = None
    settings: str | None = None
    add_dirs: Sequence[str | os.PathLike[str]] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    extra_args: dict[str, str | None] = field(default_factory=dict)
    max_buffer_size: int | None = None
    debug_stderr: object = None
    stderr: Callable[[str], None] | None = None
    can_use_tool: object = None
    hooks: Mapping[Any, Sequence[Any]] | None = None
    user: str | None = None
    include_partial_messages: bool = False
    include_hook_events: bool = False
    forward_subagent_text: bool = False
    verbatim_prompts: bool = False
    fork_session: bool = False
    resume_session_at: str | None = None
    resume_drops_turn: str | None = None
    agents: Mapping[str, AgentDefinition] | None = None
    setting_sources: Sequence[SettingSource] | None = None
    skills: list[str] | Literal["all"] | None = None
    sandbox: SandboxSettings | None = None
    plugins: Sequence[SdkPluginConfig] = field(default_factory=list)
    max_thinking_tokens: int | None = None
    thinking: ThinkingConfig | None = None
    effort: EffortLevel | None = None
    output_format: dict[str, Any] | None = None
    enable_file_checkpointing: bool = False
    session_store: object = None
    session_store_flush: SessionStoreFlushMode = "batched"
    load_timeout_ms: int = 60_000
    task_budget: TaskBudget | None = None
    client_app: str | None = None
