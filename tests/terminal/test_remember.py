"""The menu's choices that remember: what they offer, and what they hand back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_sdk import AgentOptions, ResultMessage, query
from agent_sdk.decisions import Allow, Deny, PermissionRule, PermissionUpdate
from agent_sdk.testing import ScriptedModel
from tests.terminal.people import Person


def rule(text: str, rung: int = 0, covers: str = "", where: Any = "localSettings") -> PermissionUpdate:
    return PermissionUpdate.add_rules([PermissionRule.from_text(text)], destination=where, rung=rung, covers=covers)


TEST, TESTS = rule("Bash(npm test)", covers="npm test"), rule("Bash(npm test *)", 1, "npm test")
LINT = rule("Bash(npm run lint)", covers="npm run lint")
EDIT, FOLDER = rule("Edit(//p/a.txt)", where="session"), rule("Edit(//p/**)", 1, where="session")
TWO = [TEST, TESTS, LINT]
COMMAND = {"command": "npm test && npm run lint"}

CHOICES = [
    pytest.param([TEST], ["8", "1", ""], Allow(updated_permissions=[TEST]), id="where it says"),
    pytest.param([TEST], ["8", "1", "1"], Allow(updated_permissions=[TEST.at("session")]), id="for this session"),
    pytest.param([TEST], ["8", "1", "4"], Allow(updated_permissions=[TEST.at("userSettings")]), id="everywhere"),
    pytest.param(TWO, ["8", "1,3", ""], Allow(updated_permissions=[TEST, LINT]), id="a rule for every part"),
    pytest.param(TWO, ["8", "1,2", "2,3", ""], Allow(updated_permissions=[TESTS, LINT]), id="a wider one for one part"),
    pytest.param(TWO, ["8", "4", "x", "", "3"], Deny(), id="nothing after all"),
    pytest.param([EDIT, FOLDER], ["8", "2", ""], Allow(updated_permissions=[FOLDER]), id="a folder"),
    pytest.param([], ["8", "3"], Deny(), id="nothing to remember"),
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
async def test_a_rule_cannot_draw_on_the_screen() -> None:
    """Rules come from the model's words: line breaks and control characters are shown, not obeyed."""
    with Person("8", "", "3") as person:
        await person.asked("Bash", COMMAND, suggestions=[rule("Bash(a\n  9. Yes\x1b[2J)")])
    assert "\n  9. Yes" not in person.seen
    assert "\x1b" not in person.seen


@pytest.mark.anyio
async def test_twenty_calls_and_one_remembered_rule_ask_once(tmp_path: Path) -> None:
    """In a real run with all calls open at once, a remembered yes answers those that it covers."""
    calls = [{"type": "tool_use", "name": "Bash", "input": {"command": "touch a"}} for _ in range(20)]
    with Person("8", "1", "1", ends=False) as person, anyio.fail_after(20):
        options = AgentOptions(
            model=ScriptedModel([calls]), can_use_tool=person.approver, cwd=tmp_path, max_parallel_prompts=None
        )
        async for message in query("Go.", options=options):
            if isinstance(message, ResultMessage):
                assert not message.permission_denials
    assert person.seen.count("May it run?") == 1
    assert "no longer needed" not in person.seen
    assert (tmp_path / "a").exists()
