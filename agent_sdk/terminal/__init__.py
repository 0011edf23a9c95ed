"""Ask the person at the terminal, in plain numbered lines."""

from agent_sdk.terminal.console import Console, InputEnded
from agent_sdk.terminal.lines import LineReader, LineTooLong
from agent_sdk.terminal.menu import Choice
from agent_sdk.terminal.plain import TerminalApprover

__all__ = ["Choice", "Console", "InputEnded", "LineReader", "LineTooLong", "TerminalApprover"]
