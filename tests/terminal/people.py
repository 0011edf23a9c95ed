"""A person at a pipe: what they type is known beforehand, what they see is kept."""

from __future__ import annotations

import io
import os
from typing import Any

from agent_sdk.decisions import Allow, Defer, Deny, PermissionContext
from agent_sdk.terminal import TerminalApprover


def context(**known: Any) -> PermissionContext:
    """The context of a call in the main agent, with whatever else is known."""
    return PermissionContext(tool_use_id="toolu_1", session_id="s", **known)


class Person:
    """Types lines into a pipe that an approver reads. `seen` is what has been shown so far."""

    def __init__(self, *lines: str, ends: bool = True, by: str | None = None) -> None:
        self._reading, self._writing = os.pipe()
        self.screen = io.StringIO()
        self.approver = TerminalApprover(input=self._reading, output=self.screen, by=by)
        self.types(*lines)
        if ends:
            self.leaves()

    @property
    def seen(self) -> str:
        return self.screen.getvalue()

    def types(self, *lines: str) -> None:
        """Types whole lines."""
        data = "".join(f"{line}\n" for line in lines)
        os.write(self._writing, data.encode("utf-8", errors="surrogateescape"))

    def leaves(self) -> None:
        """Ends the input."""
        if self._writing >= 0:
            os.close(self._writing)
            self._writing = -1

    async def asked(self, tool: str, tool_input: dict[str, Any], **known: Any) -> Allow | Deny | Defer:
        """Asks about one call."""
        return await self.approver(tool, tool_input, context(**known))

    def __enter__(self) -> Person:
        return self

    def __exit__(self, *_: object) -> None:
        self.leaves()
        os.close(self._reading)
