"""`agent-sdk sessions`, `export`, `import` and `prune`."""

from __future__ import annotations

import shutil
from argparse import ArgumentParser, Namespace
from collections import Counter
from datetime import UTC, datetime

import anyio

from agent_sdk.cli.command import Command, Exit
from agent_sdk.cli.show import SHOWN_WIDTH
from agent_sdk.cli.stores import add_store_argument, moment_words, read_span, store_of
from agent_sdk.render.cells import cut, drawable
from agent_sdk.render.text import visible
from agent_sdk.sessions.portable import export_session, import_session
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.sessions.upkeep import list_sessions, prune_sessions
from agent_sdk.values import Json, JsonObject, to_text

_PAGE = 1000
_PROMPT = 200
"""Characters of the first prompt that are shown at most."""


def add_sessions_arguments(parser: ArgumentParser) -> None:
    """The options of `sessions`."""
    parser.add_argument("--json", action="store_true", help="print one session a line as JSON")
    add_store_argument(parser)


def run_sessions(arguments: Namespace) -> int:
    """List the sessions, the last used one first: where and how each began, and how many calls wait for an answer."""
    return anyio.run(_sessions, store_of(arguments), arguments.json)


async def _sessions(store: SQLiteStore, as_json: bool) -> int:
    waiting = await _waiting(store)
    began: dict[str, tuple[Json, Json]] = {}
    for project in await store.projects():
        began |= await store.beginnings(project)
    columns = shutil.get_terminal_size((SHOWN_WIDTH, 0)).columns
    for listed in await list_sessions(store=store):
        session_id, count = listed["session_id"], waiting[listed["session_id"]]
        directory, content = began.get(session_id, (None, None))
        prompt = _words(content)
        if as_json:
            known: JsonObject = {"session_id": session_id, "mtime": listed["mtime"], "pending": count}
            print(to_text({**known, "directory": directory, "prompt": prompt}))
        else:
            used = moment_words(datetime.fromtimestamp(listed["mtime"] / 1000, UTC))
            note = f"  ({count} waiting for an answer)" if count else ""
            print(f"{visible(session_id, keep_newlines=False)}  {used}{note}")
            told = visible(f"  {directory or '(somewhere)'}: {prompt}", keep_newlines=False)
            print(cut(drawable(told), columns))
    return Exit.OK


def _words(content: Json) -> str:
    """The beginning of a user message, on one line."""
    blocks = content if isinstance(content, list) else [{"text": content}]
    texts = (block.get("text") for block in blocks if isinstance(block, dict))
    return " ".join(next((text for text in texts if isinstance(text, str)), "")[:_PROMPT].split())


async def _waiting(store: SQLiteStore) -> Counter[str]:
    counts: Counter[str] = Counter()
    after: str | None = None
    while page := await store.pending(after=after, limit=_PAGE):
        counts.update(approval.session_id for approval in page)
        after = page[-1].cursor
    return counts


def add_export_arguments(parser: ArgumentParser) -> None:
    """The options of `export`."""
    parser.add_argument("session", metavar="SESSION", help="id of the session")
    parser.add_argument("file", metavar="FILE", help="where to write it, as JSON lines")
    add_store_argument(parser)


def run_export(arguments: Namespace) -> int:
    """Write a session to a file. Raises SessionError."""
    store = store_of(arguments)
    anyio.run(lambda: export_session(arguments.session, arguments.file, store=store))
    print("Exported. The file may hold secrets: only you can read it.")
    return Exit.OK


def add_import_arguments(parser: ArgumentParser) -> None:
    """The options of `import`."""
    parser.add_argument("file", metavar="FILE", help="a file that `export` has written")
    add_store_argument(parser)


def run_import(arguments: Namespace) -> int:
    """Read a session from a file and print its id. Raises SessionError."""
    store = store_of(arguments, may_be_new=True)
    print(visible(anyio.run(lambda: import_session(arguments.file, store=store)), keep_newlines=False))
    return Exit.OK


def add_prune_arguments(parser: ArgumentParser) -> None:
    """The options of `prune`."""
    parser.add_argument("older_than", metavar="TIME", help="such as 30d, 12h, 90min: how long unused")
    add_store_argument(parser)


def run_prune(arguments: Namespace) -> int:
    """Remove sessions that were not used for so long and in which nothing waits. Raises Problem, SessionError."""
    span, store = read_span(arguments.older_than), store_of(arguments)
    removed = anyio.run(lambda: prune_sessions(span, store=store))
    print(f"Removed {removed} sessions. Those with calls that wait for an answer stay.")
    return Exit.OK


SESSIONS = Command(name="sessions", summary="what is stored", add_arguments=add_sessions_arguments, run=run_sessions)
EXPORT = Command(name="export", summary="write a session to a file", add_arguments=add_export_arguments, run=run_export)
IMPORT = Command(
    name="import", summary="read a session from a file", add_arguments=add_import_arguments, run=run_import
)
PRUNE = Command(
    name="prune", summary="remove sessions that are not used any more", add_arguments=add_prune_arguments, run=run_prune
)
