"""Draws docs/terminal.svg: what a person sees of `agent-sdk demo`, taken from a real run on a real terminal.

Run it in the folder of the README: `python docs/picture.py`. It needs the packages of the extra `test`.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

import pexpect
import pyte
from pyte.screens import Char

FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"
COLUMNS, ROWS = 92, 27
CELL, LINE, EDGE = 8.4, 18, 16
DEMO = "import sys; from agent_sdk.cli.main import main; sys.exit(main(['demo']))"
COLOURS = {
    "default": "#d8dee9",
    "brightblack": "#8892a6",
    "brown": "#ebcb8b",
    "green": "#a3be8c",
    "red": "#e06c75",
    "cyan": "#88c0d0",
}


class Terminal:
    """The demo, played by keys."""

    def __init__(self) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.Stream(self.screen)
        env = {"TERM": "xterm-256color", "PATH": "/usr/bin:/bin", "PYTHONPATH": ".", "LANG": "C.UTF-8"}
        self._child = pexpect.spawn(
            sys.executable, ["-c", DEMO], env=env, dimensions=(ROWS, COLUMNS), encoding="utf-8", timeout=30
        )

    def sees(self, words: str) -> None:
        """Wait for the words, and read the card as a person does."""
        end = time.monotonic() + 30
        while words not in "\n".join(self.screen.display):
            if time.monotonic() > end:
                raise SystemExit(f"{words!r} never came:\n" + "\n".join(self.screen.display))
            self._read(0.1)
        self._read(0.5)

    def press(self, keys: str) -> None:
        """Press one key after the other."""
        for key in keys:
            self._child.send(key)
            self._read(0.2)

    def card(self) -> list[list[Char]]:
        """The rows of the card that is shown, from its bar to its hint."""
        rows = [[self.screen.buffer[row][column] for column in range(COLUMNS)] for row in range(ROWS)]
        texts = ["".join(char.data for char in row).rstrip() for row in rows]
        first = max(place for place, text in enumerate(texts) if text.startswith("── "))
        last = max(place for place, text in enumerate(texts) if text)
        return rows[first : last + 1]

    def _read(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                self._stream.feed(self._child.read_nonblocking(65_536, timeout=left))
            except pexpect.TIMEOUT:
                pass


def played() -> list[list[Char]]:
    """A question card, a space, and the card of an edit."""
    terminal = Terminal()
    terminal.sees("Which look should the page have?")
    terminal.press("1")
    terminal.sees("What should be on it?")
    terminal.press("13")
    question = terminal.card()
    terminal.press("\r")
    terminal.sees("motto")
    terminal.press("1\r")
    terminal.sees("Write: create a file")
    terminal.press("1")
    terminal.sees("Edit: change a file")
    return [*question, [], *terminal.card()]


def drawn(rows: list[list[Char]]) -> Iterator[str]:
    """The rows as SVG."""
    wide, high = COLUMNS * CELL + 2 * EDGE, len(rows) * LINE + 2 * EDGE
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" width="{wide:.0f}" role="img">'
    yield "<title>A question card and an approval card of agent-sdk, drawn from a run of the demo</title>"
    yield '<rect width="100%" height="100%" rx="8" fill="#1e2430"/>'
    yield f'<g font-family="{FONTS}" font-size="14" xml:space="preserve">'
    for number, row in enumerate(rows):
        column = 0
        for (colour, bold), chars in groupby(row, lambda char: (char.fg, char.bold)):
            whole = "".join(char.data for char in chars)
            text = whole.rstrip()
            if text:
                x, y = EDGE + column * CELL, EDGE + (number + 0.75) * LINE
                weight = ' font-weight="bold"' if bold else ""
                fill = COLOURS.get(colour, COLOURS["default"])
                length = f'textLength="{len(text) * CELL:.1f}"'
                yield f'<text x="{x:.1f}" y="{y:.1f}" {length} fill="{fill}"{weight}>{escape(text)}</text>'
            column += len(whole)
    yield "</g></svg>"


def main() -> None:
    """Play, draw, write. The name of the temporary folder is the only thing that is changed."""
    picture = "\n".join(drawn(played())) + "\n"
    picture = re.sub(r"agent-sdk-demo-\w+", "agent-sdk-demo", picture)
    Path(__file__).with_name("terminal.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
