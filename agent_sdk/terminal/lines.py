"""Cancellable line input for terminals, pipes and files, on asyncio and trio.

No thread is involved, so none is left behind to eat the next line.
"""

from __future__ import annotations

import errno
import os
import select
import sys
import termios
from typing import TextIO

import anyio
from anyio.lowlevel import checkpoint

MAX_BYTES = 1_000_000
TERMINAL_BYTES = 4_095
"""A terminal drops what does not fit into its line buffer without a word, so a line of this length is incomplete."""
_CHUNK = 65_536


class LineTooLong(ValueError):
    """A line was longer than what can be taken whole. All of it was thrown away, up to its end."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"That line has {limit:,} bytes or more and cannot be taken whole.")
        self.limit = limit


class LineReader:
    """Lines from a file descriptor or an open file.

    Bytes are read straight from the descriptor, past the buffer of a Python file object, and what is left over stays
    for the next `read`. A cancelled `read` loses nothing. Standard input (`None`) is looked up at every `read`.
    """

    def __init__(self, source: TextIO | int | None = None) -> None:
        self._source = source
        self._pending = bytearray()
        self._skipping = False

    @property
    def is_terminal(self) -> bool:
        """True when a person types."""
        handle = self.handle
        return handle is not None and os.isatty(handle)

    async def read(self) -> str | None:
        """The next line without its end, or `None` when the input has ended, is closed or was never there.

        Broken UTF-8 becomes U+FFFD. A last line without a line end counts as a line.
        Raises LineTooLong for a line of `MAX_BYTES` or more (`TERMINAL_BYTES` on a terminal).
        """
        await checkpoint()
        handle = self.handle
        if handle is None:
            return None
        limit = TERMINAL_BYTES if os.isatty(handle) else MAX_BYTES
        while (end := self._pending.find(b"\n")) < 0:
            if len(self._pending) >= limit:
                self._pending.clear()
                self._skipping = True
            chunk = await _chunk(handle)
            if not chunk:
                return self._last(limit)
            self._pending += chunk
        line = bytes(self._pending[:end])
        del self._pending[: end + 1]
        return self._checked(line, limit)

    @property
    def has_ended(self) -> bool:
        """True when `read` could only say so. Does not wait; a pipe whose writer is still there has not ended."""
        handle = self.handle
        if handle is None:
            return True
        if self._pending or self._skipping or os.isatty(handle):
            return False
        try:
            if not select.select([handle], [], [], 0)[0]:
                return False
            chunk = os.read(handle, _CHUNK)
        except (BlockingIOError, ValueError):  # select knows no descriptors beyond 1023
            return False
        except OSError:
            return True
        self._pending += chunk
        return not chunk

    def discard_typed(self) -> None:
        """Forget what was typed into a terminal so far. Pipes and files keep their lines, put there on purpose.

        Raises termios.error when the terminal is gone.
        """
        handle = self.handle
        if handle is not None and os.isatty(handle):
            self._pending.clear()
            self._skipping = False
            termios.tcflush(handle, termios.TCIFLUSH)

    def _last(self, limit: int) -> str | None:
        line = bytes(self._pending)
        self._pending.clear()
        return self._checked(line, limit) if line or self._skipping else None

    def _checked(self, line: bytes, limit: int) -> str:
        skipped, self._skipping = self._skipping, False
        if skipped or len(line) >= limit:
            raise LineTooLong(limit)
        return line.decode("utf-8", errors="replace").removesuffix("\r")

    @property
    def handle(self) -> int | None:
        """The descriptor that is read; `None` when the input is closed or was never there."""
        source = sys.stdin if self._source is None else self._source
        if source is None or isinstance(source, int):
            return source
        try:
            return source.fileno()
        except (OSError, ValueError):
            return None


async def _chunk(handle: int) -> bytes:
    """The next bytes; `b""` at the end of the input, when it is closed, and when its terminal is gone."""
    while True:
        try:
            await anyio.wait_readable(handle)
        except PermissionError:
            pass  # regular files and /dev/null cannot be waited for, and never make one wait
        except (OSError, ValueError, anyio.ClosedResourceError):
            return b""
        try:
            return os.read(handle, _CHUNK)
        except BlockingIOError:
            continue
        except OSError as error:
            if error.errno in (errno.EIO, errno.EBADF):
                return b""
            raise
