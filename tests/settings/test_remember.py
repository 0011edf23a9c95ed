"""What an answer asks to remember is carried out whole, or not at all, and a receipt says which."""

from __future__ import annotations

import json
import logging
import os
from typing import Any

import pytest

from agent_sdk.rules.matching import Rulebook
from agent_sdk.settings.memory import SessionMemory
from agent_sdk.settings.remember import Remembered
from agent_sdk.updates import PermissionRule, PermissionUpdate
from tests.settings.project import Project

RULE = PermissionRule("Bash", "npm test")
NOTHING = SessionMemory()
ADD = PermissionUpdate.add_rules([RULE])
FULL = {
    "$schema": "x",
    "permissions": {"allow": ["Bash(ls *)"], "deny": ["Read(./.env)"], "ask": ["Bash(git push *)"]},
    "hooks": {"PreToolUse": []},
}


def carry_out(
    project: Project, *updates: PermissionUpdate, memory: SessionMemory = NOTHING, **given: Any
) -> Remembered:
    return project.keeper(**given).carry_out(updates, memory)


def texts(memory: SessionMemory) -> list[str]:
    return [f"{rule.behavior} {rule.text}" for rule in memory.rules]


@pytest.mark.parametrize(
    ("destination", "source"), [("localSettings", "local"), ("projectSettings", "project"), ("userSettings", "user")]
)
def test_each_file(destination: Any, source: Any, project: Project) -> None:
    """A rule goes into the file of its destination, beside what is there, and counts from there."""
    project.write(FULL, source)
    done = carry_out(project, ADD.at(destination), trust_project=True)
    assert project.read(source)["permissions"]["allow"] == ["Bash(ls *)", "Bash(npm test)"]
    [receipt] = done.receipts
    assert (receipt.file, receipt.added, receipt.failed) == (
        str(project.file(source)),
        ("allow: Bash(npm test)",),
        None,
    )
    assert receipt.session_only is None
    assert done.memory == NOTHING
    assert done.saved == ((source, "Bash(npm test)"),)
    assert project.verdict(project.load(trust_project=True).rules, "Bash", {"command": "npm test"}) == "allow"


def test_session_writes_nothing(project: Project) -> None:
    """What is for the session stays in memory."""
    project.write(FULL)
    before = project.file().read_bytes()
    done = carry_out(project, ADD, ADD)
    assert project.file().read_bytes() == before
    assert not project.file("project").exists()
    assert texts(done.memory) == ["allow Bash(npm test)"]
    assert done.receipts[0].added == ("allow: Bash(npm test)",)
    assert done.receipts[0].already == ("allow: Bash(npm test)",)
    assert done.saved == ()


def test_session_rules_are_replaced_and_removed_by_behavior(project: Project) -> None:
    """Updates of the session change rules of the session and of their behaviour only."""
    other = PermissionRule("Bash", "ls")
    memory = carry_out(
        project, PermissionUpdate.add_rules([RULE, other]), PermissionUpdate.add_rules([RULE], behavior="deny")
    ).memory
    removed = carry_out(project, PermissionUpdate.remove_rules([RULE], behavior="allow"), memory=memory)
    assert texts(removed.memory) == ["allow Bash(ls)", "deny Bash(npm test)"]
    assert removed.receipts[0].removed == ("allow: Bash(npm test)",)
    replaced = carry_out(project, PermissionUpdate.replace_rules([], behavior="allow"), memory=memory)
    assert texts(replaced.memory) == ["deny Bash(npm test)"]


def test_modes_and_folders(project: Project) -> None:
    """Mode and folders count for the session at once, and are kept in the file for the next one."""
    done = carry_out(
        project,
        PermissionUpdate.set_mode("acceptEdits", destination="localSettings"),
        PermissionUpdate.add_directories(["../lib", "/opt"], destination="localSettings"),
    )
    assert project.read() == {
        "permissions": {"defaultMode": "acceptEdits", "additionalDirectories": ["../lib", "/opt"]}
    }
    assert done.memory.mode == "acceptEdits"
    base = ("/base",)
    assert done.memory.working_directories(base) == ("/base", str(project.root / "lib"), "/opt")
    less = carry_out(project, PermissionUpdate.remove_directories(["/opt", "/base"]), memory=done.memory).memory
    assert less.working_directories(base) == (str(project.root / "lib"),)
    more = carry_out(project, PermissionUpdate.add_directories(["/base"]), memory=less).memory
    assert more.working_directories(base) == ("/base", str(project.root / "lib"))


