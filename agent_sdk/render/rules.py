"""A rule that would be remembered, in words: what else it covers, and where it is kept."""

from __future__ import annotations

import re
from collections.abc import Callable

from agent_sdk.decisions import PermissionRule, PermissionUpdate
from agent_sdk.render.text import visible
from agent_sdk.updates import Destination

PLACES: dict[Destination, tuple[str, str]] = {
    "session": ("this session", "in memory only, until this session ends"),
    "localSettings": ("you, this project", ".claude/settings.local.json, which is not shared"),
    "projectSettings": ("everybody, this project", ".claude/settings.json, for all who work on the project"),
    "userSettings": ("you, everywhere", "~/.claude/settings.json, for all your projects"),
}
"""Destinations of an update: for whom, and the file. The order is from the narrowest to the widest."""


def rule_in_words(rule: PermissionRule) -> str:
    """Everything that an allow rule would cover, as one line that is safe to print."""
    words = _BY_TOOL.get(rule.tool)
    said = words(rule.specifier) if words is not None else _other(rule)
    return visible(said, keep_newlines=False)


def suggestion_lines(update: PermissionUpdate) -> list[str]:
    """A suggestion, one line a rule: the rule's text and what it covers."""
    return [f"{visible(str(rule), keep_newlines=False)}: {rule_in_words(rule)}" for rule in update.rules]


def place_in_words(destination: Destination) -> str:
    """Where an update is kept, on one line."""
    whom, where = PLACES[destination]
    return f"{whom} ({where})"


def _bash(specifier: str | None) -> str:
    if specifier is None:
        return "every command whatsoever"
    for tail in (":*", " *"):
        if specifier.endswith(tail) and not _has_star(specifier.removesuffix(tail)):
            return f"every command that begins with '{_plain(specifier.removesuffix(tail))}', whatever follows"
    if _has_star(specifier):
        return f"every command like '{specifier}', where * stands for anything"
    return f"exactly the command '{_plain(specifier)}', and no other"


def _files(doing: str) -> Callable[[str | None], str]:
    def words(specifier: str | None) -> str:
        if specifier is None:
            return f"{doing} any file"
        if specifier.endswith("/**") and not _has_star(specifier.removesuffix("/**")):
            return f"{doing} every file below {_plain(specifier.removesuffix('/**'))}, also files that come later"
        if _has_star(specifier):
            return f"{doing} every file that fits {specifier}"
        return f"{doing} the file {_plain(specifier)}, whatever is in it"

    return words


def _web(specifier: str | None) -> str:
    host = (specifier or "").removeprefix("domain:")
    return f"every page of {host}" if host and host != "*" else "every page of every host"


def _agent(specifier: str | None) -> str:
    return f"every sub-agent of the kind {specifier}, with any task" if specifier else "every sub-agent, with any task"


def _other(rule: PermissionRule) -> str:
    if rule.tool.startswith("mcp__"):
        server, _, tool = rule.tool.removeprefix("mcp__").partition("__")
        what = f"the tool {tool}" if tool and tool != "*" else "every tool"
        return f"{what} of the MCP server {server}, with any arguments"
    what = f"calls of {rule.tool}"
    return f"every one of the {what}, with any input" if rule.specifier is None else f"{what} that fit {rule.specifier}"


def _has_star(pattern: str) -> bool:
    return re.search(r"(?<!\\)(?:\\\\)*\*", pattern) is not None


def _plain(pattern: str) -> str:
    return re.sub(r"\\(.)", r"\1", pattern)


_BY_TOOL: dict[str, Callable[[str | None], str]] = {
    "Bash": _bash,
    "Edit": _files("changing"),
    "Write": _files("changing"),
    "Read": _files("reading"),
    "WebFetch": _web,
    "Agent": _agent,
    "Task": _agent,
}
