"""One worker thread that does what event loops ask of it, one thing after the other, at the price of a single hop."""

from __future__ import annotations

import logging
import math
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from sys import is_finalizing
from typing import Generic, TypeAlias, TypeVar, cast

import anyio
from anyio.lowlevel import checkpoint_if_cancelled, current_token

from agent_sdk.errors import SessionError
from agent_sdk.sessions.forks import HoldsStill

log = logging.getLogger("agent_sdk.sessions")

IDLE = 0.5
"""Seconds after which a thread that has nothing to do ends. A new one costs less than a commit."""

_Result = TypeVar("_Result")
_CallSoon: TypeAlias = Callable[[Callable[[], object]], object]


class OneThread:
    """Runs functions for tasks of any event loops, in the order in which they were asked for.

    The daemon thread starts with the first function, and ends when it is idle or when this object is gone. In a
    forked child it begins anew; what waits there then is the parent's.
    """

    def __init__(self, name: str) -> None:
        self._line = _Line(name)
        weakref.finalize(self, self._line.end).atexit = False

    async def run(
        self, work: Callable[[], _Result], *, shielded: bool, undo: Callable[[_Result], object] | None = None
    ) -> _Result:
        """What `work()` returns or raises. Once it began its end is waited for, however the caller is cancelled.

        One that has not begun is not begun for a cancelled caller, unless `shielded`: then it always is. Afterwards
        asyncio's own `task.cancel()` raises here; a cancelled scope has the result, and raises at the next checkpoint.
        `undo(result)` is called in the thread when the work was done, but its caller went away without the result:
        cancelled like that, or with its event loop, or by Ctrl-C. Raises SessionError when no thread can be had.
        """
        cancelled = anyio.get_cancelled_exc_class()
        if not shielded:
            await checkpoint_if_cancelled()
        job = _Job(work, undo)
        self._line.put(job)
        try:
            await job.over.wait()
        except BaseException as error:
            dropped = not shielded and job.begin()
            if dropped:
                raise
            if not isinstance(error, cancelled):
                self._leave(job)
                raise
            natively = anyio.current_effective_deadline() > -math.inf
            if natively:
                self._leave(job)
            with anyio.CancelScope(shield=True):
                while not job.over.is_set():
                    try:
                        await job.over.wait()
                    except cancelled:
                        natively = True
            if natively:
                self._leave(job)
                raise
        return job.outcome()

    def _leave(self, job: _Job[_Result]) -> None:
        """The caller goes away: when the work is done already, its undoing stands in the line as work of its own."""
        undo = job.leave()
        if undo is not None:
            with suppress(SessionError):  # no thread any more: a claim has an end of its own
                self._line.put(undo)


class _Job(Generic[_Result]):
    """One function, the task that waits for it, and what came of it. Made in the event loop of that task."""

    _result: _Result

    def __init__(self, work: Callable[[], _Result], undo: Callable[[_Result], object] | None = None) -> None:
        self.over = anyio.Event()
        self._wake = _calls_into_this_loop()
        self._work = work
        self._undo = undo
        self._begun = threading.Lock()
        self._last_word = threading.Lock()  # of the one who undoes: the thread, or the caller when he left too late
        self._left = False
        self._done = False
        self._error: BaseException | None = None

    def begin(self) -> bool:
        """True for the first caller, who alone decides whether it runs."""
        return self._begun.acquire(blocking=False)

    def do(self) -> None:
        """Run it in this thread, when nobody has dropped it, and wake the task."""
        if not self.begin():
            return
        try:
            self._result = self._work()
        except BaseException as error:
            self._error = error
        with self._last_word:
            self._done, left = True, self._left
        if left:
            self._undone()
        try:
            self._wake(self.over.set)
        except RuntimeError:  # its event loop has ended: nobody will ever hear of it
            if self.leave() is not None:
                self._undone()

    def leave(self) -> _Undoing | None:
        """The caller goes away without the result. What is to be done then, if the thread will not do it by itself."""
        with self._last_word:
            late, self._left = self._done and not self._left, True
        return _Undoing(self._undone) if late else None

    def _undone(self) -> None:
        if self._error is None and self._undo is not None:
            try:
                self._undo(self._result)
            except Exception as error:
                log.warning("what nobody waited for any more could not be undone: %s", error)

    def outcome(self) -> _Result:
        """The result, or the error with its traceback. To be asked once."""
        error, self._error = self._error, None
        if error is None:
            return self._result
        try:
            raise error
        finally:
            del error  # its traceback leads to this frame: no circle


class _Undoing:
    """The undoing of a job, for which nobody waits."""

    def __init__(self, do: Callable[[], None]) -> None:
        self.do = do


class _Line(HoldsStill):
    """The jobs that wait, and whether a thread is there for them. It knows nothing of its owner, who may go."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._begin()
        super().__init__()

    def _begin(self) -> None:
        self._jobs: SimpleQueue[_Job[object] | _Undoing | None] = SimpleQueue()
        self._served = False

    def begin_anew(self, *, held: bool) -> None:
        """In a forked child: the thread is not there, and the jobs are the parent's."""
        super().begin_anew(held=held)
        self._begin()

    def end(self) -> None:
        """No more jobs will come."""
        self._jobs.put(None)

    def put(self, job: _Job[_Result] | _Undoing) -> None:
        if is_finalizing():
            raise SessionError("the session store cannot be used any more: the Python interpreter is ending")
        with self._lock:
            if not self._served:
                try:
                    threading.Thread(target=self._serve, name=self._name, daemon=True).start()
                except RuntimeError as error:
                    raise SessionError(f"no thread can be had for the session store: {error}") from error
                self._served = True
            self._jobs.put(cast("_Job[object] | _Undoing", job))

    def _serve(self) -> None:
        while (job := self._next()) is not None:
            job.do()
            del job  # while it waits, the thread keeps nothing alive

    def _next(self) -> _Job[object] | _Undoing | None:
        """The next job; `None` when the thread is to end."""
        while True:
            try:
                return self._jobs.get(timeout=IDLE)
            except Empty:
                with self._lock:
                    if self._jobs.empty():
                        self._served = False
                        return None


def _calls_into_this_loop() -> _CallSoon:
    """A function for other threads: it lets the event loop of this moment call something soon, and does not wait.

    It raises RuntimeError once that loop has ended. (`anyio.from_thread.run_sync` waits, for ever when the loop ends.)
    """
    match current_token().native_token:
        case object(call_soon_threadsafe=soon):  # of asyncio
            return cast("_CallSoon", soon)
        case object(run_sync_soon=soon):  # of trio
            return cast("_CallSoon", soon)
        case other:
            raise RuntimeError(f"an event loop of an unknown kind: {type(other).__name__}")
