"""Hooks in a live run: who hears what, how answers merge, where words go, and how each event may end things."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agent_sdk import Allow, Ask, Defer, Deny, HookMatcher, ToolResult
from agent_sdk.testing import ScriptedApprover
from tests.engine.dialogue import Ran, hold, say_yes, use

CALL = use("save", "a", n=1)


def says(*answers: Any, seen: list[Any] | None = None) -> Any:
    """A hook that gives these answers in turn, the last one for ever."""
    left = list(answers)

    async def hook(data: Any, tool_use_id: str | None, context: Any) -> Any:
        if seen is not None:
            seen.append(data)
        answer = left.pop(0) if len(left) > 1 else left[0]
        return answer(data) if callable(answer) else answer

    return hook


def pre(*hooks: Any, matcher: str | None = None, **options: Any) -> HookMatcher:
    """A matcher with these hooks."""
    return HookMatcher(matcher, list(hooks), **options)


def adds(letter: str) -> Any:
    """A rewrite that appends a letter to `text`."""
    return lambda data: Allow({**data["tool_input"], "text": data["tool_input"].get("text", "") + letter})


MATCHERS = [
    (None, {"save", "save_all", "mcp__notes__save"}), ("", {"save", "save_all", "mcp__notes__save"}),
    ("*", {"save", "save_all", "mcp__notes__save"}), ("save", {"save"}), ("Save", set()),
    ("save|save_all", {"save", "save_all"}), ("save, save_all", {"save", "save_all"}), ("mcp__notes", set()),
    ("mcp__notes__.*", {"mcp__notes__save"}), ("save.*", {"save", "save_all", "mcp__notes__save"}),
    ("^save", {"save", "save_all"}), ("S.*", set()),
]  # fmt: skip


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore:the PreToolUse hook matcher")
@pytest.mark.parametrize(("matcher", "expected"), MATCHERS, ids=[repr(m[0]) for m in MATCHERS])
async def test_a_matcher_says_which_tools_its_hooks_hear(matcher: str | None, expected: set[str]) -> None:
    """Plain names are exact, a list is cut at `|` and `,`, anything else is a regular expression."""
    ran, seen = Ran(), []
    names = ["save", "save_all", "mcp__notes__save"]
    await hold(
        [[use(name) for name in names]],
        tools=[ran.tool(name) for name in names],
        permission_mode="bypassPermissions",
        hooks={"PreToolUse": [pre(says(None, seen=seen), matcher=matcher)]},
    )
    assert {data["tool_name"] for data in seen} == expected
    assert len(ran.calls) == 3


@pytest.mark.anyio
async def test_matchers_are_heard_in_order_each_with_the_input_that_the_one_before_left() -> None:
    """The tool runs with the last one, the model's own words are replayed, and the facts are those of the call."""
    ran, seen = Ran(), []
    held = await hold(
        [[use("save", "a", text="x")]],
        tools=[ran.tool("save")],
        hooks={"PreToolUse": [pre(says(adds("1"), seen=seen)), pre(says(adds("2"), seen=seen))]},
    )
    assert [data["tool_input"]["text"] for data in seen] == ["x", "x1"]
    assert ran.calls == [("save", {"text": "x12"})]
    assert held.model.requests[1]["messages"][1]["content"][0]["input"] == {"text": "x"}
    assert (seen[0]["hook_event_name"], seen[0]["tool_use_id"], seen[0]["permission_mode"]) == (
        "PreToolUse", "a", "default",
    )  # fmt: skip


