"""Does a Bash rule cover a command? The rules of one behaviour, compiled; the door to the shell part of this room."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_sdk.rules.bash_pattern import ASSIGNED, SEPARATOR, BashPattern, allow_line, compile_bash, marked, raw_line
from agent_sdk.rules.escape_table import NAMED_ONLY, RUNS_TEXT
from agent_sdk.rules.escapes import escapes, glob_asks, program_of
from agent_sdk.rules.file_operands import FILES
from agent_sdk.rules.free_words import expands_subscript, free_words
from agent_sdk.rules.rule import Rule
from agent_sdk.rules.shell_nodes import Redirect, SimpleCommand, Word
from agent_sdk.rules.shell_places import Operand, Places, wildcard_operands
from agent_sdk.rules.shell_view import NULL, READS, WRITES, ShellView, duplicates
from agent_sdk.rules.work_tree import same_work_tree
from agent_sdk.rules.wrappers import WRAPPERS, unwrap

SAFE_VARIABLES = frozenset(["NODE_ENV", "LANG", "LC_ALL", "TZ", "NO_COLOR", "FORCE_COLOR", "CI"])
_MAX_WRAPPERS = 8
_LONGEST_KEY = 4
_MAX_KEPT = 512


@dataclass(slots=True)  # not frozen, though never changed: it is made for every command of every judgement
class _Candidate:
    """One way to read a command for allow: as it is, without safe assignments, or behind a stripped wrapper.

    `free` is true when the line holds expansions as if they were plain text, because they change nothing.
    """

    command: SimpleCommand
    line: str
    behind_xargs: bool = False
    free: bool = False


_Stays: TypeAlias = Literal["anywhere", "here", "work tree"]


@dataclass(slots=True)  # not frozen, though never changed: it is made for every new command
class _Offer:
    """A rule that covers a command by its text, and what must be true of the place as well.

    `stays` is where it must run: `here` is the folder of the rule, `work tree` the one that the line began in.
    """

    rule: Rule
    stays: _Stays
    operands: tuple[Operand, ...]


class BashRules:
    """The Bash rules of one behaviour that name a command."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_words: dict[tuple[str, ...], list[tuple[BashPattern, Rule]]] = {}
        self._raw: list[tuple[BashPattern, Rule]] = []
        self._count = 0
        for rule in rules:
            wide = rule.behavior != "allow"
            pattern = compile_bash(rule.specifier or "", wide=wide)
            if pattern is None:
                continue
            self._count += 1
            if pattern.operators and wide:
                self._raw.append((pattern, rule))
            key = pattern.first_words(min(pattern.spelled, _LONGEST_KEY))
            self._by_words.setdefault(key, []).append((pattern, rule))
        self._always = self._by_words.get((), [])
        self._sizes: dict[str, list[int]] = {}
        for key in sorted(self._by_words, key=len, reverse=True):
            if key and len(key) not in self._sizes.setdefault(key[0], []):
                self._sizes[key[0]].append(len(key))
        self._kept: dict[tuple[str, ...], tuple[_Offer, ...]] = {}

    def __bool__(self) -> bool:
        return self._count > 0

    def _near(self, line: str) -> Sequence[tuple[BashPattern, Rule]]:
        """The patterns whose spelled words the line begins with, the most exact ones first."""
        sizes = self._sizes.get(line.partition(SEPARATOR)[0])
        if sizes is None:
            return self._always
        words = tuple(line.split(SEPARATOR, sizes[0]))
        found: list[tuple[BashPattern, Rule]] = []
        for size in sizes:
            if size <= len(words):
                found += self._by_words.get(words[:size], ())
        return found + self._always if self._always else found

    def any_reading(self, view: ShellView) -> Rule | None:
        """The rule that covers any reading of the command: for deny and ask."""
        if not self._count:
            return None
        denials = view.denials
        if self._always or not denials.names.isdisjoint(self._sizes):
            for line in denials.lines:
                for pattern, rule in self._near(line):
                    if pattern.covers(line, across=True):
                        return rule
        if self._raw:
            raw = raw_line(view.command)
            return next((rule for pattern, rule in self._raw if pattern.stands_in(raw)), None)
        return None

    def covering(self, view: ShellView, paths: Places) -> tuple[Rule, ...] | None:
        """The rules that together cover every part of the command, or None: for allow.

        `paths` says which path rules cover a redirection's target or what a program writes.
        """
        if not self._count or not view.reading.plain:
            return None
        used: list[Rule] = []
        for index, command in enumerate(view.reading.script.commands):
            if command.words or command.assigns:
                rule = self._covered(view, index, command, paths)
                if rule is None:
                    return None
                used.append(rule)
            for redirect in command.redirects:
                found = () if _redirect_free(redirect) else paths.redirect(view, view.where(index), redirect)
                if found is None:
                    return None
                used += found
        return tuple(used) if len(used) == 1 else tuple({id(rule): rule for rule in used}.values()) or None

    def _covered(self, view: ShellView, index: int, command: SimpleCommand, paths: Places) -> Rule | None:
        for offer in self._offers(command):
            if offer.stays != "anywhere" and not _stays(offer, view, index):
                continue
            if not offer.operands or paths.hold(offer.operands, view, view.where(index)):
                return offer.rule
        return None

    def _offers(self, command: SimpleCommand) -> Iterable[_Offer]:
        """The rules that cover the text of a command, in the order in which they are to be held against the place.

        Kept for words that are certain: of them nothing but their texts counts here.
        """
        if command.assigns or not command.static:
            return self._made_offers(command)
        offers = self._kept.get(command.texts)
        if offers is None:
            if len(self._kept) >= _MAX_KEPT:
                self._kept.clear()
            offers = self._kept[command.texts] = tuple(self._made_offers(command))
        return offers

    def _made_offers(self, command: SimpleCommand) -> Iterator[_Offer]:
        for candidate in _candidates(command):
            for pattern, rule in self._near(candidate.line):
                if not pattern.covers(candidate.line, across=False):
                    continue
                if pattern.exact and candidate.behind_xargs:
                    continue
                stays = _must_stay(candidate.command)
                operands = () if pattern.exact else _wildcard_operands(candidate.command, pattern)
                if stays is None or operands is None:
                    continue
                yield _Offer(rule, stays, operands)
                if stays == "anywhere" and not operands:
                    return  # it holds at every place


