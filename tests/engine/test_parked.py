"""Deferring, answering, resuming: nothing is lost, nothing runs twice, nothing runs that was not approved."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agent_sdk import (
    Allow,
    AskUserQuestionConfig,
    Defer,
    DeferralError,
    Deny,
    HookMatcher,
    InMemoryStore,
    OptionsError,
    SessionError,
    SessionNotFoundError,
    ToolResult,
)
from agent_sdk.ledger import session_key
from agent_sdk.sessions.records import Answer
from tests.engine.dialogue import Held, Ran, hold, say_yes, use

CALL = use("save", "a", n=1)
QUESTION = {
    "questions": [
        {
            "question": "Which database?",
            "header": "Database",
            "options": [{"label": "SQLite", "description": "d"}, {"label": "Postgres", "description": "d"}],
        }
    ]
}


async def defers(name: str, tool_input: dict[str, Any], context: Any) -> Defer:
    """A person who will answer later."""
    return Defer("later")


async def park(ran: Ran, *calls: Any, person: Any = defers, **options: Any) -> Held:
    """A run that ends with parked calls."""
    options.setdefault("tools", [ran.tool("save"), ran.tool("other")])
    held = await hold([list(calls or [CALL])], can_use_tool=person, **options)
    assert held.result.terminal_reason == held.result.stop_reason == "tool_deferred"
    assert (held.result.subtype, held.result.is_error) == ("success", False)
    return held


async def resume(held: Held, ran: Ran, decisions: Any = None, **options: Any) -> Held:
    """Go on with the session of `held`."""
    options.setdefault("tools", [ran.tool("save"), ran.tool("other")])
    prompt = options.pop("prompt", None)
    return await hold(held.model, prompt, store=held.store, resume=held.session_id, decisions=decisions, **options)


async def pending(held: Held) -> list[str]:
    """The ids that wait for an answer."""
    return [approval.tool_use_id for approval in await held.store.pending(held.session_id)]


async def entries(held: Held) -> list[Any]:
    """The stored transcript."""
    return list(await held.store.load(session_key(held.session_id)) or [])


@pytest.mark.anyio
async def test_a_parked_turn_waits_for_all_its_calls_and_goes_on_in_one_message() -> None:
    """Allowed siblings run at once and once; results go out together, in call order, when all are settled."""
    ran = Ran()

    async def person(name: str, tool_input: dict[str, Any], context: Any) -> Any:
        return {1: Defer("first"), 2: Allow(note="fine"), 3: Deny("never"), 4: Defer()}[tool_input["n"]]

    calls = [use("save", f"c{n}", n=n) for n in (1, 2, 3, 4)]
    held = await park(ran, *calls, person=person)
    assert [n["n"] for _, n in ran.calls] == [2]
    assert held.result.deferred_tool_use == held.result.deferred_tool_uses[0]
    assert [use.id for use in held.result.deferred_tool_uses] == await pending(held) == ["c1", "c4"]
    part = await resume(held, ran, {"c4": Allow()})
    assert part.result.terminal_reason == "tool_deferred"
    assert [use.id for use in part.result.deferred_tool_uses] == await pending(held) == ["c1"]
    again = await resume(held, ran)
    assert again.result.terminal_reason == "tool_deferred"
    assert len(held.model.requests) == 1
    done = await resume(held, ran, {"c1": Deny("no")})
    assert [n["n"] for _, n in ran.calls] == [2, 4]
    assert done.words == {"c1": "no", "c2": "save ran\nfine", "c3": "never", "c4": "save ran"}
    assert list(done.words) == ["c1", "c2", "c3", "c4"]
    assert done.result.terminal_reason == "completed"
    assert len(held.model.requests) == 2


@pytest.mark.anyio
@pytest.mark.parametrize("rounds", [1, 3])
async def test_a_denial_stays_a_denial_however_often_the_turn_is_parked_again(rounds: int) -> None:
    """A sibling that was denied is not judged afresh, even when a person would say yes to it by now."""
    ran = Ran()

    async def person(name: str, tool_input: dict[str, Any], context: Any) -> Any:
        return Deny("no") if name == "other" else Defer()

    held = await park(ran, CALL, use("other", "b"), person=person)
    for _ in range(rounds):
        await resume(held, ran, can_use_tool=defers)
    done = await resume(held, ran, {"a": Allow()}, can_use_tool=say_yes)
    assert (ran.names, done.words) == (["save"], {"a": "save ran", "b": "no"})


@pytest.mark.anyio
async def test_deferring_again_leaves_transcript_and_approval_as_they_were() -> None:
    """No entry is added, and the approval keeps when it was parked and when it expires."""
    ran = Ran()

    async def briefly(*_: Any) -> Defer:
        return Defer("later", expires_in=500)

    held = await park(ran, person=briefly)
    before, approval = await entries(held), await held.store.pending(held.session_id)
    for person in (None, briefly, defers):
        again = await resume(held, ran, **({} if person is None else {"can_use_tool": person}))
        assert again.result.terminal_reason == "tool_deferred"
    after = await held.store.pending(held.session_id)
    assert await entries(held) == before
    assert [(p.created_at, p.expires_at, p.digest) for p in after] == [
        (p.created_at, p.expires_at, p.digest) for p in approval
    ]


BAD: dict[str, tuple[Any, str]] = {
    "not-a-decision": ({"a": True}, "'a'.*Allow or a Deny"),
    "a-deferral": ({"a": Defer()}, "'a'.*Allow or a Deny"),
    "unknown-id": ({"zz": Allow()}, "zz"),
    "one-of-two-unknown": ({"a": Allow(), "zz": Allow()}, "zz"),
    "unfitting-edit": ({"b": Allow({"m": 1})}, "save.n"),
    "good-and-bad": ({"a": Allow(), "b": Allow({"m": 1})}, "'b'"),
    "wrong-agent": ({"sub/a": Allow()}, "sub/a"),
    "a-number": ({5: Allow()}, "5"),
    "a-list": ([("a", Allow())], "decisions"),
    "a-decision": (Allow(), "decisions"),
}


@pytest.mark.anyio
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
async def test_decisions_are_checked_as_a_whole(bad: tuple[Any, str]) -> None:
    """One that does not fit: DeferralError names it, nothing is stored and nothing ran."""
    ran = Ran()
    tools = [ran.tool("save", schema={"type": "object", "required": ["n"]})]
    held = await park(ran, CALL, use("save", "b", n=2), tools=tools)
    before = await entries(held)
    decisions, words = bad
    with pytest.raises(DeferralError, match=words):
        await resume(held, ran, decisions, tools=tools)
    assert (ran.calls, await pending(held), await entries(held)) == ([], ["a", "b"], before)
    good = await resume(held, ran, {"a": Allow(), "b": Allow({"n": 5})}, tools=tools)
    assert [n["n"] for _, n in ran.calls] == [1, 5]
    assert good.result.terminal_reason == "completed"


@pytest.mark.anyio
@pytest.mark.parametrize(
    "answers", [{"Database": "SQLite"}, {"0": "SQLite"}, {"Which db?": "SQLite"}], ids=["header", "index", "misspelt"]
)
async def test_a_question_is_answered_by_its_text(answers: dict[str, str]) -> None:
    """A wrong key is the caller's error, and the question stays open."""
    ran = Ran()
    options: dict[str, Any] = {"tools": ["AskUserQuestion"], "questions": AskUserQuestionConfig(when_nobody="defer")}
    held = await hold([[use("AskUserQuestion", "q", **QUESTION)]], **options)
    assert held.result.terminal_reason == "tool_deferred"
    with pytest.raises(DeferralError, match="keyed by the question text"):
        await resume(held, ran, {"q": Allow({"answers": answers})}, **options)
    assert await pending(held) == ["q"]
    done = await resume(held, ran, {"q": Allow({"answers": {"Which database?": "SQLite"}})}, **options)
    assert '"Which database?"="SQLite"' in done.words["q"]
    message = next(m for m in done.messages if getattr(m, "tool_use_result", None))
    assert message.tool_use_result["answers"] == {"Which database?": "SQLite"}  # type: ignore[union-attr, index, call-overload]


