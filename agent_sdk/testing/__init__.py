"""Test what an agent may do: scripted models and people, a table instead of a disk, no requests by accident."""

from agent_sdk.models.anthropic import forbid_model_requests
from agent_sdk.models.scripted import FunctionModel, ScriptedModel
from agent_sdk.permissions.cases import PolicyCase, PolicyDifference, assert_policy, check_policy, load_policy_cases
from agent_sdk.permissions.replay import ReplayedCall, replay_policy
from agent_sdk.rules.files import TableFiles
from agent_sdk.testing.approver import Asked, ScriptedApprover, Step, UnexpectedAsk, answers
from agent_sdk.testing.store_contract import run_store_contract

__all__ = [
    "Asked",
    "FunctionModel",
    "PolicyCase",
    "PolicyDifference",
    "ReplayedCall",
    "ScriptedApprover",
    "ScriptedModel",
    "Step",
    "TableFiles",
    "UnexpectedAsk",
    "answers",
    "assert_policy",
    "check_policy",
    "forbid_model_requests",
    "load_policy_cases",
    "replay_policy",
    "run_store_contract",
]
