"""Forks of the process: what holds still meanwhile, and begins anew in the child.

Only the thread that forks goes on in the child. A lock that another one held would be held there for ever.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from itertools import chain
from time import monotonic
from weakref import WeakSet

PATIENCE = 1.0
"""Seconds for which a fork waits for locks that are never held for long. What they guard begins anew in any case."""

_SHORT, _LONG = 0.5, 60.0
"""Seconds for which the end of another fork is waited for: by what is made meanwhile, and by the next fork."""


class HoldsStill:
    """Something whose lock is taken before every fork, in the thread that forks, and is new in the child.

    The lock may be taken again by the thread that has it, so that a fork from in there does not wait for itself.
    Holding it, nobody may wait for another one of these. `slow` says that it may be held for long.
    """

    slow = False

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _FORKS.add(self)

    @property
    def patience(self) -> float:
        """Seconds that a fork waits for this lock, if it is not free."""
        return PATIENCE

    def is_mine(self) -> bool:
        """Whether this thread has the lock."""
        return _is_mine(self._lock)

    def hold_still(self, until: float) -> bool:
        """Before the fork: have the lock. False when it is not to be had until then, by the monotonic clock."""
        return self.is_mine() or self._lock.acquire(timeout=max(0.0, until - monotonic()))

    def go_on(self) -> None:
        """In the parent, for what this thread did not have before: let the lock go, if it has it now."""
        if self.is_mine():
            self._lock.release()

    def begin_anew(self, *, held: bool) -> None:
        """In the child, where other threads are gone. `held`: the thread that forked had the lock."""
        self._lock = threading.RLock()


class _Forks:
    """All that holds still. One fork at a time: so only one thread ever has more than one of their locks."""

    def __init__(self) -> None:
        self._one_at_a_time = threading.RLock()
        self._known: WeakSet[HoldsStill] = WeakSet()
        self._to_let_go: list[list[HoldsStill]] = []  # one list, more where a signal handler forks during a fork

    def add(self, thing: HoldsStill) -> None:
        """It holds still from now on. Waits for a fork that is going on, and so is mostly not used before that is over.

        Not for long: should the end of a fork have been lost to a Ctrl-C, nothing more may hang for it. What is used
        while a fork goes on is not held: then the child is refused.
        """
        mine = self._one_at_a_time.acquire(timeout=_SHORT)
        try:
            self._known.add(thing)
        finally:
            if mine:
                self._one_at_a_time.release()

    def before(self) -> None:
        """Hold all that can be had: the slow ones first, waited for at the same time, then the quick ones alike.

        So a fork waits as long as the most patient of those that are busy, and `PATIENCE` more. What is raised
        meanwhile, by Ctrl-C for instance, stops none of the others; Python tells it, and forks all the same.
        """
        if not self._one_at_a_time.acquire(timeout=_LONG):  # nobody would let go what was taken now
            raise RuntimeError("another fork has not ended: nothing holds still, so the child is refused open stores")
        known = self._all()
        # Noted before they are taken: an exception may come up in the very moment in which a lock has been taken.
        self._to_let_go.append([thing for thing in known if not thing.is_mine()])
        raised = _hold([thing for thing in known if thing.slow])
        raised += _hold([thing for thing in known if not thing.slow])
        if raised:
            raise raised[0]

    def _all(self) -> list[HoldsStill]:
        while True:
            try:
                return list(self._known)
            except RuntimeError:  # one was added at this moment
                continue

    def let_go(self) -> None:
        """In the parent, after the fork or after it failed.

        A signal that came in during the fork is raised here, before anything is done. `in_parent` makes up for it.
        """
        if _is_mine(self._one_at_a_time) and self._to_let_go:
            raised = _for_each(self._to_let_go[-1], lambda thing: thing.go_on())
            if raised:
                raise raised[0]

    def in_parent(self) -> None:
        """After `let_go`: let go what is left, and end the fork, whatever comes up meanwhile."""
        raised: BaseException | None = None
        depth: int | None = None
        while True:
            try:
                depth = max(0, len(self._to_let_go) - 1) if depth is None else depth
                if _is_mine(self._one_at_a_time):  # not if it was interrupted while another thread forked
                    _for_each(chain(*self._to_let_go[depth:]), lambda thing: thing.go_on())
                    del self._to_let_go[depth:]
                    self._one_at_a_time.release()
                break
            except BaseException as error:
                raised = error
        if raised is not None:
            raise raised

    def in_child(self) -> None:
        """The same thread, alone."""
        self._one_at_a_time = threading.RLock()
        self._to_let_go = []
        for thing in self._all():
            thing.begin_anew(held=thing.is_mine())


def _hold(things: Iterable[HoldsStill]) -> list[BaseException]:
    """Have the locks of all that are free within their patience, counted from now for each; what came up."""
    began = monotonic()
    return _for_each(things, lambda thing: thing.hold_still(began + thing.patience))


def _for_each(things: Iterable[HoldsStill], do: Callable[[HoldsStill], object]) -> list[BaseException]:
    """Do it for every one, whatever comes up meanwhile; what came up."""
    raised: list[BaseException] = []
    left = iter(things)
    while True:
        try:
            for thing in left:
                do(thing)
            return raised
        except BaseException as error:
            raised.append(error)


def _is_mine(lock: threading.RLock) -> bool:
    """Whether this thread has the lock."""
    try:
        threading.Condition(lock).notify(0)  # nobody waits there, but it asks just that
    except RuntimeError:
        return False
    return True


_FORKS = _Forks()
os.register_at_fork(before=_FORKS.before, after_in_parent=_FORKS.let_go, after_in_child=_FORKS.in_child)
os.register_at_fork(after_in_parent=_FORKS.in_parent)
