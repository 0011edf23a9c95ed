"""No person anywhere: hooks and rules decide everything, and whatever nobody decides does not run.

The agent is a script, the tools are real. Run it: `python samples/hooks_only.py`
"""

import tempfile
from typing import Any

import anyio

from agent_sdk import (
    AgentOptions,
    Allow,
    Deny,
    HookContext,
    HookMatcher,
    InMemoryStore,
    ResultMessage,
    UserMessage,
    query,
)
from agent_sdk.testing import ScriptedModel

COMMANDS = ["pip install requests", "sudo rm -rf /var/log", "echo hello", "curl https://example.com"]
MODEL = ScriptedModel(
    [[{"type": "tool_use", "name": "Bash", "input": {"command": command}}] for command in COMMANDS],
)


async def dry_runs(input_data: Any, tool_use_id: str | None, context: HookContext) -> Allow | None:
    """PreToolUse: what would install something only says what it would do. `None` is no opinion."""
    command = input_data["tool_input"]["command"]
    if command.startswith("pip install"):
        return Allow({"command": f"echo would run: {command}"})
    return None


async def no_sudo(input_data: Any, tool_use_id: str | None, context: HookContext) -> Deny | None:
    """PreToolUse: the reason is what the model reads."""
    return Deny("Work without sudo.") if "sudo" in input_data["tool_input"]["command"] else None


async def count(input_data: Any, tool_use_id: str | None, context: HookContext) -> dict[str, Any]:
    """PostToolUse: sees what ran, as it ran."""
    print("      ran:", input_data["tool_input"]["command"])
    return {}


async def main() -> None:
    """Run the script; print what ran and what the model reads."""
    with tempfile.TemporaryDirectory() as folder:
        options = AgentOptions(
            model=MODEL,
            cwd=folder,
            session_store=InMemoryStore(),
            allow=["Bash(echo:*)"],
            hooks={
                "PreToolUse": [HookMatcher("Bash", [dry_runs, no_sudo])],
                "PostToolUse": [HookMatcher("Bash", [count])],
            },
        )
        async for message in query("Set up the machine.", options=options):
            match message:
                case UserMessage(content=[result]):
                    print("the model:", str(result.content).strip())
                case ResultMessage(permission_denials=denials):
                    print(f"{len(denials)} of {len(COMMANDS)} calls did not run:")
                    for denial in denials:
                        print("  -", denial["tool_input"]["command"], "|", denial["reason"])


anyio.run(main)
