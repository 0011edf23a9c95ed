"""Which store a subcommand works on, and how it says when things happened."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from datetime import datetime, timedelta
from pathlib import Path

from agent_sdk.cli.command import Problem
from agent_sdk.sessions.sqlite import SQLiteStore

_LONGEST = 365_000 * 86_400  # seconds: what is longer goes back behind the first date that there is
_DIGITS = 20
ELSEWHERE = "perhaps it is in another --store"


def add_store_argument(parser: ArgumentParser) -> None:
    """The option `--store`."""
    parser.add_argument("--store", metavar="FILE", help="file with the sessions (default: the user's own)")


def store_of(arguments: Namespace, *, may_be_new: bool = False) -> SQLiteStore:
    """The store that `--store` names. Raises Problem for a file that is not there, unless it may be made."""
    given: str | None = arguments.store
    if given is not None and not may_be_new and not Path(given).is_file():
        fault = f"{given!r} is a folder" if Path(given).is_dir() else f"there is no file {given!r}"
        raise Problem(fault, where="--store", to_do="name the file that holds the sessions")
    return SQLiteStore(given)


def store_words(arguments: Namespace) -> str:
    """What belongs behind a command for the same store, with a blank before it; empty for the default store."""
    given: str | None = arguments.store
    return "" if given is None else f" --store {shlex.quote(given)}"


async def check_known(session_id: str, store: SQLiteStore, words: str) -> None:
    """Raises Problem when the store has no such session; `words` is what `store_words` says."""
    if not await store.projects(session_id):
        raise Problem(
            f"the store has no session {session_id!r}",
            where="the session",
            to_do=f"see what there is: agent-sdk sessions{words}; {ELSEWHERE}",
        )


def moment_words(moment: datetime) -> str:
    """A moment in the zone of whoever reads it."""
    return moment.astimezone().isoformat(sep=" ", timespec="seconds")


def span_words(span: timedelta) -> str:
    """A span of time in one unit, such as `3 h`; what is below a second is `0 s`."""
    seconds = max(0, int(span.total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def read_span(text: str) -> timedelta:
    """The span that `30d`, `12h`, `90min` or `45s` means. Raises Problem for anything else, and above 1,000 years."""
    for unit, size in (("min", 60), ("d", 86_400), ("h", 3_600), ("s", 1)):
        number = text.removesuffix(unit).strip()
        if text.endswith(unit) and number.isascii() and number.isdecimal():
            if len(number) > _DIGITS or (seconds := int(number) * size) > _LONGEST:
                raise Problem(f"{text:.40} is too long", where="the time", to_do="name a span below 1,000 years")
            return timedelta(seconds=seconds)
    raise Problem(f"{text!r} is no span of time", where="the time", to_do="write it as 30d, 12h, 90min or 45s")
