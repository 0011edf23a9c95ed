"""Shared fixtures and options: every async test runs on asyncio and on trio."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

HOME_VARIABLES = ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the conformance runner. They stand here so that pytest knows them wherever it is started."""
    group = parser.getgroup("conformance")
    group.addoption("--cases", metavar="DIR", help="run the cases of this folder instead of the handed ones")
    group.addoption("--backend", default="asyncio", choices=["asyncio", "trio"], help="event loop of the cases")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The two back ends that the package supports."""
    return str(request.param)


@pytest.fixture(scope="session", autouse=True)
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No test reads or writes the settings, the state or the git configuration of whoever runs the tests."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in HOME_VARIABLES:
            patch.setenv(name, str(home))
        yield home
