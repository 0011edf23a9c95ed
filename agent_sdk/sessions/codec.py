"""The JSON forms of the records that stores keep.

`x_to_json` gives a plain object; `x_from_json` reads it back. Reading ignores unknown fields, so that an older version
reads what a newer one wrote. Both directions raise SessionError, naming record and field, for what does not fit.
"""

from __future__ import annotations

from typing import Literal

from agent_sdk.calls import CallKey, ToolResult
from agent_sdk.config import REMEMBER_SCOPES, RememberScope
from agent_sdk.decisions import Allow, Behavior, Considered, Deny, PermissionUpdate, Trace, Verdict, Words
from agent_sdk.errors import OptionsError, SessionError
from agent_sdk.sessions.fields import Fields, moment_text, plain
from agent_sdk.sessions.records import Answer, PendingApproval, SettledCall
from agent_sdk.values import Json, copied


def key_to_json(key: CallKey) -> dict[str, Json]:
    """`{session_id, agent_path, message_uuid, tool_use_id}`."""
    return {
        "session_id": key.session_id,
        "agent_path": list(key.agent_path),
        "message_uuid": key.message_uuid,
        "tool_use_id": key.tool_use_id,
    }


def key_from_json(raw: Json, record: str = "CallKey") -> CallKey:
    """A call's name. Raises SessionError."""
    fields = Fields(record, raw)
    return CallKey(
        session_id=fields.text("session_id"),
        agent_path=fields.texts("agent_path"),
        message_uuid=fields.text("message_uuid"),
        tool_use_id=fields.text("tool_use_id"),
    )


def result_to_json(result: ToolResult) -> dict[str, Json]:
    """`{content, is_error, value}`."""
    return {
        "content": plain("ToolResult.content", result.content),
        "is_error": result.is_error,
        "value": plain("ToolResult.value", result.value),
    }


def result_from_json(raw: Json, record: str = "ToolResult") -> ToolResult:
    """A result. Raises SessionError."""
    fields = Fields(record, raw)
    return ToolResult(fields.words("content"), fields.flag("is_error"), copied(fields.raw.get("value")))


def decision_to_json(decision: Allow | Deny) -> dict[str, Json]:
    """`{behavior: "allow", updated_input, note, by, remember, updated_permissions}`, the last in the interop wire form,
    or `{behavior: "deny", message, interrupt, by}`."""
    match decision:
        case Allow():
            changed = plain("Allow.updated_input", decision.updated_input)
            note = None if decision.note is None else _words("Allow.note", decision.note)
            updates = decision.updated_permissions
            return {
                "behavior": "allow",
                "updated_input": changed,
                "note": note,
                "by": decision.by,
                "remember": decision.remember,
                "updated_permissions": None if updates is None else [update.to_dict() for update in updates],
            }
        case Deny():
            return {
                "behavior": "deny",
                "message": _words("Deny.message", decision.message),
                "interrupt": decision.interrupt,
                "by": decision.by,
            }


def decision_from_json(raw: Json, record: str = "Decision") -> Allow | Deny:
    """An Allow or a Deny; anything else, a missing behavior above all, is neither. Raises SessionError."""
    fields = Fields(record, raw)
    try:
        match fields.raw.get("behavior"):
            case "allow":
                note = None if fields.raw.get("note") is None else fields.words("note")
                return Allow(
                    fields.maybe_object("updated_input"),
                    note=note,
                    by=fields.maybe_text("by"),
                    remember=_scope(fields),
                    updated_permissions=_updates(fields),
                )
            case "deny":
                return Deny(fields.words("message"), interrupt=fields.flag("interrupt"), by=fields.maybe_text("by"))
            case _:
                raise fields.wrong("behavior", "'allow' or 'deny'")
    except OptionsError as error:
        raise SessionError(f"{record}: {error}") from None


def _scope(fields: Fields) -> RememberScope | None:
    text = fields.maybe_text("remember")
    for scope in REMEMBER_SCOPES:
        if scope == text:
            return scope
    if text is not None:
        raise fields.wrong("remember", f"one of {', '.join(REMEMBER_SCOPES)}")
    return None


def _updates(fields: Fields) -> list[PermissionUpdate] | None:
    if fields.raw.get("updated_permissions") is None:
        return None
    return [PermissionUpdate.from_dict(update) for update in fields.objects("updated_permissions")]


def answer_to_json(answer: Answer) -> dict[str, Json]:
    """`{decision, result, by, at}`."""
    return {
        "decision": None if answer.decision is None else decision_to_json(answer.decision),
        "result": None if answer.result is None else result_to_json(answer.result),
        "by": answer.by,
        "at": moment_text("Answer", "at", answer.at),
    }


def answer_from_json(raw: Json, record: str = "Answer") -> Answer:
    """An answer: exactly one of decision and result. Raises SessionError."""
    fields = Fields(record, raw)
    decision, result = fields.raw.get("decision"), fields.raw.get("result")
    return Answer(
        decision=None if decision is None else decision_from_json(decision, f"{record}.decision"),
        result=None if result is None else result_from_json(result, f"{record}.result"),
        by=fields.maybe_text("by"),
        at=fields.maybe_moment("at"),
    )


def settled_to_json(call: SettledCall) -> dict[str, Json]:
    """The verdict of a call that is still open, with the result it may have already."""
    return {
        "key": key_to_json(call.key),
        "tool": call.tool,
        "effective": plain("SettledCall.effective", call.effective),
        "cwd": call.cwd,
        "digest": call.digest,
        "behavior": call.behavior,
        "by": call.by,
        "by_person": call.by_person,
        "note": plain("SettledCall.note", call.note),
        "state": call.state,
        "result": None if call.result is None else result_to_json(call.result),
    }


