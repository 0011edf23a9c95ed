"""A gate that fails is no yes: whatever hooks and callbacks do, the tool does not run, and the run goes on."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import MagicMock, Mock

import anyio
import anyio.lowlevel
import pytest

from agent_sdk import Allow, Ask, Defer, Deny, HookMatcher, InMemoryStore, OptionsError, ToolResult
from agent_sdk.testing import ScriptedModel
from tests.engine.dialogue import Ran, hold, say_yes, use

TIMED_OUT = "The permission check failed: it timed out. The call was not run."
RAISED = "The permission check failed: it raised an error. The call was not run."
INVALID = "The permission check failed: it gave an invalid answer. The call was not run."


class Lies:
    """Says of itself that it is an Allow."""

    @property
    def __class__(self) -> Any:
        return Allow

    updated_input = None
    note = None
    by = None


class NoRepr:
    """Cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Unchecked(Allow):  # type: ignore[misc]
    """An Allow that never looked at its fields."""

    def __post_init__(self) -> None:
        pass


async def raises(*_: Any) -> Any:
    """Raises an ordinary error."""
    raise ValueError("secret detail")


async def raises_group(*_: Any) -> Any:
    """Raises a group of errors."""
    raise ExceptionGroup("several", [ValueError("one"), ExceptionGroup("more", [KeyError("two")])])


async def raises_in_group(*_: Any) -> Any:
    """A task of its own fails."""
    async with anyio.create_task_group() as group:
        group.start_soon(raises)
        await anyio.sleep(5)


async def raises_timeout(*_: Any) -> Any:
    """A time limit of its own passes."""
    with anyio.fail_after(0.001):
        await anyio.sleep(5)


async def sleeps(*_: Any) -> Any:
    """Never answers."""
    await anyio.sleep(20)


async def answers_late(*_: Any) -> Any:
    """Answers when it is cancelled: too late."""
    try:
        await anyio.sleep(20)
    except BaseException:
        return Allow()


async def blocks(*_: Any) -> Any:
    """Holds up the event loop for longer than it may take, then answers."""
    time.sleep(0.15)  # noqa: ASYNC251 - it is to block
    return Allow()


async def blocks_and_answers_late(*_: Any) -> Any:
    """Holds up the event loop, and keeps the cancellation to itself."""
    time.sleep(0.15)  # noqa: ASYNC251 - it is to block
    try:
        await anyio.lowlevel.checkpoint()
    except BaseException:
        return Allow()
    return Allow()


async def stopped_iteration(*_: Any) -> Any:
    """Raises what generators use inside."""
    raise StopAsyncIteration


FAULTS = [
    pytest.param(raises, RAISED, id="raises"),
    pytest.param(raises_group, RAISED, id="raises-group"),
    pytest.param(raises_in_group, RAISED, id="raises-in-task-group"),
    pytest.param(raises_timeout, RAISED, id="own-time-limit"),
    pytest.param(stopped_iteration, RAISED, id="stop-async-iteration"),
    pytest.param(sleeps, TIMED_OUT, id="sleeps"),
    pytest.param(answers_late, TIMED_OUT, id="answers-late"),
    pytest.param(blocks, TIMED_OUT, id="blocks"),
    pytest.param(blocks_and_answers_late, TIMED_OUT, id="blocks-and-answers-late"),
]

NONSENSE: list[Any] = [
    True, 1, "allow", "yes", b"allow", [], ["allow"], ("allow",), {Allow()}, object(), Allow, Deny, Lies(), NoRepr(),
    Mock(spec=Allow), MagicMock(spec=Deny), ValueError("x"), {"permissionDecision": "allow"}, {"decision": "allow"},
    {"behavior": "allow"}, {"hookSpecificOutput": {"permissionDecision": "yes"}}, {"hookSpecificOutput": "allow"},
    {"hookSpecificOutput": {"hookEventName": "PostToolUse", "permissionDecision": "allow"}}, {1: 2},
    {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"text": object()}}}, {"continue": "no"},
    {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": "x"}}, {"reason": 5, "decision": "block"},
    Unchecked(updated_input={"text": object()}),  # type: ignore[dict-item]
]  # fmt: skip


def ids(value: Any) -> str:
    """A short name for a value."""
    return type(value).__name__ if isinstance(value, NoRepr | Mock) else f"{value!r:.60}"


