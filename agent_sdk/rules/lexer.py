"""The second reading: a strict lexer for plain scripts, written apart from the grammar.

It knows words, quotes, plain `$x`, static redirections, here-documents without expansions, lists, pipes and groups.
Whatever else it meets ends it: then nothing is said about the line, and no scoped allow rule covers it.
"""

from __future__ import annotations

import re
from dataclasses import replace

from agent_sdk.rules.heredoc import body_end, commit_idiom
from agent_sdk.rules.shell_nodes import MarkKind, Redirect, SimpleCommand, Word, WordBuilder, plain_word
from agent_sdk.rules.shell_text import ASSIGNMENT, RESERVED, decode_escapes

_PLAIN = re.compile(r"[A-Za-z0-9_./:,=@%+^\-\]]+")
_PARAM = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9?#!$@*\-]|\{(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[?#!$@*\-])\})")
_IN_QUOTES = re.compile(r'[^"$`\\]+')
_BEFORE_PROGRAM = frozenset(["time", "-p", "--"])
_ANSI = re.compile(r"\$'([^'\\]*(?:\\[ntabefvr\\'\"][^'\\]*)*)'")
_REDIRECT = re.compile(r"<<<|<<-|<<|<>|<&|<|>>|>\||>&|>|&>>|&>")
_DELIMITER = re.compile(r"[A-Za-z0-9_.\-]+")
_WORD_END = frozenset(" \t\n;&|<>()")
_SPECIAL = frozenset("'\"\\$`")
_OPENS = {")": "(", "}": "{"}
_LONE_DOLLAR = frozenset(['"', " ", "/", "|", ")", ",", ".", ";", ":", "\n", "%", "="])
_STATUS = frozenset(["$?", "$#", "$!", "${?}", "${#}", "${!}"])
_QUOTED_SPACE = " \t"


class NotPlain(Exception):
    """The text is no plain script."""


def plain_script(text: str) -> tuple[SimpleCommand, ...] | None:
    """The simple commands of a plain script in the order in which they stand, or None. Never raises."""
    try:
        return tuple(_Lexer(text).script())
    except NotPlain:
        return None


def param_kind(source: str) -> MarkKind:
    """`status` for `$?`, `$#` and `$!`, which never split and never begin with a dash; else `param`."""
    return "status" if source in _STATUS else "param"


