"""Where something is worked out in a shorter way than it is told, both ways come to the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk.calls import ToolFacts
from agent_sdk.rules import escapes as escaping
from agent_sdk.rules.argv import Argv, _emptied, expanded
from agent_sdk.rules.bash_pattern import SEPARATOR, allow_line, marked
from agent_sdk.rules.book import _MAX_KEPT, Book
from agent_sdk.rules.escape_table import PROGRAMS
from agent_sdk.rules.escapes import program_of
from agent_sdk.rules.file_operands import FILES, TAKES_FILES, file_uses
from agent_sdk.rules.files import TableFiles
from agent_sdk.rules.late_text import _EVALUATED, evaluates
from agent_sdk.rules.matching import Place, known_facts
from agent_sdk.rules.reading import Reading
from agent_sdk.rules.rule import RuleSource, parse_rule
from agent_sdk.rules.shell import read_command
from agent_sdk.rules.shell_flat import flat_script
from agent_sdk.rules.shell_nodes import Word
from agent_sdk.rules.shell_text import expand_braces
from agent_sdk.rules.wrappers import RUNNERS, WRAPPERS

PIECES = [
    "a",
    "''",
    '"$x"',
    "$x",
    "$IFS",
    "a$IFS$IFS",
    "{b,'',c}",
    "{$x,d}",
    "~/e",
    "*.py",
    '"f $y"',
    "{a,$IFS}g",
    "rm",
]
lines = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map(" ".join)


def told(words: tuple[Word, ...]) -> Argv:
    """Words as deny takes them, as it is told: every word expanded, then empty ones in front dropped."""
    out: list[tuple[str, Word]] = []
    for word in words:
        text, shape = _emptied(word)
        for variant in expand_braces(text, shape) if word.brace else [text]:
            parts = variant.split("\0")
            out += [(part, word) for part in parts if part or len(parts) == 1]
    if any(word.marks or word.brace for word in words):
        while out and not out[0][0]:
            del out[0]
    return Argv(tuple(part for part, _ in out), tuple(word for _, word in out))


@given(lines)
def test_words_are_expanded_as_it_is_told(line: str) -> None:
    """With blanks out of `$IFS`, brace lists and empty words, in every order."""
    for command in read_command(line).script.commands:
        assert expanded(command.words) == told(command.words)


@given(lines)
def test_a_line_for_allow_rules_marks_every_word(line: str) -> None:
    """Words without expansions are taken as they are, which is what marking them gives."""
    for command in read_command(line).script.commands:
        assert allow_line(command.words) == SEPARATOR.join(map(marked, command.words))


@pytest.mark.parametrize("line", ["ls", "ls -l a/b.py 2>&1", "git commit -m 'x y'", "cd a && npm run b-c | tail -5"])
def test_what_a_flat_command_is_given_is_what_it_would_find(line: str) -> None:
    """Its texts, and that they are certain."""
    script = flat_script(line)
    assert script is not None
    for command in script.commands:
        fresh = replace(command)
        assert (command.texts, command.static) == (fresh.texts, fresh.static)


@pytest.mark.parametrize(
    "table", [PROGRAMS, FILES, WRAPPERS, RUNNERS], ids=["programs", "files", "wrappers", "runners"]
)
def test_every_name_of_a_table_is_found_under_itself(table: Mapping[str, object]) -> None:
    """No part of it is taken for a version (`linux32`), and deny and allow look it up in the same case."""
    assert {name: program_of(name)[0] for name in table} == {name: name for name in table}


OPTIONS = sorted({part for rows in PROGRAMS.values() for row in rows.rows for part in row.options})
WORDS = [*OPTIONS, *(option.rstrip(":…") for option in OPTIONS), "", "-", "--", "+", "x", "a=b", "-xvf", "--out=x", "*"]


@pytest.mark.parametrize("base", sorted(PROGRAMS))
def test_words_worth_a_look_are_found_as_one_by_one(base: str) -> None:
    """A word is looked at closer when it is a whole one, or may begin an option of the table."""
    index = escaping._index(base)
    argv = (base, *WORDS)
    one_by_one = [
        at for at in range(1, len(argv)) if index.always or argv[at] in index.words or index._may_hit(argv[at])
    ]
    assert list(index.span(argv)) == one_by_one


@pytest.mark.parametrize("base", ["ls", "npm", "git", "cd", "pushd", "xargs", "zzz", *sorted(FILES)])
def test_only_programs_of_the_table_touch_files(base: str) -> None:
    """So the others need not be asked; `cd` and `pushd` enter folders and touch none."""
    touched = [use for use in file_uses((base, "-a", "b", "c=d", "e")) if use.use != "enter"]
    assert base in TAKES_FILES or not touched
    if base in TAKES_FILES:
        assert all(use.use != "enter" for use in file_uses((base, "a", "b")))


@given(st.text(alphabet="PS4_RANDOMhistcmd ßµÀ", max_size=12))
def test_a_line_without_capitals_names_no_variable_that_runs(text: str) -> None:
    """All names in question hold capital letters."""
    assert evaluates(text) == bool(_EVALUATED.search(text))


def test_what_a_rule_says_of_a_tool_is_asked_anew_for_other_facts_and_other_tools() -> None:
    """It is kept for the very facts and registry it was found for, and what is kept is bounded."""
    source = RuleSource(scope="options", file=None, root="/w")
    book = Book("deny", [parse_rule("Edit", "deny", source, 0), parse_rule("mcp__a__*", "deny", source, 1)])
    place = Place(cwd="/w", files=TableFiles())

    def covers(tool: str, facts: ToolFacts, registry: frozenset[str] | None = None) -> bool:
        reading = Reading(tool, {}, facts, place, registry=registry)
        fresh = Book("deny", [parse_rule("Edit", "deny", source, 0), parse_rule("mcp__a__*", "deny", source, 1)])
        found = book.any_reading(reading)
        assert (found is None) == (fresh.any_reading(reading) is None)
        return found is not None

    reads = ToolFacts(name="mine", reads="path")
    writes = ToolFacts(name="mine", writes="path")
    for _ in range(2):
        assert not covers("mine", reads)
        assert covers("mine", writes)
        assert covers("Edit", known_facts("Edit"))
        assert covers("mcp__a__b", ToolFacts(name="mcp__a__b"), frozenset(["mcp__a__b"]))
        assert not covers("mcp__b__b", ToolFacts(name="mcp__b__b"), frozenset(["mcp__b__b"]))
    for number in range(2 * _MAX_KEPT):
        covers(f"tool{number}", reads)
        assert len(book._kept) <= _MAX_KEPT
