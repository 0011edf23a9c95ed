"""A part of a check in a process of its own: the same session, found again through the database file alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio

from tests.conformance.child import in_fresh_process
from tests.conformance.damage import KillPoint
from tests.conformance.diagnostics import collected
from tests.conformance.http_side import serving
from tests.conformance.public import public
from tests.conformance.record import Record
from tests.conformance.recorders import noted
from tests.conformance.script import Script, ScriptedSide
from tests.conformance.stage import Stage

SHORT_LEASE = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One run of a session, described so that a fresh process can do it. `decisions` are ready to hand over."""

    scene: Mapping[str, Any]
    backend: str
    session_id: str | None
    database: Path
    work: Path
    tools: list[str]
    script: Script
    over_http: bool
    default_callback: Mapping[str, Any] | None
    name: str
    prompt: str | None = None
    decisions: Any = None
    go_on: bool = False
    parked: bool = False
    kill: KillPoint = "never"
    journal: Path | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def run_elsewhere(part: Part, record: Record) -> None:
    """Do the part in a fresh process and take over what it saw; of a killed one, the calls that it had noted."""
    seen = in_fresh_process(done_here, part, may_die=part.kill != "never")
    if seen is not None:
        record.absorb(seen)
    elif part.journal is not None:
        record.begin_lost_run(part.name)
        record.ran.extend(noted(part.journal))


def done_here(part: Part) -> Record:
    """Do the part in this process."""
    record = Record(run=part.name, session_id=part.session_id)
    with ExitStack() as stack:
        stack.enter_context(collected(record))
        side: Any
        if part.over_http:
            side = stack.enter_context(serving(record, part.script))
        else:
            side = ScriptedSide(record=record, script=part.script)
        stage = Stage(
            scene=part.scene,
            record=record,
            side=side,
            store=_store(part, record),
            work=part.work,
            tools=part.tools,
            default_callback=part.default_callback,
            journal=part.journal,
            inside=_die_inside if part.kill == "in tool" else None,
        )
        anyio.run(_run, stage, part, backend=part.backend)
    return record


async def _run(stage: Stage, part: Part) -> None:
    await stage.run(part.name, prompt=part.prompt, decisions=part.decisions, go_on=part.go_on, parked=part.parked)
    await stage.side.aclose()


async def _die_inside(ran: Any) -> None:
    _die()


def _die() -> None:
    os._exit(9)


def _store(part: Part, record: Record) -> Any:
    """The store of the session; at its method where the process is to end, it ends.

    A process that is to end takes short leases, so that the next one need not wait a minute for its claim.
    """
    base = public("SQLiteStore")

    class Deadly(base):  # type: ignore[misc,valid-type]
        async def claim(self, session_id: str, owner: str, lease: timedelta) -> Any:
            return await super().claim(session_id, owner, min(lease, SHORT_LEASE))

        async def renew(self, claim: Any, lease: timedelta) -> Any:
            return await super().renew(claim, min(lease, SHORT_LEASE))

        async def begin_call(self, *args: Any, **words: Any) -> Any:
            if part.kill == "before tool":
                _die()
            return await super().begin_call(*args, **words)

        async def end_call(self, *args: Any, **words: Any) -> Any:
            if part.kill == "after tool":
                _die()
            done = await super().end_call(*args, **words)
            if part.kill == "after result":
                _die()
            return done

        async def write(self, *args: Any, closes: str | None = None) -> None:
            if part.kill == "after tool" and closes is not None:
                _die()
            await super().write(*args, closes=closes)
            if part.kill == "after result" and closes is not None:
                _die()

    return Deadly(part.database) if part.kill != "never" else base(part.database)
