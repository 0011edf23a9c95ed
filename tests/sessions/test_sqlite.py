"""SQLiteStore: its file, what it costs, and what it says when the file cannot be used."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agent_sdk.calls import CallKey, ToolResult
from agent_sdk.decisions import Allow
from agent_sdk.errors import SessionBusyError, SessionError
from agent_sdk.ledger import Ledger
from agent_sdk.sessions import sqlite_calls, texts
from agent_sdk.sessions.at_once import within
from agent_sdk.sessions.memory import InMemoryStore
from agent_sdk.sessions.records import Answer, Done, PendingApproval, Run
from agent_sdk.sessions.sqlite import SQLiteStore, default_path
from agent_sdk.sessions.sqlite_schema import MIGRATIONS, migrate
from agent_sdk.testing.store_values import approval, call_key, entry, parked_turn, session_key, verdict

ROOT = Path(__file__).parents[2]
LEASE = timedelta(seconds=30)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    """A store in a new file."""
    made = SQLiteStore(tmp_path / "s.sqlite")
    yield made
    made.close()


def mode(path: Path) -> int:
    """The permission bits of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def python(script: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script, str(path)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)


# the file


@pytest.mark.anyio
async def test_the_users_own_store_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a path the file lies under the user's state directory: folder 0700, every file 0600, whatever umask."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before = os.umask(0)
    try:
        store = SQLiteStore()
        assert store.path == default_path()
        assert not store.path.parent.exists(), "nothing is touched before the first use"
        await store.append(session_key(), [entry("1")])
    finally:
        os.umask(before)
    assert mode(store.path.parent) == 0o700
    files = sorted(store.path.parent.iterdir())
    assert [file.name for file in files] == ["sessions.sqlite", "sessions.sqlite-shm", "sessions.sqlite-wal"]
    assert [mode(file) for file in files] == [0o600] * 3
    store.close()


@pytest.mark.anyio
async def test_what_was_written_is_there_after_closing(store: SQLiteStore) -> None:
    """Another store on the same file reads it, and a closed store opens again by itself."""
    await store.append(session_key(), [entry("1")])
    store.close()
    assert await SQLiteStore(store.path).load(session_key()) == [entry("1")]
    assert await store.load(session_key()) == [entry("1")]


@pytest.mark.anyio
async def test_every_commit_is_synced(store: SQLiteStore) -> None:
    """The connection works in WAL mode with synchronous=FULL."""

    def settings(connection: sqlite3.Connection) -> tuple[object, object]:
        return tuple(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous"))

    assert await store._file.read(settings) == ("wal", 2)


@pytest.mark.anyio
async def test_any_text_may_be_a_name(store: SQLiteStore) -> None:
    """Lone surrogates, NUL, quotes and slashes in keys, uuids, paths and owners come back as they were."""
    odd = "\ud800\x00'\"/\\u0041é\U0001f600"
    key = CallKey(session_id=odd, agent_path=(odd, "a/b"), message_uuid=odd, tool_use_id=odd)
    claim = await store.claim(odd, odd, LEASE)
    await store.write(claim, session_key(odd, project=odd, subpath=odd), [entry(odd), entry(odd)])
    await store.append(session_key(odd, project=odd), [entry(odd)])
    assert await store.projects(odd) == [odd]
    assert await store.list_subkeys(session_key(odd, project=odd)) == [odd]
    assert [item["session_id"] for item in await store.list_sessions(odd)] == [odd]
    assert await store.load(session_key(odd, project=odd, subpath=odd)) == [entry(odd)]
    parked = await approval(store, odd, session_id=odd, turn=odd, path=(odd, "a/b"))
    await store.park(claim, session_key(odd, project=odd), [], [], [parked])
    assert await store.pending(odd) == [parked]
    assert await store.pending(after=parked.cursor) == []
    assert await store.parked(odd, odd) == [key]
    assert await store.begin_call(claim, key, {odd: odd}) == Run()
    assert (await store.open_turn(odd)).effective == {key: {odd: odd}}
    with pytest.raises(SessionBusyError) as caught:
        await store.claim(odd, "other", LEASE)
    assert caught.value.owner == odd


@pytest.mark.anyio
async def test_a_deleted_secret_is_gone_from_the_file(store: SQLiteStore) -> None:
    """After a delete and a checkpoint the text is nowhere in the file."""
    await store.append(session_key(), [entry("1", "hunter2-secret")])
    await store.delete(session_key())
    store.close()
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"hunter2-secret" not in store.path.read_bytes()


# versions


@pytest.mark.anyio
async def test_a_newer_file_is_refused_untouched(store: SQLiteStore) -> None:
    """The error names the file, both versions and the way out, and the file stays as it was."""
    await store.append(session_key(), [entry("1")])
    store.close()
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(SessionError, match=r"s\.sqlite has schema version 99.*newer.*upgrade"):
        await store.load(session_key())
    with closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute("SELECT count(*) FROM entries").fetchone() == (1,)


@pytest.mark.anyio
async def test_a_foreign_database_is_refused_untouched(tmp_path: Path) -> None:
    """A database of another program is named as such and gets no tables of ours."""
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    with pytest.raises(SessionError, match="another program"):
        await SQLiteStore(path).append(session_key(), [entry("1")])
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("bookmarks",)]


