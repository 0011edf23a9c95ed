"""OneThread: what is begun is ended, what is dropped never begins, and the thread goes when nobody needs it."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio
import pytest

from agent_sdk.errors import SessionError
from agent_sdk.sessions import one_thread
from agent_sdk.sessions.one_thread import OneThread


class Gate:
    """Work that waits until it is let go."""

    def __init__(self) -> None:
        self.entered, self.opened, self.left = threading.Event(), threading.Event(), threading.Event()

    def work(self) -> str:
        """Wait at the gate."""
        self.entered.set()
        assert self.opened.wait(10)
        time.sleep(0.02)
        self.left.set()
        return "through"

    async def entered_by_now(self) -> None:
        """Wait, in an event loop, until the work has begun."""
        with anyio.fail_after(10):
            while not self.entered.is_set():  # noqa: ASYNC110 - a thread sets it
                await anyio.sleep(0.001)


def threads(name: str) -> int:
    """How many threads of this name there are."""
    return sum(thread.name == name for thread in threading.enumerate())


def until(true: Callable[[], bool]) -> bool:
    """Wait for five seconds at most."""
    end = time.monotonic() + 5
    while not true() and time.monotonic() < end:
        time.sleep(0.005)
    return true()


@pytest.fixture
def thread(request: pytest.FixtureRequest) -> OneThread:
    """A thread that has not started, named as the test."""
    return OneThread(request.node.name)


@contextmanager
def closed_gate() -> Iterator[Gate]:
    """A gate that is open at the end, whatever happens."""
    gate = Gate()
    try:
        yield gate
    finally:
        gate.opened.set()


# results


@pytest.mark.anyio
@pytest.mark.parametrize("shielded", [True, False])
async def test_results_and_errors_come_back(thread: OneThread, shielded: bool) -> None:
    """The caller gets what the work returned, or what it raised, with the place where that was raised."""

    def divide_by_nothing() -> float:
        return 1 / 0

    assert await thread.run(threading.get_ident, shielded=shielded) != threading.get_ident()
    with pytest.raises(ZeroDivisionError) as caught:
        await thread.run(divide_by_nothing, shielded=shielded)
    assert "divide_by_nothing" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert await thread.run(lambda: "still there", shielded=shielded) == "still there"


@pytest.mark.anyio
async def test_the_order_is_that_of_the_asking(thread: OneThread) -> None:
    """What is asked for first is done first."""
    done: list[int] = []

    async def ask(number: int) -> None:
        await thread.run(lambda: done.append(number), shielded=number % 2 == 0)

    async with anyio.create_task_group() as tasks:
        for number in range(50):
            tasks.start_soon(ask, number)
            await anyio.lowlevel.checkpoint()
    assert done == list(range(50))


@pytest.mark.anyio
@pytest.mark.parametrize("fails", [False, True], ids=["a result", "an error"])
async def test_nothing_is_kept_alive(thread: OneThread, fails: bool) -> None:
    """Once the caller has what came of it, neither thread nor error holds on to the work."""

    class Big:
        def work(self) -> None:
            if fails:
                raise ValueError("no")

    big = Big()
    gone = weakref.ref(big)
    gc.disable()
    try:
        try:
            await thread.run(big.work, shielded=True)
        except ValueError as error:
            error.__traceback__ = None
        del big
        assert until(lambda: gone() is None)
    finally:
        gc.enable()


# cancelling


@pytest.mark.anyio
async def test_who_is_cancelled_already_begins_only_shielded_work(thread: OneThread) -> None:
    """Unshielded work is not begun for a cancelled caller, shielded work is done to its end."""
    done: list[str] = []
    with anyio.CancelScope() as scope:
        scope.cancel()
        await thread.run(lambda: done.append("unshielded"), shielded=False)
    assert scope.cancelled_caught
    with anyio.CancelScope() as scope:
        scope.cancel()
        await thread.run(lambda: done.append("shielded"), shielded=True)
        done.append("heard of")
        await anyio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    assert done == ["shielded", "heard of"]


@pytest.mark.anyio
@pytest.mark.parametrize("shielded", [True, False])
async def test_who_is_cancelled_in_the_line_drops_unshielded_work(thread: OneThread, shielded: bool) -> None:
    """Cancelled behind other work: unshielded work is dropped at once, shielded work is waited for."""
    done: list[str] = []
    with closed_gate() as gate:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: thread.run(gate.work, shielded=True))
            await gate.entered_by_now()
            if shielded:
                threading.Timer(0.1, gate.opened.set).start()
            with anyio.move_on_after(0.03):
                await thread.run(lambda: done.append("done"), shielded=shielded)
            assert gate.left.is_set() == shielded
            gate.opened.set()
    await thread.run(lambda: None, shielded=True)
    assert done == (["done"] if shielded else [])


@pytest.mark.anyio
@pytest.mark.parametrize("shielded", [True, False])
async def test_what_began_is_waited_for(thread: OneThread, shielded: bool) -> None:
    """A scope that is cancelled while the work runs has its result, and ends at the next checkpoint."""
    result = ""

    async def cancel(gate: Gate, scope: anyio.CancelScope) -> None:
        await gate.entered_by_now()
        scope.cancel()
        threading.Timer(0.05, gate.opened.set).start()

    with closed_gate() as gate:
        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as scope:
                tasks.start_soon(cancel, gate, scope)
                result = await thread.run(gate.work, shielded=shielded)
                await anyio.lowlevel.checkpoint()
                result = "not cancelled"
    assert (scope.cancelled_caught, result) == (True, "through")


@pytest.mark.parametrize("shielded", [True, False])
def test_what_began_is_waited_for_by_a_task_that_asyncio_cancels(thread: OneThread, shielded: bool) -> None:
    """However often `task.cancel()` is called: the task ends, as cancelled, when the work has ended."""

    async def main(gate: Gate) -> None:
        task = asyncio.ensure_future(thread.run(gate.work, shielded=shielded))
        await gate.entered_by_now()
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0.01)
        assert not task.done()
        gate.opened.set()
        await asyncio.wait([task])
        assert gate.left.is_set()
        assert task.cancelled()

    with closed_gate() as gate:
        asyncio.run(main(gate))


@pytest.mark.parametrize("shielded", [True, False])
def test_a_task_that_asyncio_cancels_in_the_line_drops_unshielded_work(thread: OneThread, shielded: bool) -> None:
    """Cancelled behind other work: unshielded work never begins, shielded work is done before the task ends."""
    done: list[str] = []

    async def main(gate: Gate) -> None:
        first = asyncio.ensure_future(thread.run(gate.work, shielded=True))
        await gate.entered_by_now()
        task = asyncio.ensure_future(thread.run(lambda: done.append("done"), shielded=shielded))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0.01)
        assert task.done() != shielded
        gate.opened.set()
        await asyncio.wait([first, task])
        assert task.cancelled()

    with closed_gate() as gate:
        asyncio.run(main(gate))
    anyio.run(lambda: thread.run(lambda: None, shielded=True))
    assert done == (["done"] if shielded else [])


# event loops that end


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_loop_that_has_ended_is_no_fault(backend: str) -> None:
    """Work whose event loop has ended meanwhile is done, and the thread has nothing to complain of."""

    async def made() -> one_thread._Job[str]:
        return one_thread._Job(lambda: "done")

    job = anyio.run(made, backend=backend)
    job.do()
    assert job.outcome() == "done"


def test_a_closed_loop_leaves_the_thread_to_others(thread: OneThread) -> None:
    """A loop that is closed while its work waits: the work is done, nobody hears of it, and other loops are served."""
    done: list[str] = []
    with closed_gate() as gate:
        loop = asyncio.new_event_loop()
        loop.set_exception_handler(lambda loop, context: None)  # its tasks are destroyed, and that is told
        for work in (gate.work, lambda: done.append("waited")):
            task = loop.create_task(thread.run(work, shielded=True))
        loop.run_until_complete(gate.entered_by_now())
        loop.close()
        del loop, task
    for backend in ("asyncio", "trio"):
        assert anyio.run(lambda: thread.run(lambda: "served", shielded=True), backend=backend) == "served"
    assert done == ["waited"]


@pytest.mark.parametrize("shielded", [True, False])
def test_a_coroutine_that_is_closed_drops_unshielded_work(thread: OneThread, shielded: bool) -> None:
    """Whoever goes without being cancelled leaves only shielded work behind."""
    done: list[str] = []

    async def main(gate: Gate) -> None:
        first = asyncio.ensure_future(thread.run(gate.work, shielded=True))
        await gate.entered_by_now()
        left = thread.run(lambda: done.append("done"), shielded=shielded)
        left.send(None)
        left.close()
        gate.opened.set()
        await first
        await thread.run(lambda: None, shielded=True)

    with closed_gate() as gate:
        asyncio.run(main(gate))
    assert done == (["done"] if shielded else [])


# the thread


@pytest.mark.anyio
async def test_an_idle_thread_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing to do for a while: the thread ends by itself, and the next work has a new one."""
    monkeypatch.setattr(one_thread, "IDLE", 0.02)
    thread = OneThread("idle")
    for _ in range(3):
        assert await thread.run(lambda: threads("idle"), shielded=True) == 1
        assert until(lambda: threads("idle") == 0)


@pytest.mark.anyio
async def test_work_that_meets_the_end_of_the_thread_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """However the asking and the ending fall together, no work is lost and there is never a second thread."""
    monkeypatch.setattr(one_thread, "IDLE", 0.0005)
    thread = OneThread("meets")
    with anyio.fail_after(30):
        for step in range(300):
            await anyio.sleep(step % 10 * 0.0001)
            # one that ends in this moment may still be counted
            assert await thread.run(lambda: threads("meets"), shielded=True) <= 2


@pytest.mark.anyio
async def test_threads_end_with_their_objects() -> None:
    """Many short-lived objects leave no thread behind."""
    for _ in range(20):
        await OneThread("short").run(lambda: None, shielded=True)
    assert until(lambda: threads("short") == 0)


@pytest.mark.anyio
async def test_a_system_without_threads_is_told(thread: OneThread, monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread to be had is a SessionError; later it goes on."""

    def refused(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        with pytest.raises(SessionError, match="no thread can be had"):
            await thread.run(lambda: None, shielded=True)
    assert await thread.run(lambda: "later", shielded=True) == "later"
