"""A project folder with settings files, a home, and git: what the tests of the settings room stand on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_sdk.config import SettingSource
from agent_sdk.rules.files import OsFiles
from agent_sdk.rules.matching import Place, Reading, Rulebook, known_facts
from agent_sdk.rules.suggestions import narrowest, suggest
from agent_sdk.settings.files import SOURCES, LoadedSettings, SettingsPlaces, load_settings
from agent_sdk.settings.memory import SessionMemory
from agent_sdk.settings.remember import Keeper, Remembered
from agent_sdk.updates import PermissionUpdate

GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.test", "-c", "init.defaultBranch=main")


@dataclass(frozen=True)
class Project:
    """A folder `cwd` and a home beside it."""

    root: Path

    @property
    def cwd(self) -> Path:
        return self.root / "project"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def places(self) -> SettingsPlaces:
        return SettingsPlaces(cwd=str(self.cwd), home=str(self.home))

    def file(self, source: SettingSource = "local") -> Path:
        return Path(self.places.path(source))

    def write(self, value: Any, source: SettingSource = "local") -> Path:
        """Put text, or a value as JSON, into the settings file of a source."""
        path = self.file(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return path

    def read(self, source: SettingSource = "local") -> Any:
        return json.loads(self.file(source).read_text(encoding="utf-8"))

    def git(self, *words: str) -> str:
        """Run git in the project, with no configuration but its own."""
        environment = {**os.environ, "HOME": str(self.home), "GIT_CONFIG_GLOBAL": "/dev/null"}
        done = subprocess.run([*GIT, *words], cwd=self.cwd, env=environment, check=True, capture_output=True, text=True)
        return done.stdout

    def load(self, *, trust_project: bool = False, sources: tuple[SettingSource, ...] = SOURCES) -> LoadedSettings:
        return load_settings(str(self.cwd), sources, home=str(self.home), trust_project=trust_project)

    def keeper(self, *, trust_project: bool = False, **given: Any) -> Keeper:
        return Keeper(**{"places": self.places, "sources": SOURCES, "trust_project": trust_project, **given})

    def reading(self, tool: str, given: dict[str, Any]) -> Reading:
        place = Place(str(self.cwd), files=OsFiles(home=str(self.home)))
        return Reading(tool, given, known_facts(tool), place)

    def verdict(self, rules: Any, tool: str, given: dict[str, Any]) -> str:
        """What rules alone say."""
        reading, book = self.reading(tool, given), Rulebook(rules)
        if book.deny(reading):
            return "deny"
        return "allow" if book.ask(reading) is None and book.allow(reading) else "ask"

    def remember(self, tool: str, given: dict[str, Any], scope: Any = "local", **more: Any) -> Remembered:
        """What a session does with `Allow(remember=scope)`."""
        rules = Rulebook(self.load().rules)
        updates: tuple[PermissionUpdate, ...] = narrowest(suggest(self.reading(tool, given), rules), scope)
        return self.keeper(**more).carry_out(updates, SessionMemory())

    def leftovers(self) -> list[str]:
        """Temporary files that should not be there."""
        return [str(path) for path in self.root.rglob("*.tmp")]


NOBODY = 65534


@contextmanager
def readable_folder() -> Iterator[Path]:
    """A temporary folder that other users may enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def run_without_root(program: str, *words: str) -> str:
    """What a Python program prints. From its `drop()` on it runs as a user whom mode bits stop; imports come before."""
    prelude = f"""
import os, sys, tempfile
from agent_sdk.errors import SettingsError
from agent_sdk.settings.writing import edit_files
def drop():
    with tempfile.TemporaryDirectory() as folder:  # whatever is imported late, is imported now
        edit_files([(folder + "/s.json", lambda document: {{"a": 1}})])
    if os.getuid() == 0:
        os.setgid({NOBODY})
        os.setuid({NOBODY})
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path]), "HOME": "/nonexistent"}
    done = subprocess.run(
        [sys.executable, "-c", prelude + program, *words], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def give_away(folder: Path) -> None:
    """Make a folder and all in it belong to the user of `run_without_root`."""
    if os.getuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
