"""The plainest command lines, read in one pass: words with single blanks between them, lists, pipes, `2>&1`.

A command is plain only when the grammar and the strict lexer list the very same commands. For these lines that is
certain beforehand, so neither is asked:

- A word is made of characters that bash never takes for anything but themselves, wherever they stand: no quote, escape,
  expansion, glob, brace, tilde, comment or operator can begin in it. Or it is all in quotes, and between double ones
  nothing is special but plain variables, `$x` and `${x}`, and no blanks alone stand before one: the grammar takes these
  for a part of it. It ends at a blank, at `;` before a blank, or with the line, so no two words can grow together.
- What makes bash read the rest in another way is left out: reserved words, assignments, `declare` and the like, a
  number before a redirection, line ends.
- Operators stand between commands and have a blank behind them, and redirections come last and are of a closed list.

What is left can be split in one way only: at the blanks. A property holds it against the full reading in the tests.
What feeds what is not told, so a pipe may lead only into programs that are known not to run what they read.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain

from agent_sdk.rules.shell_nodes import Mark, Redirect, Script, SimpleCommand, Word, plain_word
from agent_sdk.rules.shell_text import RESERVED

_MAX_CHARS = 1_000
_MAX_COMMANDS = 20

_PLAIN = r"[A-Za-z0-9_./=,:@%+-]++"
_VARIABLE = r"\$(?:[A-Za-z_][A-Za-z0-9_]*+|\{[A-Za-z_][A-Za-z0-9_]*+\})"
_TEXT = r" *+[!#%-\[\]-_a-~][ !#%-\[\]-_a-~]*+"
_QUOTED = rf"'[ -&(-~]*+'|\"(?:{_TEXT}|{_VARIABLE})*+ *+\""
_REDIRECTS = {
    text: Redirect(op, fd, plain_word(target))
    for text, op, fd, target in (
        ("2>&1", ">&", "2", "1"),
        ("1>&2", ">&", "1", "2"),
        (">&2", ">&", "", "2"),
        (">/dev/null", ">", "", "/dev/null"),
        ("2>/dev/null", ">", "2", "/dev/null"),
        ("&>/dev/null", "&>", "", "/dev/null"),
    )
}
_REDIRECT = "|".join(map(re.escape, _REDIRECTS))
_COMMAND = rf"[A-Za-z_./][A-Za-z0-9_./+-]*+(?: (?:{_PLAIN}|{_QUOTED})(?=[ ;]|\Z))*+(?: (?:{_REDIRECT}))*+"
_COMMANDS = re.compile(rf"({_COMMAND})((?:;| ;| &&| \|\|| \|) |)")
_VARIABLES = re.compile(_VARIABLE)
_WORDS = re.compile(f"{_REDIRECT}|{_PLAIN}|{_QUOTED}")
_SPECIAL = RESERVED | {"declare", "typeset", "export", "readonly", "local", "unset", "unsetenv", "=="}
"""Words that bash or the grammar reads in a way of their own: `==` is an operator to the grammar everywhere."""
_FILTERS = frozenset(
    [
        *("head", "tail", "grep", "egrep", "fgrep", "rg", "sort", "uniq", "wc", "cut", "tr", "nl", "tac", "rev", "cat"),
        *("jq", "column", "fold", "fmt", "paste", "join", "comm", "diff", "od", "xxd", "hexdump", "base64"),
        *("md5sum", "sha256sum"),
    ]
)
"""Programs behind a pipe that run nothing of what they read."""


def flat_script(text: str) -> Script | None:
    """The commands of one of the plainest lines; None for every other line."""
    if len(text) > _MAX_CHARS:
        return None
    parts: list[tuple[str, str]] = _COMMANDS.findall(text)
    if not parts or parts[-1][1] or len("".join(chain.from_iterable(parts))) != len(text):
        return None  # there is something before, between or behind them
    commands: list[SimpleCommand] = []
    before = "; "
    for part, operator in parts:
        command = _command(part)
        if command is None or not before or (before == " | " and command.texts[0] not in _FILTERS):
            return None
        commands.append(command)
        before = operator
    return Script(tuple(commands)) if len(commands) <= _MAX_COMMANDS else None


@lru_cache(maxsize=512)
def _command(text: str) -> SimpleCommand | None:
    """One command of a flat line; None when a word in it has a meaning of its own."""
    sources = _WORDS.findall(text)
    if not _SPECIAL.isdisjoint(sources):
        return None
    redirects: list[Redirect] = []
    while sources[-1] in _REDIRECTS:
        redirects.insert(0, _REDIRECTS[sources.pop()])
    if "'" in text or '"' in text:
        return SimpleCommand(tuple(map(_word, sources)), (), tuple(redirects))
    command = SimpleCommand(tuple(map(plain_word, sources)), (), tuple(redirects))
    vars(command).update(texts=tuple(sources), static=True)  # as it would find, word by word
    return command


def _word(source: str) -> Word:
    """A word that may be all in quotes."""
    if source[0] not in "'\"":
        return plain_word(source)
    text = source[1:-1]
    if source[0] == "'" or "$" not in text:
        return Word(text, quoted=True)
    marks = [Mark(found.start(), found.end(), "param", True) for found in _VARIABLES.finditer(text)]
    return Word(text, tuple(marks), quoted=True)
