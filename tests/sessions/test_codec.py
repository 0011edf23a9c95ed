"""The JSON forms of the records: back and forth without loss, strict about types, easy about unknown fields."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_sdk.calls import CallKey, ToolResult
from agent_sdk.decisions import Allow, Considered, Deny, trace_lines
from agent_sdk.errors import SessionError
from agent_sdk.permissions.policy import PermissionPolicy
from agent_sdk.session import permission_entry
from agent_sdk.sessions import codec
from agent_sdk.sessions.fields import json_object, json_text
from agent_sdk.sessions.records import Answer, PendingApproval, SettledCall
from agent_sdk.values import Json

texts = st.text(st.characters(exclude_categories=[]), max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2), max_leaves=4
)
objects = st.dictionaries(texts, values, max_size=2)
moments = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=9, minutes=30))]))
names = st.none() | texts
blocks = st.lists(texts.map(lambda text: {"type": "text", "text": text}), min_size=1, max_size=2)
keys = st.builds(
    CallKey, session_id=texts, agent_path=st.lists(texts, max_size=2).map(tuple), message_uuid=texts, tool_use_id=texts
)
results = st.builds(ToolResult, texts | st.lists(objects, max_size=2), st.booleans(), values)
decisions = st.builds(Allow, st.none() | objects, note=st.none() | texts | blocks, by=names) | st.builds(
    Deny, texts | blocks, interrupt=st.booleans(), by=names
)
answers = st.builds(Answer, decision=decisions, by=names, at=st.none() | moments) | st.builds(
    Answer, result=results, by=names, at=st.none() | moments
)
settled = st.builds(
    SettledCall,
    key=keys,
    tool=texts,
    effective=objects,
    cwd=texts,
    digest=texts,
    behavior=st.sampled_from(["allow", "deny"]),
    by=texts,
    by_person=st.booleans(),
    note=st.none() | objects,
    state=names,
    result=st.none() | results,
)
lists = st.lists(objects, max_size=1)
approvals = st.builds(
    PendingApproval,
    session_id=texts,
    agent_path=st.lists(texts, max_size=2).map(tuple),
    message_uuid=texts,
    tool_use_id=texts,
    tool_name=texts,
    tool_input=objects,
    original_input=objects,
    cwd=texts,
    digest=texts,
    reason=texts,
    suggestions=lists,
    questions=lists,
    created_at=moments,
    expires_at=st.none() | moments,
    state=names,
    trace=lists,
    input_schema=st.none() | objects,
    answer=st.none() | answers,
)
steps = st.builds(
    Considered,
    step=texts,
    said=st.sampled_from([None, "allow", "ask", "deny", "defer"]),
    by=texts,
    where=names,
    note=texts,
    took_us=st.integers(0),
)

few = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])

FORMS: dict[str, tuple[st.SearchStrategy[object], Callable[..., Json], Callable[[Json], object]]] = {
    "CallKey": (keys, codec.key_to_json, codec.key_from_json),
    "ToolResult": (results, codec.result_to_json, codec.result_from_json),
    "Decision": (decisions, codec.decision_to_json, codec.decision_from_json),
    "Answer": (answers, codec.answer_to_json, codec.answer_from_json),
    "SettledCall": (settled, codec.settled_to_json, codec.settled_from_json),
    "PendingApproval": (approvals, codec.pending_to_json, codec.pending_from_json),
    "Considered": (steps, codec.considered_to_json, codec.considered_from_json),
}


@pytest.mark.parametrize("name", FORMS)
@few
@given(data=st.data())
def test_writing_and_reading_is_the_identity(name: str, data: st.DataObject) -> None:
    """Whatever a record holds, surrogates included, its stored text is ASCII and reads back as the same record."""
    strategy, write, read = FORMS[name]
    record = data.draw(strategy)
    text = json_text(name, write(record))
    assert text.isascii()
    assert read(json_object(name, text)) == record


@pytest.mark.parametrize("name", FORMS)
@few
@given(data=st.data())
def test_unknown_fields_are_ignored(name: str, data: st.DataObject) -> None:
    """A field that a newer version added does not disturb."""
    strategy, write, read = FORMS[name]
    record = data.draw(strategy)
    assert read({**write(record), "added later": {"x": 1}}) == record


@pytest.mark.parametrize("name", FORMS)
@few
@given(data=st.data(), junk=values)
def test_junk_is_a_session_error_or_a_record(name: str, data: st.DataObject, junk: Json) -> None:
    """One field replaced by any JSON value either still reads, or is a SessionError that names the record."""
    strategy, write, read = FORMS[name]
    raw = dict(write(data.draw(strategy)))
    raw[data.draw(st.sampled_from(sorted(raw)))] = junk
    for damaged in (raw, junk):
        complaint = ""
        try:
            read(damaged)
        except SessionError as error:
            complaint = str(error)
        assert complaint == "" or name in complaint or "exactly one" in complaint


KEY = {"session_id": "s", "agent_path": [], "message_uuid": "m", "tool_use_id": "t"}
WRONG: list[tuple[str, Callable[[Json], object], Json, str]] = [
    ("not an object", codec.key_from_json, [], "CallKey: expected a JSON object, got a list"),
    ("missing", codec.key_from_json, {**KEY, "tool_use_id": None}, "CallKey.tool_use_id: expected a text, got null"),
    ("path of numbers", codec.key_from_json, {**KEY, "agent_path": [1]}, "CallKey.agent_path: expected a list of text"),
    ("flag", codec.result_from_json, {"content": "", "is_error": 1}, "ToolResult.is_error: expected true or false"),
    ("content", codec.result_from_json, {"content": 5}, "ToolResult.content: expected a list of objects, got a number"),
    ("no behavior", codec.decision_from_json, {}, "Decision.behavior: expected 'allow' or 'deny', got nothing"),
    ("truthy", codec.decision_from_json, {"behavior": True}, "Decision.behavior: expected 'allow' or 'deny', got true"),
    ("defer", codec.decision_from_json, {"behavior": "defer"}, "Decision.behavior: expected 'allow' or 'deny'"),
    ("empty note", codec.decision_from_json, {"behavior": "allow", "note": []}, "Decision: Allow"),
    ("neither", codec.answer_from_json, {}, "exactly one"),
    ("nested", codec.answer_from_json, {"decision": {"behavior": "x"}}, "Answer.decision.behavior: expected"),
    ("naive", codec.answer_from_json, {"result": {}, "at": "2030-01-01"}, "Answer.at: expected a date and time with"),
    ("no date", codec.answer_from_json, {"result": {}, "at": "soon"}, "Answer.at: expected a date and time"),
    ("said", codec.considered_from_json, {"step": "x", "said": "maybe"}, "Considered.said: expected 'allow', 'ask'"),
    ("took", codec.considered_from_json, {"step": "x", "took_us": True}, "Considered.took_us: expected a whole number"),
]


@pytest.mark.parametrize(("read", "raw", "message"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_wrong_types_are_named(read: Callable[[Json], object], raw: Json, message: str) -> None:
    """The error names record and field, and says what was expected and found."""
    with pytest.raises(SessionError) as caught:
        read(raw)
    assert message in str(caught.value)


def test_what_is_not_json_cannot_be_stored() -> None:
    """A value that is not JSON, a naive time and a circle are SessionErrors that name the place."""
    circle: list[Json] = []
    circle.append(circle)
    with pytest.raises(SessionError, match=r"ToolResult\.value"):
        codec.result_to_json(ToolResult("", value={1, 2}))  # type: ignore[arg-type]
    with pytest.raises(SessionError, match="time zone"):
        codec.answer_to_json(Answer(result=ToolResult(""), at=datetime(2030, 1, 1)))
    with pytest.raises(SessionError, match="Entry"):
        json_text("Entry", {"a": circle})
    with pytest.raises(SessionError, match="not a JSON number: nan"):
        json_text("Entry", {"a": float("nan")})
    with pytest.raises(SessionError, match="Entry is unreadable"):
        json_object("Entry", json.dumps([1]))


def test_a_trace_has_one_form() -> None:
    """The trace of a verdict, of its JSON form and of what is read back from a store are the same steps."""
    policy = PermissionPolicy.load(setting_sources=(), allow=["Bash"], deny=["Bash(rm:*)"])
    verdict = policy.evaluate("Bash", {"command": "rm x"})
    stored = permission_entry(verdict)["trace"]
    assert stored == codec.verdict_to_json(verdict)["trace"] == codec.trace_to_json(verdict.trace)
    assert codec.trace_from_json(json.loads(json.dumps(stored))) == verdict.trace
    assert [f"  {line}" for line in trace_lines(codec.trace_from_json(stored))] == verdict.explain().splitlines()[2:-1]


@pytest.mark.parametrize("raw", [None, 3, "x", {}, [3], [{}], [{"step": "x", "said": "perhaps"}]], ids=repr)
def test_a_trace_that_is_none(raw: Any) -> None:
    """Whatever cannot be read as steps is a SessionError."""
    with pytest.raises(SessionError):
        codec.trace_from_json(raw)
