"""The command line: picks the subcommand, and turns whatever goes wrong into three short lines."""

from __future__ import annotations

import errno
import logging
import os
import sys
import warnings
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from typing import NoReturn, TextIO

from agent_sdk.cli.command import Command, Exit, Problem, escape_what_cannot_be_shown, say_aside
from agent_sdk.cli.demo import DEMO
from agent_sdk.cli.explain import EXPLAIN
from agent_sdk.cli.inbox import ANSWER, PENDING, SHOW
from agent_sdk.cli.policy import POLICY
from agent_sdk.cli.rules import RULES
from agent_sdk.cli.run import RESUME, RUN
from agent_sdk.cli.sessions import EXPORT, IMPORT, PRUNE, SESSIONS
from agent_sdk.cli.stores import ELSEWHERE
from agent_sdk.errors import (
    AgentSDKError,
    DeferralError,
    ModelError,
    OptionsError,
    RuleError,
    SessionBusyError,
    SessionNotFoundError,
    SettingsError,
)
from agent_sdk.options import CanUseToolShadowedWarning
from agent_sdk.render.text import visible

COMMANDS: tuple[Command, ...] = (
    DEMO,
    RUN,
    PENDING,
    SHOW,
    ANSWER,
    RESUME,
    SESSIONS,
    EXPORT,
    IMPORT,
    PRUNE,
    EXPLAIN,
    RULES,
    POLICY,
)
_log = logging.getLogger("agent_sdk")
_BY_SIGNAL = 128
_FAULTS_OF_WRITING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.ENXIO})


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (`None` = the process's own) and return its exit code (see `Exit`).

    Raises SystemExit for `--help` and `--version`; nothing else.
    """
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  (closed by whoever started us)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    escape_what_cannot_be_shown()
    code = _told(argv)
    try:
        sys.stdout.flush()
    except (OSError, ValueError):  # the reader or the terminal is gone, and Python would end with a code of its own
        _give_up_output()
    return code


def _told(argv: Sequence[str] | None) -> int:
    """Run the command; every fault is told in words. Returns the exit code."""
    try:
        with _plain_words():
            return _run(argv)
    except Problem as problem:
        return _tell(problem)
    except AgentSDKError as error:
        return _tell(_as_problem(error))
    except KeyboardInterrupt:
        say_aside("Interrupted.")
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _give_up_output()
        return Exit.BROKEN_PIPE
    except OSError as error:
        _give_up_output()
        reason = error.strerror or type(error).__name__
        where = str(error.filename or ("standard output" if error.errno in _FAULTS_OF_WRITING else "this machine"))
        return _tell(Problem(reason, where=where, to_do="mend it and try again", code=Exit.ENVIRONMENT))


def _run(argv: Sequence[str] | None) -> int:
    arguments = _parser().parse_args(argv)
    command: Command = arguments.chosen
    code = command.run(arguments)
    try:
        sys.stdout.flush()
    except OSError:
        if code <= _BY_SIGNAL:  # the terminal went away with the signal
            raise
        _give_up_output()
    return code


def _give_up_output() -> None:
    """Write what is left of standard output to nowhere: Python would complain at its end that it cannot be flushed."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(ArgumentParser):
    """An argument parser that raises Problem instead of printing its usage and leaving."""

    def error(self, message: str) -> NoReturn:
        """Raises Problem, always."""
        raise Problem(message, where=self.prog, to_do=f"see {self.prog} --help")


def _parser() -> ArgumentParser:
    parser = _Parser(prog="agent-sdk", description="Permission callbacks for AI agents.")
    parser.add_argument("--version", action="version", version=f"agent-sdk {_version()}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        sub = commands.add_parser(command.name, help=command.summary, description=command.summary)
        command.add_arguments(sub)
        sub.set_defaults(chosen=command)
    return parser


def _version() -> str:
    try:
        return version("agent-sdk")
    except PackageNotFoundError:
        return "of a checkout that is not installed"


def _as_problem(error: AgentSDKError) -> Problem:
    match error:
        case RuleError():
            where = error.file or (f"the rule {error.rule}" if error.rule else "a rule")
            code = Exit.USAGE if error.file is None else Exit.ENVIRONMENT
            return Problem(
                str(error), where=where, to_do="mend the rule; docs/permissions.md shows the form", code=code
            )
        case SettingsError(path=str(path)):
            to_do = "name or mend the file; --setting-sources says which files of the scopes count"
            return Problem(str(error), where=path, to_do=to_do, code=Exit.ENVIRONMENT)
        case OptionsError() | SettingsError():
            return Problem(str(error), where="the options", to_do="mend the option that is named")
        case ModelError():
            return Problem(str(error), where="the model", to_do="check key and network", code=Exit.ENVIRONMENT)
        case DeferralError():
            where = f"call {error.tool_use_id} of session {error.session_id}" if error.tool_use_id else "the answer"
            return Problem(str(error), where=where, to_do="see what waits: agent-sdk pending")
        case SessionNotFoundError():
            return Problem(str(error), where="the session", to_do=f"see what there is: agent-sdk sessions; {ELSEWHERE}")
        case SessionBusyError():
            to_do = "wait until that run has ended, then try again"
            return Problem(str(error), where="the session", to_do=to_do, code=Exit.ENVIRONMENT)
        case _:
            return Problem(
                str(error), where="the session", to_do="mend what is named, then try again", code=Exit.ENVIRONMENT
            )


def _tell(problem: Problem) -> int:
    say_aside(*(visible(line, keep_newlines=False) for line in problem.lines()))
    return problem.code


@contextmanager
def _plain_words() -> Iterator[None]:
    """Warnings and log records as one line each on standard error; details of faults stay with applications."""
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine("%(levelname)s: %(message)s"))
    _log.addHandler(handler)
    propagate, _log.propagate = _log.propagate, False
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        warnings.simplefilter("ignore", CanUseToolShadowedWarning)  # who types --mode or --allow means it
        try:
            yield
        finally:
            _log.removeHandler(handler)
            _log.propagate = propagate


class _OneLine(logging.Formatter):
    """A record without its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """The message and its level."""
        return visible(f"{record.levelname.lower()}: {record.getMessage()}", keep_newlines=False)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    say_aside(f"warning: {visible(str(message), keep_newlines=False)}")


if __name__ == "__main__":
    sys.exit(main())
