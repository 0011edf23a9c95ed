"""Taking a session from one store to another, as a file of JSON lines."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import anyio
import anyio.to_thread

from agent_sdk.errors import SessionError, SessionNotFoundError
from agent_sdk.sessions.parcel import Parcel, Started, parcel_text, read_parcel
from agent_sdk.sessions.records import Claim, Run
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.sessions.store import PROJECT_KEY, DeferralStore, Journal, SessionStore
from agent_sdk.values import fresh_uuid

log = logging.getLogger("agent_sdk.sessions")

_LEASE = timedelta(minutes=5)


async def export_session(session_id: str, path: str | os.PathLike[str], *, store: SessionStore | None = None) -> None:
    """Write a session to a file: transcripts, parked calls with their answers, journal. `store=None`: the user's own.

    The file is made with mode 0600, for transcripts may hold secrets, and appears whole or not at all; one that is
    there already is replaced. Raises SessionNotFoundError for an unknown session, SessionBusyError while a run holds
    it, and SessionError when the file cannot be written.
    """
    source: SessionStore = SQLiteStore() if store is None else store
    text = parcel_text(await _packed(session_id, source))
    await anyio.to_thread.run_sync(_write_whole, Path(path), text)


async def import_session(path: str | os.PathLike[str], *, store: SessionStore | None = None) -> str:
    """Read an exported session into a store and return its id. `store=None`: the user's own.

    A parked session is then pending in both stores and would run in both: a warning names the calls; delete one of the
    two. A last line that was cut off is left out, and a warning names it. Raises SessionError for a file that cannot be
    read (naming the line), a store that has the session already, and one that cannot keep what the session holds;
    nothing is imported then.
    """
    target: SessionStore = SQLiteStore() if store is None else store
    parcel = read_parcel(await anyio.to_thread.run_sync(_read, Path(path)), os.fspath(path))
    if isinstance(target, DeferralStore) and isinstance(target, Journal):
        await _unpack(parcel, target, target, target)
    else:
        await _unpack_transcripts(parcel, target)
    if parcel.pending:
        log.warning(
            "session %s was imported with pending calls (%s): they are pending where it came from too, and answered in "
            "both places they would run twice. Delete the session in one of the two stores.",
            parcel.session_id,
            ", ".join(approval.tool_use_id for approval in parcel.pending),
        )
    return parcel.session_id


async def _packed(session_id: str, store: SessionStore) -> Parcel:
    if not isinstance(store, DeferralStore):
        return await _packed_transcripts(Parcel(project_key=PROJECT_KEY, session_id=session_id), store)
    projects = await store.projects(session_id)
    if not projects:
        raise SessionNotFoundError(f"the store has no session {session_id}", session_id=session_id)
    parcel = Parcel(project_key=projects[0], session_id=session_id)
    async with held(store, session_id, "export"):
        turn = await store.open_turn(session_id)
        parcel.settled = list(turn.settled.values())
        parcel.pending = list(turn.pending.values())
        parcel.journal = [
            Started(key=key, effective=effective, result=turn.done.get(key))
            for key, effective in turn.effective.items()
        ]
        return await _packed_transcripts(parcel, store)


async def _packed_transcripts(parcel: Parcel, store: SessionStore) -> Parcel:
    own = await store.load(parcel.key())
    for subpath in await store.list_subkeys(parcel.key()):
        parcel.transcripts[subpath] = list(await store.load(parcel.key(subpath)) or [])
    if own is None and not parcel.transcripts:
        raise SessionNotFoundError(f"the store has no session {parcel.session_id}", session_id=parcel.session_id)
    parcel.transcripts[""] = list(own or [])
    return parcel


async def _unpack(parcel: Parcel, store: SessionStore, deferral: DeferralStore, journal: Journal) -> None:
    """Journal first, approvals with the session's own transcript last: a half of it never looks ready to run."""
    async with held(deferral, parcel.session_id, "import") as claim:
        turn = await deferral.open_turn(parcel.session_id)
        if await deferral.projects(parcel.session_id) or turn.settled or turn.pending or turn.effective:
            raise _there_already(parcel)
        try:
            for row in parcel.journal:
                begun = await journal.begin_call(claim, row.key, row.effective)
                if row.result is not None and begun == Run():
                    await journal.end_call(claim, row.key, row.result)
            for subpath, entries in parcel.transcripts.items():
                if subpath:
                    await deferral.write(claim, parcel.key(subpath), entries)
            own = parcel.transcripts.get("", [])
            await deferral.park(claim, parcel.key(), own, parcel.settled, parcel.pending)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await store.delete(parcel.key())
            raise


async def _unpack_transcripts(parcel: Parcel, store: SessionStore) -> None:
    if parcel.settled or parcel.pending or parcel.journal:
        raise SessionError(
            f"session {parcel.session_id} is in the middle of a turn, and this store keeps transcripts only; "
            "import it into a store that can park, such as SQLiteStore",
            session_id=parcel.session_id,
        )
    if await store.load(parcel.key()) is not None:
        raise _there_already(parcel)
    for subpath, entries in parcel.transcripts.items():
        await store.append(parcel.key(subpath), entries)


def _there_already(parcel: Parcel) -> SessionError:
    return SessionError(
        f"the store has session {parcel.session_id} already; delete it there first, or import into another store",
        session_id=parcel.session_id,
    )


@asynccontextmanager
async def held(store: DeferralStore, session_id: str, what: str) -> AsyncIterator[Claim]:
    """Hold a session for a moment, so that no run changes it. Raises SessionBusyError while a run holds it."""
    claim = await store.claim(session_id, f"{what} {os.getpid()} {fresh_uuid()[:8]}", _LEASE)
    try:
        yield claim
    finally:
        with anyio.CancelScope(shield=True):
            await store.release(claim)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SessionError(f"the exported session cannot be read: {error}") from None


def _write_whole(path: Path, text: str) -> None:
    """A new file beside it, synced, then moved into its place. `mkstemp` makes files with mode 0600."""
    try:
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with open(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        except BaseException:
            os.unlink(beside)
            raise
    except OSError as error:
        raise SessionError(f"the session cannot be exported: {error}") from None
