"""What the words of one call of a program say by themselves: its lines for patterns, and whether it runs others.

Mere text, so it is worked out once for calls that stand in many command lines, such as `cd src` or `tail -5`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from agent_sdk.rules.argv import Argv
from agent_sdk.rules.bash_pattern import SEPARATOR, fold_name
from agent_sdk.rules.escapes import escapes, program_of, text_operands
from agent_sdk.rules.late_text import CALLBACKS, SETTERS
from agent_sdk.rules.shell_nodes import Word
from agent_sdk.rules.wrappers import LOADERS, RUNNERS, STDIN_SHELLS, WRAPPERS, git_subcommand

SUBSCRIPTS = frozenset(
    [
        *("test", "[", "[[", "printf", "read", "let", "declare", "typeset", "local", "export", "readonly", "unset"),
        *("mapfile", "readarray", "wait", "getopts"),
    ]
)
"""Builtins that expand subscripts in their words."""
LAUNCHERS = frozenset(
    ["tmux", "screen", "xterm", "gnome-terminal", "konsole", "start-stop-daemon", "daemonize", "hash", "jobs"]
) | {"sem", "bwrap"}
"""Programs with operands of their own before the command that they start."""
AWKS = frozenset(["awk", "gawk", "mawk", "nawk"])
MAX_LAUNCHED = 12
"""So many words are looked at for a command that they may begin."""

_FOLLOWED = frozenset(
    [*SUBSCRIPTS, "((", *AWKS, "sed", "alias", "fc", "tee", "crontab", "source", ".", "find", "fd", "fdfind", "git"]
).union(["trap"], SETTERS, CALLBACKS, STDIN_SHELLS, LAUNCHERS, WRAPPERS, RUNNERS)
"""Programs whose words are looked into for other programs and texts; so are the loaders, `ld-…`."""
_RUNS = frozenset(["runs", "run", "names", "command", "commands", "program", "programs", "configured"])
_SED_VALUES = frozenset("efil")
_AWK_VALUES = frozenset("vFefiIlEW")
_MAX_WORDS = 5_000  # as many as a line within the limits can have


@dataclass(slots=True)  # not frozen, though never changed: it is made for every new call
class ProgramCall:
    """One call. `lines` is what patterns are held against, `ordinary` true when it is certain that it runs no other."""

    lines: tuple[str, ...]
    ordinary: bool


@lru_cache(maxsize=1024)
def program_call(words: tuple[str, ...]) -> ProgramCall:
    """What the words say, the name of the program first. There must be one."""
    name, rest = words[0], words[1:]
    base = fold_name(name.rstrip("/").rpartition("/")[2])
    lines = [SEPARATOR.join((base, *rest))]
    if "/" in name:
        lines.append(SEPARATOR.join((fold_name(name), *rest)))
    if base == "git" and len(rest) > 1 and rest[0].startswith("-"):
        lines.append(SEPARATOR.join((base, *words[git_subcommand(words) :])))
    return ProgramCall(tuple(lines), _is_ordinary(words))


def _is_ordinary(words: tuple[str, ...]) -> bool:
    """True for a program that runs no other one, whatever its name is taken for, and with these words."""
    written = words[0]
    name = fold_name(written)
    if name in _FOLLOWED or name.startswith(LOADERS) or "/" in name or "=" in name or not written.isascii():
        return False
    base, program = program_of(written)
    return program is None or (base not in _FOLLOWED and not any(commands_in_options(words)))


def commands_in_options(words: tuple[str, ...]) -> Iterator[str]:
    """Commands in the values of options that the escape table knows: `tar --to-command=x`, `rsync -e x`."""
    program = program_of(words[0])[1]
    if program is None or program.interpreter or program.text:
        return
    for hit in escapes(words[:_MAX_WORDS]):
        if hit.first == 0 or _RUNS.isdisjoint(hit.why.split()):
            continue
        plain = 0
        for word in words[hit.first : min(hit.last + 1, hit.first + MAX_LAUNCHED)]:
            plain += not word.startswith("-")
            short = word[2:] if word.startswith("-") and not word.startswith("--") else ""
            texts = (text.lstrip("!:+") for text in (word, short, *word.split("=")[1:]))
            yield from (text for text in texts if plain <= 2 and text and not text.startswith("-"))


def program_texts(argv: Argv, *, sed: bool) -> tuple[list[tuple[int, int]], bool]:
    """Where sed or awk take their program from, as `text_operands` says it, and whether all of it can be seen.

    It cannot when such a word is only known at run time, or when a word before it may become more words or an option
    that holds a program. Operands behind it count as names of files, whatever they hold.
    """
    count = len(argv.words)
    if not any(origin.marks or origin.glob >= 0 for origin in argv.origins):
        return text_operands(argv.words, sed=sed), True
    spans = text_operands(argv.written, sed=sed)
    programs = [index for index, _ in spans]
    first = min(programs, default=count)
    seen = not any(argv.hidden(index) or argv.origins[index].glob >= 0 for index in programs)
    for index in range(1, count):
        if argv.hidden(index):
            word = argv.origins[index]
            splits = index < first and any(not mark.quoted for mark in word.marks)
            seen = seen and not (splits or _may_give_program(word, _SED_VALUES if sed else _AWK_VALUES))
    return spans, seen


def _may_give_program(word: Word, values: frozenset[str]) -> bool:
    """True for an option whose name is only known at run time: `-$x`, `--$x`. A value behind the name is none."""
    head = word.text[: word.marks[0].start]
    if head.startswith("--"):
        return "=" not in head
    return head.startswith("-") and values.isdisjoint(head)