def test_an_older_file_is_brought_forward(tmp_path: Path) -> None:
    """An older file gets the steps that it lacks, once, and keeps what it holds; a failing step changes nothing."""
    store = SQLiteStore(tmp_path / "s.sqlite")
    anyio.run(store.append, session_key(), [entry("1")])
    store.close()
    newer = (*MIGRATIONS, ("CREATE TABLE traces (body TEXT)", "INSERT INTO traces VALUES ('x')"))
    broken = (*newer, ("CREATE TABLE more (body TEXT)", "this is no SQL"))
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        with pytest.raises(sqlite3.OperationalError):
            migrate(connection, "s", broken)
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        migrate(connection, "s", newer)
        migrate(connection, "s", newer)
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS) + 1,)
        assert connection.execute("SELECT * FROM traces").fetchall() == [("x",)]
        assert connection.execute("SELECT count(*) FROM entries").fetchone() == (1,)
    with pytest.raises(SessionError, match="newer"):
        anyio.run(store.load, session_key())


# faults


@pytest.mark.anyio
async def test_junk_is_named_as_damaged(tmp_path: Path) -> None:
    """A file that is no database is refused with its path, and stays as it is."""
    path = tmp_path / "s.sqlite"
    path.write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(SessionError, match=r"damaged or no database.*s\.sqlite"):
        await SQLiteStore(path).load(session_key())
    assert path.read_bytes().startswith(b"not a database")


@pytest.mark.anyio
async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """A path below a file is a SessionError that says what to do."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SessionError, match="give SQLiteStore another path"):
        await SQLiteStore(tmp_path / "file" / "x" / "s.sqlite").load(session_key())
    with pytest.raises(SessionError, match="cannot be opened"):
        await SQLiteStore(tmp_path).load(session_key())


@contextmanager
def limited_pages(store: SQLiteStore, more: int) -> Iterator[None]:
    """The file may grow by so many pages only, as on a disk that runs full."""
    connection = store._file._shared.connection
    assert connection is not None
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + more}")
    yield
    connection.execute("PRAGMA max_page_count = 1073741823")


@pytest.mark.anyio
async def test_a_full_disk_loses_nothing(store: SQLiteStore) -> None:
    """The step that does not fit is refused as a whole with a clear error; all before stays; afterwards it goes on."""
    claim, (parked,) = await parked_turn(store, "t1")
    big = "x" * 100_000
    await store.begin_call(claim, call_key("t2"), {})
    with limited_pages(store, 2):
        with pytest.raises(SessionError, match="disk of the session store is full"):
            await store.write(claim, session_key(), [entry("2"), entry("3", big)], closes="m1")
        with pytest.raises(SessionError, match="full"):
            await store.end_call(claim, call_key("t2"), ToolResult(big))
        with pytest.raises(SessionError, match="full"):
            await store.park(claim, session_key(), [entry("4", big)], [verdict("t2")], [])
    turn = await store.open_turn("s")
    assert list(turn.pending) == [parked.key]
    assert turn.started == {call_key("t2")}
    assert await store.load(session_key()) == [entry("m1")]
    await store.end_call(claim, call_key("t2"), ToolResult(big))
    assert await store.begin_call(claim, call_key("t2"), {}) == Done(ToolResult(big))


LIMITED = """
import resource, sys, anyio
from agent_sdk.errors import SessionError
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.testing.store_values import entry, session_key

