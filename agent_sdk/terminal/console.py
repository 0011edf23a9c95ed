"""One terminal: plain lines out, a line in, one conversation at a time."""

from __future__ import annotations

import contextlib
import sys
import termios
from collections.abc import AsyncIterator
from typing import TextIO

import anyio

from agent_sdk.render.text import visible
from agent_sdk.terminal.lines import LineReader, LineTooLong

PROMPT = "> "


class InputEnded(Exception):
    """The input ended before the person answered. Nobody said anything, so nothing counts as said."""


class Console:
    """What a prompt needs of a terminal. Share one between all that talk to the same terminal.

    Output is written as plain lines: no colours, no boxes, no cursor movement. Characters that the output's encoding
    lacks are escaped. `output=None` is standard output, looked up at every use; likewise the reader's input.
    """

    def __init__(self, *, reader: LineReader | None = None, output: TextIO | None = None) -> None:
        self._reader = reader or LineReader()
        self._output = output
        self._turn = anyio.Lock()

    @contextlib.asynccontextmanager
    async def conversation(self) -> AsyncIterator[None]:
        """Wait for the terminal and keep it until the block is left.

        When the block is cancelled, a line says that no answer is needed any more, and a half-typed line is dropped.
        """
        async with self._turn:
            try:
                yield
            except anyio.get_cancelled_exc_class():
                with contextlib.suppress(OSError, ValueError, termios.error):
                    self.say("", "(no longer needed)")
                    self._reader.discard_typed()
                raise

    @property
    def waiting(self) -> int:
        """How many conversations wait for this one to end."""
        return self._turn.statistics().tasks_waiting

    def say(self, *lines: str) -> None:
        """Write lines. The caller has made model text visible."""
        self._write("".join(f"{line}\n" for line in lines))

    def forget_typed(self) -> None:
        """Drop what was typed before now: it was meant for something else. Call it when all is shown."""
        self._reader.discard_typed()

    async def ask(self, prompt: str = PROMPT) -> str:
        """Write the prompt and return the next line. A line that is too long is refused with a word, and asked again.

        Raises InputEnded at the end of the input.
        """
        while True:
            self._write(prompt)
            try:
                line = await self._reader.read()
            except LineTooLong as error:
                self.say("", str(error))
                continue
            if line is None:
                self.say("")
                raise InputEnded
            if not self._reader.is_terminal:
                self.say(visible(line))
            return line

    def _write(self, text: str) -> None:
        output = sys.stdout if self._output is None else self._output
        encoding = output.encoding or "utf-8"
        output.write(text.encode(encoding, errors="backslashreplace").decode(encoding))
        output.flush()
