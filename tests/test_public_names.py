"""The public names: each is exported, typed, documented, and loaded when it is first used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

import agent_sdk

SOURCE = Path(agent_sdk.__file__).read_text()


def test_the_three_lists_of_names_agree() -> None:
    """What type checkers see, what `__all__` says and what is loaded on demand are the same names, sorted."""
    typed = {
        alias.name
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("agent_sdk.")
        for alias in node.names
    }
    assert typed == set(agent_sdk._HOMES) == set(agent_sdk.__all__)
    assert dir(agent_sdk) == agent_sdk.__all__ == sorted(agent_sdk.__all__)


@pytest.mark.parametrize("name", agent_sdk.__all__)
def test_every_public_class_and_function_says_what_it_is_for(name: str) -> None:
    """Everything that is exported has a docstring of its own (type aliases have none)."""
    value = getattr(agent_sdk, name)
    if isinstance(value, type | FunctionType):
        assert (value.__doc__ or "").strip()


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A misspelt name is told as such."""
    with pytest.raises(AttributeError, match="AgentOption'"):
        _ = agent_sdk.AgentOption


def test_a_bare_import_loads_no_third_party_package() -> None:
    """`import agent_sdk` alone loads neither pydantic nor anyio."""
    code = "import sys, agent_sdk; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"pydantic", "anyio", "anthropic"}.isdisjoint(loaded)
