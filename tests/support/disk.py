"""What tests that play with links need, so that they touch nothing but their own folder."""

from __future__ import annotations

import os
from pathlib import Path


def lies_in(path: Path, folder: Path) -> bool:
    """Whether the name really lies in the folder: a link of the test's own may lead out of it."""
    return Path(os.path.realpath(path.parent)).is_relative_to(os.path.realpath(folder))
