"""InMemoryStore: its clock, several loops at once, and what it costs."""

from __future__ import annotations

import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from agent_sdk.decisions import Allow
from agent_sdk.errors import SessionBusyError
from agent_sdk.sessions.memory import InMemoryStore
from agent_sdk.sessions.records import Answer
from agent_sdk.testing.store_values import approval, entry, session_key

LEASE = timedelta(seconds=30)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.mark.anyio
async def test_leases_and_expiry_follow_the_given_clock() -> None:
    """Claims and approvals end by the store's clock, to the microsecond."""
    clock = Clock()
    store = InMemoryStore(now=clock)
    claim = await store.claim("s", "run 1", LEASE)
    assert claim.until == clock.now + LEASE
    parked = replace(await approval(store, "t1"), expires_at=clock.now + LEASE)
    await store.park(claim, session_key(), [entry("1")], [], [parked])
    clock.now += LEASE - timedelta(microseconds=1)
    assert await store.pending() == [parked]
    with pytest.raises(SessionBusyError, match="held by run 1"):
        await store.claim("s", "run 2", LEASE)
    clock.now += timedelta(microseconds=1)
    assert await store.pending() == []
    assert await store.answer(parked.key, Answer(decision=Allow())) is False
    assert (await store.claim("s", "run 2", LEASE)).owner == "run 2"
    assert await store.list_sessions("p") == [{"session_id": "s", "mtime": 1893456000000}]


def test_an_answer_from_another_loop_ends_a_wait() -> None:
    """A waiter on asyncio hears an answer that a thread with trio gave."""
    store = InMemoryStore()
    ready = threading.Event()
    heard: list[bool] = []

    async def park_and_wait() -> None:
        claim = await store.claim("s", "run", LEASE)
        parked = await approval(store, "t1")
        await store.park(claim, session_key(), [], [], [parked])
        ready.set()
        heard.append(await store.wait("s", LEASE))

    async def answer() -> None:
        (parked,) = await store.pending()
        assert await store.answer(parked.key, Answer(decision=Allow()))

    waiter = threading.Thread(target=anyio.run, args=(park_and_wait,))
    waiter.start()
    assert ready.wait(5)
    anyio.run(answer, backend="trio")
    waiter.join(5)
    assert heard == [True]


@pytest.mark.parametrize("threads", [8])
def test_one_of_many_threads_gets_the_claim(threads: int) -> None:
    """Claims asked for at the same moment from threads with loops of their own: one wins."""
    store = InMemoryStore()
    start = threading.Barrier(threads)
    won: list[str] = []

    def run(name: str) -> None:
        start.wait()
        try:
            anyio.run(store.claim, "s", name, LEASE)
            won.append(name)
        except SessionBusyError:
            pass

    workers = [threading.Thread(target=run, args=(f"run {number}",)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(won) == 1


@pytest.mark.anyio
async def test_an_append_costs_the_same_however_long_the_transcript() -> None:
    """A hundred appends after ten thousand entries make as many calls as the first hundred."""
    store = InMemoryStore()

    async def calls_of_a_hundred(start: int) -> int:
        made = 0

        def count(frame: object, event: str, argument: object) -> None:
            nonlocal made
            made += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            for number in range(start, start + 100):
                await store.append(session_key(), [entry(str(number))])
        finally:
            sys.setprofile(None)
        return made

    first = await calls_of_a_hundred(0)
    for number in range(100, 10_000):
        await store.append(session_key(), [entry(str(number))])
    assert await calls_of_a_hundred(10_000) <= first + 10


@pytest.mark.anyio
async def test_ten_thousand_parked_sessions_come_in_pages() -> None:
    """The first page holds the oldest hundred, the next one goes on behind it."""
    store = InMemoryStore()
    template = await approval(store, "t1")
    for number in range(10_000):
        session_id = f"s{number}"
        claim = await store.claim(session_id, "run", LEASE)
        created = template.created_at + timedelta(microseconds=number)
        await store.park(
            claim, session_key(session_id), [], [], [replace(template, session_id=session_id, created_at=created)]
        )
    page = await store.pending()
    assert [item.session_id for item in page] == [f"s{number}" for number in range(100)]
    assert [item.session_id for item in await store.pending(after=page[-1].cursor, limit=1)] == ["s100"]
