"""What the model asked for, every reading of it, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from agent_sdk.values import Json, JsonObject, digest, quickly_made


@dataclass(frozen=True, slots=True, kw_only=True)
class CallKey:
    """Names one call for ever. The id alone is not enough: another session or message may use it again."""

    session_id: str
    agent_path: tuple[str, ...]
    message_uuid: str
    tool_use_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """What the rules must know of a tool.

    `writes` and `reads` name the input field that holds the path of the file which the tool writes or reads.
    `interaction` is true when a person has to take part: no rule or mode answers for them.
    """

    name: str
    read_only: bool = False
    interaction: bool = False
    writes: str | None = None
    reads: str | None = None


@quickly_made
@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """One call. Never edited: a rewrite is a new value, `said` stays what the model said.

    `said` is replayed to the model; `effective` is what hooks and people made of it: the input that is judged, digested
    and run. `cwd` is where it was judged and where it runs. `index` is its place among the calls of its message.
    """

    id: str
    tool: str
    said: JsonObject
    effective: JsonObject
    cwd: str
    message_uuid: str = ""
    session_id: str = ""
    agent_path: tuple[str, ...] = ()
    index: int = 0

    @property
    def key(self) -> CallKey:
        """The name under which the journal and the pending approvals know this call."""
        return CallKey(
            session_id=self.session_id,
            agent_path=self.agent_path,
            message_uuid=self.message_uuid,
            tool_use_id=self.id,
        )

    def rewritten(self, new: JsonObject) -> ToolCall:
        """The same call with another effective input."""
        return replace(self, effective=new)

    def digest(self, schema_digest: str, state: str | None = None) -> str:
        """What an approval is bound to: the tool, the input that would run, the tool's schema.

        And the `state` of the file, when the approval is bound to one.
        """
        shown: list[Json] = [self.tool, self.effective, schema_digest]
        return digest(shown if state is None else [*shown, state])


ResultContent: TypeAlias = str | Sequence[JsonObject]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool, or the gate in front of it, tells the model.

    `content` is text or content blocks (`text`, `image`). `value` is the structured value behind it for the
    application (`UserMessage.tool_use_result`); the model never sees it.
    """

    content: ResultContent
    is_error: bool = False
    value: Json = None
