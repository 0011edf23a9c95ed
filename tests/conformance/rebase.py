"""Moves the absolute paths of a case under a temporary root, so that real links and files can be made there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PATH_FIELDS = ("file_path", "path", "notebook_path")
_ABSOLUTE_WORD = re.compile(r"""(?<![^\s'"=:;|&<>(])/(?=[^\s/])""")
_RULE = re.compile(r"(?s)([A-Za-z_]+)\((.*)\)(.*)")


def rebased_path(path: str, root: Path) -> str:
    """An absolute path under the root; any other path as it is."""
    return f"{root}{path}" if path.startswith("/") else path


def rebased_command(command: str, root: Path) -> str:
    """A command line whose words that begin with `/` begin with the root."""
    return _ABSOLUTE_WORD.sub(lambda _: f"{root}/", command)


def rebased_rule(rule: str, root: Path) -> str:
    """A rule whose pattern is anchored at the file system root, anchored at the new root instead."""
    match = _RULE.fullmatch(rule)
    if match is None:
        return rule
    tool, specifier, rest = match.groups()
    if tool == "Bash":
        specifier = rebased_command(specifier, root)
    elif specifier.startswith("//"):
        specifier = f"/{root}{specifier[1:]}"
    return f"{tool}({specifier}){rest}"


def rebased_rules(rules: Mapping[str, Any], root: Path) -> dict[str, list[str]]:
    """All rules of a case."""
    return {behavior: [rebased_rule(rule, root) for rule in listed] for behavior, listed in rules.items()}


def rebased_input(tool_input: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """A tool input with its paths, or its command, under the root."""
    moved = dict(tool_input)
    for field in PATH_FIELDS:
        if isinstance(moved.get(field), str):
            moved[field] = rebased_path(moved[field], root)
    if isinstance(moved.get("command"), str):
        moved["command"] = rebased_command(moved["command"], root)
    return moved


def make_links(links: Mapping[str, str], root: Path) -> None:
    """Make the links of a case under the root, with their folders and what they lead to."""
    for link, target in links.items():
        place = Path(rebased_path(link, root))
        place.parent.mkdir(parents=True, exist_ok=True)
        goal = rebased_path(target, root)
        (place.parent / goal).parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(goal)
