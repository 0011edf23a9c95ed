"""Settings files are written whole or not at all, and nothing that others wrote is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_sdk.errors import SettingsError
from agent_sdk.settings import writing
from agent_sdk.settings.changes import changed
from agent_sdk.settings.document import LARGEST
from agent_sdk.settings.writing import edit_files
from agent_sdk.updates import PermissionRule, PermissionUpdate
from agent_sdk.values import Json, JsonObject
from tests.settings.project import give_away, readable_folder, run_without_root

RULE = PermissionRule("Bash", "npm test")


def adding(text: str = "Bash(npm test)") -> Callable[[JsonObject], dict[str, Json]]:
    """An edit that adds one allow rule."""
    update = PermissionUpdate.add_rules([PermissionRule.from_text(text)])
    return lambda document: changed(document, update, "/p")[0]


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_new_file(tmp_path: Path) -> None:
    """A new file is for its owner alone, in a folder made for it, with the bytes that people know."""
    path = tmp_path / ".claude" / "settings.local.json"
    edit_files([(str(path), adding())])
    assert path.read_text() == '{\n  "permissions": {\n    "allow": [\n      "Bash(npm test)"\n    ]\n  }\n}\n'
    assert path.stat().st_mode & 0o777 == 0o600
    assert files_in(path.parent) == {"settings.local.json", "settings.local.json.lock"}


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o640])
def test_mode_bits_are_kept(mode: int, tmp_path: Path) -> None:
    """An existing file keeps who may read it."""
    path = tmp_path / "s.json"
    path.write_text("{}")
    path.chmod(mode)
    edit_files([(str(path), adding())])
    assert path.stat().st_mode & 0o777 == mode


def test_everything_else_is_kept(tmp_path: Path) -> None:
    """Unknown keys, their order, letters and indentation stay; the one list grows."""
    path = tmp_path / "s.json"
    before = {
        "$schema": "x",
        "env": {"LANG": "日本語"},
        "permissions": {"zzz": 1, "allow": ["a"], "deny": ["b"]},
        "z": 1.5,
    }
    path.write_text(json.dumps(before, ensure_ascii=False, indent=4))
    edit_files([(str(path), adding())])
    after = json.loads(path.read_text())
    expected = {**before, "permissions": {"zzz": 1, "allow": ["a", "Bash(npm test)"], "deny": ["b"]}}
    assert json.dumps(after) == json.dumps(expected)
    assert "日本語" in path.read_text()
    assert '\n    "env"' in path.read_text()


def test_same_rule_twice_leaves_the_file_alone(tmp_path: Path) -> None:
    """A rule that is there already is not written again: the file keeps its bytes and its inode."""
    path = tmp_path / "s.json"
    path.write_text('{"permissions":{"allow":["Bash(npm test)"]}}')
    before = path.stat().st_ino
    edit_files([(str(path), adding())])
    assert (path.read_text(), path.stat().st_ino) == ('{"permissions":{"allow":["Bash(npm test)"]}}', before)


UNTOUCHED: dict[str, str] = {
    "trailing comma": '{"permissions": {"allow": ["a",]}}',
    "comments": '{\n // mine\n "permissions": {}}',
    "truncated": '{"permissions": {',
    "a list": "[]",
    "a text": '"x"',
    "permissions is a list": '{"permissions": []}',
    "allow is a text": '{"permissions": {"allow": "Bash"}}',
    "allow is an object": '{"permissions": {"allow": {}}}',
    "a key twice": '{"env": {"A": 1, "A": 2}}',
    "a number that JSON cannot keep": '{"x": 1e999}',
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_what_cannot_be_merged_is_left_as_it_is(name: str, tmp_path: Path) -> None:
    """A file that says something unclear keeps its bytes, and the error says why."""
    path = tmp_path / "s.json"
    path.write_text(UNTOUCHED[name])
    with pytest.raises(SettingsError, match=r"s\.json|/p"):
        edit_files([(str(path), adding())])
    assert path.read_text() == UNTOUCHED[name]
    assert files_in(tmp_path) == {"s.json", "s.json.lock"}


def test_links_are_followed(tmp_path: Path) -> None:
    """A chain of links stays one; lock and temporary file lie beside the target."""
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    (tmp_path / "c" / "s.json").write_text("{}")
    (tmp_path / "b" / "s.json").symlink_to("../c/s.json")
    (tmp_path / "a" / "s.json").symlink_to("../b/s.json")
    edit_files([(str(tmp_path / "a" / "s.json"), adding())])
    assert files_in(tmp_path / "a") == files_in(tmp_path / "b") == {"s.json"}
    assert files_in(tmp_path / "c") == {"s.json", "s.json.lock"}
    assert os.readlink(tmp_path / "a" / "s.json") == "../b/s.json"
    assert "npm test" in (tmp_path / "c" / "s.json").read_text()


def test_dangling_link_creates_its_target(tmp_path: Path) -> None:
    """A link whose target does not exist yet stays a link."""
    (tmp_path / "s.json").symlink_to("later/t.json")
    edit_files([(str(tmp_path / "s.json"), adding())])
    assert (tmp_path / "s.json").is_symlink()
    assert "npm test" in (tmp_path / "later" / "t.json").read_text()


def test_orphans_are_swept(tmp_path: Path) -> None:
    """What a killed process left behind goes, and nothing else does."""
    kept = {"s.json", "s.json.lock", "s.json.mine.tmp", "t.json.abcdefgh.tmp", "s.json.bak"}
    for name in (*kept, "s.json.abcd_123.tmp"):
        (tmp_path / name).write_text("{}")
    edit_files([(str(tmp_path / "s.json"), adding())])
    assert files_in(tmp_path) == kept


def test_two_paths_to_one_file(tmp_path: Path) -> None:
    """Edits of a file under two names are both in it."""
    (tmp_path / "s.json").write_text("{}")
    (tmp_path / "t.json").symlink_to("s.json")
    edit_files([(str(tmp_path / "s.json"), adding("Bash(a)")), (str(tmp_path / "t.json"), adding("Bash(b)"))])
    assert json.loads((tmp_path / "s.json").read_text())["permissions"]["allow"] == ["Bash(a)", "Bash(b)"]


def test_all_files_or_none(tmp_path: Path) -> None:
    """When one file cannot be merged the others stay as they were too."""
    good, bad = tmp_path / "a.json", tmp_path / "z.json"
    good.write_text("{}")
    bad.write_text("{")
    with pytest.raises(SettingsError):
        edit_files([(str(good), adding()), (str(bad), adding())])
    assert (good.read_text(), bad.read_text()) == ("{}", "{")
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize("first", ["{}", None], ids=["old", "new"])
def test_first_file_is_put_back_when_the_second_fails(
    first: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fails between two files leaves neither changed."""
    one, two = tmp_path / "a.json", tmp_path / "b.json"
    if first is not None:
        one.write_text(first)
    replace = os.replace

    def failing(source: Any, target: Any) -> None:
        if str(target) == str(two):
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(writing.os, "replace", failing)
    with pytest.raises(SettingsError, match="No space left"):
        edit_files([(str(one), adding()), (str(two), adding())])
    assert (one.read_text() if one.exists() else None) == first
    assert not two.exists()
    assert not list(tmp_path.glob("*.tmp"))


