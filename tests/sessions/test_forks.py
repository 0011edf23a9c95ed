"""Forks of a process with stores: nothing that was acknowledged is lost, nobody is held up for ever."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import anyio
import pytest

from agent_sdk.sessions.forks import HoldsStill
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.testing.store_values import entry, session_key
from tests.sessions.own_process import ran

pytestmark = pytest.mark.slow  # a process of its own for each, and some wait on purpose

BOTH = pytest.mark.parametrize("backend", ["asyncio", "trio"])

BOTH_GO_ON = """
run(add, "before")
of_parent = store._file._shared.connection

def in_child():
    global store
    run(add, "child")
    assert store._file._shared.connection is not of_parent
    print(*names(), flush=True)
    store.close()
    store = None
    gc.collect()

child(in_child)
assert store._file._shared.connection is None
run(add, "after")
print(*names())
"""


@BOTH
def test_parent_and_child_open_the_file_anew(tmp_path: Path, backend: str) -> None:
    """Both write through the same object, each with thread and connection of its own."""
    assert ran(BOTH_GO_ON, tmp_path / "s.sqlite", backend) == ["before child", "before child after"]


THE_PARENT_IS_DONE = """
run(add, "before")
to_parent, to_child = os.pipe(), os.pipe()

def in_child():
    run(add, "child-1")
    os.write(to_parent[1], b"x")
    os.read(to_child[0], 1)
    run(add, "child-2")

number = forked(in_child)
os.read(to_parent[0], 1)
run(add, "parent")
store.close()
os.write(to_child[1], b"x")
wait_for(number)
"""


@BOTH
def test_a_child_goes_on_when_the_parent_has_closed_the_file(tmp_path: Path, backend: str) -> None:
    """What the child was told is stored is there for everybody, though it ended without a close."""
    ran(THE_PARENT_IS_DONE, tmp_path / "s.sqlite", backend)
    loaded = anyio.run(SQLiteStore(tmp_path / "s.sqlite").load, session_key(), backend=backend)
    assert loaded == [entry(name) for name in ("before", "child-1", "parent", "child-2")]


IN_A_WRITE = """
run(add, "before")
entered = threading.Event()

def slow(connection):
    connection.execute("UPDATE fences SET last = last")
    entered.set()
    time.sleep(0.3)

began = time.monotonic()
parent = threading.Thread(target=run, args=(store._file.write, slow))
parent.start()
entered.wait()
number = forked(lambda: run(add, "child"))
assert time.monotonic() - began >= 0.3
wait_for(number)
parent.join()
run(add, "after")
print(*names())
"""


@BOTH
def test_a_fork_waits_for_the_write_that_is_going_on(tmp_path: Path, backend: str) -> None:
    """Then parent and child can write."""
    assert ran(IN_A_WRITE, tmp_path / "s.sqlite", backend) == ["before child after"]


IN_A_WRITE_THAT_DOES_NOT_END = """
from agent_sdk.errors import SessionError
from agent_sdk.sessions import sqlite_connection

sqlite_connection.GRACE = 0.1
store = SQLiteStore(path, busy_timeout=0.1)
run(add, "before")
entered, go = threading.Event(), threading.Event()

def slow(connection):
    connection.execute("UPDATE fences SET last = last")
    entered.set()
    go.wait()

parent = threading.Thread(target=run, args=(store._file.write, slow))
parent.start()
entered.wait()

def in_child():
    for used in (store, SQLiteStore(path + "-2")):
        try:
            run(used.projects)
        except SessionError as error:
            print("in the middle of a write" in str(error), flush=True)

child(in_child)
go.set()
parent.join()
run(add, "after")
print(*names())
"""


@BOTH
def test_after_a_write_that_does_not_end_the_child_is_refused(tmp_path: Path, backend: str) -> None:
    """The fork goes on after a while; the child is told at once, for every file, and the parent is unharmed."""
    assert ran(IN_A_WRITE_THAT_DOES_NOT_END, tmp_path / "s.sqlite", backend) == ["True", "True", "before after"]


AT_ANY_MOMENT = """
stop = False

