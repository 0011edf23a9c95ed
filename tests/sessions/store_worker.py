"""A process of its own that works on a store: python store_worker.py COMMAND PATH …; says on stdout what is done."""

from __future__ import annotations

import sys
from datetime import timedelta

import anyio

from agent_sdk.calls import CallKey, ToolResult
from agent_sdk.decisions import Allow
from agent_sdk.errors import SessionBusyError
from agent_sdk.sessions.records import Answer, Claim, Run
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.testing.store_values import entry, session_key

LEASE = timedelta(seconds=30)


def say(*words: object) -> None:
    """One line, out at once: what it names is acknowledged."""
    print(*words, flush=True)


async def claim(store: SQLiteStore, name: str) -> None:
    """Try to claim the session `s` as soon as a line comes in."""
    say("ready")
    sys.stdin.readline()
    try:
        got = await store.claim("s", name, LEASE)
        say("won", got.fence)
    except SessionBusyError as error:
        say("busy", error.owner)


async def answer(store: SQLiteStore, name: str) -> None:
    """Answer the first pending call as soon as a line comes in."""
    (parked,) = await store.pending()
    say("ready")
    sys.stdin.readline()
    say(await store.answer(parked.key, Answer(decision=Allow(), by=name)))


async def live(store: SQLiteStore, name: str) -> None:
    """Live a session's life for ever: claim, entry, call, result; one line for each that is acknowledged."""
    session_id = f"s{name}"
    turn = 0
    say("ready")
    while True:
        owned = await store.claim(session_id, name, timedelta(milliseconds=1))
        for _ in range(5):
            turn += 1
            key = CallKey(session_id=session_id, agent_path=(), message_uuid=f"{owned.fence}-{turn}", tool_use_id="t1")
            await store.write(owned, session_key(session_id), [entry(key.message_uuid, "x" * 5000)])
            say("entry", key.message_uuid)
            await store.begin_call(owned, key, {"n": turn})
            say("begun", key.message_uuid)
            await store.end_call(owned, key, ToolResult("y" * 5000))
            say("done", key.message_uuid)
            if turn % 2:
                await store.write(
                    owned, session_key(session_id), [entry(f"r{key.message_uuid}")], closes=key.message_uuid
                )
                say("closed", key.message_uuid)
        await store.release(owned)


async def work(store: SQLiteStore, name: str) -> None:
    """Run the three calls of sixty sessions, as one of several workers; a call that runs leaves a line in a file."""
    say("ready")
    while True:
        for session_id in (f"w{number}" for number in range(60)):
            try:
                owned = await store.claim(session_id, name, timedelta(milliseconds=100))
            except SessionBusyError:
                continue
            for call in ("t1", "t2", "t3"):
                await run_once(
                    store, owned, CallKey(session_id=session_id, agent_path=(), message_uuid="m", tool_use_id=call)
                )
            await store.release(owned)
        await anyio.sleep(0.01)


async def run_once(store: SQLiteStore, owned: Claim, key: CallKey) -> None:
    """Begin a call; when told to run it, leave a line and end it. A claim that was lost meanwhile stops it."""
    try:
        if await store.begin_call(owned, key, {}) == Run():
            with store.path.with_name("effects").open("a") as effects:
                effects.write(f"{key.session_id} {key.tool_use_id}\n")
            await anyio.sleep(0.01)
            await store.end_call(owned, key, ToolResult("ran"))
    except SessionBusyError:
        pass


async def wait(store: SQLiteStore, name: str) -> None:
    """Wait for an answer in the session `s`."""
    say("ready")
    say(await store.wait("s", LEASE))


def main() -> None:
    """Run one command on asyncio, or on trio for odd names."""
    command, path, name = sys.argv[1:]
    store = SQLiteStore(path)
    job = {"claim": claim, "answer": answer, "live": live, "wait": wait, "work": work}[command]
    anyio.run(job, store, name, backend="trio" if name.isdigit() and int(name) % 2 else "asyncio")


if __name__ == "__main__":
    main()
