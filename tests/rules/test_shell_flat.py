"""The short ways of reading a command line say what the long ones say: for plain lines, and for ordinary programs."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent_sdk.rules import deny_readings as long_way
from agent_sdk.rules.argv import Argv
from agent_sdk.rules.deny_plain import DenyReadings, plain_readings
from agent_sdk.rules.deny_readings import deny_readings, full_readings
from agent_sdk.rules.program_calls import program_call
from agent_sdk.rules.shell import full_reading, read_command
from agent_sdk.rules.shell_flat import flat_script
from agent_sdk.rules.shell_nodes import ShellReading
from tests.bench.everyday import everyday
from tests.rules.fuzz.corpus import ROWS
from tests.rules.test_shell_cases import TABLE

WORDS = [
    *("npm", "git", "commit", "-m", "--grep=x", "-5", "5", "a=b", "=b", "a=", "a+=b", "==", "!=", "=", "+", "-", "--"),
    *("./x", "/", "..", "x.y:z", "@scope/x", "10%", "+x", "a,b", "'q w'", '"q w"', "''", '""', "'a\"b'", '"a\'b"'),
    *('"!"', "'$x'", '"$x"', "'`'", '"\\"', "'# x'", "#", "'2>&1'", '"&&"', "'{a,b}'", "{}", "~", "*", "[", "]"),
    *("sh", "BASH.exe", "/bin/sh/", "-xsh", "--exec=sh", "fd", "xargs", "sudo", "env", "find", "-exec", "at", "cat"),
    *("echo", "eval", "source", ".", "/dev/stdin", "ld-x", "busybox", "timeout", "-c", "trap", "watch", "parallel"),
    *("tar", "--to-command=sh", "rsync", "-e", "npm2", "crontab2", "tee", "pytest", "-p", "$x", '"$y z"', "{sh,x}"),
    *('"a $x"', '"${x}.y"', '"$x$y"', '" $x"', '"$PS1"', '"a $_ b "'),
    *("in", "do", "time", "if", "test", "let", "export", "cd", "sub", "2>&1", ">/dev/null", "2>/dev/null", ">&2", ">x"),
]
JOINTS = [" && ", " || ", " | ", "; ", " ; ", ";", " & ", "|", "\n"]
words = st.one_of(st.sampled_from(WORDS), st.text("ab01_./=,:@%+-'\" #;&|>!\\$", min_size=1, max_size=4))
joints = st.one_of(st.just(" "), st.just(" "), st.just(" "), st.just("  "), st.sampled_from(JOINTS))
lines = st.lists(st.tuples(words, joints), min_size=1, max_size=8).map(
    lambda pairs: "".join(word + joint for word, joint in pairs[:-1]) + pairs[-1][0]
)


def assert_same(line: str) -> bool:
    """Whether a line is flat; then the full reading lists the same commands, and deny rules see the same."""
    flat = flat_script(line)
    if flat is None:
        return False
    full = full_reading(line)
    assert full.plain, full.not_understood
    assert full.script.commands == flat.commands
    assert deny_readings(ShellReading(flat, full.loose, plain=True, text=line)) == deny_readings(full)
    return True


@settings(max_examples=800, deadline=None)
@given(lines)
def test_a_flat_line_is_read_as_by_grammar_and_lexer(line: str) -> None:
    """Whatever line is taken the short way, both readings agree on it, and on nothing but what it says."""
    assert_same(line)


def test_each_short_word_is_read_as_by_grammar_and_lexer() -> None:
    """Every word of up to two plain characters, in every place of a command."""
    taken = 0
    for size in (1, 2):
        for chars in itertools.product("ab01_./=,:@%+-", repeat=size):
            for line in ("{} x", "x {}", "x {} y 2>&1", "x && {} y | head {}"):
                taken += assert_same(line.replace("{}", "".join(chars)))
    assert taken > 500


def test_each_quoted_character_is_read_as_by_grammar_and_lexer() -> None:
    """Every printable character, alone and between others, in both kinds of quotes."""
    taken = 0
    for code in range(32, 127):
        for quote, text in itertools.product("'\"", ("{}", "a{}b", " {} ", "{}{}")):
            taken += assert_same(f"x {quote}{text.replace('{}', chr(code))}{quote} y; z")
    assert taken > 700


@pytest.mark.parametrize(
    "line",
    [
        "ls",
        "pytest tests/test_x.py -q",
        "cd sub && npm test -- --grep name 2>&1 | tail -5",
        "git commit -m 'a $b `c`' && git push",
        'npm test -- --grep "name of $USER, ${x}" && ls "$HOME/a b"',
        'make CC=gcc -j4 "a b" || echo no; ls >/dev/null 2>&1',
    ],
)
def test_common_lines_are_flat(line: str) -> None:
    """What agents write most is read the short way."""
    assert assert_same(line)
    assert read_command(line).plain


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("A=1 ls", id="assignment"),
        pytest.param("ls | sh", id="a shell reads a pipe"),
        pytest.param("ls | fd -xsh", id="a shell glued to an option reads a pipe"),
        pytest.param("ls | SH.EXE", id="a shell of Windows reads a pipe"),
        pytest.param("ls | sudo -s", id="a wrapper that starts a shell reads a pipe"),
        pytest.param("ls | at now", id="a program that keeps commands reads a pipe"),
        pytest.param("ls | ./mine", id="a program that nobody knows reads a pipe"),
        pytest.param("ls | sudo /bin/bash", id="a shell behind a wrapper reads a pipe"),
        pytest.param("test a == b", id="an operator of the grammar"),
        pytest.param("time ls", id="reserved word"),
        pytest.param("export x", id="declaration"),
        pytest.param("ls  x", id="two blanks"),
        pytest.param("ls ", id="blank at the end"),
        pytest.param("ls;", id="nothing behind the operator"),
        pytest.param("ls\nrm x", id="line end"),
        pytest.param("ls &", id="background"),
        pytest.param("ls 2>&1 x", id="word behind a redirection"),
        pytest.param("ls 2>&1x", id="word glued to a redirection"),
        pytest.param("ls 2>&1rm x; ls", id="command glued to a redirection"),
        pytest.param("(ls", id="something before it"),
        pytest.param("ls )", id="something behind it"),
        pytest.param("", id="nothing"),
        pytest.param("ls 'a'b", id="glued quotes"),
        pytest.param("ls $x", id="bare variable"),
        pytest.param('ls "$1"', id="numbered parameter"),
        pytest.param('ls "${x:-y}"', id="expansion with an operator"),
        pytest.param('ls "$(x)"', id="substitution"),
        pytest.param('ls "a$"', id="lone dollar"),
        pytest.param('ls "a $x $y"', id="nothing but a blank before a variable"),
        pytest.param('ls "a\\b"', id="backslash in double quotes"),
        pytest.param("ls *", id="glob"),
        pytest.param("ls ~", id="tilde"),
        pytest.param("ls # x", id="comment"),
        pytest.param("ls é", id="beyond ASCII"),
        pytest.param("x" * 1_001, id="long"),
        pytest.param("; ".join(["x"] * 21), id="many commands"),
    ],
)
def test_the_rest_is_left_to_the_full_reading(line: str) -> None:
    """Whatever might be read in two ways is no flat line."""
    assert flat_script(line) is None


def without_repeats(found: DenyReadings) -> DenyReadings:
    """The readings, each told once: a line may say the same twice."""
    argvs: list[Argv] = []
    for argv in found.argvs:
        argvs += [argv] if argv not in argvs else []
    return replace(found, argvs=tuple(argvs), lines=tuple(dict.fromkeys(found.lines)))


def long_way_readings(reading: ShellReading) -> DenyReadings:
    """What following each command wherever it leads finds, ordinary ones as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_way, "program_call", lambda words: replace(program_call(words), ordinary=False))
        return without_repeats(full_readings(reading))