MERGES = [
    ([Allow(), None], "run"), ([Allow(), Ask()], "asked"), ([Ask(), Allow()], "asked"), ([Ask(), Defer()], "parked"),
    ([Defer(), Ask(), Allow()], "parked"), ([Defer(), Deny("no")], "no"), ([Deny("first"), Deny("second")], "first"),
    ([None, {}], "nobody"), ([{"decision": "approve"}], "run"), ([{"decision": "block", "reason": "r"}], "r"),
    ([{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "why"}}, Allow()], "why"),
    ([Deny("")], "A permission hook did not allow this call."),
]  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize("together", [True, False], ids=["one-matcher", "several"])
@pytest.mark.parametrize(("answers", "outcome"), MERGES, ids=[repr(m[0])[:60] for m in MERGES])
async def test_the_most_restrictive_answer_wins(answers: list[Any], outcome: str, together: bool) -> None:
    """Deny over defer over ask over allow, in one matcher and over several."""
    ran = Ran()
    hooks = [says(answer) for answer in answers]
    matchers = [pre(*hooks)] if together else [pre(hook) for hook in hooks]
    person = ScriptedApprover({"save": Deny("asked")})
    options: dict[str, Any] = {} if outcome == "nobody" else {"can_use_tool": person}
    held = await hold([[CALL]], tools=[ran.tool("save")], hooks={"PreToolUse": matchers}, **options)
    match outcome:
        case "run":
            assert ran.names == ["save"]
        case "parked":
            assert held.result.terminal_reason == "tool_deferred"
        case "nobody":
            assert held.words["a"].startswith("Not run: nobody was there to approve")
        case words:
            assert held.words["a"] == words
    assert len(ran.calls) == (outcome == "run")


@pytest.mark.anyio
async def test_a_deny_cancels_its_neighbours_and_spares_later_matchers() -> None:
    """The call is decided: whoever still thinks is stopped, whoever comes later is not asked."""
    ran, later, cancelled = Ran(), [], []

    async def slow(*_: Any) -> None:
        try:
            await anyio.sleep(20)
        finally:
            cancelled.append(1)

    matchers = [pre(slow, says(Deny("no"))), pre(says(None, seen=later))]
    held = await hold([[CALL]], tools=[ran.tool("save")], hooks={"PreToolUse": matchers})
    assert (held.words, later, cancelled) == ({"a": "no"}, [], [1])


@pytest.mark.anyio
@pytest.mark.parametrize("answer", [Defer(), Ask()], ids=["defer", "ask"])
async def test_after_a_deferral_or_an_ask_later_matchers_may_still_deny(answer: Any) -> None:
    """And the hooks inside one matcher run side by side."""
    ran, both = Ran(), anyio.Event()

    async def waits(*_: Any) -> None:
        with anyio.fail_after(5):
            await both.wait()

    async def sets(*_: Any) -> None:
        both.set()

    matchers = [pre(says(answer)), pre(waits, sets), pre(says(Deny("no")))]
    held = await hold([[CALL]], tools=[ran.tool("save")], hooks={"PreToolUse": matchers}, can_use_tool=say_yes)
    assert (ran.calls, held.words) == ([], {"a": "no"})


@pytest.mark.anyio
async def test_two_different_rewrites_in_one_matcher_are_asked_about() -> None:
    """The input stays as it was; two equal ones are one."""
    ran = Ran()
    person = ScriptedApprover({"save": Allow()})
    one, other = says(adds("1")), says(adds("2"))
    call = [[use("save", "a", text="x")]]
    await hold(call, tools=[ran.tool("save")], hooks={"PreToolUse": [pre(one, other)]}, can_use_tool=person)
    assert ran.calls.pop() == ("save", {"text": "x"})
    assert "different ways" in str(person.calls[0].context.decision_reason)
    await hold(call, tools=[ran.tool("save")], hooks={"PreToolUse": [pre(one, says(adds("1")))]})
    assert ran.calls == [("save", {"text": "x1"})]


