"""The presets cover what only looks, and nothing that writes, runs another program or sends."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_sdk import AgentOptions, PermissionPolicy, presets
from agent_sdk.testing import TableFiles
from tests.permissions.preset_commands import (
    GIT_LOOKS_HARMLESS,
    GIT_READS,
    LOOK_HARMLESS,
    READS,
    READS_UNRUN,
)

HOME, PROJECT = "/home/dev", "/home/dev/project"
FILES = TableFiles(home=HOME, dirs=(PROJECT, f"{PROJECT}/src", f"{PROJECT}/.git"))
OTHER_PROGRAMS = (
    *("bash", "sh", "dash", "env", "less", "more", "man", "pr", "vi", "ed", "git", "gpg", "ssh", "curl", "wget", "nc"),
    *("python3", "perl", "node", "rm", "cp", "mv", "ln", "tee", "touch", "mkdir", "chmod", "dd", "kill", "mktemp"),
    *("gzip", "bzip2", "xz", "lzip", "zstd", "compress", "uncompress", "rsh", "sudo", "gcc", "make", "npm"),
)


def behavior(command: str, *allow: str) -> str:
    """The verdict for a shell command when only these allow rules are there."""
    policy = PermissionPolicy.load(cwd=PROJECT, home=HOME, files=FILES, setting_sources=(), allow=allow)
    return policy.evaluate("Bash", {"command": command}).behavior


BASH = presets.read_only_bash
BOTH = (*presets.read_only_bash, *presets.read_only_git)


@pytest.mark.parametrize("command", [*READS, *READS_UNRUN])
def test_looking_needs_nobody(command: str) -> None:
    """Everyday commands that only look are allowed."""
    assert behavior(command, *BASH) == "allow"


@pytest.mark.parametrize("command", LOOK_HARMLESS)
def test_what_only_looks_harmless_is_asked(command: str) -> None:
    """The preset covers no command that writes, runs another program, sends, or changes later commands."""
    assert behavior(command, *BASH) == "ask"


@pytest.mark.parametrize("command", GIT_READS)
def test_looking_at_history_needs_nobody(command: str) -> None:
    """With both presets git shows things without a prompt; with the first alone it is asked."""
    assert behavior(command, *BOTH) == "allow"
    assert behavior(command, *BASH) == "ask"


@pytest.mark.parametrize("command", GIT_LOOKS_HARMLESS)
def test_changing_history_is_asked(command: str) -> None:
    """No rule for git covers what writes, runs a program, fetches, or takes another configuration."""
    assert behavior(command, *BOTH) == "ask"


def test_the_tables_are_as_long_as_they_should_be() -> None:
    """Both tables hold many distinct commands."""
    assert len({*READS, *READS_UNRUN}) >= 60
    assert len(set(LOOK_HARMLESS)) == len(LOOK_HARMLESS) >= 120


@pytest.mark.parametrize("rule", BOTH)
def test_every_rule_is_of_use_and_has_a_reason(rule: str) -> None:
    """Each rule, alone, covers the command that it names, and says why it may."""
    assert presets.reasons[rule].strip()
    example = rule.removeprefix("Bash(").removesuffix(")").removesuffix(":*")
    example += " ]" if example == "[" else " x" if example in ("cd", "command -v", "sed -n") else ""
    assert behavior(example, rule) == "allow"


def test_the_rules_are_plain_strings_without_warnings(caplog: pytest.LogCaptureFixture) -> None:
    """A preset is a tuple of rules: it can be given as it is, or spread into a list."""
    options = AgentOptions(allow=[*presets.read_only_bash, "Bash(npm test:*)"])
    assert AgentOptions(allow=presets.read_only_bash).allow == presets.read_only_bash
    assert len(options.allow) == len(set(options.allow))
    PermissionPolicy.load(setting_sources=(), allow=BOTH)
    assert not caplog.records


@pytest.mark.parametrize("command", ["cat config/.env", "grep -r x config/.env", "head ~/.ssh/id_rsa"])
def test_deny_rules_hold_for_what_is_read(command: str) -> None:
    """The presets read anything that no deny rule takes out."""
    policy = PermissionPolicy.load(
        cwd=PROJECT, home=HOME, files=FILES, setting_sources=(), allow=BASH, deny=["Read(**/.env)", "Read(~/.ssh/**)"]
    )
    assert policy.evaluate("Bash", {"command": command}).behavior == "deny"


class Machine:
    """A folder to work in, a home, and a search path on which every other program only leaves its name."""

    def __init__(self, root: Path) -> None:
        self.root, self.work, self.home, self.ran = root, root / "work", root / "home", root / "ran.log"
        for folder in (self.work / "src", self.work / "docs", self.home, root / "stubs"):
            folder.mkdir(parents=True)
        (self.work / "README.md").write_text("hello\nworld\n")
        (self.work / "docs" / "guide.md").write_text("hello\n")
        (self.work / "src" / "main.py").write_text("def main():\n    return 1\n")
        (self.work / "words.txt").write_text("b x\na y\n")
        (self.work / "package.json").write_text('{"name": "demo", "scripts": {"test": "x"}}')
        for name in OTHER_PROGRAMS:
            self.stub(root / "stubs" / name)
        for name in ("ls", "cat", "grep", "sort"):  # the search path does not begin with the folder itself
            self.stub(self.work / name)

    def stub(self, path: Path) -> None:
        """A program that only notes that it ran."""
        path.write_text(f'#!/bin/sh\necho "{path.name} $*" >> {self.ran}\n')
        path.chmod(0o755)

    def run(self, command: str) -> str:
        """Runs the command as the Bash tool does; what it printed."""
        environment = {"PATH": f"{self.root / 'stubs'}:{os.environ['PATH']}", "HOME": str(self.home), "LC_ALL": "C"}
        done = subprocess.run(
            [shutil.which("bash") or "bash", "--noprofile", "--norc", "-p", "-c", 'eval "$1"', "_", command],
            cwd=self.work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False,
        )  # fmt: skip
        return done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")

    def state(self) -> dict[Path, tuple[int, int, bytes]]:
        """Every file and folder: mode, time of change, content."""
        return dict(_states(self.root))

    def programs_run(self) -> str:
        """The other programs that ran, with their arguments."""
        return self.ran.read_text() if self.ran.exists() else ""


def _states(root: Path) -> Iterator[tuple[Path, tuple[int, int, bytes]]]:
    for path in sorted(root.rglob("*")):
        info = path.lstat()
        yield path, (info.st_mode, info.st_mtime_ns, path.read_bytes() if path.is_file() else b"")


def _without_index(machine: Machine) -> dict[Path, tuple[int, bytes]]:
    """Modes and contents of everything but git's index, which `git status` may refresh."""
    return {path: (mode, content) for path, (mode, _, content) in machine.state().items() if path.name != "index"}


