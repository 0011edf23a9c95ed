"""What the settings files of all scopes say together."""

from __future__ import annotations

from typing import Any

import pytest

from agent_sdk.errors import OptionsError, RuleError, SettingsError
from agent_sdk.settings.files import load_settings, refuse_hooks, silent_hooks
from tests.settings.project import Project

HOOK = {"type": "command", "command": "./check.sh"}


def permissions(**keys: Any) -> dict[str, Any]:
    return {"permissions": keys}


def test_lists_of_all_scopes_merge(project: Project) -> None:
    """Rules of all scopes count, each with its file, position and anchor."""
    project.write(permissions(allow=["Bash(ls)"]), "local")
    project.write(permissions(deny=["Read(/x)", "Read(/y)"]), "project")
    project.write(permissions(ask=["Bash(rm *)"]), "user")
    loaded = project.load()
    assert {(rule.text, rule.source.scope, rule.where) for rule in loaded.rules} == {
        ("Bash(ls)", "local", f"{project.file('local')} allow[0]"),
        ("Read(/x)", "project", f"{project.file('project')} deny[0]"),
        ("Read(/y)", "project", f"{project.file('project')} deny[1]"),
        ("Bash(rm *)", "user", f"{project.file('user')} ask[0]"),
    }
    roots = {rule.source.scope: rule.source.root for rule in loaded.rules}
    assert roots == {"local": str(project.cwd), "project": str(project.cwd), "user": str(project.home / ".claude")}
    assert set(loaded.files) == {str(project.file(source)) for source in ("local", "project", "user")}


def test_sources_isolate(project: Project) -> None:
    """Only the sources that were asked for are read; none at all reads nothing, broken files included."""
    project.write(permissions(allow=["Bash(ls)"]), "user")
    project.write("{", "local")
    assert [rule.text for rule in project.load(sources=("user",)).rules] == ["Bash(ls)"]
    assert project.load(sources=()).rules == ()
    with pytest.raises(OptionsError, match="managed"):
        load_settings(str(project.cwd), ("managed",))  # type: ignore[arg-type]


def test_other_settings_folder(project: Project) -> None:
    """`settings_dir` names the folder in the project and in the home."""
    for folder, name in ((project.cwd, "settings.json"), (project.home, "settings.json")):
        (folder / ".agent").mkdir()
        (folder / ".agent" / name).write_text('{"permissions": {"deny": ["Bash(rm *)"]}}')
    project.write(permissions(deny=["Bash(ls)"]))
    loaded = load_settings(str(project.cwd), home=str(project.home), settings_dir=".agent")
    assert [rule.text for rule in loaded.rules] == ["Bash(rm *)"] * 2


def test_nothing_above_the_working_directory_is_read(project: Project) -> None:
    """A settings file in a parent folder does not count."""
    (project.root / ".claude").mkdir()
    (project.root / ".claude" / "settings.json").write_text('{"permissions": {"deny": ["Bash"]}}')
    assert project.load().rules == ()


def test_home_as_project_is_read_once(project: Project) -> None:
    """In the home folder the user's file is not taken for one that a repository brought."""
    project.write(permissions(allow=["Bash(ls)"]), "user")
    loaded = load_settings(str(project.home), home=str(project.home))
    assert [rule.source.scope for rule in loaded.rules] == ["user"]
    assert loaded.warnings == ()


