"""The five answers of a permission callback: yes, yes with changes, no, no with a better way, not now.

The agent is a script, the tools are real. Run it: `python samples/approve_in_code.py`
"""

import tempfile
from typing import Any

import anyio

from agent_sdk import (
    AgentOptions,
    Allow,
    Defer,
    Deny,
    InMemoryStore,
    PermissionContext,
    ResultMessage,
    UserMessage,
    query,
)
from agent_sdk.testing import ScriptedModel


def wants(*calls: tuple[str, dict[str, str]]) -> dict[str, Any]:
    """A turn of the scripted model that asks for these calls."""
    return {"content": [{"type": "tool_use", "name": name, "input": tool_input} for name, tool_input in calls]}


MODEL = ScriptedModel(
    [
        wants(("Write", {"file_path": "notes.txt", "content": "buy milk\n"})),
        wants(("Bash", {"command": "cat notes.txt > /tmp/notes-for-everyone.txt"})),
        wants(("Bash", {"command": "rm notes.txt"})),
        wants(("Bash", {"command": "mv notes.txt notes.old && ls"})),
        wants(("Bash", {"command": "git push"})),
    ]
)


async def decide(tool_name: str, tool_input: dict[str, Any], context: PermissionContext) -> Allow | Deny | Defer:
    """Called whenever neither a hook nor a rule nor the mode has settled a call."""
    match tool_name, tool_input:
        case "Bash", {"command": str(command)} if "/tmp/" in command:
            return Allow({**tool_input, "command": command.replace("/tmp/", "./")}, note="I changed the folder.")
        case "Bash", {"command": str(command)} if command.startswith("rm"):
            return Deny("Nothing is removed here. Rename it to notes.old instead.")
        case "Bash", {"command": "git push"}:
            return Defer("the owner of the repository is asleep")
        case ("Write", _) | ("Bash", _):
            return Allow(by="decide")
        case _:
            return Deny()


async def main() -> None:
    """Run the script and print what came of each call."""
    with tempfile.TemporaryDirectory() as folder:
        options = AgentOptions(model=MODEL, can_use_tool=decide, cwd=folder, session_store=InMemoryStore())
        async for message in query("Tidy up the notes.", options=options):
            match message:
                case UserMessage(content=[result]):
                    print("the model reads:", result.content)
                case ResultMessage(terminal_reason=reason, deferred_tool_uses=waiting):
                    print(f"the run ended: {reason}; waiting for an answer: {[use.input for use in waiting]}")


anyio.run(main)