@pytest.mark.anyio
@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
async def test_continue_false_before_the_call_runs_nothing_of_the_turn(event: Any) -> None:
    """Each call reads the reason, no further request is made, and the person is not asked."""
    ran = Ran()
    person = ScriptedApprover([])
    stop = says({"continue": False, "stopReason": "budget office says stop", "systemMessage": "told"})
    held = await hold(
        [[CALL, use("other", "b")]],
        tools=[ran.tool("save"), ran.tool("other")],
        hooks={event: [pre(stop, matcher="save")]},
        can_use_tool=person,
    )
    person.assert_done()
    assert ran.calls == []
    assert held.words == {"a": "budget office says stop", "b": "budget office says stop"}
    assert (held.result.terminal_reason, held.result.is_error) == ("hook_stopped", False)
    assert len(held.model.requests) == 1
    assert len(held.result.permission_denials) == 2
    assert [news["message"] for news in held.news("hook_message")] == ["told"]


@pytest.mark.anyio
async def test_continue_false_after_a_call_keeps_the_results_and_starts_nothing_more() -> None:
    """What ran keeps its result, what had not started reads the reason."""
    ran = Ran()
    stop = says({"continue": False, "stopReason": "enough"})
    held = await hold(
        [[CALL, use("save", "b", n=2)]],
        tools=[ran.tool("save")],
        allow=["save"],
        hooks={"PostToolUse": [pre(stop)]},
    )
    assert [n["n"] for _, n in ran.calls] == [1]
    assert held.words == {"a": "save ran", "b": "enough"}
    assert (held.result.terminal_reason, held.result.result) == ("hook_stopped", "enough")
    assert len(held.model.requests) == 1


@pytest.mark.anyio
async def test_words_of_hooks_follow_all_results_in_order_of_arrival() -> None:
    """A note of the person is part of its call's own result."""
    ran = Ran()

    def context(text: str) -> Any:
        return lambda data: {"hookSpecificOutput": {"additionalContext": f"{text} {data['tool_use_id']}"}}

    async def person(*_: Any) -> Allow:
        return Allow(note="be quick")

    held = await hold(
        [[CALL, use("save", "b", n=2)]],
        tools=[ran.tool("save")],
        can_use_tool=person,
        hooks={"PreToolUse": [pre(says(context("before")))], "PostToolUse": [pre(says(context("after")))]},
    )
    blocks = held.model.requests[1]["messages"][-1]["content"]
    assert [block.get("text", block["type"]) for block in blocks] == [
        "tool_result", "tool_result", "before a", "before b", "after a", "after b",
    ]  # fmt: skip
    assert [block["text"] for block in blocks[0]["content"]] == ["save ran", "be quick"]


OUTPUTS: list[tuple[Any, str]] = [
    ("short", "short"), ({"a": 1}, '{"a":1}'), ([{"type": "text", "text": "t"}], "t"), (5, "5"),
    ([{"type": "tool_use"}], '[{"type":"tool_use"}]'), ([{"type": "text"}], '[{"type":"text"}]'), ([], "[]"),
    ("", "(no output)"),
]  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize(("output", "words"), OUTPUTS, ids=[repr(o[0]) for o in OUTPUTS])
async def test_a_hook_may_change_what_the_model_reads_of_a_result(output: Any, words: str) -> None:
    """Whatever it says, the result is one that the service takes."""
    ran, seen = Ran(), []
    hook = says({"hookSpecificOutput": {"updatedToolOutput": output}}, seen=seen)
    held = await hold([[CALL]], tools=[ran.tool("save")], allow=["save"], hooks={"PostToolUse": [pre(hook)]})
    assert held.words == {"a": words}
    assert (seen[0]["tool_response"], seen[0]["tool_input"]) == ("save ran", {"n": 1})


@pytest.mark.anyio
async def test_failures_have_an_event_of_their_own() -> None:
    """PostToolUse hears results, PostToolUseFailure errors; `block` tells the model why after the results."""
    ran, good, bad = Ran(), [], []

    async def body(tool_input: Any, context: Any) -> Any:
        return ToolResult("broken", is_error=True) if tool_input["n"] == 2 else "fine"

    held = await hold(
        [[CALL, use("save", "b", n=2)]],
        tools=[ran.tool("save", body)],
        allow=["save"],
        hooks={
            "PostToolUse": [pre(says({"decision": "block", "reason": "look at it"}, seen=good))],
            "PostToolUseFailure": [pre(says({"hookSpecificOutput": {"additionalContext": "try b"}}, seen=bad))],
        },
    )
    assert ([d["tool_use_id"] for d in good], [(d["tool_use_id"], d["error"]) for d in bad]) == (
        ["a"], [("b", "broken")],
    )  # fmt: skip
    assert [b["text"] for b in held.model.requests[1]["messages"][-1]["content"][2:]] == ["look at it", "try b"]
    assert held.words == {"a": "fine", "b": "broken"}


