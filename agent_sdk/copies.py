"""Stored sessions from outside of a run: their messages, a fork of one, the last one of a directory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

from agent_sdk.calls import ToolResult
from agent_sdk.errors import SessionNotFoundError
from agent_sdk.history import blocks_of
from agent_sdk.ledger import entry, session_key
from agent_sdk.loading import Loaded, read_entries
from agent_sdk.messages import AssistantMessage, UserMessage, content_block
from agent_sdk.permissions import messages
from agent_sdk.results import results_content
from agent_sdk.sessions.portable import held
from agent_sdk.sessions.records import Entry, OpenTurn
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.sessions.store import DeferralStore, SessionKey, SessionStore
from agent_sdk.sessions.upkeep import list_sessions
from agent_sdk.values import Json, JsonObject, fresh_uuid

_KEPT = ("user", "assistant", "state", "permission")


async def get_session_messages(
    session_id: str, *, store: SessionStore | None = None
) -> list[AssistantMessage | UserMessage]:
    """The stored conversation, as a run yielded it, prompts included. `store=None`: the user's own.

    Raises SessionNotFoundError for an unknown session.
    """
    source: SessionStore = SQLiteStore() if store is None else store
    read = [_message(stored, session_id) for stored in await _load(source, session_id)]
    return [message for message in read if message is not None]


async def fork_session(session_id: str, *, store: SessionStore | None = None, new_id: str | None = None) -> str:
    """Copy a session under a new id, and return that id. `store=None`: the user's own.

    The fork carries no approvals: calls that are parked, of unknown outcome or not yet begun get an error result that
    says so; results that are there are kept. Rules that counted for the session only are not carried over either.
    Raises SessionNotFoundError for an unknown session, SessionBusyError while a run holds it.
    """
    source: SessionStore = SQLiteStore() if store is None else store
    fork = new_id or fresh_uuid()
    async with AsyncExitStack() as claims:
        turn = OpenTurn()
        if isinstance(source, DeferralStore):
            await claims.enter_async_context(held(source, session_id, "fork"))
            turn = await source.open_turn(session_id)
        entries = await _load(source, session_id)
        closing = _superseding(read_entries(entries), turn)
        copies = [{**stored, "uuid": fresh_uuid()} for stored in entries if stored.get("type") in _KEPT]
        await source.append(session_key(fork), [*copies, *closing])
    return fork


async def last_session(store: SessionStore, directory: str) -> str | None:
    """The session of this working directory that was used last, or `None`."""
    for listed in await list_sessions(store=store):
        if await session_directory(store, listed["session_id"]) == directory:
            return listed["session_id"]
    return None


async def session_directory(store: SessionStore, session_id: str) -> str | None:
    """The working directory with which a session was last run, or `None` when that is not known."""
    entries = await store.load(session_key(session_id)) or []
    states = [stored for stored in entries if stored.get("type") == "state"]
    return _text(states[-1].get("directory")) if states else None


def _superseding(loaded: Loaded, turn: OpenTurn) -> list[Entry]:
    """The message that answers the calls of the turn that is open, if one is."""
    ids = [str(block["id"]) for block in loaded.open_content if block.get("type") == "tool_use"]
    if not ids:
        return []
    known = {key.tool_use_id: result for key, result in turn.done.items() if key.message_uuid == loaded.open_uuid}
    known |= {
        key.tool_use_id: call.result
        for key, call in turn.settled.items()
        if key.message_uuid == loaded.open_uuid and call.result is not None
    }
    superseded = ToolResult(messages.FORKED, is_error=True)
    results = {call_id: known.get(call_id, superseded) for call_id in ids}
    content = results_content(ids, results, [], messages.FORKED)
    return [entry("user", message={"role": "user", "content": content})]


async def _load(store: SessionStore, session_id: str) -> Sequence[JsonObject]:
    entries = await store.load(await _key(store, session_id))
    if entries is None:
        raise SessionNotFoundError(f"the store has no session {session_id!r}", session_id=session_id)
    return entries


async def _key(store: SessionStore, session_id: str) -> SessionKey:
    """Where the session lies: under our own project key, or the one that it was imported with."""
    key = session_key(session_id)
    projects = await store.projects(session_id) if isinstance(store, DeferralStore) else []
    return key if not projects or key["project_key"] in projects else {**key, "project_key": projects[0]}


def _message(stored: JsonObject, session_id: str) -> AssistantMessage | UserMessage | None:
    message = stored.get("message")
    if not isinstance(message, dict):
        return None
    uuid = _text(stored.get("uuid"))
    content = [content_block(block) for block in blocks_of(message.get("content"))]
    match stored.get("type"):
        case "assistant":
            usage = message.get("usage")
            return AssistantMessage(
                content=content,
                model=_text(message.get("model")) or "",
                usage=usage if isinstance(usage, dict) else None,
                message_id=_text(message.get("id")),
                stop_reason=_text(message.get("stop_reason")),
                session_id=session_id,
                uuid=uuid,
            )
        case "user":
            return UserMessage(content=content, uuid=uuid, tool_use_result=stored.get("tool_use_result"))
        case _:
            return None


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