@pytest.mark.anyio
@pytest.mark.parametrize(("fault", "words"), FAULTS)
async def test_a_callback_that_fails_denies_and_the_run_goes_on(fault: Any, words: str) -> None:
    """The model reads what kind of failure it was, without its details."""
    ran = Ran()
    held = await hold(
        [[use("save", "a", text="x")]], tools=[ran.tool("save")], can_use_tool=fault, approval_timeout=0.1
    )
    assert ran.calls == []
    assert held.words == {"a": words}
    assert held.result.terminal_reason == "completed"
    assert [denied["tool_use_id"] for denied in held.result.permission_denials] == ["a"]
    assert "deny" in [step["said"] for step in await held.trace("a") if step["step"] == "callback"]


@pytest.mark.anyio
@pytest.mark.parametrize(("fault", "words"), FAULTS)
@pytest.mark.parametrize("others", [0, 1], ids=["alone", "beside-another"])
async def test_a_hook_that_fails_denies_even_what_a_rule_allows(fault: Any, words: str, others: int) -> None:
    """Alone in its matcher or beside one that allows: the failure is a no, never no opinion."""
    ran = Ran()

    async def allows(*_: Any) -> Allow:
        await anyio.lowlevel.checkpoint()
        return Allow()

    hooks = [*([allows] * others), fault]
    held = await hold(
        [[use("save", "a", text="x"), use("save", "b", text="y")]],
        tools=[ran.tool("save")],
        allow=["save"],
        hooks={"PreToolUse": [HookMatcher(hooks=hooks, timeout=0.1)]},
    )
    assert ran.calls == []
    assert held.words == {"a": words, "b": words}
    assert held.result.terminal_reason == "completed"
    kind = words.removeprefix("The permission check failed: it ").partition(".")[0]
    reasons = [denied["reason"] for denied in held.result.permission_denials]
    assert all(f": {kind}: " in reason and reason.startswith("hook ") for reason in reasons), "the application is told"


@pytest.mark.anyio
@pytest.mark.parametrize("answer", NONSENSE, ids=ids)
async def test_nonsense_of_any_type_allows_nothing(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    """From a callback, a PreToolUse hook and a PermissionRequest hook."""
    ran = Ran()

    async def says(*_: Any) -> Any:
        return answer

    turn = [[use("save", "a", text="x")]]
    matcher = [HookMatcher(hooks=[says])]
    with caplog.at_level(logging.CRITICAL, "agent_sdk"):
        by_callback = await hold(turn, tools=[ran.tool("save")], can_use_tool=says)
        by_hook = await hold(turn, tools=[ran.tool("save")], allow=["save"], hooks={"PreToolUse": matcher})
        by_request = await hold(turn, tools=[ran.tool("save")], hooks={"PermissionRequest": matcher})
    assert ran.calls == []
    for held in (by_callback, by_hook, by_request):
        assert held.words["a"].startswith(("The permission check failed", "Not run", "A permission hook"))
        assert held.result.terminal_reason == "completed"


@pytest.mark.anyio
@pytest.mark.parametrize("answer", [None, Ask("?"), {}], ids=["none", "ask", "empty"])
async def test_a_callback_must_give_a_decision(answer: Any) -> None:
    """No opinion and Ask are for hooks: the callback is the last who could have one."""
    ran = Ran()

    async def says(*_: Any) -> Any:
        return answer

    held = await hold([[use("save", "a", text="x")]], tools=[ran.tool("save")], can_use_tool=says)
    assert (ran.calls, held.words) == ([], {"a": INVALID})


@pytest.mark.anyio
async def test_a_future_that_is_cancelled_inside_a_gate_is_a_failure(anyio_backend: str) -> None:
    """A connection breaks and the future that the gate waits for is cancelled: denied, and the run goes on."""
    if anyio_backend != "asyncio":
        pytest.skip("trio has no cancelled futures")
    import asyncio  # noqa: PLC0415

    async def broken(*_: Any) -> Any:
        future: asyncio.Future[Allow] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.cancel)
        return await future

    async def yes(*_: Any) -> Allow:
        return Allow()

    turn = [[use("save", "a", text="x"), use("save", "b", text="y")]]
    for prompts in (1, None):
        ran = Ran()
        held = await hold(turn, tools=[ran.tool("save")], can_use_tool=broken, max_parallel_prompts=prompts)
        assert (ran.calls, held.words) == ([], {"a": RAISED, "b": RAISED})
    for hooks in ([broken], [yes, broken], [broken, yes]):
        matchers = {"PreToolUse": [HookMatcher(hooks=hooks)]}
        held = await hold(turn, tools=[ran.tool("save")], allow=["save"], hooks=matchers)
        assert (ran.calls, held.words) == ([], {"a": RAISED, "b": RAISED})

    async def fails(tool_input: Any, context: Any) -> str:
        return str(await broken())

    for read_only in (False, True):
        ran = Ran()
        held = await hold(turn, tools=[ran.tool("save", fails, read_only=read_only)], allow=["save"])
        assert len(ran.calls) == 2
        assert all("failed" in words for words in held.words.values())
        assert held.result.terminal_reason == "completed"


