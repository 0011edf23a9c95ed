"""What deny and ask rules are held against, for lines of programs that are certain to run no others: by far the most.

`deny_readings` follows every line wherever it leads. It agrees with what is found here, a test holds them together, and
need not be asked for these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_sdk.rules.argv import Argv, argv_of
from agent_sdk.rules.bash_pattern import SEPARATOR, allow_line, fold_name
from agent_sdk.rules.late_text import evaluates, runs_values, without_quotes
from agent_sdk.rules.program_calls import program_call
from agent_sdk.rules.shell_nodes import Redirect, ShellReading, SimpleCommand, Word

OUTPUT = frozenset([">", ">>", ">|", "&>", "&>>"])


@dataclass(slots=True)  # not frozen, though never changed: it is made for every new command
class DenyReadings:
    """All readings of a command line.

    `argvs` are words of programs that it may run; `lines` is what patterns are held against, `names` are their first
    words. `unseen` is true when a shell or `eval` in it reads text that cannot be seen, `nameless` when the name of a
    program is only known at run time. `moves` are the calls of `cd` and `pushd`, each at least as often as it stands
    in the text.
    """

    argvs: tuple[Argv, ...]
    lines: tuple[str, ...]
    names: frozenset[str]
    unseen: bool
    nameless: bool
    moves: tuple[Argv, ...] = ()


def plain_readings(reading: ShellReading) -> DenyReadings | None:
    """All readings of a plain line in which nothing leads to other programs; None for every other line."""
    plain = without_quotes(reading.text)
    if runs_values(plain) or evaluates(plain) or (plain is not reading.text and evaluates(reading.text)):
        return None
    argvs: list[Argv] = []
    lines: list[str] = []
    marked: list[str] = []
    moves: list[Argv] = []
    for command in reading.script.commands:
        argv = _argv(command)
        call = program_call(argv.words) if argv is not None and argv.words else None
        if argv is None or call is None or not call.ordinary:
            return None
        argvs.append(argv)
        lines += call.lines
        if argv.words[0] in ("cd", "pushd"):
            moves.append(argv)
        if not command.static and any(word.marks for word in command.words):
            marked.append(marked_line(command.words))
    lines += marked
    names = frozenset([line.partition(SEPARATOR)[0] for line in lines])
    return DenyReadings(tuple(argvs), tuple(lines), names, False, False, tuple(moves))


def _argv(command: SimpleCommand) -> Argv | None:
    """The words of a call whose name is certain, and in which no more than plain variables are expanded; else None."""
    words = command.words
    if not words or command.assigns or command.kind != "command":
        return None
    for redirect in command.redirects:
        if not _says_nothing(redirect):
            return None
    if not command.static:
        name = words[0]
        if not name.static or not name.text or not name.text.isascii():  # an empty one is dropped, the next counts
            return None
        for word in words:
            if word.brace or (word.marks and any(mark.kind != "param" for mark in word.marks)):
                return None
    return argv_of(command)


def _says_nothing(redirect: Redirect) -> bool:
    """True for a redirection that holds no text for a shell: one that copies, or output to a file of a known name."""
    return copies(redirect) or (redirect.op in OUTPUT and redirect.target.static)


def copies(redirect: Redirect) -> bool:
    """True for a redirection that copies a descriptor and says nothing else: `2>&1`."""
    return redirect.op == ">&" and redirect.target.static and redirect.target.text.isalnum()


def marked_line(words: Sequence[Word]) -> str:
    """The line of a command with its expansions as they are written, and the name as deny compares it."""
    return SEPARATOR.join((fold_name(words[0].text.rpartition("/")[2]), allow_line(words[1:])))
