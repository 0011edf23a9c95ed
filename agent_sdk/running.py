"""One approved call, run: the only place where a tool is called."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Literal

from agent_sdk.apart import apart
from agent_sdk.callables import shown_as, text_of_error, told_error, traceable
from agent_sdk.calls import ToolCall, ToolResult
from agent_sdk.errors import ToolError
from agent_sdk.hooks.hear import hear_event
from agent_sdk.results import output_of, sendable_result, with_output
from agent_sdk.session import Session
from agent_sdk.tools.base import Tool, ToolContext
from agent_sdk.tools.state import content_in
from agent_sdk.values import Json, copied_object

log = logging.getLogger("agent_sdk.tools")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a tool did: its result, and the working directory that it moved to, if it did."""

    result: ToolResult
    new_cwd: str | None = None


@dataclass(frozen=True, slots=True)
class After:
    """What hooks made of a result; `stop` is the reason when one of them ends the run."""

    result: ToolResult
    stop: str | None = None


async def call_tool(session: Session, tool: Tool, call: ToolCall, state: str | None, target: str | None) -> Ran:
    """Call the tool with a copy of the input that was judged. Whatever it raises becomes an error result.

    `target` is the file that was judged, `state` what the approval is bound to (`tools/state.py`): the tool checks what
    the file holds.
    """
    place = session.policy.snapshot.place
    context = ToolContext(
        cwd=call.cwd,
        session_id=call.session_id,
        tool_use_id=call.id,
        agent_path=call.agent_path,
        idempotency_key=f"{call.session_id}:{call.message_uuid}:{call.id}",
        working_directories=(place.cwd, *place.additional),
        env=session.options.env,
        expected_state=None if state is None else content_in(state),
        target=target,
        left_out=session.policy.snapshot.rules.left_out(place),
    )
    await session.policy.before_tool()
    try:
        came = await apart(lambda: tool.run(copied_object(call.effective), context), tool.timeout)
    finally:
        await session.policy.after_tool()
    if isinstance(came.error, ToolError):
        return _failed(text_of_error(came.error) or f"{tool.name} failed.")
    if came.error is not None:
        log.error("tool %s failed", tool.name, exc_info=traceable(came.error))
        return _failed(f"{tool.name} failed: {told_error(came.error)}")
    if came.value is None and came.late:
        return _failed(f"{tool.name} did not finish within {tool.timeout:g} s and was stopped; its effect is unknown.")
    result = sendable_result(came.value)
    if result is None:
        log.error("tool %s returned %s: no result that can be sent", tool.name, shown_as(came.value))
        return _failed(f"{tool.name} failed: it gave no result that can be sent.")
    return Ran(result, context.new_cwd)


async def hear_after(session: Session, call: ToolCall, result: ToolResult) -> After:
    """PostToolUse and PostToolUseFailure hooks: they may add words and change what the model reads."""
    event: Literal["PostToolUse", "PostToolUseFailure"] = "PostToolUseFailure" if result.is_error else "PostToolUse"
    matchers = session.hooks.get(event, ())
    if not matchers:
        return After(result)

    def told(output: Json) -> dict[str, Json]:
        facts = session.scene().facts(event)
        facts |= {"tool_name": call.tool, "tool_input": copied_object(call.effective), "tool_use_id": call.id}
        facts["error" if result.is_error else "tool_response"] = output_of(result) if output is None else output
        return facts

    heard = await hear_event(event, matchers, told, tool=call.tool, tool_use_id=call.id)
    for notice in heard.notices:
        session.tell("hook_message", message=notice)
    session.tell_hooks(heard.trace, call.id)
    for fault in heard.faults:
        session.warn(f"{event} hook {fault}; the result was kept")
    session.arrive(*heard.contexts, *([heard.block] if heard.block is not None else []))
    return After(result if heard.output is None else with_output(result, heard.output), heard.stop)


def _failed(text: str) -> Ran:
    return Ran(ToolResult(text, is_error=True))