def settled_from_json(raw: Json, record: str = "SettledCall") -> SettledCall:
    """A verdict. Raises SessionError."""
    fields = Fields(record, raw)
    result = fields.raw.get("result")
    return SettledCall(
        key=key_from_json(fields.raw.get("key"), f"{record}.key"),
        tool=fields.text("tool"),
        effective=fields.object("effective"),
        cwd=fields.text("cwd"),
        digest=fields.text("digest"),
        behavior=_settled_behavior(fields),
        by=fields.text("by"),
        by_person=fields.flag("by_person"),
        note=fields.maybe_object("note"),
        state=fields.maybe_text("state"),
        result=None if result is None else result_from_json(result, f"{record}.result"),
    )


def pending_to_json(pending: PendingApproval) -> dict[str, Json]:
    """A parked call with all its fields; times in ISO 8601."""
    return {
        **key_to_json(pending.key),
        "tool_name": pending.tool_name,
        "tool_input": plain("PendingApproval.tool_input", pending.tool_input),
        "original_input": plain("PendingApproval.original_input", pending.original_input),
        "cwd": pending.cwd,
        "digest": pending.digest,
        "reason": pending.reason,
        "suggestions": plain("PendingApproval.suggestions", list(pending.suggestions)),
        "questions": plain("PendingApproval.questions", list(pending.questions)),
        "created_at": moment_text("PendingApproval", "created_at", pending.created_at),
        "expires_at": moment_text("PendingApproval", "expires_at", pending.expires_at),
        "state": pending.state,
        "trace": plain("PendingApproval.trace", list(pending.trace)),
        "input_schema": plain("PendingApproval.input_schema", pending.input_schema),
        "unknown": pending.unknown,
        "answer": None if pending.answer is None else answer_to_json(pending.answer),
    }


def pending_from_json(raw: Json, record: str = "PendingApproval") -> PendingApproval:
    """A parked call. Raises SessionError."""
    fields = Fields(record, raw)
    answer = fields.raw.get("answer")
    return PendingApproval(
        session_id=fields.text("session_id"),
        agent_path=fields.texts("agent_path"),
        message_uuid=fields.text("message_uuid"),
        tool_use_id=fields.text("tool_use_id"),
        tool_name=fields.text("tool_name"),
        tool_input=fields.object("tool_input"),
        original_input=fields.object("original_input"),
        cwd=fields.text("cwd"),
        digest=fields.text("digest"),
        reason=fields.text_or("reason", ""),
        suggestions=fields.objects("suggestions"),
        questions=fields.objects("questions"),
        created_at=fields.moment("created_at"),
        expires_at=fields.maybe_moment("expires_at"),
        state=fields.maybe_text("state"),
        trace=fields.objects("trace"),
        input_schema=fields.maybe_object("input_schema"),
        unknown=fields.raw.get("unknown") is True,
        answer=None if answer is None else answer_from_json(answer, f"{record}.answer"),
    )


def considered_to_json(step: Considered) -> dict[str, Json]:
    """One step of a trace: `said` and `by`, `where`, `note` and `took_us`. Of steps that say nothing `step` alone."""
    kept: dict[str, Json] = {"step": step.step}
    if step.said is not None or step.by:
        kept["said"] = step.said
        kept["by"] = step.by
    if step.where is not None:
        kept["where"] = step.where
    if step.note:
        kept["note"] = step.note
    if step.took_us:
        kept["took_us"] = step.took_us
    return kept


def considered_from_json(raw: Json, record: str = "Considered") -> Considered:
    """One step of a trace. Raises SessionError."""
    fields = Fields(record, raw)
    return Considered(
        step=fields.text("step"),
        said=_behavior(fields),
        by=fields.text_or("by", ""),
        where=fields.maybe_text("where"),
        note=fields.text_or("note", ""),
        took_us=fields.number("took_us"),
    )


def trace_to_json(trace: Trace) -> list[dict[str, Json]]:
    """A trace, as `permission` entries, parked calls and the command line have it."""
    return [considered_to_json(step) for step in trace]


def trace_from_json(raw: Json, record: str = "Trace") -> Trace:
    """A trace. Raises SessionError."""
    if not isinstance(raw, list | tuple):
        raise SessionError(f"{record}: expected a list of steps")
    return tuple(considered_from_json(step, f"{record}[{place}]") for place, step in enumerate(raw))


def verdict_to_json(verdict: Verdict) -> dict[str, Json]:
    """The JSON form of a verdict, for programs. Fields are only ever added."""
    return {
        "behavior": verdict.behavior,
        "tool_name": verdict.call.tool,
        "tool_input": verdict.call.effective,
        "cwd": verdict.call.cwd,
        "by": verdict.by,
        "reason": verdict.reason,
        "rule": verdict.rule,
        "kind": verdict.kind,
        "fix": verdict.fix,
        "trace": trace_to_json(verdict.trace),
    }


def _behavior(fields: Fields) -> Behavior | None:
    match fields.maybe_text("said"):
        case None:
            return None
        case ("allow" | "ask" | "deny" | "defer") as said:
            return said
        case _:
            raise fields.wrong("said", "'allow', 'ask', 'deny', 'defer' or null")


def _settled_behavior(fields: Fields) -> Literal["allow", "deny"]:
    match fields.text("behavior"):
        case ("allow" | "deny") as behavior:
            return behavior
        case _:
            raise fields.wrong("behavior", "'allow' or 'deny'")


def _words(record: str, words: Words) -> Json:
    return words if isinstance(words, str) else plain(record, list(words))
