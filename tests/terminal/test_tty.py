"""The plain prompt on a real terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

import pexpect
import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import sys, anyio
from agent_sdk.decisions import PermissionContext
from agent_sdk.terminal import TerminalApprover
async def main():
    approver = TerminalApprover()
    async def asked(command):
        context = PermissionContext(tool_use_id="t", session_id="s")
        print("DECISION", repr(await approver("Bash", {"command": command}, context)), flush=True)
    print("BUSY", flush=True)
    await anyio.sleep(0.6)
    print("AWAKE", flush=True)
    if "cancel" in sys.argv:
        with anyio.move_on_after(0.4):
            await asked("one")
    await asked("two")
anyio.run(main, backend=sys.argv[1])
"""


@pytest.fixture
def session(anyio_backend: str, request: pytest.FixtureRequest) -> Iterator[pexpect.spawn]:
    """A program with a prompt on a pseudo-terminal."""
    env = {**os.environ, "TERM": "dumb", "PYTHONPATH": os.getcwd()}
    arguments = ["-c", SCRIPT, anyio_backend, "cancel" if "cancelled" in request.node.name else ""]
    child = pexpect.spawn(sys.executable, arguments, env=env, timeout=20, encoding="utf-8")
    yield child
    child.close(force=True)


def test_keys_typed_before_the_prompt_do_not_approve(session: pexpect.spawn) -> None:
    """A person who hits 1 and Enter before the question is there has not said yes to it."""
    session.expect("BUSY")
    session.send("1\r1\r")
    session.expect("> ")
    time.sleep(0.2)
    session.sendline("3")
    session.expect(r"DECISION (\w+)")
    assert session.match[1] == "Deny"


def test_a_person_can_edit_the_command(session: pexpect.spawn) -> None:
    """On a terminal the line editing of the terminal itself works, and the edited command is handed back."""
    session.expect("> ")
    session.sendline("2")
    session.expect(r"\$ ")
    session.sendline("ls -x\x7fl")
    session.expect(r"DECISION (.*)\r")
    assert "'command': 'ls -l'" in session.match[1]


def test_the_end_of_the_input_denies(session: pexpect.spawn) -> None:
    """Ctrl-D is no answer."""
    session.expect("> ")
    session.sendeof()
    session.expect("the input ended: the call is denied")
    session.expect(r"DECISION (\w+)")
    assert session.match[1] == "Deny"


def test_a_cancelled_prompt_does_not_hand_its_line_on(session: pexpect.spawn) -> None:
    """What was half typed for a cancelled call is dropped; the next call is asked, and the terminal still works."""
    session.expect(r"\$ one")
    session.expect("> ")
    session.send("1")
    session.expect("no longer needed")
    session.expect(r"\$ two")
    session.expect("> ")
    session.sendline("3")
    session.expect(r"DECISION (\w+)")
    assert session.match[1] == "Deny"
    session.expect(pexpect.EOF)
