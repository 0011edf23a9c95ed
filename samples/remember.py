"""Remembering an approval: one answer, and the next calls of the same kind run without a question, today and later.

The agent is a script, the tools are real. Run it: `python samples/remember.py`
"""

import tempfile
from typing import Any

import anyio

from agent_sdk import AgentOptions, Allow, InMemoryStore, PermissionContext, PermissionPolicy, ResultMessage, query
from agent_sdk.testing import ScriptedModel


def wants(*commands: str) -> list[Any]:
    """A turn of the scripted model for each command."""
    return [[{"type": "tool_use", "name": "Bash", "input": {"command": command}}] for command in commands]


async def decide(tool_name: str, tool_input: dict[str, Any], context: PermissionContext) -> Allow:
    """Says yes, and looks at what could be remembered: the narrowest rule first."""
    command = tool_input["command"]
    rules = [f"{rule}" for update in context.suggestions for rule in update.rules]
    print(f"asked about {command!r}; could be remembered: {', '.join(rules) or 'nothing'}")
    if command == "ls":
        wider = [update for update in context.suggestions if update.rung == 1]
        return Allow(updated_permissions=wider)  # a wider rule is saved only by handing it back
    if command.startswith("echo"):
        return Allow(remember="local")  # the narrowest rule of each part, into .claude/settings.local.json
    return Allow()


async def run(folder: str, *commands: str) -> None:
    """One session in the folder."""
    model = ScriptedModel(wants(*commands))
    options = AgentOptions(model=model, can_use_tool=decide, cwd=folder, session_store=InMemoryStore())
    async for message in query("Go ahead.", options=options):
        if isinstance(message, ResultMessage):
            print(f"the run ended: {message.terminal_reason}")


async def main() -> None:
    """Two sessions in the same folder; the second one is asked about what is new only."""
    with tempfile.TemporaryDirectory() as folder:
        await run(folder, "ls", "ls -a", "echo built", "echo built")
        print(await anyio.Path(folder, ".claude", "settings.local.json").read_text())
        await run(folder, "echo built", "ls -l", "echo changed")
        policy = PermissionPolicy.load(cwd=folder)
        for command in ("echo built", "echo built > log.txt"):
            print(f"{command!r}: {policy.evaluate('Bash', {'command': command}).behavior}")


anyio.run(main)
