"""Reading command lines: both readings, the split, and what is refused before any of them."""

from __future__ import annotations

import pytest

from agent_sdk.rules.lexer import plain_script
from agent_sdk.rules.shell import full_reading, read_command
from agent_sdk.rules.shell_nodes import Script
from agent_sdk.rules.shell_screen import MAX_CHARS, join_lines, refusal
from agent_sdk.rules.shell_split import split_commands
from agent_sdk.rules.shell_text import decode_escapes, expand_braces
from agent_sdk.rules.shell_tree import read_tree


def words(script: Script) -> list[list[str]]:
    """The commands of a script as lists of words."""
    return [[word.text for word in (*command.assigns, *command.words)] for command in script.commands]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls -la", [["ls", "-la"]]),
        ("a 'b c' \"d $x\" e\\ f", [["a", "b c", "d $x", "e f"]]),
        ("a&&b||c;d|e&f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a # comment\n# comment\nb", [["a"], ["b"]]),
        ("(a; { b; }) && ! c", [["a"], ["b"], ["c"]]),
        ("A=1 B='2 3' c", [["A=1", "B=2 3", "c"]]),
        ("a \\\n  b \\\n  c", [["a", "b", "c"]]),
        ("cat <<E\nx\nE\nls", [["cat"], ["ls"]]),
        ("cat <<'E' | tee f && ls\n$(x)\nE\n", [["cat"], ["tee", "f"], ["ls"]]),
        ("a <<-E\n\tx\n\tE\nb", [["a"], ["b"]]),
        ("a $'b\\n'", [["a", "b\n"]]),
        ('a "b\\$c\\d"', [["a", "b$c\\d"]]),
        ("git commit -m \"$(cat <<'E'\nit's (x)\nE\n)\" -q", [["git", "commit", "-m", "it's (x)", "-q"]]),
        ("git show HEAD@{1} {} a{b", [["git", "show", "HEAD@{1}", "{}", "a{b"]]),
        ('[ "$x" = a ] && b', [["[", "$x", "=", "a", "]"], ["b"]]),
        ("é ü", [["é", "ü"]]),
        ("python - <<E\nx\nE", [["python", "-"]]),
    ],
)
def test_plain_scripts_are_read_alike_twice(command: str, expected: list[list[str]]) -> None:
    """Both readings list the same commands."""
    reading = read_command(command)
    assert reading.plain
    assert reading.not_understood is None
    assert words(reading.script) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo $(a)", [["echo", "$(a)"], ["a"]]),
        ("if a; then b; else c; fi", [["a"], ["b"], ["c"]]),
        ("for i in $(a); do b; done", [["a"], ["b"]]),
        ("case x in y) a;; *) b;; esac", [["a"], ["b"]]),
        ("f() { a; }", [["f"], ["a"]]),
        ("[[ -n $(a) ]]", [["[[", "-n", "$(a)", "]]"], ["a"]]),
        ("echo ${x:-$(a)}", [["echo", "${x:-$(a)}"], ["a"]]),
        ("a[$(b)]=1 c", [["a[$(b)]=1", "c"], ["b"]]),
        ("cat <<E\n$(a)\nE", [["cat"], ["a"]]),
        ("(( a[$(b)] ))", [["b"]]),
        ("a < <(b) > >(c)", [["a"], ["b"], ["c"]]),
    ],
)
def test_the_grammar_looks_inside(command: str, expected: list[list[str]]) -> None:
    """Everything that may run is listed; such a script is understood, and no plain one."""
    reading = read_command(command)
    assert not reading.plain
    assert reading.not_understood is None
    assert words(reading.script) == expected


@pytest.mark.parametrize(
    "command",
    [
        "",
        "# nothing",
        "ls\n\\rm x",
        "ls\n\\\nrm x",
        "ls \\\n # x",
        "time { { rm x; }; }",
        "ls ;; ls",
        "[\nE\nrm x ]",
        "> f ls",
        "ls > f x",
        "ls >",
        "cat <<A && cat <<\\B\nA\nB",
        "cat <<A <<B\nA\nB",
        "ls <<E\nx",
        "ls\rrm",
        "ls\0",
        "ls \u202e",
        "ls \u200d",
        "\ufeffls",
        "ls \ud800",
        "x" * (MAX_CHARS + 1),
        ";".join(f"a{number}" for number in range(51)),
        "$(" * 101 + "a" + ")" * 101,
        "a && " * 60 + "b",
        "( " * 2000,
        "rm$IFS$x-rf",
        "do a",
        "a 'b",
    ],
)
def test_what_is_not_understood(command: str) -> None:
    """Hidden characters, limits, and what the grammar and bash may take differently: nothing approves it."""
    assert read_command(command).not_understood is not None


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("a\\\nb", "ab"),
        ("'a\\\nb' \"c\\\nd\"", "'a\\\nb' \"cd\""),
        ("a \\\\\nb", "a \\\\\nb"),
        ("a # b\\\nc", None),
        ("a <<E\\\nE", None),
        ("a $(b\\\n)", None),
        ("a 'b\\\n", None),
    ],
)
def test_lines_are_joined_as_bash_joins_them(command: str, expected: str | None) -> None:
    """A backslash before a line end is taken out, except in single quotes; where it may be text nothing is joined."""
    assert join_lines(command) == expected


