"""What a path argument says: every reading of it, and why a person should look at it.

A path is a tuple of names below the file system root, with `.` and `..` taken out; a Windows drive is the first name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from agent_sdk.rules.files import FileView, follow, native_to_slashes
from agent_sdk.values import lazy

Parts: TypeAlias = tuple[str, ...]

_HIDDEN = re.compile(
    "[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff\ud800-\udfff]"
)
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])[ ]*([.:].*)?", re.IGNORECASE)
_SHORT_NAME = re.compile(r"[^.~]{1,6}~[0-9]{1,6}(\..{0,3})?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:/")
_VARIABLE = re.compile(r"\$\{|\$[A-Za-z_][A-Za-z0-9_]*(/|$)|%[A-Za-z_][A-Za-z0-9_]*%")
_DESCRIPTOR = re.compile(r"/dev/(fd|stdin|stdout|stderr)(/|$)|/proc/[^/]+/(task/[^/]+/)?(fd|map_files)(/|$)")
_PROCESS = re.compile(r"/proc/[^/]+/(?:task/[^/]+/)?(root|cwd)")
_KERNEL = (("dev",), ("proc",))
_NAMES_DESCRIPTOR = "the path names a descriptor, not a file"


# What is longer is worked out each time: what is kept must not grow with what a model sends.
_USUAL = 512


@dataclass(kw_only=True)  # not frozen, though never changed: it is made for every look at a path
class Spelled:
    """One path argument. `readings` are all paths that it may mean, the plain one first; `absolute` names that one.

    `odd` says why no rule or mode may approve it, `refused` why it must not run at all; a plain path has neither.
    """

    text: str
    absolute: str
    readings: tuple[Parts, ...]
    odd: str | None = None
    refused: str | None = None

    @lazy
    def low(self) -> tuple[Parts, ...]:
        """The readings, each name `folded`."""
        readings = self.readings
        return (_all_folded(readings[0]),) if len(readings) == 1 else tuple(map(_all_folded, readings))


def parts(path: str) -> Parts:
    """The names of an absolute path, `.` and `..` taken out as text."""
    return _kept_parts(path) if len(path) <= _USUAL else _parts(path)


@lru_cache(maxsize=4096)
def _kept_parts(path: str) -> Parts:
    return _parts(path)


def _parts(path: str) -> Parts:
    if "//" not in path and "/." not in path and path[-1:] != "/" and path[:1] == "/":
        return tuple(path[1:].split("/"))
    found: list[str] = []
    for name in path.split("/"):
        if name == "..":
            if found:
                found.pop()
        elif name not in ("", "."):
            found.append(name)
    return tuple(found)


def joined(path: Parts) -> str:
    """The names as an absolute path."""
    return "/" + "/".join(path)


def hidden(text: str) -> bool:
    """True when `text` holds control, bidirectional, zero-width or other characters that a prompt would not show."""
    return not (text.isascii() and text.isprintable()) and _HIDDEN.search(text) is not None


def folded(name: str) -> str:
    """A name as deny rules compare it: without case, composed, without characters that nobody sees."""
    return _kept_folded(name) if len(name) <= _USUAL else _folded(name)


@lru_cache(maxsize=8192)
def _kept_folded(name: str) -> str:
    return _folded(name)


def _folded(name: str) -> str:
    if name.isascii():
        return name.lower() if name.isprintable() else _HIDDEN.sub("", name.lower())
    composed = unicodedata.normalize("NFC", unicodedata.normalize("NFC", _HIDDEN.sub("", name)).casefold())
    return _HIDDEN.sub("", composed)


@lru_cache(maxsize=1024)
def all_folded(path: Parts) -> Parts:
    """Each name `folded`."""
    return _all_folded(path)


def _all_folded(path: Parts) -> Parts:
    text = "/".join(path)
    if path and text.isascii() and text.isprintable():
        return tuple(text.lower().split("/"))
    return tuple(map(folded, path))


@lru_cache(maxsize=1024)
def all_same_case(path: Parts) -> Parts:
    """Each name by `same_case`."""
    return tuple(map(same_case, path))


def same_case(name: str) -> str:
    """A name as a volume compares it that ignores case: letter by letter, never one letter for two."""
    if name.isascii():
        return name.lower()
    return "".join(low if len(low := char.lower()) == 1 else char for char in name)


def spell(text: str, cwd: str, files: FileView) -> Spelled:
    """Read the path argument `text` in the working directory `cwd` in every way. Never raises."""
    if not text or "\0" in text:
        return Spelled(
            text=text,
            absolute="/",
            readings=(),
            odd="the path is empty" if not text else "the path holds a NUL character",
            refused="the path is empty" if not text else "the path holds a NUL character",
        )
    odd = _odd(text, files.windows)
    written = text if text[0] == "/" and not files.windows else _absolute(text, cwd, files)
    readings = [_parts(written)]  # not `parts`: what a call names is mostly new, and would push out what is not
    if text == "~":
        readings.append(parts(native_to_slashes(files.home) if files.windows else files.home))
    if files.windows:
        readings += _windows_readings(text, written)
    led: list[str] = []
    odd = _follow(written, files.hops, led) or odd
    if "/proc/" in written or (led and any("/proc/" in hop for hop in led)):
        odd = _follow(written, _for_processes(cwd, files), led) or odd
    if led:
        readings += map(parts, led)
    for reading in readings:
        if reading[:1] in _KERNEL and _DESCRIPTOR.match(joined(reading)):
            odd = odd or _NAMES_DESCRIPTOR
    once = tuple(dict.fromkeys(readings)) if len(readings) > 1 else (readings[0],)
    return Spelled(text=text, absolute=joined(readings[0]), readings=once, odd=odd)


def spell_again(text: str, cwd: str, files: FileView) -> Spelled:
    """As `spell`, for a text that is likely to come back: what it says where no link lies on the way is kept."""
    kept = None if files.windows or len(text) > _USUAL else _straight(text, cwd)
    try:
        if kept is not None and not files.hops(kept.absolute):
            return kept
    except (OSError, ValueError):
        pass  # `spell` tells it
    return spell(text, cwd, files)


@lru_cache(maxsize=1024)
def _straight(text: str, cwd: str) -> Spelled | None:
    """What a path argument says when no link lies on the way; None for one that is not as plain as most."""
    if not text or "\0" in text or text[0] == "~" or _odd(text, windows=False):
        return None
    written = text if text[0] == "/" else f"{cwd}/{text}"
    if "//" in written or "/." in written or written[-1] == "/" or written.startswith(("/dev/", "/proc/")):
        return None
    return Spelled(text=text, absolute=written, readings=(_parts(written),))


def absolute(text: str, cwd: str, files: FileView) -> str:
    """The one path that a tool opens for the argument `text`: relative to `cwd`, a leading `~/` is the home folder.

    `..` is kept as it is written, so that the system takes it after following links.
    """
    return _absolute(text, cwd, files)


def _absolute(text: str, cwd: str, files: FileView) -> str:
    if text.startswith("~/") or (files.windows and text.startswith("~\\")):
        text = files.home + text[1:]
    if not files.windows:
        return text if text.startswith("/") else f"{cwd}/{text}"
    base = native_to_slashes(cwd)
    drive = "/" + base[1:2] if re.match(r"/[a-z](/|$)", base) else ""
    slashed = text.replace("\\", "/")
    if slashed.startswith(("//?/", "//./")):
        slashed = slashed[4:]
    elif slashed.startswith("//"):
        return "/unc" + slashed[1:]
    if re.match(r"[A-Za-z]:", slashed):
        return _trimmed(native_to_slashes(slashed))
    return _trimmed(drive + slashed if slashed.startswith("/") else f"{base}/{slashed}")


def _trimmed(path: str) -> str:
    """The path as Windows opens it: blanks and dots at the end of a name are dropped."""
    return "/".join(name if name in (".", "..") else name.rstrip(". ") for name in path.split("/"))


def _windows_readings(text: str, written: str) -> list[Parts]:
    """Other paths that the text may mean: without a stream after a colon, and `/c/x` as a drive."""
    found = [tuple(name.split(":")[0].rstrip(". ") for name in parts(written))]
    if re.match(r"/[A-Za-z](/|$)", text):
        found.append(parts(f"/{text[1].lower()}{text[2:]}"))
    return found


def _follow(path: str, hops: Callable[[str], tuple[str, ...]], led: list[str]) -> str | None:
    """Add to `led` where links lead from `path`. Returns why that cannot be told, if so."""
    try:
        led += hops(path)
        if "/.." in path and (lexical := joined(parts(path))) != path:
            led.append(lexical)
            led += hops(lexical)
    except (OSError, ValueError):
        return "the links on this path lead nowhere"
    return None


def _for_processes(cwd: str, files: FileView) -> Callable[[str], tuple[str, ...]]:
    """`hops` for a process that runs in `cwd`: the links of the kernel to its root and its folder lead there.

    The disk tells where they lead for this process, which may run elsewhere.
    """

    def target(path: str) -> str | None:
        if (link := _PROCESS.fullmatch(path)) is not None:
            return cwd if link[1] == "cwd" else "/"
        found = files.hops(path)
        return found[0] if found else None

    return lambda path: follow(path, target)


def _odd(text: str, windows: bool) -> str | None:
    if not (text.isascii() and text.isprintable()) and hidden(text):
        return "the path holds characters that cannot be seen"
    if text[0] == "/":
        if text.startswith(("/dev/", "/proc/")) and _DESCRIPTOR.match(text):
            return _NAMES_DESCRIPTOR
    elif text[0] == "~" and text[1:2] != "/":
        return "only '~/' at the start of a path is expanded"
    elif text[0] in "$%" and _VARIABLE.match(text):
        return "variables in paths are not expanded"
    if not windows:
        return "the path looks like a URL" if ":/" in text and _SCHEME.match(text) else None
    return _odd_on_windows(text.replace("\\", "/"))


def _odd_on_windows(text: str) -> str | None:
    if text.startswith("//") and not re.match(r"//[?.]/[A-Za-z]:/", text):
        return "the path leads to the network or a device"
    rest = text.removeprefix("//?/").removeprefix("//./")
    if re.match(r"[A-Za-z]:", rest):
        if rest[2:3] != "/":
            return "the path depends on the current folder of a drive"
        rest = rest[2:]
    for name in rest.split("/"):
        if ":" in name:
            return "the path names a stream or a URL"
        if _DEVICE.fullmatch(name):
            return "the path names a device"
        if _SHORT_NAME.fullmatch(name):
            return "the path holds a shortened name"
    return None
