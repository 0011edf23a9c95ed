"""What the store contracts speak of: keys, entries, approvals, and the refusals they expect."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Protocol, TypeAlias, TypeVar

from agent_sdk.calls import CallKey, ToolResult
from agent_sdk.decisions import Allow
from agent_sdk.sessions.records import Answer, Claim, Entry, PendingApproval, SettledCall
from agent_sdk.sessions.store import DeferralStore, Journal, SessionKey, SessionStore

LEASE = timedelta(seconds=30)
MOMENT = timedelta(milliseconds=50)
YES = Answer(decision=Allow())


class FullStore(SessionStore, DeferralStore, Journal, Protocol):
    """A store that is all three ports."""


Contract: TypeAlias = Callable[[FullStore], Awaitable[None]]

_Error = TypeVar("_Error", bound=Exception)


def session_key(session_id: str = "s", *, project: str = "p", subpath: str = "") -> SessionKey:
    """A transcript's key."""
    key = SessionKey(project_key=project, session_id=session_id)
    if subpath:
        key["subpath"] = subpath
    return key


def entry(uuid: str, text: str = "hello") -> Entry:
    """A transcript entry."""
    return {"type": "user", "uuid": uuid, "message": {"role": "user", "content": text}}


def call_key(tool_use_id: str, *, session_id: str = "s", turn: str = "m1", path: tuple[str, ...] = ()) -> CallKey:
    """A call's key."""
    return CallKey(session_id=session_id, agent_path=path, message_uuid=turn, tool_use_id=tool_use_id)


async def approval(
    store: FullStore, tool_use_id: str, *, session_id: str = "s", turn: str = "m1", path: tuple[str, ...] = ()
) -> PendingApproval:
    """An approval as a run would park it, created now."""
    return PendingApproval(
        session_id=session_id,
        agent_path=path,
        message_uuid=turn,
        tool_use_id=tool_use_id,
        tool_name="Write",
        tool_input={"file_path": "/tmp/a", "content": "\ud800 é \x00"},
        original_input={"file_path": "a"},
        cwd="/tmp",
        digest=f"sha256:{tool_use_id}",
        reason="ask the boss",
        suggestions=[{"type": "addRules"}],
        questions=[{"question": "Which?"}],
        created_at=await store.now(),
        state="absent",
        trace=[{"step": "callback", "said": "defer"}],
        input_schema={"type": "object"},
    )


def verdict(tool_use_id: str, *, turn: str = "m1", result: ToolResult | None = None) -> SettledCall:
    """A settled call."""
    return SettledCall(
        key=call_key(tool_use_id, turn=turn),
        tool="Write",
        effective={"file_path": "/tmp/b"},
        cwd="/tmp",
        digest="sha256:b",
        behavior="allow" if result is None else "deny",
        by="callback",
        by_person=True,
        note={"type": "text", "text": "careful"},
        state="sha256:1",
        result=result,
    )


@contextmanager
def refused(kind: type[_Error]) -> Iterator[list[_Error]]:
    """The block must raise exactly this kind of error, which the list holds afterwards."""
    caught: list[_Error] = []
    try:
        yield caught
    except kind as error:
        caught.append(error)
    assert [type(error) for error in caught] == [kind], f"expected {kind.__name__}, got {caught}"


async def claimed(store: FullStore, owner: str = "run 1") -> Claim:
    """A claim on the session `s`."""
    return await store.claim("s", owner, LEASE)


async def parked_turn(store: FullStore, *tool_use_ids: str) -> tuple[Claim, list[PendingApproval]]:
    """The session `s` with these calls parked in its turn `m1`."""
    claim = await claimed(store)
    approvals = [await approval(store, tool_use_id) for tool_use_id in tool_use_ids]
    await store.park(claim, session_key(), [entry("m1")], [], approvals)
    return claim, approvals


async def uuids(store: FullStore, key: SessionKey) -> list[object]:
    """The uuids of a transcript, in order."""
    return [item.get("uuid") for item in await store.load(key) or []]
