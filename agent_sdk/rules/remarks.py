"""What people should know of one rule by itself: it covers nothing, more than one thinks, or something else."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from agent_sdk.rules.bash_pattern import ASSIGNED, BashPattern, compile_bash
from agent_sdk.rules.facts import misnamed
from agent_sdk.rules.matching import Place, Rulebook
from agent_sdk.rules.probes import MORE_WORDS, Probe, commands, probes
from agent_sdk.rules.rule import PATH_RULES, Rule
from agent_sdk.rules.spelling import hidden
from agent_sdk.rules.wrappers import INTERPRETERS, SHELLS

_WIDE = {
    "Bash": "lets every command run without a question",
    "Write": "lets every file be written without a question",
    "Edit": "lets every file be written without a question",
    "WebFetch": "lets anything be fetched from, and told to, any host",
}
_RUNNERS = frozenset({
    ("npx",), ("bunx",), ("uvx",), ("pnpx",), ("pipx", "run"), ("pnpm", "dlx"), ("yarn", "dlx"), ("uv", "run"),
    ("docker", "run"), ("docker", "exec"), ("podman", "run"), ("podman", "exec"), ("kubectl", "exec"), ("ssh",),
})  # fmt: skip
"""Programs whose operands name another program."""

_WHOLE_DISK = re.compile(r"(//|~/)(\*\*/?)*\*{0,2}")
_TOP_FOLDERS = frozenset(
    ["bin", "boot", "dev", "etc", "home", "lib", "lib64", "media", "mnt", "opt", "private", "proc", "root", "run"]
) | {"sbin", "srv", "sys", "tmp", "usr", "var", "Users", "Volumes"}
_TOP_LEVEL = re.compile(r"\*\.[a-z]{2,}|\*\.(co|com|org|net|ac|gov)\.[a-z]{2}")


def remarks(rule: Rule, place: Place) -> Iterator[str]:
    """What is odd about the rule, each as the end of a sentence that begins with it."""
    yield from _look_alikes(rule)
    if rule.tool in PATH_RULES and rule.specifier is not None:
        yield from _path_words(rule.specifier)
    if rule.behavior == "allow":
        nothing = _covers_nothing(rule, place)
        yield from nothing or _too_wide(rule)
    elif rule.tool == "Bash" and rule.specifier is not None:
        yield from _dodged(rule)


# --- look-alikes ------------------------------------------------------------------------------------


def _look_alikes(rule: Rule) -> Iterator[str]:
    """Names and letters that look like others."""
    if (remark := misnamed(rule.tool)) is not None:
        yield remark
    elif re.match(r"mcp[_\-]", rule.tool, re.IGNORECASE) and not rule.tool.startswith("mcp__"):
        yield "names no tool of a server: such names begin with mcp__, as in mcp__server__tool"
    if hidden(rule.text):
        yield "holds characters that nobody sees"
    if mixed := _mixed_words(rule.text):
        yield f"holds letters that only look like Latin ones, in {mixed[0]!r}"


def _mixed_words(text: str) -> list[str]:
    """The words in which letters of another script stand beside Latin ones."""
    return [word for word in re.findall(r"\w+", text) if not word.isascii() and len(_scripts(word)) > 1]


def _scripts(word: str) -> set[str]:
    names = {unicodedata.name(char, "").split(" ")[0] for char in word if char.isalpha()}
    return names & {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "FULLWIDTH"}


# --- paths --------------------------------------------------------------------------------------------


def _path_words(pattern: str) -> Iterator[str]:
    """Spellings that mean something in other programs."""
    first = pattern[1:].partition("/")[0]
    if pattern.startswith("/") and not pattern.startswith("//") and first in _TOP_FOLDERS:
        yield f"begins at the folder of its settings source, not at the root: write /{pattern} for /{first}"
    if re.match(r"\$\{?[A-Za-z_]|%[A-Za-z_]+%", pattern):
        yield "holds a variable, which is taken literally: write ~/ for the home folder, or the whole path"
    if re.match(r"~[^/]", pattern):
        yield "begins with ~ and a name, which is taken literally: write the whole path, beginning with //"
    if re.match(r"[A-Za-z][A-Za-z0-9+.\-]+:/", pattern):
        yield "is a URL: write the path alone"


# --- allow: nothing, or too much ----------------------------------------------------------------------


def _covers_nothing(rule: Rule, place: Place) -> list[str]:
    """Why an allow rule can never count: no call that it was written for is covered."""
    if rule.specifier is None:
        return []
    if rule.tool == "Bash":
        return _bash_covers_nothing(rule, place)
    if rule.tool in ("Agent", "Task") and "*" in rule.specifier:
        return ["covers only an agent of this very name: in allow '*' is a letter here"]
    made = probes(rule, place)
    if rule.tool in PATH_RULES and not _any_allowed(rule, made, place):
        why = next((reading.protected for probe in made if (reading := probe.reading(place)).protected), None)
        return [f"can never count: {why or 'no path fits it'}"]
    return []


def _bash_covers_nothing(rule: Rule, place: Place) -> list[str]:
    pattern = compile_bash(rule.specifier or "", wide=False)
    if pattern is None:
        return ["can never count: it names no command"]
    if pattern.operators:
        return ["can never count: a rule covers one command, without operators and redirections. Write one for each"]
    made = [Probe("Bash", {"command": command}) for command in commands(rule)]
    if not made or _any_allowed(rule, made[-1:], place):
        return []
    tried = [Probe("Bash", {"command": command}) for command in commands(rule, MORE_WORDS)[1:]]
    if _any_allowed(rule, tried, place):
        return []
    if pattern.exact:
        return ["can never count: not even the command that it spells is covered, since it always needs a person"]
    if not pattern.tail:
        return []
    return ["covers hardly anything behind its words: spell out the program or the options that it is to run"]


def _any_allowed(rule: Rule, made: list[Probe] | tuple[Probe, ...], place: Place) -> bool:
    book = Rulebook([rule])
    return any(book.allow(probe.reading(place)) is not None for probe in made)


def _too_wide(rule: Rule) -> Iterator[str]:
    if rule.specifier is None:
        if rule.tool in _WIDE:
            yield _WIDE[rule.tool]
        return
    match rule.tool:
        case "Bash" if (pattern := compile_bash(rule.specifier, wide=False)) is not None and not pattern.exact:
            yield from _wide_command(pattern)
        case "Read" if _WHOLE_DISK.fullmatch(rule.specifier):
            yield "lets every file there be read, keys and passwords included"
        case "Edit" | "Write" if _WHOLE_DISK.fullmatch(rule.specifier):
            yield "lets nearly every file there be written without a question"
        case "WebFetch" if _host(rule) == "*":
            yield _WIDE["WebFetch"]
        case "WebFetch" if _TOP_LEVEL.fullmatch(_host(rule)):
            yield "lets hosts of anybody be fetched from: everyone can have a name below it"


def _host(rule: Rule) -> str:
    return (rule.specifier or "").removeprefix("domain:").strip().lower()


def _wide_command(pattern: BashPattern) -> Iterator[str]:
    words = pattern.first_words(pattern.spelled)
    plain = tuple(word for word in words if not word.startswith(ASSIGNED))
    program = plain[0] if plain else ""
    bare = program.rpartition("/")[2].rstrip("0123456789.")
    if not plain:
        yield "lets any program run: no word of it is spelled out"
    elif len(plain) == 1 and (bare in SHELLS or bare in INTERPRETERS):
        yield f"lets any program run: {program} takes one as its argument"
    elif plain in _RUNNERS:
        yield f"lets any program run: {' '.join(plain)} takes one as its argument"


# --- deny and ask: easily dodged ------------------------------------------------------------------------


def _dodged(rule: Rule) -> Iterator[str]:
    """Rules that hold for one spelling of a command only."""
    pattern = compile_bash(rule.specifier or "", wide=True)
    if pattern is None or pattern.operators:
        return
    words = pattern.first_words(pattern.spelled)
    option = next((place for place, word in enumerate(words) if place and word.startswith("-")), None)
    if option is not None:
        program = " ".join(words[:option])
        yield f"reads {words[option]} as text, and other spellings are not covered: Bash({program}:*) covers them all"
    elif rule.behavior == "deny" and pattern.exact and len(words) == 1:
        yield f"covers {words[0]} without arguments only: write Bash({words[0]}:*) for the program"
