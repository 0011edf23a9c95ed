"""What every store must do, as plain async functions that raise AssertionError where it does not.

from agent_sdk.testing.store_contract import run_store_contract

anyio.run(run_store_contract, lambda: MyStore(fresh_place()))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import anyio

from agent_sdk.calls import ToolResult
from agent_sdk.decisions import Allow, Deny
from agent_sdk.errors import DeferralError, SessionError
from agent_sdk.sessions.records import Answer, Done, OpenTurn, PendingApproval, Run, Unknown
from agent_sdk.testing.store_transcripts import TRANSCRIPT_CONTRACTS
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
    verdict,
)
from agent_sdk.values import JsonObject


async def run_store_contract(make_store: Callable[[], FullStore]) -> None:
    """Run every contract, each on a fresh and empty store from `make_store`.

    Raises AssertionError naming the first contract that is broken, and RuntimeError under `python -O`, where
    assertions do nothing.
    """
    if not __debug__:
        raise RuntimeError("the store contract is made of assertions: run it without -O")
    for contract in CONTRACTS:
        try:
            await contract(make_store())
        except Exception as error:
            raise AssertionError(f"{contract.__name__}: {contract.__doc__} ({error})") from error


# parked calls


async def parking_stores_the_whole_turn(store: FullStore) -> None:
    """Transcript tail, verdicts and approvals are there together, value for value."""
    claim = await claimed(store)
    waiting = await approval(store, "t1", path=("agent/1",))
    refusal = verdict("t3", result=ToolResult([{"type": "text", "text": "no"}], is_error=True, value={"a": [1]}))
    await store.park(claim, session_key(), [entry("m1")], [verdict("t2"), refusal], [waiting])
    turn = await store.open_turn("s")
    assert turn.pending == {waiting.key: waiting}
    assert turn.settled == {call_key("t2"): verdict("t2"), call_key("t3"): refusal}
    assert await uuids(store, session_key()) == ["m1"]
    assert await store.pending("s") == [waiting]


async def what_does_not_fit_stores_nothing(store: FullStore) -> None:
    """A value that is not JSON is refused with a SessionError, and the whole call has no effect."""
    claim = await claimed(store)
    broken: JsonObject = {"uuid": "2", "bad": {1, 2}}  # type: ignore[dict-item]
    with refused(SessionError):
        await store.write(claim, session_key(), [entry("1"), broken], closes="m1")
    with refused(SessionError):
        await store.park(claim, session_key(), [entry("1"), broken], [], [await approval(store, "t1")])
    assert await store.load(session_key()) is None
    assert await store.pending() == []


async def a_repeated_write_is_stored_once(store: FullStore) -> None:
    """A run that does not know whether a write counted makes it once more, also where it closed a turn."""
    claim, _ = await parked_turn(store, "t1")
    before = await uuids(store, session_key())
    for _ in range(2):
        await store.write(claim, session_key(), [entry("r1"), entry("r2")], closes="m1")
    assert await uuids(store, session_key()) == [*before, "r1", "r2"]
    assert await store.pending("s") == []


async def the_first_answer_wins(store: FullStore) -> None:
    """The first answer is kept with who and when; a second one, alike or not, is False."""
    _, (parked,) = await parked_turn(store, "t1")
    first = Answer(decision=Allow({"file_path": "/tmp/c"}, note="go"), by="ann")
    assert await store.answer(parked.key, first, digest=parked.digest) is True
    assert await store.answer(parked.key, first, digest=parked.digest) is False
    assert await store.answer(parked.key, Answer(decision=Deny("no"))) is False
    kept = (await store.open_turn("s")).pending[parked.key].answer
    assert kept is not None
    assert kept.at is not None
    assert replace(kept, at=None) == first
    assert await store.pending() == []


async def results_from_outside_are_answers(store: FullStore) -> None:
    """A result that stands for running the tool is kept like a decision."""
    _, (parked,) = await parked_turn(store, "t1")
    assert await store.answer(parked.key, Answer(result=ToolResult("done elsewhere", value={"id": 7}), by="job"))
    kept = (await store.open_turn("s")).pending[parked.key].answer
    assert kept is not None
    assert kept.result == ToolResult("done elsewhere", value={"id": 7})


async def answers_must_fit(store: FullStore) -> None:
    """A call that was never parked, and an answer to another digest, are DeferralErrors that store nothing."""
    claim, (parked,) = await parked_turn(store, "t1")
    await store.begin_call(claim, call_key("t2"), {})
    for key in (call_key("t2"), call_key("t1", session_id="x"), call_key("t1", path=("a",)), call_key("t1", turn="m0")):
        with refused(DeferralError):
            await store.answer(key, YES)
    with refused(DeferralError):
        await store.answer(parked.key, YES, digest="sha256:other")
    assert await store.pending() == [parked]


async def expired_calls_take_no_answer(store: FullStore) -> None:
    """After `expires_at` an answer is False and the call is not listed, but it stays part of the open turn."""
    claim = await claimed(store)
    now = await store.now()
    late = replace(await approval(store, "t1"), created_at=now - LEASE, expires_at=now)
    good = replace(await approval(store, "t2"), expires_at=now + LEASE)
    await store.park(claim, session_key(), [], [], [late, good])
    assert await store.pending() == [good]
    assert await store.answer(late.key, YES) is False
    assert await store.answer(good.key, YES) is True
    assert set((await store.open_turn("s")).pending) == {late.key, good.key}


async def closing_a_turn_supersedes_it(store: FullStore) -> None:
    """`write(closes=…)` drops verdicts, approvals and journal of that turn only; a late answer is False."""
    claim, (parked,) = await parked_turn(store, "t1")
    other = await approval(store, "t9", turn="m2", path=("agent/1",))
    await store.park(claim, session_key(subpath="agent/1"), [entry("m2")], [], [other])
    await store.begin_call(claim, call_key("t2"), {}, settled=[verdict("t2")])
    await store.end_call(claim, call_key("t2"), ToolResult("ran"))
    await store.write(claim, session_key(), [entry("r1")], closes="m1")
    assert await store.open_turn("s") == OpenTurn(pending={other.key: other})
    assert await store.answer(parked.key, YES) is False
    assert await store.answer(parked.key, YES, digest="sha256:other") is False
    assert await store.parked("s", "t1") == [parked.key]
    with refused(SessionError):
        await store.begin_call(claim, call_key("t2"), {})
    with refused(SessionError):
        await store.park(claim, session_key(), [], [], [parked])
    assert await uuids(store, session_key()) == ["m1", "r1"]


async def parking_again_replaces_the_turn(store: FullStore) -> None:
    """A call that is not named again is closed; the rest stays, with an answer that came in meanwhile."""
    claim, (first, second, third) = await parked_turn(store, "t1", "t2", "t3")
    assert await store.answer(second.key, YES)
    await store.park(claim, session_key(), [entry("m1")], [verdict("t1")], [second, third])
    turn = await store.open_turn("s")
    assert set(turn.settled) == {first.key}
    assert set(turn.pending) == {second.key, third.key}
    assert turn.pending[second.key].answer is not None, "an acknowledged answer was lost"
    assert await store.answer(first.key, YES) is False
    assert await uuids(store, session_key()) == ["m1"]


async def asking_anew_voids_the_answer(store: FullStore) -> None:
    """A call that is parked with another digest, state or creation time waits for a new answer."""
    claim, (parked,) = await parked_turn(store, "t1")
    later = parked.created_at + timedelta(microseconds=1)
    anew = [replace(parked, digest="sha256:new"), replace(parked, state="sha256:2"), replace(parked, created_at=later)]
    for changed in anew:
        await store.park(claim, session_key(), [], [], [parked])
        assert await store.answer(parked.key, YES)
        await store.park(claim, session_key(), [], [], [changed])
        assert await store.pending() == [changed]
        assert await store.answer(changed.key, YES, digest=changed.digest)


async def pending_calls_come_in_pages(store: FullStore) -> None:
    """Oldest first over all sessions, each once, whatever is answered or deleted between two pages."""
    now = await store.now()
    expected: list[str] = []
    for number in range(6):
        session_id = f"s{number}"
        claim = await store.claim(session_id, "run", LEASE)
        made = now - timedelta(seconds=number)
        parked = [
            replace(await approval(store, tool_use_id, session_id=session_id, path=path), created_at=made)
            for tool_use_id, path in (("a/b", ()), ("a/b", ("x",)))
        ]
        await store.park(claim, session_key(session_id), [entry("m1")], [], parked)
        expected = [session_id, session_id, *expected]
    seen: list[PendingApproval] = []
    while page := await store.pending(after=seen[-1].cursor if seen else None, limit=3):
        assert len(page) <= 3
        seen += page
        if len(seen) == 3:
            assert await store.answer(page[-1].key, YES)
        if len(seen) == 6:
            await store.delete(session_key(page[-1].session_id))
    assert [item.session_id for item in seen] == expected
    assert len({item.key for item in seen}) == 12
    assert len(await store.pending("s0")) == 2
    with refused(SessionError):
        await store.pending(after="s0/t1")


async def every_parked_call_is_found_by_id(store: FullStore) -> None:
    """`parked` tells all calls under an id, in order, over agents and turns."""
    claim = await claimed(store)
    first, second = await approval(store, "t1"), await approval(store, "t1", turn="m2", path=("a",))
    await store.park(claim, session_key(), [], [], [first])
    await store.park(claim, session_key(), [], [], [second, await approval(store, "t2", turn="m2")])
    await store.write(claim, session_key(), [entry("1")], closes="m1")
    assert await store.parked("s", "t1") == [first.key, second.key]
    assert await store.parked("s", "t9") == []
    assert await store.parked("unknown", "t1") == []


async def waiting_ends_with_an_answer(store: FullStore) -> None:
    """`wait` is woken by an answer, knows of earlier ones, and ends by itself."""
    _, (first, second) = await parked_turn(store, "t1", "t2")
    assert await store.wait("s", timedelta(0)) is False
    assert await store.wait("s", MOMENT) is False
    heard: list[bool] = []

    async def listen() -> None:
        heard.append(await store.wait("s", LEASE, seen=1))

    assert await store.answer(first.key, YES)
    assert await store.wait("s", LEASE) is True
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            await anyio.sleep(MOMENT.total_seconds())
            assert heard == []
            assert await store.answer(second.key, YES)
    assert heard == [True]
    assert await store.wait("s", MOMENT, seen=2) is False


# journal


async def a_call_runs_once(store: FullStore) -> None:
    """Begin is Run once, then Unknown until it ends, then Done with the result."""
    claim = await claimed(store)
    key = call_key("t2")
    assert await store.begin_call(claim, key, {"a": 1}, settled=[verdict("t2")]) == Run()
    assert await store.begin_call(claim, key, {"a": 1}) == Unknown()
    turn = await store.open_turn("s")
    assert turn.started == {key}
    assert turn.effective == {key: {"a": 1}}
    assert turn.settled == {key: verdict("t2")}
    result = ToolResult([{"type": "text", "text": "\ud800"}], value=[1])
    await store.end_call(claim, key, result)
    await store.end_call(claim, key, ToolResult("later"))
    assert await store.begin_call(claim, key, {"a": 1}) == Done(result)
    turn = await store.open_turn("s")
    assert turn.done == {key: result}
    assert turn.started == frozenset()


async def calls_are_told_apart(store: FullStore) -> None:
    """The same id in another turn, agent or session is another call."""
    claim = await claimed(store)
    other = await store.claim("other", "run", LEASE)
    assert await store.begin_call(claim, call_key("t1"), {}) == Run()
    assert await store.begin_call(claim, call_key("t1", turn="m2"), {}) == Run()
    assert await store.begin_call(claim, call_key("t1", path=("a",)), {}) == Run()
    assert await store.begin_call(claim, call_key("t1", path=("a", "b")), {}) == Run()
    assert await store.begin_call(claim, call_key("t1", path=("a/b",)), {}) == Run()
    assert await store.begin_call(other, call_key("t1", session_id="other"), {}) == Run()


async def unknown_calls_may_be_restarted(store: FullStore) -> None:
    """After `restart_call` an unknown call is Run once more; a finished one stays Done."""
    claim = await claimed(store)
    await store.begin_call(claim, call_key("t1"), {})
    await store.restart_call(claim, call_key("t1"))
    assert await store.begin_call(claim, call_key("t1"), {}) == Run()
    await store.end_call(claim, call_key("t1"), ToolResult("ran"))
    await store.restart_call(claim, call_key("t1"))
    await store.restart_call(claim, call_key("never begun"))
    assert await store.begin_call(claim, call_key("t1"), {}) == Done(ToolResult("ran"))


async def a_call_that_begins_uses_up_its_approval(store: FullStore) -> None:
    """An answered call that was begun is closed: its answer lets it run once, and nobody can answer it any more."""
    claim, (parked, other) = await parked_turn(store, "t1", "t2")
    assert await store.answer(parked.key, YES) is True
    assert await store.begin_call(claim, parked.key, {}) == Run()
    turn = await store.open_turn("s")
    assert set(turn.pending) == {other.key}
    assert turn.started == {parked.key}
    assert await store.answer(parked.key, YES) is False


async def late_ends_are_taken_while_unknown(store: FullStore) -> None:
    """A stale run may still say how its own call ended, but not how one ended that was begun again."""
    old = await store.claim("s", "run 1", MOMENT)
    for tool_use_id in ("t1", "t2"):
        await store.begin_call(old, call_key(tool_use_id), {})
    await anyio.sleep(2 * MOMENT.total_seconds())
    new = await claimed(store, "run 2")
    await store.end_call(old, call_key("t1"), ToolResult("late"))
    assert await store.begin_call(new, call_key("t1"), {}) == Done(ToolResult("late"))
    await store.restart_call(new, call_key("t2"))
    await store.end_call(old, call_key("t2"), ToolResult("late"))
    assert await store.begin_call(new, call_key("t2"), {}) == Run()
    await store.end_call(old, call_key("t2"), ToolResult("late"))
    assert (await store.open_turn("s")).started == {call_key("t2")}
    await store.end_call(new, call_key("t2"), ToolResult("mine"))
    assert (await store.open_turn("s")).done[call_key("t2")] == ToolResult("mine")
    with refused(SessionError):
        await store.end_call(new, call_key("t3"), ToolResult("never begun"))


CONTRACTS: tuple[Contract, ...] = (
    *TRANSCRIPT_CONTRACTS,
    parking_stores_the_whole_turn,
    what_does_not_fit_stores_nothing,
    a_repeated_write_is_stored_once,
    the_first_answer_wins,
    results_from_outside_are_answers,
    answers_must_fit,
    expired_calls_take_no_answer,
    closing_a_turn_supersedes_it,
    parking_again_replaces_the_turn,
    asking_anew_voids_the_answer,
    pending_calls_come_in_pages,
    every_parked_call_is_found_by_id,
    waiting_ends_with_an_answer,
    a_call_runs_once,
    calls_are_told_apart,
    unknown_calls_may_be_restarted,
    a_call_that_begins_uses_up_its_approval,
    late_ends_are_taken_while_unknown,
)