@pytest.mark.anyio
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit], ids=["ctrl-c", "exit"])
async def test_what_ends_programs_goes_through_and_leaves_a_legal_session(kind: type[BaseException]) -> None:
    """Nothing runs, and the call in the stored session is answered."""
    ran = Ran()

    async def ends(*_: Any) -> Allow:
        raise kind

    held = await hold([[use("save", "a", text="x")]], tools=[ran.tool("save")], can_use_tool=ends, fails=kind)
    assert ran.calls == []
    again = await hold(["hello"], "next", store=held.store, resume=held.session_id)
    assert again.result.result == "done"


@pytest.mark.anyio
@pytest.mark.parametrize("fault", [raises, sleeps, raises_group], ids=["raises", "sleeps", "group"])
async def test_on_failure_continue_passes_over_a_hook_that_fails(fault: Any) -> None:
    """It counts as no opinion, for that matcher alone, and the trace says so."""
    ran = Ran()
    lenient = HookMatcher(hooks=[fault], timeout=0.1, on_failure="continue")
    turn = [[use("save", "a", text="x")]]
    held = await hold(turn, tools=[ran.tool("save")], allow=["save"], hooks={"PreToolUse": [lenient]})
    assert ran.names == ["save"]
    assert any(step["note"].startswith("passed over") for step in await held.trace("a"))
    strict = HookMatcher(hooks=[raises])
    await hold(turn, tools=[ran.tool("save")], allow=["save"], hooks={"PreToolUse": [lenient, strict]})
    assert ran.names == ["save"]


WORDS: list[Any] = [
    [], [{"type": "text"}], [{"type": "text", "text": 5}], [{"type": "image"}], [{"type": "tool_use"}], ["x"], 5, b"x",
    [{"type": "text", "text": "x", "more": object()}], {"type": "text", "text": "x"},
]  # fmt: skip


@pytest.mark.parametrize("words", WORDS, ids=repr)
@pytest.mark.parametrize("make", [Deny, lambda words: Allow(note=words)], ids=["deny", "note"])
def test_words_that_no_model_could_read_are_refused_at_once(make: Callable[[Any], object], words: Any) -> None:
    """A decision that could not be sent has no way to exist."""
    with pytest.raises(OptionsError, match="str or a list of text and image blocks"):
        make(words)


CONTENTS: list[Any] = [
    None,
    5,
    {"type": "text", "text": "x"},
    [5],
    [{"type": "text"}],
    [{"type": "tool_use"}],
    [object()],
]


@pytest.mark.anyio
@pytest.mark.parametrize("content", CONTENTS, ids=ids)
async def test_a_result_that_nobody_could_send_is_told_as_a_failure(content: Any) -> None:
    """The tool ran; its result is one short sentence and the session goes on."""
    ran = Ran()

    async def body(tool_input: Any, context: Any) -> Any:
        return ToolResult(content)

    held = await hold([[use("save", "a")]], tools=[ran.tool("save", body)], allow=["save"])
    assert held.words == {"a": "save failed: it gave no result that can be sent."}
    assert held.result.terminal_reason == "completed"


@pytest.mark.anyio
async def test_a_deferral_that_no_store_can_keep_is_a_no() -> None:
    """A callback that defers with a value of its own making is still only an answer of the known kinds."""
    ran = Ran()

    async def says(*_: Any) -> Any:
        return Mock(spec=Defer)

    held = await hold(ScriptedModel([[use("save", "a", text="x")]]), tools=[ran.tool("save")], can_use_tool=says)
    assert held.words == {"a": INVALID}
    assert (await hold([[use("save", "b")]], tools=[ran.tool("save")], can_use_tool=say_yes)).words == {"b": "save ran"}


