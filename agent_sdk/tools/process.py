"""One bash process: exactly the judged bytes in, bounded output out, and its descendants ended with it."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import anyio
import anyio.to_thread
from anyio.abc import Process

from agent_sdk.errors import ToolError
from agent_sdk.tools.environment import scrubbed_environment
from agent_sdk.tools.output import BoundedOutput
from agent_sdk.tools.sweep import Traces, end_all, pipe_name
from agent_sdk.values import JsonObject

_log = logging.getLogger("agent_sdk.tools.bash")

GRACE = 0.25
"""Seconds that output may still come in after the shell ended (`>(tee log)` is not waited for by bash)."""

_CLEANING_SECONDS = 5.0
_CHUNK = 65_536

# What runs before the command. The limit on file locks has had no effect since Linux 2.4.25; as a number that nobody
# else has it is a mark that every descendant inherits. The second line forks a watcher that is no child of the shell,
# so `wait` and `jobs` do not know it: its `read` ends when the application, dead or alive, has closed the lifeline.
_PRELUDE = """ulimit -S -x {number} 2>/dev/null
( ( read -r; {ending} ) <&{lifeline} >/dev/null 2>&1 {where}>&- & )
exec {lifeline}<&-
{nine}"""
_ENDING = """for p in /proc/[0-9]*; do
p=${{p#/proc/}}
[[ $p != $$ && $p != $BASHPID ]] && mapfile -t l <"/proc/$p/limits" && [[ ${{l[*]}} == *" {number} "* ]] && kill -9 "$p"
done
kill -9 -- -$$"""
_SCRIPT = 'trap "pwd -P >&9" EXIT; eval "$1"'


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellResult:
    """What came of a command. `output` is stdout and stderr in the order in which they came, bounded.

    `exit_code` is `None` when the time was up, and negative (`-9`) when a signal ended the shell. `cwd` is the real
    path of the directory in which the shell ended; `None` when it did not say (`exec`, a trap of its own, a time-out).
    """

    output: str
    exit_code: int | None
    cwd: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pipes:
    """Our ends and the shell's: of the output, of descriptor 9, which hands the directory back, and of the lifeline.

    Nothing is ever sent over the lifeline: the system closes our end of it when the application dies.
    """

    output: int
    output_end: int
    where: int
    where_end: int
    lifeline: int
    lifeline_end: int

    def close_ends(self) -> None:
        """Close our copies of the shell's ends, once it has its own."""
        for end in (self.output_end, self.where_end, self.lifeline_end):
            os.close(end)


async def run_shell(command: str, *, cwd: str, timeout: float, env: JsonObject | None = None) -> ShellResult:
    """Run a command line in a fresh bash and wait for its end, at most `timeout` seconds.

    Bash reads no start-up files, gets a scrubbed environment and an empty stdin, and runs in a session of its own.
    When it ends, when the time is up, and when the caller is cancelled, the processes that it started are killed,
    background children included (`sweep.py` says what can escape). Should the application die, by SIGKILL even, a
    watcher beside the shell kills them; it waits for forks of the application that hold its descriptors open. Memory
    stays small whatever is printed.

    Raises ToolError, in words for the model, when the command cannot be started.
    """
    argument = _encoded(command)
    mark = f"AGENT_SDK_CALL_{secrets.token_hex(8)}"
    environment = scrubbed_environment(env, cwd=cwd) | {mark: "1"}
    with _pipes() as pipes:
        names = frozenset({pipe_name(pipes.output), pipe_name(pipes.where)})
        traces = Traces(mark=mark.encode(), pipes=names)
        with anyio.CancelScope(shield=True):  # between fork and handle there is nothing to clean up with
            process = await _start(_script(pipes, traces.number), argument, cwd, environment, pipes)
        try:
            return await _watch(process, traces, pipes, timeout)
        except BaseException:  # cancelled, as a rule
            with anyio.CancelScope(shield=True):
                await _end_all(process, traces)
            raise
        finally:
            with anyio.move_on_after(_CLEANING_SECONDS, shield=True):
                await process.aclose()


async def _watch(process: Process, traces: Traces, pipes: _Pipes, timeout: float) -> ShellResult:
    """Collect output until the shell ended or the time is up; then end what is left and take the rest of the output."""
    output = BoundedOutput()
    async with anyio.create_task_group() as group:
        at_end = anyio.Event()
        group.start_soon(_collect, pipes.output, output, at_end)
        with anyio.move_on_after(timeout):
            await process.wait()
        exit_code = process.returncode
        if exit_code is not None:
            with anyio.move_on_after(GRACE):
                await at_end.wait()
        with anyio.CancelScope(shield=True):
            await _end_all(process, traces)
        with anyio.move_on_after(GRACE):
            await at_end.wait()
        group.cancel_scope.cancel()
    cwd = _directory(pipes.where) if exit_code is not None else None
    return ShellResult(output=output.text(), exit_code=exit_code, cwd=cwd)


async def _end_all(process: Process, traces: Traces) -> None:
    """Sweep in a thread that no queue of other threads can hold up."""
    if not await anyio.to_thread.run_sync(end_all, process.pid, traces, limiter=anyio.CapacityLimiter(1)):
        _log.warning("processes that a bash command started could not be ended (shell pid %d)", process.pid)


async def _collect(descriptor: int, output: BoundedOutput, at_end: anyio.Event) -> None:
    while True:
        await anyio.wait_readable(descriptor)
        with suppress(BlockingIOError):
            data = os.read(descriptor, _CHUNK)
            if not data:
                break
            output.add(data)
    at_end.set()


def _script(pipes: _Pipes, number: int) -> str:
    """What bash is told to do with the command, which is its first argument."""
    where = pipes.where_end
    prelude = _PRELUDE.format(
        number=number,
        ending=_ENDING.format(number=number),
        lifeline=pipes.lifeline_end,
        where=where,
        nine="" if where == 9 else f"exec 9>&{where} {where}>&-",
    )
    return f"{prelude}\n{_SCRIPT}"


async def _start(script: str, argument: bytes, cwd: str, environment: dict[str, str], pipes: _Pipes) -> Process:
    """Start bash. Raises ToolError."""
    try:
        return await anyio.open_process(
            [_bash(), "--noprofile", "--norc", "-p", "-c", script, "_", argument],
            stdin=subprocess.DEVNULL,
            stdout=pipes.output_end,
            stderr=pipes.output_end,
            cwd=cwd,
            env=environment,
            start_new_session=True,
            pass_fds=(pipes.where_end, pipes.lifeline_end),
        )
    except (OSError, ValueError) as error:
        raise _not_started(error, cwd) from None
    finally:
        pipes.close_ends()


def _not_started(error: Exception, cwd: str) -> ToolError:
    if not os.path.isdir(cwd):
        return ToolError(f"The command was not run: the working directory {cwd} is not there.")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    return ToolError(f"The command could not be started: {reason}.")


def _bash() -> str:
    """The bash of the application's own PATH. Raises ToolError when there is none."""
    found = shutil.which("bash")
    if found is None or not os.path.isabs(found):
        raise ToolError("The command could not be started: bash was not found on this machine.")
    return found


def _encoded(command: str) -> bytes:
    if "\0" in command:
        raise ToolError("The command holds a NUL character, which no command can; it was not run.")
    try:
        return command.encode()
    except UnicodeEncodeError:
        raise ToolError("The command holds a lone surrogate, which is no character; it was not run.") from None


def _directory(descriptor: int) -> str | None:
    """The directory that the shell handed back, if it is one."""
    try:
        said = os.read(descriptor, _CHUNK)
    except BlockingIOError:  # somebody still holds the other end and wrote nothing
        return None
    path = os.fsdecode(said.removesuffix(b"\n"))
    return path if os.path.isabs(path) and "\0" not in path and os.path.isdir(path) else None


@contextmanager
def _pipes() -> Iterator[_Pipes]:
    """The pipes; closes our ends. The shell's ends are closed when the shell is started."""
    output, output_end = os.pipe()
    where, where_end = os.pipe()
    lifeline_end, lifeline = os.pipe()
    try:
        os.set_blocking(output, False)
        os.set_blocking(where, False)
        yield _Pipes(
            output=output,
            output_end=output_end,
            where=where,
            where_end=where_end,
            lifeline=lifeline,
            lifeline_end=lifeline_end,
        )
    finally:
        for end in (output, where, lifeline):
            os.close(end)
