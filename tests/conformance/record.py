"""What a check saw, all in one place: calls that ran, questions to callback and hooks, requests, runs, diagnostics.

Everything in it can be pickled, so that the part of a check that happens in a process of its own comes back whole.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from agent_sdk import AgentSDKError, ResultMessage

BEFORE_PARK = ("before", "first")
"""Runs up to the one that parks the session; all other runs come after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A tool call that ran: its id, its tool and the input that the tool was given."""

    id: str
    tool: str
    input: dict[str, Any]
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question to the callback. `suggestions` are the rules that its context offered to remember."""

    id: str
    tool: str
    input: dict[str, Any]
    suggestions: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A hook was called: which one of the case, and with what input."""

    hook: int
    input: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A model request, by whom it was made: the run, and whether it was a sub-agent's."""

    run: str
    body: dict[str, Any]
    sub: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """An exception that reached the application. `where` is the step: construction, decision, import, run, …"""

    where: str
    type: str
    text: str
    ours: bool
    details: str

    @classmethod
    def of(cls, error: BaseException, where: str) -> Raised:
        """A picture of an exception, with those that it came from."""
        leaves = list(_leaves(error))
        return cls(
            where=where,
            type=", ".join(type(leaf).__name__ for leaf in leaves),
            text="\n".join(str(leaf) for leaf in leaves),
            ours=all(isinstance(leaf, AgentSDKError) for leaf in leaves),
            details="".join(traceback.format_exception(error)),
        )


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


@dataclass(slots=True, kw_only=True)
class RunSeen:
    """One run of a session: the messages that it yielded, and how it ended."""

    name: str
    messages: list[Any] = field(default_factory=list)
    error: Raised | None = None
    seconds: float = 0.0
    tasks_left: int = 0
    ended: bool = False


@dataclass(slots=True, kw_only=True)
class Record:
    """Everything that a check saw. The adapters fill it, the expectations read it."""

    run: str = "first"
    ran: list[Ran] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    runs: list[RunSeen] = field(default_factory=list)
    raised: list[Raised] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    requests_at_decision: int | None = None
    session_id: str | None = None
    saved: list[dict[str, Any]] | None = None
    saved_before: list[dict[str, Any]] | None = None
    entries: list[dict[str, Any]] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    pending_inputs: dict[str, Any] = field(default_factory=dict)
    pending_in_copy: list[str] = field(default_factory=list)
    loads_again: str | None = None
    verdicts: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def absorb(self, other: Record) -> None:
        """Take over what a part of the check in another process saw."""
        for name in ("ran", "asked", "heard", "sent", "runs", "raised", "warnings", "remarks", "verdicts"):
            getattr(self, name).extend(getattr(other, name))
        self.session_id = other.session_id or self.session_id
        self.facts.update(other.facts)

    def begin_lost_run(self, name: str) -> None:
        """A run of which only outside traces are left: its process was killed."""
        self.run = name
        self.runs.append(RunSeen(name=name))

    @property
    def diagnostics(self) -> list[str]:
        """All warnings and errors that reached the application."""
        return self.warnings + [f"{error.type}: {error.text}" for error in self.raised]

    def requests(self, *runs: str, sub: bool = False) -> list[dict[str, Any]]:
        """The requests of the named runs (all when none is named), of the main agent or of sub-agents."""
        return [sent.body for sent in self.sent if sent.sub == sub and (not runs or sent.run in runs)]

    def left_open(self) -> list[str]:
        """The calls that the last run left parked: answered ones too, when they could not be settled."""
        ends = [message for run in self.runs[-1:] for message in run.messages if isinstance(message, ResultMessage)]
        return [call.id for end in ends[-1:] for call in end.deferred_tool_uses]

    def later_requests(self, *, sub: bool = False) -> list[dict[str, Any]]:
        """The requests of the runs after the one that parked the session, or that was the only one."""
        return [sent.body for sent in self.sent if sent.sub == sub and sent.run not in BEFORE_PARK]
