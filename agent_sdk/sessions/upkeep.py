"""Looking after the sessions of a store: list, delete, prune."""

from __future__ import annotations

from datetime import timedelta

from agent_sdk.errors import SessionBusyError, SessionNotFoundError
from agent_sdk.sessions import checks
from agent_sdk.sessions.portable import held
from agent_sdk.sessions.records import micros
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.sessions.store import PROJECT_KEY, DeferralStore, SessionKey, SessionListEntry, SessionStore
from agent_sdk.sessions.texts import utc_now


async def list_sessions(*, store: SessionStore | None = None) -> list[SessionListEntry]:
    """All sessions of a store, the last used one first. `store=None`: the user's own."""
    source: SessionStore = SQLiteStore() if store is None else store
    found = [entry for project in await _projects(source) for entry in await source.list_sessions(project)]
    return sorted(found, key=lambda entry: entry["mtime"], reverse=True)


async def delete_session(session_id: str, *, store: SessionStore | None = None) -> None:
    """Remove a session with its parked calls and its journal. `store=None`: the user's own.

    Raises SessionNotFoundError for an unknown session, and SessionBusyError while a run holds it.
    """
    target: SessionStore = SQLiteStore() if store is None else store
    if not await _delete(target, session_id):
        raise SessionNotFoundError(f"the store has no session {session_id}", session_id=session_id)


async def prune_sessions(older_than: timedelta, *, store: SessionStore | None = None) -> int:
    """Remove the sessions whose last entry is older than that; how many they were. `store=None`: the user's own.

    A session that a run holds stays, and so does one with calls that can still be answered or were not yet resumed:
    remove that one with `delete_session`.
    """
    target: SessionStore = SQLiteStore() if store is None else store
    now = await target.now() if isinstance(target, DeferralStore) else utc_now()
    limit = micros(now - older_than) // 1000
    removed = 0
    for entry in await list_sessions(store=target):
        if entry["mtime"] >= limit or await _is_parked(target, entry["session_id"]):
            continue
        try:
            removed += await _delete(target, entry["session_id"])
        except SessionBusyError:
            continue
    return removed


async def _is_parked(store: SessionStore, session_id: str) -> bool:
    if not isinstance(store, DeferralStore):
        return False
    now = await store.now()
    parked = (await store.open_turn(session_id)).pending.values()
    return any(approval.answer is not None or not checks.is_expired(approval, now) for approval in parked)


async def _delete(store: SessionStore, session_id: str) -> bool:
    if not isinstance(store, DeferralStore):
        key = SessionKey(project_key=PROJECT_KEY, session_id=session_id)
        known = await store.load(key) is not None
        await store.delete(key)
        return known
    projects = await store.projects(session_id)
    if projects:
        async with held(store, session_id, "delete"):
            for project in projects:
                await store.delete(SessionKey(project_key=project, session_id=session_id))
    return bool(projects)


async def _projects(store: SessionStore) -> list[str]:
    return await store.projects() if isinstance(store, DeferralStore) else [PROJECT_KEY]
