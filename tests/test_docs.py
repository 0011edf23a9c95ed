"""The documentation is true: its examples run, print what it says, and its commands work.

A block of `python` is run in an empty folder; a block of `text output` below it is what it prints. `python no-run`
marks a block that cannot run; there are few of these.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
NOT_RUN_AT_MOST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A block of Python, and what it prints as far as the page says so. `line` counts from 1."""

    page: Path
    line: int
    code: str
    output: str | None

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """Info string, text and line of every fenced block."""
    text = page.read_text()
    return [(match["info"], match["text"], text.count("\n", 0, match.start()) + 1) for match in BLOCK.finditer(text)]


def examples(page: Path) -> Iterator[Example]:
    """The blocks of a page that run."""
    found = blocks(page)
    for place, (info, code, line) in enumerate(found):
        if info == "python":
            after = found[place + 1] if place + 1 < len(found) else ("", "", 0)
            yield Example(page=page, line=line, code=code, output=after[1] if after[0] == "text output" else None)


EXAMPLES = [example for page in PAGES for example in examples(page)]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_an_example_runs_and_prints_what_the_page_says(example: Example, tmp_path: Path) -> None:
    """Each block runs by itself, in an empty folder with an empty home, without a key."""
    home, folder = tmp_path / "home", tmp_path / "folder"
    home.mkdir()
    folder.mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-W", "error", "-"], input=example.code, capture_output=True, text=True,
                          cwd=folder, env=environment, timeout=60, check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    if example.output is not None:
        assert done.stdout.replace(str(folder), "/project") == example.output


def test_few_blocks_do_not_run() -> None:
    """Every other block of Python is run, and every output belongs to a block."""
    infos = [info for page in PAGES for info, _, _ in blocks(page)]
    assert sum(info.startswith("python") and info != "python" for info in infos) <= NOT_RUN_AT_MOST
    assert infos.count("text output") == sum(example.output is not None for example in EXAMPLES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every link inside the project names something that is there."""
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_readme_begins_with_two_commands_of_one_line() -> None:
    """The first two blocks are the demo and the tests, each a single line; the whole is short."""
    (demo_info, demo, _), (test_info, tests, _) = blocks(ROOT / "README.md")[:2]
    assert (demo_info, test_info) == ("sh", "sh")
    assert demo.count("\n") == tests.count("\n") == 1
    assert demo.rstrip().endswith(" && .venv/bin/agent-sdk demo")
    assert tests.rstrip().endswith(" && .venv/bin/python -m pytest")
    assert len((ROOT / "README.md").read_text().splitlines()) < 150


def test_the_demo_shows_the_picture_in_the_readme(tmp_path: Path) -> None:
    """The demo command runs in a process of its own, and the readme's picture is cut from what it prints."""
    picture = next(text for info, text, _ in blocks(ROOT / "README.md") if info == "text")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    program = "import sys; from agent_sdk.cli.main import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", program, "demo"], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, cwd=tmp_path, env=environment, timeout=60, check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert picture in re.sub(r"\S*/agent-sdk-demo-\w+", "/tmp/agent-sdk-demo", done.stdout)
