"""Runs the session-store conformance suite that the Claude Agent SDK publishes against both of our stores.

In an environment of its own, with claude-agent-sdk installed: python .ci/peer_stores.py
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

import anyio
from claude_agent_sdk.testing import run_session_store_conformance

from agent_sdk import InMemoryStore, SQLiteStore


def main() -> None:
    """Run it on asyncio and on trio."""
    for backend in ("asyncio", "trio"):
        with tempfile.TemporaryDirectory() as folder:
            files = (Path(folder, f"{number}.sqlite") for number in count())
            anyio.run(run_session_store_conformance, InMemoryStore, backend=backend)
            anyio.run(run_session_store_conformance, partial(on_disk, files), backend=backend)
            print(f"{backend}: InMemoryStore and SQLiteStore keep the contracts that the Claude Agent SDK publishes")


def on_disk(files: Iterator[Path]) -> SQLiteStore:
    """A store in a new file."""
    return SQLiteStore(next(files))


if __name__ == "__main__":
    main()
