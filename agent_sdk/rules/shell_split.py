"""A best-effort split of any text into commands, for deny and ask rules only.

It takes everything: half a quote, ten thousand brackets, a megabyte. It errs towards finding commands, works in time
and memory proportional to the text, and looks inside quotes, brackets, backticks and here-documents as bash would.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from agent_sdk.rules.heredoc import body_end
from agent_sdk.rules.shell_nodes import (
    CommandKind,
    Feed,
    Redirect,
    Script,
    SimpleCommand,
    Word,
    WordBuilder,
    plain_word,
)
from agent_sdk.rules.shell_text import ASSIGNMENT, decode_escapes

_MAX_FRAMES = 400
_MAX_TEXTS = 2_000
_MAX_FEEDS = 100

_PLAIN = re.compile(r"[^ \t\n;&|<>()'\"\\$`#{}]+")
_WHOLE = re.compile(r"[A-Za-z0-9_./:,=@%+^\-]+(?=[ \t\n;&|]|\Z)")
_IN_DOUBLE = re.compile(r'[^"$`\\]+')
_PARAM = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9?#!$@*\-])")
_PLAIN_BRACES = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*|[?#!$@*0-9])\}")
_ANSI = re.compile(r"\$'((?:[^'\\]|\\.)*)'?", re.DOTALL)
_REDIRECT = re.compile(r"<<<|<<-|<<|<>|<&|<|>>|>\||>&|>|&>>|&>")
_BACKTICKED = re.compile(r"`((?:[^`\\]|\\.)*)`?", re.DOTALL)
_INDEXED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[[^]]*\]\+?=")
_LEADING = frozenset(["then", "do", "else", "elif", "if", "while", "until", "!", "{", "}", "fi", "done", "esac"])


@dataclass(slots=True)
class _Here:
    """A redirection that may still wait for its body."""

    op: str
    fd: str
    target: Word
    body: str = ""

    def finished(self) -> Redirect:
        return Redirect(self.op, self.fd, self.target, self.body, self.target.quoted)


@dataclass(slots=True)
class _Draft:
    words: list[Word]
    redirects: list[_Here]


@dataclass(slots=True)
class _Frame:
    """One open bracket: what of a command was read in it so far."""

    closer: str
    literal_quotes: bool = False
    double: bool = False
    body: bool = False
    words: list[Word] = field(default_factory=list)
    redirects: list[_Here] = field(default_factory=list)
    builder: WordBuilder | None = None
    operator: tuple[str, str] | None = None
    opened_at: int = 0
    quote_at: int = -1
    sink: int = -1
    cases: int = 0


def split_commands(text: str) -> Script:
    """Every command that the text may run, nested ones included. Never raises."""
    splitter = _Splitter()
    splitter.run(text)
    return splitter.script()


class _Splitter:
    __slots__ = (
        "_at",
        "_drafts",
        "_endless",
        "_feeds",
        "_frame",
        "_frames",
        "_heredocs",
        "_queue",
        "_text",
        "_waiting",
    )

    def __init__(self) -> None:
        self._drafts: list[_Draft] = []
        self._feeds: list[Feed] = []
        self._queue: list[tuple[str, bool]] = []
        self._waiting: list[_Here] = []
        self._endless: set[tuple[str, str]] = set()
        self._frames: list[_Frame] = []
        self._frame = _Frame("")
        self._text = ""
        self._at = self._heredocs = 0

    def run(self, text: str) -> None:
        """Splits the text, then what it holds in backticks and here-documents."""
        self._queue.append((text, False))
        budget = 4 * len(text) + 10_000
        for _ in range(_MAX_TEXTS):
            if not self._queue or budget < 0:
                break
            self._text, body = self._queue.pop()
            budget -= len(self._text)
            self._scan(body)

    def script(self) -> Script:
        """What was found."""
        count = len(self._drafts)
        feeds = self._feeds if len(self._feeds) <= _MAX_FEEDS else [Feed((0, count), (0, count))]
        return Script(tuple(_finished(draft) for draft in self._drafts), tuple(feeds))

    def _scan(self, body: bool) -> None:
        self._at, self._frames, self._waiting, self._heredocs = 0, [], [], 0
        self._endless = set()
        self._frame = _Frame("", double=body, body=body)
        size = len(self._text)
        while self._at < size:
            if self._frame.double:
                self._step_quoted()
            else:
                self._step()
        if self._frame.double and not self._frame.body:
            self._queue.append((self._text[self._frame.quote_at + 1 :], False))
        while self._frames:
            self._close()
        self._end_command()
        self._end_pipe()

    def _word(self) -> WordBuilder:
        if self._frame.builder is None:
            self._frame.builder = WordBuilder()
        return self._frame.builder

    def _step_quoted(self) -> None:
        """One piece of a double-quoted string or of a here-document's body."""
        text, at = self._text, self._at
        run = _IN_DOUBLE.match(text, at)
        if run is not None:
            self._word().literal(run[0])
            self._at = run.end()
            return
        char = text[at]
        if char == '"':
            self._word().literal('"' if self._frame.body else "")
            self._frame.double = self._frame.body
            self._at += 1
        elif char == "\\":
            following = text[at + 1 : at + 2]
            if following != "\n":
                self._word().literal(following if following and following in '$`"\\' else "\\" + following)
            self._at += 2
        elif char == "$":
            self._dollar(quoted=True)
        else:
            self._backtick(quoted=True)

    def _step(self) -> None:
        """One piece of unquoted text."""
        text, at = self._text, self._at
        if self._frame.builder is None and self._frame.operator is None:
            whole = _WHOLE.match(text, at)
            if whole is not None:
                self._frame.words.append(plain_word(whole[0]))
                self._at = whole.end()
                return
        run = _PLAIN.match(text, at)
        if run is not None:
            self._word().bare(run[0])
            self._at = run.end()
        else:
            self._special(text, at)

    def _special(self, text: str, at: int) -> None:
        """A character that may end a word, or a bracket, or open one."""
        match text[at]:
            case " " | "\t":
                self._end_word()
                self._at += 1
            case "\n":
                self._end_command()
                self._end_pipe()
                self._at += 1
                self._read_bodies()
            case ";" | "&" | "|":
                self._operator(text[at])
            case "<" | ">":
                self._angle()
            case "(":
                self._end_command()
                self._at += 1
                self._open(")")
            case ")":
                self._closing_bracket()
            case "'" if not self._frame.literal_quotes:
                self._single_quoted()
            case "$":
                self._dollar(quoted=False)
            case "`":
                self._backtick(quoted=False)
            case "#" if self._frame.builder is None and self._frame.closer != "}":
                end = text.find("\n", at)
                self._at = len(text) if end < 0 else end
            case "}" if self._frame.closer == "}":
                self._at += 1
                self._close()
            case char:
                self._within_word(char)

    def _within_word(self, char: str) -> None:
        """A character that belongs to a word, or that quotes what does."""
        if char == '"':
            self._word().literal("")
            self._frame.double, self._frame.quote_at = True, self._at
            self._at += 1
        elif char == "\\":
            following = self._text[self._at + 1 : self._at + 2]
            if following != "\n":
                self._word().literal(following)
            self._at += 2
        else:
            self._word().bare(char)
            self._at += 1

    def _single_quoted(self) -> None:
        """A quoted string. Without an end what it holds is read once more, as if the quote were not there."""
        start = self._at + 1
        end = self._text.find("'", start)
        if end < 0:
            end = len(self._text)
            self._queue.append((self._text[start:], False))
        self._word().literal(self._text[start:end])
        self._at = end + 1

    def _operator(self, char: str) -> None:
        text, at = self._text, self._at
        if char == "&" and text[at + 1 : at + 2] == ">":
            self._angle()
            return
        self._end_command()
        if char == "|" and not text.startswith("||", at):
            self._end_pipe()
            self._frame.sink = len(self._drafts)
            self._at += 2 if text.startswith("|&", at) else 1
            return
        self._end_pipe()
        self._at += 2 if text.startswith(("||", "&&"), at) else 1

    def _angle(self) -> None:
        """A redirection or a process substitution."""
        text, at = self._text, self._at
        if text.startswith(("<(", ">("), at):
            self._at += 2
            self._open(")", at)
            return
        operator = _REDIRECT.match(text, at)
        if operator is None:
            self._at += 1
            return
        fd = ""
        builder = self._frame.builder
        if builder is not None:
            word = builder.build()
            if word.text.isdigit() or (word.text.startswith("{") and word.text.endswith("}")):
                fd, self._frame.builder = word.text, None
            else:
                self._end_word()
        self._frame.operator = (operator[0], fd)
        self._at = operator.end()

    def _dollar(self, *, quoted: bool) -> None:
        text, at = self._text, self._at
        if not quoted:
            ansi = _ANSI.match(text, at)
            if ansi is not None:
                self._word().literal(decode_escapes(ansi[1]))
                self._at = ansi.end()
                return
        param = _PARAM.match(text, at) or _PLAIN_BRACES.match(text, at)
        if param is not None:
            self._word().mark(param[0], "param", quoted=quoted)
            self._at = param.end()
        elif text.startswith("${", at):
            self._at += 2
            self._open("}", at)
        elif text.startswith("$(", at):
            self._at += 2
            self._open(")", at)
        else:
            if quoted or not text.startswith('$"', at):
                self._word().literal("$")
            self._at += 1

    def _backtick(self, *, quoted: bool) -> None:
        """What stands in backticks is unescaped once and split later, on its own."""
        found = _BACKTICKED.match(self._text, self._at)
        inner = found[1] if found else ""
        self._word().mark(found[0] if found else "`", "other", quoted=quoted)
        self._at = found.end() if found else self._at + 1
        if inner:
            self._queue.append((re.sub(r"\\([\\`$])", r"\1", inner), False))

    def _open(self, closer: str, opened_at: int = -1) -> None:
        """A bracket. Deeper than a limit it only ends the command before it."""
        if len(self._frames) >= _MAX_FRAMES:
            self._end_command()
            return
        outer = self._frame
        self._frames.append(outer)
        self._frame = _Frame(closer, literal_quotes=closer == "}" and outer.double, opened_at=opened_at)

    def _close(self) -> None:
        inner = self._frame
        if inner.closer == "}":
            inner.words, inner.redirects, inner.builder = [], [], None
        else:
            self._end_command()
            self._end_pipe()
        self._frame = self._frames.pop()
        if inner.opened_at >= 0:
            source = self._text[inner.opened_at : self._at] if self._at - inner.opened_at < 200 else "$(…)"
            self._word().mark(source, "other", quoted=self._frame.double)

    def _closing_bracket(self) -> None:
        self._at += 1
        frame = self._frame
        in_case = frame.cases > 0 or bool(frame.words and frame.words[0].text == "case")
        if in_case or frame.closer != ")":
            self._end_command(pattern=in_case)
            return
        self._close()

    def _end_word(self) -> None:
        frame = self._frame
        if frame.builder is None:
            return
        word = frame.builder.build()
        frame.builder = None
        if frame.operator is None:
            frame.words.append(word)
            return
        here = _Here(*frame.operator, word)
        frame.operator = None
        frame.redirects.append(here)
        if here.op in ("<<", "<<-"):
            self._waiting.append(here)
            self._heredocs += 1
            if self._heredocs == 2:
                self._queue.append((self._text[self._text.find("<<") + 2 :], True))

    def _end_command(self, *, pattern: bool = False) -> None:
        self._end_word()
        frame = self._frame
        frame.operator = None
        words, redirects = frame.words, frame.redirects
        if not words and not redirects:
            return
        frame.words, frame.redirects = [], []
        if frame.closer == "}":
            return
        words = self._without_keywords(words)
        if pattern and not redirects:
            return
        if redirects or (words and not (self._drafts and self._drafts[-1].words == words)):
            self._drafts.append(_Draft(words, redirects))
        if redirects and not words:
            at = len(self._drafts) - 1
            self._feeds.append(Feed((at, at + 1), (0, at)))

    def _without_keywords(self, words: list[Word]) -> list[Word]:
        """The words behind `then`, `do`, `{` and the like; nothing of `case` heads.

        The head of a `for` stays, as a program of that name: its words are values of a variable.
        """
        start = 0
        while start < len(words) and not words[start].quoted:
            text = words[start].text
            if text == "case":
                self._frame.cases += 1
                return []
            if text in ("for", "select"):
                break
            if text == "function":
                start += 2
                continue
            if text not in _LEADING:
                break
            if text == "esac":
                self._frame.cases = max(0, self._frame.cases - 1)
            start += 1
        return words[start:]

    def _end_pipe(self) -> None:
        """The command that a pipe leads into is complete. Whatever came before may be what it reads."""
        frame = self._frame
        if 0 <= frame.sink < len(self._drafts):
            self._feeds.append(Feed((0, frame.sink), (frame.sink, len(self._drafts))))
            frame.sink = -1

    def _read_bodies(self) -> None:
        """The here-documents that were announced on the line that just ended."""
        for here in self._waiting:
            key = (here.target.text, here.op)
            if key in self._endless:
                continue
            found = body_end(self._text, self._at, here.target.text, strip_tabs=here.op == "<<-")
            here.body = self._text[self._at : found[0] if found else len(self._text)]
            if found is not None:
                self._at = found[1]
            else:
                self._endless.add(key)
            if not here.target.quoted and ("$" in here.body or "`" in here.body):
                self._queue.append((here.body, True))
        self._waiting.clear()


def _finished(draft: _Draft) -> SimpleCommand:
    words = draft.words
    assigns = 0
    while assigns < len(words) and (ASSIGNMENT.match(words[assigns].text) or _INDEXED.match(words[assigns].text)):
        assigns += 1
    kind: CommandKind = "command" if words else "group"
    redirects = tuple(here.finished() for here in draft.redirects)
    return SimpleCommand(tuple(words[assigns:]), tuple(words[:assigns]), redirects, kind)
