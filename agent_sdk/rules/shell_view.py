"""One command line as the rules see it at one place: what it would run, read, write and remove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from agent_sdk.rules.argv import Argv
from agent_sdk.rules.deny_plain import DenyReadings
from agent_sdk.rules.deny_readings import deny_readings
from agent_sdk.rules.escapes import program_of
from agent_sdk.rules.file_operands import REMOVERS, TAKES_FILES, FileUse, file_uses
from agent_sdk.rules.files import FileView
from agent_sdk.rules.ground import Ground
from agent_sdk.rules.protected import protected
from agent_sdk.rules.shell import read_command
from agent_sdk.rules.shell_nodes import Redirect, ShellReading, SimpleCommand, Word, plain_word
from agent_sdk.rules.shell_screen import MAX_CHARS
from agent_sdk.rules.spelling import Parts, Spelled, absolute, joined, parts, spell_again
from agent_sdk.values import lazy

WRITES = frozenset([">", ">>", ">|", "&>", "&>>", ">&", "<>"])
READS = frozenset(["<", "<>"])
_FILES = WRITES | READS
NULL = "/dev/null"
_NULL_WORD = plain_word(NULL)
_NETWORK = ("/dev/tcp/", "/dev/udp/")
_HOME = frozenset(["$HOME", "${HOME}"])
_HERE = frozenset(["$PWD", "${PWD}", "$(pwd)", "`pwd`", "$(pwd -P)"])
_MAX_FOLDERS = 16
_ALL_OF = frozenset(["/*", "/", "/.", "/.*", "/**", "/*/", "/{*,.*}", "/{.*,*}"])


@dataclass(slots=True)  # not frozen, though never changed: it is made for every new command
class Where:
    """Where a command runs: every directory that it may be, and whether a `cd` to elsewhere stands before it.

    `lost`: it may run in others too, because there are too many, or because a `cd` leads who knows where.
    """

    folders: tuple[str, ...]
    moved: bool
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Glob:
    """A file operand with an unquoted glob: absolute names that may hold wildcards."""

    names: Parts
    writes: bool


class CommandFacts:
    """What is known of a command line wherever it runs. Worked out once for each text.

    `reading` is both readings of it, `denials` what deny and ask rules are held against. `redirects` are all
    redirections that may touch a file, `uses` the files that known programs touch, in every reading. `odd` says why no
    rule approves it, not even the whole tool: it is not understood, or writes who knows where.
    """

    def __init__(self, command: str) -> None:
        self.reading = reading = read_command(command)
        self.denials = deny_readings(reading)
        commands = reading.script.commands
        if reading.loose.commands:
            commands += reading.loose.commands
        self.redirects = tuple(
            [redirect for command in commands for redirect in command.redirects if _touches(redirect)]
        )
        self.uses = tuple([(argv, use) for argv in self.denials.argvs for use in _uses(argv)])
        self.odd = self._odd()

    def _odd(self) -> str | None:
        problem = self.reading.not_understood
        if problem is not None:
            return f"the command is not understood: {problem}"
        for redirect in self.redirects:
            if redirect.op in WRITES and not redirect.target.static:
                return "the target of a redirection is only known at run time"
        return None

    @lazy
    def moves(self) -> bool:
        """True when a `cd` stands in it."""
        return any(moved_by(command) is not None for command in self.reading.script.commands)


@lru_cache(maxsize=128)
def _facts(command: str) -> CommandFacts:
    return CommandFacts(command)


class ShellView:
    """A command line at a place. Everything is worked out when it is first asked for, and once. Never raises."""

    def __init__(self, command: str, ground: Ground, settings_dir: str) -> None:
        self.command = command
        self.facts = _facts(command) if len(command) <= MAX_CHARS else CommandFacts(command)
        self.ground = ground
        self.settings_dir = settings_dir
        self._spelled: dict[tuple[str, str], Spelled] = {}

    @property
    def files(self) -> FileView:
        """The disk."""
        return self.ground.files

    @property
    def reading(self) -> ShellReading:
        """Both readings of the command."""
        return self.facts.reading

    @property
    def denials(self) -> DenyReadings:
        """What deny and ask rules are held against."""
        return self.facts.denials

    @property
    def odd(self) -> str | None:
        """Why no rule approves the command, not even the whole tool."""
        return self.facts.odd

    @lazy
    def folders(self) -> tuple[str, ...]:
        """The directories that some part of the command may run in, the working directory first.

        With very many, the one that all `cd` together lead to is among them.
        """
        found: tuple[str, ...] = (self.ground.cwd,)
        straight = self.ground.cwd
        for argv in self.denials.moves:
            for use in file_uses(argv.words):
                text = path_text(argv.origin(use.index), 0)
                if text is not None:
                    straight = _resolved(text, straight, self.files)
                    more = (_resolved(text, folder, self.files) for folder in found)
                    found = tuple(dict.fromkeys([self.ground.cwd, straight, *found[1:], *more]))[:_MAX_FOLDERS]
        return found

    def is_here(self, folder: str) -> bool:
        """True when `folder` is the working directory."""
        return parts(folder) == parts(self.ground.cwd)

    def where(self, index: int) -> Where:
        """Where the command at `index` of a plain script runs."""
        places = self._places
        if index == 0 or not self.facts.moves:
            return places[0]
        while len(places) <= index:
            move = moved_by(self.reading.script.commands[len(places) - 1])
            places.append(places[-1] if move is None else self._behind(move, places[-1]))
        return places[index]

    @lazy
    def _places(self) -> list[Where]:
        """Where the first commands of a plain script run, as far as that was asked."""
        return [Where((self.ground.cwd,), False)]

    def _behind(self, move: tuple[Word, ...], before: Where) -> Where:
        """Where commands behind a `cd` run: it may have failed, too."""
        target = cd_target(move)
        text = path_text(target, 0) if target is not None else None
        if text is None:
            comes_back = len(move) == 1 and move[0].text == "popd"
            return Where(before.folders, True, before.lost or not comes_back)
        found = [_resolved(text, folder, self.files) for folder in before.folders]
        moved = before.moved or not all(self.is_here(folder) for folder in found)
        folders = tuple(dict.fromkeys([*before.folders, *found]))
        return Where(folders[:_MAX_FOLDERS], moved, before.lost or len(folders) > _MAX_FOLDERS)

    def spelled(self, text: str, folders: Sequence[str]) -> tuple[Spelled, ...]:
        """A path in every directory that it may be taken from."""
        if text.startswith(("/", "~")) and len(folders) > 1:
            first = self._spell(text, folders[0])
            if "/proc/" not in text and all(reading[:1] != ("proc",) for reading in first.readings):
                return (first,)  # it leads to the same from everywhere
        return tuple([self._spell(text, folder) for folder in folders])

    def _spell(self, text: str, folder: str) -> Spelled:
        known = self._spelled.get((text, folder))
        if known is None:
            known = self._spelled[text, folder] = spell_again(text, folder, self.files)
        return known

    @property
    def writes(self) -> tuple[Spelled, ...]:
        """The files that the command may write or remove, redirections included."""
        return self._writes if self.facts.uses or self.facts.redirects else ()

    @property
    def reads(self) -> tuple[Spelled, ...]:
        """The files that the command may read."""
        return self._reads if self.facts.uses or self.facts.redirects else ()

    @lazy
    def _writes(self) -> tuple[Spelled, ...]:
        return self._touched(("write", "remove"), WRITES)

    @lazy
    def _reads(self) -> tuple[Spelled, ...]:
        return self._touched(("read",), READS)

    def _touched(self, uses: tuple[str, ...], operators: frozenset[str]) -> tuple[Spelled, ...]:
        texts: list[str] = []
        for argv, use in self.facts.uses:
            if use.use in uses:
                texts += self._texts(argv, use)
        for redirect in self.facts.redirects:
            text = path_text(redirect.target, 0) if redirect.op in operators else None
            if text is not None:
                texts.append(text)
        if not texts:
            return ()
        return tuple([path for text in dict.fromkeys(texts) for path in self.spelled(text, self.folders)])

    def _texts(self, argv: Argv, use: FileUse) -> list[str]:
        """The path of a use as text; with the name of what is copied there."""
        text = path_text(argv.origin(use.index), use.offset)
        if not text:
            return []
        if use.into < 0:
            return [text]
        name = argv.words[use.into].rstrip("/").rpartition("/")[2]
        return [f"{text.rstrip('/')}/{name}"] if name else []

    @property
    def globs(self) -> tuple[Glob, ...]:
        """The file operands that hold a glob."""
        return self._globs if self.facts.uses else ()

    @lazy
    def _globs(self) -> tuple[Glob, ...]:
        found: list[Glob] = []
        for argv, use in self.facts.uses:
            word = argv.origin(use.index)
            if word.glob >= 0 or word.brace:
                paths = self.spelled(path_text(word, use.offset) or ".", self.folders)
                found += (Glob(names, use.use != "read") for path in paths for names in path.readings)
        return tuple(found)

    @property
    def protected(self) -> str | None:
        """Why a person must agree to where output is redirected."""
        return self._protected if self.facts.redirects else None

    @lazy
    def _protected(self) -> str | None:
        for redirect in self.facts.redirects:
            text = path_text(redirect.target, 0) if redirect.op in WRITES else None
            if text is None:
                continue
            for path in self.spelled(text, self.folders):
                why = protected(path.readings, self.settings_dir)
                if why is not None:
                    return why
        return None

    @property
    def critical_removal(self) -> str | None:
        """Why a person must agree to what the command removes: the root, its children, home, a working directory."""
        return self._critical_removal if self.facts.uses else None

    @lazy
    def _critical_removal(self) -> str | None:
        for argv, use in self.facts.uses:
            name = program_of(argv.words[0])[0]
            if use.use != "remove" or (name not in REMOVERS and name not in ("find", "mv")):
                continue
            word = argv.origin(use.index)
            if word.marks and word.marks[0].start == 0 and word.text[word.marks[0].end :] in _ALL_OF:
                return f"{word.text} removes everything at the root when the variable is empty"
            text = path_text(word, use.offset)
            if text is None:
                continue
            if text.startswith("~") and not text.startswith("~/"):
                return f"{text} may be a home folder"
            for path in self.spelled(text, self.folders):
                for reading in path.readings or (parts(path.absolute),):
                    if self._critical((*reading, "*") if name == "find" else reading, contents=name != "find"):
                        return f"it removes {joined(reading)}"
        return None

    def _critical(self, reading: Parts, *, contents: bool) -> bool:
        """True for a path that nobody wants to lose; `folder/*` is the folder.

        What the working directory holds counts with `contents` only.
        """
        emptied = len(reading) > 0 and set(reading[-1]) <= set("*.?") and "*" in reading[-1]
        folder = reading[:-1] if emptied else reading
        if len(folder) < 2 and not (emptied and folder == ("tmp",)):
            return True
        if folder in self.ground.spellings(self.files.home):
            return True
        if folder in self.ground.working:
            return contents or not emptied
        return any(base[: len(folder)] == folder for base in self.ground.spellings(self.ground.cwd))


def _uses(argv: Argv) -> Sequence[FileUse]:
    """The files that a call touches, whether or not its expansions are empty. Folders only entered are none of them."""
    words = argv.words
    base = program_of(words[0])[0]
    if base not in TAKES_FILES:
        return ()
    found = file_uses(words)
    if not argv.any_hidden:
        return found
    return tuple(dict.fromkeys((*found, *file_uses(argv.written))))


def path_text(word: Word, offset: int) -> str | None:
    """The path that a word says, as `spell` takes it; None when it is only known at run time.

    A leading `$HOME` is `~`, a leading `$PWD` is `.`; a tilde that bash does not expand is kept from being one.
    """
    text = word.text[offset:]
    if word.marks:
        mark = word.marks[0]
        source = word.text[mark.start : mark.end]
        rest = word.text[mark.end :]
        if len(word.marks) > 1 or mark.start != offset or (rest and not rest.startswith("/")):
            return None
        if source in _HOME:
            return "~" + (rest or "/")
        return "." + (rest or "/") if source in _HERE else None
    if text.startswith("~"):
        if not word.tilde:
            return "./" + text
        return "~/" if text == "~" else text
    return text


def is_network(text: str) -> bool:
    """True for the targets that bash takes as a network connection."""
    return text.startswith(_NETWORK)


def duplicates(redirect: Redirect) -> bool:
    """True when a redirection copies or closes a descriptor and touches no file."""
    return redirect.op in (">&", "<&") and (redirect.target.text == "-" or redirect.target.text.isdigit())


def _touches(redirect: Redirect) -> bool:
    """True for a redirection that may touch a file."""
    return redirect.op in _FILES and not duplicates(redirect) and redirect.target != _NULL_WORD


def moved_by(command: SimpleCommand) -> tuple[Word, ...] | None:
    """The words of a command from `cd`, `pushd` or `popd` on, when it is one of these; else None."""
    words = command.words
    while words and words[0].text in ("command", "builtin", "time", "-p", "--"):
        words = words[1:]
    return words if words and words[0].text in ("cd", "pushd", "popd") else None


def cd_target(words: tuple[Word, ...]) -> Word | None:
    """The one operand of `cd` or `pushd`; None when there is none, or more."""
    operands = [word for word in words[1:] if word.marks or word.text not in ("-L", "-P", "--", "-e")]
    if len(operands) != 1 or operands[0].text.startswith(("-", "+")) or not operands[0].text:
        return None
    return operands[0]


def _resolved(text: str, folder: str, files: FileView) -> str:
    """A folder name as an absolute path."""
    if not text or "\0" in text:
        return "/" if text else folder
    return joined(parts(absolute(text, folder, files)))