# what stands in the file → warnings expected (a part of each), rules that count
IGNORED: dict[str, tuple[Any, list[str]]] = {
    "empty list as file": ([], ["the file is a JSON object, got a list"]),
    "null as file": ("null", ["the file is a JSON object, got null"]),
    "permissions is an empty list": ({"permissions": []}, ["permissions is a JSON object, got a list"]),
    "permissions is null": ({"permissions": None}, ["permissions is a JSON object, got null"]),
    "allow is a text": (permissions(allow="Bash"), ["permissions.allow is a list of rules, got the text 'Bash'"]),
    "allow is an object": (permissions(allow={"Bash": True}), ["permissions.allow"]),
    "allow is null": (permissions(allow=None), ["permissions.allow"]),
    "odd entries in allow": (permissions(allow=[1, None, ["Bash"], {"tool": "Bash"}]), ["allow[0]", "allow[3]"]),
    "bad rules in allow": (permissions(allow=["Bash(", "(x)", "*", "do)"]), ["Bash(", "'*'", "do)"]),
    "folders are a text": (permissions(additionalDirectories="/"), ["additionalDirectories is a list"]),
    "odd folders": (permissions(additionalDirectories=[1, "", "a\0b"]), ["Directories[0]", "Directories[2]"]),
    "unknown key": (permissions(dennied=["Bash"]), ["unknown key 'dennied'", "did you mean 'deny'"]),
    "key of another case": (permissions(defaultmode="plan"), ["did you mean 'defaultMode'"]),
    "unknown key, far off": (permissions(zzz=1), ["unknown key 'zzz'", "known are allow, ask, deny"]),
    "key outside of permissions": ({"deny": ["Bash"]}, ["'deny' stands outside of permissions"]),
    "disableAllHooks is a text": ({"disableAllHooks": "true"}, ["disableAllHooks is true or false"]),
    "unknown key, look-alike letters": (permissions(**{"\u0430llow": ["Bash"]}), ["did you mean 'allow'"]),
    "unknown key, other case": (permissions(Deny=["Bash"]), ["unknown key 'Deny'", "did you mean 'deny'"]),
    "no permissions": ({"permission": {"deny": ["Bash"]}}, ["unknown key 'permission'", "did you mean 'permissions'"]),
    "other permissions": ({"Permissions": {"deny": ["Bash"]}}, ["did you mean 'permissions'"]),
    "no hooks": ({"hook": {}}, ["did you mean 'hooks'"]),
    "hooks, misspelt switch": ({"disableAllHook": True}, ["did you mean 'disableAllHooks'"]),
    "unknown keys elsewhere": ({"env": {"A": "1"}, "model": "x", "$schema": "y"}, []),
}


@pytest.mark.parametrize("name", IGNORED)
def test_wrong_values_that_would_widen_are_ignored_with_a_word(name: str, project: Project) -> None:
    """Wrong types grant nothing, crash nothing, and are named with their file."""
    value, expected = IGNORED[name]
    project.write(value)
    loaded = project.load()
    assert (loaded.rules, loaded.additional_directories, loaded.disable_all_hooks) == ((), (), False)
    told = "\n".join(loaded.warnings)
    assert all(part in told for part in expected), told
    assert all(str(project.file()) in warning for warning in loaded.warnings)
    assert bool(loaded.warnings) == bool(expected)


