"""UserPromptSubmit and Stop: the hooks at the two ends of a run."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agent_sdk import AgentClient, AgentOptions, HookMatcher, InMemoryStore, ResultMessage
from agent_sdk.ledger import session_key
from agent_sdk.testing import ScriptedModel
from tests.engine.dialogue import Ran, hold, use


def hooks(event: str, *answers: Any, seen: list[Any] | None = None, **options: Any) -> dict[str, Any]:
    """One hook at the event, which gives these answers in turn, the last one for ever."""
    left = list(answers)

    async def hook(data: Any, tool_use_id: str | None, context: Any) -> Any:
        if seen is not None:
            seen.append(data)
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return {"hooks": {event: [HookMatcher(hooks=[hook], **options)]}}


BLOCKS = [
    ({"decision": "block", "reason": "no secrets"}, "no secrets"), ({"continue": False, "stopReason": "shut"}, "shut"),
    ({"decision": "block"}, "blocked by a hook"), (ValueError("x"), "failed"), ("nonsense", "failed"),
]  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize(("answer", "words"), BLOCKS, ids=range(len(BLOCKS)))
async def test_a_blocked_prompt_is_never_sent(answer: Any, words: str) -> None:
    """Blocked on purpose or by a hook that failed: no request, nothing stored, and the reason in the result."""
    held = await hold(["hello"], "my prompt", **hooks("UserPromptSubmit", answer))
    assert (held.result.terminal_reason, held.result.is_error, held.model.requests) == ("hook_stopped", True, [])
    assert words in str(held.result.result)
    stored = await held.store.load(session_key(held.session_id)) or []
    assert not any("my prompt" in str(entry) for entry in stored)


@pytest.mark.anyio
async def test_context_follows_the_prompt_and_notices_go_to_the_application() -> None:
    """The hook reads the prompt as it was given."""
    seen: list[Any] = []
    answer = {"systemMessage": "noted", "hookSpecificOutput": {"additionalContext": "today is Monday"}}
    held = await hold(["hello"], "my prompt", **hooks("UserPromptSubmit", answer, seen=seen))
    content = held.model.requests[0]["messages"][0]["content"]
    assert [block["text"] for block in content] == ["my prompt", "today is Monday"]
    assert (seen[0]["prompt"], held.news("hook_message")[0]["message"]) == ("my prompt", "noted")


@pytest.mark.anyio
async def test_a_lenient_hook_that_fails_lets_the_prompt_through() -> None:
    """`on_failure="continue"` is for hooks that only watch."""
    held = await hold(["hello"], **hooks("UserPromptSubmit", ValueError(), on_failure="continue"))
    assert held.result.result == "hello"


@pytest.mark.anyio
async def test_an_interrupt_reaches_a_prompt_hook_that_hangs() -> None:
    """The run ends at once, nothing was sent, and the next prompt is answered."""
    inside = anyio.Event()

    async def hangs(data: Any, *_: Any) -> None:
        if data["prompt"] == "first":
            inside.set()
            await anyio.sleep(30)

    model = ScriptedModel(["hello"])
    options = AgentOptions(
        model=model, hooks={"UserPromptSubmit": [HookMatcher(hooks=[hangs])]}, session_store=InMemoryStore()
    )
    async with AgentClient(options) as client:
        with anyio.fail_after(5):
            await client.query("first")
            await inside.wait()
            await client.interrupt()
            ended = [message async for message in client.receive_response()][-1]
            assert isinstance(ended, ResultMessage)
            assert str(ended.terminal_reason).startswith("aborted")
            await client.query("second")
            ended = [message async for message in client.receive_response()][-1]
    assert isinstance(ended, ResultMessage)
    assert (ended.result, len(model.requests)) == ("hello", 1)


@pytest.mark.anyio
@pytest.mark.parametrize("blocks", [1, 3, 8, 20])
async def test_a_stop_hook_sends_the_model_on_eight_times_at_most(blocks: int) -> None:
    """Its reason is the next user message; after that the run ends whatever it says."""
    seen: list[Any] = []
    answers = [*[{"decision": "block", "reason": f"go on {n}"} for n in range(blocks)], None]
    held = await hold([f"reply {n}" for n in range(30)], **hooks("Stop", *answers, seen=seen))
    most = min(blocks, 8)
    assert len(held.model.requests) == most + 1
    assert held.result.result == f"reply {most}"
    assert [data["stop_hook_active"] for data in seen][:2] == [False, True]
    assert seen[0]["last_assistant_message"] == "reply 0"
    if blocks > 8:
        assert "8 times" in held.news("warning")[0]["message"]
    last = held.model.requests[-1]["messages"][-1]["content"]
    assert [block["text"] for block in last] == [f"go on {most - 1}"]


@pytest.mark.anyio
@pytest.mark.parametrize("answer", [ValueError(), {"continue": False, "stopReason": "bye"}, None, "nonsense"], ids=repr)
async def test_a_stop_hook_that_fails_or_stops_ends_the_run(answer: Any) -> None:
    """A model is never sent on by accident."""
    held = await hold(["hello"], **hooks("Stop", answer))
    assert len(held.model.requests) == 1
    assert held.result.terminal_reason == ("hook_stopped" if isinstance(answer, dict) else "completed")


@pytest.mark.anyio
async def test_stop_hooks_are_not_asked_where_the_model_did_not_finish() -> None:
    """A parked turn, a limit, a cut reply: none of them is the model's last word."""
    seen: list[Any] = []
    stop = hooks("Stop", None, seen=seen)
    ran = Ran()
    await hold([{"content": [{"type": "text", "text": "x"}], "stop_reason": "max_tokens"}], **stop)
    await hold([[use("save", "a")]], tools=[ran.tool("save")], allow=["save"], max_turns=1, **stop)
    assert seen == []
