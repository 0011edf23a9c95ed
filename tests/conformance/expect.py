"""What must hold after a check: one function for each key of `expect`, found by its name.

The functions live in `expect_calls`, `expect_requests`, `expect_sessions`, `expect_questions` and `expect_settings`.
Each takes what was seen and what the case says, and fails with an AssertionError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tests.conformance.cases_file import Case
from tests.conformance.record import Record

Check: TypeAlias = Callable[["Seen", Any], None]
CHECKS: dict[str, Check] = {}


class Seen:
    """What was seen, beside the case that it was seen for."""

    def __init__(self, case: Case, record: Record) -> None:
        self.case = case
        self.record = record


def expects(*names: str) -> Callable[[Check], Check]:
    """Make a function the check of these keys."""

    def register(check: Check) -> Check:
        for name in names:
            CHECKS[name] = check
        return check

    return register


def failures(seen: Seen, expect: Mapping[str, Any]) -> list[str]:
    """Everything that does not hold, in words; empty when all holds. A key without a check is a failure."""
    found: list[str] = []
    for key, wanted in expect.items():
        if key == "any_of":
            tries = [failures(seen, alternative) for alternative in wanted]
            if all(tries):
                found.append("any_of: none holds: " + " | ".join("; ".join(each) for each in tries))
        elif key not in CHECKS:
            found.append(f"{key}: unknown key of expect")
        else:
            try:
                CHECKS[key](seen, wanted)
            except AssertionError as error:
                found.append(f"{key}: {error}")
    return found


def unknown_keys(expect: Mapping[str, Any]) -> list[str]:
    """The keys of `expect`, those of its alternatives too, that have no check."""
    alternatives = [key for each in expect.get("any_of", ()) for key in unknown_keys(each)]
    return [key for key in expect if key != "any_of" and key not in CHECKS] + alternatives


def same(seen: Any, wanted: Any, what: str = "") -> None:
    """Fail unless both are equal."""
    assert seen == wanted, f"{what}{': ' if what else ''}expected {wanted!r}, seen {seen!r}"


def listed(value: Any) -> list[Any]:
    """A list as it is, anything else as a list of one."""
    return list(value) if isinstance(value, list | tuple) else [value]