async def main():
    store = SQLiteStore(sys.argv[1])
    kept = 0
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    try:
        while True:
            await store.append(session_key(), [entry(str(kept), "x" * 10_000)])
            kept += 1
    except SessionError as error:
        print(kept, error)

anyio.run(main)
"""


def test_a_file_that_may_not_grow_loses_nothing(tmp_path: Path) -> None:
    """A writer that the system stops in the middle of a commit keeps every earlier entry and gets a SessionError."""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    path = tmp_path / "s.sqlite"
    done = python(LIMITED, path)
    assert done.returncode == 0, done.stderr
    kept, words = done.stdout.split(" ", 1)
    assert "the session store" in words
    assert int(kept) > 5
    loaded = anyio.run(SQLiteStore(path).load, session_key())
    assert loaded == [entry(str(number), "x" * 10_000) for number in range(int(kept))]


READ_ONLY = """
import os, sys, anyio
import anyio.to_thread
from agent_sdk.errors import SessionError
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.testing.store_values import entry, session_key

async def main():
    await anyio.to_thread.run_sync(os.getpid)  # whatever is imported late is imported while it may be read
    if os.geteuid() == 0:
        os.setuid(65534)
    try:
        await SQLiteStore(sys.argv[1]).append(session_key(), [entry("2")])
    except SessionError as error:
        print(error)

anyio.run(main)
"""


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder that everybody may look into and nobody may write."""
    folder.chmod(0o555)
    try:
        yield
    finally:
        folder.chmod(0o700)


@pytest.mark.parametrize("there", [True, False], ids=["an existing file", "no file yet"])
def test_read_only_media_are_named(there: bool) -> None:
    """A store in a folder that may not be written says so; what it holds stays."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "s.sqlite"
        if there:
            store = SQLiteStore(path)
            anyio.run(store.append, session_key(), [entry("1")])
            store.close()
            path.chmod(0o444)
        with read_only(Path(folder)):
            done = python(READ_ONLY, path)
        assert done.returncode == 0, done.stderr
        assert "the session store can" in done.stdout
        if there:
            path.chmod(0o600)
            assert anyio.run(SQLiteStore(path).load, session_key()) == [entry("1")]


@pytest.mark.anyio
async def test_another_writer_is_waited_for(tmp_path: Path) -> None:
    """A write waits while another process writes; when that takes too long the error says so; reading goes on."""
    store = SQLiteStore(tmp_path / "s.sqlite", busy_timeout=0.2)
    await store.append(session_key(), [entry("1")])
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert await store.load(session_key()) == [entry("1")]
        with pytest.raises(SessionError, match="locked"):
            await store.append(session_key(), [entry("2")])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.append, session_key(), [entry("3")])
            await anyio.sleep(0.05)
            other.execute("COMMIT")
    assert await store.load(session_key()) == [entry("1"), entry("3")]


# threads and cancelling


@pytest.mark.anyio
async def test_a_write_that_began_is_never_abandoned(store: SQLiteStore) -> None:
    """A caller that is cancelled while the write runs goes on only when it is committed."""
    await store.append(session_key(), [entry("1")])
    with closing(sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.2, lambda: other.execute("COMMIT"))
        release.start()
        with anyio.move_on_after(0.05) as scope:
            await store.append(session_key(), [entry("2")])
            await anyio.lowlevel.checkpoint()
        release.join()
    assert scope.cancelled_caught
    assert await store.load(session_key()) == [entry("1"), entry("2")]


@pytest.mark.anyio
async def test_a_cancelled_run_still_stores_its_result(store: SQLiteStore) -> None:
    """`end_call` is kept although the scope is cancelled before it; `begin_call` starts nothing then."""
    claim = await store.claim("s", "run", LEASE)
    await store.begin_call(claim, call_key("t1"), {})
    with anyio.CancelScope() as scope:
        scope.cancel()
        await store.end_call(claim, call_key("t1"), ToolResult("ran"))
    with anyio.CancelScope() as scope:
        scope.cancel()
        await store.begin_call(claim, call_key("t2"), {})
    turn = await store.open_turn("s")
    assert turn.done == {call_key("t1"): ToolResult("ran")}
    assert turn.started == frozenset()


def test_one_store_serves_many_loops_at_once(store: SQLiteStore) -> None:
    """Threads with loops of their own, asyncio and trio, write to one store object without losing an entry."""

    async def work(name: str) -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(store.append, session_key(), [entry(f"{name}-{number}")])

    workers = [
        threading.Thread(target=anyio.run, args=(work, name), kwargs={"backend": backend})
        for name, backend in (("a", "asyncio"), ("b", "trio"), ("c", "asyncio"), ("d", "trio"))
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    loaded = anyio.run(store.load, session_key())
    assert loaded is not None
    assert len(loaded) == 80


@pytest.mark.anyio
async def test_one_thread_does_for_a_hundred(store: SQLiteStore) -> None:
    """A hundred calls at once are served by one thread."""
    seen: set[int] = set()

    def note(_: sqlite3.Connection) -> None:
        seen.add(threading.get_ident())
        time.sleep(0.001)

    async with anyio.create_task_group() as tasks:
        for _ in range(100):
            tasks.start_soon(store._file.read, note)
    assert len(seen) == 1


# costs


@pytest.mark.anyio
async def test_each_step_of_a_call_is_one_commit(store: SQLiteStore) -> None:
    """The message, the start with its verdict, the result, and the turn's end: one commit each."""
    claim = await store.claim("s", "run", LEASE)
    commits: list[str] = []
    connection = store._file._shared.connection
    assert connection is not None
    connection.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)
    await store.write(claim, session_key(), [entry("m1")])
    await store.begin_call(claim, call_key("t2"), {}, settled=[verdict("t2")])
    await store.end_call(claim, call_key("t2"), ToolResult("ran"))
    await store.write(claim, session_key(), [entry("r1")], closes="m1")
    assert len(commits) == 4


