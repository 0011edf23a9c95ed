"""Makes one test of each case: the handed ones, or those of a folder that `--cases` names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.cases_file import HANDED, read_cases
from tests.conformance.not_yet import NOT_YET


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One parameter set for each case, its id the case's own. Raises UsageError for a folder without cases."""
    if "case" not in metafunc.fixturenames:
        return
    folder = metafunc.config.getoption("--cases")
    marks = {} if folder else NOT_YET
    cases = read_cases(Path(folder) if folder else HANDED)
    if not cases:
        raise pytest.UsageError(f"--cases {folder}: there are no cases in this folder")
    metafunc.parametrize(
        "case",
        [pytest.param(case, id=case.id, marks=_expected_to_fail(marks.get(case.id))) for case in cases],
    )


def _expected_to_fail(issue: int | None) -> list[pytest.MarkDecorator]:
    return [] if issue is None else [pytest.mark.xfail(strict=True, reason=f"issue {issue}")]


@pytest.fixture
def case_backend(request: pytest.FixtureRequest) -> str:
    """The event loop on which the cases run."""
    return str(request.config.getoption("--backend"))
