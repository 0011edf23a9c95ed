"""Every reading of a command line that deny and ask rules are held against.

Behind wrappers, inside the texts of shells, with and without expansions: one reading that matches is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agent_sdk.rules.argv import Argv, ArgvKey, ArgvKeys, argv_of
from agent_sdk.rules.bash_pattern import SEPARATOR, fold_name
from agent_sdk.rules.deny_plain import OUTPUT, DenyReadings, copies, marked_line, plain_readings
from agent_sdk.rules.escapes import program_of
from agent_sdk.rules.fed_text import Fed
from agent_sdk.rules.late_text import (
    CALLBACKS,
    NAMES_PROGRAM,
    SETTERS,
    STARTUP_FILES,
    as_argument,
    callback_texts,
    evaluates,
    evaluates_words,
    inner_substitutions,
    quoted_substitutions,
    runs_values,
    without_quotes,
)
from agent_sdk.rules.program_calls import (
    AWKS,
    LAUNCHERS,
    MAX_LAUNCHED,
    SUBSCRIPTS,
    commands_in_options,
    program_call,
    program_texts,
)
from agent_sdk.rules.program_text import awk_commands, sed_commands
from agent_sdk.rules.shell import read_command
from agent_sdk.rules.shell_nodes import Script, ShellReading, SimpleCommand, Word, plain_word
from agent_sdk.rules.shell_text import ASSIGNMENT, RESERVED
from agent_sdk.rules.wrappers import (
    LOADER,
    LOADERS,
    SHELL_LONG_VALUES,
    STARTS_SHELL,
    STDIN_SHELLS,
    WRAPPERS,
    Wrapper,
    fd_commands,
    find_commands,
    git_commands,
    glued_text,
    names_input,
    run_in_environment,
    shell_call,
    unwrap,
    xargs_replaces,
)
from agent_sdk.values import lazy

_PROGRAM_FILES = ("-f", "--file", "-E", "--exec")  # of sed and awk
_MAX_TEXTS = 200
_MAX_WRAPS = 12
_MAX_ARGUMENTS = 200
_MAX_MOVES = 2_000  # as many as a line within the limits can have
_ACTIVE = frozenset("$`")
_TRAP_OPTIONS = frozenset(["-", "-l", "-p", "-P", "-lp"])
_ENV_BLANK = "\\_"


def deny_readings(reading: ShellReading) -> DenyReadings:
    """Works out all readings. Never raises; bounded in time by the length of the text."""
    return (plain_readings(reading) if reading.plain else None) or full_readings(reading)


def full_readings(reading: ShellReading) -> DenyReadings:
    """All readings of any line. `deny_readings` agrees, and need not always work them out."""
    collector = _Collector(reading)
    collector.syntax(reading.text)
    collector.script(reading.script, trusted=reading.not_understood is None)
    collector.script(reading.loose, trusted=False)
    collector.finish()
    lines = tuple(dict.fromkeys(collector.lines))
    return DenyReadings(
        tuple(collector.argvs.values()),
        lines,
        frozenset([line.partition(SEPARATOR)[0] for line in lines]),
        collector.unseen,
        collector.nameless,
        tuple(collector.moves),
    )


class _Collector:
    """Follows commands into commands. `_texts` are scripts inside strings that wait to be read."""

    def __init__(self, reading: ShellReading) -> None:
        self._reading = reading
        self.argvs: dict[ArgvKey, Argv] = {}
        self._keys = ArgvKeys()
        self.moves: list[Argv] = []
        self.unseen = self.nameless = self._late = self._lost = self._inner = False
        self._marked: list[str] = []
        self._texts: list[str] = []
        self._guesses: list[str] = []
        self._seen: set[str] = set()
        self._scripts: list[Script] = []
        self._written: set[str] = set()
        self._started: set[str] = set()
        self._emitted: set[tuple[int, tuple[int, int]]] = set()

    @lazy
    def _budget(self) -> int:
        """How many characters of texts in texts are still read."""
        scripts = (self._reading.script, self._reading.loose)
        return 50_000 + 4 * sum(sum(map(len, command.texts)) for script in scripts for command in script.commands)

    @lazy
    def _steps(self) -> int:
        """How many words behind wrappers are still looked at: each wrapper may leave many places to begin at."""
        scripts = (self._reading.script, self._reading.loose)
        return 200_000 + 20 * sum(len(command.words) for script in scripts for command in script.commands)

    def syntax(self, text: str) -> None:
        """What the text of a script says by its syntax alone."""
        plain = without_quotes(text)
        self._late = self._late or evaluates(text) or (plain != text and evaluates(plain))
        self.unseen = self.unseen or runs_values(plain)

    def finish(self) -> None:
        """Reads the texts that shells would read, the texts in those, and quoted ones where they may be expanded.

        Last the texts that are commands if a guess is right: they may add readings, but say nothing about the rest.
        """
        self._inner = True
        self._drain()
        if self._late:
            self._expand_quoted()
        if self._guesses:
            self._read_guesses()
        self.unseen = self.unseen or self._lost or not self._written.isdisjoint(self._started)

    def _read_guesses(self) -> None:
        """Reads the guesses. What cannot be seen in them counts only when there are too many, or too long ones."""
        kept = self.unseen, self.nameless
        guesses = list(dict.fromkeys(self._guesses))
        self._texts = guesses[:_MAX_TEXTS]
        self._drain()
        self.unseen, self.nameless = kept
        self._lost = self._lost or len(guesses) > _MAX_TEXTS

    def _expand_quoted(self) -> None:
        commands = (command for script in self._scripts for command in script.commands)
        quoted = dict.fromkeys(text for command in commands for text in quoted_substitutions(command))
        if quoted:
            self.unseen = True
            self._texts = [f'"{text}"' for text in quoted][:_MAX_TEXTS]
            self._drain()

    def _drain(self) -> None:
        left = _MAX_TEXTS
        while self._texts:
            text = self._texts.pop()
            if text in self._seen:
                continue
            if not left:
                self._lost = True
                return
            left -= 1
            self._seen.add(text)
            inner = read_command(text)
            self.syntax(text)
            self.unseen = self.unseen or inner.not_understood is not None
            self.script(inner.script, trusted=inner.not_understood is None)
            self.script(inner.loose, trusted=False)

    @property
    def lines(self) -> list[str]:
        """What patterns are held against."""
        return [line for argv in self.argvs.values() for line in program_call(argv.words).lines] + self._marked

    def script(self, script: Script, *, trusted: bool) -> None:
        """All commands of one reading, and what is piped into the shells among them."""
        self._scripts.append(script)  # `_emitted` knows scripts by their identity: none may go away
        for index, command in enumerate(script.commands):
            if command.assigns or not command.static or not all(map(copies, command.redirects)):
                self._around(command)
            if not command.words or command.kind in ("define", "words"):
                continue
            argv = argv_of(command)
            known = command.static or all(map(_known_name, (command.words[0], *argv.origins[:1])))
            if known and argv.words and program_call(argv.words).ordinary:
                self._moved(argv)
                self.argvs.setdefault(argv.words if command.static else self._keys.key(argv), argv)
                continue
            if argv.words:
                self._follow(argv, Fed(script, index, trusted=trusted), 0)
            if trusted and not _known_name(command.words[0]):
                self.nameless = True

    def _around(self, command: SimpleCommand) -> None:
        """Assignments, redirections and expansions of a command: all of it that is no certain word."""
        for word in command.assigns:
            self._assigned(word.text)
        for text in inner_substitutions(command):
            self._text(text, hidden=False)
        for redirect in command.redirects:
            if redirect.op == ">&" and not redirect.target.text.isalnum():
                self._text(f'"{redirect.target.text}"', hidden=False)
                self._text(f": {redirect.target.text}", hidden=False)
            elif redirect.body and not redirect.literal and not _ACTIVE.isdisjoint(redirect.body):
                self._text(as_argument(redirect.body), hidden=False)
            elif redirect.op in OUTPUT:
                self._written.add(redirect.target.text.rpartition("/")[2])
        words = command.words
        if not command.static and command.kind not in ("define", "words") and any(word.marks for word in words):
            self._marked.append(marked_line(words))

    def _assigned(self, assignment: str) -> None:
        """`NAME=value` for a variable that names a program, or a script that shells read first."""
        name, _, value = assignment.partition("=")
        if name.rstrip("+") in NAMES_PROGRAM:
            self._text(value, hidden=False)
        self.unseen = self.unseen or name.rstrip("+") in STARTUP_FILES

    def _follow(self, argv: Argv, fed: Fed, depth: int) -> None:
        """One argv, then what it runs."""
        if depth:
            self._steps -= len(argv.words)
            if self._steps < 0:
                self._lost = True
                return
        start = 0
        while start < len(argv.words) and ASSIGNMENT.match(argv.words[start]):
            self._assigned(argv.words[start])
            start += 1
        argv = argv.behind(start) if start else argv
        if fed.trusted and argv.words and not _known_name(argv.origins[0]):
            self.nameless = True
        if not argv.words:
            return
        self._moved(argv)
        name = fold_name(argv.words[0].rstrip("/").rpartition("/")[2])
        key = self._keys.key(argv)
        if key in self.argvs and (key in fed.followed or not self._differs(name, fed)):
            return
        fed.followed.add(key)
        self.argvs[key] = argv
        if depth > _MAX_WRAPS:
            self.unseen = True
            return
        if argv.appended and "{}" in name:
            self.unseen = True
        if "/" in argv.words[0]:
            self._started.add(argv.words[0].rpartition("/")[2])
        self._builtin(name, argv)
        self._options(argv)
        if name in STDIN_SHELLS or name.startswith(LOADERS) or name in ("source", "."):
            self._shell(name, argv, fed, depth)
        elif name in LAUNCHERS:
            self._launcher(argv, fed, depth)
        elif name in ("find", "fd", "fdfind", "git", "trap"):
            self._special(name, argv, fed, depth)
        elif (wrapper := WRAPPERS.get(name)) is not None:
            self._wrapper(name, wrapper, argv, fed, depth)
        starts, more = run_in_environment(name, argv.words)
        self._lost = self._lost or more
        for start in starts:
            self._follow(argv.behind(start), fed, depth + 1)

    def _moved(self, argv: Argv) -> None:
        if argv.words[0] in ("cd", "pushd") and len(self.moves) < _MAX_MOVES:
            self.moves.append(argv)

    def _differs(self, name: str, fed: Fed) -> bool:
        """True when a program that was followed before may read something else this time, or nothing that is seen."""
        reads = name in STDIN_SHELLS or name in WRAPPERS or name in ("source", ".")
        return reads and (fed.given or not self.unseen)

    def _builtin(self, name: str, argv: Argv) -> None:
        """Text in the words of programs that run it: subscripts, callbacks, aliases, awk programs, variables."""
        words = argv.words
        if name in SUBSCRIPTS or name == "((":
            self._subscripts(argv)
            hidden = [argv.hidden(index) for index in range(len(words))]
            self._late = self._late or evaluates_words((name, *words[1:]), hidden)
        elif name in AWKS or name == "sed":
            self._program(argv, sed=name == "sed")
        elif name == "alias" or (name == "fc" and words[1:2] != ("-l",)):
            self.unseen = self.unseen or name == "fc" or any("=" in word for word in words)
            for word in words[1:]:
                self._text(word.partition("=")[2] or word, hidden=False)
        if name in SETTERS:
            for word in words[1:]:
                if ASSIGNMENT.match(word):
                    self._assigned(word)
        if name in CALLBACKS:
            unsure = argv.any_unsure
            for text in callback_texts((name, *words[1:])):
                self._text(text, hidden=unsure)

    def _options(self, argv: Argv) -> None:
        """Commands in the values of options that the escape table knows: `tar --to-command=x`, `rsync -e x`."""
        base, _ = program_of(argv.words[0])
        if base == "tee":
            self._written.update(word.rpartition("/")[2] for word in argv.words[1:])
        if base == "crontab" and argv.words[1:2] not in (("-l",), ("-r",)):
            self.unseen = True
        self._guesses += commands_in_options(argv.words)

    def _program(self, argv: Argv, *, sed: bool) -> None:
        """What sed scripts and awk programs run; every word of awk may be a part of one."""
        words = argv.words
        spans, seen = program_texts(argv, sed=sed)
        self.unseen = self.unseen or not seen
        if not sed:
            spans = [(index, 0) for index in range(1, len(words))]
        for index, offset in spans:
            texts, seen = (sed_commands if sed else awk_commands)(words[index][offset:])
            self.unseen = self.unseen or not seen or (bool(texts) and argv.hidden(index))
            for text in texts:
                self._text(text, hidden=False)
        files = [index for index, word in enumerate(words) if word.startswith(_PROGRAM_FILES)]
        if files and (argv.any_hidden or any(_reads_program(argv, index) for index in files)):
            self.unseen = True

    def _shell(self, name: str, argv: Argv, fed: Fed, depth: int) -> None:
        if name in ("source", "."):
            self.unseen = self.unseen or (len(argv.words) > 1 and argv.hidden(1))
            if len(argv.words) > 1 and (names_input(argv.words[1]) or (argv.unsure(1) and fed.given)):
                self._input_text(fed)
            self._started.update(word.rpartition("/")[2] for word in argv.words[1:2])
            return
        if name.startswith(LOADERS):
            found = unwrap(LOADER, argv.words)
            self._lost = self._lost or found.more
            for start in found.starts:
                self._follow(argv.behind(start), fed, depth + 1)
            return
        if name in ("at", "batch"):
            self._input_text(fed)
            return
        call = shell_call(argv.words)
        options = argv.words[1 : call.text or call.script]
        hidden_file = any(word in SHELL_LONG_VALUES and argv.hidden(at) for at, word in enumerate(options[:-1], 2))
        self.unseen = self.unseen or call.interactive or hidden_file
        if call.text is not None:
            text = argv.words[call.text]
            self._text(text, hidden=argv.unsure(call.text) or (argv.appended and "{}" in text))
        elif argv.appended and call.script is None:
            self.unseen = True
        if (glued := glued_text(argv.words)) is not None:
            self._text(glued, hidden=False)
        if call.script is not None:
            self.unseen = self.unseen or argv.hidden(call.script)
            script = argv.behind(call.script)
            self._started.add(script.words[0].rpartition("/")[2])
            self._follow(script, fed, depth + 1)
            if "/" not in script.words[0]:
                self._follow(replace(script, words=(f"./{script.words[0]}", *script.words[1:])), fed, depth + 1)
        self._feed(argv, fed)

    def _feed(self, argv: Argv, fed: Fed) -> None:
        if shell_call(argv.words).reads_input:
            self._input_text(fed)

    def _input_text(self, fed: Fed) -> None:
        texts, seen = fed.texts(self._emitted)
        self.unseen = self.unseen or not seen
        for text in texts:
            self._text(text, hidden=False)

    def _text(self, text: str, *, hidden: bool) -> None:
        self.unseen = self.unseen or hidden
        self._budget -= len(text)
        if self._budget < 0:
            self._lost = True
        elif text.strip():
            self._texts.append(text)
            if "$'" in text or '$"' in text:  # to a plain sh the dollar is text
                self._texts.append(text.replace("$'", "\\$'").replace('$"', '\\$"'))

    def _special(self, name: str, argv: Argv, fed: Fed, depth: int) -> None:
        words = argv.words
        if name == "trap":
            action = 2 if words[1:2] == ("--",) else 1
            if action < len(words) and (action == 2 or words[action] not in _TRAP_OPTIONS):
                self._text(words[action], hidden=argv.unsure(action))
        elif name == "git":
            self._git(argv, fed, depth)
        elif name == "find":
            for start, end in find_commands(words):
                self._follow(argv.behind(start, end, appended=True), fed, depth + 1)
                self.unseen = self.unseen or (start >= end and argv.appended)
            if "-delete" in words:
                self._follow(Argv(("rm",), (plain_word("rm"),)), fed, depth + 1)
        else:
            for start, end in fd_commands(words):
                inner = argv.behind(start, end, appended=True)
                name, equals, value = words[start].partition("=")
                glued = value if equals and name.startswith("--exec") else words[start][2:]
                if words[start].startswith("-") and start > 0:
                    inner = replace(inner, words=(glued, *inner.words[1:]))
                self._follow(inner, fed, depth + 1)

    def _launcher(self, argv: Argv, fed: Fed, depth: int) -> None:
        """Programs with operands of their own before the command: any operand may begin it, or be all of it."""
        for index in range(1, min(len(argv.words), MAX_LAUNCHED)):
            word = argv.words[index]
            if " " in word:
                self._text(word, hidden=argv.unsure(index))
            if not word.startswith("-"):
                self._follow(argv.behind(index), fed, depth + 1)

    def _git(self, argv: Argv, fed: Fed, depth: int) -> None:
        """Commands in git's own arguments."""
        texts, start = git_commands(argv.words)
        for text in texts:
            self._text(text, hidden=False)
        if start is not None:
            self._follow(argv.behind(start), fed, depth + 1)

    def _wrapper(self, name: str, wrapper: Wrapper, argv: Argv, fed: Fed, depth: int) -> None:
        words = argv.words
        if name == "command" and any(word.startswith("-") and set(word) & {"v", "V"} for word in words[1:2]):
            return
        found = unwrap(wrapper, words)
        self._lost = self._lost or found.more
        appended = argv.appended or name in ("xargs", "parallel")
        unsure = bool(found.strings) and argv.any_unsure
        for text in found.strings:
            self._text(text, hidden=unsure or "${" in text)
            if name == "env":  # it splits the text into words of its own, the rest follows
                rest = words[found.starts[0] :] if found.starts else ()
                self._text(" ".join(("env", text.replace(_ENV_BLANK, " "), *rest)), hidden=False)
        if found.bare and not found.strings:
            self.unseen = self.unseen or argv.appended
            if fed.given and (name in STARTS_SHELL or (name == "exec" and self._inner)):
                self._input_text(fed)  # a shell that reads its script goes on with what `exec` gives it
        if wrapper.joined and found.starts:
            self._joined(name, argv, found.starts)
        for start in found.starts:
            while name in ("time", "coproc") and start < len(words) and words[start] in RESERVED:
                start += 1
            inner = argv.behind(start, appended=appended)
            if name == "xargs" and (replaced := xargs_replaces(words[:start])):
                inner = replace(inner, words=tuple(word.replace(replaced, "{}") for word in inner.words))
            self._follow(inner, fed, depth + 1)
            if name == "coproc" and len(inner.words) > 1:
                self._text(" ".join(inner.words[1:]), hidden=False)

    def _joined(self, name: str, argv: Argv, starts: Sequence[int]) -> None:
        """Words that are joined and read by a shell."""
        for start in starts:
            words = list(argv.words[start:])
            end = next((at for at, word in enumerate(words) if word.startswith(":::")), len(words))
            self._text(" ".join(words[:end]), hidden=False)
            if name == "parallel" and end == len(words):
                self.unseen = self.unseen or "{" in words[0] or words[0] in STDIN_SHELLS
            elif name == "parallel":
                for word in words[end + 1 : end + 1 + _MAX_ARGUMENTS]:
                    self._text(" ".join((*words[:end], word)), hidden=False)
        if argv.any_unsure:
            self.unseen = True

    def _subscripts(self, argv: Argv) -> None:
        """Substitutions in the words of builtins that expand subscripts, even quoted ones."""
        for word in argv.words[1:]:
            if "$(" in word or "`" in word:
                self._text(f'"{word}"', hidden=False)


def _reads_program(argv: Argv, index: int) -> bool:
    """True when the option at `index` takes the program from a descriptor, or from files that a glob finds."""
    word, following = argv.words[index], argv.words[index + 1 : index + 2]
    paths = (word[2:], word.partition("=")[2], *following)
    unsure = argv.unsure(index) or (bool(following) and argv.unsure(index + 1))
    return unsure or any(path == "-" or names_input(path) for path in paths)


def _known_name(word: Word) -> bool:
    """True when the name of a program is certain: static, and nothing but ASCII."""
    return word.static and word.text.isascii()