@pytest.mark.anyio
async def test_a_page_of_ten_thousand_parked_sessions_costs_what_one_of_a_few_does(store: SQLiteStore) -> None:
    """A page of pending calls is found by an index: the first one, a late one, and the calls of one session."""
    template = await approval(store, "t1")
    sessions = [
        replace(template, session_id=f"s{number}", created_at=template.created_at + timedelta(microseconds=number))
        for number in range(10_000)
    ]

    def park(connection: sqlite3.Connection, parked: Sequence[PendingApproval]) -> None:
        for each in parked:
            sqlite_calls.replace_turns(connection, [each.key], {}, [(each, texts.approval_text(each))])

    await store._file.write(lambda connection: park(connection, sessions[:200]))
    usual, page = await steps_of(store, store.pending)
    assert page == sessions[:100]
    await store._file.write(lambda connection: park(connection, sessions[200:]))
    for after, first in ((None, 0), (sessions[8999].cursor, 9000)):
        steps, page = await steps_of(store, lambda after=after: store.pending(after=after))
        assert page == sessions[first : first + 100]
        assert steps < usual * 2
    steps, page = await steps_of(store, lambda: store.pending("s9999"))
    assert page == [sessions[9999]]
    assert steps < usual / 10


@pytest.mark.anyio
async def test_the_steps_to_load_a_transcript_grow_with_its_entries_alone(store: SQLiteStore) -> None:
    """Ten times the entries take ten times the steps, beside any number of others."""
    for session_id, count in (("short", 100), ("long", 1000), ("other", 3000)):
        await store.append(session_key(session_id), [entry(f"a{number}") for number in range(count)])
    short, _ = await steps_of(store, lambda: store.load(session_key("short")))
    steps, loaded = await steps_of(store, lambda: store.load(session_key("long")))
    assert loaded is not None
    assert len(loaded) == 1000
    assert steps < short * 12


async def steps_of(store: SQLiteStore, work: Callable[[], Awaitable[Any]]) -> tuple[int, Any]:
    """How many steps SQLite's own machine took for the work, which are the same wherever it runs; and the result."""
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    await store._file.write(lambda connection: connection.set_progress_handler(step, 1))
    steps = 0
    result = await work()
    counted = steps
    await store._file.write(lambda connection: connection.set_progress_handler(None, 1))
    return counted, result


@pytest.mark.anyio
async def test_answers_survive_a_new_park_of_the_same_call(store: SQLiteStore) -> None:
    """An answer that was accepted is still there after close and open, and after the run parked the call again."""
    claim, (parked,) = await parked_turn(store, "t1")
    assert await store.answer(parked.key, Answer(decision=Allow({"a": 1}), by="ann"))
    await store.park(claim, session_key(), [], [], [parked])
    store.close()
    kept = (await store.open_turn("s")).pending[parked.key].answer
    assert kept is not None
    assert (kept.decision, kept.by) == (Allow({"a": 1}), "ann")


