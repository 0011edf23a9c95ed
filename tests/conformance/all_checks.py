"""Every check of the runner, registered by importing the modules that hold them."""

from __future__ import annotations

from tests.conformance import (
    expect_calls,
    expect_questions,
    expect_requests,
    expect_sessions,
    expect_settings,
)
from tests.conformance.expect import CHECKS, Seen, failures, unknown_keys

MODULES = (expect_calls, expect_questions, expect_requests, expect_sessions, expect_settings)

__all__ = ["CHECKS", "MODULES", "Seen", "failures", "unknown_keys"]
