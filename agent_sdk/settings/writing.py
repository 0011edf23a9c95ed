"""Writing settings files: lock, read again, merge, replace. All files of one answer change, or none does.

At every instant each file is whole and valid JSON. What another process wrote in between is kept: only the difference
is merged into what the file holds now. A process that is killed leaves the old file or the new one.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias

from agent_sdk.errors import SettingsError
from agent_sdk.settings.document import LARGEST, Document, parse_document, read_bytes, to_bytes
from agent_sdk.values import Json, JsonObject

LOCK_SECONDS = 10.0
"""How long to wait for another process that is writing the same file."""

Edit: TypeAlias = Callable[[JsonObject], dict[str, Json]]
"""Makes the next document from the present one. Raises SettingsError to leave everything as it is."""

_POLL_SECONDS = 0.005


@dataclass(slots=True, kw_only=True)
class _Staged:
    """A file that is about to be replaced. `before` are its bytes, `None` when it is new."""

    target: str
    before: bytes | None
    temporary: str


def edit_files(edits: Sequence[tuple[str, Edit]], *, lock_seconds: float = LOCK_SECONDS) -> None:
    """Apply each edit to the settings file at its path; links are followed, a missing file starts as `{}`.

    Returns when the new files are on the disk. Raises SettingsError, and leaves every file as it was, when one cannot
    be locked, read, edited or written. Blocks.
    """
    try:
        _edit_files(edits, lock_seconds)
    except OSError as error:
        where = error.filename or edits[0][0]
        reason = error.strerror or type(error).__name__
        raise SettingsError(f"{where} cannot be written: {reason}. Nothing was saved.", path=str(where)) from error


def _edit_files(edits: Sequence[tuple[str, Edit]], lock_seconds: float) -> None:
    by_target: dict[str, list[Edit]] = {}
    for path, edit in edits:
        by_target.setdefault(os.path.realpath(path), []).append(edit)
    with ExitStack() as stack:
        for target in sorted(by_target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            stack.enter_context(_locked(target, lock_seconds))
            _sweep(target)
        staged: list[_Staged] = []
        try:
            for target, wanted in by_target.items():
                step = _stage(target, wanted)
                if step is not None:
                    staged.append(step)
            _replace_all(staged)
        finally:
            for step in staged:
                with suppress(FileNotFoundError):
                    os.unlink(step.temporary)


@contextmanager
def _locked(target: str, seconds: float) -> Iterator[None]:
    """Hold the lock of `target`: a file beside it that stays there, because waiting processes hold on to it."""
    from filelock import FileLock, Timeout  # noqa: PLC0415  a heavy door

    lock = FileLock(f"{target}.lock", timeout=seconds, mode=0o600)
    try:
        lock.acquire(poll_interval=_POLL_SECONDS)
    except Timeout:
        message = f"{target} is being written by another process for more than {seconds:g} s. Nothing was saved."
        raise SettingsError(message, path=target) from None
    try:
        yield
    finally:
        lock.release()


def _sweep(target: str) -> None:
    """Remove what killed processes left behind. Under the lock nobody else has a temporary file."""
    folder, name = os.path.split(target)
    pattern = re.compile(re.escape(name) + r"\.[a-z0-9_]{8}\.tmp")
    for found in os.listdir(folder):
        if pattern.fullmatch(found):
            with suppress(OSError):
                os.unlink(os.path.join(folder, found))


def _stage(target: str, wanted: Sequence[Edit]) -> _Staged | None:
    """Write the next content beside the file; `None` when nothing would change."""
    before = read_bytes(target)
    if before is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
    document = Document(path=target, value={}) if before is None else parse_document(target, before)
    value = document.value
    if not isinstance(value, dict):
        raise SettingsError(f"{target} holds no JSON object; it is left as it is: repair it", path=target)
    if document.doubled:
        name = sorted(document.doubled)[0]
        raise SettingsError(f"{target} holds the key {name!r} twice; it is left as it is: repair it", path=target)
    for edit in wanted:
        value = edit(value)
    if value == document.value:
        return None
    try:
        data = to_bytes(value, document.indent)
    except (ValueError, RecursionError):
        message = f"{target} holds a number or depth that JSON cannot keep; it is left as it is"
        raise SettingsError(message, path=target) from None
    if len(data) > LARGEST:
        raise SettingsError(f"{target} would become larger than a settings file may be", path=target)
    return _Staged(target=target, before=before, temporary=_write_beside(target, data))


def _write_beside(target: str, data: bytes) -> str:
    """A temporary file in the folder of `target`, on the disk, with its mode and owner. A new file is for its owner."""
    folder, name = os.path.split(target)
    descriptor, temporary = tempfile.mkstemp(prefix=f"{name}.", suffix=".tmp", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            with suppress(FileNotFoundError):
                kept = os.stat(target)
                with suppress(PermissionError):
                    os.fchown(descriptor, kept.st_uid, kept.st_gid)
                os.fchmod(descriptor, kept.st_mode & 0o7777)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        os.unlink(temporary)
        raise
    return temporary


def _replace_all(staged: Sequence[_Staged]) -> None:
    """Put every file in its place. When one fails, those before it get their old content back."""
    done: list[_Staged] = []
    try:
        for step in staged:
            os.replace(step.temporary, step.target)
            done.append(step)
            _sync_folder(step.target)
    except OSError:
        for step in done:
            _put_back(step)
        raise


def _put_back(step: _Staged) -> None:
    if step.before is None:
        os.unlink(step.target)
    else:
        os.replace(_write_beside(step.target, step.before), step.target)
    _sync_folder(step.target)


def _sync_folder(target: str) -> None:
    descriptor = os.open(os.path.dirname(target), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
