"""A session on its way from one store to another: nothing lost, nothing half, nothing silent."""

from __future__ import annotations

import json
import logging
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_sdk.calls import ToolResult
from agent_sdk.decisions import Allow
from agent_sdk.errors import SessionBusyError, SessionError, SessionNotFoundError
from agent_sdk.sessions.memory import InMemoryStore
from agent_sdk.sessions.parcel import parcel_text, read_parcel
from agent_sdk.sessions.portable import export_session, import_session
from agent_sdk.sessions.records import Answer, Done, Unknown
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.sessions.store import SessionKey
from agent_sdk.sessions.upkeep import delete_session, list_sessions, prune_sessions
from agent_sdk.testing.store_values import (
    LEASE,
    FullStore,
    approval,
    call_key,
    claimed,
    entry,
    parked_turn,
    session_key,
    verdict,
)
from agent_sdk.values import JsonObject


async def rich(store: FullStore) -> None:
    """A parked session `s` with a sub-agent, an answer, a finished call and an unknown one."""
    claim = await claimed(store)
    await store.write(claim, session_key(), [entry("1", "\ud800 é \x00"), {"no": "uuid"}])
    await store.write(claim, session_key(subpath="agent/1"), [entry("1", "sub")])
    first, second = await approval(store, "t1"), await approval(store, "t2")
    refusal = verdict("t4", result=ToolResult("no", is_error=True))
    await store.park(claim, session_key(), [entry("m1")], [verdict("t3"), refusal], [first, second])
    await store.begin_call(claim, call_key("t3"), {"a": 1})
    await store.end_call(claim, call_key("t3"), ToolResult([{"type": "text", "text": "ran"}], value={"b": None}))
    await store.begin_call(claim, call_key("t5"), {"c": 2})
    assert await store.answer(second.key, Answer(decision=Allow({"x": 1}, note="go"), by="ann"))
    await store.release(claim)


class Transcripts:
    """A store that keeps transcripts only."""

    def __init__(self) -> None:
        self.inner = InMemoryStore()

    async def append(self, key: SessionKey, entries: list[JsonObject]) -> None:
        await self.inner.append(key, entries)

    async def load(self, key: SessionKey) -> list[JsonObject] | None:
        return await self.inner.load(key)

    async def list_sessions(self, project_key: str) -> list[object]:
        return list(await self.inner.list_sessions(project_key))

    async def delete(self, key: SessionKey) -> None:
        await self.inner.delete(key)

    async def list_subkeys(self, key: SessionKey) -> list[str]:
        return await self.inner.list_subkeys(key)


