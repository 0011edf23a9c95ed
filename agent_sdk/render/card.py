"""What a call would do, as a value. Terminals and web pages only draw it.

All text inside a card has gone through `visible`: whoever draws one cannot forget it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from agent_sdk.render.text import visible


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, whole, as it would be handed to the shell."""

    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", visible(self.text))


@dataclass(frozen=True, slots=True)
class Diff:
    """Lines of a unified diff, without their line ends. `left_out` is how many more there are."""

    lines: tuple[str, ...]
    left_out: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", tuple(visible(line, keep_newlines=False) for line in self.lines))


@dataclass(frozen=True, slots=True)
class Fields:
    """Names and values, in the order of the input. A value may have several lines."""

    pairs: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        pairs = tuple((visible(name, keep_newlines=False), visible(value)) for name, value in self.pairs)
        object.__setattr__(self, "pairs", pairs)


@dataclass(frozen=True, slots=True)
class Text:
    """Plain words, one or more lines."""

    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", visible(self.text))


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a command line. `asks` tells whether it needs approval by itself; `None` = not known."""

    text: str
    asks: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", visible(self.text, keep_newlines=False))


@dataclass(frozen=True, slots=True)
class Steps:
    """The commands of a command line, in their order. The line itself is in a `Command`."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOption:
    """One option of a question, as it is shown. `preview` may have several lines."""

    label: str
    description: str = ""
    preview: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", visible(self.label, keep_newlines=False))
        object.__setattr__(self, "description", visible(self.description, keep_newlines=False))
        if self.preview is not None:
            object.__setattr__(self, "preview", visible(self.preview))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownQuestion:
    """One question, as it is shown. Answers are keyed by the text of the input, not by this one. `hint` tells what to
    type where there are no options.
    """

    header: str
    question: str
    options: tuple[ShownOption, ...] = ()
    multi_select: bool = False
    hint: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "header", visible(self.header, keep_newlines=False))
        object.__setattr__(self, "question", visible(self.question))


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions of one call, in their order."""

    questions: tuple[ShownQuestion, ...]


Part: TypeAlias = Command | Steps | Diff | Fields | Text | Questions


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One call. `title` and `summary` are one line each; `notices` are one-line warnings that belong above the rest.

    `rules` are the rules that could be remembered for the call, one line each, in words.
    """

    title: str
    summary: str = ""
    body: tuple[Part, ...] = ()
    notices: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", visible(self.title, keep_newlines=False))
        object.__setattr__(self, "summary", visible(self.summary, keep_newlines=False))
        object.__setattr__(self, "notices", tuple(visible(text, keep_newlines=False) for text in self.notices))
        object.__setattr__(self, "rules", tuple(visible(text, keep_newlines=False) for text in self.rules))
