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
    Step,
    Steps,
    Text,
)
from agent_sdk.render.rules import place_in_words, rule_in_words
from agent_sdk.render.text import shorten, visible
from agent_sdk.render.tools import Renderer, has_renderer, mark_steps, register, render_call

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
    "Step",
    "Steps",
    "Text",
    "has_renderer",
    "mark_steps",
    "place_in_words",
    "register",
    "render_call",
    "rule_in_words",
    "shorten",
    "visible",
]
