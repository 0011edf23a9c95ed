"""Which adapter plays which kind of case."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from tests.conformance.adapters import calls, parked, rules, settings_files, transcripts
from tests.conformance.cases_file import Case
from tests.conformance.record import Record


def _async(play: Callable[..., Any]) -> Callable[[Case, Record, Path, str], None]:
    def run(case: Case, record: Record, root: Path, backend: str) -> None:
        anyio.run(functools.partial(play, case, record, root), backend=backend)

    return run


def _sync(play: Callable[[Case, Record, Path], None]) -> Callable[[Case, Record, Path, str], None]:
    return lambda case, record, root, backend: play(case, record, root)


ADAPTERS: dict[str, Callable[[Case, Record, Path, str], None]] = {
    "rule": _sync(rules.judge_rule),
    "shell_table": _sync(rules.judge_row),
    "path_table": _sync(rules.judge_row),
    "hook": _async(calls.play_calls),
    "callback": _async(calls.play_calls),
    "question": _async(calls.play_question),
    "settings": settings_files.play_settings,
    "resume": parked.play_parked,
    "transcript": transcripts.play_transcript,
}
