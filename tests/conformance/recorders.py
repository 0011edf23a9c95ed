"""Tools that never do anything: each notes its call and answers `ok`.

A recorder is our built-in tool of that name with its work taken out, so that input checks and what the rules know of
the tool are the real ones. This is the one module of the runner that looks at the package's own tools.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio

from agent_sdk import Tool, ToolContext, ToolResult
from agent_sdk.tools.builtin import BUILTIN_TOOLS
from agent_sdk.tools.schema import compile_check
from tests.conformance.record import Ran, Record

ANY_OBJECT: Mapping[str, Any] = {"type": "object"}
REAL = ("AskUserQuestion", "Agent")
READ_ONLY = ("Slow", "Fast")
SLOW_SECONDS = 1.0


@dataclass(slots=True, kw_only=True)
class Workbench:
    """Makes recorders. `inside` is awaited in every call, after it was noted: a case may do something meanwhile.

    `journal` is a file to which each call is also written, for processes that do not live to tell.
    """

    record: Record
    tool_schema: Mapping[str, Any] | None = None
    stub_tools: frozenset[str] = frozenset()
    inside: Callable[[Ran], Any] | None = None
    journal: Path | None = None
    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def tools(self, names: list[str]) -> list[str | Tool]:
        """What goes into `AgentOptions(tools=...)` for these names. The tools that talk to people stay real."""
        return [name if name in REAL and name not in self.stub_tools else self.recorder(name) for name in names]

    def recorder(self, name: str) -> Tool:
        """The recorder under this name."""

        async def run(tool_input: Any, context: ToolContext) -> ToolResult:
            return await self._run(name, tool_input, context)

        known = BUILTIN_TOOLS.get(name)
        schema = self._schema(name)
        if known is not None:
            tool = replace(known, run=run)
            return tool if schema is None else replace(tool, input_schema=schema, check=compile_check(schema))
        schema = schema or ANY_OBJECT
        return Tool(
            name=name,
            description=f"The tool {name} of a case.",
            input_schema=schema,
            run=run,
            check=compile_check(schema),
            read_only=name in READ_ONLY,
        )

    def _schema(self, name: str) -> Mapping[str, Any] | None:
        """The schema that takes the built-in's place; `None` for none."""
        if name in self.schemas:
            return self.schemas[name]
        if self.tool_schema is not None:
            return self.tool_schema
        return ANY_OBJECT if name in self.stub_tools else None

    async def _run(self, name: str, tool_input: Any, context: ToolContext) -> ToolResult:
        ran = Ran(id=context.tool_use_id, tool=name, input=dict(tool_input), run=self.record.run)
        self.record.ran.append(ran)
        if self.journal is not None:
            note(self.journal, ran)
        if self.inside is not None:
            await self.inside(ran)
        if name == "Slow":
            await anyio.sleep(SLOW_SECONDS)
        return ToolResult("ok")


def note(journal: Path, ran: Ran) -> None:
    """Add a call to the journal file, durably."""
    line = json.dumps({"id": ran.id, "tool": ran.tool, "input": ran.input, "run": ran.run})
    with journal.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


def noted(journal: Path) -> list[Ran]:
    """The calls in a journal file."""
    if not journal.exists():
        return []
    return [Ran(**json.loads(line)) for line in journal.read_text(encoding="utf-8").splitlines()]