def test_two_destinations_get_two_receipts(project: Project) -> None:
    """Each destination has a receipt of its own."""
    done = carry_out(project, ADD.at("localSettings"), ADD, ADD.at("userSettings"))
    assert [receipt.destination for receipt in done.receipts] == ["localSettings", "session", "userSettings"]
    assert project.read() == project.read("user")


REFUSED: dict[str, tuple[list[PermissionUpdate], str]] = {
    "bypass": ([PermissionUpdate.set_mode("bypassPermissions")], "only for sessions that started in it"),
    "bypass beside a rule": ([ADD.at("userSettings"), PermissionUpdate.set_mode("bypassPermissions")], "bypass"),
    "a rule that cannot be read": ([ADD, PermissionUpdate.add_rules([PermissionRule("Edit", "!x")])], "Edit(!x)"),
    "a deny rule that cannot be read": (
        [
            ADD,
            PermissionUpdate.add_rules([PermissionRule("Edit", "../x")], behavior="deny", destination="userSettings"),
        ],
        "..",
    ),
    "every tool": ([PermissionUpdate.add_rules([PermissionRule("*")], destination="localSettings")], "too wide"),
    "broken file": ([ADD, ADD.at("userSettings"), ADD.at("projectSettings")], "not valid JSON"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_all_or_none(name: str, project: Project) -> None:
    """One update that cannot be carried out leaves memory and files as they were; every receipt says why."""
    updates, why = REFUSED[name]
    project.write("{", "project")
    done = carry_out(project, *updates, trust_project=True)
    assert done.memory == NOTHING
    assert done.saved == ()
    assert not project.file("user").exists()
    assert not project.file("local").exists()
    assert project.file("project").read_text() == "{"
    assert {receipt.destination for receipt in done.receipts} == {update.destination for update in updates}
    assert all(receipt.failed is not None and why in receipt.failed for receipt in done.receipts)
    assert "not remembered" in str(done.receipts[0])
    assert project.leftovers() == []


def test_bypass_for_a_session_that_started_in_it(project: Project) -> None:
    """A session that started in bypassPermissions may go back to it, but no file is told."""
    bypass = PermissionUpdate.set_mode("bypassPermissions")
    assert carry_out(project, bypass, may_bypass=True).memory.mode == "bypassPermissions"
    refused = carry_out(project, bypass.at("userSettings"), may_bypass=True)
    assert refused.receipts[0].failed is not None
    assert not project.file("user").exists()


def test_no_update_touches_another_scope(project: Project) -> None:
    """Removing or replacing deny and ask rules in one scope leaves those of all others."""
    for source in ("local", "project", "user"):
        project.write(FULL, source)
    rules = [PermissionRule("Read", "./.env")]
    updates = [
        PermissionUpdate.remove_rules(rules, behavior="deny", destination="localSettings"),
        PermissionUpdate.replace_rules([], behavior="ask", destination="localSettings"),
        PermissionUpdate.remove_rules(rules, behavior="deny"),
        PermissionUpdate.replace_rules([], behavior="ask"),
    ]
    carry_out(project, *updates)
    assert project.read("project") == project.read("user") == FULL
    assert project.read()["permissions"] == {"allow": ["Bash(ls *)"], "deny": [], "ask": []}


UNTRUSTED: dict[str, Any] = {
    "project": ("projectSettings", {}, "come with the repository"),
    "local that git tracks": ("localSettings", {}, "tracked by git"),
    "source that is not read": ("userSettings", {"sources": ("project",)}, "not read by this session"),
}


@pytest.mark.parametrize("name", UNTRUSTED)
def test_what_does_not_count_from_the_file_counts_for_the_session(name: str, project: Project) -> None:
    """A rule saved where it does not count by itself holds for this session, as the receipt says."""
    destination, given, why = UNTRUSTED[name]
    project.git("init")
    project.write(FULL)
    project.git("add", "-f", ".")
    done = carry_out(project, ADD.at(destination), **given)
    [receipt] = done.receipts
    assert receipt.failed is None
    assert receipt.session_only is not None
    assert why in receipt.session_only
    assert "for this session only, unless trusted" in str(receipt)
    assert texts(done.memory) == ["allow Bash(npm test)"]
    gone = carry_out(
        project,
        PermissionUpdate.remove_rules([RULE], behavior="allow", destination=destination),
        memory=done.memory,
        **given,
    )
    assert gone.memory.rules == ()


def test_rules_of_a_file_keep_its_anchor(project: Project) -> None:
    """A path rule for the user's file means the same in this session as when it is read back."""
    update = PermissionUpdate.add_rules([PermissionRule("Edit", "/notes/**")], destination="userSettings")
    done = carry_out(project, update, sources=())
    assert done.memory.rules[0].source.root == str(project.home / ".claude")


def test_nothing_to_remember_is_told(project: Project) -> None:
    """With nothing to suggest nothing is saved, and the receipt says so."""
    [receipt] = carry_out(project).receipts
    assert "no rule can be suggested" in str(receipt)


def test_a_link_of_the_repository_leads_nowhere_else(project: Project) -> None:
    """A cloned link cannot turn a rule for this folder into one for all folders."""
    project.git("init")
    project.write(FULL, "user")
    project.file().parent.mkdir()
    project.file().symlink_to(os.path.relpath(project.file("user"), project.file().parent))
    [receipt] = carry_out(project, ADD.at("localSettings")).receipts
    assert receipt.failed is not None
    assert "leads out of the work tree" in receipt.failed
    assert project.read("user") == FULL
    assert carry_out(project, ADD.at("localSettings"), trust_project=True).receipts[0].failed is None


def test_a_link_inside_the_work_tree_is_followed(project: Project) -> None:
    """A linked folder in the same work tree is written to, and counts for this session only."""
    project.git("init")
    (project.cwd / "conf").mkdir()
    (project.cwd / ".claude").symlink_to("conf")
    [receipt] = carry_out(project, ADD.at("localSettings")).receipts
    assert receipt.failed is None
    assert receipt.session_only is not None
    assert (project.cwd / "conf" / "settings.local.json").exists()


def excluded(project: Project) -> list[str]:
    path = project.cwd / ".git" / "info" / "exclude"
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]


def test_first_write_keeps_the_file_out_of_commits(project: Project) -> None:
    """Git ignores the local file, its lock and temporary files after the first write; once is enough."""
    project.git("init")
    first, second = (carry_out(project, ADD.at("localSettings")) for _ in range(2))
    assert excluded(project) == ["/.claude/settings.local.json*"]
    assert project.git("status", "--porcelain", "--untracked-files=all") == ""
    assert first.receipts[0].note is not None
    assert second.receipts[0].note is None
    assert not (project.home / ".config").exists()
    assert not (project.cwd / ".gitignore").exists()


def test_exclude_in_a_sub_folder_with_odd_names(project: Project) -> None:
    """The line names the folder from the top of the work tree, and its letters stand for themselves."""
    project.git("init")
    (project.cwd / ".git" / "info" / "exclude").write_bytes(b"mine")
    odd = Project(project.cwd / "s*b [1]")
    odd.cwd.mkdir(parents=True)
    carry_out(odd, ADD.at("localSettings"))
    assert excluded(project) == ["mine", "/s\\*b\\ \\[1\\]/project/.claude/settings.local.json*"]
    assert odd.git("status", "--porcelain", "--untracked-files=all", ".") == ""


def test_exclude_of_a_linked_work_tree(project: Project) -> None:
    """In a further work tree the exclude file is that of the main repository."""
    project.git("init")
    project.git("commit", "--allow-empty", "-qm", "x")
    project.git("worktree", "add", "-q", "../other/project")
    other = Project(project.root / "other")
    other_keeper = other.keeper()
    other_keeper.carry_out([ADD.at("localSettings")], NOTHING)
    assert excluded(project) == ["/.claude/settings.local.json*"]
    assert other.git("status", "--porcelain", "--untracked-files=all") == ""


@pytest.mark.parametrize("ignored", [".claude/", "*.json\n*.lock", "settings.local.json*"])
def test_what_is_ignored_already_stays(ignored: str, project: Project) -> None:
    """A repository that ignores the file needs no line."""
    project.git("init")
    (project.cwd / ".gitignore").write_text(ignored)
    carry_out(project, ADD.at("localSettings"))
    assert excluded(project) == []


def test_a_planted_link_as_exclude_is_not_followed(project: Project) -> None:
    """An exclude file that leads elsewhere is left alone; the rule is saved all the same, with a word about it."""
    project.git("init")
    precious = project.root / "precious"
    precious.write_text("keep me")
    path = project.cwd / ".git" / "info" / "exclude"
    path.unlink()
    path.symlink_to(precious)
    [receipt] = carry_out(project, ADD.at("localSettings")).receipts
    assert precious.read_text() == "keep me"
    assert receipt.failed is None
    assert receipt.note is not None
    assert "keep it out of commits" in receipt.note


def test_only_the_lock_of_project_settings_stays_out_of_commits(project: Project) -> None:
    """Project settings are meant to be committed, their lock is not; user settings leave git alone."""
    project.git("init")
    carry_out(project, ADD.at("projectSettings"), ADD.at("userSettings"))
    assert excluded(project) == ["/.claude/settings.json.lock"]
    assert project.git("status", "--porcelain", "--untracked-files=all").split() == ["??", ".claude/settings.json"]


@pytest.mark.anyio
async def test_receipt_tells_what_still_asks(project: Project, caplog: pytest.LogCaptureFixture) -> None:
    """An ask rule elsewhere still asks: the receipt names it with its file, and the log warns."""
    project.write({"permissions": {"ask": ["Bash(npm *)"]}}, "user")
    rules = Rulebook(project.load().rules)
    call = project.reading("Bash", {"command": "npm test"})
    with caplog.at_level(logging.INFO, "agent_sdk.settings"):
        done = await project.keeper().remember([ADD.at("localSettings")], NOTHING, call=call, rules=rules)
    still = done.receipts[0].still_asks
    assert still == f"Bash(npm *) ({project.file('user')} ask[0])"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "will still ask" in caplog.text


@pytest.mark.anyio
async def test_receipt_tells_that_a_whole_is_not_covered(project: Project) -> None:
    """A rule that does not cover the very call is saved, and the receipt says that it will ask again."""
    call = project.reading("Bash", {"command": "npm run build"})
    done = await project.keeper().remember([ADD], NOTHING, call=call, rules=Rulebook())
    assert done.receipts[0].still_asks == "no rule covers this very call as a whole"
    covered = await project.keeper().remember(
        [ADD], NOTHING, call=project.reading("Bash", {"command": "npm test"}), rules=Rulebook()
    )
    assert covered.receipts[0].still_asks is None


@pytest.mark.anyio
async def test_failure_is_logged_and_not_raised(project: Project, caplog: pytest.LogCaptureFixture) -> None:
    """A file that cannot be written costs the memory, not the call."""
    project.write("{")
    done = await project.keeper().remember([ADD.at("localSettings")], NOTHING)
    assert done.receipts[0].failed is not None
    assert "not remembered" in caplog.text


def test_receipts_speak(project: Project) -> None:
    """A receipt reads as a sentence with file and rules."""
    project.write(FULL)
    update = PermissionUpdate.add_rules([RULE, PermissionRule("Bash", "ls *")], destination="localSettings")
    assert str(carry_out(project, update).receipts[0]) == (
        f"remembered in {project.file()}: added allow: Bash(npm test); already there allow: Bash(ls *)"
    )
    assert json.loads(project.file().read_text())["hooks"] == {"PreToolUse": []}
