"""The list of everyday commands is what it says, and exactly the declared ones ask."""

from __future__ import annotations

import pytest

from tests.bench.everyday import MOST_ASKED, everyday

LISTED = everyday()


def test_the_list_holds_150_distinct_commands_of_known_sources() -> None:
    """Every source is used, and every command has one."""
    assert len({each.command for each in LISTED.commands}) == len(LISTED.commands) == 150
    assert {each.source for each in LISTED.commands} == set(LISTED.sources)
    assert all(each.kind for each in LISTED.commands)


def test_exactly_the_declared_commands_ask() -> None:
    """Each prompt is explained in one line, and there is no explanation without a prompt."""
    asked = {each.command for each in LISTED.asked(*LISTED.rules)}
    assert asked == {each.command for each in LISTED.commands if each.why_asked}
    assert all(each.why_asked is None or "\n" not in each.why_asked for each in LISTED.commands)


def test_few_commands_ask() -> None:
    """A careful developer's rules leave at most 12 of 100 everyday commands to a person."""
    assert len(LISTED.asked(*LISTED.rules)) <= MOST_ASKED * len(LISTED.commands)


def test_the_shapes_of_real_life_are_there() -> None:
    """Pipes, places, here-documents, typed code: the list was not cleaned of what is hard to judge."""
    texts = [each.command for each in LISTED.commands]
    shapes = ("cd /", " | head", "2>&1 | tail", "<<'EOF'", "python -c", "sed -n", "&& git commit", " & ", "2>/dev/null")
    for shape in shapes:
        assert any(shape in text or text.endswith(shape.rstrip()) for text in texts), shape


@pytest.mark.parametrize("rule", LISTED.own)
def test_every_rule_of_the_developer_is_used(rule: str) -> None:
    """No rule is there for nothing: without it something more would ask."""
    rest = [each for each in LISTED.rules if each != rule]
    assert len(LISTED.asked(*rest)) > sum(each.why_asked is not None for each in LISTED.commands)
