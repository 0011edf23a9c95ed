"""A scripted person answers as written, and never hides a disagreement between script and run."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from agent_sdk.decisions import Allow, Defer, Deny, PermissionContext
from agent_sdk.errors import OptionsError
from agent_sdk.testing import ScriptedApprover, UnexpectedAsk, answers

pytestmark = pytest.mark.anyio


async def ask(approver: ScriptedApprover, tool: str = "Bash", tool_use_id: str = "t1", **tool_input: Any) -> object:
    """Asks about one call."""
    return await approver(tool, tool_input, PermissionContext(tool_use_id=tool_use_id, session_id="s"))


async def test_a_list_answers_in_order() -> None:
    """Each call takes the next step; plain and async functions decide by looking at the call."""

    def by_input(tool: str, tool_input: dict[str, Any], context: PermissionContext) -> Allow:
        return Allow(note=tool_input["command"])

    async def later(tool: str, tool_input: dict[str, Any], context: PermissionContext) -> Deny:
        return Deny(context.tool_use_id)

    approver = ScriptedApprover([Allow(), by_input, later, Defer("later")])
    said = [await ask(approver, command="ls") for _ in range(4)]
    assert said == [Allow(), Allow(note="ls"), Deny("t1"), Defer("later")]
    approver.assert_done()


async def test_a_mapping_answers_by_id_before_name() -> None:
    """The id is more exact than the tool's name; a single step serves every call, a list only so many."""
    approver = ScriptedApprover({"Bash": Allow(), "t7": [Deny("not this one")]})
    assert await ask(approver) == Allow()
    assert await ask(approver, tool_use_id="t7") == Deny("not this one")
    assert await ask(approver, tool_use_id="t7") == Allow()
    approver.assert_done()


async def test_answers_fill_in_a_question_card() -> None:
    """`answers` hands the questions back together with the answers."""
    questions = [{"question": "Which?"}]
    approver = ScriptedApprover([answers({"Which?": ["A", "B"]}, response="go on")])
    said = await ask(approver, "AskUserQuestion", questions=questions)
    assert said == Allow({"questions": questions, "answers": {"Which?": ["A", "B"]}, "response": "go on"})


async def test_calls_are_kept_as_they_were() -> None:
    """What was asked can be read afterwards, even if the input was changed meanwhile."""
    approver = ScriptedApprover([Allow()])
    tool_input: dict[str, Any] = {"paths": ["a"]}
    await approver("Read", tool_input, PermissionContext(tool_use_id="t", session_id="s"))
    tool_input["paths"].append("b")
    (call,) = approver.calls
    assert (call.tool_name, call.tool_input, call.context.tool_use_id) == ("Read", {"paths": ["a"]}, "t")


async def test_an_unexpected_ask_is_loud_twice() -> None:
    """It raises at once, and again in assert_done, because a run turns the first into a denial."""
    approver = ScriptedApprover([])
    with pytest.raises(UnexpectedAsk, match="ask number 1: Bash"):
        await ask(approver, command="ls")
    with pytest.raises(AssertionError, match="Nothing in the script answers"):
        approver.assert_done()


async def test_a_failing_function_is_remembered() -> None:
    """An assertion inside the script fails the test even if the run only saw a denial."""

    def check(tool: str, tool_input: dict[str, Any], context: PermissionContext) -> Allow:
        assert tool == "Read", "only Read was expected"
        return Allow()

    approver = ScriptedApprover([check])
    with pytest.raises(AssertionError):
        await ask(approver)
    with pytest.raises(AssertionError, match="only Read was expected"):
        approver.assert_done()


@pytest.mark.parametrize(
    "script",
    [
        pytest.param([Allow(), Allow()], id="list"),
        pytest.param({"Bash": [Allow(), Allow()]}, id="list in a mapping"),
        pytest.param({"Bash": Allow(), "Write": Allow()}, id="a name that never came"),
    ],
)
async def test_left_over_steps_are_loud(script: Any) -> None:
    """A step that nobody asked for fails the test."""
    approver = ScriptedApprover(script)
    await ask(approver)
    with pytest.raises(AssertionError, match="1 left over"):
        approver.assert_done()


@pytest.mark.parametrize("script", [["allow"], [None], {"Bash": [True]}, {"Bash": "deny"}])
def test_a_script_is_checked_when_it_is_made(script: Any) -> None:
    """Something that is no decision is an error before anything runs."""
    with pytest.raises(OptionsError, match="expected Allow, Deny, Defer or a function"):
        ScriptedApprover(script)


PLUGIN_TESTS = """
import anyio, pytest
from agent_sdk.decisions import Allow, PermissionContext
from agent_sdk.errors import ModelError
from agent_sdk.models import anthropic as real

def test_left_over(scripted_approver):
    scripted_approver([Allow()])

def test_used_up(scripted_approver):
    context = PermissionContext(tool_use_id="t", session_id="s")
    assert anyio.run(scripted_approver([Allow()]), "Bash", {}, context) == Allow()

def test_model(scripted_model):
    assert scripted_model([{"content": [{"type": "text", "text": "hi"}]}]).name == "scripted"

def test_forbidden(forbid_model_requests):
    assert real.forbid_model_requests(True) is True

def test_not_forbidden_afterwards():
    assert real.forbid_model_requests(False) is False
"""


def test_the_fixtures_work_in_a_project_of_their_own(tmp_path: Any) -> None:
    """A project that only names the plugin gets models, approvers that check themselves, and the switch."""
    (tmp_path / "test_it.py").write_text(PLUGIN_TESTS)
    arguments = ["-q", "-p", "agent_sdk.testing.plugin", "-p", "no:cacheprovider", "-c", "/dev/null", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--rootdir", str(tmp_path), *arguments],
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "5 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "ERROR" in done.stdout
    assert "test_left_over" in done.stdout


def test_the_plugin_is_cheap_to_import() -> None:
    """pytest loads the plugin in every project, so it must not bring a client or a user interface along."""
    code = (
        "import sys, agent_sdk.testing.plugin, agent_sdk.testing; "
        "heavy = {'anthropic', 'httpx', 'prompt_toolkit', 'trio', 'asyncio'} & set(sys.modules); "
        "print(sorted(heavy - {'asyncio'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
