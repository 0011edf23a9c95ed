"""What a command line would run: the one door to both readings and to the best-effort split."""

from __future__ import annotations

from functools import lru_cache

from agent_sdk.rules.lexer import plain_script
from agent_sdk.rules.shell_flat import flat_script
from agent_sdk.rules.shell_nodes import Script, ShellReading
from agent_sdk.rules.shell_screen import MAX_CHARS, MAX_COMMANDS, join_lines, refusal
from agent_sdk.rules.shell_split import split_commands
from agent_sdk.rules.shell_tree import grammar_installed, read_tree

_NOTHING = Script(())


def read_command(command: str) -> ShellReading:
    """Reads a command line. Pure, cached for texts within the limits, and it never raises."""
    if len(command) > MAX_CHARS:
        return _read(command)
    return _cached(command)


@lru_cache(maxsize=128)
def _cached(command: str) -> ShellReading:
    return _read(command)


def _read(command: str) -> ShellReading:
    flat = flat_script(command) if grammar_installed() else None
    return full_reading(command) if flat is None else ShellReading(flat, _NOTHING, plain=True, text=command)


def full_reading(command: str) -> ShellReading:
    """The reading of the grammar, compared with the strict one. `read_command` agrees, and need not always ask them."""
    problem = refusal(command)
    joined = None if problem else join_lines(command)
    if problem is None and joined is None:
        problem = "a continued line together with a comment, a here-document or a substitution"
    if joined is None:
        return ShellReading(_NOTHING, split_commands(command), plain=False, not_understood=problem, text=command)
    script, problem = read_tree(joined)
    if problem is None and len(script.commands) > MAX_COMMANDS:
        problem = f"more than {MAX_COMMANDS} commands"
    lexed = plain_script(joined) if problem is None else None
    if lexed is not None and lexed != script.commands:
        problem = "two readings of it differ"
    if lexed is not None and problem is None:
        return ShellReading(script, _NOTHING, plain=True, text=command)
    return ShellReading(script, split_commands(command), plain=False, not_understood=problem, text=command)
