"""Asking the person: what they are told, one at a time or all at once, for how long, and what is obeyed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest

from agent_sdk import (
    AgentOptions,
    Allow,
    Ask,
    AskUserQuestionConfig,
    Defer,
    Deny,
    HookMatcher,
    OptionsError,
    PermissionContext,
    ResultMessage,
    ToolResult,
    UserMessage,
    query,
)
from agent_sdk.testing import ScriptedApprover, ScriptedModel, answers
from tests.engine.dialogue import Ran, hold, say_yes, use
from tests.engine.test_options import Transcripts

NEEDS_N = {"type": "object", "required": ["n"]}
QUESTION = {
    "questions": [
        {
            "question": "Which database?",
            "header": "Database",
            "options": [{"label": "SQLite", "description": "d"}, {"label": "Postgres", "description": "d"}],
        }
    ]
}
PIXEL = {"type": "base64", "media_type": "image/png", "data": "aGk="}
RIGHT = {"Which database?": "SQLite"}


@pytest.mark.anyio
async def test_the_context_tells_why_and_can_look_again() -> None:
    """Ids, reason, rule, trace, words of the model, deadline; `recheck` works only inside of a run."""
    seen: list[PermissionContext] = []

    async def person(name: str, tool_input: dict[str, Any], context: PermissionContext) -> Deny:
        seen.append(context)
        assert context.recheck().behavior == "ask"
        return Deny("no")

    ran = Ran()
    before = datetime.now(UTC)
    held = await hold(
        [[{"type": "text", "text": "I save."}, use("save", "a", n=1)]],
        tools=[ran.tool("save")], ask=["save"], can_use_tool=person, approval_timeout=30,
    )  # fmt: skip
    (context,) = seen
    assert (context.tool_use_id, context.session_id) == ("a", held.session_id)
    assert (context.matched_rule, context.decision_reason_type) == ("save", "rule")
    assert (context.assistant_text, context.display_name, context.agent_path) == ("I save.", "save", ())
    assert context.deadline is not None
    assert timedelta(seconds=-1) < context.deadline - before - timedelta(seconds=30) < datetime.now(UTC) - before
    assert context.trace[-1].step == "must_ask"
    with pytest.raises(OptionsError, match="recheck"):
        PermissionContext(tool_use_id="a", session_id="s").recheck()


@pytest.mark.anyio
@pytest.mark.parametrize("prompts", [1, 2, None])
async def test_callbacks_are_called_as_many_at_once_as_the_options_say(prompts: int | None) -> None:
    """In call order, and nothing runs before all have answered."""
    ran, now, most, order = Ran(), 0, 0, []

    async def person(name: str, tool_input: dict[str, Any], context: Any) -> Allow:
        nonlocal now, most
        assert ran.calls == []
        order.append(tool_input["n"])
        now += 1
        most = max(most, now)
        await anyio.sleep(0.1)  # long enough for all that may be open at once to have begun
        now -= 1
        return Allow()

    calls = [use("save", n=n) for n in range(4)]
    await hold([calls], tools=[ran.tool("save")], can_use_tool=person, max_parallel_prompts=prompts)
    assert (most, order) == (prompts or 4, [0, 1, 2, 3])
    assert [n["n"] for _, n in ran.calls] == [0, 1, 2, 3]


@pytest.mark.anyio
async def test_the_time_limit_counts_from_the_call_not_from_the_queue() -> None:
    """Three slow answers in a row, each within its own limit."""

    async def person(*_: Any) -> Allow:
        await anyio.sleep(0.06)
        return Allow()

    ran = Ran()
    calls = [use("save", n=n) for n in range(3)]
    await hold([calls], tools=[ran.tool("save")], can_use_tool=person, approval_timeout=0.12)
    assert len(ran.calls) == 3


@pytest.mark.anyio
@pytest.mark.parametrize("on_timeout", ["deny", "defer"])
async def test_when_the_time_limit_passes_the_answer_is_no_or_later(on_timeout: str) -> None:
    """The callback is cancelled; a late answer is nobody's."""
    ran = Ran()

    async def person(*_: Any) -> Allow:
        try:
            await anyio.sleep(10)
        finally:
            return Allow()  # noqa: B012

    held = await hold(
        [[use("save", "a")]], tools=[ran.tool("save")], can_use_tool=person,
        approval_timeout=0.01, on_timeout=on_timeout,
    )  # fmt: skip
    assert ran.calls == []
    if on_timeout == "defer":
        assert held.result.terminal_reason == "tool_deferred"
    else:
        assert held.words == {"a": "The permission check failed: it timed out. The call was not run."}


