"""Reads cases: folders of behaviour cases, and the two tables of rule cases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HANDED = Path(__file__).parent / "cases"
TABLES = {"shell_rules.json": "shell_table", "path_rules.json": "path_table"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case. `scene` is what is given and what happens, in one mapping; `expect` is what must hold after it.

    A row of a table is a case of its own kind (`shell_table`, `path_table`) whose `scene` is the row over the `meta`
    of its file.
    """

    id: str
    kind: str
    scene: dict[str, Any]
    expect: dict[str, Any]


def read_cases(folder: Path) -> list[Case]:
    """All cases under a folder, in order of their ids. Raises ValueError for a file that is no case."""
    cases = [_behaviour(path) for path in sorted((folder / "behaviour").glob("*.json"))]
    for name, kind in TABLES.items():
        if (folder / name).is_file():
            cases.extend(_rows(folder / name, kind))
    return cases


def _behaviour(path: Path) -> Case:
    written = json.loads(path.read_text(encoding="utf-8"))
    try:
        given, when, expect = written.get("given") or {}, written.get("when") or {}, written["expect"]
        both = [key for key in given if key in when and given[key] != when[key]]
        if both:
            raise ValueError(f"{path}: {both[0]!r} is given and done in two ways")
        return Case(id=written["id"], kind=written["kind"], scene={**given, **when}, expect=expect)
    except KeyError as error:
        raise ValueError(f"{path}: a case has {error}") from None


def _rows(path: Path, kind: str) -> Iterator[Case]:
    written = json.loads(path.read_text(encoding="utf-8"))
    meta = {key: value for key, value in written["meta"].items() if key not in ("version", "verdicts", "assumptions")}
    for row in written["cases"]:
        right = [row["expect"], *row.get("also_ok", ())]
        scene = {key: value for key, value in row.items() if key not in ("id", "expect", "also_ok", *_REMARKS)}
        yield Case(id=row["id"], kind=kind, scene={**meta, **scene}, expect={"behavior_in": right})


_REMARKS = ("group", "why", "contestable", "source_note", "title")
