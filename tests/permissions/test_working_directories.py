"""The working directories are the same folders in a policy and in a live run, however they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_sdk import AgentOptions, OptionsError, PermissionPolicy, query
from agent_sdk.rules.files import TableFiles
from agent_sdk.testing import ScriptedModel
from tests.engine.dialogue import use

FOLDERS = [
    ("lib", "app/lib/x", "allow"),
    ("lib", "lib/x", "ask"),
    ("../lib", "lib/x", "allow"),
    ("./../lib/", "lib/x", "allow"),
    ("~/lib", "home/lib/x", "allow"),
    ("~", "home/x", "allow"),
    ("~lib", "home/x", "ask"),
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a home and files to read; the process runs elsewhere, at the root."""
    for name in ("app/lib", "lib", "home/lib"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "x").write_text("here")
    (tmp_path / "home/x").write_text("here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir("/")
    return tmp_path


@pytest.mark.anyio
@pytest.mark.parametrize(("folder", "file", "expected"), FOLDERS)
async def test_a_relative_folder_starts_from_the_working_directory(
    folder: str, file: str, expected: str, place: Path
) -> None:
    """And `~/` is home: for the policy, and for a run with the same options."""
    given: dict[str, Any] = {"cwd": place / "app", "setting_sources": (), "additional_directories": [folder]}
    call = {"file_path": str(place / file)}
    policy = PermissionPolicy.load(**given)
    assert policy.evaluate("Read", call).behavior == expected
    asked: list[str] = []

    async def note(*args: Any) -> Any:
        asked.append(args[0])

    model = ScriptedModel([[use("Read", **call)], "done"])
    async for _ in query("Look.", options=AgentOptions(model=model, can_use_tool=note, **given)):
        pass
    assert asked == (["Read"] if expected == "ask" else [])


@pytest.mark.parametrize("folder", ["etc", "../etc", ".", ""])
def test_no_relative_folder_is_taken_from_the_root(folder: str) -> None:
    """On a disk that is a table too: `etc` is not `/etc`, and no folder is not the root."""
    files = TableFiles(home="/home/ada")
    policy = PermissionPolicy.load(
        cwd="/home/ada/app", files=files, setting_sources=(), additional_directories=[folder]
    )
    assert policy.evaluate("Read", {"file_path": "/etc/passwd"}).behavior == "ask"


def test_the_usual_working_directory_is_that_of_the_process(place: Path) -> None:
    """A policy for a table that names none begins where this process runs, and so does a relative one."""
    policy = PermissionPolicy.load(cwd="app", files=TableFiles(), setting_sources=())
    assert policy.evaluate("Read", {"file_path": "/app/x"}).behavior == "allow"
    assert policy.evaluate("Read", {"file_path": "/lib/x"}).behavior == "ask"


def test_folders_on_windows_are_joined_as_there() -> None:
    """A relative folder starts from the working directory, `~` is home, and another drive is another drive."""
    files = TableFiles(home="C:\\Users\\ada", windows=True, case_sensitive=False)
    policy = PermissionPolicy.load(
        cwd="C:\\app", files=files, setting_sources=(), additional_directories=["..\\lib", "D:\\data", "~/own"]
    )
    paths = ("C:\\lib\\x", "D:\\data\\x", "C:\\Users\\ada\\own\\x", "D:\\lib", "C:\\Users\\ada\\x")
    told = [policy.evaluate("Read", {"file_path": path}).behavior for path in paths]
    assert told == ["allow", "allow", "allow", "ask", "ask"]


@pytest.mark.parametrize("name", ["", ".", "..", "conf/..", "/etc/agent", "conf/", "a\\b", "a\0"])
def test_a_settings_folder_that_ends_in_no_name_is_refused(name: str) -> None:
    """It is guarded by its name, and nothing that is no name could be."""
    with pytest.raises(OptionsError, match="settings_dir is the name of a folder"):
        PermissionPolicy.load(settings_dir=name, setting_sources=())
    with pytest.raises(OptionsError, match="settings_dir is the name of a folder"):
        AgentOptions(settings_dir=name)


@pytest.mark.parametrize("way", ["conf/agent", "../agent", "agent"])
def test_the_settings_folder_is_read_and_guarded_where_its_path_leads(way: str, place: Path) -> None:
    """Its rules count, and no rule and no mode lets anybody write there."""
    folder = place / "app" / way
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text('{"permissions": {"allow": ["Edit"], "deny": ["WebSearch"]}}')
    policy = PermissionPolicy.load(
        cwd=place / "app", settings_dir=way, setting_sources=("project",), trust_project=True
    )
    told = [
        policy.evaluate(tool, given).behavior
        for tool, given in (
            ("WebSearch", {"query": "x"}),
            ("Edit", {"file_path": str(place / "app/x")}),
            ("Edit", {"file_path": str(folder / "settings.json")}),
            ("Bash", {"command": f"echo > {way}/settings.json"}),
        )
    ]
    assert told == ["deny", "allow", "ask", "ask"]


def test_a_text_is_no_list_of_folders() -> None:
    """Its letters are not taken for folders."""
    with pytest.raises(OptionsError, match="additional_directories is a list"):
        PermissionPolicy.load(additional_directories="lib", setting_sources=())