EDITS: list[tuple[Any, Any, str]] = [
    ({"n": 2}, {"n": 2}, "save ran"),
    ({"n": 2, "more": [1, {"a": None}]}, {"n": 2, "more": [1, {"a": None}]}, "save ran"),
    ({}, None, "save.n: this field is required"), ({"m": 1}, None, "save.n: this field is required"),
]  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize(("edit", "runs", "words"), EDITS, ids=range(len(EDITS)))
async def test_an_edit_replaces_the_whole_input_and_is_checked(edit: Any, runs: Any, words: str) -> None:
    """It is copied on receipt; one that does not fit is a no, and the original does not run instead."""
    ran = Ran()
    mine = copy.deepcopy(edit)

    async def person(name: str, tool_input: dict[str, Any], context: Any) -> Allow:
        tool_input["n"] = "spoilt"
        return Allow(mine)

    async def spoils(tool_input: Any, context: Any) -> str:
        mine["n"] = "spoilt later"
        return "save ran"

    tools = [ran.tool("save", spoils, schema=NEEDS_N)]
    held = await hold([[use("save", "a", n=1)]], tools=tools, can_use_tool=person)
    assert ran.calls == ([("save", runs)] if runs else [])
    assert words in held.words["a"]
    said = held.model.requests[1]["messages"][1]["content"][0]["input"]
    assert said == {"n": 1}, "the model's own words are replayed"
    assert runs is None or ("fault is not yours" in held.words["a"]) is False