@pytest.mark.anyio
async def test_a_deny_rule_added_meanwhile_beats_a_stored_yes() -> None:
    """Also when the yes edits the input into what the rule covers."""
    ran = Ran()
    for decision, rules in ((Allow(), ["save"]), (Allow({"command": "rm x"}), ["Bash(rm:*)"])):
        name = "Bash" if decision.updated_input else "save"
        tools = [ran.tool(name)]
        held = await park(ran, use(name, "a", command="ls"), tools=tools)
        done = await resume(held, ran, {"a": decision}, tools=tools, deny=rules)
        assert (ran.calls, done.words) == ([], {"a": "Denied by a permission rule."})


@pytest.mark.anyio
@pytest.mark.parametrize("says", ["deny", "ask", "defer", "rewrite", "raise"])
async def test_hooks_hear_an_answered_call_and_only_their_no_counts(says: str) -> None:
    """They are told the input that would run; a rewrite is reported and not taken."""
    ran, told = Ran(), []

    async def hook(data: Any, tool_use_id: str | None, context: Any) -> Any:
        told.append((tool_use_id, data["tool_input"]))
        if says == "raise":
            raise ValueError
        if says == "rewrite":
            return Allow({"n": 9})
        return {"hookSpecificOutput": {"permissionDecision": says}}

    held = await park(ran)
    done = await resume(
        held, ran, {"a": Allow({"n": 2})}, hooks={"PreToolUse": [HookMatcher(hooks=[hook])]}, can_use_tool=say_yes
    )
    assert told == [("a", {"n": 2})]
    assert [n["n"] for _, n in ran.calls] == ([] if says in ("deny", "raise") else [2])
    if says == "rewrite":
        assert any("changed the input" in str(news["message"]) for news in done.news("warning"))


