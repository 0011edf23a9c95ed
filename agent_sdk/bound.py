"""What the approvals of one turn are bound to: the files that were shown, as they were shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import anyio.to_thread

from agent_sdk.permissions.pipeline import Docket
from agent_sdk.session import Session
from agent_sdk.tools.state import is_bound_to, same_place


class Bound:
    """The bound states (`tools/state.py`) of the approved calls of a turn, by call id."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._states: dict[str, str] = {}

    def keep(self, docket: Docket) -> None:
        """The newest approval counts, for the file as it was shown with it. Calls that name no file are not bound."""
        verdict = docket.verdict
        if verdict is not None and verdict.state and verdict.result is None:
            self._states[docket.call.id] = verdict.state

    def state(self, call_id: str) -> str | None:
        """What the call is bound to, if it is."""
        return self._states.get(call_id)

    async def holds(self, docket: Docket) -> bool:
        """Whether the file that was judged, and would be opened, is the one that was approved, as it was shown."""
        verdict, target, bound = docket.verdict, docket.target, self._states.get(docket.call.id)
        path = None if verdict is None else self._session.target_of(docket.tool, verdict.call)
        if bound is None or path is None or target is None:
            return True
        return await anyio.to_thread.run_sync(is_bound_to, bound, path, target, abandon_on_cancel=True)

    async def changed(self, waiting: Iterable[Docket]) -> frozenset[str]:
        """Those of the calls that wait whose file is not as it was shown any more: they were not judged again yet."""
        return frozenset([d.call.id for d in self._only(waiting) if await self._now(d) != self._states[d.call.id]])

    async def follow(self, waiting: Iterable[Docket], stale: frozenset[str]) -> None:
        """A tool of the turn and the hooks after it may have changed files of calls that wait: that change is ours.

        Not so for those that were `stale` before it, nor where a path has come to lead to another file: nobody approved
        that one.
        """
        for docket in self._only(waiting):
            call_id = docket.call.id
            state = None if call_id in stale else await self._now(docket)
            if state is not None and same_place(state, self._states[call_id]):
                self._states[call_id] = state

    def _only(self, waiting: Iterable[Docket]) -> Sequence[Docket]:
        return [docket for docket in waiting if docket.call.id in self._states] if self._states else ()

    async def _now(self, docket: Docket) -> str | None:
        verdict = docket.verdict
        return None if verdict is None else await self._session.target_state(docket.tool, verdict.call)
