"""The table of ways around a deny rule (`dodges.txt`), and new ones made of its rows: wrapped, joined, in a text."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

_MARKS = str.maketrans({"⏎": "\n", "⇥": "\t", "␍": "\r"})
_LINES = Path(__file__).parents[1].joinpath("dodges.txt").read_text(encoding="utf-8").split("\n")
ROWS = [(line[0], line[2:].translate(_MARKS)) for line in _LINES if line[:1] not in ("", "#")]
"""The sign of a row (`!` runs `evil`, `?` is not allowed though nothing runs, `=` is allowed) and its command."""

_DODGES = [command for sign, command in ROWS if sign != "="]
# `{c}` is a command, `{q}` the same as one quoted word, `{d}` another command.
_AROUND = [
    *("sh -c {q}", "eval {q}", "{c} | cat", "( {c} )", "{{ {c}; }}", "f() {{ {c}; }}; f", "if ok; then {c}; fi"),
    *("bash <<'E'\n{c}\nE", "sh <<E\n{c}\nE", "echo {q} | sh", "trap {q} EXIT", "ok; {c}", "ok && {c}", "{c} && ok"),
    *("! {c}", "time {c}", "for i in 1; do {c}; done", "echo $({c})", "cat <({c})", 'ok "$({c})"', "env sh -c {q}"),
    *("xargs sh -c {q} < a", "coproc {{ {c}; }}", "{c} > /dev/null", "x=1 {c}", "cd sub; {c}", "{c}\n{d}", "{c}; {d}"),
    *("eval {q}; {d}", "sh -c {q}; {c}", "bash -s <<< {q}", "mapfile -c 1 -C {q} v < a", ". <(echo {q})"),
]


def made_of_rows(chance: random.Random, quoted: Callable[[str], str]) -> str:
    """A row, as it is or with up to two things around it."""
    command = chance.choice(_DODGES)
    for _ in range(chance.choice((0, 1, 1, 2))):
        form = chance.choice(_AROUND)
        command = form.format(c=command, q=quoted(command), d=chance.choice(_DODGES))
    return command
