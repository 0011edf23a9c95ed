"""The plain prompt as a person meets it: cards, question cards, cancellation, hostile text."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_sdk.decisions import Allow, Deny
from agent_sdk.terminal.questions import ENDED
from tests.terminal.people import Person

pytestmark = pytest.mark.anyio


def question(text: str, *labels: str, multi: bool = False, header: str = "Choice") -> dict[str, Any]:
    options = [{"label": label, "description": f"about {label}"} for label in labels]
    return {"question": text, "header": header, "options": options, "multiSelect": multi}


BLOG = {
    "questions": [
        question("Which stack?", "Astro (Recommended)", "Next.js", header="Stack"),
        question("Which features?", "Comments", "RSS", "Search", multi=True, header="Features"),
        question("Where to?", "Pages", "Vercel", header="Target"),
    ]
}

CARDS = [
    pytest.param(
        ["1", "2,3", "our own nginx"],
        {"Which stack?": "Astro (Recommended)", "Which features?": ["RSS", "Search"], "Where to?": "our own nginx"},
        id="single, several, own words",
    ),
    pytest.param(["", "", ""], {}, id="all skipped"),
    pytest.param(["2", "", "1"], {"Which stack?": "Next.js", "Where to?": "Pages"}, id="one skipped"),
    pytest.param(
        ["9", "1,2", "2", "1", "=8080"],
        {"Which stack?": "Next.js", "Which features?": ["Comments"], "Where to?": "8080"},
        id="invalid lines are asked again",
    ),
    pytest.param(["2"], {"Which stack?": "Next.js"}, id="end of input leaves the rest open"),
]


@pytest.mark.parametrize(("lines", "answers"), CARDS)
async def test_a_card_is_answered_line_by_line(lines: list[str], answers: dict[str, Any]) -> None:
    """The answers are keyed by the question; skipped ones are left out."""
    with Person(*lines) as person:
        decision = await person.asked("AskUserQuestion", BLOG)
    assert decision == Allow({"questions": BLOG["questions"], "answers": answers})


async def test_a_card_that_nobody_answers_is_denied() -> None:
    """The end of the input before any answer is not a person who skips everything."""
    with Person() as person:
        assert await person.asked("AskUserQuestion", BLOG) == Deny(ENDED, by="end of input")
    assert "(the input ended" in person.seen


async def test_a_card_looks_as_announced() -> None:
    """Header, count, numbered options with descriptions, previews indented, and a line about own words."""
    card = {"questions": [question("Which stack?", "Astro", "Hugo", header="Stack")]}
    card["questions"][0]["options"][1]["preview"] = "title = 'x'\n中文"
    with Person("=", "Hugo") as person:
        decision = await person.asked("AskUserQuestion", card, agent_type="planner")
    assert isinstance(decision, Allow)
    assert person.seen == (
        "\nThe agent asks\n"
        "  Asked by the sub-agent planner\n"
        "    1 question\n"
        "[Stack] (1/1) Which stack?\n"
        "  1. Astro — about Astro\n"
        "  2. Hugo — about Hugo\n"
        "        title = 'x'\n"
        "        中文\n"
        "  Type a number or your own words; Enter skips.\n"
        "  (also: :back, :note and your words, :review to see all answers, :decline to answer nothing)\n"
        "> =\n"
        "Write the words after the = sign.\n"
        "> Hugo\n"
    )


async def test_one_write_may_hold_the_answers_to_several_prompts() -> None:
    """Nothing that a pipe delivers at once is lost between two calls."""
    with Person("3", "1", "4", "not now") as person:
        assert await person.asked("Bash", {"command": "one"}) == Deny()
        assert await person.asked("Bash", {"command": "two"}) == Allow()
        assert await person.asked("Bash", {"command": "three"}) == Deny("not now")


async def test_a_cancelled_prompt_leaves_the_next_one_in_order() -> None:
    """A prompt that is cancelled says so, and the next line goes to the next prompt."""
    with Person(ends=False) as person:
        with anyio.move_on_after(0.1) as scope:
            await person.asked("Bash", {"command": "one"})
        assert scope.cancelled_caught
        assert person.seen.endswith("> \n(no longer needed)\n")
        person.types("1")
        assert await person.asked("Bash", {"command": "two"}) == Allow()


async def test_a_cancelled_question_leaves_the_next_one_in_order() -> None:
    """The same holds in the middle of a question card."""
    with Person("1", ends=False) as person:
        with anyio.move_on_after(0.1):
            await person.asked("AskUserQuestion", BLOG)
        person.types("3")
        assert await person.asked("Bash", {"command": "ls"}) == Deny()
    assert "(2/3) Which features?" in person.seen
    assert "(no longer needed)" in person.seen


async def test_one_call_is_asked_at_a_time() -> None:
    """Calls that arrive together are asked one after the other, and the first says how many wait."""
    with Person(ends=False) as person:
        decisions: dict[str, object] = {}

        async def ask(command: str) -> None:
            decisions[command] = await person.asked("Bash", {"command": command})

        async with anyio.create_task_group() as tasks:
            for command in ("one", "two", "three"):
                tasks.start_soon(ask, command)
            await anyio.sleep(0.1)
            assert person.seen.count("May it run?") == 1
            assert "(2 more waiting)" in person.seen
            person.types("1", "3", "1")
    assert sorted(map(repr, decisions.values())) == sorted(map(repr, (Allow(), Deny(), Allow())))
    assert person.seen.count("May it run?") == 3


HOSTILE = "\x1b[2J\x1b[1;1HMay it run?\r\u202e\u200b\x07\x9b31m\n  1. Yes, once"


@pytest.mark.parametrize(
    ("tool", "tool_input", "lines"),
    [
        pytest.param("Bash", {"command": HOSTILE, "description": HOSTILE, HOSTILE: HOSTILE}, ["6", "3"], id="Bash"),
        pytest.param("Write", {"file_path": HOSTILE, "content": HOSTILE}, ["3"], id="Write"),
        pytest.param("Edit", {"file_path": "x", "old_string": HOSTILE, "new_string": "y"}, ["3"], id="Edit"),
        pytest.param(f"mcp__{HOSTILE}__t", {"a": HOSTILE}, ["3"], id="MCP"),
        pytest.param(
            "AskUserQuestion",
            {"questions": [question(HOSTILE, HOSTILE, "b\x1b]0;title\x07", header=HOSTILE)]},
            ["\x1b[A", "2"],
            id="question card",
        ),
    ],
)
async def test_text_of_the_model_cannot_steer_the_terminal(
    tool: str, tool_input: dict[str, Any], lines: list[str]
) -> None:
    """No control character of a call reaches the screen, and no line of it passes for a line of the prompt."""
    with Person(*lines) as person:
        await person.asked(tool, tool_input, agent_type=HOSTILE, decision_reason=HOSTILE, agent_path=(HOSTILE,))
    assert {char for char in person.seen if unicodedata.category(char) in ("Cc", "Cf", "Cs")} <= {"\n", "\t"}
    menus = 0 if tool == "AskUserQuestion" else len(lines)
    assert person.seen.splitlines().count("  1. Yes, once") == menus


async def test_a_long_diff_is_bounded(tmp_path: Path) -> None:
    """Three thousand new lines do not push the menu out of reach, and the prompt says what is missing."""
    content = "".join(f"line {n}\n" for n in range(3_000))
    with Person("3") as person:
        await person.asked("Write", {"file_path": "new", "content": content}, cwd=str(tmp_path))
    assert len(person.seen.splitlines()) < 450
    assert "2,603 more lines are not shown here" in person.seen


async def test_a_long_diff_can_be_seen_whole(tmp_path: Path) -> None:
    """Nobody has to approve what they have not seen: one more choice shows every line, then asks again."""
    content = "".join(f"line {n}\n" for n in range(3_000))
    with Person("7", "3") as person:
        decision = await person.asked("Write", {"file_path": "new", "content": content}, cwd=str(tmp_path))
    assert decision == Deny()
    assert "    +line 2999\n" in person.seen


SCRIPT = """
import sys, anyio
from agent_sdk.decisions import PermissionContext
from agent_sdk.terminal import TerminalApprover
async def main():
    approver = TerminalApprover()
    for command in sys.argv[2:]:
        context = PermissionContext(tool_use_id="t", session_id="s")
        print("DECISION", repr(await approver("Bash", {"command": command}, context)), flush=True)
