"""What a command reads from its standard input, as far as the command line shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent_sdk.rules.argv import ArgvKey, expanded
from agent_sdk.rules.bash_pattern import fold_name
from agent_sdk.rules.shell_nodes import Feed, Redirect, Script
from agent_sdk.rules.shell_text import decode_escapes

_PASSES_ON = frozenset(["cat", "tee", "tac", "nl", "head", "tail", "true", ":", "cd", "set"])
_ECHO_OPTION = re.compile(r"-[neE]+|--")
_DIRECTIVE = re.compile(r"%(.?)", re.DOTALL)
_TEXTS = frozenset(["<<", "<<-", "<<<"])
_ESCAPED = re.compile(r"\\(?:\n|([$`\\]))")
_EXPANDED = re.compile(r"(?<!\\)(?:\\\\)*(?:\$[A-Za-z_0-9({@*#?!$-]|`)")
_MAX_ROUNDS = 200


class Fed:
    """What one command reads from its standard input. `trusted`: the script that it stands in was understood.

    `followed` are the calls of programs that were followed for this command already.
    """

    __slots__ = ("_index", "_script", "followed", "trusted")

    def __init__(self, script: Script, index: int, *, trusted: bool) -> None:
        self._script = script
        self._index = index
        self.trusted = trusted
        self.followed: set[ArgvKey] = set()

    @property
    def given(self) -> bool:
        """True when the command line feeds it something."""
        redirects = self._script.commands[self._index].redirects
        return any(redirect.op.startswith("<") for redirect in redirects) or any(
            feed.sink[0] <= self._index < feed.sink[1] for feed in self._script.feeds
        )

    def texts(self, emitted: set[tuple[int, tuple[int, int]]]) -> tuple[list[str], bool]:
        """The texts that can be seen, and whether that is all of it. What was `emitted` before is left out.

        A command without any input of its own reads what somebody else feeds it: that is not seen.
        """
        found: list[str] = []
        sources = 0
        seen = True
        for redirect in self._script.commands[self._index].redirects:
            if redirect.op in _TEXTS:
                text, all_seen = _given(redirect)
                found.append(text)
                seen = seen and all_seen
                sources += 1
            elif redirect.op in ("<", "<>", "<&"):
                seen = False
        for feed in self._script.feeds:
            if not feed.sink[0] <= self._index < feed.sink[1]:
                continue
            sources += 1
            key = (id(self._script), feed.source)
            if key not in emitted:
                emitted.add(key)
                texts, all_seen = _output(self._script, feed)
                found += texts
                seen = seen and all_seen
        return found, seen and sources > 0


def _given(redirect: Redirect) -> tuple[str, bool]:
    """The text of a here-document or a here-string, and whether that is all of it: not when bash expands it."""
    if redirect.op == "<<<":
        return redirect.target.text, not redirect.target.dynamic
    if redirect.literal:
        return redirect.body, True
    return _ESCAPED.sub(r"\1", redirect.body), not _EXPANDED.search(redirect.body)


def _output(script: Script, feed: Feed) -> tuple[list[str], bool]:
    """What the commands before a pipe print, as far as it can be seen."""
    found: list[str] = []
    seen = True
    for command in script.commands[feed.source[0] : feed.source[1]]:
        for redirect in command.redirects:
            if redirect.op in _TEXTS:
                text, all_seen = _given(redirect)
                found.append(text)
                seen = seen and all_seen
        if not command.words:
            continue
        name = fold_name(command.words[0].text.rpartition("/")[2])
        if name == "echo" or name == "printf":
            argv = expanded(command.words)
            words = [word for word in argv.words[1:] if not _ECHO_OPTION.fullmatch(word)]
            text = " ".join(words)
            found += dict.fromkeys((text, decode_escapes(text)))
            seen = seen and not argv.any_hidden
            if name == "printf":
                found += ("".join(_printed(words)), *words)
                seen = seen and all(
                    letter[1] in ("s", "b", "%") for letter in _DIRECTIVE.finditer(words[0] if words else "")
                )
        elif not (name in _PASSES_ON and all(word.text.startswith("-") for word in command.words[1:])):
            seen = False
    return found, seen and bool(found)


def _printed(words: Sequence[str]) -> Iterator[str]:
    """What printf makes of a format with plain `%s` and `%b`: the format is used again while there are words left."""
    if not words:
        return
    form, rest = decode_escapes(words[0]), list(words[1:])
    for _ in range(_MAX_ROUNDS):
        at = 0
        before = len(rest)
        for directive in _DIRECTIVE.finditer(form):
            yield form[at : directive.start()]
            at = directive.end()
            if directive[1] == "%":
                yield "%"
            elif rest:
                word = rest.pop(0)
                yield decode_escapes(word) if directive[1] == "b" else word
        yield form[at:]
        if not rest or len(rest) == before:
            return
