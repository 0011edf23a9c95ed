"""What the agent asks a person, what comes back, and what the model reads of it."""

from agent_sdk.questions.answers import Answers, Reply, read_answers
from agent_sdk.questions.form import QuestionForm
from agent_sdk.questions.schema import AskUserQuestionInput, Question, QuestionOption
from agent_sdk.questions.typed import Answer, Invalid, Skip, parse_answer
from agent_sdk.questions.wording import format_answers

__all__ = [
    "Answer",
    "Answers",
    "AskUserQuestionInput",
    "Invalid",
    "Question",
    "QuestionForm",
    "QuestionOption",
    "Reply",
    "Skip",
    "format_answers",
    "parse_answer",
    "read_answers",
]
