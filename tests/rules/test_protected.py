"""Protected paths: no spelling hides them, and neighbours are not taken for them."""

from __future__ import annotations

import pytest

from agent_sdk.rules.files import TableFiles
from agent_sdk.rules.matching import Place, Reading, known_facts
from agent_sdk.rules.protected import FILES, FOLDERS
from tests.rules.support import CWD, book, reading


@pytest.mark.parametrize(
    "path",
    [
        *(f"{folder}/x" for folder in FOLDERS),
        *FOLDERS,
        *FILES,
        ".yarnrc.yml",
        ".pnp.cjs",
        ".config/git/config",
        ".config/fish/config.fish",
        "sub/.git/hooks/pre-commit",
        ".GIT/config",
        ".g\u200cit/config",
        "GIT~1/config",
        ".git./config",
        ".git /config",
        ".git::$INDEX_ALLOCATION/config",
        ".BashRC",
        "src/../.git/config",
        "link/config",
        "~/.zshrc",
        "/etc/../home/dev/.profile",
    ],
)
def test_writing_it_needs_a_person(path: str) -> None:
    """Bare `Edit` does not cover it, and a reason is given."""
    call = reading("Write", {"file_path": path}, files=TableFiles({f"{CWD}/link": f"{CWD}/.git"}))
    assert call.protected
    assert book(allow=["Edit", "Edit(//**)"]).allow(call) is None


@pytest.mark.parametrize(
    "path", [".gitignore", ".github/workflows/x.yml", "git/config", ".config/x", ".gitx", "bashrc", ".env", "a.git/x"]
)
def test_a_neighbour_is_not_protected(path: str) -> None:
    """A prompt that means nothing teaches people to click yes."""
    call = reading("Write", {"file_path": path})
    assert call.protected is None
    assert book(allow=["Edit"]).allow(call)


def test_reading_is_free() -> None:
    """Protection is for writes."""
    assert reading("Read", {"file_path": ".git/config"}).protected is None


@pytest.mark.parametrize("command", ["echo x > .git/hooks/x", "ls >> ~/.bashrc", "x 2>|'.npmrc'", 'x &>.e"nv"rc'])
def test_redirections_count(command: str) -> None:
    """A command that writes through its shell is seen."""
    call = reading("Bash", {"command": command})
    assert call.protected
    assert book(allow=["Bash"]).allow(call) is None


def test_the_settings_folder_in_use_is_protected() -> None:
    """Whatever its name is."""
    place = Place(CWD, settings_dir=".agent", files=TableFiles())
    assert Reading("Write", {"file_path": ".agent/settings.json"}, known_facts("Write"), place).protected
