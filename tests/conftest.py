"""Shared fixtures and options: every async test runs on asyncio and on trio."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the conformance runner. They stand here so that pytest knows them wherever it is started."""
    group = parser.getgroup("conformance")
    group.addoption("--cases", metavar="DIR", help="run the cases of this folder instead of the handed ones")
    group.addoption("--backend", default="asyncio", choices=["asyncio", "trio"], help="event loop of the cases")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The two back ends that the package supports."""
    return str(request.param)
