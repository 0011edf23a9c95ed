"""The shared behaviour cases of kind `settings` (copies in `cases/`), as far as this room alone can show them.

Where a case speaks of a session, the parts of one that belong to this room take its place: a watch over the files, the
suggestions for a call, and the keeper that saves them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_sdk.errors import AgentSDKError
from agent_sdk.rules.matching import Rulebook
from agent_sdk.rules.rule import Rule
from agent_sdk.rules.suggestions import narrowest, suggest
from agent_sdk.settings.document import read_document
from agent_sdk.settings.memory import SessionMemory
from agent_sdk.settings.remember import Receipt
from agent_sdk.settings.watch import SettingsWatch
from tests.settings.project import Project, give_away, readable_folder, run_without_root

CASES = {path.stem: json.loads(path.read_text()) for path in sorted(Path(__file__).with_name("cases").glob("*.json"))}
AS_OTHER_USER = """
import json
from pathlib import Path
from tests.settings.project import Project
tool, text, scope = sys.argv[2:]
project = Project(Path(sys.argv[1]))
project.load()
drop()
for receipt in project.remember(tool, json.loads(text), scope).receipts:
    print(receipt)
"""


class Session:
    """The parts of a session that remember."""

    def __init__(self, project: Project, trust_project: bool) -> None:
        self.project = project
        self.trust_project = trust_project
        self.diagnostics: list[str] = []
        self.memory = SessionMemory()
        self.receipts: list[Receipt] = []
        self.suggestions: list[dict[str, Any]] = []
        self.watch = SettingsWatch(project.places, trust_project=trust_project, warn=self.diagnostics.append)

    @property
    def rules(self) -> tuple[Rule, ...]:
        if self.watch.stale():
            self.watch.reload()
        return self.watch.rules + self.memory.rules

    def check(self, call: dict[str, Any]) -> str:
        return self.project.verdict(self.rules, call["tool"], call["input"])

    def remember(self, call: dict[str, Any]) -> None:
        found = suggest(self.project.reading(call["tool"], call["input"]), Rulebook(self.rules))
        self.suggestions = [update.to_dict() for update in found]
        updates = narrowest(found, call.get("scope", "local"))
        done = self.project.keeper(trust_project=self.trust_project).carry_out(updates, self.memory)
        self.memory = done.memory
        self.watch.saved(done.saved)
        self.receipts += done.receipts
        self.diagnostics += [str(receipt) for receipt in done.receipts if receipt.failed]


@contextmanager
def built(given: dict[str, Any]) -> Iterator[Project]:
    """The project that a case describes."""
    with readable_folder() as root:
        project = Project(root)
        project.cwd.mkdir()
        project.home.mkdir()
        text = given.get("file_text")
        if text is not None:
            path = project.write(text)
            if given.get("file_text_prefix_bom"):
                path.write_bytes(b"\xef\xbb\xbf" + text.encode())
            _link(project, path, given)
        if given.get("git_repo"):
            project.git("init")
            if given.get("file_tracked"):
                project.git("add", "-f", ".")
        give_away(root)
        if given.get("dir_readonly"):
            project.file().parent.chmod(0o555)
        if given.get("middle_dir_readonly"):
            (root / "hop1").chmod(0o555)
        yield project


def _link(project: Project, path: Path, given: dict[str, Any]) -> None:
    """Put the file behind links: to the place that the case names, or one folder further for each link."""
    targets = []
    if "file_is_symlink_to" in given:
        targets = [project.cwd / given["file_is_symlink_to"]]
    for number in range(1, given.get("symlink_chain", 0) + 1):
        targets.append(project.root / f"hop{number}" / "settings.json")
    if not targets:
        return
    for target in targets:
        target.parent.mkdir(exist_ok=True)
    path.rename(targets[-1])
    for link, target in zip([path, *targets], targets, strict=False):
        link.symlink_to(target)


KNOWN_GIVEN = {
    *(
        "file_text",
        "file_text_prefix_bom",
        "file_is_symlink_to",
        "symlink_chain",
        "middle_dir_readonly",
        "dir_readonly",
    ),
    *(
        "session_loaded_before",
        "then_file_edited_removing",
        "then_file_text",
        "git_repo",
        "file_tracked",
        "trust_project",
    ),
}
KNOWN_WHEN = {
    *("remember", "remember_twice", "load_then_check", "load_then_check_all"),
    *("check", "then_check", "then_check_all"),
}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """What the case expects of files, verdicts and diagnostics holds."""
    case = CASES[name]
    given, when, expect = case["given"], case["when"], case["expect"]
    assert set(given) <= KNOWN_GIVEN
    assert set(when) <= KNOWN_WHEN
    with built(given) as project, caplog.at_level(logging.WARNING):
        facts = run(project, given, when)
        facts["diagnostics"] += [record.getMessage() for record in caplog.records]
        for key, value in expect.items():
            assert holds(key, value, facts, project, given), f"{key}: {case['why']}\n{facts}"


def run(project: Project, given: dict[str, Any], when: dict[str, Any]) -> dict[str, Any]:
    """Do what the case says, and note what can be told afterwards."""
    facts: dict[str, Any] = {"diagnostics": [], "listed": [], "raised": None, "receipts": [], "suggestions": []}
    try:
        session = Session(project, given.get("trust_project", False))
    except AgentSDKError as error:
        facts["raised"] = error
        facts["diagnostics"].append(str(error))
        return facts
    if "then_file_edited_removing" in given:
        path = project.file()
        path.write_text(path.read_text().replace(f'"{given["then_file_edited_removing"]}", ', ""))
    if "then_file_text" in given:
        project.write(given["then_file_text"])
    facts["bytes"] = project.file().read_bytes() if project.file().exists() else None
    calls = [when[key] for key in ("remember", "remember_twice") if key in when]
    for call in calls * (2 if "remember_twice" in when else 1):
        if given.get("dir_readonly") or given.get("middle_dir_readonly"):
            words = (call["tool"], json.dumps(call["input"]), call.get("scope", "local"))
            facts["receipts"] += run_without_root(AS_OTHER_USER, str(project.root), *words).splitlines()
        else:
            session.remember(call)
    for key in ("load_then_check", "check", "then_check"):
        if key in when:
            facts["behavior"] = session.check(when[key])
    for key in ("load_then_check_all", "then_check_all"):
        facts["listed"] += [(session.check(call), call["behavior"]) for call in when.get(key, ())]
    facts["diagnostics"] += session.diagnostics
    facts["receipts"] += [str(receipt) for receipt in session.receipts]
    facts["suggestions"] = session.suggestions
    return facts


def holds(key: str, value: Any, facts: dict[str, Any], project: Project, given: dict[str, Any]) -> bool:
    """Whether one expectation is met."""
    if key == "any_of":
        return any(all(holds(*one, facts, project, given) for one in choice.items()) for choice in value)
    if key in ("load_raises", "no_crash", "call_still_executed"):
        return key != "load_raises" or (facts["raised"] is not None) == value
    if key in ("behavior", "then_behavior"):
        return bool(facts["behavior"] == value)
    if key == "behavior_in":
        return facts.get("behavior", "deny") in value
    if key == "as_listed":
        return all(is_now == expected for is_now, expected in facts["listed"]) and bool(facts["listed"])
    if key == "diagnostics_min":
        return len(facts["diagnostics"]) >= value
    if key == "error_or_warning":
        return any("not remembered" in text for text in facts["receipts"])
    if key == "suggestions":
        return bool(facts["suggestions"] == value)
    return file_holds(key, value, facts, project, given)


def file_holds(key: str, value: Any, facts: dict[str, Any], project: Project, given: dict[str, Any]) -> bool:
    """Whether an expectation of the file is met."""
    path = project.file()
    text = path.read_text(encoding="utf-8")
    if key == "file_bytes_unchanged":
        return path.read_bytes() == facts["bytes"]
    if key == "no_temp_files_left":
        return project.leftovers() == []
    permissions = json.loads(text)["permissions"]
    allow = permissions["allow"]
    checks: dict[str, Any] = {
        "file_is_valid_json": lambda: True,
        "loads_again": lambda: project.load().warnings == (),
        "allow_len": lambda: len(allow) == value,
        "allow_contains": lambda: set(value) <= set(allow),
        "allow_not_contains": lambda: not set(value) & set(allow),
        "deny": lambda: permissions["deny"] == value,
        "ask": lambda: permissions["ask"] == value,
        "all_old_rules_kept": lambda: set(json.loads(given["file_text"])["permissions"]["allow"]) <= set(allow),
        "no_saved_rule_contains": lambda: not any(part in rule for part in value for rule in allow),
        "saved_rule_max_len": lambda: all(len(rule) <= value for rule in allow),
        "text_not_contains": lambda: not any(part in text for part in value),
        "link_still_link": lambda: path.is_symlink(),
        "target_updated": lambda: "npx tsc" in text and read_document(str(path.resolve())) is not None,
    }
    return bool(checks[key]())