async def busy():
    number = 0
    while not stop:
        number += 1
        await add(f"p{number}")

run(add, "x")
threads = [threading.Thread(target=run, args=(busy,)) for _ in range(2)]

def fork_often(who):
    for number in range(12):
        time.sleep(0.005 + number * 0.0007)
        child(lambda: run(add, f"{who}-{number}"))

threads += [threading.Thread(target=fork_often, args=(who,)) for who in "ab"]
for thread in threads:
    thread.start()
for thread in threads[2:]:
    thread.join()
stop = True
for thread in threads[:2]:
    thread.join()
stored = names()
print(len([name for name in stored if name[0] in "ab"]), stored.count("p1"))
"""


@BOTH
def test_forks_at_any_moment_from_several_threads(tmp_path: Path, backend: str) -> None:
    """Two threads write all the time, two fork: every child writes, and no thread waits for another for ever."""
    assert ran(AT_ANY_MOMENT, tmp_path / "s.sqlite", backend) == ["24 1"]


FROM_THE_INSIDE = """
from agent_sdk.errors import SessionError

run(add, "before")

def work(connection):
    connection.execute("DELETE FROM entries")
    number = os.fork()
    if number == 0:
        os._exit(0)
    wait_for(number)

try:
    run(store._file.write, work)
except SessionError as error:
    print("Nothing of this step was stored" in str(error))
print(*names())
"""


@BOTH
def test_a_fork_from_inside_a_write_gives_the_write_up(tmp_path: Path, backend: str) -> None:
    """It does not wait for itself; the write fails, with nothing stored, and the store goes on."""
    assert ran(FROM_THE_INSIDE, tmp_path / "s.sqlite", backend) == ["True", "before"]


COLLECTED = """
run(add, "before")  # a fork while another thread imports a module is beyond us
stop = False

def come_and_go():
    number = 0
    while not stop:
        number += 1
        passing = SQLiteStore(f"{path}-{number % 3}")
        run(passing.projects)

thread = threading.Thread(target=come_and_go)
thread.start()
for number in range(20):
    time.sleep(0.003 + number * 0.0005)
    child(lambda: run(SQLiteStore(f"{path}-{number % 3}").projects))
stop = True
thread.join()
"""


@BOTH
def test_stores_that_come_and_go_meanwhile(tmp_path: Path, backend: str) -> None:
    """A store that is made, opened or collected in the moment of a fork holds up neither side."""
    assert ran(COLLECTED, tmp_path / "s.sqlite", backend) == []


LIVES_ON = """
from datetime import timedelta
from agent_sdk.sessions.lease import HEARTBEAT

HEARTBEAT.keep(store, run(store.claim, "of the parent", "me", timedelta(seconds=60)), timedelta(seconds=60))
time.sleep(0.05)

def in_child():
    short = timedelta(seconds=0.6)
    claim = run(store.claim, "s", "me", short)
    held = HEARTBEAT.keep(store, claim, short)
    assert HEARTBEAT._held == {held}
    time.sleep(1.2)
    try:
        run(store.claim, "s", "you", short)
    except Exception as error:
        print(type(error).__name__, held.lost, flush=True)

child(in_child)
"""


@BOTH
def test_the_claims_of_a_child_are_renewed(tmp_path: Path, backend: str) -> None:
    """A heartbeat that beats in the parent begins anew in the child, and renews what the child has claimed."""
    assert ran(LIVES_ON, tmp_path / "s.sqlite", backend) == ["SessionBusyError False"]


SHORT_LOCKS = """
from datetime import timedelta
from agent_sdk.sessions.lease import HEARTBEAT
from agent_sdk.sessions.memory import InMemoryStore

memory = InMemoryStore()
stop = False

def take_and_give():
    while not stop:
        for lock in (HEARTBEAT._lock, store._waiters._lock, memory._lock):
            with lock:
                time.sleep(0.001)

