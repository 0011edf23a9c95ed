"""The state of a file: what an approval to write it is bound to."""

from __future__ import annotations

import hashlib
import os
import stat

ABSENT = "absent"
UNREADABLE = "unreadable"
_PIECE = 1_048_576


def file_state(path: str) -> str:
    """What is at `path` now, links followed.

    `"absent"` (a link to nothing as well), `"sha256:<hex>"` of the content of a regular file, `"dir"`, `"other"` for
    devices, pipes and sockets, `"unreadable"` for whatever cannot be looked at. Equal states mean equal content.
    Reads in pieces, so memory stays small; only regular files are ever opened, so it never waits. Never raises.
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
    """The digest of a file's content. It is looked at again once open: it may have become a pipe meanwhile."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    digest = hashlib.sha256()
    with open(descriptor, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return "other"
        while (data := file.read(_PIECE)) != b"":
            if data is None:  # a file of the kernel that would make us wait
                return UNREADABLE
            digest.update(data)
    return "sha256:" + digest.hexdigest()
