"""Parked calls as records: what a person will need to answer them, in another process, on another day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from agent_sdk.calls import ToolResult
from agent_sdk.decisions import Allow, Defer, Verdict
from agent_sdk.permissions.pipeline import Docket
from agent_sdk.sessions.codec import trace_to_json
from agent_sdk.sessions.records import PendingApproval, SettledCall
from agent_sdk.values import JsonObject


def pending_approval(docket: Docket, now: datetime, before: PendingApproval | None = None) -> PendingApproval:
    """The record of a call that waits.

    One that waited `before` keeps when it was parked and when it expires, as long as what would run is the same; else
    it is a new approval, and an answer to the old one does not count for it.
    """
    verdict = docket.verdict
    assert verdict is not None, "only settled calls are parked"
    call, tool = verdict.call, docket.tool
    lifetime = verdict.decision.lifetime if isinstance(verdict.decision, Defer) else None
    questions = call.effective.get("questions") if tool.accept is not None else None
    state = verdict.state if verdict.state is not None or before is None else before.state
    digest = call.digest(tool.schema_digest, state)
    same = before is not None and (before.digest, before.state, before.unknown) == (digest, state, docket.unknown)
    return PendingApproval(
        session_id=call.session_id,
        agent_path=call.agent_path,
        message_uuid=call.message_uuid,
        tool_use_id=call.id,
        tool_name=call.tool,
        tool_input=call.effective,
        original_input=docket.original,
        cwd=call.cwd,
        digest=digest,
        reason=before.reason if before is not None and same else verdict.reason,
        questions=[q for q in questions if isinstance(q, Mapping)] if isinstance(questions, Sequence) else (),
        created_at=before.created_at if before is not None and same else now,
        expires_at=before.expires_at if before is not None else (now + lifetime if lifetime is not None else None),
        state=state,
        trace=trace_to_json(verdict.trace),
        input_schema=tool.input_schema,
        unknown=docket.unknown,
    )


def settled_call(docket: Docket, verdict: Verdict, result: ToolResult | None) -> SettledCall:
    """The record of a call whose verdict is known; `result` for those that do not run or whose result was changed."""
    call = verdict.call
    note = verdict.decision.note if isinstance(verdict.decision, Allow) else None
    noted: JsonObject | None = None
    if note is not None:
        noted = {"note": note if isinstance(note, str) else [dict(block) for block in note]}
    return SettledCall(
        key=call.key,
        tool=call.tool,
        effective=call.effective,
        cwd=call.cwd,
        digest=call.digest(docket.tool.schema_digest),
        behavior="allow" if verdict.behavior == "allow" else "deny",
        by=verdict.by,
        by_person=verdict.by_person,
        note=noted,
        state=verdict.state,
        result=result,
    )


def worth_keeping(dockets: Mapping[str, Docket], results: Mapping[str, ToolResult]) -> list[SettledCall]:
    """What people decided in a turn, for a resume after a crash: stored with the first of its calls that begins.

    A turn with a single call has nothing to keep: it is either not begun or unknown, unless its tool is idempotent.
    """
    if len(dockets) < 2 and not any(docket.tool.idempotent for docket in dockets.values()):
        return []
    return [
        settled_call(docket, docket.verdict, results.get(call_id))
        for call_id, docket in dockets.items()
        if docket.verdict is not None and (docket.verdict.by_person or call_id in results)
    ]
