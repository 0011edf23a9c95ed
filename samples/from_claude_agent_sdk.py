"""A program written for the Claude Agent SDK. The import line is all that was changed; and the model is a script.

Run it: `python samples/from_claude_agent_sdk.py`
"""

import tempfile
from typing import Any

import anyio

from agent_sdk.compat import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    TextBlock,
    ToolPermissionContext,
    create_sdk_mcp_server,
    tool,
)
from agent_sdk.testing import ScriptedModel


def call(name: str, **tool_input: object) -> list[dict[str, Any]]:
    """A turn of the scripted model with one call."""
    return [{"type": "tool_use", "name": name, "input": tool_input}]


MODEL = ScriptedModel([call("mcp__calc__add", a=15, b=27), call("Bash", command="rm -rf /tmp/x"),
                       call("Bash", command="curl example.com"), call("Write", file_path="sum.txt", content="42"),
                       "The sum is 42."])  # fmt: skip


@tool("add", "Add two numbers", {"a": float, "b": float})
async def add(args: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"{args['a']} + {args['b']} = {args['a'] + args['b']}"}]}


async def no_network(input_data: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
    if not input_data["tool_input"]["command"].startswith("curl"):
        return {}
    reason = {"permissionDecision": "deny", "permissionDecisionReason": "No network here."}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **reason}}


async def callback(
    tool_name: str, tool_input: dict[str, Any], context: ToolPermissionContext
) -> PermissionResultAllow | PermissionResultDeny:
    print(f"asked about {tool_name} {tool_input}")
    if "rm -rf" in tool_input.get("command", ""):
        return PermissionResultDeny(message="Nothing is removed here.")
    return PermissionResultAllow(updated_permissions=context.suggestions)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        options = ClaudeAgentOptions(
            model=MODEL,
            cwd=folder,
            mcp_servers={"calc": create_sdk_mcp_server("calculator", tools=[add])},
            hooks={"PreToolUse": [HookMatcher(matcher="Bash", hooks=[no_network])]},
            can_use_tool=callback,
        )
        async with ClaudeSDKClient(options) as client:
            await client.query("Add 15 and 27, and keep the sum.")
            async for message in client.receive_response():
                match message:
                    case AssistantMessage(content=[TextBlock(text)]):
                        print("agent:", text)
                    case ResultMessage(permission_denials=denied):
                        print("did not run:", [call["tool_input"] for call in denied])


anyio.run(main)
