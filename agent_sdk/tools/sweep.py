"""Ends the processes that one call started, those included that left its process group.

A shell's children stay in its process group unless they call `setsid`; killing the group reaches only the others. On
Linux the rest is found in /proc. A process belongs to a call when it began after the call did and one of these holds:
it is in the shell's session or group, it has the limit that is the call's number, its environment holds the call's
mark, it can write to one of the call's pipes, or its parent belongs to the call. The limit is inherited whatever else
a process gives up: parent, session, environment, descriptors. Children of the application that have nothing to do with
the call have none of these.

Not caught: what another program starts on a command's behalf (a daemon, `at`, a container); a process of another user
(`sudo`); one that gives itself other limits and loses all other traces as well; one that multiplies faster than it is
killed for two seconds. On systems without /proc: everything that calls `setsid`. The application is not made a
subreaper: that would hand it the orphans of all its other children as well, to be reaped by nobody.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

_SECONDS = 2.0
_PAUSE = 0.005
_MOMENT = 0.0005


def _unused_number() -> int:
    """A limit that no process has: too large for anybody to have chosen it, and below every "unlimited"."""
    return 2**61 + secrets.randbits(60)


def _ticks() -> int:
    """The time since boot in the unit of /proc/<pid>/stat, a little early; 0 where there is no such clock."""
    if sys.platform != "linux":
        return 0
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")) - 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """By what the processes of one call are known. Make it before the shell starts.

    `mark` is the name of a variable in their environment, `pipes` what /proc calls the pipes they can write to.
    `number` is their limit on file locks, which the shell sets (`ulimit -S -x`) before it does anything else.
    """

    mark: bytes
    pipes: frozenset[str]
    number: int = field(default_factory=_unused_number)
    since: int = field(default_factory=_ticks)


@dataclass(frozen=True, slots=True)
class _Seen:
    """One line of /proc/<pid>/stat, as far as it matters."""

    pid: int
    state: str
    parent: int
    group: int
    session: int
    began: int


def pipe_name(descriptor: int) -> str:
    """What /proc calls the pipe behind a descriptor."""
    return f"pipe:[{os.fstat(descriptor).st_ino}]"


def end_all(leader: int, traces: Traces) -> bool:
    """Kill the process group of `leader` and, on Linux, the other processes of the call; wait until they are gone.

    True when no more are found. Takes at most about two seconds, usually a few milliseconds. Blocks: use a thread.
    """
    with suppress(OSError):
        os.killpg(leader, signal.SIGKILL)
        time.sleep(_MOMENT)  # to be dead at the first look
    until = time.monotonic() + _SECONDS
    ended: set[int] = set()
    while True:
        members = _members(leader, traces)
        ended |= set(members)
        living = {pid for pid, seen in members.items() if seen.state not in "ZX"}
        if not living:
            break
        if time.monotonic() > until:
            return False
        _kill(living, leader, traces)
        time.sleep(_PAUSE)
    for pid in ended - {leader}:
        with suppress(OSError):  # our own child only where we stand in for init
            os.waitpid(pid, os.WNOHANG)
    return True


def _kill(pids: set[int], leader: int, traces: Traces) -> None:
    """Kill what still belongs to the call: a handle is taken first, so that a number used again is never hit."""
    handles: dict[int, int] = {}
    for pid in pids:
        with suppress(OSError):
            handles[pid] = os.pidfd_open(pid)
    still = _members(leader, traces)
    for pid, handle in handles.items():
        with suppress(OSError):
            if pid in still:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)


def _members(leader: int, traces: Traces) -> dict[int, _Seen]:
    """The processes of the call; of those that are dead, the ones in the shell's group or session."""
    others = {seen.pid: seen for seen in _processes(traces.since) if seen.pid != os.getpid()}
    found = {pid for pid, seen in others.items() if _belongs(seen, leader, traces)}
    while more := {pid for pid, seen in others.items() if seen.parent in found and pid not in found}:
        found |= more
    return {pid: others[pid] for pid in found}


def _belongs(seen: _Seen, leader: int, traces: Traces) -> bool:
    if seen.pid == leader or leader in (seen.group, seen.session):
        return True
    return _has_number(seen.pid, traces.number) or _is_marked(seen.pid, traces.mark) or _holds(seen.pid, traces.pipes)


def _processes(since: int) -> Iterator[_Seen]:
    """The processes that began at `since` or later. Nothing where there is no Linux /proc."""
    if sys.platform != "linux":
        return
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        with suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            state, parent, group, session, began = (fields[i] for i in (0, 1, 2, 3, 19))
            if int(began) >= since:
                yield _Seen(int(name), state.decode(), int(parent), int(group), int(session), int(began))


def _has_number(pid: int, number: int) -> bool:
    with suppress(OSError), open(f"/proc/{pid}/limits", "rb") as file:
        return b" %d " % number in file.read()
    return False


def _is_marked(pid: int, mark: bytes) -> bool:
    with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        return b"\0" + mark + b"=" in b"\0" + file.read()
    return False


def _holds(pid: int, pipes: frozenset[str]) -> bool:
    """True when a process can write to one of the pipes and read none: a fork of the application can do both."""
    writes = False
    with suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            if os.readlink(f"/proc/{pid}/fd/{number}") not in pipes:
                continue
            if os.stat(f"/proc/{pid}/fd/{number}", follow_symlinks=False).st_mode & 0o400:
                return False
            writes = True
    return writes