@pytest.mark.anyio
async def test_a_call_whose_tool_is_gone_stays_pending() -> None:
    """The run ends with an error of its own, and a later resume with the tool goes on."""
    ran = Ran()
    held = await park(ran)
    gone = await resume(held, ran, {"a": Allow()}, tools=[ran.tool("third")])
    assert gone.result.terminal_reason == gone.result.stop_reason == "tool_deferred_unavailable"
    assert gone.result.is_error
    assert gone.result.deferred_tool_uses[0].id == "a"
    done = await resume(held, ran)
    assert (ran.names, done.result.terminal_reason) == (["save"], "completed")


@pytest.mark.anyio
@pytest.mark.parametrize("policy", ["ask", "deny"])
async def test_an_answer_does_not_outlive_a_change_of_what_the_tool_takes(policy: str) -> None:
    """`deny` denies; `ask` voids the answer: the approval is a new one and can be answered anew."""
    ran = Ran()
    held = await park(ran)
    changed = [ran.tool("save", schema={"type": "object", "properties": {"n": {"type": "integer"}}})]
    second = await resume(held, ran, {"a": Allow()}, tools=changed, on_tool_changed=policy)
    assert ran.calls == []
    if policy == "deny":
        assert "changed" in second.words["a"]
        return
    assert second.result.terminal_reason == "tool_deferred"
    assert await pending(held) == ["a"]
    done = await resume(held, ran, {"a": Allow()}, tools=changed)
    assert (ran.names, done.words) == (["save"], {"a": "save ran"})


@pytest.mark.anyio
async def test_an_expired_approval_takes_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    """The model reads that it expired; the late decision is logged."""
    ran, clock = Ran(), [datetime(2030, 1, 1, tzinfo=UTC)]

    async def briefly(*_: Any) -> Defer:
        return Defer(expires_in=timedelta(minutes=5))

    held = await park(ran, person=briefly, store=InMemoryStore(now=lambda: clock[0]))
    clock[0] += timedelta(minutes=5)
    with caplog.at_level(logging.WARNING, "agent_sdk"):
        done = await resume(held, ran, {"a": Allow()})
    assert "too late" in caplog.text
    assert ran.calls == []
    assert "expired" in done.words["a"]
    assert [denied["tool_use_id"] for denied in done.result.permission_denials] == ["a"]


@pytest.mark.anyio
async def test_a_new_prompt_supersedes_what_is_open_after_the_decisions() -> None:
    """The decided call runs, the open one reads that it was superseded, and the prompt follows the results."""
    ran, prompts = Ran(), []

    async def hook(data: Any, tool_use_id: str | None, context: Any) -> None:
        prompts.append(data["prompt"])

    held = await park(ran, CALL, use("save", "b", n=2))
    done = await resume(
        held, ran, {"a": Allow()}, prompt="stop that", hooks={"UserPromptSubmit": [HookMatcher(hooks=[hook])]}
    )
    assert [n["n"] for _, n in ran.calls] == [1]
    assert "superseded" in done.words["b"]
    last = held.model.requests[-1]["messages"][-1]["content"]
    assert [block["type"] for block in last] == ["tool_result", "tool_result", "text"]
    assert last[-1]["text"] == "stop that"
    assert prompts == ["stop that"], "the hook hears a prompt once"
    assert done.result.terminal_reason == "completed"


