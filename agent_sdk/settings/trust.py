"""Did the repository supply this settings file? What a clone brings along must not grant itself anything."""

from __future__ import annotations

import os

from agent_sdk.rules.files import follow
from agent_sdk.settings.git import is_within, tracking, work_tree


def supplied_by_repository(path: str, cwd: str) -> str | None:
    """Why the local settings file at `path`, below the working directory `cwd`, counts as part of the repository.

    `None` only when git says for its written and its real path that it is not tracked, or that there is no work tree,
    and when no link inside the work tree leads to it. Blocks for as long as git takes. Never raises.
    """
    real = os.path.realpath(path)
    written = tracking(os.path.relpath(path, cwd), cwd, project=cwd)
    answers = {written, tracking(os.path.basename(real), os.path.dirname(real), project=cwd)}
    if "tracked" in answers:
        return "it is tracked by git"
    top = work_tree(cwd)
    if "unknown" in answers or (top is None and written != "no work tree"):
        return "git could not tell whether it is tracked"
    link = None if top is None else link_inside(path, top)
    return None if link is None else f"it is reached through the link {link}, which lies in the work tree"


def link_inside(path: str, top: str) -> str | None:
    """The first link on the way to `path` that lies below the real folder `top`; `None` when there is none."""
    found: list[str] = []

    def target(name: str) -> str | None:
        try:
            leads_to = os.readlink(name)
        except OSError:
            return None
        found.append(name)
        return leads_to

    try:
        follow(path, target)
    except OSError:
        return path
    return next((link for link in found if is_within(link, top)), None)
