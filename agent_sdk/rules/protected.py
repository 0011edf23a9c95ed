"""Protected paths, never auto-approved for writing: what is written there runs, or loosens control, later on."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from agent_sdk.rules.spelling import Parts, folded

FOLDERS = {
    ".git": "git runs the hooks and programs that its folder names",
    ".vscode": "the editor runs the tasks in it",
    ".idea": "the editor runs the configurations in it",
    ".husky": "git runs the hooks in it",
    ".cargo": "cargo takes compilers and aliases from it",
    ".devcontainer": "the container it describes is started with its commands",
    ".yarn": "yarn runs the releases and plugins in it",
    ".mvn": "maven takes options and extensions from it",
    ".claude": "it holds the permission settings, hooks and commands of agents",
}

FOLDER_PAIRS = {
    (".config", "git"): "git takes hooks and programs from it",
    (".config", "fish"): "the shell runs the files in it when it starts",
}

_SHELL = "a shell runs it when it starts"
_GIT = "git takes programs from it"
_PACKAGES = "the package manager takes scripts and sources from it"
_HOOKS = "git hooks run the commands in it"
_AGENT = "it names the servers and tools that an agent starts"
_PROGRAM = "the program runs commands from it when it starts"

FILES = {
    **dict.fromkeys((".gitconfig", ".gitmodules"), _GIT),
    **dict.fromkeys(
        (".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc"), _SHELL
    ),
    **dict.fromkeys((".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc"), _SHELL),
    **dict.fromkeys((".cshrc", ".tcshrc", ".login", ".logout", ".xprofile", ".xinitrc", ".xsessionrc"), _SHELL),
    ".envrc": "direnv runs it when the folder is entered",
    **dict.fromkeys((".npmrc", "bunfig.toml", ".bunfig.toml", ".pnpmfile.cjs"), _PACKAGES),
    **dict.fromkeys((".mcp.json", ".claude.json"), _AGENT),
    **dict.fromkeys((".pre-commit-config.yaml", ".pre-commit-config.yml"), _HOOKS),
    **{
        f"{dot}lefthook{local}.{kind}": _HOOKS
        for dot in ("", ".")
        for local in ("", "-local")
        for kind in ("yml", "yaml", "toml", "json")
    },
    **dict.fromkeys((".ripgreprc", ".curlrc", ".wgetrc", ".vimrc", ".exrc", ".gdbinit", ".lldbinit"), _PROGRAM),
}

FILE_STARTS = {".yarnrc": _PACKAGES, ".pnp.": _PACKAGES}


_DOTLESS = frozenset(name[:3] for name in FILES if not name.startswith("."))
"""How the names of protected files begin that have no dot before them. Everything else in the tables has one."""


def protected(readings: Iterable[Parts], settings_dir: str) -> str | None:
    """Why writing to a path needs a person: the name and the reason, or `None`. Any reading will do."""
    for reading in readings:
        why = _protected(reading, settings_dir) if _may_be(reading, settings_dir) else None
        if why is not None:
            return why
    return None


def _may_be(reading: Parts, settings_dir: str) -> bool:
    """False for a path that is certainly not protected, which is nearly every one.

    `plain_name` only folds a name and cuts it at its end, unless there is a `~`; and protected names begin with a dot,
    save those of some files.
    """
    text = "/" + "/".join(reading)
    if "/." in text or "~" in text or not (text.isascii() and text.isprintable()):
        return True
    if reading and reading[-1][:3].lower() in _DOTLESS:
        return True
    return _guarded_name(settings_dir)[:1] != "."


@lru_cache(maxsize=1024)
def _protected(reading: Parts, settings_dir: str) -> str | None:
    names = [plain_name(name) for name in reading]
    guarded = _guarded_name(settings_dir)
    for name in names:
        why = FOLDERS.get(name) or (FOLDERS[".claude"] if name == guarded else None)
        if why is not None:
            return f"{name} is protected: {why}"
    for pair in pairwise(names):
        if pair in FOLDER_PAIRS:
            return f"{'/'.join(pair)} is protected: {FOLDER_PAIRS[pair]}"
    last = names[-1] if names else ""
    starts = (why for start, why in FILE_STARTS.items() if last.startswith(start))
    reason = FILES.get(last) or next(starts, None)
    return reason and f"{last} is protected: {reason}"


def _guarded_name(settings_dir: str) -> str:
    """The name that guards the settings folder wherever it stands: the last one of the way there."""
    return plain_name(settings_dir.rpartition("/")[2])


@lru_cache(maxsize=4096)
def plain_name(name: str) -> str:
    """A name without what some file systems ignore: case, hidden characters, a stream, dots and blanks at the end.

    A shortened name (`GIT~1`) becomes the protected folder that it may stand for.
    """
    if name in FOLDERS:
        return name
    plain = folded(name).partition(":")[0].rstrip(". ")
    stem, tilde, number = plain.partition("~")
    if tilde and number.isdigit():
        for folder in FOLDERS:
            if stem == folder[1:7]:
                return folder
    return plain
