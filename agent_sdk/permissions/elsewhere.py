"""Answers that come from elsewhere while a callback is asking about the same call: whichever is first counts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from agent_sdk.apart import Came, apart
from agent_sdk.decisions import Allow, Deny
from agent_sdk.sessions.records import Answer


class Elsewhere(Protocol):
    """The other places where a parked call can be answered. `state` is that of the file which was shown there."""

    state: str | None

    def shows(self, digest: str) -> bool:
        """Whether the call is shown there with this very tool and input, so that an answer means the same."""
        ...

    async def answered(self) -> Answer | None:
        """The answer that is there by now."""
        ...

    async def heard(self) -> Answer:
        """Wait for an answer; for ever, when none comes."""
        ...

    async def first(self, decision: Allow | Deny) -> Answer | None:
        """Store what the callback decided there. The other answer, when one was first."""
        ...


async def ask_beside(
    elsewhere: Elsewhere | None, ask: Callable[[], Awaitable[object]], seconds: float | None
) -> Came[object] | Answer:
    """Ask the callback, for `seconds` at most, and listen elsewhere meanwhile. The one that is late is cancelled.

    What came of the callback, or the answer that was given elsewhere before.
    """
    if elsewhere is None:
        return await apart(ask, seconds)
    if (answer := await elsewhere.answered()) is not None:
        return answer
    first: list[Answer] = []
    came: Came[object] | None = None
    async with anyio.create_task_group() as group:

        async def listen() -> None:
            first.append(await elsewhere.heard())
            group.cancel_scope.cancel()

        group.start_soon(listen)
        came = await apart(ask, seconds)
        group.cancel_scope.cancel()
    return first[0] if came is None else came
