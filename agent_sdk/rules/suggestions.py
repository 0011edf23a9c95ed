"""Which rules could be remembered for a call: alternatives for each part of it, narrowest first.

Every suggestion is tried before it is made: read back from its text, it covers the very part that it came from.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

from agent_sdk.config import RememberScope
from agent_sdk.errors import AgentSDKError
from agent_sdk.rules.bash_pattern import exact_specifier
from agent_sdk.rules.domains import hosts
from agent_sdk.rules.matching import Reading, Rulebook
from agent_sdk.rules.rule import RuleSource, parse_rule
from agent_sdk.rules.secrets import holds_secret
from agent_sdk.rules.shell import read_command
from agent_sdk.rules.shell_nodes import SimpleCommand
from agent_sdk.rules.spelling import parts
from agent_sdk.rules.wrappers import INTERPRETERS, SHELLS
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
    rule = reading.tool
    if rule in ("Agent", "Task"):
        kind = reading.input.get("subagent_type")
        if not isinstance(kind, str) or not kind:
            return []  # a rule for it would cover agents of every kind
        rule = f"{rule}({kind})"
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


def simple_commands(command: str) -> tuple[SimpleCommand, ...]:
    """The simple commands of a line; empty when it is not understood, or holds what is never remembered."""
    reading = read_command(command)
    if not reading.plain or any(redirect.body for one in reading.script.commands for redirect in one.redirects):
        return ()
    return tuple(one for one in reading.script.commands if one.words)


def _as_typed(command: SimpleCommand) -> str | None:
    """The command alone as a line; `None` when only the shell knows what it will be."""
    pieces: list[str] = []
    for word in (*command.assigns, *command.words):
        if word.dynamic or word.tilde or (word.glob >= 0 and word.quoted):
            return None
        is_assignment = word in command.assigns and not word.quoted
        pieces.append(word.text if word.glob >= 0 or is_assignment else shlex.quote(word.text))
    return " ".join(pieces)


def _for_command(reading: Reading, rules: Rulebook) -> list[PermissionUpdate]:
    command = reading.input.get("command")
    if not isinstance(command, str) or holds_secret(command):
        return []
    found: list[PermissionUpdate] = []
    asked = 0
    for one in dict.fromkeys(simple_commands(command)):
        text, exact = _as_typed(one), exact_specifier(one.words, one.assigns)
        if text is None or exact is None:
            return []
        part = Reading("Bash", {"command": text}, reading.facts, reading.place, registry=reading.registry)
        words = [word.text for word in one.words]
        if rules.allow(part) is not None or _runs_its_input(words):
            continue
        asked += 1
        if len(text) <= LONGEST:
            prefixes = [] if one.assigns else _prefix(words)
            texts = [f"Bash({exact})", *(f"Bash({_escaped(prefix)} *)" for prefix in prefixes)]
            found += _rungs(texts, part, "localSettings", text)
    return found if asked <= MOST_PARTS and _will_do(found, reading, rules) else []


def _will_do(found: Sequence[PermissionUpdate], reading: Reading, rules: Rulebook) -> bool:
    """False for a line with redirections that the narrowest rules would not spare a prompt: they cover no file."""
    script = read_command(str(reading.input.get("command"))).script
    if not any(one.redirects for one in script.commands):
        return True
    source = RuleSource(scope="session", file=None, root=reading.place.root or reading.place.cwd)
    texts = [str(rule) for update in found if update.rung == 0 for rule in update.rules]
    added = [parse_rule(text, "allow", source, place) for place, text in enumerate(texts)]
    return rules.with_rules(added).allow(reading) is not None


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
