"""Does the name in a rule cover the name of a tool? Servers, their tools, and `*` in names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from agent_sdk.rules.globs import fits, pieces
from agent_sdk.rules.rule import Rule


@lru_cache(maxsize=1024)
def names_to_try(tool: str) -> tuple[str, ...]:
    """Rule names without a free `*` that may cover `tool`: its own, and those of the servers that it may belong to."""
    return tuple(_names_to_try(tool))


def _names_to_try(tool: str) -> Iterator[str]:
    yield tool
    if not tool.startswith("mcp__"):
        return
    cut = tool.find("__", 5)
    while cut > 0:
        if tool[cut + 2 :] and cut > 5:
            yield tool[:cut]
            yield f"{tool[:cut]}__*"
        cut = tool.find("__", cut + 1)


def name_covers(rule: Rule, tool: str, registry: frozenset[str] | None) -> bool:
    """True when the name in `rule` covers `tool`.

    `mcp__a__b__c` may be a tool of server `a` or of server `a__b`. Deny and ask take both; allow takes a server only
    when the name can be split in one way, or when `registry`, the registered tools, shows that the rule names no tool.
    """
    name = rule.tool
    if name == tool:
        return rule.behavior != "allow" or not _server_alone(name)
    if rule.behavior != "allow":
        return _server_of(name, tool) or ("*" in name and fits(pieces(name), tool))
    if not name.startswith("mcp__"):
        return False
    if "*" in name and not whole_server(name):
        return _glob_of_one_server(name, tool)
    server = name.removesuffix("__*")
    if not _server_of(name, tool):
        return False
    if "__" not in tool[len(server) + 2 :] and "__" not in server[5:]:
        return True
    return "__" in server[5:] and registry is not None and server not in registry


def whole_server(name: str) -> bool:
    """True for `mcp__server__*`, which stands for all tools of one server."""
    server = name[5:-3]
    return name.startswith("mcp__") and name.endswith("__*") and server != "" and "*" not in server


def _server_alone(name: str) -> bool:
    """True for `mcp__s`, which in a rule is a server: a tool of that very name is no tool of it."""
    return name.startswith("mcp__") and "__" not in name[5:]


def _server_of(name: str, tool: str) -> bool:
    server = name.removesuffix("__*")
    return "*" not in server and name.startswith("mcp__") and tool.startswith(f"{server}__") and tool != f"{server}__"


def _glob_of_one_server(name: str, tool: str) -> bool:
    server = name[5:].partition("__")[0]
    rest = tool.removeprefix(f"mcp__{server}__")
    return rest != tool and "__" not in rest and fits(pieces(name), tool)
