"""The tests have a home of their own."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

from agent_sdk.sessions.sqlite import default_path
from tests.cli.test_main import ENVIRONMENT

THEIRS = Path(pwd.getpwuid(os.getuid()).pw_dir)
SAY = "from agent_sdk.sessions.sqlite import default_path; print(default_path())"


def test_the_default_store_of_the_tests_is_not_the_users() -> None:
    """Neither in this process nor in one that a test starts with the environment that it kept while it was read."""
    told = subprocess.run([sys.executable, "-c", SAY], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    for path in (default_path(), Path(told.stdout.strip())):
        assert path.is_relative_to(Path.home())
    assert Path.home() not in (THEIRS, *THEIRS.parents)
