"""Inbox: looking at parked calls and answering them, from another process, without an engine."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from agent_sdk.calls import ToolResult
from agent_sdk.decisions import Allow, Deny
from agent_sdk.errors import DeferralError, OptionsError, SessionError
from agent_sdk.inbox import Inbox
from agent_sdk.sessions.memory import InMemoryStore
from agent_sdk.sessions.records import PendingApproval
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.testing.store_values import approval, claimed, entry, session_key

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
CARD = {
    "questions": [
        {
            "question": "Which database?",
            "header": "Database",
            "options": [{"label": "PostgreSQL", "description": "d"}, {"label": "SQLite", "description": "d"}],
            "multiSelect": False,
        }
    ]
}

Make = Callable[[], InMemoryStore | SQLiteStore]


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: object) -> InMemoryStore | SQLiteStore:
    """A store in memory, and one on disk."""
    return InMemoryStore() if request.param == "memory" else SQLiteStore(f"{tmp_path}/s.sqlite")


async def park(store: InMemoryStore | SQLiteStore, **changes: object) -> PendingApproval:
    """Park one call `t1` of the session `s` and give the claim back."""
    plain = replace(await approval(store, "t1"), questions=[], input_schema=SCHEMA)
    parked = replace(plain, **changes)
    claim = await claimed(store)
    await store.park(claim, session_key(), [entry(parked.message_uuid)], [], [parked])
    await store.release(claim)
    return parked


async def close(store: InMemoryStore | SQLiteStore) -> None:
    """Let the session go on without an answer."""
    claim = await claimed(store)
    await store.write(claim, session_key(), [entry("r1")], closes="m1")
    await store.release(claim)


@pytest.mark.anyio
async def test_the_first_answer_counts(store: InMemoryStore | SQLiteStore) -> None:
    """It is listed, shown, answered once with its giver's name, and then listed no more."""
    inbox = Inbox(store)
    parked = await park(store)
    assert await inbox.pending() == await inbox.pending("s") == [parked]
    assert await inbox.pending("other") == await inbox.pending(after=parked.cursor) == []
    assert await inbox.show("s", "t1") == parked
    assert await inbox.answer("s", "t1", Allow({"path": "/a"}), by="ann", digest=parked.digest) is True
    assert await inbox.answer("s", "t1", Deny("no"), by="bob") is False
    assert await inbox.pending() == []
    kept = (await inbox.show("s", "t1")).answer
    assert kept is not None
    assert (kept.decision, kept.by) == (Allow({"path": "/a"}), "ann")
    assert await inbox.wait("s", timedelta(0)) is True


@pytest.mark.anyio
async def test_the_decision_names_its_giver(store: InMemoryStore | SQLiteStore) -> None:
    """Without `by=` the decision's own `by` is stored."""
    await park(store)
    await Inbox(store).answer("s", "t1", Deny("no", by="ann"))
    kept = (await Inbox(store).show("s", "t1")).answer
    assert kept is not None
    assert kept.by == "ann"


RESULTS: list[tuple[object, ToolResult]] = [
    (ToolResult("x", True), ToolResult("x", True)),
    ("done elsewhere", ToolResult("done elsewhere")),
    ([{"type": "text", "text": "a"}], ToolResult([{"type": "text", "text": "a"}])),
    ({"id": 7}, ToolResult('{"id":7}', value={"id": 7})),
    ([1, 2], ToolResult("[1,2]", value=[1, 2])),
    ([], ToolResult("[]", value=[])),
    (0, ToolResult("0", value=0)),
    (False, ToolResult("false", value=False)),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("given", "kept"), RESULTS, ids=[repr(case[0])[:30] for case in RESULTS])
async def test_results_from_outside(given: object, kept: ToolResult) -> None:
    """A result may be a ToolResult, a text, content blocks or any JSON value."""
    store = InMemoryStore()
    await park(store)
    assert await Inbox(store).answer("s", "t1", result=given)  # type: ignore[arg-type]
    answer = (await Inbox(store).show("s", "t1")).answer
    assert answer is not None
    assert answer.result == kept