@pytest.mark.anyio
@pytest.mark.parametrize("neighbour", [True, False], ids=["beside", "alone"])
async def test_a_failing_hook_after_the_call_changes_nothing(neighbour: bool) -> None:
    """The result is kept, a warning says so, and its neighbours are heard to the end."""
    ran, heard = Ran(), []

    async def raises(*_: Any) -> None:
        raise ValueError

    async def audits(*_: Any) -> None:
        await anyio.sleep(0.005)
        heard.append(1)

    hooks = [raises, audits] if neighbour else [raises]
    held = await hold([[CALL]], tools=[ran.tool("save")], allow=["save"], hooks={"PostToolUse": [pre(*hooks)]})
    assert held.words == {"a": "save ran"}
    assert "the result was kept" in held.news("warning")[0]["message"]
    assert heard == [1] * neighbour


REQUESTS = [
    ({"hookSpecificOutput": {"decision": {"behavior": "allow"}}}, {"n": 1}, None),
    ({"hookSpecificOutput": {"decision": {"behavior": "allow", "updatedInput": {"n": 5}}}}, {"n": 5}, None),
    ({"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "not now"}}}, None, "not now"),
    ({"hookSpecificOutput": {"decision": {"behavior": "deny"}}}, None, "A permission hook did not allow this call."),
    (Allow(), {"n": 1}, None), (Allow({"n": 5}), {"n": 5}, None), (Deny("no"), None, "no"),
    (Allow({"m": 5}), None, "save.n"), (None, {"n": 1}, None),
]  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize(("answer", "input_", "words"), REQUESTS, ids=range(len(REQUESTS)))
async def test_a_permission_request_hook_answers_in_the_persons_place(answer: Any, input_: Any, words: Any) -> None:
    """It is asked only where a person would be; without an opinion the person is asked."""
    ran, seen = Ran(), []
    person = ScriptedApprover([Allow()] if answer is None else [])
    schema = {"type": "object", "required": ["n"]}
    held = await hold(
        [[CALL, use("other", "b")]],
        tools=[ran.tool("save", schema=schema), ran.tool("other")],
        allow=["other"],
        can_use_tool=person,
        hooks={"PermissionRequest": [pre(says(answer, seen=seen))]},
    )
    person.assert_done()
    assert [data["tool_name"] for data in seen] == ["save"]
    assert ran.calls == [*([("save", input_)] if input_ else []), ("other", {})]
    assert words is None or words in held.words["a"]
    assert held.result.terminal_reason == "completed"


@pytest.mark.anyio
async def test_what_a_permission_request_hook_rewrites_is_held_against_deny_and_ask_rules() -> None:
    """Denied by a rule, or asked after all, with the new input."""
    ran = Ran()
    rewrite = {"PermissionRequest": [pre(says(Allow({"command": "rm x"})))]}
    call = [[use("Bash", "a", command="ls")]]
    held = await hold(call, tools=[ran.tool("Bash")], hooks=rewrite, deny=["Bash(rm:*)"], can_use_tool=say_yes)
    assert (ran.calls, held.words) == ([], {"a": "Denied by a permission rule."})
    person = ScriptedApprover([Deny("no")])
    held = await hold(call, tools=[ran.tool("Bash")], hooks=rewrite, ask=["Bash(rm:*)"], can_use_tool=person)
    person.assert_done()
    assert (ran.calls, person.calls[0].tool_input) == ([], {"command": "rm x"})
