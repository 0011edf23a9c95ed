"""Collects what reaches the application beside its messages: log records of the package, and Python warnings."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from tests.conformance.record import Record

LOGGER = "agent_sdk"
QUIET_NEWS = ("init", "hook_message", "status")


class _Collector(logging.Handler):
    def __init__(self, record: Record) -> None:
        super().__init__(level=logging.DEBUG)
        self._record = record
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Warnings and errors count; anything below is kept as a remark."""
        text = self.format(record)
        (self._record.warnings if record.levelno >= logging.WARNING else self._record.remarks).append(text)


@contextmanager
def collected(record: Record) -> Iterator[None]:
    """While it is open, log records of the package and Python warnings go into the record."""
    logger = logging.getLogger(LOGGER)
    handler, level = _Collector(record), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
            record.warnings.extend(str(warning.message) for warning in caught if _is_ours(warning))
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


def _is_ours(warning: warnings.WarningMessage) -> bool:
    """Not what Python or a library says about itself."""
    return not issubclass(warning.category, DeprecationWarning | PendingDeprecationWarning | ResourceWarning)
