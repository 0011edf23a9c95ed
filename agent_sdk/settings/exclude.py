"""Keeps the local settings file, and locks, out of commits, in the one place that is never committed itself."""

from __future__ import annotations

import os
import re

from agent_sdk.config import SettingSource
from agent_sdk.settings.files import SettingsPlaces
from agent_sdk.settings.git import exclude_file, is_ignored, is_within, work_tree

_LARGEST = 1024 * 1024


def keep_out_of_commits(places: SettingsPlaces, source: SettingSource) -> str | None:
    """Add to the repository's own exclude file what git would not ignore: the local settings file with its lock, of the
    project settings the lock alone.

    Returns a sentence for people when something was done or went wrong, `None` when there was nothing to do. The user's
    global git configuration is never touched. Blocks; never raises.
    """
    file = places.path(source)
    lock = f"{file}.lock"
    path = file if source == "local" else lock
    if all(is_ignored(name, places.cwd) is not False for name in dict.fromkeys((path, lock))):
        return None
    top, exclude = work_tree(places.cwd), exclude_file(places.cwd)
    if top is None or exclude is None:
        return f"git would not ignore {path}: keep it out of commits"
    here = os.path.realpath(places.cwd)
    if not is_within(here, top):
        return None
    below = os.path.relpath(os.path.join(here, places.settings_dir, os.path.basename(path)), top)
    line = "/" + re.sub(r"([\\*?\[\] ])", r"\\\1", below) + ("*" if source == "local" else "")
    try:
        added = _add_line(exclude, line)
    except OSError as error:
        return f"git would not ignore {path}, and {exclude} cannot be written: {error.strerror}"
    return f"{exclude} now holds {line}" if added else None


def _add_line(path: str, line: str) -> bool:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o644), "r+b", buffering=0) as file:
        text = file.read(_LARGEST) or b""
        if line.encode() in text.splitlines():
            return False
        file.write((b"" if not text or text.endswith(b"\n") else b"\n") + line.encode() + b"\n")
    return True
