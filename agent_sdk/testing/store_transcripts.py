"""The store contract, first part: transcripts and claims."""

from __future__ import annotations

import anyio

from agent_sdk.errors import DeferralError, SessionBusyError, SessionError
from agent_sdk.sessions.records import OpenTurn
from agent_sdk.testing.store_values import (
    LEASE,
    MOMENT,
    YES,
    Contract,
    FullStore,
    approval,
    call_key,
    claimed,
    entry,
    parked_turn,
    refused,
    session_key,
    uuids,
)
from agent_sdk.values import JsonObject

# transcripts


async def entries_come_back_in_order(store: FullStore) -> None:
    """What was appended is loaded in order, over several appends."""
    await store.append(session_key(), [entry("1"), entry("2")])
    await store.append(session_key(), [entry("3")])
    assert await uuids(store, session_key()) == ["1", "2", "3"]


async def unknown_transcripts_are_none(store: FullStore) -> None:
    """A transcript that was never written is `None`, also after an append of nothing."""
    await store.append(session_key(), [])
    assert await store.load(session_key()) is None
    assert await store.list_sessions("p") == []


async def an_entry_is_stored_once(store: FullStore) -> None:
    """An entry with a known uuid is left out; entries without uuid are all kept."""
    await store.append(session_key(), [entry("1", "first"), entry("1", "again")])
    await store.append(session_key(), [entry("1", "late"), {"type": "x"}, {"type": "x"}])
    loaded = await store.load(session_key())
    assert loaded == [entry("1", "first"), {"type": "x"}, {"type": "x"}], loaded


async def values_come_back_as_they_were(store: FullStore) -> None:
    """Key order, numbers, NUL, lone surrogates and nesting survive."""
    said: JsonObject = {
        "z": 1,
        "a": [1e2, 100, 1.5, -0.0, True, None],
        "text": "\ud83d \x00 \u2028 é",
        "deep": {"b": {}},
    }
    await store.append(session_key(), [{"type": "assistant", "uuid": "1", "message": said}])
    loaded = await store.load(session_key())
    assert loaded is not None
    assert repr(loaded[0]["message"]) == repr(said)


async def loaded_entries_are_copies(store: FullStore) -> None:
    """Neither what was handed in nor what was handed out is tied to what is stored."""
    blocks: list[str] = ["one"]
    mine: dict[str, list[str] | str] = {"uuid": "1", "blocks": blocks}
    await store.append(session_key(), [mine])
    blocks.append("two")
    first = await store.load(session_key())
    assert first == [{"uuid": "1", "blocks": ["one"]}]
    first.clear()
    assert await store.load(session_key()) == [{"uuid": "1", "blocks": ["one"]}]


async def transcripts_are_kept_apart(store: FullStore) -> None:
    """Projects, sessions and subpaths do not mix, and the same uuid may be in each."""
    keys = [session_key(), session_key(subpath="agent/1"), session_key("t"), session_key(project="q")]
    for number, key in enumerate(keys):
        await store.append(key, [entry("1", str(number))])
    for number, key in enumerate(keys):
        assert await store.load(key) == [entry("1", str(number))]
    assert await store.list_subkeys(session_key()) == ["agent/1"]
    assert await store.list_subkeys(session_key("t")) == []


async def sessions_are_listed(store: FullStore) -> None:
    """A listing holds each session of the project once, with its mtime in milliseconds, no sub-agents."""
    await store.append(session_key(), [entry("1")])
    await store.append(session_key(subpath="agent/1"), [entry("1")])
    await store.append(session_key("other", project="q"), [entry("1")])
    now = (await store.now()).timestamp() * 1000
    listed = await store.list_sessions("p")
    assert [item["session_id"] for item in listed] == ["s"]
    assert abs(now - listed[0]["mtime"]) < 60_000, listed
    assert await store.projects() == ["p", "q"]
    assert await store.projects("s") == ["p"]
    assert await store.projects("unknown") == []


async def deleting_a_session_takes_everything(store: FullStore) -> None:
    """Transcripts, parked calls, journal and claim go; a run that still holds it can write no more."""
    claim, (parked,) = await parked_turn(store, "t1")
    await store.begin_call(claim, call_key("t2"), {})
    await store.append(session_key(subpath="agent/1"), [entry("1")])
    await store.delete(session_key())
    assert await store.load(session_key()) is None
    assert await store.load(session_key(subpath="agent/1")) is None
    assert await store.pending() == []
    assert await store.open_turn("s") == OpenTurn()
    with refused(SessionBusyError):
        await store.write(claim, session_key(), [entry("2")])
    with refused(DeferralError):
        await store.answer(parked.key, YES)
    fresh = await claimed(store)
    assert fresh.fence > claim.fence, "a fence is never used twice, not even after a delete"
    with refused(SessionBusyError):
        await store.write(claim, session_key(), [entry("2")])


