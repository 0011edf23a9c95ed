"""A fresh project for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.settings.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project folder and home, outside of any repository."""
    made = Project(tmp_path)
    made.cwd.mkdir()
    made.home.mkdir()
    return made
