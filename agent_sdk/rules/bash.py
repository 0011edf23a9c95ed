"""Does a Bash rule cover a command? A deliberately simple reading, on the safe side.

Allow: only a plain command, one without any operator, quote, expansion, glob or redirection. Deny and ask: every word
is tried as the name of a command, in several readings of quotes and escapes; no limit ever makes a deny miss.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from agent_sdk.rules.escapes import RESERVED, SHELLS, WRAPPERS, named, refusal
from agent_sdk.rules.globs import fits, pieces
from agent_sdk.rules.rule import Rule
from agent_sdk.rules.spelling import folded, hidden

LONGEST = 10_000
MOST_PARTS = 50
DEEPEST = 100
_LONGEST_KEY = 4

_PLAIN = re.compile(r"[A-Za-z0-9_./,:@%+=\- \t]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_OPERATORS = re.compile(r"[;&|\n()`<>]+")
_SIMPLE_EXPANSION = re.compile(r"\$(?:\{[A-Za-z_0-9@*#?!$-]*\}|[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?!$-])")
_IFS = re.compile(r"\$(?:\{IFS[^}\s]{0,200}\}|IFS\b)")
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|[abefnrtv])")
_WORD = r"""((?:[^\s;&|<>()'"`\\]|\\.|'[^']*'|"[^"]*"|\$\()*)"""
_OUTPUT = re.compile(r">[>|&!]*[ \t]*" + _WORD)
_INPUT = re.compile(r"(?<!<)<(?!<)[&]*[ \t]*" + _WORD)
_REDIRECTION = re.compile(r"(?:(?<![^\s;&|()])[0-9]+)?[<>][<>|&!]*[ \t]*" + _WORD)
_COMMENT = re.compile(r"(?<![^\s;&|()])#[^\n]*")
_HERE = re.compile(r"<<-?[ \t]*(?:\\|'|\")?([A-Za-z0-9_]+)")
_UNFINISHED = re.compile(r"(?:\|\||&&|\||[<>]|(?<!\\)\\)\s*$|\|\s+\||^\s*[|&;]|&&\s*[|&;]|;\s*;|\|\s*[;&]")
_LOOKED_UP = re.compile(r"[$`*?\[~{}]")
_OTHER_CALLERS = named("find fd time coproc mapfile readarray compgen complete bind trap")
_GIT_WITH_VALUE = named("-c -C --git-dir --work-tree --namespace --exec-path --config-env --super-prefix")


@dataclass(frozen=True, slots=True)
class Part:
    """The words between two operators, in one reading.

    `low` are they, folded; `forms` what each may be called, whole and cut to the base name; `text` is `low` joined with
    blanks, and `ends` tells where each word ends in it; `based` is the same with base names.
    """

    words: tuple[str, ...]
    forms: tuple[tuple[str, ...], ...]
    text: str
    based: str
    ends: tuple[int, ...]
    low: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BashReading:
    """A command as rules see it.

    `plain_words`: the words of a plain command, else `None`. `parts`: every reading for deny. `names`: all words of
    these, folded, whole and cut to the base name. `odd`: why not even a bare `Bash` covers it. `unknown`: why the names
    of its commands cannot be told, which matters once a command is denied. `outputs` and `inputs` are what may be
    targets of redirections, quotes removed; `loose_output` is one that only the shell knows.
    """

    command: str
    names: frozenset[str]
    plain_words: tuple[str, ...] | None
    parts: tuple[Part, ...]
    odd: str | None
    unknown: str | None
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    loose_output: str | None


def read_command(command: str) -> BashReading:
    """Read a command. Never raises; the last readings of commands of a usual length are kept."""
    return _kept(command) if len(command) <= LONGEST else _read(command)


@lru_cache(maxsize=512)
def _kept(command: str) -> BashReading:
    return _read(command)


def _read(command: str) -> BashReading:
    joined = command.replace("\\\n", "")
    raw_outputs = [target for target in _OUTPUT.findall(joined) if not target.isdigit() and target not in ("", "-")]
    outputs = tuple(dict.fromkeys(_unquoted(target) for target in raw_outputs))
    loose = next((target for target in raw_outputs if _LOOKED_UP.search(target) or "(" in target), None)
    parts = tuple(_parts(joined))
    return BashReading(
        command=command,
        names=frozenset(form for part in parts for forms in part.forms for form in forms),
        plain_words=_plain_words(command),
        parts=parts,
        odd=_odd(command),
        unknown=_unknown(joined),
        outputs=outputs,
        inputs=tuple(dict.fromkeys(_unquoted(target) for target in _INPUT.findall(joined) if target)),
        loose_output=loose,
    )


def _plain_words(command: str) -> tuple[str, ...] | None:
    if len(command) > LONGEST or not _PLAIN.fullmatch(command):
        return None
    words = tuple(command.split())
    if not words or words[0] in RESERVED or words[0].startswith("-") or _ASSIGNMENT.match(words[0]):
        return None
    return words


def _odd(command: str) -> str | None:
    """Why the command cannot be trusted to be what it looks like."""
    if len(command) > LONGEST:
        return f"the command is longer than {LONGEST} characters"
    if hidden(command.replace("\n", " ").replace("\t", " ")):
        return "the command holds characters that cannot be seen"
    if re.search(r"^[ \t]*\\", command, re.MULTILINE):
        return "a line of the command begins with a backslash"
    if not command.strip():
        return "the command is empty"
    if sum(operator[0] not in "<>" and not text.isspace() for operator, text in _stretches(command)) > MOST_PARTS:
        return f"the command has more than {MOST_PARTS} parts"
    if command.endswith("\\") or _UNFINISHED.search(command) or not _balanced(command):
        return "the command cannot be parsed"
    lines = [line.strip() for line in command.split("\n")]
    if any(delimiter not in lines[1:] for delimiter in _HERE.findall(command)):
        return "a here-document is never ended"
    return None


def _balanced(command: str) -> bool:
    """True when quotes and brackets close, and are not nested too deeply. Quotes inside `$( )` are taken as outside."""
    closing: list[str] = []
    quote = ""
    position = 0
    while position < len(command):
        char = command[position]
        if quote == "'":
            quote = "" if char == "'" else quote
        elif char == "\\":
            position += 1
        elif quote == '"' and char == '"':
            quote = ""
        elif not quote and char in "'\"":
            quote = char
        elif not quote and char in "({":
            closing.append(")" if char == "(" else "}")
        elif not quote and char in ")}" and (not closing or closing.pop() != char):
            return False
        if len(closing) > DEEPEST:
            return False
        position += 1
    return not quote and not closing and command.count("`") % 2 == 0 and command.count("$(") <= DEEPEST


def _unknown(joined: str) -> str | None:
    """Why a denied command could hide behind a name that only the shell knows."""
    if "`" in joined:
        return "the command holds backticks"
    calls_others = False
    for operator, stretch in _stretches(joined):
        words = stretch.split()
        if (operator[-1:] in "<>" or (words and _ASSIGNMENT.match(words[0]))) and _LOOKED_UP.search(stretch):
            return f"it cannot be told which word of {stretch.strip()!r} is the name of a command"
        while words and (words[0] in RESERVED or _ASSIGNMENT.match(words[0]) or words[0].isdigit()):
            words.pop(0)
        if words and (_LOOKED_UP.search(words[0]) or not words[0].isascii()):
            return f"the name of the command {words[0]!r} is not static"
        for word in stretch.split():
            base = folded(re.sub(r"['\"\\]", "", word).rpartition("/")[2])
            if base in SHELLS or base in ("eval", "source", "."):
                return f"{base} may run anything"
            calls_others = calls_others or base in WRAPPERS or base in _OTHER_CALLERS
    if calls_others and _LOOKED_UP.search(joined.replace("{}", "")):
        return "a command that runs its operands is given words that are not static"
    return None


def _stretches(joined: str) -> Iterator[tuple[str, str]]:
    """The texts between operators, each with the operator before it."""
    here = 0
    operator = ";"
    for found in _OPERATORS.finditer(joined):
        yield operator, joined[here : found.start()]
        operator, here = found[0], found.end()
    yield operator, joined[here:]


def _parts(joined: str) -> Iterator[Part]:
    """The parts of every reading, each once."""
    seen: set[tuple[str, ...]] = set()
    for reading in _readings(joined):
        for stretch in _OPERATORS.split(reading):
            words = tuple(stretch.split())
            for form in (words, _without_git_options(words)):
                if form and form not in seen:
                    seen.add(form)
                    yield _part(form)


def _readings(joined: str) -> Iterable[str]:
    """The text with quotes, escapes and expansions taken in several ways."""
    text = _IFS.sub(" ", joined)
    text = re.sub(r"\$(?:\{HOME\}|HOME\b)", "~", text)
    text = re.sub(r"\$(?:\{PWD\}|PWD\b)", ".", text)
    decoded = _ESCAPE.sub(_decoded, text) if "\\" in text else text
    found = []
    for one in dict.fromkeys((text, decoded)):
        found.append(re.sub(r"['\"\\${}]", "", _SIMPLE_EXPANSION.sub("", one)))
        if _REDIRECTION.search(one) or "#" in one:
            quiet = _COMMENT.sub("", _REDIRECTION.sub(" ", one))
            found.append(re.sub(r"['\"\\${}]", "", _SIMPLE_EXPANSION.sub("", quiet)))
        cut = re.sub(r"\$\{[A-Za-z_0-9]+:?[-+=?]", "\n", one)
        found.append(re.sub(r"['\"\\${}=,]", " ", _SIMPLE_EXPANSION.sub("", cut)))
    return dict.fromkeys(found)


def _decoded(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xuU":
        number = int(code[1:], 16)
    elif code[0] in "01234567":
        number = int(code, 8)
    else:
        return "\n"
    return chr(number) if 0 < number < 0x110000 else ""


def _part(words: tuple[str, ...]) -> Part:
    low = tuple(map(folded, words))
    bases = tuple(word.rpartition("/")[2].removesuffix(".exe") or word for word in low)
    ends = []
    here = 0
    for word in low:
        here += len(word)
        ends.append(here)
        here += 1
    forms = tuple((word,) if word == base else (word, base) for word, base in zip(low, bases, strict=True))
    return Part(words, forms, " ".join(low), " ".join(bases), tuple(ends), low)


def _without_git_options(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words with options between `git` and its sub-command left out."""
    if len(words) < 3:
        return words
    kept: list[str] = []
    after_git = skip = False
    for word in words:
        if skip:
            skip = False
            continue
        if after_git and word.startswith("-"):
            skip = word in _GIT_WITH_VALUE
            continue
        after_git = folded(word.rpartition("/")[2]).removesuffix(".exe") == "git"
        kept.append(word)
    return tuple(kept)


def _unquoted(word: str) -> str:
    text = re.sub(r"\$(?:\{HOME\}|HOME\b)", "~", word)
    text = re.sub(r"\$(?:\{PWD\}|PWD\b)", ".", text)
    return re.sub(r"['\"\\$]", "", _SIMPLE_EXPANSION.sub("", text))


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPattern:
    """The pattern of one Bash rule.

    `ways`: pieces between stars; any of them will do (a trailing ` *` also covers the bare word). `spelled`: how many
    leading words are given in full, `key`: the first of them, `begun`: the word that a star goes on with. `wildcard`: a
    star covers part of the command.
    """

    rule: Rule
    ways: tuple[tuple[str, ...], ...]
    key: tuple[str, ...]
    spelled: int = 0
    begun: str = ""
    wildcard: bool


def compile_command(rule: Rule) -> CommandPattern:
    """The pattern of a Bash rule with a specifier. In allow an empty prefix or a leading blank matches nothing."""
    allow = rule.behavior == "allow"
    text = rule.specifier or ""
    if text.endswith(":*"):
        text = text[:-2] + " *"
    if allow and text.startswith((" ", "\t")):
        return CommandPattern(rule=rule, ways=(), key=(), wildcard=True)
    text = " ".join(text.split())
    parts = pieces(text if allow else _folded_pattern(text))
    ways = [parts]
    if len(parts) > 1 and not parts[-1] and parts[-2].endswith(" "):
        ways.append((*parts[:-2], parts[-2][:-1]))
    if not allow and parts == ("", ""):
        ways = [("", "")]
    head = parts[0]
    full = head.split() if len(parts) == 1 or head.endswith(" ") else head.split()[:-1]
    if not allow and full and "\\" in text:
        full = []
    return CommandPattern(
        rule=rule,
        ways=tuple(ways),
        key=tuple(full[:_LONGEST_KEY]),
        spelled=len(full),
        begun=head.rpartition(" ")[2],
        wildcard=len(parts) > 1 or not parts[0],
    )


def _folded_pattern(text: str) -> str:
    return " ".join(folded(word) for word in text.replace("'", "").replace('"', "").split())


def covers_allow(pattern: CommandPattern, reading: BashReading) -> bool:
    """True when the pattern covers a plain command, and what its stars cover neither runs programs nor writes files."""
    words = reading.plain_words
    if words is None:
        return False
    text = " ".join(words)
    if not any(fits(way, text) for way in pattern.ways):
        return False
    if not pattern.wildcard:
        return True
    return refusal(words, pattern.spelled) is None


def covers_deny(pattern: CommandPattern, reading: BashReading) -> bool:
    """True when the pattern covers the command at any word, in any reading."""
    return any(_covers_part(pattern, part) for part in reading.parts)


def _covers_part(pattern: CommandPattern, part: Part) -> bool:
    """With a star the earliest place decides: the star would take what lies between it and a later one."""
    for way in pattern.ways:
        first, blank, _ = way[0].partition(" ")
        if not blank and len(way) > 1:
            if _covers_loosely(way, part):
                return True
            continue
        rest = (way[0][len(first) :], *way[1:])
        for place, forms in enumerate(part.forms):
            if first in forms and part.text.startswith(rest[0], part.ends[place]):
                if fits(rest, part.text, part.ends[place]):
                    return True
                if len(rest) > 1:
                    break
    return False


def _covers_loosely(way: tuple[str, ...], part: Part) -> bool:
    """A pattern whose first word has a star in it."""
    for text in (part.text, part.based):
        start = 0 if text.startswith(way[0]) else text.find(" " + way[0]) + 1
        if (start or text.startswith(way[0])) and fits(way, text, start):
            return True
    return False


class CommandRules:
    """Bash rules of one behaviour, found by the words that they begin with."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._patterns = [compile_command(rule) for rule in rules]
        self._exact: dict[str, int] = {}
        self._by_key: dict[tuple[str, ...], list[int]] = {}
        for number, pattern in enumerate(self._patterns):
            if not pattern.wildcard and pattern.rule.behavior == "allow":
                self._exact.setdefault(pattern.ways[0][0], number)
            else:
                self._by_key.setdefault(pattern.key, []).append(number)
        self._longest = max(map(len, self._by_key), default=0)
        self._first_words = {key[0] for key in self._by_key if key}

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def allowing(self, reading: BashReading) -> Iterator[CommandPattern]:
        """The patterns that cover a plain command, exact ones first."""
        words = reading.plain_words
        if words is None:
            return
        exact = self._exact.get(" ".join(words))
        if exact is not None:
            yield self._patterns[exact]
        for size in range(min(self._longest, len(words)) + 1):
            for number in self._by_key.get(words[:size], ()):
                if covers_allow(self._patterns[number], reading):
                    yield self._patterns[number]

    def _keys_at(self, first: str, reading: BashReading) -> Iterator[tuple[str, ...]]:
        """All keys that the command may meet where a word may be called `first`."""
        for part in reading.parts:
            for place, forms in enumerate(part.forms):
                if first in forms:
                    for size in range(1, self._longest + 1):
                        yield (first, *part.low[place + 1 : place + size])

    def denying(self, reading: BashReading) -> Rule | None:
        """The first rule that covers the command at any word."""
        if not self._patterns:
            return None
        near = set(self._by_key.get((), ()))
        for first in reading.names & self._first_words:
            for key in self._keys_at(first, reading):
                near.update(self._by_key.get(key, ()))
        found = (self._patterns[number] for number in sorted(near))
        return next((pattern.rule for pattern in found if covers_deny(pattern, reading)), None)