class Incomparable:
    """Cannot be compared."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]


IN_PLACE: dict[str, tuple[Callable[[dict[str, Any]], Allow | Deny], bool]] = {
    "another value": (lambda mine: mine.update(n=2) or Allow(), True),
    "one more field": (lambda mine: mine.update(more=1) or Allow(), True),
    "deeper": (lambda mine: mine["deep"].append(1) or Allow(), True),
    "no value at all": (lambda mine: mine.update(n=Incomparable()) or Allow(), True),
    "nothing": (lambda mine: Allow(), False),
    "handed back": (lambda mine: mine.update(n=1) or Allow(mine), False),
    "a no": (lambda mine: mine.clear() or Deny(), False),
}  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize("how", IN_PLACE)
async def test_a_change_in_place_has_no_effect_and_is_told(how: str, caplog: pytest.LogCaptureFixture) -> None:
    """The callback has a copy: who changes it and says yes to the call may think that the change counts."""
    act, told = IN_PLACE[how]
    ran = Ran()

    async def person(name: str, tool_input: dict[str, Any], context: Any) -> Allow | Deny:
        return act(tool_input)

    await hold([[use("save", "a", n=1, deep=[])]], tools=[ran.tool("save")], can_use_tool=person)
    assert ran.calls == ([] if how == "a no" else [("save", {"n": 1, "deep": []})])
    assert ("in place: that has no effect" in caplog.text) is told


@pytest.mark.anyio
@pytest.mark.parametrize(
    "message",
    ["Use git.", [{"type": "text", "text": "See:"}, {"type": "image", "source": PIXEL}]],
    ids=["text", "with-image"],
)
async def test_a_denial_tells_the_model_what_to_do_instead(message: Any) -> None:
    """Images follow after all results, because an error result holds text only."""
    ran = Ran()
    held = await hold(
        [[use("save", "a"), use("other", "b")]],
        tools=[ran.tool("save"), ran.tool("other")],
        allow=["other"],
        can_use_tool=ScriptedApprover([Deny(message)]),
    )
    blocks = held.model.requests[1]["messages"][-1]["content"]
    kinds = [block["type"] for block in blocks]
    assert kinds == ["tool_result", "tool_result"] + (["image"] if isinstance(message, list) else [])
    assert held.results["a"].is_error
    assert ran.names == ["other"]


@pytest.mark.anyio
@pytest.mark.parametrize("deny", [Deny(""), Deny("  ")], ids=["empty", "blank"])
async def test_a_denial_without_words_has_words_of_ours(deny: Deny) -> None:
    """The service takes no empty error."""
    held = await hold([[use("save", "a")]], tools=[Ran().tool("save")], can_use_tool=ScriptedApprover([deny]))
    assert held.words == {"a": "The user did not allow this call."}


async def hook_asks(*_: Any) -> Ask:
    """A hook that wants a person."""
    return Ask("a word for that person alone")


ASKED_BY: dict[str, tuple[dict[str, Any], str]] = {
    "nothing covers it": ({}, "No allow rule or permission mode covers it"),
    "an ask rule": ({"allow": ["save"], "ask": ["save"]}, "An ask rule wants a person"),
    "a hook": ({"allow": ["save"], "hooks": {"PreToolUse": [HookMatcher(hooks=[hook_asks])]}}, "A hook wants a person"),
    "the tool": ({"allow": ["talk"]}, "This tool needs a person"),
}


@pytest.mark.anyio
@pytest.mark.parametrize("why", ASKED_BY)
async def test_nobody_to_ask_says_what_was_missing(why: str) -> None:
    """Tool, who wanted a person, and the ways to add one."""
    options, words = ASKED_BY[why]
    name = "talk" if why == "the tool" else "save"
    held = await hold([[use(name, "a")]], tools=[Ran().tool("save"), Ran().tool("talk", ask=True)], **options)
    for word in (name, words, "can_use_tool", "hook"):
        assert word in held.words["a"]
    assert "a word for" not in held.words["a"]
    assert held.result.terminal_reason == "completed"


@pytest.mark.anyio
@pytest.mark.parametrize(("by", "who"), [(None, "can_use_tool"), ("ann", "ann")])
async def test_the_record_tells_who_said_no(by: str | None, who: str) -> None:
    """Not that it was a person: only the application knows."""
    held = await hold([[use("save", "a")]], tools=[Ran().tool("save")], can_use_tool=ScriptedApprover([Deny(by=by)]))
    assert held.result.permission_denials[0]["reason"] == f"{who} said no"


@pytest.mark.anyio
async def test_a_tool_may_need_a_person_for_some_inputs() -> None:
    """In every mode; a function that fails, or spoils what it is shown, asks."""
    asked: list[Any] = []

    def needs(tool_input: Any) -> bool:
        if tool_input["n"] == 3:
            raise ValueError
        big = tool_input["n"] > 1
        tool_input["n"] = 0
        return bool(big)

    async def person(name: str, tool_input: dict[str, Any], context: PermissionContext) -> Allow:
        asked.append((tool_input["n"], context.requires_user_interaction))
        return Allow()

    ran = Ran()
    tool = ran.tool("save", ask=needs)
    calls = [use("save", n=n) for n in (1, 2, 3)]
    await hold([calls], tools=[tool], can_use_tool=person, permission_mode="bypassPermissions")
    assert asked == [(2, True), (3, True)]
    assert [n["n"] for _, n in ran.calls] == [1, 2, 3]


@pytest.mark.anyio
async def test_a_wrong_answer_to_a_question_is_asked_for_once_more() -> None:
    """Then it is a no, and never "answered with nothing"."""
    turn = [[use("AskUserQuestion", "q", **QUESTION)]]
    wrong = answers({"Database": "SQLite"})
    good = ScriptedApprover([wrong, answers(RIGHT)])
    held = await hold(turn, can_use_tool=good)
    good.assert_done()
    assert '"Which database?"="SQLite"' in held.words["q"]
    bad = ScriptedApprover([wrong, wrong])
    held = await hold(turn, can_use_tool=bad)
    bad.assert_done()
    assert held.results["q"].is_error
    assert "invalid answer" in held.words["q"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("on_timeout", "word"), [("unanswered", "did not answer within"), ("deny", "timed out"), ("defer", "")]
)
async def test_a_question_has_a_time_limit_of_its_own(on_timeout: Any, word: str) -> None:
    """`approval_timeout` is not for questions."""

    async def person(*_: Any) -> Allow:
        await anyio.sleep(10)
        return Allow()

    config = AskUserQuestionConfig(timeout=0.02, on_timeout=on_timeout)
    turn = [[use("AskUserQuestion", "q", **QUESTION)]]
    held = await hold(turn, can_use_tool=person, questions=config, approval_timeout=500)
    if on_timeout == "defer":
        assert held.result.terminal_reason == "tool_deferred"
        return
    assert word in held.words["q"]
    assert held.results["q"].is_error is (on_timeout == "deny")


@pytest.mark.anyio
async def test_the_answers_that_the_model_made_up_are_nobodys() -> None:
    """They are stripped before anybody sees them; a bare yes is no answer."""
    person = ScriptedApprover({"AskUserQuestion": Allow()})
    held = await hold([[use("AskUserQuestion", "q", **QUESTION, answers=RIGHT, response="yes")]], can_use_tool=person)
    assert sorted(person.calls[0].tool_input) == ["questions"]
    assert "declined" in held.words["q"]


@pytest.mark.anyio
async def test_read_only_calls_run_side_by_side_and_others_in_order() -> None:
    """Results go out in call order, whoever was first."""
    ran, now, most = Ran(), 0, 0

    async def reads(tool_input: Any, context: Any) -> ToolResult:
        nonlocal now, most
        now, most = now + 1, max(most, now + 1)
        await anyio.sleep(0.01 / (tool_input["n"] + 1))
        now -= 1
        return ToolResult(str(tool_input["n"]))

    tools = [ran.tool("read", reads, read_only=True), ran.tool("write", reads)]
    calls = [use(name, f"c{n}", n=n) for n, name in enumerate(["read", "read", "read", "write", "write", "read"])]
    held = await hold([calls], tools=tools, can_use_tool=say_yes, max_parallel_tools=2)
    assert most == 2
    assert ran.names == ["read", "read", "read", "write", "write", "read"]
    assert held.words == {f"c{n}": str(n) for n in range(6)}


@pytest.mark.anyio
async def test_a_deferral_in_a_store_that_cannot_park_is_a_no() -> None:
    """With an error for the application."""
    options = AgentOptions(
        model=ScriptedModel([[use("save", "a")]]),
        tools=[Ran().tool("save")],
        can_use_tool=ScriptedApprover([Defer()]),
        session_store=Transcripts(),
    )
    messages = [message async for message in query("go", options=options)]
    (results,) = [message for message in messages if isinstance(message, UserMessage)]
    assert "cannot park" in str(results.content)
    assert isinstance(messages[-1], ResultMessage)
    assert messages[-1].terminal_reason == "completed"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("call", "options", "rules"),
    [
        (use("Bash", "a", command="npm test && git push"), {}, ["npm test", "git push"]),
        (use("Bash", "a", command="ls; pwd"), {"allow": ["Bash(ls)"]}, ["pwd"]),
        (use("Bash", "a", command="ls"), {"ask": ["Bash"]}, []),
    ],
    ids=["each part", "what is left", "an ask rule"],
)
async def test_permission_request_hooks_are_told_the_narrowest_rules(
    call: dict[str, Any], options: dict[str, Any], rules: list[str]
) -> None:
    """In the wire form; none where a rule would not help."""
    told: list[Any] = []

    async def hook(given: dict[str, Any], *_: Any) -> Deny:
        told.append(given["permission_suggestions"])
        return Deny()

    hooks = {"PermissionRequest": [HookMatcher(hooks=[hook])]}
    await hold([[call]], tools=["Bash"], hooks=hooks, **options)
    [suggestions] = told
    assert [rule["ruleContent"] for update in suggestions for rule in update["rules"]] == rules
