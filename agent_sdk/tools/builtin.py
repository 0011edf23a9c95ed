"""The built-in tools by name, as far as they need no configuration."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from agent_sdk.tools.base import Tool
from agent_sdk.tools.bash import BASH
from agent_sdk.tools.files import EDIT, WRITE
from agent_sdk.tools.read import READ
from agent_sdk.tools.search import GLOB, GREP

BUILTIN_TOOLS: Mapping[str, Tool] = MappingProxyType(
    {tool.name: tool for tool in (BASH, READ, WRITE, EDIT, GLOB, GREP)}
)
"""In the order in which the model is told of them."""