def _redirect_free(redirect: Redirect) -> bool:
    """True for what needs no rule: descriptors, `/dev/null`, texts given in the command itself."""
    if redirect.op in WRITES or redirect.op in READS:
        return duplicates(redirect) or (redirect.target.text == NULL and redirect.target.static)
    return redirect.op in ("<<", "<<-", "<<<") or duplicates(redirect)


def _candidates(command: SimpleCommand) -> Iterator[_Candidate]:
    """The ways to read a command, the written one first."""
    if command.assigns:
        yield _candidate(command)
        if not all(_safe_assignment(word) for word in command.assigns):
            return
        command = SimpleCommand(command.words)
    if not command.words:
        return
    candidate = _candidate(command)
    for _ in range(_MAX_WRAPPERS):
        yield candidate
        if candidate.free:  # a rule may spell expansions out
            yield _Candidate(candidate.command, allow_line(candidate.command.words), candidate.behind_xargs)
        inner = _stripped(candidate)
        if inner is None:
            return
        candidate = inner


def _candidate(command: SimpleCommand, *, behind_xargs: bool = False) -> _Candidate:
    if command.static and not command.assigns:
        return _Candidate(command, SEPARATOR.join(command.texts), behind_xargs)
    free = free_words(command.words)
    if not free:
        return _Candidate(command, allow_line(command.words, command.assigns), behind_xargs)
    texts = [word.text if number in free else marked(word) for number, word in enumerate(command.words)]
    line = SEPARATOR.join([*(ASSIGNED + marked(word) for word in command.assigns), *texts])
    return _Candidate(command, line, behind_xargs, free=True)


def _safe_assignment(word: Word) -> bool:
    return word.static and word.text.partition("=")[0] in SAFE_VARIABLES


