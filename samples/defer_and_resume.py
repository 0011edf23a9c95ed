"""Not now: two calls are parked, a third one runs at once; later the answers come, and the session goes on.

The agent is a script, the tools are real, the session is a file. Run it: `python samples/defer_and_resume.py`
"""

import tempfile
from pathlib import Path
from typing import Any

import anyio

from agent_sdk import (
    AgentOptions,
    Allow,
    Defer,
    Deny,
    Inbox,
    PermissionContext,
    ResultMessage,
    SQLiteStore,
    UserMessage,
    query,
)
from agent_sdk.testing import ScriptedModel

CALLS = ["echo one >> log.txt", "echo two >> log.txt", "echo three >> log.txt"]
MODEL = ScriptedModel(
    [[{"type": "tool_use", "name": "Bash", "input": {"command": command}} for command in CALLS], "I am done."]
)


async def decide(tool_name: str, tool_input: dict[str, Any], context: PermissionContext) -> Allow | Defer:
    """The third call is harmless; the other two wait for somebody else."""
    if "three" in tool_input["command"]:
        return Allow()
    return Defer("somebody from the night shift decides", expires_in=3600)


def log(folder: str) -> list[str]:
    """What the commands have written."""
    return Path(folder, "log.txt").read_text().split()


async def first_run(options: AgentOptions) -> str:
    """Run until calls are parked, and return the session's id."""
    session_id = ""
    async for message in query("Write the log.", options=options):
        if isinstance(message, ResultMessage):
            session_id = message.session_id
            print("the run ended:", message.terminal_reason)
    return session_id


async def main() -> None:
    """Park, answer, resume."""
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteStore(Path(folder, "sessions.sqlite"))
        options = AgentOptions(model=MODEL, can_use_tool=decide, cwd=folder, session_store=store)
        session_id = await first_run(options)
        print("in the log by now:", log(folder))

        one, two = await Inbox(store).pending(session_id)
        print("one says yes:", await Inbox(store).answer(session_id, one.tool_use_id, Allow(), by="Ada"))
        print("another one says no, too late:", await Inbox(store).answer(session_id, one.tool_use_id, Deny()))

        later = AgentOptions(model=MODEL, cwd=folder, session_store=store, resume=session_id)
        async for message in query(options=later, decisions={two.tool_use_id: Deny("Not tonight.")}):
            match message:
                case UserMessage(content=results):
                    print("the model reads:", [result.content for result in results])
                case ResultMessage(terminal_reason=reason, result=text):
                    print("the run ended:", reason, "-", text)
        print("in the log at the end:", log(folder))
        store.close()


anyio.run(main)