async def deleting_a_subpath_leaves_the_rest(store: FullStore) -> None:
    """Only the sub-agent's transcript goes; deleting what is not there does nothing."""
    _, (parked,) = await parked_turn(store, "t1")
    await store.append(session_key(subpath="agent/1"), [entry("1")])
    await store.delete(session_key(subpath="agent/1"))
    await store.delete(session_key("unknown"))
    assert await store.list_subkeys(session_key()) == []
    assert await uuids(store, session_key()) == ["m1"]
    assert await store.pending() == [parked]


# claims


async def one_claim_at_a_time(store: FullStore) -> None:
    """A second claim is refused, naming the owner and what is left of the lease; other sessions are free."""
    await claimed(store)
    await store.claim("other", "run 2", LEASE)
    with refused(SessionBusyError) as caught:
        await claimed(store, "run 2")
    assert (caught[0].session_id, caught[0].owner) == ("s", "run 1")
    assert 0 < (caught[0].lease_seconds or 0) <= 30
    with refused(SessionBusyError):
        await claimed(store, "run 1")


async def released_claims_are_free(store: FullStore) -> None:
    """After a release another run may claim; the released claim writes nothing and renews no more."""
    first = await claimed(store)
    await store.release(first)
    with refused(SessionBusyError):
        await store.write(first, session_key(), [entry("1")])
    assert await store.renew(first, LEASE) is None
    second = await claimed(store, "run 2")
    await store.release(first)
    await store.write(second, session_key(), [entry("1")])


async def expired_claims_are_taken_over(store: FullStore) -> None:
    """Once the lease is over another run gets the session, and the old claim changes nothing."""
    old = await store.claim("s", "run 1", MOMENT)
    await store.begin_call(old, call_key("t0"), {})
    await anyio.sleep(2 * MOMENT.total_seconds())
    new = await claimed(store, "run 2")
    assert new.fence > old.fence
    parked = await approval(store, "t1")
    with refused(SessionBusyError):
        await store.write(old, session_key(), [entry("1")], closes="m1")
    with refused(SessionBusyError):
        await store.park(old, session_key(), [entry("1")], [], [parked])
    with refused(SessionBusyError):
        await store.begin_call(old, call_key("t1"), {})
    with refused(SessionBusyError):
        await store.restart_call(old, call_key("t0"))
    assert await store.renew(old, LEASE) is None
    await store.release(old)
    assert await store.load(session_key()) is None
    assert (await store.open_turn("s")).started == {call_key("t0")}
    await store.write(new, session_key(), [entry("1")])


async def renewed_claims_last(store: FullStore) -> None:
    """A renewed claim outlives its first lease; one that nobody took can be renewed late."""
    claim = await store.claim("s", "run 1", MOMENT)
    await anyio.sleep(2 * MOMENT.total_seconds())
    renewed = await store.renew(claim, LEASE)
    assert renewed is not None
    assert (renewed.fence, renewed.owner) == (claim.fence, claim.owner)
    assert renewed.until > claim.until
    with refused(SessionBusyError):
        await claimed(store, "run 2")
    await store.write(claim, session_key(), [entry("1")])


async def claims_are_for_one_session(store: FullStore) -> None:
    """A claim on one session writes nothing into another."""
    claim = await claimed(store)
    with refused(SessionError):
        await store.write(claim, session_key("other"), [entry("1")])
    with refused(SessionError):
        await store.begin_call(claim, call_key("t1", session_id="other"), {})
    with refused(SessionError):
        await store.park(claim, session_key(), [], [], [await approval(store, "t1", session_id="other")])
    assert await store.load(session_key("other")) is None


TRANSCRIPT_CONTRACTS: tuple[Contract, ...] = (
    entries_come_back_in_order,
    unknown_transcripts_are_none,
    an_entry_is_stored_once,
    values_come_back_as_they_were,
    loaded_entries_are_copies,
    transcripts_are_kept_apart,
    sessions_are_listed,
    deleting_a_session_takes_everything,
    deleting_a_subpath_leaves_the_rest,
    one_claim_at_a_time,
    released_claims_are_free,
    expired_claims_are_taken_over,
    renewed_claims_last,
    claims_are_for_one_session,
)
