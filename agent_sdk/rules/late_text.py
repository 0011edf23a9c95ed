"""Text that bash runs later or on the side: in arithmetic, through names of variables, in prompts and callbacks.

`x='a[$(rm y)]'; ((x))` runs `rm`: what is quoted now is no text for ever. Deny and ask rules read such text too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent_sdk.rules.shell_nodes import SimpleCommand, Word

STARTUP_FILES = frozenset(["BASH_ENV", "ENV"])
"""Variables that name a script which a shell reads before its own."""

SETTERS = frozenset(["env", "export", "declare", "typeset", "readonly", "local", "sudo", "doas"])
"""Programs and builtins that take `NAME=value` words."""

NAMES_PROGRAM = frozenset(
    [
        *("PAGER", "GIT_PAGER", "MANPAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "BROWSER"),
        *("GIT_SSH_COMMAND", "GIT_SSH", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS", "PROMPT_COMMAND", "PS4"),
        *("LESSOPEN", "RUSTC_WRAPPER", "MAKEFLAGS", "SUDO_EDITOR", "FZF_DEFAULT_COMMAND"),
    ]
)
"""Variables whose value programs run as a command."""

_UNQUOTE = str.maketrans("", "", "'\"\\")
# Arithmetic, subscripts, indirect names: where bash expands the value of a variable once more.
_EVALUATES = re.compile(r"\(\(|\$\[|\$\{!|[A-Za-z0-9_]\[|\$\{[A-Za-z0-9_@*]+(?:\[|:[^-+=?])")
_COMPARES = re.compile(r"\s-(?:eq|ne|lt|le|gt|ge|v|R)\s")
_EVALUATED = re.compile("HISTCMD|RANDOM|SECONDS|OPTIND|OPTERR|LINENO|PS[0-4]|PROMPT_")
_RUNS_VALUES = re.compile(r"\bBASH_(?:ALIASES|CMDS|FUNC_)|@P\}|-o\s+hist(?:ory|expand)\b")
_SUBSTITUTION = re.compile(r"\$[({]|`")
_IN_BODY = re.compile(r'\\?"|\\(?![$`\\\n])')
_INDEXED = ("${", "$((", "$[")
_QUOTES = frozenset("'\\")
_ATTRIBUTE = re.compile(r"[-+][A-Za-z]*[in]")
_TAKES_NAMES = frozenset(
    ["read", "unset", "mapfile", "readarray", "wait", "getopts", *SETTERS - {"env", "sudo", "doas"}]
)
CALLBACKS = {"mapfile": "C", "readarray": "C", "compgen": "CFW", "complete": "CFW", "bind": "x"}
_CALLBACK_VALUES = {
    "mapfile": "dnOsuc",
    "readarray": "dnOsuc",
    "compgen": "oAGXPSV",
    "complete": "oAGXPS",
    "bind": "mqurf",
}


def without_quotes(text: str) -> str:
    """A script without its quotes and backslashes: what `PS"4"` and `hist\\ory` are for bash."""
    return text.translate(_UNQUOTE) if "'" in text or '"' in text or "\\" in text else text


def evaluates(text: str) -> bool:
    """True when a script, its quotes taken out or not, holds syntax that expands the value of a variable once more."""
    if not text.islower() and _EVALUATED.search(text):
        return True
    if not ("(" in text or "[" in text or "$" in text):
        return False
    if _EVALUATES.search(text):
        return True
    test = text.find("[[")  # the first one will do: what stands behind any of them stands behind it
    return test >= 0 and _COMPARES.search(text, test + 2) is not None


def runs_values(text: str) -> bool:
    """True when a script without quotes runs what a variable holds: a prompt, an alias, a function, the history."""
    return ("BASH_" in text or "-o" in text or "@P" in text) and bool(_RUNS_VALUES.search(text))


def evaluates_words(words: Sequence[str], hidden: Sequence[bool]) -> bool:
    """True when a builtin with these words does so: `let`, `declare -i`, `read "$name"`, `test -v "$name"`.

    `hidden` tells which words are only known at run time.
    """
    name = words[0]
    if name == "let":
        return True
    if name in ("test", "[", "[["):
        return any(word in ("-v", "-R") for word in words)
    if name == "printf":
        return any(word.startswith("-v") for word in words[1:3])
    if name not in _TAKES_NAMES:
        return False
    if name in SETTERS and any(_ATTRIBUTE.match(word) for word in words[1:]):
        return True
    return any(secret and "=" not in word for secret, word in zip(hidden, words, strict=True))


_PATTERN = re.compile(r"\$\{(?:!?[A-Za-z0-9_]+(?:\[[^]]*\])?|[-?#!$@*])(?:[#%/^,]|:(?![-=+?]))")
_OPENED = re.compile(r"\$\(|`|[<>]\(")


def quoted_substitutions(command: SimpleCommand) -> Iterator[str]:
    """The words and bodies of a command that hold a substitution as plain text."""
    for word in (*command.assigns, *command.words):
        if not ("$" in word.text or "`" in word.text):
            continue
        if _SUBSTITUTION.search(word.text) and _SUBSTITUTION.search(_literal(word)):
            yield word.text
    for redirect in command.redirects:
        text = redirect.body if redirect.literal else _literal(redirect.target)
        if _SUBSTITUTION.search(text):
            yield text


def inner_substitutions(command: SimpleCommand) -> Iterator[str]:
    """Scripts that run what is substituted in the pattern of `${a#…}` and the like: the grammar takes it as text."""
    for word in (*command.assigns, *command.words, *(redirect.target for redirect in command.redirects)):
        for mark in word.marks:
            source = word.text[mark.start : mark.end]
            for pattern in _PATTERN.finditer(source):
                if found := _OPENED.search(source, pattern.end()):
                    text = source[found.start() :]
                    yield f": {text}" if found[0] in ("<(", ">(") else f': "{text}"'


def as_argument(body: str) -> str:
    """A script that expands a text as the body of a here-document is expanded, and does nothing else."""
    return ': "' + _IN_BODY.sub(r"\\\g<0>", body) + '"'


def _literal(word: Word) -> str:
    """What a word holds beside its active expansions; of `${a['…']}` and arithmetic what is quoted in them too."""
    if not word.marks:
        return word.text
    out: list[str] = []
    at = 0
    for mark in word.marks:
        out.append(word.text[at : mark.start])
        source = word.text[mark.start : mark.end]
        if source.startswith(_INDEXED) and not _QUOTES.isdisjoint(source):
            out.append(source[2:])
        at = mark.end
    return "\0".join((*out, word.text[at:]))


def callback_texts(words: Sequence[str]) -> Iterator[str]:
    """Commands in the options of builtins: `mapfile -C`, `compgen -C`, `compgen -F`; for `-W` text that is expanded."""
    letters = CALLBACKS.get(words[0])
    if letters is None:
        return
    values = _CALLBACK_VALUES[words[0]] + letters
    for index, word in enumerate(words):
        if not word.startswith("-"):
            continue
        at = next((at for at, letter in enumerate(word) if at and letter in values), 0)
        if at and word[at] in letters:
            value = word[at + 1 :] or (words[index + 1] if index + 1 < len(words) else "")
            yield f'"{value}"' if word[at] == "W" else value.rpartition('":')[2] if word[at] == "x" else value