@pytest.mark.parametrize(
    "command",
    [
        "echo $(a)",
        "echo `a`",
        "a <(b)",
        "if a; then b; fi",
        "f() { a; }",
        "{ a; } b",
        "a )",
        "( a",
        "{ a",
        "( )",
        "a | | b",
        "a &&",
        "! ! a",
        "A=(b) c",
        "A[1]=b c",
        "echo ${x:-y}",
        'echo "$(cat <<E\nx\nE\n)"',
        "echo \"$(cat <<'E'\nx\nEnd\nE\n)\"",
        "echo \"$(cat <<'E'\n:) x\nE\n)\"",
        "cat <<E\n$x\nE",
        "cat <<E\n`a`\nE",
        "cat <<E\na\\\nE\nE",
        "cat <<$x\n$x",
        "a {fd}>b",
        "a >&$x",
        "a $'\\u0041'",
        'a $"b"',
        "a(b)",
        "[[ a ]]",
        "((a))",
        "coproc a",
        "time { a; }",
        "a | ! b",
        "a |! time b",
        "a <2>&1",
        "a >2<b",
    ],
)
def test_the_lexer_leaves_the_rest_alone(command: str) -> None:
    """Whatever is no plain script gets no second reading."""
    assert plain_script(command) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 'b; c", [["a", "b; c"], ["b"], ["c"]]),
        ('a $(b `c` "$(d)"', [["a", '$(b `c` "$(d)"'], ["b", "`c`", "$(d)"], ["c"], ["d"]]),
        ("case x in (a) b;; c) d;; esac", [["a"], ["b"], ["d"]]),
        ("cat <<E\n$(a) `b`\nE", [["cat"], ["a"], ["b"]]),
        ("echo \"${x:-'$(a)'}\"", [["echo", "${x:-'$(a)'}"], ["a"]]),
        ("a\\\nb c", [["ab", "c"]]),
        ("function f { a; }", [["a"]]),
    ],
)
def test_the_split_finds_commands_in_any_text(text: str, expected: list[list[str]]) -> None:
    """Half a quote or bracket hides nothing."""
    found = [command for command in words(split_commands(text)) if command and command != [""]]
    assert sorted(command for command in found if command in expected) == sorted(expected)


def test_what_is_piped_is_known() -> None:
    """A pipe feeds its right side, a here-document of a group feeds the commands in it."""
    assert [(feed.source, feed.sink) for feed in full_reading("a | b | c").script.feeds] == [
        ((0, 1), (1, 2)),
        ((0, 2), (2, 3)),
    ]
    assert [(feed.source, feed.sink) for feed in full_reading("{ sh; } <<E\nx\nE").script.feeds] == [((1, 2), (0, 1))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a{b,c}d", ["abd", "acd"]), ("{a,{b,c}}", ["a", "b", "c"]), ("a", ["a"]), ("{a", ["{a"]), ("{,}m", ["m", "m"])],
)
def test_brace_lists(text: str, expected: list[str]) -> None:
    """They expand as in bash."""
    assert expand_braces(text, text) == expected


def test_brace_lists_are_bounded() -> None:
    """A list of lists does not explode."""
    assert len(expand_braces("{a,b}" * 40, "{a,b}" * 40)) <= 64


@pytest.mark.parametrize(
    ("text", "expected"), [("\\x72m", "rm"), ("\\162\\155", "rm"), ("\\u0072", "r"), ("a\\nb", "a\nb"), ("\\q", "\\q")]
)
def test_escapes(text: str, expected: str) -> None:
    """What `$'…'` makes of them."""
    assert decode_escapes(text) == expected


def test_without_a_command_there_is_nothing_to_trust() -> None:
    """A tree that holds no command is not understood."""
    assert read_tree("# x")[1] is not None


@pytest.mark.parametrize(
    ("word", "expanded"),
    [
        *(
            ("~", True),
            ("~/x", True),
            ("a=~", True),
            ("of=~/x", True),
            ("a+=~", True),
            ("a=b:~/x", True),
            ("a[1]=~", True),
        ),
        *(("b~", False), ("'~'", False), ("a=b~", False), ("a='~'", False), ("'a'=~", False), ("a-b=~", False)),
        *(("--x=~", False), ("1a=~", False), ("a=b=~", False)),
    ],
)
def test_where_a_tilde_is_expanded(word: str, expanded: bool) -> None:
    """At the start of a word, and behind `=` and `:` in an operand that looks like an assignment."""
    read = read_command(f"echo {word}").script.commands[0].words[1]
    assert read.tilde is expanded


@pytest.mark.parametrize(
    "before", ["{", "echo {", "a {12", "a {1..", "a {1..23", "a {..", "a '{", "a {\\\n", "a {1.\\\n."]
)
@pytest.mark.parametrize("char", ["\u0100", "\u65e5", "\U0001f600", "\U0010d136"])
def test_the_grammar_never_sees_a_large_character_behind_a_brace(before: str, char: str) -> None:
    """Its scanner would look it up behind the end of a table: half of the time the process died of the last one."""
    assert refusal(f"{before}{char} x") is not None
    assert full_reading(f"{before}{char} x").not_understood is not None


@pytest.mark.parametrize("command", ["echo {é}", "echo {a,日}", "echo 日{a}", "echo {1.日}", 'echo "{ 日"'])
def test_other_characters_near_a_brace_are_read(command: str) -> None:
    """Only what stands right behind the brace, its digits or its dots is looked up."""
    assert refusal(command) is None