REFUSED: dict[str, Any] = {
    "a list with something in it": ["Bash"],
    "a text as file": '"Bash"',
    "permissions is a full list": {"permissions": ["Bash"]},
    "permissions is a text": {"permissions": "none"},
    "deny is an object": permissions(deny={"Bash": True}),
    "deny is null": permissions(deny=None),
    "ask is a number": permissions(ask=1),
    "a number in deny": permissions(deny=["Bash(rm *)", 1]),
    "deny twice": '{"permissions": {"deny": ["Bash"], "deny": []}}',
    "permissions twice": '{"permissions": {"deny": ["Bash"]}, "permissions": {}}',
    "trailing comma": '{"permissions": {"allow": ["Bash"], "deny": ["Read(./.env)",]}}',
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_values_that_would_narrow_are_an_error(name: str, project: Project) -> None:
    """A file whose guards cannot be read is refused, never read without them."""
    path = project.write(REFUSED[name])
    with pytest.raises(SettingsError) as caught:
        project.load()
    assert caught.value.path == str(path)


def test_lone_text_in_deny_is_a_list_of_one(project: Project) -> None:
    """A lone string in deny or ask is meant as a rule."""
    project.write(permissions(deny="Bash(rm *)", ask="Bash(git push *)"))
    assert [rule.text for rule in project.load().rules] == ["Bash(rm *)", "Bash(git push *)"]


def test_bad_deny_rule_names_file_and_position(project: Project) -> None:
    """A deny rule that cannot be read is RuleError with file and position."""
    path = project.write(permissions(deny=["Bash(rm *)", "Bash(rm"]), "project")
    with pytest.raises(RuleError) as caught:
        project.load()
    assert (caught.value.file, caught.value.position, caught.value.rule) == (str(path), 1, "Bash(rm")


def test_good_rules_beside_bad_ones_count(project: Project) -> None:
    """A bad allow rule is ignored, the others and their positions stay."""
    project.write(permissions(allow=["Bash(", 5, "Bash(ls)"], deny=["Bash(rm *)"]))
    rules = project.load().rules
    assert {(rule.text, rule.position) for rule in rules} == {("Bash(ls)", 2), ("Bash(rm *)", 0)}


def test_folders_are_absolute(project: Project) -> None:
    """Additional directories start from the working directory; only a leading ~/ is home."""
    given = ["../lib", "/opt/x/", "~/notes", "a~/b", "../lib/."]
    project.write(permissions(additionalDirectories=given))
    root = project.root
    assert project.load().additional_directories == (
        str(root / "lib"),
        "/opt/x",
        str(project.home / "notes"),
        str(project.cwd / "a~/b"),
    )


# modes by scope, trusted or not → the mode that counts
MODES: dict[str, tuple[dict[str, Any], bool, str | None]] = {
    "none": ({}, False, None),
    "user": ({"user": "acceptEdits"}, False, "acceptEdits"),
    "local before user": ({"local": "plan", "user": "acceptEdits"}, False, "plan"),
    "local before project": ({"local": "plan", "project": "dontAsk"}, False, "plan"),
    "project may tighten": ({"project": "plan", "user": "acceptEdits"}, False, "plan"),
    "project may not loosen": ({"project": "default", "user": "dontAsk"}, False, "dontAsk"),
    "project may not widen": ({"project": "acceptEdits"}, False, None),
    "trusted project may": ({"project": "acceptEdits"}, True, "acceptEdits"),
    "trusted project before user": ({"project": "default", "user": "dontAsk"}, True, "default"),
    "unknown is default": ({"user": "yolo"}, False, "default"),
    "a number is default": ({"user": 5}, False, "default"),
    "manual is default": ({"user": "manual"}, False, "default"),
}


@pytest.mark.parametrize("name", MODES)
def test_default_mode(name: str, project: Project) -> None:
    """The mode of the nearest scope counts, but a repository never loosens."""
    modes, trusted, expected = MODES[name]
    for source, mode in modes.items():
        project.write(permissions(defaultMode=mode), source)  # type: ignore[arg-type]
    assert project.load(trust_project=trusted).default_mode == expected


@pytest.mark.parametrize("source", ["local", "project", "user"])
def test_bypass_is_forbidden_by_any_scope(source: Any, project: Project) -> None:
    """`disableBypassPermissionsMode` counts from every file, trusted or not, and against every file."""
    project.write(permissions(disableBypassPermissionsMode="disable"), source)
    other: Any = "user" if source != "user" else "local"
    project.write(permissions(defaultMode="bypassPermissions"), other)
    loaded = project.load()
    assert loaded.disable_bypass
    assert loaded.default_mode == "default"
    assert any("bypassPermissions" in warning for warning in loaded.warnings)


@pytest.mark.parametrize(("value", "counts"), [("disable", True), (True, True), ("enable", False), (False, False)])
def test_other_words_for_forbidding_bypass(value: Any, counts: bool, project: Project) -> None:
    """`true` can only be meant as a prohibition; whatever else is no prohibition, and told."""
    project.write(permissions(disableBypassPermissionsMode=value))
    loaded = project.load()
    assert loaded.disable_bypass is counts
    assert bool(loaded.warnings) == (value != "disable")


def test_repository_files_widen_nothing(project: Project) -> None:
    """From a project file only what narrows counts, and one warning says what was ignored."""
    widening = permissions(
        allow=["Bash", "Edit"], additionalDirectories=["/"], defaultMode="bypassPermissions", deny=["Bash(rm *)"]
    )
    widening |= {"hooks": {"PreToolUse": [{"hooks": [HOOK]}]}, "disableAllHooks": True}
    project.write(widening, "project")
    loaded = project.load()
    assert [rule.text for rule in loaded.rules] == ["Bash(rm *)"]
    assert (loaded.additional_directories, loaded.default_mode, loaded.hooks) == ((), None, ())
    assert not loaded.disable_all_hooks
    assert loaded.untrusted == {"project"}
    [warning] = loaded.warnings
    for part in ("2 allow rules", "additionalDirectories", "hooks", "disableAllHooks", "bypassPermissions"):
        assert part in warning
    trusted = project.load(trust_project=True)
    assert len(trusted.rules) == 3
    assert trusted.additional_directories == ("/",)
    assert (trusted.default_mode, trusted.disable_all_hooks, trusted.untrusted) == (
        "bypassPermissions",
        True,
        frozenset(),
    )


GATES: dict[str, Any] = {
    "PreToolUse": {"PreToolUse": [{"matcher": "Bash", "hooks": [HOOK]}]},
    "PermissionRequest": {"PermissionRequest": [{"hooks": [HOOK]}]},
    "UserPromptSubmit": {"UserPromptSubmit": [{"hooks": [HOOK]}]},
    "not a list": {"PreToolUse": {"hooks": [HOOK]}},
    "flat": {"PreToolUse": [HOOK | {"hooks": HOOK}]},
    "a text": {"PreToolUse": "./check.sh"},
    "an unreadable entry": {"PostToolUse": [{"hooks": ["./check.sh"]}]},
    "no object": ["./check.sh"],
}


@pytest.mark.parametrize("name", GATES)
def test_hooks_that_could_stop_something_refuse_the_session(name: str, project: Project) -> None:
    """A gate in a trusted file is not passed over: the error names file and hook. `disableAllHooks` switches it off."""
    path = project.write({"hooks": GATES[name]}, "user")
    with pytest.raises(SettingsError, match="hook") as caught:
        refuse_hooks(project.load().hooks)
    assert caught.value.path == str(path)
    assert str(path) in str(caught.value)
    project.write({"disableAllHooks": True}, "local")
    refuse_hooks(project.load().hooks)


NO_GATES: dict[str, Any] = {
    "none": {},
    "null": None,
    "an empty list": {"PreToolUse": []},
    "no entries": {"PreToolUse": [{"matcher": "Bash", "hooks": []}]},
    "later events": {"PostToolUse": [{"hooks": [HOOK]}], "Notification": [{"hooks": [HOOK]}]},
}


@pytest.mark.parametrize("name", NO_GATES)
def test_other_hooks_do_not_refuse_the_session(name: str, project: Project) -> None:
    """Hooks that could stop nothing are told of, and the session starts."""
    project.write({"hooks": NO_GATES[name]}, "user")
    loaded = project.load()
    refuse_hooks(loaded.hooks)
    assert len(silent_hooks(loaded)) == len(loaded.hooks) == (2 if name == "later events" else 0)


def test_a_repository_cannot_refuse_a_session(project: Project) -> None:
    """Hooks of an untrusted project are ignored with a warning, and so is its `disableAllHooks`."""
    project.write({"hooks": GATES["PreToolUse"], "disableAllHooks": True}, "project")
    refuse_hooks(project.load().hooks)
    project.write({"hooks": GATES["PreToolUse"]}, "user")
    with pytest.raises(SettingsError, match="check"):
        refuse_hooks(project.load().hooks)


def test_an_unknown_home_is_no_folder_of_the_project(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a home folder the user's settings are not read from a folder that happens to be called `~`."""
    monkeypatch.chdir(project.cwd)
    folder = project.cwd / "~" / ".claude"
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text('{"permissions": {"allow": ["Bash"]}}')
    loaded = load_settings(str(project.cwd), home="~")
    assert loaded.rules == ()
    assert "home folder" in loaded.warnings[0]