class _Lexer:
    """One pass over the text. `_at` is the next character to read."""

    __slots__ = ("_at", "_commands", "_heredoc", "_heredocs", "_piped", "_size", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._size = len(text)
        self._at = 0
        self._commands: list[SimpleCommand] = []
        self._heredoc: tuple[int, int] | None = None
        self._heredocs = 0
        self._piped = False

    def script(self) -> list[SimpleCommand]:
        """Commands and separators in turn, with groups on a stack."""
        groups: list[tuple[str, int]] = []
        needed = negated = False
        while self._skip_to_command(newline_allowed=not negated):
            char = self._peek()
            if char == ")" or (char == "}" and self._is_word("}")):
                if needed or negated or not groups or groups[-1] != (_OPENS[char], groups[-1][1]):
                    raise NotPlain
                if groups.pop()[1] == len(self._commands):
                    raise NotPlain
                self._at += 1
                self._group_redirects()
            elif char == "(" or (char == "{" and self._is_word("{")):
                if self._text.startswith("((", self._at):
                    raise NotPlain
                groups.append((char, len(self._commands)))
                self._at += 1
                needed = negated = self._piped = False
                continue
            elif char == "!" and self._is_word("!"):
                if negated or self._piped:
                    raise NotPlain
                negated = True
                self._at += 1
                continue
            else:
                self._simple_command()
            negated = False
            needed = self._separator()
            self._piped = needed and self._text[self._at - 2 : self._at] not in ("&&", "||")
        if needed or negated or groups or self._heredoc is not None or not self._commands:
            raise NotPlain
        return self._commands

    def _peek(self) -> str:
        return self._text[self._at] if self._at < self._size else ""

    def _is_word(self, word: str) -> bool:
        """True when `word` stands here as a word of its own."""
        end = self._at + len(word)
        return self._text.startswith(word, self._at) and (end >= self._size or self._text[end] in _WORD_END)

    def _skip_to_command(self, *, newline_allowed: bool) -> bool:
        """Skips blanks, comments and line ends. False at the end of the text."""
        while self._at < self._size:
            char = self._text[self._at]
            if char in _QUOTED_SPACE:
                self._at += 1
            elif char == "#":
                self._skip_comment()
            elif char == "\n":
                if not newline_allowed:
                    raise NotPlain
                self._newline()
            else:
                return True
        return False

    def _skip_blanks(self) -> None:
        while self._at < self._size and self._text[self._at] in _QUOTED_SPACE:
            self._at += 1

    def _skip_comment(self) -> None:
        end = self._text.find("\n", self._at)
        self._at = self._size if end < 0 else end

    def _newline(self) -> None:
        """One line end; a here-document that waits for its body is read here."""
        self._at += 1
        if self._heredoc is None:
            return
        command_index, redirect_index = self._heredoc
        self._heredoc = None
        command = self._commands[command_index]
        redirect = command.redirects[redirect_index]
        found = body_end(self._text, self._at, redirect.target.text, strip_tabs=redirect.op == "<<-")
        if found is None:
            raise NotPlain
        body = self._text[self._at : found[0]]
        if not redirect.literal and ("$" in body or "`" in body or "\\\n" in body):
            raise NotPlain
        filled = replace(redirect, body=body)
        redirects = (*command.redirects[:redirect_index], filled, *command.redirects[redirect_index + 1 :])
        self._commands[command_index] = replace(command, redirects=redirects)
        self._at = found[1]

    def _separator(self) -> bool:
        """Reads what stands behind a command. True when another command must follow."""
        self._skip_blanks()
        text, at = self._text, self._at
        if at >= self._size:
            return False
        if text[at] == "#":
            self._skip_comment()
            return False
        if text.startswith(("&&", "||", "|&"), at):
            self._at += 2
            return True
        match text[at]:
            case "|":
                self._at += 1
                return True
            case ";" | "&":
                self._at += 1
            case "\n" | ")":
                pass
            case _:
                raise NotPlain
        return False

    def _group_redirects(self) -> None:
        """Redirections behind a group: they hold for all of it."""
        redirects: list[Redirect] = []
        while True:
            self._skip_blanks()
            redirect = self._redirect(len(redirects))
            if redirect is None:
                break
            redirects.append(redirect)
        if redirects:
            self._commands.append(SimpleCommand((), (), tuple(redirects), "group"))

    def _simple_command(self) -> None:
        words: list[Word] = []
        assigns: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            self._skip_blanks()
            char = self._peek()
            if char == "" or char == "#":
                break
            redirect = self._redirect(len(redirects))
            if redirect is not None:
                if not words:
                    raise NotPlain
                redirects.append(redirect)
                continue
            if char in "\n;&|)":
                break
            if char == "(":
                raise NotPlain
            self._take_word(words, assigns)
        if not words and not assigns:
            raise NotPlain
        self._commands.append(SimpleCommand(tuple(words), tuple(assigns), tuple(redirects)))

    def _take_word(self, words: list[Word], assigns: list[Word]) -> None:
        """One word, put where it belongs."""
        start = self._at
        assignment = ASSIGNMENT.match(self._text, start) if not words else None
        word = self._word()
        if assignment is not None:
            if word.shape or self._text[assignment.end() : assignment.end() + 1] == "(":
                raise NotPlain
            assigns.append(word)
            return
        bare = not word.quoted
        if bare and (word.text in ("{", "}") or (word.text in RESERVED and word.text != "time" and not words)):
            raise NotPlain
        if bare and word.text in RESERVED and words and words[0].text in ("time", "coproc"):
            raise NotPlain
        if "[" in word.text and word.text not in ("[", "[[") and all(each.text in _BEFORE_PROGRAM for each in words):
            raise NotPlain  # bash reads on to the bracket's end, across operators
        words.append(word)

    def _redirect(self, index: int) -> Redirect | None:
        """The redirection that stands here, or None."""
        text, at = self._text, self._at
        while at < self._size and text[at].isascii() and text[at].isdigit():
            at += 1
        operator = _REDIRECT.match(text, at)
        if operator is None or (operator[0][0] == "&" and at != self._at):
            return None
        op, fd = operator[0], text[self._at : at]
        self._at = operator.end()
        if self._peek() == "(":
            raise NotPlain
        self._skip_blanks()
        if self._peek() in ("", "\n", "#", ";", "&", "|", "<", ">", "(", ")"):
            raise NotPlain
        target = self._word()
        if self._peek() in ("<", ">") and target.text.isdigit():
            raise NotPlain  # the digits belong to the next redirection, and this one has no target
        if op in ("<<", "<<-"):
            return self._open_heredoc(op, fd, target, index)
        to_file = target.text != "-" and not target.text.isdigit()
        if to_file and (op == "<&" or (op == ">&" and (fd or target.marks or target.text[:1] in "-0123456789"))):
            raise NotPlain
        return Redirect(op, fd, target)

    def _open_heredoc(self, op: str, fd: str, target: Word, index: int) -> Redirect:
        self._heredocs += 1
        if self._heredocs > 1 or target.dynamic or not _DELIMITER.fullmatch(target.text):
            raise NotPlain
        self._heredoc = (len(self._commands), index)
        return Redirect(op, fd, target, "", target.quoted)

    def _word(self) -> Word:
        """One word, up to an unquoted blank or operator."""
        text, size = self._text, self._size
        run = _PLAIN.match(text, self._at)
        if run is not None:
            end = run.end()
            if end >= size or text[end] in _WORD_END:
                if text[end : end + 1] == "(":
                    raise NotPlain
                self._at = end
                return plain_word(run[0])
        builder = WordBuilder()
        while self._at < size:
            char = text[self._at]
            if char in _WORD_END:
                break
            run = _PLAIN.match(text, self._at)
            if run is not None:
                builder.bare(run[0])
                self._at = run.end()
            elif char in _SPECIAL:
                self._piece(char, builder)
            else:
                builder.bare(char)
                self._at += 1
        if not builder.touched:
            raise NotPlain
        word = builder.build()
        if self._peek() in ("<", ">") and word.text.startswith("{") and not word.quoted:
            raise NotPlain
        if self._peek() == "(":
            raise NotPlain
        return word

    def _piece(self, char: str, builder: WordBuilder) -> None:
        match char:
            case "'":
                self._single_quoted(builder)
            case '"':
                self._double_quoted(builder)
            case "\\":
                self._escaped(builder)
            case "$":
                self._dollar(builder, quoted=False)
            case _:
                raise NotPlain

    def _single_quoted(self, builder: WordBuilder) -> None:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise NotPlain
        builder.literal(self._text[self._at + 1 : end])
        self._at = end + 1

    def _escaped(self, builder: WordBuilder) -> None:
        char = self._text[self._at + 1 : self._at + 2]
        if char in ("", "\n"):
            raise NotPlain
        builder.literal(char)
        self._at += 2

    def _dollar(self, builder: WordBuilder, *, quoted: bool) -> None:
        """`$x`, `${x}` or `$'…'`; a lone dollar is text."""
        text, at = self._text, self._at
        if not quoted:
            ansi = _ANSI.match(text, at)
            if ansi is not None:
                builder.literal(decode_escapes(ansi[1]))
                self._at = ansi.end()
                return
        param = _PARAM.match(text, at)
        if param is not None:
            builder.mark(param[0], param_kind(param[0]), quoted=quoted)
            self._at = param.end()
            return
        raise NotPlain

    def _double_quoted(self, builder: WordBuilder) -> None:
        text = self._text
        idiom = commit_idiom(text, self._at + 1)
        if idiom is not None and text[idiom[1] : idiom[1] + 1] == '"':
            if self._heredocs or self._heredoc is not None:
                raise NotPlain
            self._heredocs += 1
            builder.literal(idiom[0].rstrip("\n"))
            self._at = idiom[1] + 1
            return
        self._at += 1
        builder.literal("")
        while self._at < self._size:
            run = _IN_QUOTES.match(text, self._at)
            if run is not None:
                builder.literal(run[0])
                self._at = run.end()
                continue
            char = text[self._at]
            if char == '"':
                self._at += 1
                return
            if char == "\\":
                self._escape_in_quotes(builder)
            elif char == "$" and text[self._at + 1 : self._at + 2] in _LONE_DOLLAR:
                builder.literal("$")
                self._at += 1
            elif char == "$":
                self._dollar(builder, quoted=True)
            else:
                raise NotPlain
        raise NotPlain

    def _escape_in_quotes(self, builder: WordBuilder) -> None:
        char = self._text[self._at + 1 : self._at + 2]
        if char in ("", "\n"):
            raise NotPlain
        builder.literal(char if char in '$`"\\' else "\\" + char)
        self._at += 2
