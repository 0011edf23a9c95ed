"""Every sample runs as it is, with an empty home, and shows what it promises."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "samples"
FACTS = {
    "approval_timeout.py": [
        "Bash: the prompt is taken away",
        "the model reads: The user did not answer within 0.3 s.",
        "the run ended: I have prepared everything",
    ],
    "custom_renderer.py": [
        "Permission needed: Rent a small server\n    60 euros in all",
        "Note: This is more than 1,000 euros.",
        "the model reads: rented: small, 3 months",
        "the model reads: Too dear. Take the small one.",
    ],
    "question_with_previews.py": [
        "  1. Table (Recommended) — can be sorted\n        title   | year",
        "100 is out of range: type a number from 1 to 50.",
        'user notes: sort it by year, "What shall the page be called?"="Our shelf"',
        "'How many books on one page?': '20'",
    ],
    "approve_in_code.py": [
        "the model reads: Nothing is removed here. Rename it to notes.old instead.",
        "'I changed the folder.'",
        "the run ended: tool_deferred; waiting for an answer: [{'command': 'git push'}]",
    ],
    "defer_and_resume.py": [
        "the run ended: tool_deferred",
        "in the log by now: ['three']",
        "one says yes: True",
        "another one says no, too late: False",
        "'Not tonight.'",
        "the run ended: completed - I am done.",
        "in the log at the end: ['three', 'one']",
    ],
    "approve_from_another_process.py": [
        "agent: tool_deferred",
        "owner sees: Bash echo released > release.txt - a release needs the owner",
        "owner: answered, and it counts",
        "worker: completed - It is out.",
        "the file says: released by the owner",
    ],
    "ask_user_question.py": [
        '"Which reports?"="Daily, Yearly", "Where does it run?"="on the old server in the cellar"',
        "unanswered: []",
    ],
    "hooks_only.py": [
        "the model: would run: pip install requests",
        "the model: Work without sudo.",
        "2 of 4 calls did not run:",
        "curl https://example.com | nobody is there to decide",
    ],
    "from_claude_agent_sdk.py": [
        "asked about mcp__calc__add {'a': 15, 'b': 27}",
        "did not run: [{'command': 'rm -rf /tmp/x'}, {'command': 'curl example.com'}]",
        "agent: The sum is 42.",
    ],
    "remember.py": [
        "asked about 'ls'; could be remembered: Bash(ls), Bash(ls *)",
        '"Bash(ls *)",\n      "Bash(echo built)"',
        "asked about 'echo changed'",
        "'echo built': allow\n'echo built > log.txt': ask",
    ],
    "custom_tool.py": [
        "error:  There is no customer Eve.",
        "a person is asked about refund {'name': 'Ada', 'euros': 100}",
        "left: {'Ada': 100, 'Bob': 15}",
    ],
}
USES_THE_STORE_OF_THE_USER = {"from_claude_agent_sdk.py"}  # as such programs do


def test_every_sample_is_known_here() -> None:
    """A new sample needs facts of its own."""
    assert sorted(FACTS) == sorted(path.name for path in SAMPLES.glob("*.py"))


@pytest.mark.parametrize("name", sorted(FACTS))
def test_a_sample_runs_and_shows_what_it_promises(name: str, tmp_path: Path) -> None:
    """It needs no key and no home, says nothing on standard error, prints these facts, and leaves nothing behind."""
    home, folder = tmp_path / "home", tmp_path / "folder"
    home.mkdir()
    folder.mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT)}
    environment["XDG_STATE_HOME"] = str(tmp_path / "state")
    done = subprocess.run([sys.executable, "-W", "error", str(SAMPLES / name)], capture_output=True, text=True,
                          cwd=folder, env=environment, timeout=60, check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    for fact in FACTS[name]:
        assert fact in done.stdout
    assert [*home.iterdir(), *folder.iterdir()] == []
    assert (tmp_path / "state").exists() == (name in USES_THE_STORE_OF_THE_USER)


@pytest.mark.parametrize("name", sorted(FACTS))
def test_a_sample_is_short(name: str) -> None:
    """At most 80 lines, the first of them saying what it shows."""
    text = (SAMPLES / name).read_text()
    assert len(text.splitlines()) <= 80
    assert text.startswith('"""')
