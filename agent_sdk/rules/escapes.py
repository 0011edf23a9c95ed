"""Finds in a command what the escape table lists: options that a wildcard must not cover."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from agent_sdk.rules.bash_pattern import fold_name
from agent_sdk.rules.escape_table import PROGRAMS, WRITES_SECOND, Escape, Program
from agent_sdk.rules.program_text import awk_is_harmless, sed_is_harmless
from agent_sdk.rules.shell_nodes import Word
from agent_sdk.rules.wrappers import WRAPPERS, git_subcommand

_VERSION = re.compile(r"(?<=[A-Za-z])-?[0-9][0-9.]*$")
_NUMBERED = frozenset(["bzip2", "bunzip2", "base32", "diff3"]).union(WRAPPERS)
"""Names whose number, if they have one, is no version: `linux32` and `run0` are programs of their own."""
_INFORMS = frozenset(["--version", "-V", "-v", "--help", "-h", "-version", "--versions"])
_SED_VALUES = ("--file", "--line-length")
_AWK_VALUES = ("--file", "--assign", "--field-separator", "--include", "--load", "--exec")
_NOWHERE = frozenset(["/dev/null", "-", "/dev/stdout"])
_INPUT = frozenset(["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
_REMOTE_HELPER = re.compile(r"[A-Za-z0-9+.\-]+::|[a-z+]+://-")
_NPX_SWITCHES = frozenset(["-y", "--yes", "--no", "--no-install", "-q", "--quiet", "-s", "--silent", "--offline", "--"])
_CODE_MODULES = frozenset(["timeit", "pdb", "code", "asyncio"])
_WRITE_OUT = re.compile(r"-[^-]*w@|--write-[a-z]*=?@")
_NUMBER_SET = re.compile(r"%(?:%|[#'+\- 0]*(?:[0-9]+|\*)?(?:\.(?:[0-9]+|\*)?)?[hjlLtz]*(n)?)")


@dataclass(frozen=True, slots=True)
class Hit:
    """Words `first` to `last` of a command do more than its rule may have meant; `why` says what."""

    first: int
    last: int
    why: str


@lru_cache(maxsize=1024)
def program_of(name: str) -> tuple[str, Program | None]:
    """The base name as the table knows it, and its entry."""
    base = fold_name(name.rpartition("/")[2])
    if base not in PROGRAMS and base not in _NUMBERED and not base.isalpha():
        base = _VERSION.sub("", base)
    return base, PROGRAMS.get(base)


@dataclass(frozen=True, slots=True)
class _Index:
    """What a word must look like to be worth a closer look. `longs` are the long options, each behind a line end.

    `heads` are the letters that a word begins with which is no whole one of `words`.
    """

    longs: str
    letters: frozenset[str]
    words: frozenset[str]
    starts: tuple[str, ...]
    heads: frozenset[str]
    always: bool

    def span(self, argv: Sequence[str]) -> Sequence[int]:
        """Which of the words may be options of the table; the name of the program is none."""
        if self.always:
            return range(1, len(argv))
        heads, words = self.heads, self.words
        return [
            at for at, word in enumerate(argv) if at and (word in words or (word[:1] in heads and self._may_hit(word)))
        ]

    def _may_hit(self, word: str) -> bool:
        if word.startswith(self.starts):
            return True
        if not word.startswith("-"):
            return False
        typed = word.partition("=")[0]
        if typed.startswith("--"):
            return len(typed) > 2 and ("\n" + typed in self.longs or typed[1:] in self.words)
        return typed in self.words or not self.letters.isdisjoint(word[1:])


@cache
def _index(base: str) -> _Index:
    names = [
        part.lstrip("^")
        for row in PROGRAMS[base].rows
        for option in row.options
        for part in option.rstrip(":…").split(":")
    ]
    starts = tuple(name for name in names if name.endswith("=") or name == "+")
    return _Index(
        longs="".join("\n" + name for name in names if name.startswith("--")),
        letters=frozenset(name[1] for name in names if len(name) == 2 and name[0] == "-"),
        words=frozenset(name for name in names if not name.startswith("--")),
        starts=starts,
        heads=frozenset(["-", *(start[0] for start in starts)]),
        always="*" in names or PROGRAMS[base].bundle,
    )


@lru_cache(maxsize=512)
def escapes(argv: tuple[str, ...]) -> tuple[Hit, ...]:
    """Everything in a command that only a rule which spells it out covers."""
    return tuple(_escapes(argv))


def _escapes(argv: Sequence[str]) -> list[Hit]:
    base, program = program_of(argv[0]) if argv else ("", None)
    if program is None:
        return []
    if program.interpreter:
        return list(_interpreter(argv, program))
    index = _index(base)
    span = index.span(argv)
    found = list(_rows(argv, program, span, base)) if span or index.always else []
    if program.text:
        found += _texts(argv, base)
    if base == "git":
        found += (
            Hit(at, at, "a remote helper runs a command") for at, word in enumerate(argv) if _REMOTE_HELPER.match(word)
        )
    elif base == "curl":
        found += (Hit(at, at, "its format may write a file") for at in range(1, len(argv)) if _writes_out(argv, at))
    elif base == "printf":
        found += _sets_number(argv)
    return found


def _writes_out(argv: Sequence[str], at: int) -> bool:
    """True for a format of `curl -w` that names a file to write, or is read from a file that may."""
    word, before = argv[at], argv[at - 1]
    if "%output{" in word or _WRITE_OUT.match(word):
        return True
    return word.startswith("@") and _WRITE_OUT.match(before + "@") is not None


def sets_number(text: str) -> bool:
    """True for a format of printf that writes into a variable: `%n`, with a width and the like or without."""
    return "n" in text and any(found[1] for found in _NUMBER_SET.finditer(text))


def _sets_number(argv: Sequence[str]) -> list[Hit]:
    """`printf %n PATH`: the variable that it sets may change what later commands mean."""
    at = 2 if argv[1:2] == ["--"] or argv[1:2] == ("--",) else 1
    if at + 1 < len(argv) and sets_number(argv[at]):
        return [Hit(at, len(argv), "%n sets a variable")]
    return []


def _takes_short_value(option: str) -> bool:
    return option.endswith(":") and option[-3:-2] == "-" and option[-4:-3] in ("", "^", ":")


def _rows(argv: Sequence[str], program: Program, span: Sequence[int], base: str) -> Iterator[Hit]:
    subcommands = _subcommands(argv, base) if program.subcommands else []
    values = program.values + "".join(
        option[-2] for row in program.rows for option in row.options if _takes_short_value(option)
    )
    for row in program.rows:
        for option in row.options:
            if option == "*":
                yield Hit(0, len(argv), row.why)
                continue
            yield from _one_option(argv, program, row, option, span, subcommands, values)


def _one_option(
    argv: Sequence[str],
    program: Program,
    row: Escape,
    option: str,
    span: Sequence[int],
    subcommands: list[int],
    values: str,
) -> Iterator[Hit]:
    """Where one option of one row occurs."""
    rest = option.endswith("…")
    takes = option.endswith(":")
    name = option.rstrip(":…")
    if name.startswith("^"):
        name = name[1:]
        span = [index for index in span if not subcommands or index < subcommands[0]]
    owner, colon, inner = name.partition(":")
    if colon:
        if not any(argv[index] == owner for index in subcommands):
            return
        # A letter that takes a value elsewhere may be a plain flag here (`git grep -nO`), so a cluster is read to its
        # end. `-X` (`git merge -Xours`) takes one wherever it exists.
        name, values = inner, "X"
    for index in span:
        word = argv[index]
        where = _matches(word, name, program, values, bundled=index == 1 and word[:1] not in ("-", ""))
        if where is None and not name.startswith(("-", "+")) and not name.endswith("="):
            expected = [at + 1 for at in subcommands] if colon else subcommands
            where = "" if word == name and (index in expected or not program.subcommands) else None
        if where is None or (name == "-p" and _plugin_off(argv, index, where)):
            continue
        value = where or (argv[index + 1] if takes and index + 1 < len(argv) else "")
        if row.writes and value in _NOWHERE:
            continue
        last = len(argv) if rest else index + (1 if takes and not where else 0)
        yield Hit(index, last, row.why)


def _plugin_off(argv: Sequence[str], index: int, value: str) -> bool:
    """`pytest -p no:name` switches a plugin off."""
    following = argv[index + 1] if index + 1 < len(argv) else ""
    return program_of(argv[0])[0] in ("pytest", "py.test") and (value or following).startswith("no:")


def _matches(word: str, name: str, program: Program, values: str, *, bundled: bool) -> str | None:
    """The value glued to an option (empty when there is none) if `word` is that option, else None."""
    if name.startswith("--"):
        return _long(word, name, program)
    if name == "+":
        return "" if word.startswith("+") else None
    if name.endswith("="):
        return word[len(name) :] if word.startswith(name) else None
    if program.bundle and len(name) == 2 and bundled:
        return "" if name[1] in word else None
    if not name.startswith("-") or not word.startswith("-"):
        return None
    if len(name) > 2 or program.dashwords:
        typed, equals, value = word.partition("=")
        if typed == name or (program.dashwords and typed == "-" + name):
            return value if equals else ""
        if len(name) == 2 and name[1] in program.glued and word.startswith(name):
            return word[2:]
        return None
    if word.startswith("--"):
        return None
    for at, letter in enumerate(word[1:], 1):
        if letter == name[1]:
            return word[at + 1 :]
        if letter in values:
            return None
    return None


def _long(word: str, name: str, program: Program) -> str | None:
    """A long option; any beginning of it counts."""
    if not word.startswith("--") or len(word) < 3:
        return None
    typed, equals, value = word.partition("=")
    if not name.startswith(typed) or (typed in program.safe and typed != name):
        return None
    return value if equals else ""


def _subcommands(argv: Sequence[str], base: str) -> list[int]:
    """Where the sub-command may stand: the first operand, and the next one if the first may be an option's value."""
    if base == "git":
        at = git_subcommand(argv)
        return [at] if at < len(argv) else []
    if base == "npx":
        return _npx_package(argv)
    found: list[int] = []
    for index in range(1, len(argv)):
        if argv[index].startswith(("-", "+")):
            continue
        found.append(index)
        before = argv[index - 1]
        if not (before.startswith("-") and "=" not in before and index > 1):
            break
    return found