def test_disk_full_while_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that fails leaves the old file and no temporary one."""
    path = tmp_path / "s.json"
    path.write_text("{}")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", full)
    with pytest.raises(SettingsError, match="No space left"):
        edit_files([(str(path), adding())])
    assert path.read_text() == "{}"
    assert files_in(tmp_path) == {"s.json", "s.json.lock"}


def test_lock_of_another_process_is_waited_for_and_then_told(tmp_path: Path) -> None:
    """A lock that never comes free is an error; one that comes free is not."""
    path = tmp_path / "s.json"
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import filelock, sys\nwith filelock.FileLock(sys.argv[1]):\n print(flush=True); sys.stdin.read()",
            f"{path}.lock",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdin is not None
    holder.stdout.readline()
    with pytest.raises(SettingsError, match="another process"):
        edit_files([(str(path), adding())], lock_seconds=0.1)
    assert not path.exists()
    threading.Timer(0.2, holder.stdin.close).start()
    edit_files([(str(path), adding())])
    assert path.exists()
    holder.wait()
    holder.stdout.close()


def test_a_planted_link_as_lock_is_not_followed(tmp_path: Path) -> None:
    """A lock file that is a link to something precious fails the save and touches nothing."""
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    (tmp_path / "s.json.lock").symlink_to(precious)
    with pytest.raises(SettingsError):
        edit_files([(str(tmp_path / "s.json"), adding())], lock_seconds=0.1)
    assert precious.read_text() == "keep me"
    assert not (tmp_path / "s.json").exists()


def test_folder_that_may_not_be_written() -> None:
    """A read-only folder is an error that names it, and nothing is left in it."""
    program = (
        "drop()\n"
        "try: edit_files([(sys.argv[1], lambda document: {'a': 1})])\n"
        "except SettingsError as error: print(error)\n"
    )
    with readable_folder() as folder:
        path = folder / "s.json"
        path.write_text("{}")
        give_away(folder)
        folder.chmod(0o555)
        assert "cannot be written: Permission denied" in run_without_root(program, str(path))
        assert path.read_text() == "{}"
        assert files_in(folder) == {"s.json"}


def test_file_that_may_not_be_written() -> None:
    """A file that its owner made read-only is not replaced by way of its folder."""
    program = (
        "drop()\n"
        "try: edit_files([(sys.argv[1], lambda document: {'a': 1})])\n"
        "except SettingsError as error: print(error)\n"
    )
    with readable_folder() as folder:
        path = folder / "s.json"
        path.write_text("{}")
        path.chmod(0o444)
        give_away(folder)
        assert "cannot be written: Permission denied" in run_without_root(program, str(path))
        assert path.read_text() == "{}"
        assert files_in(folder) == {"s.json", "s.json.lock"}


def test_a_file_never_grows_beyond_what_is_read(tmp_path: Path) -> None:
    """A file that could not be read again is not written."""
    path = tmp_path / "s.json"
    path.write_text('{"x": "' + "y" * (LARGEST - 20) + '"}')
    before = path.read_bytes()
    with pytest.raises(SettingsError, match="larger"):
        edit_files([(str(path), adding())])
    assert path.read_bytes() == before


# document, update → document, change
MERGES: dict[str, tuple[Any, PermissionUpdate, Any]] = {
    "add to nothing": (
        {},
        PermissionUpdate.add_rules([RULE, RULE]),
        {"permissions": {"allow": ["Bash(npm test)"]}},
    ),
    "add beside odd entries": (
        {"permissions": {"allow": [1, "Bash(", "x"]}},
        PermissionUpdate.add_rules([RULE]),
        {"permissions": {"allow": [1, "Bash(", "x", "Bash(npm test)"]}},
    ),
    "whole tool in another spelling is there": (
        {"permissions": {"allow": ["Bash(*)"]}},
        PermissionUpdate.add_rules([PermissionRule("Bash")]),
        {"permissions": {"allow": ["Bash(*)"]}},
    ),
    "deny that was a lone text": (
        {"permissions": {"deny": "Read(./.env)"}},
        PermissionUpdate.add_rules([RULE], behavior="deny"),
        {"permissions": {"deny": ["Read(./.env)", "Bash(npm test)"]}},
    ),
    "remove": (
        {"permissions": {"allow": ["a", "Bash(npm test)", "b", "Bash(npm test)"], "deny": ["Bash(npm test)"]}},
        PermissionUpdate.remove_rules([RULE], behavior="allow"),
        {"permissions": {"allow": ["a", "b"], "deny": ["Bash(npm test)"]}},
    ),
    "remove the last": (
        {"permissions": {"allow": ["Bash(npm test)"]}},
        PermissionUpdate.remove_rules([RULE], behavior="allow"),
        {"permissions": {"allow": []}},
    ),
    "remove what is not there": (
        {"permissions": {}},
        PermissionUpdate.remove_rules([RULE], behavior="allow"),
        {"permissions": {}},
    ),
    "replace": (
        {"permissions": {"allow": ["a", "Bash(npm test)"], "ask": ["c"]}},
        PermissionUpdate.replace_rules([PermissionRule("d"), RULE], behavior="allow"),
        {"permissions": {"allow": ["d", "Bash(npm test)"], "ask": ["c"]}},
    ),
    "replace by nothing": (
        {"permissions": {"allow": ["a"]}},
        PermissionUpdate.replace_rules([], behavior="allow"),
        {"permissions": {"allow": []}},
    ),
    "mode": (
        {"permissions": {"defaultMode": "default", "allow": []}},
        PermissionUpdate.set_mode("plan"),
        {"permissions": {"defaultMode": "plan", "allow": []}},
    ),
    "add folders": (
        {"permissions": {"additionalDirectories": ["../lib"]}},
        PermissionUpdate.add_directories(["/opt", "../lib"]),
        {"permissions": {"additionalDirectories": ["../lib", "/opt"]}},
    ),
    "remove folders": (
        {"permissions": {"additionalDirectories": ["../lib", "/opt"]}},
        PermissionUpdate.remove_directories(["../lib"]),
        {"permissions": {"additionalDirectories": ["/opt"]}},
    ),
}


@pytest.mark.parametrize("name", MERGES)
def test_merges(name: str) -> None:
    """Each kind of update changes its own list and nothing else; the same update again changes nothing."""
    before, update, expected = MERGES[name]
    kept = json.dumps(before)
    after, _ = changed(before, update, "/p")
    assert after == expected
    assert json.dumps(before) == kept, "the document that came in was changed"
    again, change = changed(after, update, "/p")
    assert again == expected
    assert (change.added, change.removed) == ((), ())
