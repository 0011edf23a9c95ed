"""What a repository brings along grants nothing, and looking at it runs nothing."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_sdk.errors import SettingsError
from agent_sdk.settings import git
from agent_sdk.settings.trust import link_inside, supplied_by_repository
from tests.settings.project import Project

WIDE = {"permissions": {"allow": ["Bash"], "deny": ["Bash(rm *)"]}}


def _plain_folder(project: Project) -> None:
    project.write(WIDE)


def _untracked(project: Project) -> None:
    project.git("init")
    project.write(WIDE)


def _ignored(project: Project) -> None:
    project.git("init")
    (project.cwd / ".gitignore").write_text(".claude/\n")
    project.write(WIDE)


def _link_outside_of_git(project: Project) -> None:
    target = project.write(WIDE)
    os.replace(target, project.root / "s.json")
    target.symlink_to("../../s.json")


def _tracked(project: Project) -> None:
    project.git("init")
    project.write(WIDE)
    project.git("add", "-f", ".")


def _tracked_in_another_case(project: Project) -> None:
    project.git("init")
    path = project.write(WIDE)
    other = path.with_name("Settings.Local.json")
    path.rename(other)
    project.git("add", "-f", ".")
    other.rename(path)


def _tracked_again(project: Project) -> None:
    project.git("init")
    project.write(WIDE)
    project.git("add", "-f", ".")
    project.git("commit", "-qm", "x")
    project.git("rm", "-q", "--cached", "-r", ".claude")
    project.git("add", "-f", ".claude")


def _tracked_target(project: Project) -> None:
    """The link is not tracked, what it leads to is, in another repository."""
    other = project.root / "dotfiles"
    other.mkdir()
    path = project.write(WIDE)
    os.replace(path, other / "s.json")
    path.symlink_to(other / "s.json")
    for words in (("init",), ("add", "-f", ".")):
        project.git("-C", str(other), *words)


def _linked_file(project: Project) -> None:
    _link_outside_of_git(project)
    project.git("init")


def _linked_folder(project: Project) -> None:
    project.git("init")
    project.write(WIDE)
    (project.cwd / ".claude").rename(project.root / "elsewhere")
    (project.cwd / ".claude").symlink_to("../elsewhere")


def _linked_inside(project: Project) -> None:
    project.git("init")
    project.write(WIDE)
    (project.cwd / ".claude").rename(project.cwd / "conf")
    (project.cwd / ".claude").symlink_to("conf")


def _broken_repository(project: Project) -> None:
    (project.cwd / ".git").mkdir()
    project.write(WIDE)


def _repository_file_that_leads_nowhere(project: Project) -> None:
    (project.cwd / ".git").write_text("gitdir: /nowhere\n")
    project.write(WIDE)


def _folder_that_looks_like_a_repository(project: Project) -> None:
    project.git("init", "--bare", ".")
    (project.cwd / "config").write_text("[core]\nbare = false\nworktree = .\nrepositoryformatversion = 0\n")
    project.write(WIDE)


def _inside_of_the_repository_folder(project: Project) -> None:
    project.git("init")
    path = project.write(WIDE)
    os.replace(path, project.cwd / ".git" / "settings.local.json")
    path.parent.rmdir()
    path.parent.symlink_to(".git")


TRUSTED: list[Callable[[Project], None]] = [_plain_folder, _untracked, _ignored, _link_outside_of_git]
SUPPLIED: list[Callable[[Project], None]] = [
    _tracked,
    _tracked_in_another_case,
    _tracked_again,
    _tracked_target,
    _linked_file,
    _linked_folder,
    _linked_inside,
    _broken_repository,
    _repository_file_that_leads_nowhere,
    _folder_that_looks_like_a_repository,
    _inside_of_the_repository_folder,
]


@pytest.mark.parametrize("build", TRUSTED, ids=lambda build: build.__name__.strip("_"))
def test_own_local_file_counts(build: Callable[[Project], None], project: Project) -> None:
    """A local file that git does not track, reached without a link in the work tree, is the user's own."""
    build(project)
    loaded = project.load()
    assert {rule.text for rule in loaded.rules} == {"Bash", "Bash(rm *)"}
    assert loaded.warnings == ()


@pytest.mark.parametrize("build", SUPPLIED, ids=lambda build: build.__name__.strip("_"))
def test_local_file_of_a_repository_only_narrows(build: Callable[[Project], None], project: Project) -> None:
    """A local file that a repository may have supplied keeps only what narrows, and one warning says so."""
    build(project)
    loaded = project.load()
    assert [rule.text for rule in loaded.rules] == ["Bash(rm *)"]
    assert loaded.untrusted == {"local"}
    [warning] = loaded.warnings
    assert "1 allow rule" in warning
    assert "trust_project" in warning
    assert len(project.load(trust_project=True).rules) == 2