def _npx_package(argv: Sequence[str]) -> list[int]:
    """Where `npx` names the program that it runs, behind which all belongs to that one.

    Options that are no known switches may take a value.
    """
    for index in range(1, len(argv)):
        option = argv[index - 1] if index > 1 else ""
        takes = option.startswith("-") and "=" not in option and option not in _NPX_SWITCHES
        if not argv[index].startswith("-") and not takes:
            return [index]
    return []


def _interpreter(argv: Sequence[str], program: Program) -> Iterator[Hit]:
    """Options up to the script; those behind it belong to the script."""
    values = program.values + "".join(
        option[-2] for row in program.rows for option in row.options if _takes_short_value(option)
    )
    index, script = 1, -1
    while index < len(argv):
        word = argv[index]
        if not word.startswith(("-", "+")) or word in _INPUT:
            script = index
            break
        if word.startswith("-m") and program is PROGRAMS["python"]:
            script = index + (1 if word == "-m" else 0)
            yield from _module(argv, script, word)
            break
        letters = "" if word.startswith("--") else word[1:]
        takes = next((at for at, letter in enumerate(letters) if letter in values), -1)
        index += 2 if takes >= 0 and takes == len(letters) - 1 else 1
    end = min(index, len(argv))
    found = [*_rows(argv, program, range(1, end), ""), *_words_before_script(argv, program, script)]
    yield from found
    if (script < 0 and not found and _INFORMS.isdisjoint(argv[1:])) or (script >= 0 and argv[script] in _INPUT):
        yield Hit(0, len(argv), "without a script it runs what it reads")


