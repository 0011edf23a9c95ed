"""The stored session as anybody finds it: read back through the store, or put there by hand."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from agent_sdk import InMemoryStore
from tests.conformance.public import inbox
from tests.conformance.script import plain

Entry = dict[str, Any]


async def entries(store: Any, session_id: str) -> list[Entry]:
    """All entries of the session's own transcript, in order; empty when there is none."""
    for project in await store.projects(session_id):
        found = await store.load({"project_key": project, "session_id": session_id})
        if found is not None:
            return [plain(entry) for entry in found]
    return []


def messages(listed: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages among entries, as they are sent to the model."""
    return [entry["message"] for entry in listed if entry["type"] in ("user", "assistant")]


async def pending(store: Any, session_id: str) -> dict[str, Any]:
    """The open approvals of a session, by id, each with the input that is shown."""
    return {item.tool_use_id: plain(item.tool_input) for item in await inbox(store).pending(session_id)}


class SwappingStore(InMemoryStore):
    """Stores `saved` in the place of the first prompt and the first reply, whatever was really said.

    So a session comes to hold what an older program, or a broken stream, left behind. `saved` ends with an assistant
    message: the one whose calls are parked.
    """

    def __init__(self, saved: Sequence[Mapping[str, Any]]) -> None:
        super().__init__()
        self._before = list(saved[:-1])
        self._content: Any = saved[-1]["content"]

    async def write(self, claim: Any, key: Any, entries: Any, *, closes: str | None = None) -> None:
        """As its base, with the messages swapped."""
        await super().write(claim, key, self._swapped(entries), closes=closes)

    async def park(self, claim: Any, key: Any, entries: Any, settled: Any, pending: Any) -> None:
        """As its base, with the messages swapped."""
        await super().park(claim, key, self._swapped(entries), settled, pending)

    def _swapped(self, listed: Any) -> list[Any]:
        swapped: list[Any] = []
        for entry in listed:
            if entry.get("type") == "user" and self._before:
                swapped += [as_entry(message, entry) for message in self._before]
                self._before = []
            elif entry.get("type") == "assistant" and self._content is not None:
                swapped.append({**entry, "message": {**entry["message"], "content": plain(self._content)}})
                self._content = None
            else:
                swapped.append(entry)
        return swapped


def as_entry(message: Mapping[str, Any], pattern: Mapping[str, Any]) -> Entry:
    """A message as an entry of its own, its other fields those of another entry."""
    return {**pattern, "type": message["role"], "uuid": str(uuid.uuid4()), "message": plain(message)}


async def store_with(saved: Sequence[Mapping[str, Any]], donor: Any, session_id: str) -> InMemoryStore:
    """A fresh store that holds a session of these messages, its other entries taken from a donor session."""
    store = InMemoryStore()
    for project in await donor.projects(session_id):
        key: Any = {"project_key": project, "session_id": session_id}
        old = await donor.load(key) or []
        patterns = {entry["type"]: entry for entry in old}
        made = [entry for entry in old if entry["type"] not in ("user", "assistant")]
        made += [as_entry(message, patterns[message["role"]]) for message in saved]
        await store.append(key, made)
    return store
