"""The person's stop button: cancels whatever a run is waiting for, without cancelling the run itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class Interrupt:
    """One per run. `set` cancels every guarded block; the run then ends legally and the session can go on."""

    def __init__(self) -> None:
        self.requested = False
        self._scopes: set[anyio.CancelScope] = set()

    def set(self) -> None:
        """Interrupt. From the run's own event loop."""
        self.requested = True
        for scope in self._scopes:
            scope.cancel()

    @contextmanager
    def guard(self) -> Iterator[None]:
        """A block that an interrupt cancels; afterwards `requested` tells. Never held open over a `yield`."""
        with anyio.CancelScope() as scope:
            if self.requested:
                scope.cancel()
            self._scopes.add(scope)
            try:
                yield
            finally:
                self._scopes.discard(scope)