@pytest.mark.anyio
async def test_a_session_arrives_as_it_left(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """From memory to SQLite and back: the second file equals the first, and what ran does not run again."""
    here, there, back = InMemoryStore(), SQLiteStore(tmp_path / "s.sqlite"), InMemoryStore()
    await rich(here)
    await export_session("s", tmp_path / "1.jsonl", store=here)
    assert await import_session(tmp_path / "1.jsonl", store=there) == "s"
    await export_session("s", tmp_path / "2.jsonl", store=there)
    await import_session(tmp_path / "2.jsonl", store=back)
    await export_session("s", tmp_path / "3.jsonl", store=back)
    assert (
        (tmp_path / "1.jsonl").read_text() == (tmp_path / "2.jsonl").read_text() == (tmp_path / "3.jsonl").read_text()
    )
    assert stat.S_IMODE((tmp_path / "1.jsonl").stat().st_mode) == 0o600
    assert await there.load(session_key()) == await here.load(session_key())
    assert await there.load(session_key(subpath="agent/1")) == [entry("1", "sub")]
    assert await there.open_turn("s") == await here.open_turn("s")
    assert [item.tool_use_id for item in await there.pending()] == ["t1"]
    claim = await claimed(there)
    assert isinstance(await there.begin_call(claim, call_key("t3"), {}), Done)
    assert await there.begin_call(claim, call_key("t5"), {}) == Unknown()
    warned = [record.getMessage() for record in caplog.records if "both places" in record.getMessage()]
    assert len(warned) == 2
    assert "(t1, t2)" in warned[0]


@pytest.mark.anyio
async def test_a_finished_session_is_imported_in_silence(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A session without pending calls needs no warning, and goes through a store of transcripts only as well."""
    here = Transcripts()
    await here.append(session_key(project="agent_sdk"), [entry("1")])
    await export_session("s", tmp_path / "s.jsonl", store=here)
    for target in (InMemoryStore(), Transcripts()):
        await import_session(tmp_path / "s.jsonl", store=target)
        assert await target.load(session_key(project="agent_sdk")) == [entry("1")]
        with pytest.raises(SessionError, match="already"):
            await import_session(tmp_path / "s.jsonl", store=target)
    assert not caplog.records


@pytest.mark.anyio
async def test_a_parked_session_needs_a_store_that_parks(tmp_path: Path) -> None:
    """A store of transcripts only refuses a session in the middle of a turn, and keeps nothing of it."""
    here, there = InMemoryStore(), Transcripts()
    await rich(here)
    await export_session("s", tmp_path / "s.jsonl", store=here)
    with pytest.raises(SessionError, match="transcripts only"):
        await import_session(tmp_path / "s.jsonl", store=there)
    assert await there.load(session_key()) is None


@pytest.mark.anyio
async def test_an_import_never_overwrites(tmp_path: Path) -> None:
    """A store that has the session, if only a claim's journal of it, refuses the import and stays as it was."""
    here, there = InMemoryStore(), InMemoryStore()
    await rich(here)
    await export_session("s", tmp_path / "s.jsonl", store=here)
    claim, _ = await parked_turn(there, "other")
    with pytest.raises(SessionBusyError):
        await import_session(tmp_path / "s.jsonl", store=there)
    await there.release(claim)
    before = await there.open_turn("s")
    with pytest.raises(SessionError, match="has session s already"):
        await import_session(tmp_path / "s.jsonl", store=there)
    assert await there.open_turn("s") == before


@pytest.mark.anyio
async def test_a_running_session_is_not_exported(tmp_path: Path) -> None:
    """While a run holds it an export is refused and leaves no file; an unknown one is named."""
    store = InMemoryStore()
    await parked_turn(store, "t1")
    with pytest.raises(SessionBusyError, match="run 1"):
        await export_session("s", tmp_path / "s.jsonl", store=store)
    with pytest.raises(SessionNotFoundError, match="no session x"):
        await export_session("x", tmp_path / "s.jsonl", store=store)
    with pytest.raises(SessionNotFoundError, match="no session x"):
        await export_session("x", tmp_path / "s.jsonl", store=Transcripts())
    assert os.listdir(tmp_path) == []


@pytest.mark.anyio
async def test_a_failing_import_leaves_nothing(tmp_path: Path) -> None:
    """When the store fails in the middle, all that was written before is removed again."""

    class Fails(InMemoryStore):
        async def park(self, *arguments: object) -> None:
            raise SessionError("the disk is full")

    here, there = InMemoryStore(), Fails()
    await rich(here)
    await export_session("s", tmp_path / "s.jsonl", store=here)
    with pytest.raises(SessionError, match="full"):
        await import_session(tmp_path / "s.jsonl", store=there)
    assert await there.projects() == []
    assert not (await there.open_turn("s")).started


@pytest.mark.anyio
async def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    """A missing file and a folder that is not there are SessionErrors."""
    store = InMemoryStore()
    await rich(store)
    with pytest.raises(SessionError, match="cannot be read"):
        await import_session(tmp_path / "none.jsonl", store=store)
    with pytest.raises(SessionError, match="cannot be exported"):
        await export_session("s", tmp_path / "none" / "s.jsonl", store=store)


DAMAGES: list[tuple[str, Callable[[bytes], bytes], str]] = [
    ("half a record at the end", lambda data: data + b'{"record": "entry", "ent', "line 12 is cut off"),
    ("half a letter at the end", lambda data: data + b"\xe3\x81", "line 12 is cut off"),
    ("the last record cut", lambda data: data[:-5], "line 11 is cut off"),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("damage", "warning"), [case[1:] for case in DAMAGES], ids=[case[0] for case in DAMAGES])
async def test_a_torn_end_is_dropped_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[bytes], bytes], warning: str
) -> None:
    """What was never whole is left out and named; the rest is imported."""
    here, there = InMemoryStore(), InMemoryStore()
    await rich(here)
    path = tmp_path / "s.jsonl"
    await export_session("s", path, store=here)
    path.write_bytes(damage(path.read_bytes()))
    await import_session(path, store=there)
    assert any(warning in record.getMessage() for record in caplog.records if record.levelno == logging.WARNING)
    assert [item.tool_use_id for item in await there.pending()] == ["t1"]
    assert await there.load(session_key()) == await here.load(session_key())


