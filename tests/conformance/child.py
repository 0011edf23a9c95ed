"""Runs a function in a fresh process, or as another user; its result comes back whole, or None when it was killed.

python -m tests.conformance.child RESULT_FILE < CALL
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
NOBODY = 65534
LIMIT_SECONDS = 29


class ChildFailed(AssertionError):
    """The other process ended with an error of its own."""


def in_fresh_process(function: Callable[..., Any], *arguments: Any, may_die: bool = False) -> Any:
    """`function(*arguments)` in a fresh process. `function` and all values must be picklable.

    With `may_die` the result is None when the process was ended before it had one. Raises ChildFailed.
    """
    with started(function, *arguments) as process:
        return process.result(may_die=may_die)


class started:
    """A function that runs in a fresh process, for as long as the `with` block lasts."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._call = pickle.dumps((function, arguments))

    def __enter__(self) -> started:
        self._folder = tempfile.TemporaryDirectory(prefix="conformance-child-")
        self._file = Path(self._folder.name) / "result"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.conformance.child", str(self._file)],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert self._process.stdin is not None
        self._process.stdin.write(self._call)
        self._process.stdin.close()
        return self

    def result(self, *, may_die: bool = False) -> Any:
        """Wait for the function to end. Raises ChildFailed when it failed, or took too long."""
        assert self._process.stdout is not None
        output = self._process.stdout.read()
        status = self._process.wait(timeout=LIMIT_SECONDS)
        if self._file.exists():
            return pickle.loads(self._file.read_bytes())
        if may_die and status != 1:
            return None
        raise ChildFailed(f"the process ended with status {status}:\n{output.decode(errors='replace')}")

    def __exit__(self, *error: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._folder.cleanup()


def as_other_user(function: Callable[..., Any], *arguments: Any) -> Any:
    """`function(*arguments)` in a forked process without root's rights; directly when we are not root.

    Root is not stopped by mode bits. The fork keeps every module that is loaded, for that user may not read them.
    """
    if os.getuid() != 0:
        return function(*arguments)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _be_nobody(writing, function, arguments)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    if not data:
        raise ChildFailed("the process of the other user died")
    result, error = pickle.loads(data)
    if error is not None:
        raise ChildFailed(error)
    return result


def _be_nobody(writing: int, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Never returns."""
    try:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        data = pickle.dumps((function(*arguments), None))
    except BaseException as error:
        data = pickle.dumps((None, f"{type(error).__name__}: {error}"))
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(data)
    os._exit(0)


def main() -> None:
    """Do the call that standard input holds; write the result in one piece."""
    function, arguments = pickle.load(sys.stdin.buffer)
    result = function(*arguments)
    place = Path(sys.argv[1])
    part = place.with_suffix(".part")
    part.write_bytes(pickle.dumps(result))
    part.rename(place)


if __name__ == "__main__":
    main()
