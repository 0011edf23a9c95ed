"""The person's stop button: cancels whatever a run is waiting for, without cancelling the run itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import anyio

_OPEN: AbstractContextManager[None] = nullcontext()


class Interrupt:
    """One per run. `set` cancels every guarded block; the run then ends legally and the session can go on.

    Nobody can interrupt an unarmed one (`query()` has no handle for it), so its blocks need no guard.
    """

    def __init__(self, *, armed: bool) -> None:
        self.requested = False
        self._armed = armed
        self._scopes: set[anyio.CancelScope] = set()

    def set(self) -> None:
        """Interrupt. From the run's own event loop."""
        self.requested = True
        for scope in self._scopes:
            scope.cancel()

    def guard(self) -> AbstractContextManager[None]:
        """A block that an interrupt cancels; afterwards `requested` tells. Never held open over a `yield`."""
        return self._guarded() if self._armed else _OPEN

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        with anyio.CancelScope() as scope:
            if self.requested:
                scope.cancel()
            self._scopes.add(scope)
            try:
                yield
            finally:
                self._scopes.discard(scope)