def spoil(number: int, change: Callable[[JsonObject], object]) -> Callable[[list[str]], list[str]]:
    """Change one line (counted from 1)."""

    def spoilt(lines: list[str]) -> list[str]:
        changed = change(json.loads(lines[number - 1]))
        return [*lines[: number - 1], changed if isinstance(changed, str) else json.dumps(changed), *lines[number:]]

    return spoilt


UNREADABLE: list[tuple[str, Callable[[list[str]], list[str]], str]] = [
    ("no JSON", spoil(5, lambda line: "{oops"), "line 5 cannot be read"),
    ("no object", spoil(5, lambda line: [1]), "line 5 cannot be read: record: expected a JSON object, got a list"),
    (
        "unknown record",
        spoil(3, lambda line: {**line, "record": "x"}),
        "line 3 cannot be read: record.record",
    ),
    ("wrong type", spoil(7, lambda line: {**line, "entry": 7}), "line 7 cannot be read: record.entry: expected an obj"),
    ("foreign", spoil(2, lambda line: {**line, "key": {**line["key"], "session_id": "x"}}), "line 2 .* session x"),
    ("no header", lambda lines: lines[1:], "line 1 cannot be read: session.record"),
    ("newer", spoil(1, lambda line: {**line, "format": 2}), "line 1 cannot be read: format 2 was written by a newer"),
    ("empty", lambda lines: [], "holds no session"),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("change", "message"), [case[1:] for case in UNREADABLE], ids=[case[0] for case in UNREADABLE])
async def test_an_unreadable_line_imports_nothing(
    tmp_path: Path, change: Callable[[list[str]], list[str]], message: str
) -> None:
    """The error names file and line, and the store stays empty."""
    here, there = InMemoryStore(), InMemoryStore()
    await rich(here)
    path = tmp_path / "s.jsonl"
    await export_session("s", path, store=here)
    path.write_text("".join(f"{line}\n" for line in change(path.read_text().splitlines())))
    with pytest.raises(SessionError, match=message) as caught:
        await import_session(path, store=there)
    assert "s.jsonl" in str(caught.value)
    assert "nothing was imported" in str(caught.value)
    assert await there.projects() == []


@given(data=st.binary(max_size=60), cut=st.integers(0, 200))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_junk_never_raises_anything_else(data: bytes, cut: int) -> None:
    """Any bytes behind any beginning of a file are read, or are a SessionError."""
    good = b'{"record":"session","format":1,"project_key":"p","session_id":"s"}\n{"record":"entry","entry":{"a":1}}\n'
    complaint = ""
    try:
        parcel = read_parcel(good[:cut] + data, "f")
        assert read_parcel(parcel_text(parcel).encode(), "g") == parcel
    except SessionError as error:
        complaint = str(error)
    assert complaint == "" or complaint.startswith("f")


# upkeep


@pytest.mark.anyio
async def test_sessions_are_listed_and_deleted_over_projects() -> None:
    """The last used comes first; a deleted one is gone; an unknown one and one in use are refused."""
    store = InMemoryStore()
    await rich(store)
    await store.append(session_key("later", project="q"), [entry("1")])
    assert {item["session_id"] for item in await list_sessions(store=store)} == {"s", "later"}
    claim = await claimed(store)
    with pytest.raises(SessionBusyError):
        await delete_session("s", store=store)
    await store.release(claim)
    await delete_session("s", store=store)
    assert [item["session_id"] for item in await list_sessions(store=store)] == ["later"]
    assert await store.pending() == []
    with pytest.raises(SessionNotFoundError):
        await delete_session("s", store=store)
    with pytest.raises(SessionNotFoundError):
        await delete_session("s", store=Transcripts())


@pytest.mark.anyio
async def test_pruning_spares_what_is_still_needed() -> None:
    """Old sessions go; parked ones that can be answered, and those in use, stay."""
    store = InMemoryStore()
    start = await store.now()
    clock = [start]
    store = InMemoryStore(now=lambda: clock[0])
    await rich(store)
    for session_id in ("old", "used", "expired"):
        await store.append(session_key(session_id), [entry("1")])
    claim = await store.claim("expired", "run", LEASE)
    late = replace(await approval(store, "t1", session_id="expired"), expires_at=start + timedelta(days=1))
    await store.park(claim, session_key("expired"), [], [], [late])
    await store.claim("used", "run", timedelta(days=10))
    clock[0] += timedelta(days=3)
    await store.append(session_key("new"), [entry("1")])
    assert await prune_sessions(timedelta(days=4), store=store) == 0
    assert await prune_sessions(timedelta(days=2), store=store) == 2
    assert {item["session_id"] for item in await list_sessions(store=store)} == {"s", "used", "new"}
