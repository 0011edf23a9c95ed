"""Programs given as an argument: is a sed script or an awk program plainly harmless? When in doubt it is not."""

from __future__ import annotations

import re

from agent_sdk.rules.shell_text import decode_escapes

_SED_ADDRESS = re.compile(r"[ \t]*(?:[0-9]+(?:~[0-9]+)?|\$|\+[0-9]+|~[0-9]+)")
_SED_LABEL = re.compile(r"[ \t]*[A-Za-z0-9_]*")
_SED_FLAGS = frozenset("gpiImM0123456789")
_SED_ALONE = frozenset("=dDgGhHnNpPxzF{}lqQ")
_AWK_BAD = re.compile(r"\b(?:system|getline|close|fflush)\b|@")
_AWK_CALL = re.compile(r'(?:system\s*\(\s*|\|&?\s*)"((?:[^"\\]|\\.)*)"|"((?:[^"\\]|\\.)*)"\s*\|&?\s*getline')
_AWK_PLAIN_CALL = re.compile(
    r'system\s*\(\s*""\s*\)|\|&?\s*""\s*(?=[;}\n]|\Z)|(?<![\w"] )(?<![\w"$)])""\s*\|&?\s*getline'
)
_AWK_INDIRECT = re.compile(r"\bsystem\b|@[ \t]*[A-Za-z_]")
_SED_RUNS = re.compile(r"e[ \t]+([^\n]+)")
_AWK_PRINT = re.compile(r"\bprintf?\b[^;\n{}]*>")
_AWK_GOES_ON = re.compile(r"(,|&&|\|\||[?:])[ \t]*\n")
_AWK_KEYWORD = re.compile(r"\b(?:print|printf|return|else|do|in|case)[ \t]*\Z")


def sed_is_harmless(script: str) -> bool:
    """True for scripts of addresses and plain editing commands; false for `e`, `w`, `r` and all that is unknown."""
    position = 0
    while position < len(script):
        char = script[position]
        if char in " \t\n;":
            position += 1
            continue
        at = _after_address(script, position)
        if at is None:
            return False
        while at < len(script) and script[at] in " \t!":
            at += 1
        if at >= len(script):
            return False
        ended = _after_command(script, at)
        if ended is None:
            return False
        position = ended
    return True


def _after_address(script: str, position: int) -> int | None:
    """The offset behind an optional address or address pair."""
    for _ in range(2):
        found = _SED_ADDRESS.match(script, position)
        if found is not None:
            position = found.end()
        elif script[position : position + 1] in ("/", "\\"):
            if script[position] == "\\":
                position += 1
            end = _after_delimited(script, position, 1)
            if end is None:
                return None
            position = end
            while script[position : position + 1] in ("I", "M"):
                position += 1
        if script[position : position + 1] != ",":
            return position
        position += 1
        while script[position : position + 1] in (" ", "\t"):
            position += 1
    return position


def _after_delimited(script: str, position: int, parts: int) -> int | None:
    """The offset behind `parts` texts that end in the delimiter at `position`."""
    delimiter = script[position : position + 1]
    if not delimiter or delimiter in "\n\\":
        return None
    position += 1
    closing = following = 0
    for number in range(parts):
        while position < len(script) and script[position] != delimiter:
            if number == 0 and script[position] == "[" and parts > 1 and delimiter != "[":
                if 0 <= closing < position + 2:
                    closing = script.find("]", position + 2)
                if 0 <= following < position:
                    following = script.find(delimiter, position)
                if 0 <= following < closing:
                    return None
            position += 2 if script[position] == "\\" else 1
        if position >= len(script):
            return None
        position += 1
    return position


def _after_command(script: str, at: int) -> int | None:
    """The offset behind one command, or None when it may do more than edit."""
    command = script[at]
    if command == "#":
        end = script.find("\n", at)
        return len(script) if end < 0 else end
    if command == "s":
        position = _after_delimited(script, at + 1, 2)
        while position is not None and position < len(script) and script[position] in _SED_FLAGS:
            position += 1
        return _at_end(script, position)
    if command == "y":
        return _at_end(script, _after_delimited(script, at + 1, 2))
    if command in "bt:T":
        label = _SED_LABEL.match(script, at + 1)
        return _at_end(script, label.end() if label else None)
    if command in "aic":
        return _after_text(script, at)
    if command in _SED_ALONE:
        position = at + 1
        while command in "lqQ" and position < len(script) and script[position] in " 0123456789":
            position += 1
        return position if command in "{}" else _at_end(script, position)
    return None