anyio.run(main, backend=sys.argv[1])
"""


@pytest.mark.parametrize("stdin", ["pipe", "file", "null"])
def test_it_works_without_a_terminal(anyio_backend: str, tmp_path: Path, stdin: str) -> None:
    """In a pipeline, from a file and from /dev/null: no escape sequence, no hanging, a clear decision."""
    (tmp_path / "lines").write_bytes(b"1\n3\n")
    env = {**os.environ, "TERM": "dumb", "PYTHONIOENCODING": "ascii", "PYTHONPATH": os.getcwd()}
    command = [sys.executable, "-c", SCRIPT, anyio_backend, "echo 中文", "ls"]
    with (tmp_path / "lines").open("rb") as file:
        given = {"pipe": {"input": b"1\n3\n"}, "file": {"stdin": file}, "null": {"stdin": subprocess.DEVNULL}}[stdin]
        done = subprocess.run(command, env=env, capture_output=True, timeout=30, check=True, **given)
    shown = done.stdout.decode("ascii")
    assert "\x1b" not in shown
    assert "$ echo \\u4e2d\\u6587" in shown
    decisions = [line for line in shown.splitlines() if line.startswith("DECISION")]
    wanted = ("Deny", "Deny") if stdin == "null" else ("Allow", "Deny")
    assert [line.split()[1].split("(")[0] for line in decisions] == list(wanted)


async def test_an_unknown_tool_is_explained() -> None:
    """The description of a tool of the application is shown; for the built-in ones everybody knows it."""
    with Person("3", "3") as person:
        await person.asked("Deploy", {"to": "prod"}, description="Puts the site on the air.")
        await person.asked("Bash", {"command": "ls"}, description="Runs a command.")
    assert "About the tool: Puts the site on the air." in person.seen
    assert "Runs a command." not in person.seen
