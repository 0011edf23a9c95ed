"""The process that searches: a regular expression that never ends is killed with it.

Run as a script, with the standard library only. Reads one line from stdin, a JSON object (`pattern`, `files`, `limit`,
`seconds`). Ends by itself when that time is up, and on Linux at once when stdin is closed, as it is by the death of
the application: both without Python's doing, which could not interrupt a search. Writes one JSON value a line:
`[file number, line number, text]` for each of the first `limit` lines that match, and at the end `{"more", "binary",
"large", "unreadable"}`, or `{"error"}` alone.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import resource
import select
import signal
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress

MAX_FILE_BYTES = 20_000_000
MAX_LINE = 10_000
SHOWN = 500
MAX_MEMORY = 2_000_000_000
_SNIFFED = 8_192


def main() -> None:
    """Answer the one request on stdin."""
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    request = json.loads(sys.stdin.buffer.readline())
    end_in_time(request["seconds"])
    try:
        pattern = re.compile(request["pattern"])
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        say({"error": str(error) or type(error).__name__})
        return
    counts = {"more": 0, "binary": 0, "large": 0, "unreadable": 0}
    room = request["limit"]
    for number, path in enumerate(request["files"]):
        for line, text in matches(path, pattern, counts):
            if room > 0:
                say([number, line, text])
                room -= 1
            else:
                counts["more"] += 1
        sys.stdout.flush()
    say(counts)


def end_in_time(seconds: int) -> None:
    """Have the system end this process after so many seconds, and as soon as stdin is closed at its other end."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGIO, signal.SIG_DFL)  # ends the process on Linux; elsewhere it may mean nothing
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM, signal.SIGIO})
    signal.alarm(seconds)
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([0], [], [], 0)[0]:  # it was closed before we asked to be told
        sys.exit()


def matches(path: str, pattern: re.Pattern[str], counts: dict[str, int]) -> Iterator[tuple[int, str]]:
    """The lines of a file that match, with their numbers, cut for showing. Only their first part is searched."""
    try:
        data = content(path)
    except (OSError, ValueError):
        counts["unreadable"] += 1
        return
    if data is None:
        counts["large"] += 1
    elif b"\0" in data[:_SNIFFED]:
        counts["binary"] += 1
    else:
        for number, raw in enumerate(io.BytesIO(data), 1):
            line = raw[: MAX_LINE * 4].rstrip(b"\r\n").decode("utf-8", "replace")[:MAX_LINE]
            if pattern.search(line):
                yield number, line if len(line) <= SHOWN else line[:SHOWN] + "…"


def content(path: str) -> bytes | None:
    """The content of a regular file, `None` when it is too large. Opens no link, waits for nothing. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not a regular file")
        data = file.read(MAX_FILE_BYTES + 1)
        return data if len(data) <= MAX_FILE_BYTES else None


def say(value: object) -> None:
    """One line of the answer."""
    sys.stdout.write(json.dumps(value) + "\n")


if __name__ == "__main__":
    main()
