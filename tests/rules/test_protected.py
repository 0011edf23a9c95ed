"""Protected paths: no spelling hides them, and neighbours are not taken for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk.rules.files import TableFiles
from agent_sdk.rules.matching import Place, Reading, known_facts
from agent_sdk.rules.protected import FILE_STARTS, FILES, FOLDER_PAIRS, FOLDERS, _protected, protected
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


TABLE = sorted({*FOLDERS, *FILES, *FILE_STARTS, *(name for pair in FOLDER_PAIRS for name in pair)})
PIECES = st.sampled_from(["", ".", " ", "~1", ":x", "x", "\u200c", "K", "\u212a", "\u017f", "lef", "bun"])
NAMES = st.builds(
    lambda before, name, end, after, upper: before + (name.upper() if upper else name)[:end] + after,
    PIECES,
    st.sampled_from(TABLE),
    st.sampled_from([None, None, 3, 6, 7, -1]),
    PIECES,
    st.booleans(),
)


@given(
    st.lists(NAMES, max_size=4).map(tuple),
    st.sampled_from([".claude", "settings", ".", "", " .x", "lef", ".Claude "]),
)
def test_what_is_not_looked_at_closely_is_not_protected(path: tuple[str, ...], settings_dir: str) -> None:
    """The look at the first characters of names misses nothing that the close look finds."""
    assert protected([path], settings_dir) == _protected(path, settings_dir)


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
