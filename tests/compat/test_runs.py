"""Programs in the spelling of the Claude Agent SDK, run to their end: callbacks, hooks, tools, errors."""

from __future__ import annotations

import functools
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_sdk
from agent_sdk import Allow, Deny, OptionsError
from agent_sdk.compat import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ClaudeSDKError,
    CLIConnectionError,
    HookEventMessage,
    HookMatcher,
    Message,
    OtherBlock,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionRuleValue,
    PermissionUpdate,
    ProcessError,
    ResultError,
    ResultMessage,
    ServerToolResultBlock,
    ServerToolUseBlock,
    SystemMessage,
    TextBlock,
    ToolPermissionContext,
    query,
)
from agent_sdk.compat.messages import as_theirs
from agent_sdk.testing import ScriptedModel
from tests.compat.programs import final, results, run
from tests.engine.dialogue import use
from tests.support.messages_api import MessagesServer

pytestmark = pytest.mark.anyio


WRITE = use("Write", "t1", file_path="a.txt", content="one")
ANSWERS: list[tuple[str, object, str | None, str]] = [
    ("yes", PermissionResultAllow(), "one", ""),
    ("yes, changed", PermissionResultAllow(updated_input={"file_path": "a.txt", "content": "two"}), "two", ""),
    ("no", PermissionResultDeny(message="Not this one."), None, "Not this one."),
    ("ours: yes", Allow(), "one", ""),
    ("ours: no", Deny("Nor this."), None, "Nor this."),
    ("nothing", None, None, "gave an invalid answer"),
    ("a dict", {"behavior": "allow"}, None, "gave an invalid answer"),
    ("a lie", PermissionResultAllow(behavior="deny"), None, "gave an invalid answer"),  # type: ignore[arg-type]
    ("a bad input", PermissionResultAllow(updated_input=[1]), None, "raised an error"),  # type: ignore[arg-type]
    ("a bad message", PermissionResultDeny(message=3), None, "raised an error"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("answer", "content", "words"), [case[1:] for case in ANSWERS], ids=[c[0] for c in ANSWERS])
async def test_what_a_callback_answers(answer: object, content: str | None, words: str, tmp_path: Path) -> None:
    """Their results are obeyed exactly, ours too; anything else is a no."""

    async def callback(tool_name: str, tool_input: dict[str, Any], context: ToolPermissionContext) -> Any:
        return answer

    messages = await run([[WRITE]], tmp_path, can_use_tool=callback)
    file = tmp_path / "a.txt"
    assert (file.read_text() if file.exists() else None) == content
    [(told, is_error)] = results(messages)
    assert words in told
    assert is_error == (content is None)


@pytest.mark.parametrize(
    ("said", "content"),
    [
        (PermissionResultAllow(), "clean"),
        (PermissionResultAllow(updated_input={"file_path": "a.txt", "content": "two"}), "two"),
        (PermissionResultDeny(message="No."), None),
        (Allow(), "one"),
    ],
    ids=["yes", "yes, changed", "no", "ours: yes"],
)
async def test_a_change_in_place_goes_into_the_call(said: object, content: str | None, tmp_path: Path) -> None:
    """With their bare yes, as it does there. With ours it has no effect, and is told in the log."""

    async def callback(tool_name: str, tool_input: dict[str, Any], context: ToolPermissionContext) -> Any:
        tool_input["content"] = "clean"
        return said

    await run([[WRITE]], tmp_path, can_use_tool=callback)
    file = tmp_path / "a.txt"
    assert (file.read_text() if file.exists() else None) == content


async def test_what_a_callback_knows(tmp_path: Path) -> None:
    """The context has their fields; its suggestions are the narrowest rules, which may be handed back as they are."""
    contexts: list[ToolPermissionContext] = []

    class Callback:
        async def __call__(self, name: str, given: dict[str, Any], context: ToolPermissionContext, more: int) -> Any:
            contexts.append(context)
            return PermissionResultAllow(updated_permissions=context.suggestions)

    calls = [use("Bash", f"t{n}", command="pytest --version") for n in range(2)]
    await run([calls[:1], calls[1:]], tmp_path, can_use_tool=functools.partial(Callback(), more=1), tools=["Bash"])
    assert len(contexts) == 1  # the rule that was handed back answers the second call
    context = contexts[0]
    assert (context.tool_use_id, context.signal, context.agent_id) == ("t0", None, None)
    rule = PermissionRuleValue("Bash", "pytest --version")
    update = PermissionUpdate(type="addRules", rules=[rule], behavior="allow", destination="localSettings")
    assert context.suggestions == [update]
    written = json.loads((tmp_path / ".claude" / "settings.local.json").read_text())
    assert written == {"permissions": {"allow": ["Bash(pytest --version)"]}}


async def test_updates_are_carried_out_all_or_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One update that lacks a field means that none is carried out; the yes holds, and the log says why."""
    good = PermissionUpdate(type="setMode", mode="acceptEdits")
    bad = PermissionUpdate(type="addRules", rules=[PermissionRuleValue("Bash")])
    asked: list[str] = []

    async def callback(name: str, given: dict[str, Any], context: ToolPermissionContext) -> Any:
        asked.append(name)
        return PermissionResultAllow(updated_permissions=[good, bad])

    calls = [use("Write", f"t{n}", file_path=f"{n}.txt", content="x") for n in range(2)]
    messages = await run([calls[:1], calls[1:]], tmp_path, can_use_tool=callback)
    assert [is_error for _, is_error in results(messages)] == [False, False]
    assert asked == ["Write", "Write"]
    assert "nothing is remembered" in caplog.text
    assert "needs behavior" in caplog.text


RULES = [PermissionRuleValue("Read"), PermissionRuleValue("Bash", "ls")]


@pytest.mark.parametrize("update", [
    PermissionUpdate(type="addRules", rules=RULES, behavior="deny", destination="userSettings"),
    PermissionUpdate(type="setMode", mode="plan", destination="session"),
    PermissionUpdate(type="removeDirectories", directories=["/a"], destination="session"),
], ids=lambda update: update.type)  # fmt: skip
def test_an_update_survives_its_wire_form(update: PermissionUpdate) -> None:
    """What is written and read back is the same."""
    assert PermissionUpdate.from_dict(update.to_dict()) == update


@pytest.mark.parametrize("kind", ["addRules", "setMode", "addDirectories", "unknown"])
def test_an_incomplete_update_cannot_be_written(kind: Any) -> None:
    """It is a ValueError that says what is missing."""
    with pytest.raises(ValueError, match=kind):
        PermissionUpdate(type=kind).to_dict()


async def quiet(input_data: Any, tool_use_id: str | None, context: Any) -> Any:
    return {}


async def no(input_data: Any, tool_use_id: str | None, context: Any) -> Any:
    specific = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "Never."}
    return {"hookSpecificOutput": specific}


async def breaks(input_data: Any, tool_use_id: str | None, context: Any) -> Any:
    raise RuntimeError("kaput")


async def in_background(input_data: Any, tool_use_id: str | None, context: Any) -> Any:
    return {"async_": True, "asyncTimeout": 5}


SHAPES: list[tuple[str, dict[str, Any], str]] = [
    ("a matcher", {"PreToolUse": [HookMatcher(matcher="Write", hooks=[no])]}, "Never."),
    ("a dict", {"PreToolUse": [{"matcher": "Write", "hooks": [no], "timeout": 5}]}, "Never."),
    ("ours", {"PreToolUse": [agent_sdk.HookMatcher("Write", [no])]}, "Never."),
    ("another tool", {"PreToolUse": [HookMatcher(matcher="Bash", hooks=[no])]}, ""),
    ("one that breaks", {"PreToolUse": [HookMatcher(hooks=[breaks])]}, "raised an error"),
    ("one that may break", {"PreToolUse": [HookMatcher(hooks=[breaks], on_failure="continue")]}, ""),
    ("one that breaks afterwards", {"PostToolUse": [HookMatcher(hooks=[breaks])]}, ""),
    ("one in the background", {"PreToolUse": [HookMatcher(hooks=[in_background])]}, ""),
    ("no opinion", {"PreToolUse": [HookMatcher(hooks=[quiet])]}, ""),
]


@pytest.mark.parametrize(("hooks", "words"), [case[1:] for case in SHAPES], ids=[case[0] for case in SHAPES])
async def test_hooks(hooks: dict[str, Any], words: str, tmp_path: Path) -> None:
    """Matchers of theirs, of ours and as dicts; a hook that decides about calls and breaks is a no."""
    messages = await run([[WRITE]], tmp_path, hooks=hooks, permission_mode="acceptEdits")
    [(told, is_error)] = results(messages)
    assert is_error == bool(words)
    assert words in told


@pytest.mark.parametrize(
    "hooks",
    [[no], {"PreToolUse": no}, {"PreToolUse": [no]}, {"PreToolUse": [{"tool": "Bash"}]}, {"BeforeTool": []}],
    ids=str,
)
def test_hooks_of_another_shape_are_refused(hooks: Any) -> None:
    """A gate that is not there must not go by in silence."""
    with pytest.raises(OptionsError, match="hooks"):
        agent_sdk.compat.agent_options(ClaudeAgentOptions(hooks=hooks))


async def test_output_replaced_by_a_hook(tmp_path: Path) -> None:
    """`updatedMCPToolOutput` is another spelling of `updatedToolOutput`."""

    async def hook(input_data: Any, tool_use_id: str | None, context: Any) -> Any:
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedMCPToolOutput": "replaced"}}

    hooks = {"PostToolUse": [HookMatcher(hooks=[hook])]}
    messages = await run([[WRITE]], tmp_path, hooks=hooks, permission_mode="acceptEdits")
    assert "replaced" in results(messages)[0][0]


async def test_hook_events_and_the_first_message(tmp_path: Path) -> None:
    """Hook events and the `init` message have their classes and keys."""
    hooks = {"PreToolUse": [HookMatcher(hooks=[quiet])]}
    messages = await run([[WRITE]], tmp_path, hooks=hooks, include_hook_events=True, permission_mode="acceptEdits")
    [event] = [message for message in messages if isinstance(message, HookEventMessage)]
    assert (event.subtype, event.hook_event_name) == ("hook_response", "PreToolUse")
    first = messages[0]
    assert isinstance(first, SystemMessage)
    assert (first.subtype, first.data["slash_commands"], first.data["agents"]) == ("init", [], [])
    assert first.data["permissionMode"] == "acceptEdits"


async def stop(name: str, given: Any, context: Any) -> Any:
    return PermissionResultDeny(message="Stop.", interrupt=True)


CUT_OFF = {"content": [{"type": "text", "text": "so"}], "stop_reason": "max_tokens"}
FAILING: list[tuple[str, list[Any], dict[str, Any], str, str]] = [
    ("stopped", [[WRITE]], {"can_use_tool": stop}, "aborted_tools", "error_during_execution"),
    ("turns", [[WRITE]], {"max_turns": 1, "permission_mode": "acceptEdits"}, "max_turns", "error_max_turns"),
    ("cut off", [CUT_OFF], {}, "max_tokens", "error_during_execution"),
]


@pytest.mark.parametrize(("turns", "options", "why", "subtype"), [c[1:] for c in FAILING], ids=[c[0] for c in FAILING])
async def test_an_error_result_is_raised_after_it(
    turns: Any, options: dict[str, Any], why: str, subtype: str, tmp_path: Path
) -> None:
    """The ResultMessage is yielded first; the error carries what it says."""
    made = ClaudeAgentOptions(model=ScriptedModel(turns), cwd=tmp_path, setting_sources=[], **options)
    messages: list[Message] = []

    async def play() -> None:
        async for message in query(prompt="go", options=made):
            messages.append(message)

    with pytest.raises(ResultError) as raised:
        await play()
    result, error = final(messages), raised.value
    assert result.is_error
    assert (error.terminal_reason, error.subtype) == (why, subtype) == (result.terminal_reason, result.subtype)
    assert (error.session_id, error.data["uuid"], error.exit_code) == (result.session_id, result.uuid, 1)
    assert isinstance(error, ProcessError)
    assert isinstance(error, ClaudeSDKError)


async def test_a_service_that_refuses(tmp_path: Path) -> None:
    """An API error is told as there: success with `is_error`, `api_error`, and the words in `result`."""
    faults = {"faults": [{"kind": "http", "status": 400, "error": "invalid_request_error", "message": "bad thing"}]}
    with MessagesServer([{"content": [{"type": "text", "text": "x"}], **faults}]) as server:
        env = {"ANTHROPIC_BASE_URL": server.base_url, "ANTHROPIC_API_KEY": "none"}
        messages = await run([], tmp_path, model="claude-x", env=env, fails=ResultError)
    result = final(messages)
    assert (result.subtype, result.terminal_reason, result.is_error) == ("success", "api_error", True)
    assert (result.api_error_status, result.errors) == (400, [])
    assert result.result is not None
    assert result.result.startswith("API Error: 400 ")
    assert "bad thing" in result.result


async def test_what_we_raise_is_theirs() -> None:
    """Whatever this package raises on purpose is a ClaudeSDKError."""
    with pytest.raises(ClaudeSDKError, match="no session"):
        async for _ in query(prompt="go", options=ClaudeAgentOptions(model=ScriptedModel([]), resume="unknown")):
            pass


async def test_a_stream_of_prompts(tmp_path: Path) -> None:
    """Each prompt of a stream is a run of the same session."""

    async def prompts() -> AsyncIterator[dict[str, Any]]:
        for words in ("one", "two"):
            yield {"type": "user", "message": {"role": "user", "content": words}, "session_id": "s"}

    model = ScriptedModel(["first", "second"])
    options = ClaudeAgentOptions(model=model, cwd=tmp_path, setting_sources=[])
    found = [m.result async for m in query(prompt=prompts(), options=options) if isinstance(m, ResultMessage)]
    assert found == ["first", "second"]


def client(cwd: Path, turns: Any, **options: Any) -> ClaudeSDKClient:
    model = turns if isinstance(turns, ScriptedModel) else ScriptedModel(turns)
    return ClaudeSDKClient(ClaudeAgentOptions(model=model, cwd=cwd, setting_sources=[], **options))


async def test_a_conversation(tmp_path: Path) -> None:
    """Prompts, answers, another model, another mode; an interrupt is a result and is not raised."""
    other = "claude-other"
    async with client(tmp_path, ["first", [WRITE], "third"], can_use_tool=stop) as talk:
        await talk.query("one")
        assert [type(m).__name__ async for m in talk.receive_response()] == [
            "SystemMessage",
            "AssistantMessage",
            "ResultMessage",
        ]
        await talk.query("two")
        last = [m async for m in talk.receive_response()][-1]
        assert isinstance(last, ResultMessage)
        assert last.terminal_reason == "aborted_tools"
        await talk.set_permission_mode("acceptEdits")
        await talk.set_model(None)
        await talk.query("three")
        texts = [m.content async for m in talk.receive_response() if isinstance(m, AssistantMessage)]
        assert texts == [[TextBlock("third")]]
        info = await talk.get_server_info()
        assert info is not None
        assert info["commands"] == []
        assert await talk.get_mcp_status() == {"mcpServers": []}
        with pytest.raises(OptionsError):
            await talk.set_permission_mode("auto")
        await talk.set_model(other)


async def test_a_client_that_is_not_connected(tmp_path: Path) -> None:
    """Every method says so; after `disconnect` too, and then it can be connected again."""
    talk = client(tmp_path, ["hello"])
    for method in (talk.query("x"), talk.interrupt(), talk.set_model(), talk.get_server_info(), talk.get_mcp_status()):
        with pytest.raises(CLIConnectionError, match="not connected"):
            await method
    with pytest.raises(CLIConnectionError):
        async for _ in talk.receive_messages():
            pass
    for _ in range(2):
        await talk.connect("hi")
        assert isinstance([m async for m in talk.receive_response()][-1], ResultMessage)
        await talk.disconnect()
    with pytest.raises(CLIConnectionError):
        await talk.query("x")


async def test_connect_with_a_stream(tmp_path: Path) -> None:
    """A stream of prompts is read beside the conversation, so that it may wait for what happens in it."""
    gate = anyio.Event()

    async def prompts() -> AsyncIterator[dict[str, Any]]:
        yield {"type": "user", "message": {"role": "user", "content": "one"}}
        await gate.wait()
        yield {"type": "user", "message": {"role": "user", "content": "two"}}

    talk = client(tmp_path, ["first", "second"])
    await talk.connect(prompts())
    found = []
    async for message in talk.receive_messages():
        if isinstance(message, ResultMessage):
            found.append(message.result)
            gate.set()
            if len(found) == 2:
                break
    await talk.disconnect()
    assert found == ["first", "second"]


async def test_what_the_block_raises_comes_out_as_it_is(tmp_path: Path) -> None:
    """An application's own error leaves the client's block unwrapped, and nothing is left running."""

    async def leave() -> None:
        async with client(tmp_path, ["hello"]) as talk:
            await talk.query("x")
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await leave()


async def test_a_response_that_is_waited_for_too_short(tmp_path: Path) -> None:
    """Who gives up receiving can go on receiving later: the run goes on meanwhile."""

    async def slow(name: str, given: Any, context: Any) -> Any:
        await anyio.sleep(0.2)
        return PermissionResultDeny(message="late")

    async with client(tmp_path, [[WRITE], "done"], can_use_tool=slow) as talk:
        await talk.query("go")
        with anyio.move_on_after(0.05):
            async for _ in talk.receive_response():
                pass
        assert [m.result async for m in talk.receive_response() if isinstance(m, ResultMessage)] == ["done"]


async def test_what_is_not_there_says_so(tmp_path: Path) -> None:
    """Methods without a meaning here raise; a transport too."""
    talk = client(tmp_path, [])
    for wait in (
        talk.get_context_usage(),
        talk.rewind_files("u"),
        talk.reconnect_mcp_server("s"),
        talk.toggle_mcp_server("s", True),
        talk.stop_task("t"),
    ):
        with pytest.raises(ClaudeSDKError, match="not available yet"):
            await wait
    with pytest.raises(ClaudeSDKError, match="transport"):
        ClaudeSDKClient(transport=object())


def test_blocks_of_the_service() -> None:
    """Blocks of tools that the service runs have their classes; what nobody knows stays as it is."""
    call = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
    answer = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result"}]}
    odd = {"type": "redacted_thinking", "data": "x"}
    message = agent_sdk.AssistantMessage(content=[OtherBlock(block) for block in (call, answer, odd)], model="m")
    theirs = as_theirs(message)
    assert isinstance(theirs, AssistantMessage)
    assert theirs.content == [
        ServerToolUseBlock("s1", "web_search", {"query": "x"}),
        ServerToolResultBlock("s1", [{"type": "web_search_result"}]),
        OtherBlock(odd),
    ]


def test_a_plain_function_is_no_callback() -> None:
    """It is refused when the run starts, with what to write."""
    with pytest.raises(OptionsError, match="must be async"):
        agent_sdk.compat.agent_options(ClaudeAgentOptions(can_use_tool=lambda name, given, context: None))
