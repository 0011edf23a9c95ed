"""pytest fixtures for programs that use this package. Loaded by pytest for everyone, so it imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import pytest

from agent_sdk.models.anthropic import forbid_model_requests as forbid
from agent_sdk.models.script import TurnScript
from agent_sdk.models.scripted import ScriptedModel
from agent_sdk.testing.approver import ScriptedApprover, Step
from agent_sdk.values import JsonObject

MakeApprover: TypeAlias = Callable[[Sequence[Step] | Mapping[str, Step | Sequence[Step]]], ScriptedApprover]
MakeModel: TypeAlias = Callable[[Sequence[TurnScript] | JsonObject], ScriptedModel]


@pytest.fixture
def scripted_model() -> MakeModel:
    """Makes models that play a script: `scripted_model([{"content": [...]}, ...])`."""
    return ScriptedModel


@pytest.fixture
def scripted_approver() -> Iterator[MakeApprover]:
    """Makes scripted approvers: `scripted_approver([Allow(), Deny("no")])`.

    At the end of the test each one must be done: left-over steps and unexpected calls fail the test.
    """
    made: list[ScriptedApprover] = []

    def make(script: Sequence[Step] | Mapping[str, Step | Sequence[Step]] = ()) -> ScriptedApprover:
        made.append(ScriptedApprover(script))
        return made[-1]

    yield make
    for approver in made:
        approver.assert_done()


@pytest.fixture
def forbid_model_requests() -> Iterator[None]:
    """During the test no request leaves this machine: a real model raises ModelError instead."""
    before = forbid(True)
    yield
    forbid(before)
