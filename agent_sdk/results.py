"""Tool results as the Messages API takes them: one user message, results first, in call order, one for every call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from agent_sdk.calls import ToolResult
from agent_sdk.decisions import Words, is_text_or_image
from agent_sdk.values import Json, JsonObject, copied, copied_object, to_text

NO_OUTPUT = "(no output)"
_OTHER_BLOCKS = ("document", "search_result", "tool_reference")


def with_note(result: ToolResult, note: Words | None) -> ToolResult:
    """The result with the approver's words added as blocks of their own."""
    if not note:
        return result
    added: list[JsonObject] = (
        [{"type": "text", "text": note}] if isinstance(note, str) else [copied_object(block) for block in note]
    )
    return replace(result, content=[*_blocks(result), *added])


def sendable_result(value: object) -> ToolResult | None:
    """A copy of what a tool gave back, or `None` when it is no `ToolResult`, or one that nobody could store or send."""
    if not isinstance(value, ToolResult):
        return None
    try:
        content = str.__str__(value.content) if isinstance(value.content, str) else _copied_blocks(value.content)
        return ToolResult(content, is_error=bool(value.is_error), value=copied(value.value))
    except (TypeError, ValueError, RecursionError):
        return None


def _copied_blocks(blocks: Iterable[object]) -> list[JsonObject]:
    """Raises TypeError for anything but blocks that may stand in a result."""
    if isinstance(blocks, Mapping):
        raise TypeError("content is text, or a list of blocks")
    return [copied_object(_may_stand(block)) for block in blocks]


def _may_stand(block: object) -> JsonObject:
    if isinstance(block, Mapping) and (is_text_or_image(block) or block.get("type") in _OTHER_BLOCKS):
        return block
    raise TypeError("a result holds text and image blocks")


def output_of(result: ToolResult) -> Json:
    """The content as JSON."""
    return result.content if isinstance(result.content, str) else list(result.content)


def with_output(result: ToolResult, output: Json) -> ToolResult:
    """The result with other content: text or content blocks; anything else is shown as text."""
    if isinstance(output, str):
        return replace(result, content=output)
    if isinstance(output, Sequence) and output and all(is_text_or_image(block) for block in output):
        return replace(result, content=[block for block in output if isinstance(block, Mapping)])
    return replace(result, content=to_text(output))


def results_content(
    ids: Sequence[str], results: Mapping[str, ToolResult], more: Sequence[JsonObject], missing: str
) -> list[JsonObject]:
    """The content of the user message that answers the calls `ids`; a call without a result reads `missing`.

    An error result holds text only: its images follow after all results. The blocks `more` come last.
    """
    blocks: list[JsonObject] = []
    images: list[JsonObject] = []
    for call_id in ids:
        result = results.get(call_id) or ToolResult(missing, is_error=True)
        if result.is_error and not isinstance(result.content, str):
            images += [block for block in result.content if block.get("type") == "image"]
        blocks.append(
            {
                "type": "tool_result",
                "tool_use_id": call_id,
                "content": _sendable(result),
                "is_error": result.is_error,
            }
        )
    return [*blocks, *images, *more]


def value_of(ids: Sequence[str], results: Mapping[str, ToolResult]) -> Json:
    """The structured value behind the results: of the only call that has one, else by call id."""
    values = {call_id: result.value for call_id in ids if (result := results.get(call_id)) and result.value is not None}
    return next(iter(values.values())) if len(values) == 1 else values or None


def _blocks(result: ToolResult) -> list[JsonObject]:
    if isinstance(result.content, str):
        return [{"type": "text", "text": result.content}] if result.content.strip() else []
    return list(result.content)


def _sendable(result: ToolResult) -> str | list[JsonObject]:
    """Content without empty text; an error holds nothing but text."""
    if isinstance(result.content, str):
        return result.content if result.content.strip() else _nothing(result)
    kept = [
        block
        for block in result.content
        if (str(block.get("text", "")).strip() if block.get("type") == "text" else not result.is_error)
    ]
    return kept or _nothing(result)


def _nothing(result: ToolResult) -> str:
    return "The call failed without a message." if result.is_error else NO_OUTPUT
