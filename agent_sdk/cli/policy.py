"""`agent-sdk policy test` and `policy replay`: a policy against a table of calls, and against the calls of the past."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

import anyio

from agent_sdk.cli.command import (
    Command,
    Exit,
    Problem,
    add_policy_arguments,
    add_settings_argument,
    directory,
    say_aside,
)
from agent_sdk.cli.explain import load_policy, remark_on_tools
from agent_sdk.cli.show import call_line
from agent_sdk.cli.stores import add_store_argument, moment_words, read_span, store_of
from agent_sdk.errors import RuleError, SettingsError
from agent_sdk.permissions.cases import PolicyDifference, PolicyTable, check_policy, read_policy_table
from agent_sdk.permissions.policy import PermissionPolicy
from agent_sdk.permissions.replay import PolicyFor, ReplayedCall, replay_policy
from agent_sdk.render.text import visible
from agent_sdk.sessions.codec import verdict_to_json
from agent_sdk.sessions.past import PastCall
from agent_sdk.values import JsonObject, to_text

_DIRECTORIES = 64
"""Directories whose policies are kept while past calls are read: sessions of one directory mostly follow another."""


def add_arguments(parser: ArgumentParser) -> None:
    """The options of `policy test` and `policy replay`."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    words = "check a table of calls and expected behaviours"
    test = actions.add_parser("test", help=words, description=words)
    test.add_argument("file", metavar="FILE", help="the table: JSON, or one case a line when it ends in .jsonl")
    test.add_argument("--json", action="store_true", help="print one difference a line as JSON")
    add_settings_argument(test)
    add_policy_arguments(test, sources="none for a table with rules of its own, else all")
    test.set_defaults(act=_test, setting_sources=None)
    words = "hold the calls of stored sessions against the rules of today"
    replay = actions.add_parser("replay", help=words, description=words)
    replay.add_argument("session", metavar="SESSION", nargs="?", help="only this session")
    replay.add_argument("--since", metavar="TIME", help="only calls of the last 30d, 12h, 90min")
    replay.add_argument("--all", action="store_true", help="print every call, not only what would change")
    replay.add_argument("--json", action="store_true", help="print one call a line as JSON")
    add_settings_argument(replay)
    add_policy_arguments(replay, mode="the one of then", cwd="the one in which each session was started")
    add_store_argument(replay)
    replay.set_defaults(act=_replay, cwd=None)


def run_policy(arguments: Namespace) -> int:
    """Test or replay. Exit code 0, or 1 for a difference or a change. Raises Problem, SettingsError, RuleError,
    OptionsError, SessionError."""
    act: Callable[[Namespace], int] = arguments.act
    return act(arguments)


def _test(arguments: Namespace) -> int:
    table, policy = _table_and_policy(arguments)
    remark_on_tools(case.tool for case in table.cases)
    differences = check_policy(policy, table.cases)
    for difference in differences:
        print(to_text(_difference_to_json(difference)) if arguments.json else visible(difference.explain()))
    if not arguments.json:
        total = len(table.cases)
        wrong = f"{len(differences)} of {total} calls are not decided as expected."
        print(wrong if differences else f"{_calls(total)} decided as expected.")
    return Exit.NO if differences else Exit.OK


def _calls(count: int) -> str:
    return "1 call is" if count == 1 else f"{count} calls are"


def _table_and_policy(arguments: Namespace) -> tuple[PolicyTable, PermissionPolicy]:
    """The rules of a table count instead of the settings files, unless the command line says which files count.

    Raises Problem for a fault in the table or in its rules: the file was named on the command line.
    """
    given: str = arguments.file
    file = os.path.abspath(given)
    cwd = directory(arguments.cwd)
    to_do = "name or mend the file; docs/testing.md shows the form"
    try:
        table = read_policy_table(file)
        if table.settings is not None and arguments.settings is not None:
            raise Problem("the file has rules of its own", where="--settings", to_do="leave out one of the two")
        if arguments.setting_sources is None:
            arguments.setting_sources = () if table.settings is not None else ("user", "project", "local")
        return table, load_policy(arguments, cwd=cwd, settings=table.settings or arguments.settings)
    except SettingsError as error:
        if error.path != file:
            raise
        raise Problem(str(error), where=given, to_do=to_do) from None
    except RuleError as error:
        if error.file != file:
            raise
        raise Problem(str(error), where=given, to_do=to_do) from None


