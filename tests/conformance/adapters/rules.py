"""Kinds `rule`, `shell_table`, `path_table`: what the rules say to one call; asked as a dry run, nothing ever runs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from agent_sdk import PermissionPolicy
from agent_sdk.testing import TableFiles
from tests.conformance.cases_file import Case
from tests.conformance.rebase import make_links, rebased_input, rebased_path, rebased_rules
from tests.conformance.record import Raised, Record
from tests.conformance.vocabulary import check_keys

HOME = "/home/dev"
CWD = "/home/dev/proj"
PLATFORMS = {"windows": "win32"}


def judge_rule(case: Case, record: Record, root: Path) -> None:
    """A behaviour case: on an empty disk, or with the links of the case under a temporary root."""
    scene = case.scene
    rules, tool_input = scene.get("rules") or {}, scene["input"]
    cwd, home, platform = scene.get("cwd", CWD), scene.get("home", HOME), scene.get("platform")
    words: dict[str, Any] = {"platform": platform, "auto_allow_reads": False}
    fs = scene.get("fs") or {}
    check_keys(fs, ("symlinks",), "fs")
    if links := fs.get("symlinks"):
        make_links(links, root)
        rules, tool_input = rebased_rules(rules, root), rebased_input(tool_input, root)
        cwd, home = rebased_path(cwd, root), rebased_path(home, root)
        os.makedirs(cwd, exist_ok=True)
        words["home"] = home
    else:
        words["home"] = home
        words["files"] = TableFiles(
            home=home, case_sensitive=platform not in ("darwin", "win32"), windows=platform == "win32"
        )
    judged(record, scene["tool"], tool_input, cwd=cwd, **rules, **words)


def judge_row(case: Case, record: Record, root: Path) -> None:
    """A row of a table: on the disk that the row describes, or through a settings file under a temporary root."""
    scene = case.scene
    shell = case.kind == "shell_table"
    tool, tool_input = ("Bash", {"command": scene["command"]}) if shell else (scene["tool"], scene["input"])
    words: dict[str, Any] = {
        "platform": PLATFORMS.get(scene.get("platform", "linux"), scene.get("platform", "linux")),
        "mode": scene.get("mode", "default"),
        "auto_allow_reads": not shell,
        "home": scene["home"],
        "cwd": scene.get("cwd", scene["settings_root"]),
        "additional_directories": scene.get("additional_dirs", ()),
        "case_sensitive": not scene.get("case_insensitive_fs", False),
    }
    if scene.get("source") == "user" or scene["settings_root"] != words["cwd"]:
        words.update(_as_settings_file(scene, words, root))
        tool_input = rebased_input(tool_input, root)
    else:
        words.update(scene["rules"])
        words["files"] = TableFiles(
            links=scene.get("links", {}),
            dirs=scene.get("dirs", ()),
            files=scene.get("files", ()),
            home=scene["home"],
            case_sensitive=words["case_sensitive"],
            windows=words["platform"] == "win32",
        )
    judged(record, tool, tool_input, **words)


def _as_settings_file(scene: Mapping[str, Any], words: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """The rules in the settings file that the row names, with what exists around it, all under the root."""
    make_links(scene.get("links", {}), root)
    for folder in (*scene.get("dirs", ()), words["cwd"], words["home"]):
        os.makedirs(rebased_path(folder, root), exist_ok=True)
    for file in scene.get("files", ()):
        place = Path(rebased_path(file, root))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    moved: dict[str, Any] = {
        "cwd": rebased_path(words["cwd"], root),
        "home": rebased_path(words["home"], root),
        "additional_directories": [rebased_path(folder, root) for folder in words["additional_directories"]],
        "trust_project": True,
    }
    if scene.get("source") == "user":
        file = Path(rebased_path(scene["settings_root"], root)) / "settings.json"
        moved["setting_sources"] = ("user",)
    else:
        source = scene.get("source", "project")
        name = "settings.local.json" if source == "local" else "settings.json"
        file = Path(rebased_path(scene["settings_root"], root)) / ".claude" / name
        moved["setting_sources"] = (source,)
        way = os.path.relpath(file.parent, moved["cwd"])
        moved["settings_dir"] = str(PurePosixPath(way))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"permissions": rebased_rules(scene["rules"], root)}), encoding="utf-8")
    return moved


def judged(record: Record, tool: str, tool_input: Mapping[str, Any], **words: Any) -> None:
    """Load a policy, ask it, note the verdict, or the exception instead."""
    try:
        verdict = PermissionPolicy.load(**words).evaluate(tool, tool_input)
    except Exception as error:
        record.raised.append(Raised.of(error, "load"))
        record.facts["no_verdict"] = f"{type(error).__name__}: {error}"
        return
    record.verdicts.append(verdict.behavior)
    record.remarks.append(verdict.explain())
