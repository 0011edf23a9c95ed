"""A question card with everything: previews beside the options, an open text, a number within limits, a note.

The agent is a script. At a terminal you fill the card in: on a wide one the preview stands beside the options.
Elsewhere the answers below are typed for you. Run it: `python samples/question_with_previews.py`
"""

import sys
import tempfile

import anyio

from agent_sdk import AgentOptions, AskUserQuestionConfig, InMemoryStore, UserMessage, query
from agent_sdk.terminal import TerminalApprover
from agent_sdk.testing import ScriptedModel

LIST = """\
* Dune
* Solaris
* Ubik"""
TABLE = """\
title   | year
--------+-----
Dune    | 1965
Solaris | 1961"""

CARD = {
    "questions": [
        {
            "question": "How shall the books be shown?",
            "header": "Layout",
            "multiSelect": False,
            "options": [
                {"label": "List", "description": "short and calm", "preview": LIST},
                {"label": "Table (Recommended)", "description": "can be sorted", "preview": TABLE},
            ],
        },
        {"question": "What shall the page be called?", "header": "Title", "kind": "text"},
        {"question": "How many books on one page?", "header": "Books", "kind": "number", "min": 1, "max": 50},
    ]
}
TYPED = [":note sort it by year", "1", "Our shelf", "100", "20"]


async def main() -> None:
    """Run the script, and print what the model reads and the application gets."""
    model = ScriptedModel([[{"type": "tool_use", "name": "AskUserQuestion", "input": CARD}], "I begin."])
    with tempfile.TemporaryFile("w+") as typed:
        typed.write("\n".join([*TYPED, ""]))
        typed.seek(0)
        options = AgentOptions(
            model=model,
            session_store=InMemoryStore(),
            can_use_tool=TerminalApprover(input=None if sys.stdin.isatty() else typed),
            questions=AskUserQuestionConfig(kinds=("choice", "text", "number"), preview_format="markdown"),
        )
        async for message in query("Make a page of our books.", options=options):
            match message:
                case UserMessage(content=[result], tool_use_result=value):
                    print("\nthe model reads:", result.content)
                    print("\nthe application gets:", value["answers"])


anyio.run(main)
