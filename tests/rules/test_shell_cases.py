"""The table of shell cases (`shell_rules.json`, a copy of the project's shared case table)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_sdk.rules.files import TableFiles
from agent_sdk.rules.matching import Place, Reading, Rulebook, known_facts
from agent_sdk.rules.rule import RuleSource, read_rules

TABLE = json.loads(Path(__file__).with_name("shell_rules.json").read_text(encoding="utf-8"))
META = TABLE["meta"]


def verdict(case: dict[str, Any]) -> str:
    """The verdict in mode `default` without any rule but those of the case."""
    given = META | case
    files = TableFiles(given.get("links", {}), given.get("dirs", ()), given.get("files", ()), home=given["home"])
    source = RuleSource("options", None, given["settings_root"])
    rules = []
    for behavior in ("allow", "ask", "deny"):
        rules += read_rules(given["rules"][behavior], behavior, source)[0]
    place = Place(given["cwd"], tuple(given["additional_dirs"]), files=files)
    reading = Reading("Bash", {"command": given["command"]}, known_facts("Bash"), place)
    book = Rulebook(rules)
    if book.deny(reading):
        return "deny"
    if book.ask(reading):
        return "ask"
    return "allow" if book.allow(reading) else "ask"


@pytest.mark.parametrize("case", TABLE["cases"], ids=[case["id"] for case in TABLE["cases"]])
def test_case(case: dict[str, Any]) -> None:
    """The verdict is the one that the table expects."""
    assert verdict(case) in (case["expect"], *case.get("also_ok", ())), case["why"]