async def cancelled_by_asyncio(work: Any, store: SQLiteStore) -> None:
    """Let another writer hold the file, cancel the task that does `work` meanwhile, and wait for its end."""
    with closing(sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.1, lambda: other.execute("COMMIT"))
        release.start()
        task = asyncio.ensure_future(work)
        await asyncio.sleep(0.03)
        task.cancel()
        await asyncio.wait([task])
        release.join()
    assert task.cancelled()


def test_a_task_that_asyncio_cancels_waits_for_its_write(store: SQLiteStore) -> None:
    """`task.cancel()` knows no shield: the write is ended all the same before the task is."""

    async def main() -> None:
        await store.append(session_key(), [entry("1")])
        await cancelled_by_asyncio(store.append(session_key(), [entry("2")]), store)
        assert await store.load(session_key()) == [entry("1"), entry("2")]

    asyncio.run(main())


@pytest.mark.anyio
async def test_who_has_little_time_does_not_wait_for_a_locked_file(store: SQLiteStore) -> None:
    """Inside `within` a locked file fails a write when the time is over, not after the store's own patience."""
    await store.projects()
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with within(0.1), pytest.raises(SessionError, match="locked"):
            await store.append(session_key(), [entry("1")])
        assert time.monotonic() - began < 20  # its own patience is 30
    assert store._file._shared.connection is not None
    assert store._file._shared.connection.execute("PRAGMA busy_timeout").fetchone() == (30_000,)


@pytest.mark.anyio
async def test_who_has_little_time_does_not_wait_in_the_line(store: SQLiteStore) -> None:
    """A closing ledger whose write stands behind another one of this process gives it up when the time is over."""
    release = threading.Event()
    await store.projects()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: store._file.write(lambda connection: release.wait(10)))
        await anyio.sleep(0.02)
        with Ledger(store, "s").briefly(0.1) as scope:
            await store.append(session_key(), [entry("1")])
        release.set()
    assert scope.cancelled_caught
    assert await store.load(session_key()) is None


def test_a_claim_whose_loop_ends_is_given_back(store: SQLiteStore) -> None:
    """A loop that is closed while the claim is taken: nobody hears of it, so it locks nobody out."""
    entered = threading.Event()

    def slow_clock() -> datetime:
        entered.set()
        time.sleep(0.1)
        return texts.utc_now()

    async def begin() -> None:
        store._now = slow_clock
        claiming = asyncio.ensure_future(store.claim("s", "gone", LEASE))
        while not entered.is_set():  # noqa: ASYNC110 - a thread sets it
            await asyncio.sleep(0.001)
        assert not claiming.done()

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: None)  # its task is destroyed, and that is told
    loop.run_until_complete(begin())
    loop.close()
    assert anyio.run(store.claim, "s", "the next one", LEASE).owner == "the next one"


def test_a_claim_that_ctrl_c_interrupts_is_given_back(store: SQLiteStore) -> None:
    """Trio raises KeyboardInterrupt in the very task that waits: the claim locks nobody out."""
    times: list[datetime] = []

    def slow_clock() -> datetime:
        if not times:
            times.append(texts.utc_now())
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.1)
        return texts.utc_now()

    store._now = slow_clock
    with pytest.raises(KeyboardInterrupt):
        anyio.run(store.claim, "s", "interrupted", LEASE, backend="trio")
    assert anyio.run(store.claim, "s", "the next one", LEASE).owner == "the next one"


@pytest.mark.anyio
async def test_a_claim_of_another_owner_is_not_the_same(store: SQLiteStore) -> None:
    """The same number under another name, as after a commit that failed: not held, not renewed, not given back."""
    for each in (store, InMemoryStore()):
        good = await each.claim("s", "good", LEASE)
        other = replace(good, owner="other")
        await each.release(other)
        assert await each.renew(other, LEASE) is None
        with pytest.raises(SessionBusyError):
            await each.write(other, session_key(), [entry("1")])
        assert await each.renew(good, LEASE) is not None


def test_a_claim_of_a_cancelled_task_locks_nobody_out(store: SQLiteStore) -> None:
    """Nobody heard of it, so nobody could give it back: the store does."""

    async def main() -> None:
        await store.projects()
        await cancelled_by_asyncio(store.claim("s", "cancelled", LEASE), store)
        assert (await store.claim("s", "the next one", LEASE)).owner == "the next one"

    asyncio.run(main())