def _after_text(script: str, at: int) -> int:
    """The offset behind inserted text: it goes on over line ends with a backslash before them."""
    while (newline := script.find("\n", at)) >= 0:
        line = script[at:newline]
        if (len(line) - len(line.rstrip("\\"))) % 2 == 0:
            return newline
        at = newline + 1
    return len(script)


def _at_end(script: str, position: int | None) -> int | None:
    """`position` when a command may end there."""
    if position is None:
        return None
    while position < len(script) and script[position] in " \t":
        position += 1
    return position if position >= len(script) or script[position] in ";\n}#" else None


def awk_is_harmless(program: str) -> bool:
    """True for programs that neither run commands nor write or read other files."""
    code = _awk_code(program)
    if code is None or _AWK_BAD.search(code):
        return False
    code = _AWK_GOES_ON.sub(r"\1 ", code)
    if "|" in code.replace("||", "  "):
        return False
    return not _AWK_PRINT.search(code)


def _awk_code(program: str) -> str | None:
    """The program without the content of strings, regular expressions and comments; None when one does not end."""
    out: list[str] = []
    position, previous = 0, "\n"
    while position < len(program):
        char = program[position]
        if char == '"' or (char == "/" and _begins_regex(previous, out)):
            end = _awk_literal_end(program, position)
            if end is None:
                return None
            out.append('""')
            position, previous = end, '"'
            continue
        if char == "/" and previous in ")+-$" and _hides_code(program, position):
            return None
        if char == "#":
            newline = program.find("\n", position)
            position = len(program) if newline < 0 else newline
            continue
        if char == "\\" and program[position + 1 : position + 2] == "\n":
            out.append(" ")
            position += 2
            continue
        out.append(char)
        if not char.isspace() or char == "\n":
            previous = char
        position += 1
    return "".join(out)


def _begins_regex(previous: str, before: list[str]) -> bool:
    """True where a slash cannot be a division: behind an operator, or behind a word that no value ends with."""
    return previous in "(,{;!~&|=\n}?:<>*%^[" or bool(_AWK_KEYWORD.search("".join(before[-12:])))


def _hides_code(program: str, position: int) -> bool:
    """True when a slash that may be a division or a regular expression would, as the latter, change what is code."""
    end = _awk_literal_end(program, position)
    return end is not None and any(char in program[position:end] for char in '"#;{}')


def _awk_literal_end(program: str, start: int) -> int | None:
    """The offset behind the string or regular expression that begins at `start`."""
    quote, position, in_class = program[start], start + 1, False
    while position < len(program):
        char = program[position]
        if char == "\\":
            position += 2
            continue
        if char == "\n":
            return None
        if char == "[" and quote == "/":
            in_class = True
        elif char == "]":
            in_class = False
        elif char == quote:
            if in_class and quote == "/":
                return None
            return position + 1
        position += 1
    return None


def awk_commands(program: str) -> tuple[list[str], bool]:
    """The commands that an awk program runs and that stand in it as they are, and whether these are all."""
    program = program.replace("\\\n", " ")
    texts = [decode_escapes(call[1] or call[2] or "") for call in _AWK_CALL.finditer(program)]
    if "system" not in program and "|" not in program:
        return texts, "@" not in program or not _AWK_INDIRECT.search(program)
    code = _awk_code(program)
    if code is None:
        return texts, False
    rest = _AWK_PLAIN_CALL.sub(" ", code.replace("||", "  "))
    return texts, "|" not in rest and not _AWK_INDIRECT.search(rest)


def sed_commands(script: str) -> tuple[list[str], bool]:
    """The commands that a sed script may run by `e`, and whether these are all: not when it runs what it reads."""
    if "e" not in script or sed_is_harmless(script):
        return [], True
    return [text[1] for text in _SED_RUNS.finditer(script)], False
