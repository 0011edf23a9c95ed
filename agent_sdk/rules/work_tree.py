"""Is git, behind a `cd`, still in the work tree that it was in before?"""

from __future__ import annotations

from agent_sdk.rules.escapes import program_of
from agent_sdk.rules.file_operands import QUIET, READERS
from agent_sdk.rules.files import FileView
from agent_sdk.rules.shell_nodes import SimpleCommand
from agent_sdk.rules.shell_view import ShellView, cd_target, moved_by, path_text
from agent_sdk.rules.spelling import joined, parts
from agent_sdk.rules.wrappers import git_subcommand

_QUIET_GIT = frozenset(
    [
        *("status", "log", "diff", "show", "rev-parse", "ls-files", "ls-tree", "describe", "blame", "shortlog"),
        *("cat-file", "rev-list", "name-rev"),
    ]
)


def same_work_tree(view: ShellView) -> bool:
    """True when the one `cd` goes down to an existing folder of the same work tree, and nothing else can change that.

    On the way there is no `.git`, no `HEAD`, no link and no `..`.
    """
    commands = [command for command in view.reading.script.commands if command.words]
    moves = [command for command in commands if moved_by(command) is not None]
    if len(moves) != 1 or not all(_quiet(command) for command in commands):
        return False
    target = cd_target(moves[0].words) if moves[0].words[0].text in ("cd", "pushd") else None
    text = path_text(target, 0) if target is not None and target.static else None
    if not text or ".." in text.split("/") or moves[0].redirects:
        return False
    files, here = view.files, parts(view.ground.cwd)
    goal = parts(view.spelled(text, (view.ground.cwd,))[0].absolute)
    if goal[: len(here)] != here or goal == here or files.kind(joined(goal)) != "dir":
        return False
    if _linked(joined(goal), files) or not any(_has(files, here[:end], ".git") for end in range(len(here) + 1)):
        return False
    between = (goal[:end] for end in range(len(here) + 1, len(goal) + 1))
    return not any(_has(files, folder, ".git") or _has(files, folder, "HEAD") for folder in between)


def _quiet(command: SimpleCommand) -> bool:
    texts = [word.text for word in command.words]
    base, _ = program_of(texts[0])
    if base == "git":
        at = git_subcommand(texts)
        return at == 1 and at < len(texts) and texts[at] in _QUIET_GIT
    return base in QUIET or base in READERS or base in ("pushd", "popd")


def _has(files: FileView, folder: tuple[str, ...], name: str) -> bool:
    return files.kind(joined((*folder, name))) is not None


def _linked(path: str, files: FileView) -> bool:
    try:
        return bool(files.hops(path))
    except (OSError, ValueError):
        return True
