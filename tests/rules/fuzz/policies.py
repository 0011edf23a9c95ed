"""The rules that the fuzzer holds commands against, and what must be true of a command that they allow."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_sdk.rules.deny_readings import deny_readings
from agent_sdk.rules.files import OsFiles
from agent_sdk.rules.matching import Place, Reading, Rulebook, known_facts
from agent_sdk.rules.rule import RuleSource, read_rules
from agent_sdk.rules.shell import read_command
from agent_sdk.rules.shell_nodes import SimpleCommand, Word
from tests.rules.fuzz.real import Scratch, rejected_by_bash
from tests.rules.fuzz.shfmt import SHFMT, Call, calls_of

Kind: TypeAlias = Literal["scoped", "denied"]

_HIDDEN = re.compile("[\0-\x08\x0b-\x1f\x7f\u200b\u202e\ufeff\ud800-\udfff]")
# shfmt takes `""#` for a comment, and a tab and `$-E` in `<<-E` for the end; bash does not.
_MISREAD_BY_SHFMT = re.compile(r"""["']#|<<-.*\n\t+\$""", re.DOTALL)
_BUILTINS = ["echo", "printf", "test", "[", "cd", "pwd", "true"]
_MAX_SECONDS = 1.0
_DECLARES = frozenset(["declare", "typeset", "local", "export", "readonly", "nameref"])
_WRAPPERS = frozenset(["time", "nice", "timeout", "command", "nohup", "stdbuf", "builtin", "xargs", "env"])

POLICIES: dict[str, tuple[Kind, list[str], list[str]]] = {
    "prefix": ("scoped", ["Bash(ok:*)"], []),
    "exact": ("scoped", ["Bash(ok)", "Bash(ok a)", "Bash(ok 'x y')", "Bash(ok --flag=5)", "Bash(ok 'x y' a)"], []),
    "wildcards": ("scoped", ["Bash(ok*)", "Bash(ok * a)", "Bash(ok --flag=* b.txt)", "Bash(nice -n 5 ok *)"], []),
    "builtins": ("scoped", ["Bash(ok *)", *(f"Bash({name}:*)" for name in _BUILTINS)], []),
    "spelled": (
        "scoped",
        ["Bash(ok:*)", "Bash(A=1 ok:*)", "Bash(xargs ok:*)", "Bash(env A=1 ok:*)", "Bash(read:*)", "Bash(echo *)"],
        [],
    ),
    "denied": ("denied", ["Bash"], ["Bash(evil:*)"]),
}
"""Name, what is checked, allow rules, deny rules. Of all programs only `ok` is allowed, or all but `evil`."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A command that broke a promise: `oracle` says which one, `detail` how."""

    oracle: str
    policy: str
    command: str
    detail: str


class Policy:
    """One set of rules, judged in the working directory of a scratch folder."""

    def __init__(self, name: str, scratch: Scratch) -> None:
        self.name = name
        self.kind, allow, deny = POLICIES[name]
        self.scratch = scratch
        source = RuleSource("options", None, str(scratch.work))
        self._book = Rulebook([*read_rules(allow, "allow", source)[0], *read_rules(deny, "deny", source)[0]])
        self._place = Place(str(scratch.work), files=OsFiles(home=str(scratch.home)))

    def allows(self, command: str) -> bool:
        """True when the rules allow the command without asking. Raises whatever the engine raises."""
        call = Reading("Bash", {"command": command}, known_facts("Bash"), self._place)
        return self._book.deny(call) is None and self._book.allow(call) is not None

    def judge(self, command: str) -> tuple[bool, Finding | None]:
        """Whether the command is allowed, and what was wrong with judging it."""
        started = time.process_time()
        try:
            allowed = self.allows(command)
        except Exception as error:
            return False, Finding("raises", self.name, command, repr(error))
        spent = time.process_time() - started
        if spent > _MAX_SECONDS:
            return allowed, Finding("slow", self.name, command, f"{spent:.1f} s")
        if allowed and _HIDDEN.search(command):
            return allowed, Finding("hidden", self.name, command, "holds a hidden character")
        return allowed, None

    def check(self, commands: Sequence[str], counts: Counter[str]) -> list[Finding]:
        """What is wrong with commands that were allowed: bash's parser, shfmt and bash itself say."""
        found: list[Finding] = []
        seen = calls_of(commands) if SHFMT else [None] * len(commands)
        for command, rejected, calls in zip(commands, rejected_by_bash(commands), seen, strict=True):
            if rejected and self.kind == "scoped":
                found.append(Finding("syntax", self.name, command, "bash -n finds fault with it"))
            if calls is not None and not _MISREAD_BY_SHFMT.search(command):
                counts["compared with shfmt"] += 1
                missing = _missing(command, calls) if self.kind == "scoped" else _missing_names(command, calls)
                if missing:
                    found.append(Finding("shfmt", self.name, command, f"shfmt also sees {missing[:3]}"))
            counts["run in bash"] += 1
            found += self._run(command, counts)
        return found

    def _run(self, command: str, counts: Counter[str]) -> Iterable[Finding]:
        ran = self.scratch.run(command)
        counts["ran into the time limit"] += ran.timed_out
        counts["programs that ran"] += len(ran.programs)
        if self.kind == "denied":
            if "evil" in ran.names:
                yield Finding("ran", self.name, command, "evil ran")
            return
        others = ran.names - {"ok"}
        if others:
            yield Finding("ran", self.name, command, f"{sorted(others)} ran")
        if ran.changed:
            yield Finding("changed", self.name, command, f"{sorted(ran.changed)[:4]} changed")
        if ran.syntax_error:
            yield Finding("syntax", self.name, command, ran.errors[:200])
        patterns = [pattern for each in read_command(command).script.commands for pattern in _argvs(each)]
        for words in ran.programs:
            if not any(_fits(pattern, words) for pattern in patterns):
                yield Finding("words", self.name, command, f"ran {words!r}, which is not what was read")