thread = threading.Thread(target=take_and_give)
thread.start()

async def use():
    await store.wait("s", timedelta(0))
    await memory.projects()
    HEARTBEAT.drop(HEARTBEAT.keep(memory, await memory.claim("s", "me", timedelta(seconds=60))))

for number in range(20):
    child(lambda: run(use))
stop = True
thread.join()
"""


@BOTH
def test_locks_of_others_are_free_in_the_child(tmp_path: Path, backend: str) -> None:
    """Heartbeat, waiters and a store in memory are used in the child, whoever had their locks in the parent."""
    assert ran(SHORT_LOCKS, tmp_path / "s.sqlite", backend) == []


HELD_BY_A_THREAD_THAT_WAITS = """
from agent_sdk.sessions import forks
from agent_sdk.sessions.lease import HEARTBEAT

forks.PATIENCE = 0.1
entered, go = threading.Event(), threading.Event()

def hold():
    with HEARTBEAT._lock, store._waiters._lock:
        entered.set()
        go.wait()

thread = threading.Thread(target=hold)
thread.start()
entered.wait()

def in_child():
    for thing in (HEARTBEAT, store._waiters):
        assert thing._lock.acquire(timeout=5)
    run(add, "child")

child(in_child)
go.set()
thread.join()
print(*names())
"""


@BOTH
def test_a_lock_that_is_held_for_long_stops_no_fork(tmp_path: Path, backend: str) -> None:
    """A fork does not wait for ever, and in the child the lock is new."""
    assert ran(HELD_BY_A_THREAD_THAT_WAITS, tmp_path / "s.sqlite", backend) == ["child"]


INTERRUPTED_WHILE_IT_CLOSES = """
import signal
from agent_sdk.errors import SessionError

other = SQLiteStore(path + "-2")
told = []
sys.unraisablehook = lambda what: told.append(what.exc_type.__name__)

class Interrupted:
    def __init__(self, connection):
        self.connection = connection

    def close(self):
        if moment == "after":
            self.connection.close()
        closes.append(self)
        if len(closes) == 1:
            signal.raise_signal(signal.SIGINT)
        self.connection.close()

closes = []
run(add, "before")
run(other.projects)
for each in (store, other):
    each._file._shared.connection = Interrupted(each._file._shared.connection)

def in_child():
    for used in (store, other):
        try:
            run(used.projects)
        except SessionError as error:
            print("close that was interrupted" in str(error), flush=True)

child(in_child)
print(*told, len({id(one) for one in closes}))
for each in (store, other):
    thread = threading.Thread(target=each.close, daemon=True)
    thread.start()
    thread.join(timeout=5)
    assert not thread.is_alive()
run(add, "after")
run(other.projects)
child(lambda: run(add, "child"))
print(*names())
"""


@BOTH
@pytest.mark.parametrize("moment", ["before", "after"])
def test_ctrl_c_while_a_fork_closes_a_store(tmp_path: Path, backend: str, moment: str) -> None:
    """The child is refused, the other store is held still too, and the parent goes on with both and may fork again."""
    script = f"moment = {moment!r}\n" + INTERRUPTED_WHILE_IT_CLOSES
    expected = ["True", "True", "KeyboardInterrupt 2", "before after child"]
    assert ran(script, tmp_path / "s.sqlite", backend) == expected


INTERRUPTED_WHILE_IT_WAITS = """
import signal

told = []
sys.unraisablehook = lambda what: told.append(what.exc_type.__name__)
run(add, "before")
entered, go = threading.Event(), threading.Event()

def slow(connection):
    entered.set()
    go.wait()

