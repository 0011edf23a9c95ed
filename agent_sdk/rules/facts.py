"""What the rules must know of tools by name, for calls that are judged without the tool at hand."""

from __future__ import annotations

from agent_sdk.calls import ToolFacts

_KNOWN = {
    facts.name: facts
    for facts in (
        ToolFacts(name="Read", read_only=True, reads="file_path"),
        ToolFacts(name="Write", writes="file_path"),
        ToolFacts(name="Edit", writes="file_path"),
        ToolFacts(name="MultiEdit", writes="file_path"),
        ToolFacts(name="NotebookEdit", writes="notebook_path"),
        ToolFacts(name="NotebookRead", read_only=True, reads="notebook_path"),
        ToolFacts(name="Glob", read_only=True, reads="path"),
        ToolFacts(name="Grep", read_only=True, reads="path"),
        ToolFacts(name="LS", read_only=True, reads="path"),
        ToolFacts(name="AskUserQuestion", read_only=True, interaction=True),
        ToolFacts(name="WebFetch", read_only=True),
        ToolFacts(name="WebSearch", read_only=True),
        ToolFacts(name="Bash"),
        ToolFacts(name="Agent"),
        ToolFacts(name="Task"),
    )
}


KNOWN_TOOLS = frozenset(_KNOWN)
"""The names of all well-known tools."""


def known_facts(tool_name: str) -> ToolFacts:
    """The facts of a well-known tool. Any other name is taken for a tool that may change things."""
    return _KNOWN.get(tool_name) or ToolFacts(name=tool_name)


def misnamed(tool_name: str) -> str | None:
    """What to tell the author of a rule for a tool whose name looks like a mistaken one; `None` for any other name."""
    near = near_tool(tool_name)
    return None if near is None else f"names no well-known tool; did you mean {near}? Names are case-sensitive"


def near_tool(name: str) -> str | None:
    """The well-known tool that a name differs from by its case, one letter, or two that changed places.

    `None` for a well-known name, and for one that is like no other.
    """
    if name in KNOWN_TOOLS or "*" in name:
        return None
    low = name.lower()
    return next((known for known in KNOWN_TOOLS if len(known) > 3 and _one_slip(low, known.lower())), None)


def _one_slip(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 1:
        return False
    short, long = sorted((one, other), key=len)
    start = next((place for place, char in enumerate(short) if char != long[place]), len(short))
    if len(short) < len(long):
        return short[start:] == long[start + 1 :]
    rest = short[start + 1 :] == long[start + 1 :]
    return rest or (
        short[start : start + 2] == long[start : start + 2][::-1] and short[start + 2 :] == long[start + 2 :]
    )
