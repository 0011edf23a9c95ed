"""The folder in which a settings case happens: the file, its links, its repository, its rights."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conformance.child import NOBODY

BOM = b"\xef\xbb\xbf"
LOCAL = "settings.local.json"
GIT = ("git", "-c", "user.name=case", "-c", "user.email=case@example.test", "-c", "commit.gpgsign=false")


@dataclass(slots=True)
class World:
    """The folders of one case under a root: the home, the project with its settings folder, the link's folders."""

    root: Path
    folders: list[Path] = field(default_factory=list)
    last_put: bytes | None = None

    @property
    def home(self) -> Path:
        """The user's home."""
        return self.root / "home"

    @property
    def project(self) -> Path:
        """The working directory."""
        return self.root / "work" / "proj"

    @property
    def file(self) -> Path:
        """settings.local.json, a link perhaps."""
        return self.project / ".claude" / LOCAL

    def scope_file(self, scope: str) -> Path:
        """The settings file of a scope."""
        match scope:
            case "user":
                return self.home / ".claude" / "settings.json"
            case "project":
                return self.project / ".claude" / "settings.json"
            case "local":
                return self.file
            case _:
                raise ValueError(f"unknown scope {scope!r}")

    def build(self, scene: Mapping[str, Any]) -> None:
        """Everything that the case says is there."""
        self.home.mkdir(parents=True)
        self.project.mkdir(parents=True)
        (self.root / "work" / "lib").mkdir()
        if scene.get("git_repo"):
            self.git("init", "-q")
        if not scene.get("file_absent"):
            self._build_files(scene)
        if scene.get("file_tracked"):
            self.git("add", "-f", ".claude")
            self.git("commit", "-q", "-m", "settings")
        self._take_rights(scene)

    def _build_files(self, scene: Mapping[str, Any]) -> None:
        for scope, text in (scene.get("files") or {}).items():
            self.put(self.scope_file(scope), text.encode())
        if "file_text" not in scene:
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.folders = [self.file.parent]
        target = self.file
        if way := scene.get("file_is_symlink_to"):
            target = self.file.parent / way
            self._link(self.file, way, target)
        for number in range(1, scene.get("symlink_chain", 0) + 1):
            following = self.project / f"links-{number}" / "s.json"
            self._link(target, os.path.relpath(following, target.parent), following)
            target = following
        data = scene["file_text"].encode("utf-8", "surrogatepass")
        self.put(target, (BOM if scene.get("file_text_prefix_bom") else b"") + data)
        if "file_mode" in scene:
            os.chmod(target, mode_bits(scene["file_mode"]))

    def _link(self, link: Path, way: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(way)
        self.folders.append(target.parent.resolve())

    def put(self, file: Path, data: bytes) -> None:
        """Write a file as a person's editor would, links followed."""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        if file.resolve() == self.file.resolve():
            self.last_put = data

    def git(self, *words: str) -> int:
        """Run git in the project; its exit code."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run([*GIT, *words], cwd=self.project, env=env, capture_output=True).returncode

    def needs_other_user(self, scene: Mapping[str, Any]) -> bool:
        """Whether mode bits must count, which they do not for root."""
        return bool(scene.get("dir_readonly") or scene.get("middle_dir_readonly"))

    def _take_rights(self, scene: Mapping[str, Any]) -> None:
        if not self.needs_other_user(scene):
            return
        if os.getuid() == 0:
            for place in (self.root, *self.root.rglob("*")):
                os.chown(place, NOBODY, NOBODY, follow_symlinks=False)
        if scene.get("dir_readonly"):
            os.chmod(self.file.parent, 0o555)
        if scene.get("middle_dir_readonly"):
            for folder in self.folders[1:-1]:
                os.chmod(folder, 0o555)

    def give_rights_back(self) -> None:
        """So that the folder can be removed."""
        for folder in self.folders:
            os.chmod(folder, 0o755)

    def remove_rule(self, rule: str) -> None:
        """Take a rule out of the file, as a person does with an editor: the rest stays as it is."""
        written = json.loads(self.file.read_bytes().decode("utf-8-sig"))
        for listed in written["permissions"].values():
            if isinstance(listed, list) and rule in listed:
                listed.remove(rule)
        self.put(self.file, json.dumps(written, indent=2, ensure_ascii=False).encode())

    def facts(self) -> dict[str, Any]:
        """What can be said of the file now."""
        there = self.file.exists()
        return {
            "before": self.last_put,
            "after": self.file.read_bytes() if there else None,
            "mode": stat.S_IMODE(self.file.stat().st_mode) if there else None,
            "is_link": self.file.is_symlink(),
            "target": self.file.resolve().read_bytes() if there else None,
            "leftovers": self._leftovers(),
            "ignored": self.git("check-ignore", "-q", str(self.file)) == 0,
        }

    def _leftovers(self) -> list[str]:
        """Files beside the settings file, or any of its links, that are neither settings nor a lock."""
        known = {LOCAL, "settings.json", "s.json", self.file.resolve().name}
        found = []
        for folder in dict.fromkeys([self.file.parent, *self.folders]):
            found += [str(place) for place in folder.iterdir() if place.is_file()] if folder.is_dir() else []
        return [name for name in found if Path(name).name not in known and not name.endswith(".lock")]


def mode_bits(written: Any) -> int:
    """Mode bits as cases write them: `"0600"`, or the number 600 read as octal digits."""
    return int(str(written).removeprefix("0o"), 8)
