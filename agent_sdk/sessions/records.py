"""What stores keep: values only, with their JSON forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

from agent_sdk.calls import CallKey, ToolResult
from agent_sdk.decisions import Allow, Deny
from agent_sdk.errors import DeferralError
from agent_sdk.values import Json, JsonObject, to_text

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(moment: datetime) -> int:
    """Microseconds since 1970 of an aware datetime, exact. Raises TypeError for a naive one."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment(micros_: int) -> datetime:
    """The datetime (UTC) of so many microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=micros_)


Entry: TypeAlias = JsonObject
"""One line of a transcript: `{"type", "uuid", "timestamp", …}`; `uuid` is unique within its key, so that storing an
entry twice stores it once. Types `user` and `assistant` hold `message`, the very message that is sent to the model;
`permission` holds a verdict and its trace; `state` holds what a resume restores (mode, model, system prompt, tools)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to run a session. `fence` grows with every claim: a stale claim writes nothing."""

    session_id: str
    owner: str
    fence: int
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledCall:
    """A call of the open turn whose verdict is known: what it needs to run, or the result it already has.

    `by_person` marks a person's yes, which outlives a crash; any other approval is judged again. `result` is set for
    calls that do not run (denied, answered from outside).
    """

    key: CallKey
    tool: str
    effective: JsonObject
    cwd: str
    digest: str
    behavior: Literal["allow", "deny"]
    by: str
    by_person: bool = False
    note: JsonObject | None = None
    state: str | None = None
    result: ToolResult | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was answered to a parked call: a decision, or a result from outside that stands for running the tool.

    `at` is set by the store. Raises DeferralError unless exactly one of `decision` and `result` is given.
    """

    decision: Allow | Deny | None = None
    result: ToolResult | None = None
    by: str | None = None
    at: datetime | None = None

    def __post_init__(self) -> None:
        if (self.decision is None) == (self.result is None):
            raise DeferralError("an answer is a decision or a result: give exactly one of them")


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingApproval:
    """A parked call, with all that a person needs to answer it.

    `tool_input` is the input as it would run, `original_input` the model's. `digest` binds an answer to what was shown.
    `created_at` and `expires_at` are aware datetimes by the store's clock (`DeferralStore.now`). A call that is asked
    anew gets a new `created_at`: an answer to the older approval does not count for it. `input_schema` is the tool's,
    so that edits can be checked where the tool is not at hand. `unknown`: the call was started before and its outcome
    is not known: only a person may let it run again. `answer` is set once one was accepted and not yet used.
    """

    session_id: str
    agent_path: tuple[str, ...] = ()
    message_uuid: str
    tool_use_id: str
    tool_name: str
    tool_input: JsonObject
    original_input: JsonObject
    cwd: str
    digest: str
    reason: str = ""
    suggestions: Sequence[JsonObject] = ()
    questions: Sequence[JsonObject] = ()
    created_at: datetime
    expires_at: datetime | None = None
    state: str | None = None
    trace: Sequence[JsonObject] = ()
    input_schema: JsonObject | None = None
    unknown: bool = False
    answer: Answer | None = None

    @property
    def cursor(self) -> str:
        """The place of this approval in a listing, for `DeferralStore.pending(after=...)`. Opaque."""
        place: list[Json] = [
            micros(self.created_at),
            self.session_id,
            list(self.agent_path),
            self.message_uuid,
            self.tool_use_id,
        ]
        return to_text(place)

    @property
    def key(self) -> CallKey:
        """The name of the call, as the journal knows it."""
        return CallKey(
            session_id=self.session_id,
            agent_path=self.agent_path,
            message_uuid=self.message_uuid,
            tool_use_id=self.tool_use_id,
        )


@dataclass(frozen=True, slots=True)
class Run:
    """The journal's answer: not started before, and now marked as started. Go."""


@dataclass(frozen=True, slots=True)
class Done:
    """The journal's answer: it ran; this is its result. Do not run it again."""

    result: ToolResult


@dataclass(frozen=True, slots=True)
class Unknown:
    """The journal's answer: it was started and never finished; what happened is unknown. It does not run by itself."""


Begun: TypeAlias = Run | Done | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTurn:
    """What a store knows of a session's open turns (one, and one more for every sub-agent in the middle of its own).

    `started` names the calls that were begun and have no result: their outcome is unknown. `done` holds those with a
    result. `effective` has the input that was begun with, for both.
    """

    settled: Mapping[CallKey, SettledCall] = field(default_factory=dict)
    pending: Mapping[CallKey, PendingApproval] = field(default_factory=dict)
    done: Mapping[CallKey, ToolResult] = field(default_factory=dict)
    started: frozenset[CallKey] = frozenset()
    effective: Mapping[CallKey, JsonObject] = field(default_factory=dict)
