"""Test what an agent may do: scripted models and people, a table instead of a disk, no requests by accident."""

from agent_sdk.models.anthropic import forbid_model_requests
from agent_sdk.models.scripted import FunctionModel, ScriptedModel
from agent_sdk.rules.files import TableFiles
from agent_sdk.testing.approver import Asked, ScriptedApprover, Step, UnexpectedAsk, answers

__all__ = [
    "Asked",
    "FunctionModel",
    "ScriptedApprover",
    "ScriptedModel",
    "Step",
    "TableFiles",
    "UnexpectedAsk",
    "answers",
    "forbid_model_requests",
]