def test_without_git_the_local_file_is_not_trusted(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can tell where the file comes from when git is missing."""
    project.write(WIDE)
    monkeypatch.setenv("PATH", str(project.home))
    assert project.load().untrusted == {"local"}


def test_a_sub_folder_of_a_work_tree(project: Project) -> None:
    """The same holds for a working directory below the top of the work tree."""
    project.git("init")
    project.write(WIDE)
    sub = project.cwd / "sub"
    sub.mkdir()
    (project.cwd / ".claude").rename(sub / ".claude")
    path = str(sub / ".claude" / "settings.local.json")
    assert supplied_by_repository(path, str(sub)) is None
    project.git("add", "-f", ".")
    assert supplied_by_repository(path, str(sub)) == "it is tracked by git"


def test_a_link_above_the_work_tree_is_no_matter(project: Project) -> None:
    """A working directory that is itself named through a link outside of the repository is as good as its target."""
    _untracked(project)
    link = project.root / "short"
    link.symlink_to(project.cwd)
    assert supplied_by_repository(str(link / ".claude" / "settings.local.json"), str(link)) is None


def test_git_is_not_asked_about_what_widens_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of deny rules costs no process."""
    project.write({"permissions": {"deny": ["Bash"]}})

    def never(*words: object, **given: object) -> None:
        raise AssertionError("git was asked")

    monkeypatch.setattr(git.subprocess, "run", never)
    assert project.load().untrusted == frozenset()


def test_links_are_found_wherever_they_lie(tmp_path: Path) -> None:
    """A link of a link counts when it lies in the work tree; a loop counts as one."""
    top = tmp_path / "top"
    top.mkdir()
    (top / "real").mkdir()
    (top / "hop").symlink_to("real")
    (tmp_path / "outside").symlink_to(top / "hop")
    assert link_inside(str(tmp_path / "outside" / "f"), str(top)) == str(top / "hop")
    assert link_inside(str(top / "real" / "f"), str(top)) is None
    (top / "loop").symlink_to("loop")
    assert link_inside(str(top / "loop"), str(top)) is not None


HOSTILE_CONFIG = """[core]
    fsmonitor = "{script}"
    hooksPath = {folder}
    pager = "{script}"
    sshCommand = "{script}"
    editor = "{script}"
    askPass = "{script}"
    untrackedCache = true
[diff]
    external = "{script}"
[filter "x"]
    clean = "{script}"
    smudge = "{script}"
    process = "{script}"
[alias]
    ls-files = "!{script}"
    rev-parse = "!{script}"
    check-ignore = "!{script}"
[credential]
    helper = "!{script}"
[include]
    path = {folder}/more
"""


def test_looking_at_a_hostile_repository_runs_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program that a repository names, brings or hides in the environment runs when its settings are looked at."""
    mark = project.root / "ran"
    folder = project.cwd / "bin"
    folder.mkdir()
    script = folder / "git"
    script.write_text(f'#!/bin/sh\necho "$0 $*" >>{mark}\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    for hook in ("post-index-change", "fsmonitor-watchman", "pre-commit", "reference-transaction"):
        (folder / hook).symlink_to("git")
    project.git("init")
    project.write(WIDE)
    (project.cwd / ".gitattributes").write_text("* filter=x\n")
    config = project.cwd / ".git" / "config"
    config.write_text(config.read_text() + HOSTILE_CONFIG.format(script=script, folder=folder))
    monkeypatch.setenv("PATH", f"bin:{folder}:.:{os.environ['PATH']}")
    monkeypatch.setenv("GIT_SSH_COMMAND", str(script))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(script))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(script))
    assert project.load().untrusted == frozenset()
    assert project.remember("mcp__s__t", {}).receipts[0].failed is None
    assert not mark.exists(), mark.read_text()


def test_git_that_never_answers_is_not_waited_for(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository whose configuration is a pipe keeps git waiting, not us; the file is then not trusted."""
    _untracked(project)
    os.mkfifo(project.root / "pipe")
    config = project.cwd / ".git" / "config"
    config.write_text(config.read_text() + f"[include]\n    path = {project.root / 'pipe'}\n")
    monkeypatch.setattr(git, "TIME_LIMIT", 0.3)
    started = time.monotonic()
    assert project.load().untrusted == {"local"}
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("source", ["local", "project"])
def test_a_pipe_or_huge_file_in_a_repository_is_an_error_at_once(source: str, project: Project) -> None:
    """A session with such a file does not start, and does not hang either."""
    path = project.file(source)  # type: ignore[arg-type]
    path.parent.mkdir()
    os.mkfifo(path)
    started = time.monotonic()
    with pytest.raises(SettingsError, match="pipe"):
        project.load()
    path.unlink()
    with path.open("wb") as file:
        file.truncate(1024**3)
    with pytest.raises(SettingsError, match="4 MB"):
        project.load()
    assert time.monotonic() - started < 20
