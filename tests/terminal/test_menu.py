"""Only an explicit answer approves a call."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_sdk.decisions import Allow, Considered, Deny
from agent_sdk.terminal.asking import ENDED, NOBODY, Act
from agent_sdk.terminal.menu import chosen
from tests.terminal.people import Person

OFFERS: tuple[Act, ...] = ("yes", "edit", "no", "words", "stop", "why")
COMMAND = {"command": "rm -rf build", "description": "Clean up"}

ANSWERS = [
    pytest.param(["1"], Allow(), id="yes"),
    pytest.param(["  1 "], Allow(), id="spaces around"),
    pytest.param(["１"], Allow(), id="full-width digit"),
    pytest.param(["2", "rm -r build"], Allow({**COMMAND, "command": "rm -r build"}), id="edited command"),
    pytest.param(["2", "", "3"], Deny(), id="an edit taken back"),
    pytest.param(["3"], Deny(), id="no"),
    pytest.param(["4", "use make clean"], Deny("use make clean"), id="no, with words"),
    pytest.param(["4", "", "1"], Allow(), id="words taken back"),
    pytest.param(["5"], Deny("The person interrupted the work.", interrupt=True), id="stop"),
    pytest.param(["6", "1"], Allow(), id="why, then yes"),
    pytest.param(["", "y", "yes", "0", "7", "11", "1.", "one", "3"], Deny(), id="unclear lines are asked again"),
    pytest.param([], Deny(ENDED, by=NOBODY), id="end of input"),
    pytest.param(["6"], Deny(ENDED, by=NOBODY), id="end of input after a look at the trace"),
    pytest.param(["2"], Deny(ENDED, by=NOBODY), id="end of input in an edit"),
    pytest.param(["4"], Deny(ENDED, by=NOBODY), id="end of input in a reason"),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("lines", "decision"), ANSWERS)
async def test_what_is_typed_decides(lines: list[str], decision: Allow | Deny) -> None:
    """Each choice gives its decision, and whatever is no choice gives none."""
    with Person(*lines) as person:
        assert await person.asked("Bash", COMMAND) == decision


JSON_EDITS = [
    pytest.param(['{"file_path": "b"}'], Allow({"file_path": "b"}), "", id="new input"),
    pytest.param(["{file_path}", '{"file_path": "b"}'], Allow({"file_path": "b"}), "property name", id="not JSON"),
    pytest.param(["[1]", '{"a": 1}'], Allow({"a": 1}), "must be an object", id="no object"),
    pytest.param(['{"a": NaN}', '{"a": 1}'], Allow({"a": 1}), "NaN is not JSON", id="NaN"),
    pytest.param(["[" * 200_000, "", "3"], Deny(), "nested too deeply", id="nested without end"),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("lines", "decision", "said"), JSON_EDITS)
async def test_an_input_is_edited_as_json(tmp_path: Path, lines: list[str], decision: Allow | Deny, said: str) -> None:
    """An edited input replaces the whole one; what is no JSON object is asked again with the reason."""
    file = tmp_path / "typed"
    file.write_text("\n".join(["2", *lines, ""]))
    with file.open() as typed, Person() as person:
        person.approver = type(person.approver)(input=typed, output=person.screen)
        assert await person.asked("Read", {"file_path": "a"}) == decision
    assert said in person.seen


@given(
    st.lists(
        st.one_of(st.sampled_from(["", "y", "yes", "ok", "3.", "6", "0", "+1", "1 1", "1,2"]), st.text()), max_size=8
    )
)
@settings(max_examples=60, deadline=None)
def test_no_other_line_ever_approves(lines: list[str]) -> None:
    """Whatever is typed, without one of the two approving numbers nothing is approved."""
    typed = [piece for line in lines for piece in line.encode("utf-8", "replace").decode().split("\n")]
    harmless = [line for line in typed if chosen(line, OFFERS) not in OFFERS[:2]]
    with Person(*harmless) as person:
        assert isinstance(anyio.run(partial(person.asked, "Bash", COMMAND)), Deny)


@given(st.text())
@settings(deadline=None)
def test_a_choice_is_its_number_and_nothing_else(line: str) -> None:
    """A line chooses only when it is a number of the menu, give or take spaces and the width of digits."""
    choice = chosen(line, OFFERS)
    assert (choice is not None) == (line.strip() in [*"123456", *"１２３４５６"])


@pytest.mark.anyio
async def test_the_prompt_tells_who_asks_what_and_why() -> None:
    """Agent, command, reason, rule and time limit are on the screen before the menu is."""
    with Person("1") as person:
        await person.asked(
            "Bash",
            COMMAND,
            agent_type="reviewer",
            agent_path=("toolu_9",),
            decision_reason="An ask rule covers this call.",
            matched_rule="Bash(rm *)",
            deadline=datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC),
        )
    above, menu, _ = person.seen.partition("May it run?")
    assert menu
    for words in (
        "the sub-agent reviewer (toolu_9)",
        "$ rm -rf build",
        "An ask rule",
        "Bash(rm *)",
        "Answer before 20",
    ):
        assert words in above


@pytest.mark.anyio
async def test_the_trace_is_told_on_request() -> None:
    """Asking why shows every step that was considered, then the menu again."""
    trace = (
        Considered(step="deny_rules"),
        Considered(step="ask_rules", said="ask", by="Bash(rm *)", where="settings.json:3"),
    )
    with Person("6", "3") as person:
        await person.asked("Bash", COMMAND, trace=trace)
    assert "1. deny_rules → no opinion" in person.seen
    assert "2. ask_rules Bash(rm *) (settings.json:3) → ask" in person.seen
    assert person.seen.count("May it run?") == 2


@pytest.mark.anyio
async def test_the_end_of_the_input_is_told() -> None:
    """Neither the person nor the model is left to guess why a call was denied."""
    with Person() as person:
        decision = await person.asked("Bash", COMMAND)
    assert isinstance(decision, Deny)
    assert "the input of the terminal ended" in str(decision.message)
    assert "(the input ended: the call is denied)" in person.seen


@pytest.mark.anyio
async def test_who_answered_is_on_record() -> None:
    """The name that the application gives stands in the decision."""
    with Person("1", by="rosa") as person:
        assert await person.asked("Bash", COMMAND) == Allow(by="rosa")