thread = threading.Thread(target=run, args=(store._file.write, slow))
thread.start()
entered.wait()
signal.setitimer(signal.ITIMER_REAL, 0.2)
signal.signal(signal.SIGALRM, signal.default_int_handler)
began = time.monotonic()
child(lambda: None)
assert time.monotonic() - began < 20
go.set()
thread.join()
run(add, "after")
child(lambda: run(add, "child"))
print(*told, *names())
"""


@BOTH
def test_ctrl_c_while_a_fork_waits_for_a_write(tmp_path: Path, backend: str) -> None:
    """It ends the waiting, not the fork; the parent goes on."""
    result = ran(INTERRUPTED_WHILE_IT_WAITS, tmp_path / "s.sqlite", backend)
    assert result == ["KeyboardInterrupt before after child"]


SEVERAL_ARE_BUSY = """
from agent_sdk.sessions import sqlite_connection
from agent_sdk.sessions.lease import HEARTBEAT

sqlite_connection.GRACE = 0.2
stores = [SQLiteStore(f"{path}-{number}", busy_timeout=number / 5) for number in (1, 2, 3)]
go = threading.Event()
threads = []
for each in stores:
    entered = threading.Event()

    def slow(connection, entered=entered):
        entered.set()
        go.wait()

    threads.append(threading.Thread(target=run, args=(each._file.write, slow)))
    threads[-1].start()
    entered.wait()

waited = []

def watch():
    while not waited:
        began = time.monotonic()
        with HEARTBEAT._lock:
            longest.append(time.monotonic() - began)
        time.sleep(0.01)

longest = []
watcher = threading.Thread(target=watch)
watcher.start()
began = time.monotonic()
child(lambda: None)
waited.append(time.monotonic() - began)
go.set()
for thread in [*threads, watcher]:
    thread.join()
print(0.8 <= waited[0] < 1.7, max(longest) < 0.7)
"""


@BOTH
def test_several_busy_stores_share_one_deadline(tmp_path: Path, backend: str) -> None:
    """The fork waits as long as for the most patient of them; meanwhile the heartbeat has its lock."""
    assert ran(SEVERAL_ARE_BUSY, tmp_path / "s.sqlite", backend) == ["True True"]


class Counted(HoldsStill):
    """Counts the forks."""

    forks = 0

    def hold_still(self, until: float) -> bool:
        """One more."""
        self.forks += 1
        return super().hold_still(until)


def test_a_subprocess_is_no_fork() -> None:
    """Starting a program does not stop the stores."""
    counted = Counted()
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert counted.forks == 0


def test_a_fork_that_fails_lets_go() -> None:
    """The system refuses the fork: the locks are free again for other threads."""
    resource = pytest.importorskip("resource")
    counted = Counted()
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    if os.getuid() == 0:
        pytest.skip("root may fork without limit")
    resource.setrlimit(resource.RLIMIT_NPROC, (0, hard))
    try:
        with pytest.raises(OSError, match=r"\w"):
            os.fork()
    finally:
        resource.setrlimit(resource.RLIMIT_NPROC, (soft, hard))
    free: list[bool] = []
    thread = threading.Thread(target=lambda: free.append(counted._lock.acquire(timeout=5)))
    thread.start()
    thread.join()
    assert (counted.forks, free) == (1, [True])


WITHOUT_ITS_TURN = """
from agent_sdk.errors import SessionError
from agent_sdk.sessions import forks
forks._LONG = 0.1
sys.unraisablehook = lambda what: None
run(add, "before")
has, may_go = threading.Event(), threading.Event()

def never_ends():
    forks._FORKS._one_at_a_time.acquire()
    has.set()
    may_go.wait()

lost = threading.Thread(target=never_ends, daemon=True)
lost.start()
has.wait()

def in_child():
    try:
        run(add, "child")
    except SessionError as error:
        print("refused", flush=True)

child(in_child)
others = threading.Thread(target=run, args=(add, "after"), daemon=True)
others.start()
others.join(timeout=10)
print(*names())
"""


@BOTH
def test_a_fork_beside_one_that_never_ends_holds_nothing(tmp_path: Path, backend: str) -> None:
    """The child is refused the open store; in the parent every thread goes on."""
    assert ran(WITHOUT_ITS_TURN, tmp_path / "s.sqlite", backend) == ["refused", "before after"]
