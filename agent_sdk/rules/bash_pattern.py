"""The pattern of a Bash rule, and commands written back as one line of words for it to match.

A line is words with `SEPARATOR` between them, so a blank inside a word is never a boundary. In lines for allow rules
a character that no wildcard may cross stands before what is only known at run time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent_sdk.rules.shell_nodes import Word, has_brace_list
from agent_sdk.rules.shell_text import ASSIGNMENT, NAME
from agent_sdk.values import lazy

SEPARATOR = "\x1f"
BARE, QUOTED, ASSIGNED = "\x01", "\x02", "\x03"
_STAR = "\x05"
_SPECIAL_IN_RULE = re.compile(r"[*()\[\]\\]")
_NEEDS_NO_QUOTES = re.compile(r"[^\s'\"$`|&;<>{}#~=]+|[^\s'\"$`|&;<>{}#~]*[-/.:][^\s'\"$`|&;<>{}#~]*")
_OPERATORS = re.compile("[;&|<>(){}]+|\n")
_BLANKS = re.compile(r"\s+")
_CLOSED = re.compile("[\x01\x02\x03]")


@dataclass(frozen=True)  # no slots: what is worked out of it is kept with it
class BashPattern:
    """What the specifier of a Bash rule covers.

    `pieces` is the text between its wildcards; one piece only: an exact rule. `tail` is true when it ends in ` *` or
    `:*`: then nothing at all, or a further word, may follow. `operators` marks a text that holds operators, which is
    no simple command; it is looked for in the raw line, in deny and ask only.
    """

    pieces: tuple[str, ...]
    tail: bool
    operators: bool = False

    @lazy
    def exact(self) -> bool:
        """True when the rule has no wildcard."""
        return len(self.pieces) == 1 and not self.tail

    @lazy
    def spelled(self) -> int:
        """How many whole words the author wrote out before the first wildcard."""
        head = self.pieces[0]
        if not head:
            return 0
        whole = len(self.pieces) == 1 or head.endswith(SEPARATOR)
        return len(head.strip(SEPARATOR).split(SEPARATOR)) - (0 if whole else 1)

    @lazy
    def spelled_words(self) -> int:
        """`spelled` without assignments."""
        return self.spelled - sum(piece.startswith(ASSIGNED) for piece in self.first_words(self.spelled))

    def first_words(self, count: int) -> tuple[str, ...]:
        """The first `count` words that are spelled out."""
        return tuple(self.pieces[0].split(SEPARATOR)[:count])

    @lazy
    def _raw_pieces(self) -> tuple[str, ...]:
        """What must stand in a raw line, in this order; at its ends there are whole words."""
        pieces = [_spaced(piece.replace(SEPARATOR, " ")) for piece in self.pieces]
        pieces[0] = f" {pieces[0].lstrip(' ')}"
        if pieces[-1] or len(pieces) == 1:
            pieces[-1] = f"{pieces[-1].rstrip(' ')} "
        return tuple(pieces)

    def stands_in(self, raw: str) -> bool:
        """True when a `raw_line` holds it anywhere: whatever is put before or behind a line, its rule still counts."""
        at = 0
        for piece in self._raw_pieces:
            found = raw.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        return True

    def covers(self, line: str, *, across: bool) -> bool:
        """True when it covers the whole line. With `across` its wildcards also span what is only known at run time."""
        pieces = self.pieces
        head = pieces[0]
        if not line.startswith(head):
            return False
        if len(pieces) == 1:
            if len(line) == len(head):
                return True
            if not self.tail or line[len(head)] != SEPARATOR:
                return False
            return across or not (BARE in line or QUOTED in line or ASSIGNED in line) or _open(line, len(head))
        if self.tail:
            return self._spans(line, (*pieces[:-1], pieces[-1]), across) or self._spans(
                line, (*pieces[:-1], pieces[-1] + SEPARATOR, ""), across
            )
        return self._spans(line, pieces, across)

    def _spans(self, line: str, pieces: Sequence[str], across: bool) -> bool:
        """Leftmost search for each piece: no other choice can succeed where this one fails."""
        at = len(pieces[0])
        last = len(pieces) - 1
        for number, piece in enumerate(pieces[1:], 1):
            if number == last:
                found = len(line) - len(piece)
                if found < at or not line.endswith(piece):
                    return False
            else:
                found = line.find(piece, at)
                if found < 0:
                    return False
            if not across and not _open(line, at, found):
                return False
            at = found + len(piece)
        return True


def raw_line(command: str) -> str:
    """The raw text with blanks around words and operators, for rules that hold operators."""
    return f" {_spaced(command).strip(' ')} "


def _spaced(text: str) -> str:
    return _BLANKS.sub(" ", _OPERATORS.sub(r" \g<0> ", text))


def _open(line: str, start: int, end: int | None = None) -> bool:
    """True when a wildcard for what is certain may span this part of a line."""
    return _CLOSED.search(line, start, len(line) if end is None else end) is None


def compile_bash(specifier: str, *, wide: bool) -> BashPattern | None:
    """The pattern that a specifier says; `wide` for deny and ask. None when it can cover nothing."""
    text = specifier.rstrip(" \t\n")
    if not wide and (text.startswith(":*") or specifier[:1] in (" ", "\t", "")):
        return None
    tail = text.endswith(":*") and not text.endswith("\\:*")
    if tail:
        text = text[:-2]
    line, operators = _read(text.strip(" \t\n"))
    line = re.sub(f"{_STAR}+", _STAR, line)
    if line.endswith(SEPARATOR + _STAR):
        tail, line = True, line[:-2]
    if wide and tail and not line:
        return BashPattern(("", ""), False, operators)
    if wide:
        head, star, rest = line.partition(SEPARATOR)
        line = fold_name(head) + star + rest
    pieces = tuple(line.split(_STAR))
    if not wide and not any(pieces) and len(pieces) == 1:
        return None
    return BashPattern(pieces, tail, operators)


def fold_name(name: str) -> str:
    """How deny compares program names: case and a Windows suffix do not count."""
    return name.casefold().removesuffix(".exe")


def _read(text: str) -> tuple[str, bool]:
    """The specifier as a line: quotes and escapes resolved, `*` as a token, blanks as one separator."""
    out: list[str] = []
    word: list[str] = []
    shape: list[str] = []
    quote = ""
    operators = False
    position = 0

    def put(char: str, outline: str) -> None:
        word.append(char)
        shape.append(outline)

    while position < len(text):
        char = text[position]
        following = text[position + 1 : position + 2]
        position += 1
        if char == "\\" and following and (following in "*()[]\\" or (not quote or following in '$`"')):
            literal_backslash = quote == "'" and following in '$`"'
            put("\\" + following if literal_backslash else following, "\0")
            position += 1
        elif char == "*":
            put(_STAR, _STAR)
        elif quote:
            if char == quote:
                quote = ""
            elif char == "$" and quote == '"' and (NAME.match(following) or following in ("{", "?", "#", "!", "@")):
                put(QUOTED + char, "\0")
            else:
                put(char, "\0")
        elif char in "'\"":
            quote = char
            shape.append("\0")
        elif char in " \t\n":
            _finish(word, shape, out)
        elif char == "$" and (NAME.match(following) or following in ("{", "?", "#", "!", "@", "(")):
            put(BARE + char, "\0")
        else:
            operators = operators or char in "|&;<>"
            put(char, char)
    _finish(word, shape, out)
    return SEPARATOR.join(out), operators


def _finish(word: list[str], shape: list[str], out: list[str]) -> None:
    """Closes one word of the specifier."""
    if not word and not shape:
        return
    text, outline = "".join(word), "".join(shape)
    assigned = ASSIGNMENT.match(outline) and all(before.startswith(ASSIGNED) for before in out)
    if has_brace_list(outline):
        text = BARE + text
    out.append(ASSIGNED + text if assigned else text)
    word.clear()
    shape.clear()


def allow_line(words: Iterable[Word], assigns: Sequence[Word] = ()) -> str:
    """The line of a command for allow rules."""
    texts = [marked(word) if word.marks or word.brace else word.text for word in words]
    return SEPARATOR.join([*(ASSIGNED + marked(word) for word in assigns), *texts] if assigns else texts)


def marked(word: Word) -> str:
    """The text of a word, with a mark before each expansion and before a brace list."""
    if not word.marks:
        return BARE + word.text if word.brace else word.text
    out = [BARE] if word.brace else []
    at = 0
    for mark in word.marks:
        out += (word.text[at : mark.start], QUOTED if mark.quoted else BARE, word.text[mark.start : mark.end])
        at = mark.end
    out.append(word.text[at:])
    return "".join(out)


def exact_specifier(words: Iterable[Word], assigns: Iterable[Word] = ()) -> str | None:
    """The specifier that covers exactly this command; None when a word is only known at run time or holds a line end.

    Reading it back gives the line of the command again.
    """
    assigned, named = tuple(assigns), tuple(words)
    if any(word.dynamic or not word.text.isprintable() for word in (*assigned, *named)):
        return None
    before = [_assignment(word.text) for word in assigned]
    name = [_quoted(word.text, bare=not ASSIGNMENT.match(word.text)) for word in named[:1]]
    return " ".join([*before, *name, *(_quoted(word.text) for word in named[1:])]) or None


def _assignment(text: str) -> str:
    """An assignment as it is written in a rule: its name is never quoted."""
    name = ASSIGNMENT.match(text)
    head = name[0] if name else ""
    return head + (_quoted(text[len(head) :]) if text != head else "")


def _quoted(text: str, *, bare: bool = True) -> str:
    """A word as it is written in a rule: what a rule takes as special escaped, in quotes where `bare` will not do."""
    escaped = _SPECIAL_IN_RULE.sub(r"\\\g<0>", text)
    if bare and _NEEDS_NO_QUOTES.fullmatch(text):
        return escaped
    return "'" + escaped.replace("'", "'\\''") + "'"
