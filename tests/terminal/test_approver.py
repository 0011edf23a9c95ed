"""Whose turn it is, which front end, and what becomes of a call that the rules settle while it waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from agent_sdk import AgentOptions, ResultMessage, UserMessage, query
from agent_sdk.calls import ToolCall
from agent_sdk.decisions import Allow, Defer, Deny, Verdict
from agent_sdk.errors import OptionsError
from agent_sdk.terminal import TerminalApprover
from agent_sdk.terminal.menu import picked
from agent_sdk.testing import ScriptedModel
from tests.terminal.people import Person, context
from tests.terminal.test_rich_approval import SUGGESTIONS, remembers

pytestmark = pytest.mark.anyio


class Rules:
    """The rules of a made-up run: nothing is settled until a person has said yes once."""

    def __init__(self, behavior: str = "allow", *, delay: float = 0.0) -> None:
        self.behavior = behavior
        self.in_force = False
        self._delay = delay

    async def come_into_force(self) -> None:
        """As a rule is saved: a moment after the answer."""
        await anyio.sleep(self._delay)
        self.in_force = True

    def judge(self, update: Mapping[str, Any] | None) -> Verdict:
        """What a context's recheck says."""
        call = ToolCall(id="t", tool="Bash", said={}, effective={}, cwd="/", message_uuid="m", session_id="s", index=0)
        behavior: Any = self.behavior if self.in_force else "ask"
        return Verdict(behavior=behavior, call=call, decision=Allow(), by="allow_rules", rule="Bash(echo:*)")


async def test_a_rule_that_comes_meanwhile_clears_what_it_covers() -> None:
    """Twenty calls wait; after one remembered yes nobody is asked about the other nineteen."""
    rules, decisions = Rules(delay=0.05), []
    with Person("1", ends=False) as person:
        person.approver._remembered_at = anyio.current_time() + 60  # as after an answer that remembers

        async def ask(number: int) -> None:
            known = context(_recheck=rules.judge)
            decision = await person.approver("Bash", {"command": f"echo {number}"}, known)
            decisions.append(decision)
            if not rules.in_force:
                await rules.come_into_force()

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for number in range(20):
                    tasks.start_soon(ask, number)
    assert person.seen.count("May it run?") == 1
    assert "(19 more waiting)" in person.seen
    assert person.seen.count("(no need to ask about Bash: rule Bash(echo:*) allows it)") == 19
    assert decisions == [Allow()] + [Allow(by="rule Bash(echo:*)")] * 19


@pytest.mark.parametrize(("behavior", "decision"), [("allow", Allow), ("deny", Deny)])
async def test_a_call_that_is_shown_can_be_settled_too(behavior: str, decision: type) -> None:
    """A rule that somebody else brings into force answers the open prompt."""
    rules = Rules(behavior, delay=0.1)
    with Person(ends=False) as person, anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(rules.come_into_force)
            came = await person.approver("Bash", {"command": "ls"}, context(_recheck=rules.judge))
        assert isinstance(came, decision)
        assert "(no need to ask about Bash" in person.seen
        person.types("3")
        assert await person.asked("Bash", {"command": "ls"}) == Deny()


async def test_without_a_run_everybody_is_asked() -> None:
    """A context of its own has no rules to settle anything."""
    with Person("1", "3") as person:
        assert await person.asked("Bash", {"command": "a"}) == Allow()
        assert await person.asked("Bash", {"command": "b"}) == Deny()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        pytest.param(["2", "git push", "ls", "1"], "That cannot run: Bash(git push", id="a deny rule"),
        pytest.param(["2", "", "1"], "goes back", id="nothing"),
    ],
)
async def test_a_change_is_judged_at_once(tmp_path: Any, lines: list[str], said: str) -> None:
    """In a run the person learns at the prompt that a change cannot run, and can say something else."""
    model = ScriptedModel([[{"type": "tool_use", "name": "Bash", "input": {"command": "echo one"}}]])
    results: list[Any] = []
    with Person(*lines) as person:
        options = AgentOptions(
            model=model, can_use_tool=person.approver, cwd=tmp_path, deny=["Bash(git push:*)"], ask=["Bash(echo:*)"]
        )
        async for message in query("Go.", options=options):
            if isinstance(message, UserMessage):
                results += message.content
    assert said in person.seen
    assert results[0].is_error is False


