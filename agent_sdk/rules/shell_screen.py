"""What is refused before any parsing, because the grammar and bash would see different things or a person would."""

from __future__ import annotations

import re

MAX_CHARS = 10_000
MAX_COMMANDS = 50
MAX_NESTING = 100

# Control characters other than tab and newline; what has no width; what changes the direction of text; lone surrogates.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_LEADING_BACKSLASH = re.compile(r"(?:\A|\n)[ \t]*\\")
# The grammar's scanner looks for digits behind a brace, and behind `..` there, in a table of 256 entries: for a larger
# character it reads whatever lies behind the table, and the process may die of that.
_BEYOND_TABLE = re.compile(r"\{[0-9]*+(?:\.\.[0-9]*+)?[^\x00-\xff]")
# In double quotes bash 5 reads `$$(` twice: as `$$` and text, but when it looks for the closing quote, as the beginning
# of a substitution. `echo "$$("'")$(x)"'` runs `x`, out of single quotes. In backticks each `$` has a backslash more.
_READ_TWICE = re.compile(r"(?<![\\$])(?:\\\\)*+(?:\$\$)+[({]|\\\$\\+\$\\*[({]")
_NOT_JOINABLE = re.compile(r"(?:\A|[ \t\n;&|(])#|<<|\$'|\$\(|`|[<>]\(")
_JOIN_STEP = re.compile(r"'[^']*'|\"|\\(.)|[^'\"\\]+|'", re.DOTALL)


def refusal(command: str) -> str | None:
    """Why this text is not parsed at all, or None."""
    if len(command) > MAX_CHARS:
        return f"longer than {MAX_CHARS} characters"
    if not (command.isascii() and command.isprintable()) and _HIDDEN.search(command):
        return "it holds control or invisible characters"
    if "{" in command and not command.isascii() and _BEYOND_TABLE.search(command.replace("\\\n", "")):
        return "a character behind a brace that the grammar cannot take"
    if "\\" in command and _LEADING_BACKSLASH.search(command):
        return "a line begins with a backslash"
    if "$$" in command or "\\$" in command:
        return _read_twice(command)
    return None


def _read_twice(command: str) -> str | None:
    """Why `$$(` is refused behind a double quote, or None where there is none."""
    joined = command.replace("\\\n", "")
    quote = joined.find('"')
    if quote >= 0 and _READ_TWICE.search(joined, quote):
        return "bash reads $$( and $${ in double quotes in two ways"
    return None


def join_lines(command: str) -> str | None:
    """The command with each backslash-newline outside single quotes taken out, as bash does first.

    None when it also holds a comment, a here-document, `$'` or a substitution: there the pairs may be text.
    """
    if "\\\n" not in command:
        return command
    if _NOT_JOINABLE.search(command):
        return None
    pieces: list[str] = []
    in_double = False
    position = 0
    while position < len(command):
        step = _JOIN_STEP.match(command, position)
        if step is None:
            return None
        piece = step[0]
        if piece == '"':
            in_double = not in_double
        elif piece[0] == "'" and in_double:
            piece = "'"
        elif piece == "'":
            return None
        position += len(piece)
        if step[1] != "\n" or piece[0] != "\\":
            pieces.append(piece)
    return "".join(pieces)
