"""Show what a call would do: one renderer per tool, a card as the result, text that is safe to print."""

from agent_sdk.render.card import (
    Card,
    Command,
    Diff,
    Fields,
    Part,
    Questions,
    ShownOption,
    ShownQuestion,
    Text,
)
from agent_sdk.render.text import shorten, visible
from agent_sdk.render.tools import Renderer, has_renderer, register, render_call

__all__ = [
    "Card",
    "Command",
    "Diff",
    "Fields",
    "Part",
    "Questions",
    "Renderer",
    "ShownOption",
    "ShownQuestion",
    "Text",
    "has_renderer",
    "register",
    "render_call",
    "shorten",
    "visible",
]