async def test_the_parts_that_need_approval_are_marked(tmp_path: Any) -> None:
    """Each command of a line is held against the rules of the run by itself."""
    command = {"command": "echo one && rm -r build"}
    model = ScriptedModel([[{"type": "tool_use", "name": "Bash", "input": command}]])
    with Person("3") as person:
        options = AgentOptions(model=model, can_use_tool=person.approver, cwd=tmp_path, allow=["Bash(echo:*)"])
        async for message in query("Go.", options=options):
            if isinstance(message, ResultMessage):
                assert len(message.permission_denials) == 1
    assert "1. echo one  (allowed without asking)" in person.seen
    assert "2. rm -r build  (needs your approval)" in person.seen


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        ("1", [0]),
        ("2,3", [1, 2]),
        ("1，3", [0, 2]),
        ("１、３", [0, 2]),
        ("1,2", "One number for each part"),
        ("4", "Type numbers from 1 to 3."),
        ("x", "Type numbers from 1 to 3."),
    ],
)
async def test_rungs_by_number(line: str, rows: list[int] | str) -> None:
    """One rule for each part of the call."""
    came = picked(line, SUGGESTIONS)
    if isinstance(rows, str):
        assert rows in came
    else:
        assert came == [SUGGESTIONS[row] for row in rows]


async def test_remembering_can_be_taken_back() -> None:
    """Enter alone goes back to the menu, from the rules and from the place."""
    with Person("8", "", "8", "9", "1", "7", "0", "", "3") as person:
        assert await person.asked("Bash", {"command": "npm test"}, suggestions=SUGGESTIONS) == Deny()
    assert "Type numbers from 1 to 3." in person.seen
    assert "Type a number from 0 to 4, or Enter alone." in person.seen


@remembers
async def test_what_is_remembered_is_handed_back() -> None:
    """The very updates that were shown, kept where the person said."""
    with Person("8", "2", "", "8", "1,3", "1") as person:
        one = await person.asked("Bash", {"command": "npm test"}, suggestions=SUGGESTIONS)
        two = await person.asked("Bash", {"command": "npm test"}, suggestions=SUGGESTIONS)
    assert isinstance(one, Allow)
    assert one.updated_permissions == [SUGGESTIONS[1]]
    assert isinstance(two, Allow)
    assert [update.destination for update in two.updated_permissions or ()] == ["session", "session"]


@pytest.mark.parametrize(
    ("given", "words"),
    [({"mode": "fancy"}, "mode is"), ({"when_gone": "allow"}, "when_gone is"), ({"mode": ["rich"]}, "mode is")],
)
async def test_bad_options_are_refused(given: dict[str, Any], words: str) -> None:
    """At once, not at the first question."""
    with pytest.raises(OptionsError, match=words):
        TerminalApprover(**given)


async def test_rich_without_the_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """And `auto` is plain then."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(OptionsError, match="pip install prompt_toolkit"):
        TerminalApprover(mode="rich")
    assert not TerminalApprover().is_rich


async def test_later_and_gone() -> None:
    """Parking is offered where it was asked for; the end of the input parks where that was asked for."""
    with Person("9") as person:
        approver = TerminalApprover(input=person._reading, output=person.screen, offer_defer=True)
        assert isinstance(await approver("Bash", {"command": "ls"}, context()), Defer)
    for tool_input in ({"command": "ls"}, None):
        with Person() as person:
            approver = TerminalApprover(input=person._reading, output=person.screen, when_gone="defer")
            question = {"question": "Q?", "header": "H", "options": [{"label": x, "description": ""} for x in "ab"]}
            name, given = ("Bash", tool_input) if tool_input else ("AskUserQuestion", {"questions": [question]})
            assert await approver(name, given, context()) == Defer("the terminal is gone")
