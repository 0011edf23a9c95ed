"""The plainest command lines, read in one pass: words with single blanks between them, lists, pipes, `2>&1`.

A command is plain only when the grammar and the strict lexer list the very same commands. For these lines that is
certain beforehand, so neither is asked:

- A word is made of characters that bash never takes for anything but themselves, wherever they stand: no quote, escape,
  expansion, glob, brace, tilde, comment or operator can begin in it. Or it is all in quotes, without what is special
  between those. It ends at a blank, at `;` before a blank, or with the line, so no two words can grow together.
- What makes bash read the rest in another way is left out: reserved words, assignments, `declare` and the like, a
  number before a redirection, line ends.
- Operators stand between commands and have a blank behind them, and redirections come last and are of a closed list.

What is left can be split in one way only: at the blanks. A property holds it against the full reading in the tests.
What feeds what is not told: a line with a pipe that may name a shell, which would run what it is fed, is left out too.
"""

from __future__ import annotations

import re

from agent_sdk.rules.shell_nodes import Redirect, Script, SimpleCommand, Word, plain_word
from agent_sdk.rules.shell_text import RESERVED
from agent_sdk.rules.wrappers import STDIN_SHELLS

_MAX_CHARS = 1_000
_MAX_COMMANDS = 20

_PLAIN = r"[A-Za-z0-9_./=,:@%+-]++"
_QUOTED = r"'[ -&(-~]*+'|\"[ !#%-\[\]-_a-~]*+\""
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
_LINE = re.compile(rf"{_COMMAND}(?:(?:;| ;| &&| \|\|| \|) {_COMMAND})*+")
_PIECE = re.compile(rf" ?(?:({_REDIRECT})|({_PLAIN})|({_QUOTED})|(;|&&|\|\|?))")
_SPECIAL = RESERVED | {"declare", "typeset", "export", "readonly", "local", "unset", "unsetenv", "=="}
"""Words that bash or the grammar reads in a way of their own: `==` is an operator to the grammar everywhere."""
_SHELL = re.compile(
    rf"(?:(?<![^ '\"/=])|-x)(?:{'|'.join(sorted(STDIN_SHELLS))}|dev/stdin|dev/fd/0)(?:\.exe)?/*(?=[ ;'\"]|\Z)",
    re.IGNORECASE,
)
_END = ("", "", "", ";")


def flat_script(text: str) -> Script | None:
    """The commands of one of the plainest lines; None for every other line."""
    if len(text) > _MAX_CHARS or _LINE.fullmatch(text) is None:
        return None
    if "|" in text and _SHELL.search(text):
        return None
    commands: list[SimpleCommand] = []
    words: list[Word] = []
    redirects: list[Redirect] = []
    for redirect, plain, quoted, _ in [*_PIECE.findall(text), _END]:
        if plain:
            if plain in _SPECIAL:
                return None
            words.append(plain_word(plain))
        elif quoted:
            words.append(Word(quoted[1:-1], quoted=True))
        elif redirect:
            redirects.append(_REDIRECTS[redirect])
        else:
            commands.append(SimpleCommand(tuple(words), (), tuple(redirects)))
            words, redirects = [], []
    return Script(tuple(commands)) if len(commands) <= _MAX_COMMANDS else None
