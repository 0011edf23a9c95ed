"""What the model is told of asking: the tool's description, its input schema, one sentence for the system prompt.

These words are the only manual that the model has, so they say when to ask and when not to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agent_sdk.questions.schema import OPTION_LIMITS, QUESTION_LIMITS
from agent_sdk.values import Json, JsonObject

SYSTEM_SENTENCE = (
    "Ask the user a question only if the answer changes what you do; otherwise decide yourself "
    "and say what you assumed."
)
"""Goes into the system prompt when the tool is offered and the application gave no prompt of its own."""

DESCRIPTION = """\
Ask the person 1 to 4 multiple-choice questions and wait for the answers.

Use it when a decision is really the person's to make and neither the request, nor the code, nor a sensible default
settles it: the technology to use, the scope of a first version, a name, one trade-off against another. What you can
find out yourself, find out.

- Put every open question into a single call; do not come back with one at a time.
- Give each option one line on what it means or what follows from it.
- Put the option that you recommend first and end its label with "(Recommended)".
- Leave out an "Other" option: the person can always answer in their own words, skip a question, or reply to the whole.
- If the person wants to be asked more, call the tool again.

Never use it to get permission to go on, nor to have a plan confirmed that you could simply carry out. A question that
is reported as not answered is open: it is neither a yes nor a choice of the recommended option."""

_PREVIEW = (
    "Optional {format} shown next to the option while the person looks at it: a sketch of a layout, a piece of code, "
    "anything that is easier to compare than to describe. Single-select questions only."
)
_KIND = (
    "choice: the person picks from options. text and number: they write it themselves, for what no list of options "
    "can offer; without options and multiSelect."
)
_FORMATS = {
    "markdown": "Markdown",
    "html": "HTML (a fragment: no <script>, <style>, <html>, event handlers or javascript: URLs)",
}


def input_schema(
    *, preview: Literal["markdown", "html"] | None = None, kinds: Sequence[str] = ("choice",)
) -> JsonObject:
    """The JSON schema that the model is given. `preview` tells it of the options' previews; without it they are not
    mentioned, though still accepted. `kinds` are the kinds of questions it may ask; one alone is not mentioned. The
    fields of the person's part are never offered.
    """
    return _closed(
        {
            "questions": {
                "type": "array",
                "minItems": QUESTION_LIMITS[0],
                "maxItems": QUESTION_LIMITS[1],
                "items": _question(preview, kinds),
                "description": "All the questions that are open now, each one different.",
            },
            "metadata": {
                "type": "object",
                "properties": {"source": {"type": "string", "description": "What made you ask, as a short tag."}},
                "description": "Not shown to the person.",
            },
        },
        required=["questions"],
    )


def _question(preview: Literal["markdown", "html"] | None, kinds: Sequence[str]) -> JsonObject:
    fields: dict[str, Json] = {
        "question": {
            "type": "string",
            "description": "The whole question, clear without further reading, ending with a question mark.",
        },
        "header": {
            "type": "string",
            "description": 'A tag for the question, at most 12 characters: "Database", "Scope", "Auth".',
        },
    }
    if len(kinds) > 1 or "choice" not in kinds:
        fields["kind"] = {"type": "string", "enum": list(kinds), "default": "choice", "description": _KIND}
    if "number" in kinds:
        fields["min"] = {"type": "number", "description": "The smallest number that will do. Kind number only."}
        fields["max"] = {"type": "number", "description": "The largest number that will do. Kind number only."}
    if "choice" not in kinds:
        return _closed(fields, required=["question", "header", "kind"])
    fields["options"] = {
        "type": "array",
        "minItems": OPTION_LIMITS[0],
        "maxItems": OPTION_LIMITS[1],
        "items": _option(preview),
        "description": "2 to 4 real alternatives with different labels. The recommended one first, no "
        '"Other". Unless multiSelect is true they exclude each other.',
    }
    fields["multiSelect"] = {
        "type": "boolean",
        "default": False,
        "description": "True when several options may be chosen together.",
    }
    return _closed(fields, required=["question", "header", "options"] if len(kinds) == 1 else ["question", "header"])


def _option(preview: Literal["markdown", "html"] | None) -> JsonObject:
    fields: dict[str, Json] = {
        "label": {"type": "string", "description": "1 to 5 words that name the choice."},
        "description": {"type": "string", "description": "One line: what it means, what it costs, what follows."},
    }
    if preview is not None:
        description = _PREVIEW.format(format=_FORMATS[preview])
        fields["preview"] = {"type": "string", "description": description}
    return _closed(fields, required=["label", "description"])


def _closed(properties: JsonObject, *, required: list[str]) -> JsonObject:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
