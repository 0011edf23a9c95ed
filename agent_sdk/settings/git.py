"""Asks git about files. Looking at a repository runs nothing that it brings, and never takes longer than a limit."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_sdk.tools.environment import scrubbed_environment

TIME_LIMIT = 5.0
"""Seconds that git may take for one answer."""

Answer: TypeAlias = Literal["tracked", "not tracked", "no work tree", "unknown"]

_SAFE = (
    "--no-pager",
    *("-c", "core.fsmonitor=false"),  # a program that the index would be refreshed with
    *("-c", "core.untrackedCache=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "safe.bareRepository=explicit"),  # a folder that only looks like a repository is none
    *("-c", "protocol.allow=never"),
)
_NO_REPOSITORY = "fatal: not a git repository (or any"


@dataclass(frozen=True, slots=True)
class _Said:
    code: int
    out: str
    error: str


def tracking(path: str, folder: str, *, project: str) -> Answer:
    """Is the file at `path` tracked by the repository of `folder`? `path` is relative to it, or absolute.

    `project` is the working directory: no git program that lies in it is asked. `unknown` when git is missing, takes
    too long, or says anything that is none of the other answers. Never raises.
    """
    said = _ask(folder, ["ls-files", "-z", "--full-name", "--", f":(literal,icase){path}"], project)
    if said is None:
        return "unknown"
    if said.code == 0:
        return "tracked" if said.out else "not tracked"
    if said.error.startswith(_NO_REPOSITORY) and not _holders_of_git(folder):
        return "no work tree"
    return "unknown"


def work_tree(folder: str) -> str | None:
    """The real path of the top of the work tree that holds `folder`, or `None` when git names none. Never raises."""
    said = _ask(folder, ["rev-parse", "--show-toplevel"])
    if said is None or said.code != 0 or not said.out.rstrip("\n"):
        return None
    return os.path.realpath(said.out.rstrip("\n"))


def is_ignored(path: str, folder: str) -> bool | None:
    """Does the repository of `folder` ignore `path`? `None` when git does not say. Never raises."""
    said = _ask(folder, ["check-ignore", "-q", "--no-index", "--", path])
    return said.code == 0 if said is not None and said.code in (0, 1) else None


def exclude_file(folder: str) -> str | None:
    """The real path of the repository's own ignore file, which is never committed. `None` when there is none to use:
    git names none, or it lies, through a link, outside of the repository's folder. Never raises.
    """
    said = _ask(folder, ["rev-parse", "--git-common-dir", "--git-path", "info/exclude"])
    lines = said.out.splitlines() if said is not None and said.code == 0 else []
    if len(lines) != 2:
        return None
    common, exclude = (os.path.realpath(os.path.join(folder, line)) for line in lines)
    return exclude if exclude == os.path.join(common, "info", "exclude") else None


def _ask(folder: str, words: Sequence[str], project: str | None = None) -> _Said | None:
    program = _git_outside(project or folder)
    if program is None:
        return None
    environment = {name: value for name, value in scrubbed_environment().items() if not name.startswith("GIT_")}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            [program, *_SAFE, "-C", folder, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIME_LIMIT,
            env=environment | {"PAGER": "cat"},
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return _Said(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))


def _git_outside(project: str) -> str | None:
    """The git program, never one that lies in the project or in what may be its work tree: it could be its own."""
    holders = _holders_of_git(project)
    inside = holders[-1] if holders else os.path.realpath(project)
    places = [
        place
        for place in os.environ.get("PATH", os.defpath).split(os.pathsep)
        if os.path.isabs(place) and (inside == "/" or not is_within(os.path.realpath(place), inside))
    ]
    return shutil.which("git", path=os.pathsep.join(places))


def _holders_of_git(folder: str) -> list[str]:
    """`folder` and those above it that hold something named `.git`, whatever git thinks of it; the innermost first."""
    found = []
    here = os.path.realpath(folder)
    while True:
        if os.path.lexists(os.path.join(here, ".git")):
            found.append(here)
        above = os.path.dirname(here)
        if above == here:
            return found
        here = above


def is_within(path: str, folder: str) -> bool:
    """True when `path` is `folder` or lies below it, both taken as they are written."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
