"""Calls that look like one that was read before: a quoted twin in front says nothing about the real command."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_sdk.rules.argv import ArgvKeys, argv_of
from agent_sdk.rules.shell import read_command
from tests.rules.support import book, reading, verdict

STRICTNESS = {"allow": 0, "none": 1, "ask": 1, "deny": 2}
DENY = ["Read(~/.ssh/**)", "Edit(~/.bashrc)", "Edit(./locked/**)", "Bash(evil:*)"]
HOME = "/home/dev"
COMMANDS = [
    *("cat ~/.ssh/id", "tee ~/.bashrc", "rm ~/.bashrc", "cp a ~/.bashrc", "mv ~/.bashrc a", "sed -i p ~/.bashrc"),
    *(f"cat {HOME}/.ss?/id", f"cat {HOME}/.ssh/*", "tee lock*/a", "dd of=~/.bashrc", 'cat "$HOME/.ssh/id"'),
    *("cat ~/.s*/id", "cat {~/.ssh/id,a}", "cat {~/.s?h/id,a}", "rm -rf {/,a}", "rm -rf {*,.*}", "rm -rf a{,/../..}"),
    *("rm -rf ~", "rm -rf ~/", "rm -rf *", "rm -rf $x/*", "rm -rf ~root", "rm -rf {~,a}", "find ~ -delete", "rm -r /*"),
    *('trap "$x" EXIT', 'find . -exec "$x" \\;', 'mapfile -C "$x" v', 'tmux "$x"', 'sh -c "$x"', 'eval "$x"'),
    *('awk "$x"', 'sed "$x" f', 'awk -F"$x" "$y" f', "cd ~; cat .ssh/id", 'xargs sh -c "$x"'),
    *("nice $x", "{} a"),
    *("find . -exec {} \\;", "sudo cat ~/.ssh/id", "sh -c 'cat ~/.ssh/id'", 'bash "$x"', "source $x", 'env -S "$x"'),
]  # fmt: skip


def judge(command: str) -> int:
    """How strict the rules are: 0 allow, 1 ask, 2 deny."""
    return STRICTNESS[verdict(book(allow=["Bash"], deny=DENY), reading("Bash", {"command": command}))]


def emptied(words: list[str]) -> list[str]:
    """The words with every variable empty: what the readings make of them."""
    for name in ("$x", "$y"):
        words = [word.replace(name, "") for word in words]
    return words


def escaped(word: str) -> str:
    """A word with a backslash before each character that might be special."""
    return "".join(char if char.isalnum() or char == "\n" else "\\" + char for char in word) or "''"


@st.composite
def twins(draw: st.DrawFn) -> tuple[str, str]:
    """A command, and the same words so quoted or escaped that none of them is expanded."""
    command = draw(st.sampled_from(COMMANDS))
    words = shlex.split(command)
    if draw(st.booleans()):
        words = emptied(words)
    quote = st.sampled_from([shlex.quote, escaped, lambda word: "'" + word.replace("'", "'\\''") + "'"])
    written = [";" if word == ";" and at + 1 < len(words) else draw(quote)(word) for at, word in enumerate(words)]
    return command, " ".join(written)


@settings(max_examples=300, deadline=None)
@given(twins(), st.sampled_from(["; ", " && ", " || ", "\n", " | "]), st.integers(1, 3))
def test_a_twin_in_front_never_makes_a_verdict_laxer(pair: tuple[str, str], between: str, times: int) -> None:
    """However the twin is quoted, how often it stands there, and what joins the two."""
    command, twin = pair
    assert judge((twin + between) * times + command) >= judge(command), twin


@pytest.mark.parametrize("command", COMMANDS)
def test_none_of_these_is_allowed_alone(command: str) -> None:
    """So that the law about twins says something about each of them."""
    assert judge(command) > 0


@pytest.mark.parametrize(
    "command",
    [
        "cat '~/.ssh/id'; cat ~/.ssh/id",
        "cat \\~/.ssh/id || cat ~/.ssh/id",
        "sh -c \"cat '~/.ssh/id'\"; cat ~/.ssh/id",
        "tee '~/.bashrc'; tee ~/.bashrc",
        "rm '~/.bashrc'; rm ~/.bashrc",
        "cp a '~/.bashrc' && cp a ~/.bashrc",
        'cat "$x/.ssh/id"; cat "$HOME/.ssh/id"',
        "cd '~'; cd ~; cat .ssh/id",
    ],
)
def test_a_file_behind_a_twin_is_denied(command: str) -> None:
    """As it is without the twin."""
    assert judge(command) == 2


@pytest.mark.parametrize(
    "first", ["cat '~/.ssh/id'", "cat \\~/.ssh/id", "rm -rf '~'", "cat '.ss?/id'", "tee 'lock*/a'"]
)
def test_a_twin_alone_is_allowed(first: str) -> None:
    """A quoted tilde or glob is the name of another file."""
    assert judge(first) == 0


@pytest.mark.parametrize(
    "command",
    ['head -n"$n" ~/.ssh/id', 'awk -F"$s" 1 ~/.ssh/id', 'sort -k"$n" ~/.ssh/id', 'head -c$n ~/.ssh/id'],
)  # fmt: skip
def test_a_hidden_value_of_an_option_hides_no_file(command: str) -> None:
    """`-n"$n"` has its value and takes no word behind it, though it may be empty."""
    assert judge(command) == 2


@pytest.mark.parametrize("fillers", [1, 40, 150, 400])
def test_a_command_in_an_option_is_not_pushed_out_by_others(fillers: int) -> None:
    """With more of them than are read, the call is not allowed, whatever they are."""
    rest = " ".join(f"--to-command='eval a{number}'" for number in range(fillers))
    assert judge(f"tar --to-command='sh -c \"evil\"' -xf a {rest}") > 0


def test_the_same_call_is_kept_once() -> None:
    """Calls are told apart by what is uncertain of them, and by nothing else."""
    keys = ArgvKeys()

    def found(command: str) -> object:
        return keys.key(argv_of(read_command(command).script.commands[0]))

    assert found("cat 'a' b") == found('cat a "b"')
    assert found("cat ~/a $x") == found("cat  ~/a $x")
    assert len({found(text) for text in ("cat ~", "cat '~'", "cat $x", 'cat "$x"', "cat $y", "cat ''", "cat *")}) == 7
