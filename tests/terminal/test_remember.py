"""The menu's choices that remember: what they offer, and what they hand back."""

from __future__ import annotations

from typing import Any

import pytest

from agent_sdk.decisions import Allow, Deny, PermissionRule, PermissionUpdate
from agent_sdk.terminal.menu import LONG_MENU, MENU, menu_for
from tests.terminal.people import Person, context


def rule(text: str, rung: int = 0, covers: str = "", where: Any = "localSettings") -> PermissionUpdate:
    return PermissionUpdate.add_rules([PermissionRule.from_text(text)], destination=where, rung=rung, covers=covers)


TEST, TESTS = rule("Bash(npm test)", covers="npm test"), rule("Bash(npm test *)", 1, "npm test")
LINT = rule("Bash(npm run lint)", covers="npm run lint")
EDIT, FOLDER = rule("Edit(//p/a.txt)", where="session"), rule("Edit(//p/**)", 1, where="session")
TWO = [TEST, TESTS, LINT]
COMMAND = {"command": "npm test && npm run lint"}

CHOICES = [
    pytest.param([TEST], ["7"], Allow(updated_permissions=[TEST]), id="always"),
    pytest.param([TEST], ["8"], Allow(updated_permissions=[TEST.at("session")]), id="for this session"),
    pytest.param(TWO, ["7"], Allow(updated_permissions=[TEST, LINT]), id="always, for every part"),
    pytest.param(TWO, ["9", "1"], Allow(updated_permissions=[LINT, TESTS]), id="a wider rule for one part"),
    pytest.param(TWO, ["9", "2", "x", "", "3"], Deny(), id="no wider rule after all"),
    pytest.param([EDIT, FOLDER], ["7"], Allow(updated_permissions=[EDIT]), id="a file is for this session"),
    pytest.param([EDIT, FOLDER], ["8", "1"], Allow(updated_permissions=[FOLDER]), id="its folder"),
    pytest.param([TEST], ["9", "3"], Deny(), id="a number that is not there"),
    pytest.param([], ["7", "3"], Deny(), id="nothing to remember"),
    pytest.param([TESTS], ["7", "3"], Deny(), id="nothing narrow to remember"),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("suggestions", "lines", "decision"), CHOICES)
async def test_what_is_remembered(
    suggestions: list[PermissionUpdate], lines: list[str], decision: Allow | Deny
) -> None:
    """Each choice hands back exactly the updates that it names."""
    with Person(*lines) as person:
        assert await person.asked("Bash", COMMAND, suggestions=suggestions) == decision


@pytest.mark.anyio
async def test_the_choices_name_rule_place_and_what_a_wider_one_is_for() -> None:
    """A person reads what would be saved before saving it."""
    with Person("9", "", "3") as person:
        await person.asked("Bash", COMMAND, suggestions=TWO)
    assert "7. Yes, and always: Bash(npm test), Bash(npm run lint) (in settings.local.json)" in person.seen
    assert "8. Yes, and for this session: Bash(npm test), Bash(npm run lint)" in person.seen
    assert "  1. Bash(npm test *) (in settings.local.json, for npm test)" in person.seen


@pytest.mark.anyio
async def test_a_rule_cannot_draw_on_the_screen() -> None:
    """Rules come from the model's words: line breaks and control characters are shown, not obeyed."""
    with Person("3") as person:
        await person.asked("Bash", COMMAND, suggestions=[rule("Bash(a\n  9. Yes\x1b[2J)")])
    assert "\n  9. Yes" not in person.seen
    assert "\x1b" not in person.seen


def test_numbers_never_move() -> None:
    """What remembers comes behind the choices that are always there."""
    for cut, always in ((False, MENU), (True, LONG_MENU)):
        assert menu_for(context(), cut=cut) == always
        assert menu_for(context(suggestions=TWO), cut=cut)[: len(always)] == always
