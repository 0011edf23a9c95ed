"""Here-documents: where a body ends, and the one substitution that counts as static text (the commit idiom)."""

from __future__ import annotations

import re

_IDIOM_HEAD = re.compile(r"\$\(cat <<(-?)[ \t]*(?:'([A-Za-z_][A-Za-z0-9_]*)'|\"([A-Za-z_][A-Za-z0-9_]*)\")[ \t]*\n")


def body_end(text: str, start: int, delimiter: str, *, strip_tabs: bool) -> tuple[int, int] | None:
    """Where the body that begins at `start` ends: (end of body, start of what follows). None when it never ends."""
    position = start
    while position < len(text):
        newline = text.find("\n", position)
        end = len(text) if newline < 0 else newline
        line = text[position:end]
        if (line.lstrip("\t") if strip_tabs else line) == delimiter:
            return position, min(end + 1, len(text))
        position = end + 1
    return None


def commit_idiom(text: str, start: int) -> tuple[str, int] | None:
    """The body of `$(cat <<'X' … X)` that begins at `start`, and the offset behind its closing bracket.

    None when it is not exactly that, or when some bash would end it elsewhere: bash 5.2 ends the here-document at a
    line that only begins with the delimiter; bash 3.2 looks for the closing bracket without knowing here-documents.
    """
    head = _IDIOM_HEAD.match(text, start)
    if head is None:
        return None
    delimiter = head[2] or head[3]
    found = body_end(text, head.end(), delimiter, strip_tabs=bool(head[1]))
    if found is None:
        return None
    end_of_body, behind = found
    body = text[head.end() : end_of_body]
    close = behind
    while close < len(text) and text[close] in " \t\n":
        close += 1
    if close >= len(text) or text[close] != ")":
        return None
    if any(line.lstrip("\t ").startswith(delimiter) for line in body.split("\n")):
        return None
    for comments in (False, True):
        old_close = _close_without_heredocs(text, start + 2, comments=comments)
        if old_close not in (None, close):
            return None
    return body, close + 1


def _close_without_heredocs(text: str, start: int, *, comments: bool) -> int | None:
    """The closing bracket of `$(` for a reader that knows quotes and brackets only. None when it finds no end.

    With `comments` it also skips from a `#` at the start of a word to the end of the line.
    """
    depth, position, size = 1, start, len(text)
    while position < size:
        char = text[position]
        if char == "\\":
            position += 2
            continue
        if char in "'\"`":
            position = _quote_end(text, position)
            if position < 0:
                return None
        elif char == "#" and comments and text[position - 1] in " \t\n;&|(":
            newline = text.find("\n", position)
            position = size if newline < 0 else newline
            continue
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                return position
        position += 1
    return None


def _quote_end(text: str, start: int) -> int:
    """Offset of the quote that closes the one at `start`, or -1."""
    quote, position = text[start], start + 1
    if quote == "'":
        return text.find("'", position)
    while position < len(text):
        if text[position] == "\\":
            position += 2
            continue
        if text[position] == quote:
            return position
        position += 1
    return -1
