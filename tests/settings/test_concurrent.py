"""Many processes save rules into one file at once, and some are killed: nothing that was acknowledged is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_sdk.settings.writing import edit_files

WRITER = """
import contextlib, os, sys
from agent_sdk.settings import writing
from agent_sdk.settings.changes import changed
from agent_sdk.updates import PermissionRule, PermissionUpdate
path, done, writer, first, last, locked = sys.argv[1:]
if locked == "no":
    writing._locked = lambda target, seconds: contextlib.nullcontext()
    writing._sweep = lambda target: None
log = os.open(done, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for number in range(int(first), int(last)):
    rule = PermissionRule("Bash", f"npx job-{writer}-{number}")
    update = PermissionUpdate.add_rules([rule])
    writing.edit_files([(path, lambda document: changed(document, update, path)[0])], lock_seconds=60)
    os.write(log, f"{rule}\\n".encode())
"""
BEFORE = {
    "$schema": "x",
    "permissions": {"deny": ["Read(./.env)"], "allow": ["Bash(ls *)"], "zzz": 1},
    "env": {"A": "ü"},
}


@dataclass
class Reader:
    """Reads the file again and again, and counts what it finds."""

    path: Path
    reads: int = 0
    invalid: list[str] = field(default_factory=list)

    def look(self) -> None:
        text = self.path.read_text()
        self.reads += 1
        try:
            assert json.loads(text)["permissions"]["deny"] == ["Read(./.env)"]
        except (ValueError, KeyError, AssertionError):
            self.invalid.append(text)

    @contextmanager
    def polling(self) -> Iterator[None]:
        stop = threading.Event()

        def poll() -> None:
            while not stop.is_set():
                self.look()
                time.sleep(0.001)

        thread = threading.Thread(target=poll)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


@dataclass
class Writers:
    """So many processes, each with its rules to save, in a folder of their own."""

    folder: Path
    many: int
    each: int
    locked: bool = True
    kills: int = 0

    @property
    def path(self) -> Path:
        return self.folder / "settings.local.json"

    def acknowledged(self, writer: int) -> list[str]:
        done = self.folder / f"done-{writer}"
        return done.read_text().splitlines() if done.exists() else []

    def start(self, writer: int) -> subprocess.Popen[bytes]:
        """A process that goes on behind the last rule that was acknowledged."""
        first = len(self.acknowledged(writer))
        words = [self.path, self.folder / f"done-{writer}", writer, first, self.each, "yes" if self.locked else "no"]
        return subprocess.Popen([sys.executable, "-c", WRITER, *map(str, words)], cwd=os.getcwd())

    def run(self, between: Callable[[dict[int, subprocess.Popen[bytes]]], None] = lambda running: None) -> None:
        """Run all to their end; `between` may kill some, which are then started again."""
        running = {writer: self.start(writer) for writer in range(self.many)}
        limit = time.monotonic() + 240
        while running:
            assert time.monotonic() < limit, "the writers do not come to an end"
            between(running)
            for writer, process in list(running.items()):
                if process.poll() is None:
                    continue
                del running[writer]
                if process.returncode == -signal.SIGKILL:
                    running[writer] = self.start(writer)
                else:
                    assert process.returncode == 0 or not self.locked
            time.sleep(0.02)

    def kill_some(self, running: dict[int, subprocess.Popen[bytes]]) -> None:
        """Kill a random process now and then."""
        if self.kills < 60 and random.random() < 0.15:
            victim = running[random.choice(list(running))]
            if victim.poll() is None:
                victim.send_signal(signal.SIGKILL)
                self.kills += 1

    def lost(self) -> set[str]:
        """Rules that were acknowledged and are not in the file."""
        allow = json.loads(self.path.read_text())["permissions"]["allow"]
        assert len(allow) == len(set(allow)), "a rule stands in the file twice"
        return {rule for writer in range(self.many) for rule in self.acknowledged(writer)} - set(allow)


def check(writers: Writers, reader: Reader) -> None:
    """What must hold in the end."""
    assert writers.lost() == set()
    assert reader.invalid == []
    assert reader.reads > 10
    edit_files([(str(writers.path), lambda document: {**document, "last": 1})])
    assert sorted(path.name for path in writers.folder.iterdir() if not path.name.startswith("done")) == [
        "settings.local.json",
        "settings.local.json.lock",
    ]
    after = json.loads(writers.path.read_text())
    assert list(after) == ["$schema", "permissions", "env", "last"]
    assert list(after["permissions"]) == ["deny", "allow", "zzz"]
    assert writers.path.stat().st_mode & 0o777 == 0o640
    assert len(after["permissions"]["allow"]) == 1 + writers.many * writers.each


def prepared(folder: Path, many: int, each: int, *, locked: bool = True) -> tuple[Writers, Reader]:
    writers = Writers(folder, many, each, locked)
    writers.path.write_text(json.dumps(BEFORE, ensure_ascii=False))
    writers.path.chmod(0o640)
    return writers, Reader(writers.path)


def test_a_few_processes_at_once(tmp_path: Path) -> None:
    """Three processes save ten rules each: all are there, and a reader never saw a broken file."""
    writers, reader = prepared(tmp_path, 3, 10)
    with reader.polling():
        writers.run()
    check(writers, reader)


@pytest.mark.slow
def test_many_processes_that_are_killed(tmp_path: Path) -> None:
    """Eight processes save a hundred rules each while some are killed: no rule whose write returned is lost."""
    writers, reader = prepared(tmp_path, 8, 100)
    with reader.polling():
        writers.run(writers.kill_some)
    assert writers.kills > 5
    check(writers, reader)


@pytest.mark.slow
def test_without_the_lock_rules_are_lost(tmp_path: Path) -> None:
    """The test above would notice: without the lock the same writers lose rules."""
    writers, reader = prepared(tmp_path, 8, 100, locked=False)
    with reader.polling():
        writers.run()
    assert writers.lost()
    assert reader.invalid == [], "each file is whole even so"