def git(folder: Path, *words: str) -> None:
    """The real git, with no configuration but the repository's."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull}
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *identity, *words], cwd=folder, env=environment, check=True, capture_output=True)


def test_in_a_real_shell_nothing_is_written_and_nothing_else_runs(tmp_path: Path) -> None:
    """All allowed commands run in bash: no file changes, and no program starts that the command does not name."""
    machine = Machine(tmp_path)
    before = machine.state()
    printed = {command: machine.run(command) for command in READS}
    assert machine.programs_run() == ""
    assert machine.state() == before
    assert printed["cat README.md"] == "hello\nworld\n"
    assert printed["cd src && cat main.py | head -20"].startswith("def main")


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@needs_git
def test_a_hostile_repository_runs_a_program_when_git_looks_at_it(tmp_path: Path) -> None:
    """Why git has a preset of its own: configuration in `.git` is code. The other preset runs none of it."""
    machine = Machine(tmp_path)
    git(machine.work, "init", "-q")
    git(machine.work, "add", ".")
    machine.stub(tmp_path / "watcher")
    git(machine.work, "config", "core.fsmonitor", str(tmp_path / "watcher"))
    for command in READS:
        machine.run(command)
    assert machine.programs_run() == ""
    (tmp_path / "stubs" / "git").unlink()
    machine.run("git status")
    assert machine.programs_run().startswith("watcher")


@needs_git
def test_in_an_honest_repository_git_only_looks(tmp_path: Path) -> None:
    """All allowed git commands run: nothing but the index may change."""
    machine = Machine(tmp_path)
    (tmp_path / "stubs" / "git").unlink()
    git(machine.work, "init", "-q")
    git(machine.work, "add", ".")
    git(machine.work, "commit", "-q", "-m", "First")
    (machine.work / "README.md").write_text("hello\nmoon\n")
    before = _without_index(machine)
    printed = {command: machine.run(command) for command in GIT_READS}
    assert machine.programs_run() == ""
    assert _without_index(machine) == before
    assert "moon" in printed["git diff"]
