"""One renderer per tool: from a call to the card that a person reads before saying yes.

Nothing of the input is left out: fields that a renderer does not know are listed as they are.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from agent_sdk.decisions import PermissionUpdate
from agent_sdk.questions.schema import Question, as_questions, display_header, range_words, recommended_first
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
from agent_sdk.render.diff import Absent, Unreadable, current_text, diff_of
from agent_sdk.render.rules import suggestion_lines
from agent_sdk.render.shell import take_apart
from agent_sdk.render.text import visible
from agent_sdk.values import Json, JsonObject

MAX_VALUE = 20_000
"""Characters of one field that a card shows; the card says how many more there are."""

Renderer: TypeAlias = Callable[[JsonObject, str], Card]
"""Takes the input and the absolute working directory. Maybe called in a worker thread, for it may read files.

When it raises, the call is shown as plain JSON.
"""

_log = logging.getLogger("agent_sdk.render")
_renderers: dict[str, Renderer] = {}


def register(tool_name: str, renderer: Renderer) -> None:
    """Show calls of `tool_name` with `renderer` from now on, in this process. The last registration counts."""
    _renderers[tool_name] = renderer


def has_renderer(tool_name: str) -> bool:
    """True when calls of this tool are shown by a renderer of its own, not as plain JSON."""
    return tool_name in _renderers


def render_call(
    tool_name: str, tool_input: JsonObject, *, cwd: str = ".", suggestions: Sequence[PermissionUpdate] = ()
) -> Card:
    """The card for one call. `cwd` is where it would run; relative paths in the input start there. `suggestions` are
    the rules that could be remembered for it: the card tells them in words.

    May read the file that an Edit or Write names; changes nothing and raises nothing for a bad input.
    """
    card = _rendered(tool_name, tool_input, cwd)
    rules = tuple(line for update in suggestions for line in suggestion_lines(update))
    return replace(card, rules=rules) if rules else card


def mark_steps(card: Card, asks: Callable[[str], bool | None]) -> Card:
    """The card with each command of a command line marked: does it need approval by itself? `asks` tells, by its text
    as the card shows it. A card without such steps stays as it is.
    """
    if not any(isinstance(part, Steps) for part in card.body):
        return card
    body = tuple(
        Steps(tuple(replace(step, asks=asks(step.text)) for step in part.steps)) if isinstance(part, Steps) else part
        for part in card.body
    )
    return replace(card, body=body)


def _rendered(tool_name: str, tool_input: JsonObject, cwd: str) -> Card:
    renderer = _renderers.get(tool_name)
    if renderer is None and tool_name.startswith("mcp__"):
        renderer = _mcp(tool_name)
    if renderer is not None:
        try:
            return renderer(tool_input, os.path.abspath(cwd))
        except Exception:
            _log.debug("The renderer of %r failed; the call is shown as JSON", tool_name, exc_info=True)
    return _plain(tool_name, tool_input)


def _plain(tool_name: str, tool_input: JsonObject) -> Card:
    text, notices = _cut(_pretty(tool_input))
    return Card(title=tool_name, body=(Text(text),), notices=notices)


def _bash(tool_input: JsonObject, cwd: str) -> Card:
    command = _str(tool_input, "command")
    pairs = []
    if description := _str(tool_input, "description", ""):
        pairs.append(("described by the agent as", description))
    if (timeout := tool_input.get("timeout")) is not None:
        pairs.append(("time limit", f"{timeout} ms"))
    rest = _rest(tool_input, "command", "description", "timeout")
    notices = tuple(words for pattern, words in _SHELL_NOTICES if pattern.search(command))
    if visible(command) != command:
        notices += ("The command holds characters that cannot be seen; they are spelt out.",)
    apart = take_apart(command)
    if apart is not None:
        pairs += [("writes to", target) for target in apart.writes]
        pairs += [("reads from", target) for target in apart.reads]
    body: tuple[Part, ...] = (Command(command),)
    if pairs:
        body += (Fields(tuple(pairs)),)
    if apart is not None and len(apart.steps) > 1:
        body += (Steps(tuple(map(Step, apart.steps))),)
    elif apart is None:
        notices += ("It was not taken apart into its commands: read all of it.",)
    return Card(title="Bash: run a command", summary=f"in {cwd}", body=body + rest, notices=notices)


_SHELL_NOTICES = (
    (re.compile(r"\n"), "The command has several lines."),
    (re.compile(r">(?!&\d|\s*/dev/null\b)"), "It may write to a file: it holds '>'."),
    (re.compile(r"(?<![\w./-])(?:sudo|doas|su)(?![\w.-])"), "It may run with another user's rights."),
)


def _write(tool_input: JsonObject, cwd: str) -> Card:
    path, new = _str(tool_input, "file_path"), _str(tool_input, "content")
    target = os.path.join(cwd, path)
    notices = _links(target)
    match current_text(target):
        case Absent():
            title = "Write: create a file"
            body: tuple[Part, ...] = (diff_of("", new, label=path) if new else Text("The new file is empty."),)
        case Unreadable(why):
            title = "Write: replace a file"
            body = (Text(f"The file {why}. All of it would be replaced by:"), diff_of("", new, label=path))
        case str(old):
            title = "Write: replace a file"
            body = (diff_of(old, new, label=path),)
    rest = _rest(tool_input, "file_path", "content")
    return Card(title=title, summary=path, body=body + rest, notices=notices + _left_out(body))


def _edit(tool_input: JsonObject, cwd: str) -> Card:
    path = _str(tool_input, "file_path")
    old, new = _str(tool_input, "old_string"), _str(tool_input, "new_string")
    everywhere = tool_input.get("replace_all") is True
    target = os.path.join(cwd, path)
    notices = _links(target)
    part: Part
    match current_text(target):
        case str(text) if old and (count := text.count(old)):
            part = diff_of(text, text.replace(old, new) if everywhere else text.replace(old, new, 1), label=path)
            if everywhere:
                notices += (f"Every occurrence is replaced: {count}.",)
            elif count > 1:
                notices += (f"The text to replace occurs {count} times: the edit would fail.",)
        case str():
            part = _fragment(old, new, path)
            notices += ("The text to replace does not occur in the file: the edit would fail.",)
        case Absent():
            part = _fragment(old, new, path)
            notices += ("There is no such file.",)
        case Unreadable(why):
            part = _fragment(old, new, path)
            notices += (f"The file {why}; only the replaced text is shown.",)
    rest = _rest(tool_input, "file_path", "old_string", "new_string", "replace_all")
    return Card(title="Edit: change a file", summary=path, body=(part, *rest), notices=notices + _left_out((part,)))


def _fragment(old: str, new: str, path: str) -> Part:
    """The replaced text alone, when there is no file text to place it in."""
    return diff_of(old.removesuffix("\n") + "\n", new.removesuffix("\n") + "\n", label=path)


def _links(target: str) -> tuple[str, ...]:
    plain, real = os.path.abspath(target), os.path.realpath(target)
    return () if plain == real else (f"The path goes through a link; the file itself is {real}",)


def _left_out(parts: tuple[Part, ...]) -> tuple[str, ...]:
    return tuple(
        f"The change is long: {part.left_out:,} more lines are not shown."
        for part in parts
        if isinstance(part, Diff) and part.left_out
    )


def _fields(title: str, subject: str) -> Renderer:
    """A renderer for tools whose input is a handful of short values; `subject` names the one in the headline."""

    def render(tool_input: JsonObject, cwd: str) -> Card:
        summary = _str(tool_input, subject, "")
        rest, notices = _listed({name: value for name, value in tool_input.items() if name != subject})
        return Card(title=title, summary=summary, body=rest, notices=notices)

    return render


def _mcp(tool_name: str) -> Renderer:
    server, _, tool = tool_name.removeprefix("mcp__").partition("__")

    def render(tool_input: JsonObject, cwd: str) -> Card:
        arguments, notices = _listed(tool_input)
        if not arguments:
            arguments = (Text("No arguments."),)
        title = f"MCP tool {tool or '(unnamed)'} of the server {server}"
        return Card(title=title, summary=tool_name, body=arguments, notices=notices)

    return render


def _agent(tool_input: JsonObject, cwd: str) -> Card:
    summary = _str(tool_input, "description", "")
    prompt, notices = _cut(_str(tool_input, "prompt"), "prompt")
    kind = _str(tool_input, "subagent_type", "")
    body: tuple[Part, ...] = (Fields((("kind", kind),)),) if kind else ()
    rest = _rest(tool_input, "description", "prompt", "subagent_type")
    return Card(title="Agent: start a sub-agent", summary=summary, body=(*body, Text(prompt), *rest), notices=notices)


def _ask(tool_input: JsonObject, cwd: str) -> Card:
    shown = tuple(_shown(recommended_first(question)) for question in as_questions(tool_input))
    count = "1 question" if len(shown) == 1 else f"{len(shown)} questions"
    return Card(title="The agent asks", summary=count, body=(Questions(shown),))


def _shown(question: Question) -> ShownQuestion:
    return ShownQuestion(
        header=display_header(question.header),
        question=question.question,
        options=tuple(
            ShownOption(
                label=option.label,
                description=option.description,
                preview=None if question.multi_select else option.preview,
            )
            for option in question.options
        ),
        multi_select=question.multi_select,
        hint={"choice": "", "text": "write your answer", "number": range_words(question)}[question.kind],
    )


def _rest(tool_input: JsonObject, *known: str) -> tuple[Part, ...]:
    fields, _ = _listed({name: value for name, value in tool_input.items() if name not in known}, limit=None)
    return fields


def _listed(values: JsonObject, *, limit: int | None = MAX_VALUE) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    pairs: list[tuple[str, str]] = []
    notices: list[str] = []
    for name, value in values.items():
        text, cut = _cut(value if isinstance(value, str) else _pretty(value), name, limit)
        pairs.append((name, text))
        notices += cut
    return (Fields(tuple(pairs)),) if pairs else (), tuple(notices)


def _cut(text: str, name: str = "The input", limit: int | None = MAX_VALUE) -> tuple[str, tuple[str, ...]]:
    if limit is None or len(text) <= limit:
        return text, ()
    return text[:limit] + "…", (f"{name} is long: {len(text) - limit:,} more characters are not shown.",)


def _pretty(value: Json) -> str:
    line = json.dumps(value, ensure_ascii=False)
    return line if len(line) <= 100 else json.dumps(value, ensure_ascii=False, indent=2)


def _str(tool_input: JsonObject, name: str, default: str | None = None) -> str:
    value = tool_input.get(name, default)
    if not isinstance(value, str):
        raise TypeError(f"{name} is not text")
    return value


register("Agent", _agent)
register("AskUserQuestion", _ask)
register("Bash", _bash)
register("Edit", _edit)
register("Glob", _fields("Glob: list files", "pattern"))
register("Grep", _fields("Grep: search in files", "pattern"))
register("Read", _fields("Read: read a file", "file_path"))
register("WebFetch", _fields("WebFetch: fetch a page", "url"))
register("Write", _write)