@pytest.mark.anyio
async def test_resuming_twice_runs_nothing_twice() -> None:
    """There is nothing left to resume, and nothing left to decide."""
    ran = Ran()
    held = await park(ran)
    await resume(held, ran, {"a": Allow()})
    with pytest.raises(SessionError, match="nothing to resume"):
        await resume(held, ran)
    with pytest.raises(DeferralError, match="nothing is pending"):
        await resume(held, ran, {"a": Allow()})
    assert ran.names == ["save"]


@pytest.mark.anyio
async def test_unknown_sessions_and_empty_prompts_are_refused() -> None:
    """Before anything is sent."""
    with pytest.raises(SessionNotFoundError):
        await hold(["hi"], None, resume="nowhere")
    for prompt in (None, "", "  \n"):
        with pytest.raises(OptionsError, match="prompt is empty"):
            await hold(["hi"], prompt)


@pytest.mark.anyio
@pytest.mark.parametrize("how", ["callback", "hook"])
async def test_a_deferral_parks_in_every_mode(how: str) -> None:
    """It is no prompt: `dontAsk` parks it and `bypassPermissions` does not run it, now or at a resume."""

    async def hook(*_: Any) -> Defer:
        return Defer("by the hook")

    for mode in ("dontAsk", "bypassPermissions", "plan", "acceptEdits"):
        ran = Ran()
        rules: dict[str, Any] = {"hooks": {"PreToolUse": [HookMatcher(hooks=[hook])]}}
        if how == "callback":
            if mode == "dontAsk":
                continue
            rules = {"ask": ["save"]}
        held = await park(ran, permission_mode=mode, **rules)
        assert ran.calls == []
        done = await resume(held, ran, {"a": Allow()})
        assert (ran.names, done.words) == (["save"], {"a": "save ran"})


@pytest.mark.anyio
async def test_without_an_answer_a_parked_call_is_judged_from_the_start() -> None:
    """A rule added meanwhile may allow it; the callback of the resume may answer; bypass does not outlive its run."""
    ran = Ran()
    held = await park(ran, permission_mode="bypassPermissions", ask=["save"])
    still = await resume(held, ran)
    assert still.result.terminal_reason == "tool_deferred", "the mode bypassPermissions is not restored"
    done = await resume(held, ran, allow=["save"])
    assert done.words == {"a": "save ran"}
    seen: list[Any] = []

    async def person(name: str, tool_input: dict[str, Any], context: Any) -> Allow:
        seen.append((context.tool_use_id, context.assistant_text, tool_input))
        return Allow()

    other = await hold([[{"type": "text", "text": "Saving."}, CALL]], tools=[ran.tool("save")], can_use_tool=defers)
    await resume(other, ran, can_use_tool=person)
    assert seen == [("a", "Saving.", {"n": 1})]


@pytest.mark.anyio
async def test_a_result_from_outside_stands_for_running_the_tool() -> None:
    """It becomes the tool_result, unless a deny rule covers the call."""
    ran = Ran()
    for rules, words in (({}, "done elsewhere"), ({"deny": ["save"]}, "Denied by a permission rule.")):
        held = await park(ran)
        (approval,) = await held.store.pending(held.session_id)
        assert await held.store.answer(approval.key, Answer(result=ToolResult("done elsewhere"), by="job"))
        assert not await held.store.answer(approval.key, Answer(decision=Deny("too late")))
        done = await resume(held, ran, **rules)
        assert (ran.calls, done.words) == ([], {"a": words})


@pytest.mark.anyio
async def test_a_denial_at_resume_may_interrupt() -> None:
    """Nothing of the turn runs, nobody else is asked, and no request is made."""
    ran, asked = Ran(), []

    async def person(*_: Any) -> Allow:
        asked.append(1)
        return Allow()

    held = await park(ran, CALL, use("save", "b", n=2))
    done = await resume(held, ran, {"a": Deny("stop", interrupt=True)}, can_use_tool=person)
    assert (ran.calls, asked, len(held.model.requests)) == ([], [], 1)
    assert done.words["a"] == "stop"
    assert "interrupted" in done.words["b"]
    assert done.result.terminal_reason == "aborted_tools"
