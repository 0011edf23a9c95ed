"""During a session rules follow the files, but nothing that appears while a tool runs grants anything."""

from __future__ import annotations

import os
import time
import timeit
from typing import Any

import pytest

from agent_sdk.errors import RuleError, SettingsError
from agent_sdk.settings.watch import SettingsWatch
from tests.settings.project import Project

pytestmark = pytest.mark.anyio


def permissions(**keys: Any) -> dict[str, Any]:
    return {"permissions": keys}


class Watched:
    """A watch, and the warnings that it gave."""

    def __init__(self, project: Project, **given: Any) -> None:
        self.warnings: list[str] = []
        self.watch = SettingsWatch(project.places, warn=self.warnings.append, **given)

    @property
    def texts(self) -> list[str]:
        return sorted(f"{rule.behavior} {rule.text}" for rule in self.watch.rules)


async def test_changes_count_for_the_next_call(project: Project) -> None:
    """A rule added by hand counts, one removed by hand is gone, a new file is seen, a removed one too."""
    project.write(permissions(allow=["Bash(a)", "Bash(b)"]))
    watched = Watched(project)
    project.write(permissions(allow=["Bash(b)"]))
    project.write(permissions(deny=["Bash(c)"]), "project")
    assert await watched.watch.refresh()
    assert watched.texts == ["allow Bash(b)", "deny Bash(c)"]
    project.file().unlink()
    assert await watched.watch.refresh()
    assert watched.texts == ["deny Bash(c)"]
    assert watched.warnings == []


async def test_changes_of_the_same_size_in_the_same_moment_are_seen(project: Project) -> None:
    """A file rewritten at once with as many bytes is read again."""
    project.write(permissions(allow=["Bash(a)"]))
    watched = Watched(project)
    for letter in "bcdefgh":
        project.write(permissions(allow=[f"Bash({letter})"]))
        await watched.watch.refresh()
        assert watched.texts == [f"allow Bash({letter})"]


async def test_nothing_changed_is_cheap(project: Project) -> None:
    """With nothing changed a check takes a few microseconds and reads nothing."""
    project.write(permissions(allow=["Bash(a)"]))
    project.write({}, "user")
    watched = Watched(project)
    time.sleep(0.06)  # noqa: ASYNC251  the clock of the disk has to pass
    assert not await watched.watch.refresh()
    assert not watched.watch.stale()
    best = min(timeit.repeat(watched.watch.stale, number=2000, repeat=5)) / 2000
    assert best < 30e-6, "it takes about 6 µs; the limit leaves room for a busy machine"


async def test_a_file_rewritten_without_a_change_changes_nothing(project: Project) -> None:
    """The same rules again are no news."""
    project.write(permissions(allow=["Bash(a)"]))
    watched = Watched(project)
    project.write(permissions(allow=["Bash(a)"]))
    assert not await watched.watch.refresh()


BROKEN: dict[str, Any] = {
    "truncated": '{"permissions": {',
    "deny of the wrong type": permissions(deny=5),
    "a deny rule that cannot be read": permissions(deny=["Bash("]),
    "a full list": ["x"],
}


@pytest.mark.parametrize("name", BROKEN)
async def test_broken_files_leave_the_rules_in_force(name: str, project: Project) -> None:
    """A file that becomes unreadable changes nothing and is told of once; repaired, it counts again."""
    project.write(permissions(deny=["Read(./.env)"]))
    watched = Watched(project)
    path = project.write(BROKEN[name])
    for _ in range(3):
        assert not await watched.watch.refresh()
    assert watched.texts == ["deny Read(./.env)"]
    [warning] = watched.warnings
    assert str(path) in warning
    assert "stay in force" in warning
    project.write(permissions(deny=["Bash"]))
    assert await watched.watch.refresh()
    assert watched.texts == ["deny Bash"]


async def test_a_pipe_in_place_of_a_file_does_not_hang(project: Project) -> None:
    """A file that was replaced by a pipe is a broken one."""
    path = project.write(permissions(deny=["Bash"]))
    watched = Watched(project)
    path.unlink()
    os.mkfifo(path)
    assert not await watched.watch.refresh()
    assert watched.texts == ["deny Bash"]


@pytest.mark.parametrize(("value", "error"), [("{", SettingsError), (permissions(deny=["("]), RuleError)])
async def test_a_session_does_not_start_on_a_broken_file(value: Any, error: Any, project: Project) -> None:
    """At the start a broken file is an error."""
    project.write(value)
    with pytest.raises(error):
        Watched(project)


