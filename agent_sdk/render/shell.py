"""Takes a plain command line apart for people, as it is written: its commands, the files it redirects to and from.

Decides nothing. The rules go by `rules.shell`, which has no use for how a thing was written; the two must agree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from agent_sdk.rules.shell import read_command

LONGEST = 5_000
MOST_STEPS = 30

_TOO_MUCH = re.compile(r"`|\$[('{]|<<|[()]|\\\n|(?:^|[\s;&|])(?:[{}!]|\[\[|#)")
_KEPT = re.compile(r"""\\[^\n]|'[^']*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_KEYWORDS = re.compile(r"(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|function|select|time|coproc)\b")
_TOKEN = re.compile(
    r"""(?P<operator>&&|\|\||\|&|;|\||&(?![>&])|\n)"""
    r"""|(?P<redirect>(?:\d+|&)?(?:>>|>\||>&|>|<>|<&|<))"""
    r"""|(?P<blank>[ \t]+)"""
    r"""|(?P<word>(?:[^\s;&|<>'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+)"""
)


@dataclass(slots=True)
class Apart:
    """What a command line is made of. `steps` are its commands as written, `writes` and `reads` redirection targets."""

    steps: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)


def take_apart(command: str) -> Apart | None:
    """The commands of a plain line, in order; `None` for anything with substitutions, loops, groups or here-documents,
    for what is very long, and where the reading that rules go by finds another number of commands.
    """
    if len(command) > LONGEST or "$'" in command or _TOO_MUCH.search(_without_quotes(command)):
        return None
    apart = Apart()
    start = place = 0
    redirect: str | None = None
    while place < len(command):
        found = _TOKEN.match(command, place)
        if found is None:
            return None
        if found.lastgroup == "operator":
            apart.steps.append(command[start:place].strip())
            start = found.end()
            redirect = None
        elif found.lastgroup == "redirect":
            redirect = found[0]
        elif found.lastgroup == "word" and redirect is not None:
            _note(apart, redirect, found[0])
            redirect = None
        place = found.end()
    apart.steps.append(command[start:].strip())
    apart.steps = [step for step in apart.steps if step]
    if len(apart.steps) > MOST_STEPS or any(map(_KEYWORDS.match, apart.steps)):
        return None
    return apart if len(apart.steps) == len(read_command(command).script.commands) else None


def _without_quotes(command: str) -> str:
    """The line with everything blanked that quotes and backslashes keep from the shell. What double quotes do not keep
    from it stands there as a backtick.
    """
    return _KEPT.sub(_blanked, command)


def _blanked(found: re.Match[str]) -> str:
    text = found[0]
    open_to_shell = text.startswith('"') and ("`" in text or "$(" in text or "${" in text)
    return "`" if open_to_shell else "_" * len(text)


def _note(apart: Apart, redirect: str, target: str) -> None:
    if target == "/dev/null" or (redirect.endswith("&") and (target.isdigit() or target == "-")):
        return
    (apart.reads if redirect.lstrip("0123456789").startswith("<") else apart.writes).append(target)
