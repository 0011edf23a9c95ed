"""Every case is played on the product, and everything that it expects must hold."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conformance.adapters.by_kind import ADAPTERS
from tests.conformance.all_checks import Seen, failures, unknown_keys
from tests.conformance.cases_file import Case
from tests.conformance.diagnostics import collected
from tests.conformance.record import Record
from tests.conformance.stage import home_directory
from tests.conformance.vocabulary import check_scene

LIMIT_S = 30


def test_case(case: Case, case_backend: str) -> None:
    """What the case expects holds."""
    check_scene(case.kind, case.scene)
    unknown = unknown_keys(case.expect)
    assert not unknown, f"unknown keys of expect: {unknown}"
    record = Record()
    with _folder() as root, collected(record), home_directory(root.parent / "home"), _time_limit(case.id):
        ADAPTERS[case.kind](case, record, root, case_backend)
    found = failures(Seen(case, record), case.expect)
    if found:
        pytest.fail("\n".join([*found, *_story(record)]), pytrace=False)


def _story(record: Record) -> Iterator[str]:
    """What a person needs to see why a case fails."""
    for run in record.runs:
        yield f"run {run.name}: {run.messages[-1] if run.messages else 'no message'}"
    yield f"ran: {record.ran}"
    yield f"asked: {[(asked.id, asked.input) for asked in record.asked]}"
    yield from (f"raised at {error.where}: {error.details}" for error in record.raised)
    yield from (f"told: {text}" for text in record.warnings)
    yield from record.remarks[:20]


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder of our own that every user may enter."""
    base = Path(tempfile.mkdtemp(prefix="conformance-")).resolve()
    base.chmod(0o755)
    try:
        (base / "home").mkdir()
        root = base / "root"
        root.mkdir()
        yield root
    finally:
        shutil.rmtree(base, ignore_errors=True)


class TooSlow(BaseException):
    """The check took longer than it may. No handler of errors on the way may swallow it."""


@contextmanager
def _time_limit(name: str) -> Iterator[None]:
    def over(*_: object) -> None:
        raise TooSlow(f"{name} took longer than {LIMIT_S} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        yield
    except TooSlow as error:
        pytest.fail(str(error), pytrace=False)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
