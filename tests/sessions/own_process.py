"""Scripts that run in a process of their own, with a store at hand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

HEAD = """
import gc, os, sqlite3, sys, threading, time
import anyio
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.testing.store_values import entry, session_key

path, backend = sys.argv[1:]
store = SQLiteStore(path)

async def add(name):
    await store.append(session_key(), [entry(name)])

def run(work, *arguments):
    return anyio.run(work, *arguments, backend=backend)

def names():
    return [item["uuid"] for item in run(store.load, session_key())]

def child(work):
    wait_for(forked(work))

def wait_for(number):
    assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 0

def forked(work):
    number = os.fork()
    if number == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return number
"""


def ran(script: str, path: Path, backend: str) -> list[str]:
    """What a process of its own prints, line by line; it ends well, and soon."""
    quiet = ["-W", "ignore::DeprecationWarning"]  # Python 3.12 and later warn of every fork beside threads
    command = [sys.executable, *quiet, "-c", HEAD + script, str(path), backend]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=30)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()
