"""Which rules could be remembered for a call: alternatives for each part of it, narrowest first.

Every suggestion is tried before it is made: read back from its text, it covers the very part that it came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from agent_sdk.config import RememberScope
from agent_sdk.errors import AgentSDKError
from agent_sdk.rules.bash import read_command
from agent_sdk.rules.domains import hosts
from agent_sdk.rules.escapes import INTERPRETERS, SHELLS
from agent_sdk.rules.matching import Reading, Rulebook
from agent_sdk.rules.rule import RuleSource, parse_rule
from agent_sdk.rules.secrets import holds_secret
from agent_sdk.rules.spelling import parts
from agent_sdk.updates import Destination, PermissionRule, PermissionUpdate

MOST_PARTS = 5
LONGEST = 300
"""Characters of a command that may be remembered: longer ones are one-off texts."""

DESTINATION: dict[RememberScope, Destination] = {
    "session": "session",
    "local": "localSettings",
    "project": "projectSettings",
    "user": "userSettings",
}

_ANY = "*"

# Commands that mean the same with whatever follows: they look at, build or test what the project holds. Options that
# would turn them into something else are in the table of escapes, and no wildcard covers these. Interpreters, shells,
# wrappers and package runners have no place here, nor has what can reach elsewhere (`git diff --no-index`).
_PREFIXES: tuple[tuple[str, ...], ...] = (
    *(("git", word) for word in ("status", "log", "show", "shortlog", "ls-files")),
    *((program, "test") for program in ("npm", "pnpm", "yarn")),
    *((program, "run", _ANY) for program in ("npm", "pnpm", "yarn")),
    *(("cargo", word) for word in ("build", "check", "test", "clippy")),
    *(("go", word) for word in ("build", "test", "vet")),
    ("pytest",),
    ("ls",),
    ("which",),
)


def suggest(reading: Reading, rules: Rulebook) -> list[PermissionUpdate]:
    """What could be remembered so that this call is not asked about again; `rules` are those in force.

    Only `addRules` of behaviour allow, for each part the narrowest first (`rung` 0, 1, …). Empty when nothing could be
    remembered safely: for questions, commands that are not understood, secrets, protected paths.
    """
    if reading.facts.interaction or reading.odd or reading.refused or reading.protected or reading.critical_removal:
        return []
    if reading.tool == "Bash":
        return _for_command(reading, rules)
    if reading.facts.writes is not None or reading.facts.reads is not None:
        return _for_path(reading)
    if reading.tool == "WebFetch":
        url = reading.input.get("url")
        host = hosts(url).plain if isinstance(url, str) else None
        return [] if host is None else _rungs([f"WebFetch(domain:{host})"], reading, "localSettings", host)
    kind = reading.input.get("subagent_type") if reading.tool in ("Agent", "Task") else None
    rule = f"{reading.tool}({kind})" if isinstance(kind, str) and kind else reading.tool
    return _rungs([rule], reading, "localSettings", rule)


def narrowest(suggestions: Iterable[PermissionUpdate], scope: RememberScope) -> tuple[PermissionUpdate, ...]:
    """What `remember=scope` saves: rung 0 of each part and nothing wider."""
    return tuple(update.at(DESTINATION[scope]) for update in suggestions if update.rung == 0)


def _rungs(texts: Sequence[str], reading: Reading, destination: Destination, covers: str) -> list[PermissionUpdate]:
    """An update for each rule that holds, and counts: the first must, or there is none."""
    found: list[PermissionUpdate] = []
    for text in texts:
        if _covers(text, reading):
            rule = PermissionRule.from_text(text)
            found.append(PermissionUpdate.add_rules([rule], destination=destination, rung=len(found), covers=covers))
        elif not found:
            return []
    return found


def _covers(text: str, reading: Reading) -> bool:
    """True when the rule, read from its text, allows the call by itself, and says the same when taken apart."""
    try:
        rule = parse_rule(text, "allow", RuleSource(scope="session", file=None, root=reading.place.cwd), 0)
        same = str(PermissionRule.from_text(text)) == text
    except AgentSDKError:
        return False
    return same and Rulebook([rule]).allow(reading) is not None


def _escaped(text: str) -> str:
    """The text as a pattern that fits nothing else."""
    return re.sub(r"([*\\()\[\]{}])", r"\\\1", text)


def simple_commands(command: str) -> list[tuple[str, ...]] | None:
    """The words of each simple command; `None` when the command cannot be understood as a list of plain ones."""
    found = []
    for piece in re.split(r"&&|\|\||\||;|\n", command):
        if not piece.strip():
            continue
        words = read_command(piece).plain_words
        if words is None:
            return None
        found.append(words)
    return found or None


def _for_command(reading: Reading, rules: Rulebook) -> list[PermissionUpdate]:
    command = reading.input.get("command")
    commands = simple_commands(command) if isinstance(command, str) else None
    if commands is None or holds_secret(str(command)):
        return []
    found: list[PermissionUpdate] = []
    asked = 0
    for words in dict.fromkeys(commands):
        text = " ".join(words)
        part = Reading("Bash", {"command": text}, reading.facts, reading.place, registry=reading.registry)
        if rules.allow(part) is not None or _runs_its_input(words):
            continue
        asked += 1
        if len(text) <= LONGEST:
            texts = [f"Bash({_escaped(text)})", *(f"Bash({_escaped(prefix)} *)" for prefix in _prefix(words))]
            found += _rungs(texts, part, "localSettings", text)
    return found if asked <= MOST_PARTS else []


def _runs_its_input(words: Sequence[str]) -> bool:
    """True for `… | sh` and the like: the words stay the same while what runs does not."""
    program = words[0].rpartition("/")[2]
    if program in ("xargs", "parallel"):
        return True
    if program not in SHELLS and program.rstrip("0123456789.") not in INTERPRETERS and program not in INTERPRETERS:
        return False
    return all(word.startswith("-") for word in words[1:]) or "-s" in words or "/dev/stdin" in words


def _prefix(words: Sequence[str]) -> list[str]:
    for known in _PREFIXES:
        start = words[: len(known)]
        if len(start) == len(known) and all(
            want in (_ANY, word) and not word.startswith("-") for want, word in zip(known, start, strict=True)
        ):
            return [" ".join(start)]
    return []


def _for_path(reading: Reading) -> list[PermissionUpdate]:
    """The file by its absolute path, then its folder. For the session: files come and go."""
    tool = "Edit" if reading.facts.writes is not None else "Read"
    paths = reading.writes if tool == "Edit" else reading.reads
    if len(paths) != 1:
        return []
    path = paths[0]
    texts = [f"{tool}(/{_path_pattern(path.absolute)})"]
    folder = path.absolute.rpartition("/")[0]
    if _may_be_opened(folder, reading):
        texts.append(f"{tool}(/{_path_pattern(folder)}/**)")
    return _rungs(texts, reading, "session", path.absolute)


def _path_pattern(path: str) -> str:
    return re.sub(r"([*?\\\[\]])", r"\\\1", path)


def _may_be_opened(folder: str, reading: Reading) -> bool:
    """False for folders that hold too much: the root, what lies right below it, and whatever holds the home folder."""
    names = parts(folder)
    return len(names) > 1 and all(
        home[: len(names)] != names for home in reading.ground.spellings(reading.place.files.home)
    )