REFUSED: list[tuple[str, dict[str, object], str]] = [
    ("neither", {}, "exactly one"),
    ("both", {"decision": Allow(), "result": "x"}, "exactly one"),
    ("truthy", {"decision": "yes"}, "an Allow or a Deny, got 'yes'"),
    ("true", {"decision": True}, "an Allow or a Deny, got True"),
    ("class", {"decision": Allow}, "an Allow or a Deny"),
    ("missing field", {"decision": Allow({})}, "does not fit Write: .*path"),
    ("unknown field", {"decision": Allow({"path": "/a", "tool": "Bash"})}, "does not fit Write: .*tool"),
    ("wrong type", {"decision": Allow({"path": 7})}, "does not fit Write: .*path"),
    ("digest", {"decision": Allow(), "digest": "sha256:other"}, "another input"),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("arguments", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
async def test_what_does_not_fit_is_refused(
    store: InMemoryStore | SQLiteStore, arguments: dict[str, object], message: str
) -> None:
    """The error names the fault and the call, and the call is pending as before."""
    parked = await park(store)
    with pytest.raises(DeferralError, match=message) as caught:
        await Inbox(store).answer("s", "t1", **arguments)  # type: ignore[arg-type]
    assert (caught.value.session_id, caught.value.tool_use_id) == ("s", "t1")
    assert await Inbox(store).pending() == [parked]


@pytest.mark.anyio
async def test_what_is_not_json_is_refused() -> None:
    """A result that cannot be stored is a SessionError."""
    store = InMemoryStore()
    parked = await park(store)
    with pytest.raises(SessionError, match="cannot be stored"):
        await Inbox(store).answer("s", "t1", result={"a": {1, 2}})  # type: ignore[dict-item]
    assert await store.pending() == [parked]


CARDS: list[tuple[str, dict[str, object], str | None]] = [
    ("label", {"answers": {"Which database?": "SQLite"}}, None),
    ("own words", {"answers": {"Which database?": "neither"}}, None),
    ("whole input", {**CARD, "answers": {"Which database?": "SQLite"}}, None),
    ("index key", {"answers": {"0": "SQLite"}}, "keyed by the question text; got index"),
    ("header key", {"answers": {"Database": "SQLite"}}, "keyed by the question text; got header"),
    ("two for one", {"answers": {"Which database?": ["SQLite", "PostgreSQL"]}}, "single-select"),
    ("other field", {"path": "/a"}, "does not fit AskUserQuestion"),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("update", "message"), [case[1:] for case in CARDS], ids=[case[0] for case in CARDS])
async def test_answers_must_be_keyed_by_their_question(update: dict[str, object], message: str | None) -> None:
    """A card's answers are checked when they are given; a wrong key stays an error and the card stays open."""
    store = InMemoryStore()
    await park(store, tool_name="AskUserQuestion", tool_input=CARD, questions=CARD["questions"])
    if message is None:
        assert await Inbox(store).answer("s", "t1", Allow(update))
        return
    with pytest.raises(DeferralError, match=message):
        await Inbox(store).answer("s", "t1", Allow(update))
    assert len(await store.pending()) == 1


@pytest.mark.anyio
async def test_what_is_gone_is_told_from_what_never_was(
    store: InMemoryStore | SQLiteStore, caplog: pytest.LogCaptureFixture
) -> None:
    """Expired and superseded: False. Never pending: an error. Both are told when shown."""
    inbox = Inbox(store)
    now = await store.now()
    await park(store, created_at=now - timedelta(hours=2), expires_at=now - timedelta(hours=1))
    with caplog.at_level(logging.WARNING):
        assert await inbox.answer("s", "t1", Allow()) is False
    assert "too late" in caplog.text
    await close(store)
    assert await inbox.answer("s", "t1", Allow()) is False
    with pytest.raises(DeferralError, match="not pending any more"):
        await inbox.show("s", "t1")
    for session_id, tool_use_id, path in (("s", "t2", ()), ("x", "t1", ()), ("s", "t1", ("a",))):
        with pytest.raises(DeferralError, match="never pending"):
            await inbox.answer(session_id, tool_use_id, Allow(), agent_path=path)
        with pytest.raises(DeferralError, match="never pending"):
            await inbox.show(session_id, tool_use_id, path)


@pytest.mark.anyio
async def test_an_id_that_is_pending_twice_needs_its_path(store: InMemoryStore | SQLiteStore) -> None:
    """Without the path it is an error that names the paths; a text and a tuple both name one."""
    await park(store)
    await park(store, agent_path=("a", "b"), message_uuid="m2")
    inbox = Inbox(store)
    with pytest.raises(DeferralError, match=r"more than once.*'', 'a/b'"):
        await inbox.answer("s", "t1", Allow())
    with pytest.raises(DeferralError, match="more than once"):
        await inbox.show("s", "t1")
    assert (await inbox.show("s", "t1", "a/b")).agent_path == ("a", "b")
    assert await inbox.answer("s", "t1", Allow(), agent_path=("a", "b")) is True
    assert await inbox.answer("s", "t1", Allow(), agent_path="a/b") is False
    assert [item.agent_path for item in await inbox.pending()] == [()]


def test_a_store_of_transcripts_has_no_inbox() -> None:
    """A store that cannot park is refused when the inbox is made."""
    with pytest.raises(OptionsError, match="cannot park"):
        Inbox(object())  # type: ignore[arg-type]


@pytest.mark.anyio
async def test_the_users_own_store_is_the_default(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a store it looks into the one under the user's state directory."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert await Inbox().pending() == []
    await park(SQLiteStore())
    assert [item.tool_use_id for item in await Inbox().pending()] == ["t1"]
