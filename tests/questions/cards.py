"""Cards for the tests of this folder."""

from __future__ import annotations

from agent_sdk.questions import Question, QuestionOption


def asks(text: str, *labels: str, multi: bool = False, header: str = "Header") -> Question:
    """A question with these labels."""
    return Question(text, header, [QuestionOption(label, "d") for label in labels], multi)


DATABASE = asks("Which database?", "PostgreSQL", "SQLite", header="Database")
FEATURES = asks("Which features?", "Comments", "RSS", "Full text, fast", multi=True, header="Features")
DEPLOY = asks("Deploy where?", "Cloud", "Own server", header="Deploy")
CARD = (DATABASE, FEATURES, DEPLOY)
