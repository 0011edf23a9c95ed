"""Shared fixtures and options: every async test runs on asyncio and on trio."""

from __future__ import annotations

import signal
import tempfile

import pytest

HOME_VARIABLES = ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")


def pytest_configure(config: pytest.Config) -> None:
    """No test reads or writes the settings, the sessions or the git configuration of whoever runs the tests.

    And Ctrl-C counts, also where a shell that started the tests in the background told them to ignore it. It happens
    before a test module is read: some keep the environment for the processes that they start.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    home = tempfile.TemporaryDirectory(prefix="agent-sdk-tests-home-", ignore_cleanup_errors=True)
    patch = pytest.MonkeyPatch()
    for name in HOME_VARIABLES:
        patch.setenv(name, home.name)
    config.add_cleanup(home.cleanup)
    config.add_cleanup(patch.undo)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the conformance runner. They stand here so that pytest knows them wherever it is started."""
    group = parser.getgroup("conformance")
    group.addoption("--cases", metavar="DIR", help="run the cases of this folder instead of the handed ones")
    group.addoption("--backend", default="asyncio", choices=["asyncio", "trio"], help="event loop of the cases")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The two back ends that the package supports."""
    return str(request.param)
