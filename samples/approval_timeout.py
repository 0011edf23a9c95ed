"""Nobody answers in time: a call is denied, a question stays open, and the agent goes on with what it knows.

The agent is a script, and the person never comes. Run it: `python samples/approval_timeout.py`
"""

import logging
from typing import Any

import anyio

from agent_sdk import (
    AgentOptions,
    Allow,
    AskUserQuestionConfig,
    InMemoryStore,
    PermissionContext,
    ResultMessage,
    UserMessage,
    query,
)
from agent_sdk.testing import ScriptedModel

OPTIONS = [{"label": "Tonight", "description": "less traffic"}, {"label": "Now", "description": "done sooner"}]
CARD = {"questions": [{"question": "When shall it go live?", "header": "When", "options": OPTIONS}]}
MODEL = ScriptedModel(
    [
        [{"type": "tool_use", "name": "Bash", "input": {"command": "./deploy.sh"}}],
        [{"type": "tool_use", "name": "AskUserQuestion", "input": CARD}],
        "I have prepared everything and deploy tonight, unless you say otherwise.",
    ]
)


async def decide(tool_name: str, tool_input: dict[str, Any], context: PermissionContext) -> Allow:
    """A person who is somewhere else. When the time is up this is cancelled, as a prompt on a screen would be."""
    assert context.deadline is not None
    print(f"{tool_name}: waiting for somebody until {context.deadline:%H:%M:%S}")
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        print(f"{tool_name}: the prompt is taken away")
        raise
    return Allow()


async def main() -> None:
    """Run the script, and print what the model reads."""
    logging.basicConfig(level=logging.ERROR)  # each time-out is a warning in the log as well
    options = AgentOptions(
        model=MODEL,
        can_use_tool=decide,
        session_store=InMemoryStore(),
        approval_timeout=0.3,  # on_timeout="defer" would park the call for somebody else
        questions=AskUserQuestionConfig(timeout=0.3, on_timeout="unanswered"),
    )
    async for message in query("Bring the new version live.", options=options):
        match message:
            case UserMessage(content=[result]):
                print("the model reads:", result.content)
            case ResultMessage(result=text):
                print("the run ended:", text)


anyio.run(main)