def _stripped(candidate: _Candidate) -> _Candidate | None:
    """What stands behind a wrapper that allow rules look through, or None."""
    words, texts = candidate.command.words, candidate.command.texts
    name = texts[0]
    if name == "xargs":
        if len(words) < 2 or texts[1].startswith("-") or not _fit_behind_xargs(texts[1]):
            return None
        return _candidate(SimpleCommand(words[1:]), behind_xargs=True)
    wrapper = WRAPPERS.get(name)
    if wrapper is None or not wrapper.stripped:
        return None
    if name == "command" and len(texts) > 1 and texts[1].startswith("-") and set(texts[1]) & {"v", "V"}:
        return None
    found = unwrap(wrapper, texts)
    if not found.known or not found.starts or not all(word.static for word in words[: found.starts[0]]):
        return None
    if name == "time" and texts[1:3] == ("-p", "-p"):  # bash takes the second one for the program
        return None
    if name == "timeout" and texts[found.starts[0] - 1].strip("0123456789.smhd"):
        return None
    return _candidate(SimpleCommand(words[found.starts[0] :]), behind_xargs=candidate.behind_xargs)


def _fit_behind_xargs(name: str) -> bool:
    """True for programs that no appended word turns into something else."""
    base, program = program_of(name)
    known = FILES.get(base)
    writes = known is not None and known.shape != "read"
    return not (program or writes or base in WRAPPERS or base in NAMED_ONLY or base in RUNS_TEXT or base == "cd")


def _must_stay(command: SimpleCommand) -> _Stays | None:
    """Where a command must run for any rule to cover it, exact ones too: a relative program is the author's.

    None when none covers it anywhere.
    """
    if not command.words:
        return "anywhere"
    name = command.words[0]
    if name.text.startswith("~") and not name.tilde:
        return None
    if "/" in name.text and not name.text.startswith(("/", "~")):
        return "here"
    return "work tree" if name.text == "git" else "anywhere"


def _stays(offer: _Offer, view: ShellView, index: int) -> bool:
    """True when the command at `index` runs where it must."""
    moved = view.where(index).moved
    if offer.stays == "here":
        return not moved and view.is_here(offer.rule.source.root)
    return not moved or same_work_tree(view)  # git is not led elsewhere


def _wildcard_operands(command: SimpleCommand, pattern: BashPattern) -> tuple[Operand, ...] | None:
    """The files that must be fine at the place for a wildcard to cover a command; None when it never does.

    Looks through wrappers that the rule spells out.
    """
    spelled = pattern.spelled_words
    found: tuple[Operand, ...] = ()
    if not command.words:
        return None
    for _ in range(_MAX_WRAPPERS):
        words, texts = command.words, command.texts
        name = texts[0]
        if not _builtin_holds(name, texts, spelled):
            return None
        if (not command.static and glob_asks(words)) or expands_subscript(words):
            return None
        hits = escapes(texts)
        if hits and any(hit.last >= spelled for hit in hits):
            return None
        operands = wildcard_operands(command, spelled, pattern)
        if operands is None:
            return None
        found += operands
        wrapper = WRAPPERS.get(program_of(name)[0])
        if wrapper is None or (name == "command" and texts[1:2] in (("-v",), ("-V",))):
            return found
        inner = unwrap(wrapper, texts)
        if inner.strings or (wrapper.joined and len(texts) > 1):
            return None
        if not inner.starts:
            return found
        start = inner.starts[0]
        if spelled <= start or (name == "xargs" and not _fit_behind_xargs(texts[start])):
            return None
        command, spelled = SimpleCommand(words[start:]), spelled - start
    return None


def _builtin_holds(name: str, texts: Sequence[str], spelled: int) -> bool:
    """Builtins that change later commands are covered only by their name, those that run a text only with the text."""
    if name in RUNS_TEXT and len(texts) > 1:
        return spelled >= 2 and name not in ("eval", "trap", "coproc")
    return name not in NAMED_ONLY or spelled >= 1