def _missing(command: str, calls: Sequence[Call]) -> list[Call]:
    """The calls of shfmt that our reading lacks, each of ours counted once; the `cat` of a commit idiom is none."""
    ours = [
        [word.text if word.static else None for word in each.words] for each in read_command(command).script.commands
    ]
    missing = []
    idioms = command.count("$(cat <<")
    for call in calls:
        if call == ("cat",) and idioms:
            idioms -= 1
            continue
        found = next((at for at, words in enumerate(ours) if _same(call, words) or _same(call, _timed(words))), None)
        if found is None:
            missing.append(call)
        else:
            del ours[found]
    return missing


def _timed(words: list[str | None]) -> list[str | None]:
    """The words behind the keyword `time` and its options, which is no program for shfmt."""
    if words[:1] != ["time"]:
        return words
    start = 1
    while words[start : start + 1] in (["-p"], ["--"], ["time"]):
        start += 1
    return words[start:]


def _same(call: Call, words: Sequence[str | None]) -> bool:
    if call[0] in _DECLARES:
        return words[:1] == [call[0]]
    return len(call) == len(words) and all(
        theirs is None or mine is None or theirs == mine for theirs, mine in zip(call, words, strict=True)
    )


def _missing_names(command: str, calls: Sequence[Call]) -> list[Call]:
    """The calls whose program is known to shfmt and to no reading for deny."""
    readings = deny_readings(read_command(command))
    names = {argv.words[0] for argv in readings.argvs} | ({"cat"} if "$(cat <<" in command else set())
    return [call for call in calls if call[0] and call[0].isalnum() and call[0] not in names]


def _argvs(command: SimpleCommand) -> Iterable[tuple[Word | None, ...]]:
    """What programs may get of a command that was read: its words, from any program name on; None for any words."""
    words = command.words
    for at in range(len(words)):
        appended = any(word.text == "xargs" for word in words[:at])
        if at == 0 or any(word.text in _WRAPPERS for word in words[:at]):
            yield (*words[at:], *([None] if appended else []))


def _fits(pattern: Sequence[Word | None], words: Sequence[str]) -> bool:
    """True when bash may have made `words` of the words that were read; the program is known by its base name."""
    name = pattern[0] if pattern else None
    if name is not None and name.static:
        return name.text.rpartition("/")[2] == words[0] and _operands_fit(pattern[1:], words[1:])
    return _operands_fit(pattern, words)


def _operands_fit(pattern: Sequence[Word | None], words: Sequence[str]) -> bool:
    if not pattern:
        return not words
    head, rest = pattern[0], pattern[1:]
    if head is not None and head.static:
        return bool(words) and words[0] == head.text and _operands_fit(rest, words[1:])
    return any(_operands_fit(rest, words[taken:]) for taken in range(len(words) + 1))