def _difference_to_json(difference: PolicyDifference) -> JsonObject:
    """Fields are only ever added."""
    case = difference.case
    return {
        "where": case.where,
        "tool": case.tool,
        "input": case.input,
        "expect": case.expect,
        "rule": case.rule,
        "note": case.note,
        "verdict": verdict_to_json(difference.verdict),
    }


def _replay(arguments: Namespace) -> int:
    span = None if arguments.since is None else read_span(arguments.since)
    since = None if span is None else datetime.now(UTC) - span
    policy_for = _policies(arguments)

    async def hold() -> Counter[str]:
        counts: Counter[str] = Counter()
        async for one in replay_policy(
            policy_for, store=store_of(arguments), session_id=arguments.session, since=since, mode=arguments.mode
        ):
            counts[one.change] += 1
            if arguments.all or one.change == "changed":
                print(to_text(_replayed_to_json(one)) if arguments.json else "\n".join(_replayed_lines(one)))
        return counts

    counts = anyio.run(hold)
    if not arguments.json:
        told = f"{counts.total()} calls: {counts['changed']} would be decided otherwise, {counts['same']} the same"
        print(f"{told}, {counts['unclear']} cannot be compared.")
    return Exit.NO if counts["changed"] else Exit.OK


def _policies(arguments: Namespace) -> PolicyFor:
    """The policy of the directory that `--cwd` names, or else of the one in which a call's session was started."""
    given = None if arguments.cwd is None else os.path.abspath(directory(arguments.cwd))

    @lru_cache(maxsize=_DIRECTORIES)
    def of(folder: str) -> PermissionPolicy:
        if not os.path.isdir(folder):
            told = visible(folder, keep_newlines=False)
            say_aside(f"warning: {told} is not there any more: rules of settings files in it cannot count")
        return load_policy(arguments, cwd=folder, settings=arguments.settings)

    def policy_for(call: PastCall) -> PermissionPolicy:
        return of(given or call.directory or call.cwd or os.getcwd())

    return policy_for


def _replayed_to_json(one: ReplayedCall) -> JsonObject:
    """Fields are only ever added."""
    call, decided = one.call, one.call.decided
    return {
        "session_id": call.session_id,
        "subpath": call.subpath,
        "tool_use_id": call.tool_use_id,
        "at": None if call.at is None else call.at.isoformat(),
        "change": one.change,
        "then": one.then,
        "then_by": None if decided is None else decided.by,
        "then_rule": None if decided is None else decided.rule,
        "outcome": call.outcome,
        "now": verdict_to_json(one.now),
    }


def _replayed_lines(one: ReplayedCall) -> list[str]:
    call, decided, now = one.call, one.call.decided, one.now
    at = "" if call.at is None else f"  {moment_words(call.at)}"
    then = str(one.then or "not recorded")
    if decided is not None and call.outcome != "waiting":
        told = "answered" if one.then == "ask" else "decided"
        then += f" ({told} by {decided.by}{f': {decided.rule}' if decided.rule else ''})"
    trace = [step.where for step in now.trace if step.where is not None]
    place = f" ({trace[-1]})" if trace and now.rule else ""
    lines = [
        f"{call.session_id} {call.tool_use_id}{at}",
        f"  {call_line(call.tool, call.said)}",
        f"  then: {then}, {call.outcome}",
        f"  now: {now.behavior}, {now.reason}{place}",
    ]
    return [visible(line, keep_newlines=False) for line in lines]


POLICY = Command(
    name="policy",
    summary="check a policy: against a table of calls, or against past sessions",
    add_arguments=add_arguments,
    run=run_policy,
)