def _words_before_script(argv: Sequence[str], program: Program, script: int) -> Iterator[Hit]:
    """Sub-commands of interpreters that have some (`deno eval`)."""
    for row in program.rows:
        for option in row.options:
            if not option.startswith(("-", "+")) and 0 <= script < len(argv) and argv[script] == option.rstrip("…:"):
                yield Hit(script, len(argv), row.why)


def _module(argv: Sequence[str], at: int, word: str) -> Iterator[Hit]:
    """`python -m pytest …` is judged as pytest."""
    name = argv[at] if word == "-m" and at < len(argv) else word[2:]
    if name in _CODE_MODULES:
        yield Hit(at, at, "the module runs code from its words or its input")
    if name in PROGRAMS and not PROGRAMS[name].interpreter:
        for hit in _escapes([name, *argv[at + 1 :]]):
            yield Hit(hit.first + at, min(hit.last + at, len(argv)), hit.why)


def _texts(argv: Sequence[str], base: str) -> Iterator[Hit]:
    """The sed scripts and awk programs among the operands."""
    sed = base.endswith("sed")
    harmless = sed_is_harmless if sed else awk_is_harmless
    for index, offset in text_operands(argv, sed=sed):
        if not harmless(argv[index][offset:]):
            yield Hit(index, index, "the program in it may run commands or write files")


