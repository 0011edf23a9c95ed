"""What the file tools share: path arguments, blocking work in threads, opening safely, writing all or nothing."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

import anyio
import anyio.to_thread

from agent_sdk.calls import ToolResult
from agent_sdk.errors import ToolError
from agent_sdk.tools.state import file_state

CHANGED = "Nothing was written: the file has changed since this was approved. Read it again before the next attempt."


def resolved(path: str, cwd: str) -> str:
    """The absolute path that an argument means: relative to `cwd`, only a leading `~/` expanded.

    Raises ToolError for an empty path and for one that no file can have.
    """
    if not path:
        raise ToolError("The path is empty.")
    if "\0" in path:
        raise ToolError("The path holds a NUL character, which no path can.")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise ToolError("The path holds a lone surrogate, which is no character.") from None
    if path.startswith("~/"):
        path = os.path.join(os.path.expanduser("~"), path[2:].lstrip("/"))
    return os.path.join(cwd, path)


async def in_thread(work: Callable[[], ToolResult], *, abandon: bool) -> ToolResult:
    """Run blocking work in a worker thread; a ToolError or OSError becomes an error result.

    `abandon`: when the call is cancelled the thread is left to end by itself. Only for work that writes nothing.
    """
    try:
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=abandon)
    except ToolError as error:
        return ToolResult(str(error), is_error=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return ToolResult(f"{reason}: {error.filename}" if error.filename else reason, is_error=True)


def open_regular(path: str, *, target: str | None = None) -> BinaryIO:
    """Open a regular file for reading. Nothing else is ever opened, so this never waits.

    `target` is what `path` led to when it was judged: that is opened, and no link in its place. Raises ToolError for a
    folder, a device, a pipe, a socket, or such a link; OSError.
    """
    opened = target or path
    _refuse_odd(path, os.stat(opened, follow_symlinks=target is None).st_mode)
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (os.O_NOFOLLOW if target is not None else 0)
    descriptor = os.open(opened, flags)
    file = os.fdopen(descriptor, "rb")
    try:
        _refuse_odd(path, os.fstat(descriptor).st_mode)
    except ToolError:
        file.close()
        raise
    return file


def _refuse_odd(path: str, mode: int) -> None:
    if stat.S_ISLNK(mode):
        why = "is a link that leads nowhere, or has become another link since this was approved"
        raise ToolError(f"{path} {why}; it was not opened.")
    if stat.S_ISDIR(mode):
        raise ToolError(f"{path} is a folder, not a file.")
    if not stat.S_ISREG(mode):
        raise ToolError(f"{path} is no regular file but a device, pipe or socket; it was not opened.")


def write_atomically(path: str, data: bytes, *, expected: str | None, target: str | None = None) -> bool:
    """Put `data` in the place of the file at `path`, all or nothing; True when the file is new.

    Missing folders are made. A link is followed to its target, which may be new; mode and owner of an existing file
    stay (another hard link to it keeps the old content). The data is on the disk before the name points to it. When
    `expected` is given and is not the file's state right before that, nothing is written. `target` is what `path` led
    to when it was judged: that is written, and no link in its place.

    Raises ToolError when the state differs, for a target that is no regular file or is write-protected; OSError.
    """
    target = target or os.path.realpath(path)
    _refuse_changed(target, expected)
    try:
        before: os.stat_result | None = os.lstat(target)
    except FileNotFoundError:
        before = None
    if before is not None:
        _refuse_odd(target, before.st_mode)
        if not os.access(target, os.W_OK):
            raise ToolError(f"{target} is write-protected.")
    folder = os.path.dirname(target)
    os.makedirs(folder, exist_ok=True)
    temporary = os.path.join(folder, f".agent-sdk-{secrets.token_hex(8)}.tmp")
    try:
        _write_new(temporary, data, before)
        _refuse_changed(target, expected)
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, target) from None  # the name of our own file means nothing
        raise
    _sync_folder(folder)
    return before is None


def _refuse_changed(path: str, expected: str | None) -> None:
    if expected is not None and file_state(path) != expected:
        raise ToolError(CHANGED)


def _write_new(path: str, data: bytes, like: os.stat_result | None) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666 if like is None else 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if like is not None:
            with suppress(OSError):  # only root may give files away
                os.fchown(descriptor, like.st_uid, like.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
        os.fsync(descriptor)


def _sync_folder(folder: str) -> None:
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
