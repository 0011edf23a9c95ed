"""One settings file: read without waiting on anything odd, parsed strictly, written back as text.

What cannot be read as its author meant is a SettingsError with path, line and column; it is never taken for empty.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeAlias, cast

from agent_sdk.errors import SettingsError
from agent_sdk.values import Json

LARGEST = 4 * 1024 * 1024
"""Bytes that a settings file may have."""

Signature: TypeAlias = tuple[int, ...]
"""What `os.stat` says of a file's content; one number, the error, when it says nothing."""

_INDENT = re.compile(r"\n([ \t]+)\S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The content of a settings file. `doubled` are keys that stand twice in one object, so that nobody knows which
    value was meant; `indent` is how its author indents.
    """

    path: str
    value: Json
    doubled: frozenset[str] = frozenset()
    indent: str = "  "


ABSENT: Signature = (errno.ENOENT,)
"""The signature of a file that is not there."""


def signature(path: str) -> Signature:
    """Differs when the file at `path`, links followed, was changed or replaced. Never raises."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return ABSENT
    except OSError as error:
        return (error.errno or -1,)
    except ValueError:
        return (-1,)
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev)


def read_bytes(path: str) -> bytes | None:
    """The bytes of the file, `None` when there is none. Never waits: a pipe, device or huge file is not read.

    Raises SettingsError for what is no regular file, is larger than `LARGEST`, or may not be read.
    """
    try:
        _refuse_odd(path, os.stat(path))
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            _refuse_odd(path, os.fstat(descriptor))
            data = file.read(LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SettingsError(f"{path} cannot be read: {reason}", path=path) from None
    if len(data) > LARGEST:
        raise _too_large(path)
    return data


def _refuse_odd(path: str, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise SettingsError(f"{path} is a folder, not a file", path=path)
    if not stat.S_ISREG(found.st_mode):
        raise SettingsError(f"{path} is no regular file but a pipe, socket or device: it was not opened", path=path)
    if found.st_size > LARGEST:
        raise _too_large(path)


def _too_large(path: str) -> SettingsError:
    return SettingsError(f"{path} is larger than {LARGEST // 1024 // 1024} MB: it was not read", path=path)


def read_document(path: str) -> Document | None:
    """The parsed file; `None` when there is none. An empty file is an empty object, a byte order mark is skipped.

    Raises SettingsError for what `read_bytes` refuses and for anything but strict JSON.
    """
    data = read_bytes(path)
    return None if data is None else parse_document(path, data)


def parse_document(path: str, data: bytes) -> Document:
    """The parsed bytes of the file at `path`. Raises SettingsError for anything but strict JSON in UTF-8."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise _invalid(path, "it is not UTF-8 text", line, column) from None
    if not text.strip():
        return Document(path=path, value={})
    doubles = _Doubles()
    try:
        value = json.loads(text, object_pairs_hook=doubles.collect, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise _invalid(path, f"{error.msg}{_hint(text, error.pos)}", error.lineno, error.colno) from None
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise SettingsError(f"{path} is not valid JSON: {reason}", path=path) from None
    indent = _INDENT.search(text)
    return Document(
        path=path, value=cast("Json", value), doubled=frozenset(doubles.names), indent=indent[1] if indent else "  "
    )


class _Doubles:
    """Builds objects and notes keys that stand twice in one of them."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def collect(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        """An object from its pairs; the last of two equal keys counts."""
        found = dict(pairs)
        if len(found) < len(pairs):
            self.names |= {name for name, times in Counter(name for name, _ in pairs).items() if times > 1}
        return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _hint(text: str, position: int) -> str:
    """What people usually did wrong at this place."""
    rest, before = text[position:].lstrip(), text[:position].rstrip()
    if not rest:
        return " (the file ends too early)"
    if rest.startswith(("//", "/*", "#")):
        return " (comments are not allowed)"
    if before.endswith(",") or rest[:1] in ("}", "]"):
        return " (a comma behind the last item is not allowed)"
    return ""


def _invalid(path: str, reason: str, line: int, column: int) -> SettingsError:
    message = f"{path}, line {line}, column {column}: not valid JSON: {reason}. The file is left as it is: repair it."
    return SettingsError(message, path=path, line=line, column=column)


def to_bytes(value: Mapping[str, Json], indent: str = "  ") -> bytes:
    """The bytes of a settings file: keys in their order, letters as they are, a newline at the end."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False) + "\n"
    try:
        return text.encode()
    except UnicodeEncodeError:  # half a surrogate pair has no UTF-8 form
        return (json.dumps(value, ensure_ascii=True, indent=indent, allow_nan=False) + "\n").encode()
