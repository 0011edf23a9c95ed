"""A program on a pseudo-terminal, and its screen as a person sees it: as lines of text, kept as files."""

from __future__ import annotations

import os
import re
import sys
import termios
import time
from pathlib import Path

import pexpect
import pyte

SCREENS = Path(__file__).parent / "screens"
READS = 0.4
"""Seconds that a person takes at least to read a card; the prompt itself ignores keys for a little less."""


class Terminal:
    """Python code on a terminal of this size. Keys are sent as a terminal sends them."""

    def __init__(self, code: str, *arguments: str, columns: int = 100, rows: int = 30, **environment: str) -> None:
        kept = {name: value for name, value in os.environ.items() if name not in ("VISUAL", "EDITOR", "NO_COLOR")}
        env = {**kept, "TERM": "xterm-256color", "PYTHONPATH": os.getcwd(), **environment}
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.Stream(self.screen)
        self.child = pexpect.spawn(
            sys.executable, ["-c", code, *arguments], env=env, dimensions=(rows, columns), timeout=20, encoding="utf-8",
            codec_errors="replace",
        )  # fmt: skip
        self.raw = ""

    def read(self, seconds: float = 0.1) -> None:
        """Take in what the program wrote within this time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                written = self.child.read_nonblocking(65_536, timeout=left)
            except (pexpect.TIMEOUT, pexpect.EOF):
                if not self.child.isalive():
                    return
                continue
            self.raw += written
            self._stream.feed(written)

    @property
    def lines(self) -> list[str]:
        """The screen, without blanks at the ends and empty lines at the bottom."""
        lines = [line.rstrip() for line in self.screen.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def text(self) -> str:
        """The screen as one text."""
        return "\n".join(self.lines)

    def sees(self, words: str, *, within: float = 15.0) -> None:
        """Wait until the words are on the screen. Raises AssertionError with the screen when they never are."""
        end = time.monotonic() + within
        while words not in self.text:
            assert time.monotonic() < end, f"{words!r} is not on the screen:\n{self.text}"
            self.read(0.05)

    def asks(self, words: str) -> None:
        """Wait for a new prompt that shows these words, and take the time to read it."""
        self.sees(words)
        self.read(READS)

    def press(self, *keys: str) -> None:
        """Press keys, one after the other: names of `KEYS`, or text as it is typed."""
        for key in keys:
            self.child.send(KEYS.get(key, key))
            self.read(0.25 if key == "escape" else 0.08)

    @property
    def decision(self) -> str:
        """What the program printed behind `DECISION`, whatever line breaks the terminal made. Waits for it."""
        end = time.monotonic() + 15
        while not (found := re.findall(r"DECISION (.*?)\r?\n", self.raw, re.DOTALL)):
            assert time.monotonic() < end, f"there is no decision:\n{self.text}"
            self.read(0.05)
        return str(found[-1])

    def is_restored(self) -> bool:
        """Whether lines are read and echoed again."""
        flags = termios.tcgetattr(self.child.child_fd)[3]
        return bool(flags & termios.ICANON) and bool(flags & termios.ECHO)

    def close(self) -> None:
        """End the program and its terminal."""
        self.child.close(force=True)


KEYS = {
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "pagedown": "\x1b[6~",
    "pageup": "\x1b[5~",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "space": " ",
    "c-c": "\x03",
    "c-d": "\x04",
    "c-u": "\x15",
    "c-x": "\x18",
}


def compare(text: str, name: str) -> None:
    """The text must be what `screens/<name>.txt` holds. `UPDATE_SCREENS=1` in the environment writes it anew."""
    path = SCREENS / f"{name}.txt"
    if os.environ.get("UPDATE_SCREENS"):
        SCREENS.mkdir(exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    assert text == path.read_text(encoding="utf-8").removesuffix("\n")


ASK = """
import sys, json, os, anyio
from datetime import UTC, datetime, timedelta
from agent_sdk.decisions import Considered, PermissionContext, PermissionRule, PermissionUpdate
from agent_sdk.terminal import TerminalApprover
case = json.loads(sys.argv[2])
async def main():
    approver = TerminalApprover(**case.get("approver", {}))
    async def asked(tool, tool_input):
        known = dict(case.get("context", {}))
        if "seconds" in case:
            known["deadline"] = datetime.now(UTC) + timedelta(seconds=case["seconds"])
        known["trace"] = (Considered(step="deny_rules"), Considered(step="ask_rules", said="ask", by="Bash(rm *)"))
        known["suggestions"] = [
            PermissionUpdate(type="addRules", destination=place, behavior="allow", rung=rung, covers=covers,
                rules=(PermissionRule(*rule),))
            for place, rung, covers, *rule in case.get("suggestions", [])
        ]
        if "agent_path" in known:
            known["agent_path"] = tuple(known["agent_path"])
        context = PermissionContext(tool_use_id="t", session_id="s", **known)
        decision = await approver(tool, tool_input, context)
        print("DECISION", repr(decision), flush=True)
    with anyio.move_on_after(case.get("cancel_after", 1e9)) as scope:
        async with anyio.create_task_group() as tasks:
            for tool, tool_input in case["calls"]:
                tasks.start_soon(asked, tool, tool_input)
    if scope.cancelled_caught:
        print("DECISION cancelled", flush=True)
anyio.run(main, backend=sys.argv[1])
"""