async def any_answer(*_: Any) -> Allow:
    """Edits the input, so that everything about it is looked at again."""
    return Allow({"questions": [], "answers": {}})


@pytest.mark.anyio
@pytest.mark.parametrize("part", ["prepare", "check", "accept", "answered"])
async def test_a_tool_whose_own_checks_fail_does_not_run(part: str) -> None:
    """The model reads one sentence, and the run goes on."""
    ran = Ran()

    def fails(*_: Any) -> Any:
        raise KeyError("inside")

    whole = {"prepare": dict, "accept": lambda current, update: dict(update), "answered": lambda tool_input: True}
    base = ran.tool("save", **{**whole, **({} if part == "check" else {part: fails})})
    tool = replace(base, check=fails) if part == "check" else base
    options: dict[str, Any] = {"hooks": {"PreToolUse": [HookMatcher(hooks=[any_answer])]}} if part == "answered" else {}
    held = await hold([[use("save", "a")]], tools=[replace(tool, ask=True)], can_use_tool=any_answer, **options)
    assert held.result.terminal_reason == "completed"
    if part != "answered":
        assert ran.calls == []
        assert held.results["a"].is_error
        assert "inside" not in held.words["a"]


@pytest.mark.anyio
@pytest.mark.parametrize("read_only", [False, True], ids=["in-order", "side-by-side"])
@pytest.mark.parametrize("method", ["begin_call", "end_call"])
async def test_a_store_that_fails_starts_nothing_more(method: str, read_only: bool) -> None:
    """Its error reaches the caller as it is; what had started is told as unknown."""
    ran = Ran()

    class Broken(InMemoryStore):
        async def begin_call(self, *args: Any, **options: Any) -> Any:
            if method == "begin_call":
                raise OSError("the disk is gone")
            return await super().begin_call(*args, **options)

        async def end_call(self, *args: Any) -> None:
            raise OSError("the disk is gone")

    calls = [use("save", "a"), use("save", "b")]
    tools = [ran.tool("save", read_only=read_only)]
    held = await hold([calls, "fine"], store=Broken(), tools=tools, allow=["save"], max_parallel_tools=1, fails=OSError)
    assert len(ran.calls) <= (method == "end_call")
    assert len(held.model.requests) == 1
    again = await hold(held.model, "next", store=held.store, resume=held.session_id, tools=tools)
    assert again.result.result == "fine"


def test_words_are_copied_when_a_decision_is_made() -> None:
    """What is done to the list afterwards is nobody's decision."""
    words: list[Any] = [{"type": "text", "text": "as it was"}]
    note, message = Allow(note=words).note, Deny(words).message
    words[0]["text"] = object()
    assert note == message == [{"type": "text", "text": "as it was"}]


@pytest.mark.anyio
@pytest.mark.parametrize("native", [True, False], ids=["task", "scope"])
@pytest.mark.parametrize("place", ["callback", "hook", "tool"])
async def test_a_yes_that_comes_after_the_run_was_cancelled_runs_nothing(
    place: str, native: bool, anyio_backend: str
) -> None:
    """Whoever keeps the cancellation to itself does not keep the run alive: nothing starts any more."""
    if native and anyio_backend == "trio":
        pytest.skip("trio has no cancelled tasks")
    import asyncio  # noqa: PLC0415

    ran, inside = Ran(), anyio.Event()

    async def keeps(*_: Any) -> Any:
        inside.set()
        try:
            await anyio.sleep(20)
        except BaseException:
            return "done" if place == "tool" else Allow()

    gates: dict[str, Any] = {"can_use_tool": keeps if place == "callback" else say_yes}
    if place == "hook":
        gates["hooks"] = {"PreToolUse": [HookMatcher(hooks=[keeps])]}
    tools = [ran.tool("save", keeps if place == "tool" else None)]

    async def run() -> None:
        await hold([[use("save", "a"), use("save", "b")], "fine"], tools=tools, **gates)

    if native:
        task = asyncio.create_task(run())
        await inside.wait()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
    else:
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await inside.wait()
            group.cancel_scope.cancel()
    assert len(ran.calls) == (place == "tool")