@settings(max_examples=400, deadline=None)
@given(lines)
@example("parallel cd")
@example("cd x && cd x; cd y")
@example("'' \"$y z\"")
@example("'' 'rm' \"$y\"")
def test_ordinary_programs_have_no_reading_that_the_long_way_would_find(line: str) -> None:
    """The short ways for programs that run no other one give deny rules what following each command gives."""
    reading = full_reading(line)
    long = long_way_readings(reading)
    assert without_repeats(deny_readings(reading)) == long
    assert without_repeats(full_readings(reading)) == long


COMMANDS = sorted({*(case["command"] for case in TABLE["cases"]), *(each.command for each in everyday().commands)})


@pytest.mark.parametrize("part", range(8))
def test_real_lines_have_no_other_reading_the_long_way(part: int) -> None:
    """Neither do the handed cases, the everyday commands, and the ways around deny rules that somebody thought of."""
    taken = 0
    for line in [*COMMANDS, *(command for _, command in ROWS)][part::8]:
        reading = read_command(line)
        taken += reading.plain and plain_readings(reading) is not None
        assert without_repeats(deny_readings(reading)) == long_way_readings(reading), line
    assert taken > 10


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("A=1 ls", id="assignment"),
        pytest.param("sudo ls", id="wrapper"),
        pytest.param("./ls", id="a program that somebody wrote"),
        pytest.param("ls > $x", id="unknown target"),
        pytest.param("ls <<< '$(x)'", id="text for the standard input"),
        pytest.param("$x ls", id="unknown name"),
        pytest.param("'' \"$y z\"", id="unknown name behind an empty one"),
        pytest.param('ls "$(x)"', id="substitution"),
        pytest.param('ls "${x#$(y)}"', id="substitution in a pattern"),
        pytest.param("ls {a,b}", id="brace list"),
        pytest.param('x=1; ls "$((x))"', id="arithmetic"),
        pytest.param("ls 'PS1'", id="a variable that runs"),
        pytest.param("set -o 'history'", id="history"),
    ],
)
def test_what_may_lead_elsewhere_is_followed(line: str) -> None:
    """A line in which anything may run something else has no short way."""
    assert plain_readings(read_command(line)) is None


@pytest.mark.parametrize(
    "line", ["ls", "ls -l *.py ~/x", "npm test -- 'a b' \"of $USER\"", "cd x && make 2>/dev/null | tail -5"]
)
def test_common_lines_are_followed_nowhere(line: str) -> None:
    """What agents write most has one."""
    assert plain_readings(read_command(line)) is not None


@pytest.mark.parametrize("line", ["fd -x", "fd --exec", "ls && fd -X"])
def test_an_option_without_the_command_that_it_wants_is_read(line: str) -> None:
    """`fd` with nothing to run has one reading: itself."""
    assert deny_readings(read_command(line)).lines[-1].startswith("fd")
