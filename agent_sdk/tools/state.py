"""The state of a file: what the approval of a call that names it is bound to."""

from __future__ import annotations

import hashlib
import os
import stat

MAX_CONTENT_BYTES = 32_000_000
"""The largest file that is known by its content. Reading it takes well under a second."""

ABSENT = "absent"
UNREADABLE = "unreadable"
_ANY = "any"
_AT = " at "
_PIECE = 1_048_576


def bound_state(path: str, target: str, *, writes: bool) -> str:
    """What the approval of a call that names the file `path` is bound to: where that leads, and what is there.

    `target` is where it leads, links followed. `file_state` for a tool that writes the file, `"any"` for one that only
    reads it; ` at ` and the target follow when that is another path. Never raises.
    """
    state = file_state(target) if writes else _ANY
    return state if target == path else f"{state}{_AT}{target}"


def is_bound_to(bound: str, path: str, target: str) -> bool:
    """Whether the file `target`, which a call that names `path` would open, is the one that is bound, as it was."""
    content, _, place = bound.partition(_AT)
    return target == (place or path) and content in (_ANY, file_state(target))


def place_in(bound: str, path: str) -> str:
    """Where the path of a bound state led."""
    return bound.partition(_AT)[2] or path


def respelled(bound: str, path: str, other: str) -> str:
    """The state that `path` is bound to, for a call that names the same file as `other`."""
    content, place = bound.partition(_AT)[0], place_in(bound, path)
    return content if place == other else f"{content}{_AT}{place}"


def content_in(bound: str) -> str | None:
    """The `file_state` in a `bound_state`; `None` when any content will do."""
    state = bound.partition(_AT)[0]
    return None if state == _ANY else state


def same_place(one: str, other: str) -> bool:
    """Whether links lead to the same file in both bound states."""
    return one.partition(_AT)[2] == other.partition(_AT)[2]


def file_state(path: str) -> str:
    """What is at `path` now, links followed.

    `"absent"` (a link to nothing as well), `"sha256:<hex>"` of the content of a regular file, `"stat:…"` for a file of
    more than 32 MB, `"dir"`, `"other"` for devices, pipes and sockets, `"unreadable"` for whatever cannot be looked at.
    Equal digests mean equal content. `"stat:…"` holds size, time of the last change of content and of the file's
    record (nanoseconds), inode and device: whatever is done to the file changes it, as far as its clock is that fine.
    Reads in pieces and at most 32 MB; only regular files are ever opened, so it never waits. Never raises.
    """
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            return "dir"
        return _content(path) if stat.S_ISREG(mode) else "other"
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    except (OSError, ValueError):  # ValueError: a NUL or a lone surrogate in the path
        return UNREADABLE


def _content(path: str) -> str:
    """What a file holds. It is looked at again once open: it may have become a pipe meanwhile."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    digest = hashlib.sha256()
    with open(descriptor, "rb", buffering=0) as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return "other"
        if status.st_size > MAX_CONTENT_BYTES:
            return _signature(status)
        size = 0
        while (data := file.read(_PIECE)) != b"":
            if data is None:  # a file of the kernel that would make us wait
                return UNREADABLE
            digest.update(data)
            size += len(data)
            if size > MAX_CONTENT_BYTES:  # it grows while we read, or it is a file of the kernel without a size
                return _signature(os.fstat(descriptor))
    return "sha256:" + digest.hexdigest()


def _signature(status: os.stat_result) -> str:
    parts = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)
    return "stat:" + ":".join(map(str, parts))
