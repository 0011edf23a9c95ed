"""A parser of other people's making as an oracle: the simple commands that shfmt sees in a script."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from agent_sdk.rules.shell_text import decode_escapes

SHFMT = shutil.which("shfmt", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Call: TypeAlias = tuple[str | None, ...]
"""The words of one simple command; None for a word that is only known at run time."""


def calls_of(commands: Sequence[str]) -> list[list[Call] | None]:
    """For each command the simple commands in it, in order; None where shfmt does not parse it.

    All are parsed at once, one below the other; where a statement reaches over the border between two, or anything is
    no script for shfmt, each is parsed alone.
    """
    spans: list[tuple[int, int]] = []
    at = 0
    for command in commands:
        size = len(command.encode()) + 1
        spans.append((at, at + size))
        at += size
    tree = _tree("".join(f"{command}\n" for command in commands))
    if tree is not None:
        found: list[list[Call] | None] = [[] for _ in commands]
        number = 0
        for statement in tree.get("Stmts") or []:
            start, end = statement["Pos"]["Offset"], statement["End"]["Offset"]
            while start >= spans[number][1]:
                number += 1
            mine = found[number]
            if end > spans[number][1] or mine is None:
                break
            mine += _calls(statement)
        else:
            return found
    if len(commands) == 1:
        return [None]
    middle = len(commands) // 2
    return [*calls_of(commands[:middle]), *calls_of(commands[middle:])]


def _tree(script: str) -> dict[str, Any] | None:
    done = subprocess.run([SHFMT or "shfmt", "--to-json"], input=script.encode(), capture_output=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def _calls(node: Any) -> list[Call]:
    """The simple commands below a node."""
    found: list[Call] = []
    match node:
        case {"Type": "CallExpr"}:
            if words := (*_no_assignments(node.get("Assigns", ())), *(_text(word) for word in node.get("Args", ()))):
                found.append(words)
        case {"Type": "DeclClause", "Variant": {"Value": str(name)}}:
            found.append((name,))
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for child in children:
        if isinstance(child, (dict, list)):
            found += _calls(child)
    return found


def _no_assignments(assigns: Sequence[dict[str, Any]]) -> list[str | None]:
    """The words from the first on that shfmt takes for an assignment and bash for the program: `]=1`, `1=1`.

    For shfmt a name may begin with any character, for bash with a letter or `_`.
    """
    names = [str(assign.get("Name", {}).get("Value", "")) for assign in assigns]
    first = next((at for at, name in enumerate(names) if not _NAME.fullmatch(name)), len(names))
    values = [_text(assign.get("Value", {})) for assign in assigns[first:]]
    return [value if value is None else f"{name}={value}" for name, value in zip(names[first:], values, strict=True)]


def _text(word: dict[str, Any]) -> str | None:
    """What a word says, or None when it holds an expansion."""
    out: list[str] = []
    for part in word.get("Parts", ()):
        match part:
            case {"Type": "Lit", "Value": str(text)}:
                out.append(re.sub(r"\\(\n|.)", lambda found: found[1].strip("\n"), text, flags=re.DOTALL))
            case {"Type": "SglQuoted", "Dollar": True}:
                out.append(decode_escapes(part.get("Value", "")))
            case {"Type": "SglQuoted"}:
                out.append(part.get("Value", ""))
            case {"Type": "DblQuoted"}:
                for inner in part.get("Parts", ()):
                    if inner.get("Type") != "Lit":
                        return None
                    out.append(re.sub(r'\\([$`"\\\n])', lambda found: found[1].strip("\n"), inner.get("Value", "")))
            case _:
                return None
    return "".join(out)
