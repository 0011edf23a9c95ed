"""Processes that die with kill -9, and others that go on: every tool runs at most once, and what is unknown is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_sdk import Allow, Deny, Inbox, SQLiteStore, get_session_messages
from agent_sdk.ledger import session_key
from tests.parking.worker import CALLS, QuickStore, park
from tests.support.messages_api import check_conversation

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
WORKER = Path(__file__).with_name("worker.py")


@contextmanager
def worker(path: Path, command: str, *words: str, kind: str = "quick") -> Iterator[subprocess.Popen[str]]:
    """A worker process for as long as the block lasts."""
    process = subprocess.Popen(
        [sys.executable, str(WORKER), kind, command, str(path), *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=30)


def says(path: Path, command: str, *words: str, kind: str = "quick") -> list[str]:
    """What a worker says that comes to its end."""
    with worker(path, command, *words, kind=kind) as process:
        out, _ = process.communicate(timeout=60)
        return out.splitlines()


def effects(path: Path) -> list[str]:
    """What tools did, a line each."""
    file = path.with_name("effects")
    return file.read_text().splitlines() if file.exists() else []


def wait_for_effects(path: Path, count: int) -> None:
    """Wait until tools have done so much."""
    deadline = time.monotonic() + 30
    while len(effects(path)) < count and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(effects(path)) == count


def resumed(path: Path, session_id: str = "s", *words: str) -> list[str]:
    """Resume from a new process, as soon as the lease of the dead one is over."""
    while (said := says(path, "resume", session_id, *words))[0].startswith("SessionBusyError"):
        time.sleep(0.2)
    return said


def results(path: Path, session_id: str = "s") -> dict[str, Any]:
    """What the model reads, by call; the stored conversation is one that the service takes."""

    async def read() -> dict[str, Any]:
        store = SQLiteStore(path)
        entries = await store.load(session_key(session_id)) or []
        messages: Any = [entry["message"] for entry in entries if entry["type"] in ("user", "assistant")]
        messages = [{"role": message["role"], "content": message["content"]} for message in messages]
        body = {
            "model": "m",
            "max_tokens": 1,
            "tools": [{"name": "t", "input_schema": {"type": "object"}}],
            "messages": messages,
        }
        assert check_conversation(body) is None, check_conversation(body)
        assert len(await get_session_messages(session_id, store=store)) == len(messages)
        store.close()
        blocks = [block for message in messages for block in message["content"] if block["type"] == "tool_result"]
        return {block["tool_use_id"]: block["content"] for block in blocks}

    return anyio.run(read)


def park_and_answer(path: Path) -> None:
    """The session `s` with three parked calls, each of them approved."""

    async def work() -> None:
        store = QuickStore(path)
        await park(store, "s")
        for call_id in CALLS:
            assert await Inbox(store).answer("s", call_id, Allow(), by="test")
        store.close()

    anyio.run(work)


def test_killed_while_a_call_is_parked(tmp_path: Path) -> None:
    """The parked calls are there for other processes: one answers, one resumes, and each tool ran once."""
    path = tmp_path / "s.sqlite"
    with worker(path, "park", "s") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "s tool_deferred\n"
        process.send_signal(signal.SIGKILL)
    assert says(path, "answer", "s", "a") == says(path, "answer", "s", "c") == ["True"]
    assert says(path, "answer", "s", "a") == ["False"]
    assert resumed(path) == ["tool_deferred b"]
    assert says(path, "answer", "s", "b") == ["True"]
    assert resumed(path) == ["completed"]
    assert sorted(effects(path)) == ["s a", "s b", "s c"]
    assert results(path) == {"a": "ran a", "b": "ran b", "c": "ran c"}


def test_killed_while_a_call_runs(tmp_path: Path) -> None:
    """What had begun is unknown and does not run again."""
    path = tmp_path / "s.sqlite"
    with worker(path, "start", "s", "a,b", "60") as process:
        wait_for_effects(path, 2)
        process.send_signal(signal.SIGKILL)
    assert resumed(path) == ["completed"]
    assert sorted(effects(path)) == ["s a", "s b"]
    assert all("unknown" in text for text in results(path).values())


def test_killed_before_an_approved_call_began(tmp_path: Path) -> None:
    """The person's yes to a call that had not begun is kept: it runs at the resume, and nobody is asked again."""
    path = tmp_path / "s.sqlite"
    with worker(path, "start", "s", "a,b", "60", "serial") as process:
        wait_for_effects(path, 1)
        process.send_signal(signal.SIGKILL)
    assert resumed(path) == ["completed"]
    assert effects(path) == ["s a", "s b"]
    said = results(path)
    assert "unknown" in said["a"]
    assert said["b"] == "ran b"


def test_an_idempotent_tool_runs_again(tmp_path: Path) -> None:
    """Its author says that it may: the yes of the person still stands, so nobody is asked."""
    path = tmp_path / "s.sqlite"
    with worker(path, "start", "s", "a", "60", "idempotent") as process:
        wait_for_effects(path, 1)
        process.send_signal(signal.SIGKILL)
    assert resumed(path, "s", "0.04", "idempotent") == ["completed"]
    assert effects(path) == ["s a", "s a"]
    assert results(path) == {"a": "ran a"}


def test_killed_between_started_and_done(tmp_path: Path) -> None:
    """The tool has run, its result was not stored: the model is told that the outcome is unknown."""
    path = tmp_path / "s.sqlite"
    assert says(path, "start", "s", "a", "0", kind="dying") == []
    assert effects(path) == ["s a"]
    assert resumed(path) == ["completed"]
    assert effects(path) == ["s a"]
    assert "unknown" in results(path)["a"]


def test_killed_after_an_answer_was_used(tmp_path: Path) -> None:
    """One yes lets a call run once: after a crash of the resume it is unknown, not approved."""
    path = tmp_path / "s.sqlite"
    park_and_answer(path)
    with worker(path, "resume", "s", "60") as process:
        wait_for_effects(path, 3)
        process.send_signal(signal.SIGKILL)
    assert resumed(path) == ["completed"]
    assert sorted(effects(path)) == ["s a", "s b", "s c"]
    assert all("unknown" in text for text in results(path).values())
    store = SQLiteStore(path)
    assert anyio.run(Inbox(store).answer, "s", "a", Deny()) is False
    store.close()


@pytest.mark.parametrize("prompt", ["", "something else"], ids=["two resumes", "a resume and a prompt"])
def test_two_at_once(prompt: str, tmp_path: Path) -> None:
    """Of two runs of one session in two processes, one is told that the session is busy."""
    path = tmp_path / "s.sqlite"
    park_and_answer(path)
    with worker(path, "race", "s", "") as first, worker(path, "race", "s", prompt) as second:
        for process in (first, second):
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in (first, second):
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        said = sorted(process.communicate(timeout=30)[0].strip() for process in (first, second))
    assert said == ["SessionBusyError", "completed"]
    assert sorted(effects(path)) == ["s a", "s b", "s c"]
