"""Names of the public API that the package may not have yet: their absence is a clear failure, not an ImportError."""

from __future__ import annotations

from typing import Any

import agent_sdk


def inbox(store: Any) -> Any:
    """Where open approvals are listed: the `Inbox` on a store; the store itself until the package has one."""
    made = getattr(agent_sdk, "Inbox", None)
    return store if made is None else made(store)


def public(name: str) -> Any:
    """The public name, or an AssertionError that says that it is missing."""
    found = getattr(agent_sdk, name, None)
    assert found is not None, f"agent_sdk has no {name} yet"
    return found
