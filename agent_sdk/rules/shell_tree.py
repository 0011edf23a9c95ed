"""The first reading: tree-sitter's grammar of bash, walked through a closed list of node kinds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from agent_sdk.rules.heredoc import body_end, commit_idiom
from agent_sdk.rules.shell_nodes import (
    CommandKind,
    Feed,
    MarkKind,
    Redirect,
    Script,
    SimpleCommand,
    Word,
    WordBuilder,
    plain_word,
)
from agent_sdk.rules.shell_screen import MAX_NESTING
from agent_sdk.rules.shell_text import RESERVED, decode_escapes

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_MAX_TREE_DEPTH = 240

_NESTING = frozenset(["command_substitution", "process_substitution", "subshell", "compound_statement", "do_group"])
_STATEMENTS = frozenset(
    [
        *("program", "list", "negated_command", "subshell", "compound_statement", "if_statement", "elif_clause"),
        *("else_clause", "while_statement", "for_statement", "c_style_for_statement", "do_group", "case_statement"),
        *("case_item", "command_substitution", "process_substitution"),
    ]
)
_WORDS = frozenset(
    [
        *("word", "number", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation"),
        *("simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"),
        *("brace_expression", "variable_name", "special_variable_name", "extglob_pattern", "regex", "array"),
        *("subscript", "string_content"),
    ]
)
_WITH_WORDS = frozenset(["case_statement", "case_item", "for_statement", "c_style_for_statement"])
_EXPRESSIONS = frozenset(
    ["binary_expression", "unary_expression", "parenthesized_expression", "postfix_expression", "ternary_expression"]
)
_QUIET = frozenset(["comment", "file_descriptor", "heredoc_start", "heredoc_end", "heredoc_content", "test_operator"])
_NOT_BARE = frozenset(" \t\n'\"`;&|<>()")


class _TooDeep(Exception):
    """The tree is nested deeper than we follow."""


@lru_cache(maxsize=1)
def _parser() -> Parser | None:
    """The parser, or None when tree-sitter is not installed: then nothing scoped is allowed."""
    try:
        import tree_sitter  # noqa: PLC0415 - a heavy door
        import tree_sitter_bash  # noqa: PLC0415
    except ImportError:
        return None
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def grammar_installed() -> bool:
    """False when tree-sitter is not there: then nothing scoped is allowed."""
    return _parser() is not None


def read_tree(text: str) -> tuple[Script, str | None]:
    """The commands that the grammar finds, and why they must not be trusted (None: they may). Never raises."""
    parser = _parser()
    if parser is None:
        return Script(()), "the shell grammar is not installed"
    data = text.encode()
    root = parser.parse(data).root_node
    if root.has_error:
        return Script(()), "it does not parse"
    walker = _Walker(text, data)
    try:
        walker.walk(root)
    except _TooDeep:
        walker.problem = "nested too deeply"
    if not walker.commands and walker.problem is None:
        walker.problem = "there is no command in it"
    return Script(tuple(walker.commands), tuple(walker.feeds)), walker.problem


class _Walker:
    """Collects the simple commands of one tree. `problem` is the first thing that was not understood."""

    __slots__ = ("_data", "_depth", "_heredocs", "_index", "_nesting", "_text", "commands", "feeds", "problem")

    def __init__(self, text: str, data: bytes) -> None:
        self._text = text
        self._data = data
        self._depth = self._nesting = self._heredocs = 0
        self._index: dict[int, int] = {}
        self.commands: list[SimpleCommand] = []
        self.feeds: list[Feed] = []
        self.problem: str | None = None

    def _doubt(self, why: str) -> None:
        if self.problem is None:
            self.problem = why

    def _source(self, node: Node) -> str:
        return self._data[node.start_byte : node.end_byte].decode()

    def _offset(self, byte: int) -> int:
        return byte if len(self._data) == len(self._text) else len(self._data[:byte].decode())

    def walk(self, node: Node) -> None:
        """One statement, or a word that may hold statements."""
        kind = node.type
        self._depth += 1
        self._nesting += kind in _NESTING
        if self._depth > _MAX_TREE_DEPTH or self._nesting > MAX_NESTING:
            raise _TooDeep
        if kind == "command":
            self._command(node)
        elif kind == "pipeline":
            self._pipeline(node, len(self.commands))
        elif kind == "redirected_statement":
            self._redirected(node)
        elif kind in ("declaration_command", "unset_command"):
            self._add(node, [self._source(node.children[0])], node.children[1:])
        elif kind == "test_command":
            self._test(node)
        elif kind in ("variable_assignment", "variable_assignments"):
            self._assignments(node)
        elif kind == "function_definition":
            self._definition(node)
        elif kind in _STATEMENTS or kind in _WORDS or kind in _EXPRESSIONS or kind == "heredoc_body":
            self._statements(node, kind)
        elif kind not in _QUIET:
            self._doubt(f"it holds a {kind}")
            for child in node.named_children:
                self.walk(child)
        self._depth -= 1
        self._nesting -= kind in _NESTING

    def _statements(self, node: Node, kind: str) -> None:
        for child in node.children:
            if child.is_named and kind in _WITH_WORDS and child.type in _WORDS:
                self._lone_word(child)
            elif child.is_named:
                self.walk(child)
            elif child.type == ";;" and kind != "case_item":
                self._doubt("a ;; outside of case")

    def _lone_word(self, node: Node) -> None:
        """A word that belongs to no command: what a `case` or `for` is about. Kept with a `${…}` in it."""
        word = self._word(node)
        if "${" in word.text:
            self.commands.append(SimpleCommand((word,), (), (), "words"))

    def _put(self, node: Node, command: SimpleCommand) -> int:
        self._index[node.id] = len(self.commands)
        self.commands.append(command)
        return len(self.commands) - 1

    def _command(self, node: Node) -> None:
        assigns: list[Word] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        at = self._put(node, SimpleCommand(()))
        previous = -1
        for child in node.children:
            kind = child.type
            redirect = kind in ("file_redirect", "herestring_redirect")
            if previous >= 0:
                self._check_gap(previous, child.start_byte, touching=redirect)
            previous = child.end_byte
            if redirect:
                if not words:
                    self._doubt("a redirection stands before the command name")
                redirects.append(self._redirect(child))
            elif kind == "variable_assignment" and not words:
                assigns.append(self._word(child))
            elif kind == "command_name":
                words.append(self._word(child.children[0]))
            else:
                words.append(self._word(child))
        self._check_words(words)
        self.commands[at] = SimpleCommand(tuple(words), tuple(assigns), tuple(redirects))

    def _check_gap(self, left: int, right: int, *, touching: bool) -> None:
        """Between two parts of a command stand blanks, at least one, and no line end."""
        gap = self._data[left:right]
        if gap.strip(b" \t") or not (gap or touching):
            self._doubt("words touch, or a command runs over a line end")

    def _check_words(self, words: list[Word]) -> None:
        for index, word in enumerate(words):
            if word.quoted or word.text not in RESERVED:
                continue
            keyword = words[0].text in ("time", "coproc") and index > 0
            if word.text in ("{", "}") or keyword or (index == 0 and word.text not in ("time", "coproc", "[[")):
                self._doubt("a reserved word stands where a word should")

    def _add(self, node: Node, head: list[str], children: list[Node]) -> None:
        """A command that the grammar knows by a keyword."""
        at = self._put(node, SimpleCommand(()))
        words = [plain_word(word) for word in head]
        previous = children[0].start_byte - 1 if children else 0
        for child in children:
            self._check_gap(previous, child.start_byte, touching=False)
            previous = child.end_byte
            words.append(self._word(child))
        self._check_words(words)
        self.commands[at] = SimpleCommand(tuple(words))

    def _assignments(self, node: Node) -> None:
        """Assignments without a command behind them."""
        at = self._put(node, SimpleCommand(()))
        nodes = [node] if node.type == "variable_assignment" else node.named_children
        self.commands[at] = SimpleCommand((), tuple(self._word(child) for child in nodes))

    def _definition(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        self._put(node, SimpleCommand((plain_word(self._source(name) if name else ""),), (), (), "define"))
        for child in node.named_children:
            if name is None or child.id != name.id:
                self.walk(child)

    def _test(self, node: Node) -> None:
        """`[ … ]` as the command that it is; `[[ … ]]` and what is in it likewise."""
        at = self._put(node, SimpleCommand(()))
        strict = node.children[0].type == "["
        words: list[Word] = []
        previous = node.start_byte
        for leaf in _leaves(node):
            gap = self._data[previous : leaf.start_byte]
            if b"\n" in gap or (strict and words and not gap):
                self._doubt("words touch, or a test runs over a line end")
            previous = leaf.end_byte
            words.append(self._word(leaf) if leaf.type in _WORDS else plain_word(self._source(leaf)))
        self.commands[at] = SimpleCommand(tuple(words))

    def _pipeline(self, node: Node, source: int) -> None:
        """Each stage is fed by everything before it; `source` is the first command of that."""
        for child in node.named_children:
            start = len(self.commands)
            self.walk(child)
            if start > source:
                self.feeds.append(Feed((source, start), (start, len(self.commands))))

    def _redirected(self, node: Node) -> None:
        start = len(self.commands)
        body = node.child_by_field_name("body")
        redirects: list[Redirect] = []
        owner = start
        if body is not None:
            self.walk(body)
            owner = self._owner(body)
        rest = [child for child in node.named_children if body is None or child.id != body.id]
        kind: CommandKind = "command" if owner >= 0 and body is not None else "group"
        if kind == "group":
            owner = len(self.commands)
            self.commands.append(SimpleCommand((), (), (), "group"))
            self.feeds.append(Feed((owner, owner + 1), (start, owner)))
        previous = body.end_byte if body is not None else -1
        for child in rest:
            if previous >= 0 and not self._lone_dash(previous, child.start_byte, owner):
                self._check_gap(previous, child.start_byte, touching=True)
            previous = child.end_byte
            redirects.append(self._redirect(child))
        self.commands[owner] = replace(
            self.commands[owner], redirects=(*self.commands[owner].redirects, *redirects), kind=kind
        )
        for child in rest:
            if child.type == "heredoc_redirect":
                self._behind_heredoc(child, start, owner)

    def _lone_dash(self, left: int, right: int, owner: int) -> bool:
        """The grammar loses a `-` before a here-document (`python - <<X`): it is put back. True when one was there."""
        gap = self._data[left:right]
        if gap.strip(b" \t") != b"-" or gap[:1] not in (b" ", b"\t") or not self.commands[owner].words:
            return False
        command = self.commands[owner]
        self.commands[owner] = replace(command, words=(*command.words, plain_word("-")))
        return True

    def _owner(self, body: Node) -> int:
        """The command that a redirection behind `body` belongs to; -1 when it belongs to a group."""
        while body.type in ("list", "pipeline", "negated_command"):
            body = body.named_children[-1]
        if body.type in ("subshell", "compound_statement"):
            return -1
        return self._index.get(body.id, -1)

    def _redirect(self, node: Node) -> Redirect:
        if node.type == "heredoc_redirect":
            return self._heredoc(node)
        fd, op = "", ""
        targets: list[Word] = []
        for child in node.children:
            if child.type == "file_descriptor":
                fd = self._source(child)
            elif child.is_named:
                targets.append(self._word(child))
            else:
                op = child.type
        if op in (">&-", "<&-") and not targets:
            op, targets = op[:2], [plain_word("-")]
        if len(targets) != 1:
            self._doubt("a redirection without exactly one target")
        if not fd.isdigit() and fd:
            self._doubt("a redirection into a variable")
        return Redirect(op, fd, targets[0] if targets else plain_word(""))

    def _heredoc(self, node: Node) -> Redirect:
        self._heredocs += 1
        if self._heredocs > 1:
            self._doubt("it holds more than one here-document")
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        if start is None:
            self._doubt("a here-document without a delimiter")
            return Redirect("<<", "", plain_word(""))
        source = self._source(start)
        literal = any(char in source for char in "'\"\\")
        delimiter = source.replace("'", "").replace('"', "").replace("\\", "")
        fd = next((self._source(child) for child in node.children if child.type == "file_descriptor"), "")
        op = next((child.type for child in node.children if child.type in ("<<", "<<-")), "<<")
        target = WordBuilder()
        (target.literal if literal else target.bare)(delimiter)
        line_end = self._text.find("\n", self._offset(start.end_byte))
        found = body_end(self._text, line_end + 1, delimiter, strip_tabs=op == "<<-") if line_end >= 0 else None
        if found is None:
            self._doubt("a here-document without an end")
            return Redirect(op, fd, target.build(), self._text[line_end + 1 :], literal)
        return Redirect(op, fd, target.build(), self._text[line_end + 1 : found[0]], literal)

    def _behind_heredoc(self, node: Node, start: int, owner: int) -> None:
        """The grammar hangs what follows `<<X` on the same line below the here-document."""
        for child in node.named_children:
            if child.type == "file_redirect":
                command = self.commands[owner]
                self.commands[owner] = replace(command, redirects=(*command.redirects, self._redirect(child)))
            elif child.type == "pipeline":
                self._pipeline(child, start)
            elif child.type in _WORDS:
                self._doubt("words behind a here-document")
                self.walk(child)
            else:
                self.walk(child)

    def _word(self, node: Node) -> Word:
        """The word that a node stands for; what runs inside it is collected too."""
        if node.type in ("word", "number"):
            source = self._source(node)
            if source.isalnum():
                return plain_word(source)
        builder = WordBuilder()
        self._pieces(node, builder)
        return builder.build()

    def _pieces(self, node: Node, builder: WordBuilder) -> None:
        match node.type:
            case "word" | "number" | "brace_expression" | "variable_name" | "special_variable_name" | "test_operator":
                self._bare(self._source(node), builder)
            case "raw_string":
                builder.literal(self._source(node)[1:-1])
            case "ansi_c_string":
                builder.literal(decode_escapes(self._source(node)[2:-1]))
            case "string":
                self._string(node, builder)
            case "concatenation":
                previous = node.start_byte
                for child in node.children:
                    if child.start_byte != previous:
                        self._doubt("a word with a gap in it")
                    previous = child.end_byte
                    self._pieces(child, builder)
            case "variable_assignment":
                self._assignment(node, builder)
            case "$" | "=" | "+=" | "~":
                builder.bare(node.type)
            case kind if kind in _WORDS:
                builder.mark(self._source(node), self._mark_kind(node), quoted=False)
                self._inside(node)
            case kind:
                self._doubt(f"a word that holds {kind}")
                builder.mark(self._source(node), "other", quoted=False)
                self._inside(node)

    def _inside(self, node: Node) -> None:
        """Collects the commands inside an expansion."""
        if node.type != "simple_expansion":
            self.walk(node)

    def _mark_kind(self, node: Node) -> MarkKind:
        source = self._source(node)
        if source in ("$?", "$#", "$!", "${?}", "${#}", "${!}"):
            return "status"
        if node.type == "simple_expansion":
            return "param"
        kinds = [child.type for child in node.children]
        plain = len(kinds) == 3 and kinds[1] in ("variable_name", "special_variable_name") and kinds[0] == "${"
        return "param" if plain else "other"

    def _bare(self, source: str, builder: WordBuilder) -> None:
        """Unquoted text with backslash escapes."""
        start = 0
        while True:
            escape = source.find("\\", start)
            plain = source[start:] if escape < 0 else source[start:escape]
            if plain:
                if not _NOT_BARE.isdisjoint(plain):
                    self._doubt("a word that holds a blank or an operator")
                builder.bare(plain)
            if escape < 0:
                return
            builder.literal(source[escape + 1 : escape + 2])
            if source[escape + 1 : escape + 2] in ("", "\n"):
                self._doubt("a backslash at a line end")
            start = escape + 2

    def _assignment(self, node: Node, builder: WordBuilder) -> None:
        previous = node.start_byte
        for child in node.children:
            if child.start_byte != previous:
                self._doubt("an assignment with a gap in it")
            previous = child.end_byte
            self._pieces(child, builder)

    def _string(self, node: Node, builder: WordBuilder) -> None:
        """A double-quoted string. The grammar leaves blanks out of its nodes: they are taken from the gaps."""
        builder.literal("")
        if self._idiom(node, builder):
            return
        at = node.start_byte + 1
        for child in node.children[1:-1]:
            if child.type == "string_content" or not child.is_named:
                continue
            self._quoted(self._data[at : child.start_byte].decode(), builder)
            builder.mark(self._source(child), self._mark_kind(child), quoted=True)
            self._inside(child)
            at = child.end_byte
        self._quoted(self._data[at : node.end_byte - 1].decode(), builder)

    def _quoted(self, text: str, builder: WordBuilder) -> None:
        start = 0
        while (escape := text.find("\\", start)) >= 0:
            following = text[escape + 1 : escape + 2]
            builder.literal(text[start:escape])
            builder.literal(following if following and following in '$`"\\' else "\\" + following)
            start = escape + 2
        if start < len(text):
            builder.literal(text[start:])

    def _idiom(self, node: Node, builder: WordBuilder) -> bool:
        """True when the string is the commit idiom; its body is then plain text and nothing runs."""
        inner = node.named_children
        if len(inner) != 1 or inner[0].type != "command_substitution":
            return False
        statements = inner[0].named_children
        if len(statements) != 1 or statements[0].type != "redirected_statement":
            return False
        parts = statements[0].named_children
        if [part.type for part in parts] != ["command", "heredoc_redirect"] or self._source(parts[0]) != "cat":
            return False
        if any(child.type not in _IDIOM_PARTS for child in parts[1].children):
            return False
        found = commit_idiom(self._text, self._offset(node.start_byte) + 1)
        if found is None or found[1] != self._offset(node.end_byte) - 1:
            return False
        self._heredocs += 1
        if self._heredocs > 1:
            self._doubt("it holds more than one here-document")
        builder.literal(found[0].rstrip("\n"))
        return True


_IDIOM_PARTS = frozenset(["<<", "<<-", "heredoc_start", "heredoc_body", "heredoc_end"])


def _leaves(node: Node) -> Iterator[Node]:
    """The words and operators of a test, in order."""
    for child in node.children:
        if child.type in _EXPRESSIONS:
            yield from _leaves(child)
        else:
            yield child
