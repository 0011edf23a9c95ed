"""How many everyday commands of coding agents would ask a person, under the rules of a careful developer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from agent_sdk import PermissionPolicy, presets
from agent_sdk.testing import TableFiles

COMMANDS = Path(__file__).with_name("everyday_commands.json")
MOST_ASKED = 0.12
"""The share of commands that may ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Everyday:
    """One command: what kind of work it is, which kind of source it is from, and why it asks, if it should."""

    command: str
    kind: str
    source: str
    why_asked: str | None = None


@dataclass(frozen=True, slots=True)
class EverydayList:
    """The whole list: the commands, the presets and the developer's `own` rules, the project and its folders."""

    commands: tuple[Everyday, ...]
    sources: dict[str, str]
    presets: tuple[str, ...]
    own: tuple[str, ...]
    project: str
    folders: tuple[str, ...]

    @property
    def rules(self) -> tuple[str, ...]:
        """All rules that are in force for this developer."""
        return self.presets + self.own

    def asked(self, *allow: str) -> list[Everyday]:
        """The commands that are not allowed when these rules are in force."""
        home = self.project.rpartition("/")[0]
        files = TableFiles(home=home, dirs=self.folders)
        policy = PermissionPolicy.load(cwd=self.project, home=home, files=files, setting_sources=(), allow=allow)
        return [
            each for each in self.commands if policy.evaluate("Bash", {"command": each.command}).behavior != "allow"
        ]


def everyday() -> EverydayList:
    """The list as it is stored."""
    stored = json.loads(COMMANDS.read_text())
    given = {"read_only_bash": presets.read_only_bash, "read_only_git": presets.read_only_git}
    return EverydayList(
        commands=tuple(Everyday(**each) for each in stored["commands"]),
        sources=stored["sources"],
        presets=tuple(rule for name in stored["presets"] for rule in given[name]),
        own=tuple(rule for group in stored["allow"].values() for rule in group),
        project=stored["project"],
        folders=tuple(stored["project"] + folder for folder in stored["folders"]),
    )


def prompts() -> list[dict[str, str | float | int]]:
    """Row P: the share of everyday commands that ask, without rules, with the presets, with all rules."""
    listed = everyday()
    by_rules = {
        "no rules": (),
        "read_only_bash": presets.read_only_bash,
        "both presets": (*presets.read_only_bash, *presets.read_only_git),
        "presets and the developer's rules": listed.rules,
    }
    rows: list[dict[str, str | float | int]] = []
    for name, rules in by_rules.items():
        asked = len(listed.asked(*rules))
        percent = round(100 * asked / len(listed.commands), 1)
        rows.append({"rules": name, "commands": len(listed.commands), "asked": asked, "percent": percent})
    return rows
