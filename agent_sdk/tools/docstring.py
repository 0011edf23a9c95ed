"""What a docstring says for the model: what a function is for, and what each parameter means."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_SECTION = re.compile(r"(Args|Arguments|Parameters|Params|Returns?|Yields?|Raises|Examples?|Notes?|Todo):\s*$")
_PARAMETERS = ("Args:", "Arguments:", "Parameters:", "Params:")
_GOOGLE = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_SPHINX = re.compile(r":(?:param|parameter|arg)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)")


@dataclass(frozen=True, slots=True)
class Documentation:
    """`summary`: the paragraphs before the first section. `parameters`: name to description, each on one line."""

    summary: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Documentation:
    """Read a docstring in Google style (`Args:`) or Sphinx style (`:param name: …`). Never raises."""
    lines = inspect.cleandoc(text or "").splitlines()
    end = next((i for i, line in enumerate(lines) if _SECTION.match(line) or line.startswith(":")), len(lines))
    summary = "\n".join(line.rstrip() for line in lines[:end]).strip()
    return Documentation(summary, _google(lines[end:]) | _sphinx(lines[end:]))


def _google(lines: list[str]) -> dict[str, str]:
    """The entries below `Args:`: the indent of the first one is that of all, deeper lines go on with the last."""
    start = next((i for i, line in enumerate(lines) if line.rstrip() in _PARAMETERS), None)
    if start is None:
        return {}
    section: list[str] = []
    for line in lines[start + 1 :]:
        if line.strip() and not line[0].isspace():
            break
        section.append(line)
    return _entries(inspect.cleandoc("\n" + "\n".join(section)).splitlines(), _GOOGLE)


def _sphinx(lines: list[str]) -> dict[str, str]:
    return _entries(lines, _SPHINX)


def _entries(lines: Iterable[str], pattern: re.Pattern[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        if match := pattern.match(line):
            current = found.setdefault(match[1], [])
            current.append(match[2].strip())
        elif line[:1].isspace():
            current.append(line.strip())
        else:
            current = []
    return {name: text for name, words in found.items() if (text := " ".join(filter(None, words)))}