def text_operands(argv: Sequence[str], *, sed: bool) -> list[tuple[int, int]]:
    """The words that hold program text: their index, and the offset at which it begins in the word."""
    given: list[tuple[int, int]] = []
    first = -1
    index = 1
    while index < len(argv):
        word = argv[index]
        if word == "--":
            first = index + 1 if first < 0 else first
            break
        if not word.startswith("-") or word == "-":
            first = index if first < 0 else first
            index += 1
            continue
        step, text = (_long_text if word.startswith("--") else _short_text)(word, sed)
        if text is not None:
            given.append((index + 1, 0) if step == 2 else (index, text))
        index += step
    scripts = given or ([(first, 0)] if first >= 0 else [])
    return [(index, offset) for index, offset in scripts if index < len(argv)]


def _long_text(word: str, sed: bool) -> tuple[int, int | None]:
    """How many words a long option takes, and where program text begins, if it is one that holds it."""
    name, equals, _ = word.partition("=")
    is_text = ("--expression" if sed else "--source").startswith(name) and len(name) > 2
    takes = is_text or any(long.startswith(name) for long in (_SED_VALUES if sed else _AWK_VALUES))
    return (2 if takes and not equals else 1), (len(name) + 1 if is_text else None)


def _short_text(word: str, sed: bool) -> tuple[int, int | None]:
    """The same for a cluster of short options. `-i` and `-s` of sed end one: what follows is a suffix or a size."""
    values = "efl" if sed else "vFefiIlEW"
    at = next((at for at, letter in enumerate(word) if at and (letter in values or (sed and letter == "i"))), -1)
    if at < 0:
        return 1, None
    alone = at == len(word) - 1 and word[at] in values
    return (2 if alone else 1), (at + 1 if word[at] == "e" else None)


def glob_asks(words: Sequence[Word]) -> bool:
    """True when an unquoted glob may expand to something that the escape table lists."""
    if all(word.glob < 0 for word in words):
        return False
    base, program = program_of(words[0].text)
    if base == "npx" and (package := _npx_package([word.text for word in words])):
        before, behind = words[1 : package[0]], words[package[0] :]
        again = program_of(behind[0].text)[0] == base
        return again or any(word.glob >= 0 for word in before) or glob_asks(behind)
    seconds = base in WRITES_SECOND
    for index, word in enumerate(words):
        if word.glob < 0:
            continue
        if index == 0:
            return True
        if program is None and not seconds:
            continue
        head = word.text[: word.glob]
        if seconds or not head or head.startswith(("-", "+")) or "=" in head:
            return True
        if program is None:
            continue
        if program.text and any(
            index == at for at, _ in text_operands([each.text for each in words], sed=base.endswith("sed"))
        ):
            return True
        first_operand = all(each.text.startswith("-") for each in words[1:index])
        if first_operand and (program.subcommands or program.bundle):
            return True
    return False
