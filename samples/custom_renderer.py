"""Show your own tool your own way: what a call would do, in the words of the people who decide.

The agent is a script. At a terminal you decide; elsewhere the answers below are typed for you.
Run it: `python samples/custom_renderer.py`
"""

import sys
import tempfile
from typing import Any

import anyio

from agent_sdk import AgentOptions, InMemoryStore, UserMessage, query, tool
from agent_sdk.render import Card, Fields, Text, register
from agent_sdk.terminal import TerminalApprover
from agent_sdk.testing import ScriptedModel

PRICES = {"small": 20, "large": 900}
TYPED = ["1", "4", "Too dear. Take the small one."]


@tool(ask=True)
async def rent_server(size: str, months: int) -> str:
    """Rent a server.

    Args:
        size: `small` or `large`.
        months: for how long.
    """
    return f"rented: {size}, {months} months"


def rental(tool_input: dict[str, Any], cwd: str) -> Card:
    """The card of a rental: what it costs stands where nobody overlooks it. Text is made safe to print by itself."""
    total = PRICES[tool_input["size"]] * tool_input["months"]
    return Card(
        title=f"Rent a {tool_input['size']} server",
        summary=f"{total} euros in all",
        notices=("This is more than 1,000 euros.",) if total > 1_000 else (),
        body=(
            Fields((("size", tool_input["size"]), ("months", str(tool_input["months"])))),
            Text("It cannot be given back."),
        ),
    )


def wants(size: str, months: int) -> list[dict[str, Any]]:
    """A turn of the scripted model that wants a server."""
    return [{"type": "tool_use", "name": "rent_server", "input": {"size": size, "months": months}}]


async def main() -> None:
    """Run the script, and print what the model reads."""
    register("rent_server", rental)
    model = ScriptedModel([wants("small", 3), wants("large", 12), "Done."])
    with tempfile.TemporaryFile("w+") as typed:
        typed.write("\n".join([*TYPED, ""]))
        typed.seek(0)
        approver = TerminalApprover(input=None if sys.stdin.isatty() else typed)
        options = AgentOptions(model=model, tools=[rent_server], can_use_tool=approver, session_store=InMemoryStore())
        async for message in query("We need servers.", options=options):
            match message:
                case UserMessage(content=[result]):
                    print("the model reads:", result.content)


anyio.run(main)
