"""One terminal: plain lines out, a line in, one conversation at a time."""

from __future__ import annotations

import contextlib
import os
import sys
import termios
from collections.abc import AsyncIterator, Callable, Iterator
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
        self._held: list[str] | None = None
        self._shown = False
        self.before_writing: Callable[[], None] = lambda: None

    @contextlib.asynccontextmanager
    async def conversation(self) -> AsyncIterator[bool]:
        """Wait for the terminal and keep it until the block is left. The value tells whether it had to be waited for.

        When the block is cancelled after something was shown, a line says that no answer is needed any more, and a
        half-typed line is dropped.
        """
        waited = self._turn.locked()
        async with self._turn:
            self.before_writing()
            self._shown = False
            try:
                yield waited
            except anyio.get_cancelled_exc_class():
                if not self._shown:
                    raise
                with contextlib.suppress(OSError, ValueError, termios.error):
                    self.say("", "(no longer needed)")
                    self._reader.discard_typed()
                raise

    @property
    def waiting(self) -> int:
        """How many conversations wait for this one to end."""
        return self._turn.statistics().tasks_waiting

    @property
    def busy(self) -> bool:
        """True while a conversation is held."""
        return self._turn.locked()

    @property
    def has_ended(self) -> bool:
        """True when nobody can ever answer: no terminal, and nothing is left to be read. Does not wait."""
        return self._reader.has_ended

    @property
    def output(self) -> TextIO:
        """Where lines are written."""
        return sys.stdout if self._output is None else self._output

    @property
    def handle(self) -> int | None:
        """The descriptor that is read from; `None` when there is none."""
        return self._reader.handle

    @property
    def is_terminal(self) -> bool:
        """True when a person types, and sees what is written."""
        with contextlib.suppress(OSError, ValueError):
            return self._reader.is_terminal and os.isatty(self.output.fileno())
        return False

    @contextlib.contextmanager
    def drawn_on(self) -> Iterator[None]:
        """While somebody else draws on the terminal: what is said meanwhile is written when they are done."""
        self._held = []
        self._shown = True
        try:
            yield
        finally:
            held, self._held = self._held, None
            with contextlib.suppress(OSError, ValueError):
                self._write("".join(held))

    def say(self, *lines: str) -> None:
        """Write lines. The caller has made model text visible."""
        self._write("".join(f"{line}\n" for line in lines))

    def stream(self, text: str) -> None:
        """Write text as it comes, without a line end. The caller has made model text visible."""
        self._write(text)

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
                with contextlib.suppress(OSError, ValueError):
                    self.say("")
                raise InputEnded
            if not self._reader.is_terminal:
                self.say(visible(line))
            return line

    def _write(self, text: str) -> None:
        if self._held is not None:
            self._held.append(text)
            return
        if not text:
            return
        self.before_writing()
        self._shown = True
        output = self.output
        encoding = output.encoding or "utf-8"
        output.write(text.encode(encoding, errors="backslashreplace").decode(encoding))
        output.flush()
