"""Expansions that change nothing about what a command does, so that a wildcard may cover them."""

from __future__ import annotations

from collections.abc import Sequence

from agent_sdk.rules.escapes import sets_number
from agent_sdk.rules.shell_nodes import Word

_SPEAKERS = frozenset(["echo", "pwd", "true"])
_FREE = _SPEAKERS | {"printf", "test", "["}
_BINARY = frozenset(["=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "<", ">"])
_UNARY = frozenset("-" + letter for letter in "abcdefghknoprstuwxzGLNOS")
_SUBSCRIPTS = frozenset(
    [
        *("test", "[", "read", "let", "declare", "typeset", "local", "export", "readonly", "unset", "mapfile"),
        *("readarray", "wait", "getopts"),
    ]
)
_NOTHING: frozenset[int] = frozenset()


def free_words(words: Sequence[Word]) -> frozenset[int]:
    """The indexes of words whose expansions are free: a plain `$x` or `${x}` as operand of `echo`, `printf` and such.

    In `test` and `[` only one quoted word, in a place where bash takes it for nothing but text.
    """
    name = words[0].text if words else ""
    if name not in _FREE or not any(word.marks for word in words) or words[0].marks or not _all_plain(words):
        return _NOTHING
    if name in _SPEAKERS:
        return _marked(words)
    if name == "printf":
        return _marked(words) if _printf_is_plain(words) else _NOTHING
    return _in_test(words)


def _all_plain(words: Sequence[Word]) -> bool:
    return all(mark.kind != "other" for word in words for mark in word.marks) and not any(word.brace for word in words)


def _marked(words: Sequence[Word]) -> frozenset[int]:
    return frozenset(index for index, word in enumerate(words) if word.marks)


def _printf_is_plain(words: Sequence[Word]) -> bool:
    """True when the format is static and writes no variable."""
    operands = [word for word in words[1:] if word.text != "--" or word.marks]
    return (
        bool(operands)
        and operands[0].static
        and not operands[0].text.startswith("-")
        and not sets_number(operands[0].text)
    )


def _in_test(words: Sequence[Word]) -> frozenset[int]:
    """`X`, `-op X` and `X op Y`, with `!` before it: the forms in which no operand is taken for an operator."""
    last = len(words)
    if words[0].text == "[":
        if words[-1].text != "]" or words[-1].marks:
            return _NOTHING
        last -= 1
    first = 2 if last > 2 and words[1].text == "!" and not words[1].marks else 1
    operands = range(first, last)
    match len(operands):
        case 1:
            fine = True
        case 2:
            fine = not words[first].marks and words[first].text in _UNARY
        case 3:
            fine = not words[first + 1].marks and words[first + 1].text in _BINARY
        case _:
            fine = False
    if not fine or not all(_one_word(words[index]) for index in operands):
        return _NOTHING
    return _marked(words)


def _one_word(word: Word) -> bool:
    """True when the expansions in it can neither split it nor vanish."""
    return all(mark.quoted or mark.kind == "status" for mark in word.marks)


def expands_subscript(words: Sequence[Word]) -> bool:
    """True when a builtin may run a substitution in a quoted word: `test -v 'a[$(x)]'`, `declare -a 'a=($(x))'`."""
    name = words[0].text
    if name not in _SUBSCRIPTS and not (name == "printf" and any(word.text.startswith("-v") for word in words[1:3])):
        return False
    for word in words[1:]:
        plain = word.text
        for mark in reversed(word.marks):
            plain = plain[: mark.start] + plain[mark.end :]
        before = plain[: max(plain.rfind("$"), plain.rfind("`"), 0)]
        if "[" in before or "=(" in before:
            return True
    return False
