"""`agent-sdk sessions`: what is stored, so that a person knows it again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_sdk import SQLiteStore
from agent_sdk.cli.main import main
from agent_sdk.ledger import session_key
from agent_sdk.render.cells import width


def store(prompt: Any, *before: dict[str, Any], directory: str = "/home/ada/site") -> None:
    """A session `s` that began with this prompt."""
    entries: list[Any] = [*before, {"type": "state", "directory": directory}]
    entries.append({"type": "user", "message": {"role": "user", "content": prompt}})
    entries.append({"type": "user", "message": {"role": "user", "content": "later words"}})

    async def append() -> None:
        stored = SQLiteStore("s.sqlite")
        await stored.append(session_key("s"), entries)
        stored.close()

    anyio.run(append)


TEXT = {"type": "text", "text": "Tidy up\n  the notes"}
PROMPTS: list[Any] = [
    pytest.param([TEXT], "Tidy up the notes", id="two lines"),
    pytest.param("as a string", "as a string", id="a string"),
    pytest.param([{"type": "image", "source": {}}, TEXT], "Tidy up the notes", id="an image before it"),
    pytest.param([{"type": "image", "source": {}}], "", id="an image alone"),
    pytest.param([], "", id="nothing"),
    pytest.param("\x1b[2J\u202e\ud83d", "\\x1b[2J\\u202e\\ud83d", id="what could steer a terminal"),
    pytest.param("漢" * 300, "漢" * 10, id="a long one"),
]


@pytest.mark.parametrize(("prompt", "shown"), PROMPTS)
def test_a_session_is_listed_with_folder_and_first_prompt(
    prompt: Any, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one line below its id, safe to print, in the width of the terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")
    store(prompt)
    assert main(["sessions", "--store", "s.sqlite"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("s  ")
    assert second.startswith(f"  /home/ada/site: {shown}".rstrip())
    assert "later" not in second
    assert width(second) <= 60
    assert main(["sessions", "--store", "s.sqlite", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["directory"] == "/home/ada/site"
    assert len(told["prompt"]) <= 200


def test_a_session_that_tells_nothing_is_listed_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another program has stored may begin in any way."""
    monkeypatch.chdir(tmp_path)
    store("late", *({"type": "other", "n": number, "directory": 7} for number in range(5)))
    assert main(["sessions", "--store", "s.sqlite"]) == 0
    assert capsys.readouterr().out.splitlines()[1].strip() == "(somewhere):"
