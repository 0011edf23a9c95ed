"""The agent asks, the application answers: a card of three questions, and what the model reads afterwards.

The agent is a script. Run it: `python samples/ask_user_question.py`
"""

from typing import Any

import anyio

from agent_sdk import AgentOptions, Allow, Deny, InMemoryStore, PermissionContext, UserMessage, query
from agent_sdk.questions import Answer, parse_answer
from agent_sdk.testing import ScriptedModel


def question(text: str, header: str, *labels: str, several: bool = False) -> dict[str, Any]:
    """A question as the model asks it."""
    options = [{"label": label, "description": f"use {label}"} for label in labels]
    return {"question": text, "header": header, "options": options, "multiSelect": several}


CARD = {
    "questions": [
        question("Which database?", "Database", "SQLite (Recommended)", "PostgreSQL"),
        question("Which reports?", "Reports", "Daily", "Weekly", "Yearly", several=True),
        question("Where does it run?", "Place", "Laptop", "Cloud"),
    ]
}
MODEL = ScriptedModel([[{"type": "tool_use", "name": "AskUserQuestion", "input": CARD}], "I know enough."])

TYPED = {"Database": "1", "Reports": "1,3", "Place": "on the old server in the cellar"}
"""What a person would type: a number, numbers, their own words."""


async def decide(tool_name: str, tool_input: dict[str, Any], context: PermissionContext) -> Allow | Deny:
    """A question reaches the same callback as every other call; its answers go back by question text."""
    if tool_name != "AskUserQuestion":
        return Deny("This sample only answers questions.")
    answers: dict[str, Any] = {}
    for asked in tool_input["questions"]:
        typed = TYPED[asked["header"]]
        print(f"[{asked['header']}] {asked['question']}  > {typed}")
        match parse_answer(typed, asked):
            case Answer(values):
                answers[asked["question"]] = list(values)
    return Allow({"questions": tool_input["questions"], "answers": answers})


async def main() -> None:
    """Run the script and print what the model and the application get."""
    options = AgentOptions(model=MODEL, can_use_tool=decide, session_store=InMemoryStore())
    async for message in query("Build a report service.", options=options):
        match message:
            case UserMessage(content=[result], tool_use_result=value):
                print("\nthe model reads:", result.content)
                print("\nthe application gets:", value["answers"], "unanswered:", value["unanswered"])


anyio.run(main)
