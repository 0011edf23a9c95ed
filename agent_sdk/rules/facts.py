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
