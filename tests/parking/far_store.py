"""A store that is not in memory for the run: every method takes a few steps, and fails when it is told to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, cast

import anyio
import anyio.lowlevel

from agent_sdk import InMemoryStore, SessionStore

Kind = Literal["before", "after", "late"]
"""It raises before it does anything; it raises though all was done; it takes its time."""

METHODS = (
    "append", "load", "list_sessions", "delete", "list_subkeys", "now", "projects", "claim", "renew", "release",
    "write", "park", "open_turn", "pending", "parked", "answer", "wait", "begin_call", "restart_call", "end_call",
)  # fmt: skip


@dataclass
class Fault:
    """From the use of the store with this number on, so many uses of `method` (`None` = of any) go wrong."""

    first: int
    kind: Kind
    method: str | None = None
    times: int = 1


@dataclass
class Wire:
    """What lies between a run and its store. `used` are the methods so far, in order, with what went wrong; in those of
    `cut` the caller was cancelled."""

    inner: InMemoryStore
    dice: Random
    steps: int = 0
    fault: Fault | None = None
    used: list[tuple[str, Kind | None]] = field(default_factory=list)
    cut: set[str] = field(default_factory=set)

    async def carry(self, method: str, *arguments: Any, **named: Any) -> Any:
        """Use the store behind."""
        kind = self._goes_wrong(method)
        self.used.append((method, kind))
        try:
            return await self._carried(kind, method, *arguments, **named)
        except anyio.get_cancelled_exc_class():
            self.cut.add(method)
            raise

    async def _carried(self, kind: Kind | None, method: str, *arguments: Any, **named: Any) -> Any:
        await self._step()
        if kind == "before":
            raise OSError("the wire is cut")
        if kind == "late":
            await anyio.sleep(0.004)
        came = await getattr(self.inner, method)(*arguments, **named)
        await self._step()
        if kind == "after":
            raise OSError("the answer was lost")
        return came

    def _goes_wrong(self, method: str) -> Kind | None:
        fault = self.fault
        if fault is None or len(self.used) < fault.first or fault.method not in (None, method) or not fault.times:
            return None
        fault.times -= 1
        return fault.kind

    async def _step(self) -> None:
        for _ in range(self.dice.randint(0, self.steps)):
            await anyio.lowlevel.checkpoint()


def far_store(wire: Wire, methods: Sequence[str] = METHODS) -> SessionStore:
    """A store at the other end of the wire. With the first five methods alone it keeps transcripts only."""

    def carried(method: str) -> Callable[..., Any]:
        async def use(_: object, *arguments: Any, **named: Any) -> Any:
            return await wire.carry(method, *arguments, **named)

        return use

    return cast(SessionStore, type("FarStore", (), {method: carried(method) for method in methods})())
