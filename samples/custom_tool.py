"""Tools of an application: a read-only one, and one that needs a person above a limit.

The agent is a script. Run it: `python samples/custom_tool.py`
"""

from typing import Annotated, Any

import anyio

from agent_sdk import (
    AgentOptions,
    Allow,
    Deny,
    InMemoryStore,
    PermissionContext,
    ToolContext,
    ToolError,
    UserMessage,
    query,
    tool,
)
from agent_sdk.testing import ScriptedModel

BALANCE = {"Ada": 120, "Bob": 15}


@tool(read_only=True)
async def balance(name: Annotated[str, "first name of the customer"]) -> dict[str, int]:
    """The balance of a customer, in euros."""
    if name not in BALANCE:
        raise ToolError(f"There is no customer {name}. The customers are: {', '.join(BALANCE)}.")
    return {"euros": BALANCE[name]}


@tool(destructive=True, ask=lambda tool_input: tool_input["euros"] > 50)
async def refund(name: str, euros: int, context: ToolContext) -> str:
    """Pay money back to a customer.

    Args:
        name: first name of the customer
        euros: whole euros, at least 1
    """
    BALANCE[name] -= euros
    return f"paid {euros} euros back to {name} (key {context.idempotency_key.split(':')[-1]})"


async def decide(tool_name: str, tool_input: dict[str, Any], context: PermissionContext) -> Allow | Deny:
    """Not asked about small refunds, which the allow rule covers."""
    if tool_name == "balance":
        return Allow()
    print(f"a person is asked about {tool_name} {tool_input}: {context.decision_reason}")
    return Deny("At most 50 euros without a manager.")


def wants(tool_name: str, **tool_input: Any) -> list[dict[str, Any]]:
    """A turn of the scripted model that asks for one call."""
    return [{"type": "tool_use", "name": tool_name, "input": tool_input}]


MODEL = ScriptedModel(
    [
        *(wants("balance", name=name) for name in ("Eve", "Ada")),
        *(wants("refund", name="Ada", euros=euros) for euros in ("many", 100, 20)),
    ]
)


async def main() -> None:
    """Run the script and print what the model reads."""
    tools, store = [balance, refund], InMemoryStore()
    options = AgentOptions(model=MODEL, tools=tools, allow=["refund"], can_use_tool=decide, session_store=store)
    async for message in query("Ada wants her money back.", options=options):
        match message:
            case UserMessage(content=[result]):
                print("error: " if result.is_error else "result:", result.content)
    print("left:", BALANCE)


anyio.run(main)
