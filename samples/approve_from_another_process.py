"""Three processes: one parks a call and ends, one answers it, one resumes the session.

Only the file with the sessions connects them. Run it: `python samples/approve_from_another_process.py`
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio

from agent_sdk import (
    AgentOptions,
    Allow,
    Defer,
    Inbox,
    PermissionContext,
    ResultMessage,
    SQLiteStore,
    list_sessions,
    query,
)
from agent_sdk.testing import ScriptedModel

MODEL = ScriptedModel(
    [[{"type": "tool_use", "name": "Bash", "input": {"command": "echo released > release.txt"}}], "It is out."]
)


async def not_me(tool_name: str, tool_input: dict[str, Any], context: PermissionContext) -> Defer:
    """Releases are decided by somebody else."""
    return Defer("a release needs the owner")


async def agent(folder: Path) -> None:
    """The first process: runs until the call is parked. Nothing of it stays behind but the file."""
    options = AgentOptions(
        model=MODEL, can_use_tool=not_me, cwd=folder, session_store=SQLiteStore(folder / "sessions.sqlite")
    )
    async for message in query("Release it.", options=options):
        if isinstance(message, ResultMessage):
            print("agent:", message.terminal_reason)


async def owner(folder: Path) -> None:
    """The second process: looks at what waits, changes it a little, and says yes.

    The store of this sample holds one session. In a store with more of them, ask for `pending(session_id)`.
    """
    inbox = Inbox(SQLiteStore(folder / "sessions.sqlite"))
    for call in await inbox.pending():
        print("owner sees:", call.tool_name, call.tool_input["command"], "-", call.reason)
        changed = {**call.tool_input, "command": "echo released by the owner > release.txt"}
        taken = await inbox.answer(call.session_id, call.tool_use_id, Allow(changed), by="owner", digest=call.digest)
        print("owner: answered,", "and it counts" if taken else "but too late")


async def worker(folder: Path) -> None:
    """The third process: the session goes on where it stood."""
    store = SQLiteStore(folder / "sessions.sqlite")
    (session,) = await list_sessions(store=store)
    options = AgentOptions(model=MODEL, cwd=folder, session_store=store, resume=session["session_id"])
    async for message in query(options=options):
        if isinstance(message, ResultMessage):
            print("worker:", message.terminal_reason, "-", message.result)


if len(sys.argv) == 3:
    anyio.run({"agent": agent, "owner": owner, "worker": worker}[sys.argv[1]], Path(sys.argv[2]))
else:
    with tempfile.TemporaryDirectory() as folder:
        for role in ("agent", "owner", "worker"):
            subprocess.run([sys.executable, __file__, role, folder], check=True)
        print("the file says:", Path(folder, "release.txt").read_text().strip())
