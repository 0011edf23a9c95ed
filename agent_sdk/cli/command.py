"""What a subcommand is, how it ends, and how it tells what went wrong."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from agent_sdk.config import MODES, SettingSource
from agent_sdk.settings.files import SOURCES


class Exit(IntEnum):
    """Exit codes. `NO`: it worked, and the result is no. What a signal ended: 128 and the signal's number."""

    OK = 0
    NO = 1
    USAGE = 2
    ENVIRONMENT = 3
    INTERRUPTED = 130
    BROKEN_PIPE = 141


class Problem(Exception):
    """Something that the person at the keyboard can mend: what happened, where, and what to do about it."""

    def __init__(self, what: str, *, where: str, to_do: str, code: Exit = Exit.USAGE) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.to_do = to_do
        self.code = code

    def lines(self) -> tuple[str, str, str]:
        """The three lines that go to standard error."""
        return f"error: {self.what}", f"where: {self.where}", f"to do: {self.to_do}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One subcommand. `run` returns the exit code, or raises Problem or an AgentSDKError."""

    name: str
    summary: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


def add_policy_arguments(
    parser: ArgumentParser,
    *,
    mode: str = "what the settings say, else default",
    cwd: str = "this one",
    sources: str = "all",
) -> None:
    """The options that say what may run: mode, rules, settings, directory. The words name the defaults of three."""
    parser.add_argument("--mode", choices=MODES, help=f"permission mode (default: {mode})")
    for behavior, what in (
        ("allow", "needs nobody"),
        ("ask", "always needs a person"),
        ("deny", "never runs"),
    ):
        parser.add_argument(
            f"--{behavior}",
            action="append",
            default=[],
            metavar="RULE",
            help=f"what this rule covers {what}; may be repeated",
        )
    parser.add_argument("--cwd", default=".", metavar="DIR", help=f"working directory (default: {cwd})")
    parser.add_argument(
        "--setting-sources",
        type=_sources,
        default=SOURCES,
        metavar="LIST",
        help=f"which settings files count, such as user,project,local (default: {sources}), or none",
    )
    words = "let what widens count in settings files that come with the repository"
    parser.add_argument("--trust-project", action="store_true", help=words)


def add_settings_argument(parser: ArgumentParser) -> None:
    """The option `--settings`, a file beside those of the scopes."""
    words = "a settings file, or its JSON text, that counts as well"
    parser.add_argument("--settings", type=_settings, metavar="FILE", help=words)


def _settings(text: str) -> str:
    """A file is looked for where the command is typed, whatever `--cwd` says; JSON text stays as it is."""
    return text if text.lstrip().startswith("{") else os.path.abspath(os.path.expanduser(text))


def _sources(text: str) -> tuple[SettingSource, ...]:
    """Raises ArgumentTypeError for anything but a list of sources, or `none`."""
    named = [] if text.strip() in ("", "none") else [word.strip() for word in text.split(",")]
    unknown = [word for word in named if word not in SOURCES]
    if unknown:
        raise ArgumentTypeError(f"{unknown[0]!r} is none of user, project, local")
    return tuple(source for source in SOURCES if source in named)


def directory(given: str) -> str:
    """The directory that `--cwd` names. Raises Problem when it is none."""
    try:
        os.path.abspath(given)
    except FileNotFoundError:
        raise Problem(
            "the directory in which this was started is not there any more",
            where="the working directory",
            to_do="go to a directory that exists, or name one in full with --cwd",
            code=Exit.ENVIRONMENT,
        ) from None
    if not Path(given).is_dir():
        raise Problem(f"there is no directory {given!r}", where="--cwd", to_do="name a directory that exists")
    return given


def is_terminal(*streams: TextIO | None) -> bool:
    """True when a person sits behind all of these. A stream that is closed or was never there is none."""
    return all(stream is not None and not stream.closed and stream.isatty() for stream in streams)


def escape_what_cannot_be_shown() -> None:
    """From now on a character that the encoding of standard output or error lacks is written as its escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say_aside(*lines: str) -> None:
    """Write lines to standard error. Who cannot hear them any more misses them; that is no fault."""
    with suppress(OSError):
        for line in lines:
            print(line, file=sys.stderr, flush=True)
