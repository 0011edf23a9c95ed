"""Calls that stand for all that a rule may cover: its wildcards are filled with names that nobody else writes.

What covers every probe of a rule covers, in practice, whatever the rule covers.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_sdk.rules.bash_pattern import ASSIGNED, BARE, QUOTED, SEPARATOR, compile_bash
from agent_sdk.rules.facts import known_facts
from agent_sdk.rules.globs import AnyChar, CharClass, Literal, Token
from agent_sdk.rules.paths import PathPattern, Segment, compile_pattern
from agent_sdk.rules.reading import Place, Reading
from agent_sdk.rules.rule import PATH_RULES, Rule
from agent_sdk.values import JsonObject

FILLER, OTHER = "zq7x", "zq8x"
MORE_WORDS = (f"{FILLER} {OTHER}", f"s/a/b/ {FILLER}")
"""What else may stand behind the words of a Bash rule, for programs that take no plain name there."""

_FOLDER = f"/{FILLER}/{OTHER}"
_CHARACTERS = "zaZA09_-. !#%&+,:;=@^"


@dataclass(frozen=True, slots=True)
class Probe:
    """One call."""

    tool: str
    input: JsonObject

    def reading(self, place: Place) -> Reading:
        """The call as the rules see it."""
        return Reading(self.tool, self.input, known_facts(self.tool), place)


def probes(rule: Rule, place: Place) -> tuple[Probe, ...]:
    """Calls for a rule, two at most for each reading of it; none when no call can be made up for it."""
    if rule.specifier is None:
        return (_of_tool(rule.tool),)
    found: list[Probe] = []
    match rule.tool:
        case "Bash":
            found += [Probe("Bash", {"command": command}) for command in commands(rule)]
        case tool if tool in PATH_RULES:
            name = "Read" if tool == "Read" else "Write"
            found += [Probe(name, {"file_path": path}) for path in _paths(compile_pattern(rule), place)]
        case "WebFetch" if rule.specifier.startswith("domain:"):
            host = rule.specifier.removeprefix("domain:").strip()
            host = f"{FILLER}.{OTHER}" if host == "*" else host.replace("*", FILLER)
            found.append(Probe("WebFetch", {"url": f"https://{host}/"}))
        case "Agent" | "Task" as tool:
            found.append(Probe(tool, {"subagent_type": rule.specifier.replace("*", FILLER)}))
    if rule.behavior != "allow" and rule.parameter is not None and not found:
        name, value = rule.parameter
        found.append(Probe(rule.tool, {name: value.replace("*", FILLER)}))
    return tuple(found)


def commands(rule: Rule, more: Sequence[str] = (FILLER,)) -> list[str]:
    """Commands that the pattern of a Bash rule fits, each one with `more` behind it where it ends in ` *`.

    Empty for a pattern that fits none, or only commands that hold operators or what is known at run time.
    """
    pattern = compile_bash(rule.specifier or "", wide=rule.behavior != "allow")
    if pattern is None or pattern.operators:
        return []
    line = FILLER.join(pattern.pieces)
    if BARE in line or QUOTED in line:
        return []
    command = " ".join(_quoted(word) for word in line.split(SEPARATOR))
    return [command, *(f"{command} {words}" for words in more if pattern.tail)]


def _quoted(word: str) -> str:
    """A word of a pattern as bash takes it."""
    if not word.startswith(ASSIGNED):
        return shlex.quote(word)
    name, _, value = word.removeprefix(ASSIGNED).partition("=")
    return f"{name}={shlex.quote(value) if value else ''}"


def _of_tool(tool: str) -> Probe:
    """A call of a whole tool, or of one tool of a server."""
    facts = known_facts(tool)
    field = facts.writes or facts.reads
    if field is not None:
        return Probe(tool, {field: _FOLDER})
    match tool:
        case "Bash":
            return Probe(tool, {"command": FILLER})
        case "WebFetch":
            return Probe(tool, {"url": f"https://{FILLER}.{OTHER}/"})
        case "Agent" | "Task":
            return Probe(tool, {"subagent_type": FILLER})
    name = tool.replace("*", FILLER)
    return Probe(f"{name}__{FILLER}" if name.startswith("mcp__") and "__" not in name[5:] else name, {})


def _paths(pattern: PathPattern, place: Place) -> Iterator[str]:
    """A path for the shortest and one for a longer reading of every `**`."""
    match pattern.anchoring[0]:
        case "filesystem":
            base = ""
        case "home":
            base = place.files.home
        case "source":
            base = pattern.rule.source.root
        case "cwd":
            base = place.cwd
    for deep in ((), (FILLER, OTHER)):
        names: list[str] = []
        for segment in pattern.segments:
            filled = deep if segment is None else _filled(segment)
            if filled is None:
                return
            names += filled
        if pattern.folder:
            names.append(FILLER)
        yield f"{base.rstrip('/')}/{'/'.join(names)}"


def _filled(segment: Segment) -> tuple[str, ...] | None:
    """A name that fits the segment, or `None` when there is none."""
    if segment.text is not None:
        return (segment.text,)
    chars = [_character(token) for token in segment.tokens]
    if any(char is None for char in chars):
        return None
    return ("".join(char for char in chars if char is not None),)


def _character(token: Token) -> str | None:
    match token:
        case Literal(char):
            return char
        case AnyChar():
            return "z"
        case CharClass():
            ranges = "".join(low for low, _ in token.ranges)
            return next((char for char in ranges + _CHARACTERS if token.holds(char)), None)
        case _:
            return FILLER
