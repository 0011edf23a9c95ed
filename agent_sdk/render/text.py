"""Make text that a model wrote safe to show: what cannot be seen, or would steer a terminal, becomes an escape."""

from __future__ import annotations

import re
import unicodedata

_SUSPECT = re.compile(r"[^\n\t -~]")
_EMOJI_STYLE = "\ufe0f"

# Printable for Python, and yet nothing to see: fillers, joiners, blanks and variation selectors.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0") | {
    chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
}


def visible(text: str, *, keep_newlines: bool = True) -> str:
    r"""`text` with everything invisible or steering spelt out as `\x1b`, `\u202e`, `\U000e0001`.

    That covers control characters (so every terminal escape sequence), bidirectional overrides, zero-width and other
    format characters, odd spaces, line and paragraph separators, lone surrogates, private and unassigned code points.
    Tabs stay, the ideographic space stays, and U+FE0F stays behind a symbol, where it only selects the emoji.
    Newlines stay unless `keep_newlines` is false; then they are spelt out as well. A backslash stays as it is: an
    escape in the result may also have stood in `text` in this very spelling. Applying it twice changes nothing.
    """
    shown = _SUSPECT.sub(_spelt, text)
    return shown if keep_newlines else shown.replace("\n", "\\n")


def shorten(text: str, limit: int) -> str:
    """`text` if it has at most `limit` characters (one at least), else its beginning and an ellipsis in that length."""
    return text if len(text) <= limit else text[: max(limit, 1) - 1] + "…"


def _spelt(match: re.Match[str]) -> str:
    char = match[0]
    if char == _EMOJI_STYLE and match.start() and _is_symbol(match.string[match.start() - 1]):
        return char
    if char == "\u3000" or (char.isprintable() and char not in _BLANK):
        return char
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _is_symbol(char: str) -> bool:
    return unicodedata.category(char) == "So"
