"""Forks of the process: what holds still meanwhile, and begins anew in the child.

Only the thread that forks goes on in the child. A lock that another one held would be held there for ever.
"""

from __future__ import annotations

import os
import threading
from weakref import WeakSet

PATIENCE = 1.0
"""Seconds for which a fork waits for a lock that is never held for long. What it guards begins anew in any case."""


class HoldsStill:
    """Something whose lock is taken before every fork, in the thread that forks, and is new in the child.

    The lock may be taken again by the thread that has it, so that a fork from in there does not wait for itself.
    Holding it, nobody may wait for another one of these. `slow` says that it may be held for long.
    """

    slow = False

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _FORKS.add(self)

    def hold_still(self) -> bool:
        """Before the fork: take the lock. False when it is not to be had in time."""
        return self._lock.acquire(timeout=PATIENCE)

    def go_on(self) -> None:
        """In the parent: let the lock go that `hold_still` took."""
        self._lock.release()

    def begin_anew(self, *, held: bool) -> None:
        """In the child, where other threads are gone. `held`: `hold_still` took the lock."""
        self._lock = threading.RLock()


class _Forks:
    """All that holds still. One fork at a time: so only one thread ever has more than one of their locks."""

    def __init__(self) -> None:
        self._one_at_a_time = threading.RLock()
        self._known: WeakSet[HoldsStill] = WeakSet()
        self._still: list[HoldsStill] = []

    def add(self, thing: HoldsStill) -> None:
        """It holds still from now on. Waits for a fork that is going on, and so cannot be used before that is over."""
        with self._one_at_a_time:
            self._known.add(thing)

    def before(self) -> None:
        """Python tells what is raised here, and forks all the same."""
        self._one_at_a_time.acquire()
        for thing in sorted(self._known, key=lambda thing: not thing.slow):
            if thing.hold_still():
                self._still.append(thing)

    def in_parent(self) -> None:
        """The same thread, after the fork or after it failed."""
        still, self._still = self._still, []
        for thing in still:
            thing.go_on()
        self._one_at_a_time.release()

    def in_child(self) -> None:
        """The same thread, alone."""
        held, self._still = set(map(id, self._still)), []
        self._one_at_a_time = threading.RLock()
        for thing in list(self._known):
            thing.begin_anew(held=id(thing) in held)


_FORKS = _Forks()
os.register_at_fork(before=_FORKS.before, after_in_parent=_FORKS.in_parent, after_in_child=_FORKS.in_child)
