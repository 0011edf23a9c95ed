"""Random bash from a grammar: a table of weighted templates, expanded with a seeded source of chance.

A template holds names in guillemets: `‹pipe›` is expanded, `‹q:list›` is expanded and quoted to one word, `‹d:list›`
likewise but escaped for double quotes, `‹n:ok›` is the program name `ok` in some spelling. Everything else is text.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Template: TypeAlias = Sequence[str | tuple[str, str]]
"""Text, and slots as (how it is written, name)."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The templates of one name with their weights; `flat` are those without a slot, the way out of the depth."""

    weights: list[int]
    templates: list[Template]
    flat: list[Template]


Table: TypeAlias = Mapping[str, Rows]

_SLOT = re.compile("‹(?:([a-z]):)?([a-z-]+)›")
_MARKS = str.maketrans({"⏎": "\n", "⇥": "\t", "␍": "\r"})
_MAX_DEPTH = 14
_MAX_SIZE = 1_500


def _parts(template: str) -> Template:
    """A template as text and slots."""
    out: list[str | tuple[str, str]] = []
    at = 0
    for slot in _SLOT.finditer(template):
        if slot.start() > at:
            out.append(template[at : slot.start()])
        out.append((slot[1] or "", slot[2]))
        at = slot.end()
    if at < len(template):
        out.append(template[at:])
    return out


def load(*names: str) -> Table:
    """The tables of the grammar files of these names, later ones over earlier ones."""
    table: dict[str, Rows] = {}
    for name in names:
        rows = Rows([], [], [])
        for line in Path(__file__).with_name(f"{name}.grammar").read_text(encoding="utf-8").split("\n"):
            weight, _, text = line.partition(" ")
            if line and not line.startswith("#") and not weight.isdigit():
                table[line] = rows = Rows([], [], [])
            elif weight.isdigit():
                template = _parts(text.translate(_MARKS))
                rows.weights.append(int(weight))
                rows.templates.append(template)
                if all(isinstance(part, str) for part in template):
                    rows.flat.append(template)
    return table


_VISIBLE = """\\ ' " ` $ $$( $${ $( ) ( { } < > | & ; # ! $' <<< ${ $(( )) [ ] = ~ * ? && || ;; - evil $x 2>&1 >f $IFS
if then fi do done in case esac time ; } é 😀 \u0430"""
_BLANK = "\n|\t| |\\\n|<<E\n|\nE\n|\nevil\n|\r|\r\n| # |{ |; }|time |if "
_HIDDEN = "\0\x01\x7f\xa0\u2003\u200b\u202e\ufeff\ud800"
_TOKENS = (*_VISIBLE.split(), *_BLANK.split("|"), *_HIDDEN)

PLAIN = load("plain")
DODGE = load("plain", "dodge")


class Grammar:
    """A source of scripts. The same `chance` gives the same scripts.

    `bin_folder` is the folder that absolute program names point into, `hiding` how often (0 to 1) names are disguised.
    """

    def __init__(self, chance: random.Random, table: Table, bin_folder: str, *, hiding: float) -> None:
        self.chance = chance
        self._hiding = hiding
        self._table = table
        self._bin = bin_folder
        self._size = 0

    def script(self) -> str:
        """One script, at most a few hundred characters long as a rule."""
        self._size = 0
        return self._expand("script", 0)

    def _expand(self, name: str, depth: int) -> str:
        rows = self._table[name]
        if depth > _MAX_DEPTH or self._size > _MAX_SIZE:
            row = self.chance.choice(rows.flat or rows.templates[:1])
        else:
            row = self.chance.choices(rows.templates, rows.weights)[0]
        out = []
        for part in row:
            text = part if isinstance(part, str) else self._slot(*part, depth + 1)
            self._size += len(text) if isinstance(part, str) else 0
            out.append(text)
        return "".join(out)

    def _slot(self, kind: str, name: str, depth: int) -> str:
        if kind == "n":
            return self.disguise(name)
        if name == "bin":
            return self._bin
        text = self._expand(name, depth)
        match kind:
            case "q":
                return self.quoted(text)
            case "d":
                return re.sub(r'[\\"$`]', r"\\\g<0>", text)
            case _:
                return text

    def quoted(self, text: str) -> str:
        """The text as one word, in one of the ways that bash has for it."""
        match self.chance.randrange(4):
            case 0 | 1:
                return "'" + text.replace("'", "'\\''") + "'"
            case 2:
                return '"' + re.sub(r'[\\"$`]', r"\\\g<0>", text) + '"'
            case _:
                return "$'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def disguise(self, name: str) -> str:
        """A program name, plain or as somebody writes it who hides it."""
        if self.chance.random() >= self._hiding:
            return name
        at = self.chance.randrange(1, len(name))
        head, tail = name[:at], name[at:]
        ways = (
            *(f"\\{name}", f'"{name}"', f"'{name}'", f"{head}''{tail}", f'{head}""{tail}', f"{head}\\{tail}"),
            *(f'{head}"{tail}"', f"{head}\\\n{tail}", f"$'{head}\\x{ord(tail[0]):x}{tail[1:]}'", f"{head}{{{tail},}}"),
            *(
                f"{self._bin}/{name}",
                f"$'{name}'",
                f'$"{name}"',
                f"{{{name},a}}",
                f"{head}$u{tail}",
                f"{head}${{u}}{tail}",
            ),
            *(
                f"../bin/{name}",
                f"{head}$'\\{ord(tail[0]):03o}'{tail[1:]}",
                f"{head}`:`{tail}",
                f"{head}$(:){tail}",
                f"{head}$@{tail}",
            ),
            *(f"{self._bin}/./{name}", f"{self._bin}//{name}", f"{head}{tail[0]}{tail[1:]}"),
        )
        return self.chance.choice(ways)


def mutated(text: str, chance: random.Random) -> str:
    """The text with one to four small wounds: a token put in, a piece cut, doubled or moved, a byte changed."""
    for _ in range(chance.randint(1, 4)):
        left = chance.randint(0, len(text))
        right = min(len(text), left + chance.randint(1, 6))
        match chance.randrange(6):
            case 0 | 1:
                text = text[:left] + chance.choice(_TOKENS) + text[left:]
            case 2:
                text = text[:left] + text[right:]
            case 3:
                text = text[:right] + text[left:right] + text[right:]
            case 4:
                target = chance.randint(0, len(text))
                piece, rest = text[left:right], text[:left] + text[right:]
                text = rest[:target] + piece + rest[target:]
            case _:
                data = bytearray(text.encode("utf-8", "surrogatepass"))
                if data:
                    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
                text = data.decode("utf-8", "surrogateescape")
    return text