async def test_what_is_fixed_stays(project: Project) -> None:
    """Hooks, folders and mode stay as they were at the start; each change is told once."""
    project.write(permissions(additionalDirectories=["/a"], defaultMode="plan"))
    watched = Watched(project)
    hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": "x"}]}]}
    for mode in ("default", "acceptEdits"):
        project.write(permissions(additionalDirectories=["/"], defaultMode=mode) | {"hooks": hooks})
        await watched.watch.refresh()
    loaded = watched.watch.loaded
    assert (loaded.additional_directories, loaded.default_mode, loaded.hooks) == (("/a",), "plan", ())
    assert [warning.split()[0] for warning in watched.warnings] == ["hooks", "additionalDirectories", "defaultMode"]


async def test_forbidding_bypass_counts_at_once(project: Project) -> None:
    """A prohibition that appears counts; one that held at the start is not lifted during the session."""
    watched = Watched(project)
    assert not watched.watch.disable_bypass
    project.write(permissions(disableBypassPermissionsMode="disable"), "project")
    await watched.watch.refresh()
    assert watched.watch.disable_bypass
    again = Watched(project)
    project.write({}, "project")
    await again.watch.refresh()
    assert again.watch.disable_bypass


async def test_warnings_are_given_once(project: Project) -> None:
    """What was told at the start is not told again, what is new is."""
    project.write(permissions(allow=["Bash("]))
    watched = Watched(project)
    project.write(permissions(allow=["Bash(", "Edit("]))
    await watched.watch.refresh()
    assert len(watched.warnings) == 2


async def test_a_rule_that_appears_while_a_tool_runs_stays_out(project: Project) -> None:
    """An agent that writes itself a rule gains nothing, in this call or any later one; the warning names the rule."""
    project.write(permissions(allow=["Bash(a)"]))
    watched = Watched(project)
    await watched.watch.before_tool()
    project.write(permissions(allow=["Bash(a)", "Bash"]))
    await watched.watch.after_tool()
    assert watched.texts == ["allow Bash(a)"]
    [warning] = watched.warnings
    assert f"{project.file()} allow[1]: 'Bash' appeared while a tool ran" in warning
    project.write(permissions(allow=["Bash", "Bash(a)", "Bash(c)"]))
    await watched.watch.refresh()
    assert watched.texts == ["allow Bash(a)", "allow Bash(c)"]


async def test_a_change_seen_only_after_the_tool_is_held_back_too(project: Project) -> None:
    """What was written before the tool started counts; what was written while it ran does not, whenever it is seen."""
    watched = Watched(project)
    project.write(permissions(allow=["Bash(before)"]))
    await watched.watch.before_tool()
    project.write(permissions(allow=["Bash(before)", "Bash(during)"]))
    await watched.watch.before_tool()
    await watched.watch.after_tool()
    await watched.watch.after_tool()
    assert watched.texts == ["allow Bash(before)"]
    project.write(permissions(allow=["Bash(before)", "Bash(during)", "Bash(after)"]))
    await watched.watch.refresh()
    assert watched.texts == ["allow Bash(after)", "allow Bash(before)"]


async def test_guards_that_go_while_a_tool_runs_stay(project: Project) -> None:
    """An agent that removes a deny or ask rule is not rid of it in this session."""
    project.write(permissions(deny=["Bash(rm *)"], ask=["Bash(git push *)"], allow=["Bash(a)"]))
    watched = Watched(project)
    before = watched.texts
    await watched.watch.before_tool()
    project.write(permissions(allow=["Bash(a)"]))
    await watched.watch.after_tool()
    assert watched.texts == before
    assert len(watched.warnings) == 2
    project.write(permissions(allow=[]))
    await watched.watch.refresh()
    assert watched.texts == ["ask Bash(git push *)", "deny Bash(rm *)"]


@pytest.mark.parametrize("first", ["saved", "seen"])
async def test_what_a_person_remembers_counts(first: str, project: Project) -> None:
    """A rule that we saved for a person while a tool ran is in force, whichever of saving and seeing comes first."""
    watched = Watched(project)
    await watched.watch.before_tool()
    project.write(permissions(allow=["Bash(a)", "Bash(b)"]))
    if first == "saved":
        watched.watch.saved([("local", "Bash(a)")])
    await watched.watch.after_tool()
    if first == "seen":
        assert watched.texts == []
        assert watched.watch.saved([("local", "Bash(a)")])
    assert watched.texts == ["allow Bash(a)"]


async def test_rules_of_a_repository_stay_out_after_a_change(project: Project) -> None:
    """Trust is asked again whenever a file changes."""
    project.git("init")
    watched = Watched(project)
    project.write(permissions(allow=["Bash"], deny=["Edit"]))
    project.write(permissions(allow=["Bash(x)"]), "project")
    project.git("add", "-f", ".")
    await watched.watch.refresh()
    assert watched.texts == ["deny Edit"]
    assert len(watched.warnings) == 2
