"""Laws of the rules over scripts from the fuzzer's grammar: what more, fewer and longer may change."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_sdk.rules.deny_readings import deny_readings
from agent_sdk.rules.lexer import plain_script
from agent_sdk.rules.shell import full_reading, read_command
from agent_sdk.rules.shell_screen import join_lines, refusal
from agent_sdk.rules.shell_tree import read_tree
from tests.rules.fuzz.grammar import DODGE, PLAIN, Grammar, mutated
from tests.rules.support import book, reading, verdict

STRICTNESS = {"allow": 0, "none": 1, "ask": 1, "deny": 2}
ALLOW = ["Bash", "Bash(ok:*)", "Bash(ok a)", "Bash(ok*)", "Bash(echo *)", "Bash(test:*)", "Bash(nice ok:*)", "Edit(f)"]
STRICT = ["Bash(evil:*)", "Bash(ok:*)", "Bash(ok a*)", "Bash(*)", "Bash", "Bash(* b.txt)", "Bash(sh:*)", "Read(a)"]
STRICT += ["Edit(**)", "Bash(echo *)", "Bash(nice *)", "Bash(ok && *)"]

chances = st.integers(0, 2**32).map(random.Random)


def script(chance: random.Random, table: str = "plain", *, wounded: bool = False) -> str:
    """A script from the grammar."""
    text = Grammar(chance, PLAIN if table == "plain" else DODGE, "/stubs/bin", hiding=0.2).script()
    return mutated(text, chance) if wounded else text


def judge(command: str, **rules: list[str]) -> int:
    """How strict the rules are with a command: 0 allow, 1 ask, 2 deny."""
    return STRICTNESS[verdict(book(**rules), reading("Bash", {"command": command}))]


some = st.lists(st.sampled_from(STRICT), max_size=2)


@settings(max_examples=300, deadline=None)
@given(chances, st.booleans(), st.lists(st.sampled_from(ALLOW), max_size=3), some, some, st.sampled_from(STRICT))
def test_one_more_deny_or_ask_rule_never_widens(
    chance: random.Random, wounded: bool, allow: list[str], deny: list[str], ask: list[str], more: str
) -> None:
    """Whatever the other rules are, a further deny or ask rule makes no verdict weaker."""
    command = script(chance, chance.choice(["plain", "dodge"]), wounded=wounded)
    before = judge(command, allow=allow, deny=deny, ask=ask)
    assert judge(command, allow=allow, deny=[*deny, more], ask=ask) >= before
    assert judge(command, allow=allow, deny=deny, ask=[*ask, more]) >= before


@settings(max_examples=300, deadline=None)
@given(chances, st.booleans(), st.lists(st.sampled_from(ALLOW), min_size=1, max_size=4), some)
def test_one_allow_rule_less_never_widens(
    chance: random.Random, wounded: bool, allow: list[str], deny: list[str]
) -> None:
    """Whatever the other rules are, taking an allow rule away makes no verdict weaker."""
    command = script(chance, wounded=wounded)
    gone = chance.randrange(len(allow))
    fewer = allow[:gone] + allow[gone + 1 :]
    assert judge(command, allow=fewer, deny=deny) >= judge(command, allow=allow, deny=deny)


def is_whole(command: str) -> bool:
    """True for a script that means the same wherever it stands: nothing open, no comment, no body to come."""
    understood = read_command(command).not_understood is None
    return understood and "#" not in command and "<<" not in command and not command.rstrip(" \t\n").endswith("&")


@settings(max_examples=400, deadline=None)
@given(
    chances,
    st.sampled_from([" && ", "; ", " || ", " | ", "\n", " & ", " |& ", " ;\n"]),
    st.sampled_from(["plain", "dodge"]),
    st.sampled_from([["Bash"], ["Bash(ok:*)", "Bash(echo *)", "Bash(test:*)", "Bash([:*)"], ["Bash(ok*)"]]),
    some,
    some,
)
def test_two_commands_are_never_wider_than_each(
    chance: random.Random, between: str, table: str, allow: list[str], deny: list[str], ask: list[str]
) -> None:
    """The verdict of a list or a pipe is at least as strict as those of its parts."""
    first, second = script(chance, table), script(chance, table)
    if is_whole(first) and is_whole(second):
        rules = {"allow": allow, "deny": deny, "ask": ask}
        both = judge(first.rstrip("\n;") + between + second.lstrip("\n"), **rules)
        assert both >= max(judge(first, **rules), judge(second, **rules))


@settings(max_examples=300, deadline=None)
@given(chances, st.booleans())
def test_where_two_readings_differ_nothing_is_allowed(chance: random.Random, wounded: bool) -> None:
    """A line is plain only when the grammar and the strict lexer list the same commands; else no scoped rule holds."""
    command = script(chance, wounded=wounded)
    joined = None if refusal(command) else join_lines(command)
    lexed = plain_script(joined) if joined is not None else None
    tree, problem = read_tree(joined) if joined is not None else ((), "refused")
    found = full_reading(command)
    if lexed is None or problem is not None or not joined:
        assert not found.plain
    elif lexed != tree.commands:  # type: ignore[union-attr]
        assert not found.plain
        assert found.not_understood is not None
        assert judge(command, allow=["Bash", "Bash(ok:*)", "Bash(echo *)"]) > 0
    if not found.plain:
        assert judge(command, allow=["Bash(ok:*)", "Bash(echo *)", "Bash(ok*)"]) > 0


ODD = st.text(st.characters(), max_size=80) | st.lists(
    st.sampled_from(
        [*"\0\x01\r\n\t \u00a0\u2003\u200b\u202e\ufeff\ud800\udcff'\"\\$`(){}[]<>|&;#!*?~=", "ok ", "\r\n", "$("]
    ),
    max_size=60,
).map("".join)


@settings(max_examples=300, deadline=None)
@given(ODD | chances.map(lambda chance: script(chance, "dodge", wounded=True)))
def test_no_text_makes_a_reading_raise_or_take_long(command: str) -> None:
    """Any characters at all, broken ones included: there is a verdict, within two seconds of work."""
    started = time.process_time()
    read = read_command(command)
    deny_readings(read)
    assert judge(command, allow=["Bash", "Bash(ok:*)"], deny=["Bash(evil:*)", "Read(x)"]) in (0, 1, 2)
    assert time.process_time() - started < 2


MEGABYTE = 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        *(
            "a ",
            "a;",
            "$(",
            "`",
            "'",
            '"',
            "(",
            "cat <<E\n",
            "x='a[$(b)]';",
            "((a));'$(b)'",
            "echo a|sh|",
            "\0",
            "\ud800",
        ),
        *("a\r\n", "a\u2003", "sh -c '", "\\", "$x", "awk '{a|b}';", "sed 's/a/b/e';", "sh <<< x;", "env -S 'a b';"),
        *(
            "{a,b}",
            "tar -I a;",
            "eval ",
            "alias a=b;",
            "for a in b;",
            "printf %s a|sh;",
            "sh <<E\n$(a)\nE\n",
            "a[$(b)]=",
        ),
        *("find -exec ", "sudo ", "[[ -v a[", "ok >&'$(b)';", "a=~ ", "uv run ", ". /dev/fd/3;", "f() { sh; };"),
    ],
    ids=repr,
)
def test_a_megabyte_is_judged_in_bounded_time(unit: str) -> None:
    """No repetition takes more than half a minute of work, and the denied program behind it is still found."""
    command = unit * (MEGABYTE // len(unit))
    started = time.process_time()
    assert judge(command + "; rm x", allow=["Bash"], deny=["Bash(rm:*)", "Read(.env)"]) == 2
    assert time.process_time() - started < 30
