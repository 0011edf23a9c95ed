"""Ask the person at the terminal: a card with a cursor where it can be drawn, plain numbered lines elsewhere."""

from agent_sdk.terminal.approver import TerminalApprover
from agent_sdk.terminal.console import Console, InputEnded
from agent_sdk.terminal.lines import LineReader, LineTooLong

__all__ = ["Console", "InputEnded", "LineReader", "LineTooLong", "TerminalApprover"]
