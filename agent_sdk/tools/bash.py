"""The Bash tool: a command line in a fresh shell."""

from __future__ import annotations

import os

from agent_sdk.calls import ToolResult
from agent_sdk.errors import ToolError
from agent_sdk.tools.base import Tool, ToolContext
from agent_sdk.tools.process import ShellResult, run_shell
from agent_sdk.tools.schema import compile_check
from agent_sdk.values import JsonObject

DEFAULT_TIMEOUT_MS = 120_000
MAX_TIMEOUT_MS = 600_000

_DESCRIPTION = """Run a command line with bash and read what it prints.

Every call is a new shell: variables, functions and aliases are gone afterwards, and a `cd` counts from your next
message on. There is no keyboard: stdin is empty. Background processes are ended with the call; what a daemon or
another user runs on its behalf is not. Output over 30,000 characters is cut in the middle. Use Read, Write, Edit, Glob
and Grep for files where they do the job."""

_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "minLength": 1, "description": "The command line."},
        "timeout": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_TIMEOUT_MS,
            "description": f"The time limit in milliseconds; {DEFAULT_TIMEOUT_MS} when not given.",
        },
        "description": {"type": "string", "description": "What the command does, in a few words, for the person."},
    },
    "required": ["command"],
    "additionalProperties": False,
}


async def _run(tool_input: JsonObject, context: ToolContext) -> ToolResult:
    match tool_input:
        case {"command": str(command), "timeout": int() | float() as limit}:
            seconds = limit / 1000
        case {"command": str(command)}:
            seconds = DEFAULT_TIMEOUT_MS / 1000
        case _:
            return ToolResult("Bash takes a command, which is a string.", is_error=True)
    try:
        result = await run_shell(command, cwd=context.cwd, timeout=seconds, env=context.env)
    except ToolError as error:
        return ToolResult(str(error), is_error=True)
    context.new_cwd = _moved(result.cwd, context.cwd)
    return _told(result, seconds)


def _moved(ended_in: str | None, began_in: str) -> str | None:
    """The directory to go on in, if it is another one."""
    return None if ended_in == os.path.realpath(began_in) else ended_in


def _told(result: ShellResult, seconds: float) -> ToolResult:
    output = result.output.rstrip("\n")
    match result.exit_code:
        case 0:
            return ToolResult(output or "The command ended well and printed nothing.")
        case None:
            end = f"The command did not end within {seconds:g} seconds and was stopped, with what it had started."
        case code if code < 0:
            end = f"The shell was ended by signal {-code}."
        case code:
            end = f"exit code {code}"
    return ToolResult(f"{output}\n{end}" if output else end, is_error=True)


BASH = Tool(
    name="Bash",
    description=_DESCRIPTION,
    input_schema=_SCHEMA,
    run=_run,
    check=compile_check(_SCHEMA),
    destructive=True,
)
"""Runs `command` in a fresh bash (`process.py`); hands a changed working directory to `ToolContext.new_cwd`."""
