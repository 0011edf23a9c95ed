"""Glob and Grep on real folders."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk.errors import ToolError
from agent_sdk.tools import builtin, grep, grep_worker, search
from agent_sdk.tools.base import ReadGuard, ToolContext
from agent_sdk.tools.search import GLOB, GREP
from agent_sdk.tools.walk import GlobPattern


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, content in {
        "a.py": "import os\nprint('ä')\n",
        "b.ts": "Import\r\nimport x",
        "src/c.py": "import re\n",
        "src/deep/d.py": "nothing\n",
        "src/deep/e.txt": "import\n",
        ".git/config": "import\n",
        ".hidden/f.py": "import\n",
        "secret/.env": "import KEY\n",
    }.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/g.py").write_text("import outside\n")
    (tmp_path / "tree/linked").symlink_to(tmp_path / "outside")
    (tmp_path / "tree/link.py").symlink_to(tmp_path / "outside/g.py")
    (tmp_path / "tree/binary.py").write_bytes(b"import\0\n")
    os.mkfifo(tmp_path / "tree/pipe.py")
    return tmp_path / "tree"


async def glob(where: Path, guard: ReadGuard | None = None, /, **tool_input: Any) -> str:
    return await use(GLOB, where, guard, tool_input)


async def grep_for(where: Path, guard: ReadGuard | None = None, /, **tool_input: Any) -> str:
    return await use(GREP, where, guard, tool_input)


async def use(tool: Any, where: Path, guard: ReadGuard | None, tool_input: dict[str, Any]) -> str:
    assert tool.check(tool_input) is None
    result = await tool.run(tool_input, ToolContext(cwd=str(where), left_out=guard))
    assert isinstance(result.content, str)
    return f"ERROR {result.content}" if result.is_error else result.content


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.py", None, ["a.py", "binary.py", "link.py"]),
        ("**/*.py", None, ["a.py", "binary.py", "link.py", ".hidden/f.py", "src/c.py", "src/deep/d.py"]),
        ("**/*.py", "src", ["src/c.py", "src/deep/d.py"]),
        ("src/**/d.py", None, ["src/deep/d.py"]),
        ("src/**", None, ["src/c.py", "src/deep/d.py", "src/deep/e.txt"]),
        ("{a,b}.{py,ts}", None, ["a.py", "b.ts"]),
        ("[ab].*", None, ["a.py", "b.ts"]),
        ("./src//c.py", None, ["src/c.py"]),
        ("**/.env", None, ["secret/.env"]),
        ("linked/*", None, []),
        (".git/*", None, []),
        ("*.PY", None, []),
    ],
)
@pytest.mark.anyio
async def test_a_glob_finds_files_by_their_path(tree: Path, pattern: str, path: str | None, found: list[str]) -> None:
    said = await glob(tree, pattern=pattern, **({} if path is None else {"path": path}))
    assert said.splitlines() == (found or ["No file matches."])


@pytest.mark.parametrize(
    ("pattern", "path", "words"),
    [
        ("/etc/*", None, "stays in it"),
        ("../*", None, "stays in it"),
        ("{..,a}/../x", None, "stays in it"),
        ("{a,b}" * 10, None, "alternatives"),
        ("*", "a.py", "is no folder"),
        ("*", "gone", "is no folder"),
        ("*", "a\0", "NUL"),
    ],
    ids=["absolute", "up", "braces", "many", "file", "missing", "NUL"],
)
@pytest.mark.anyio
async def test_a_glob_that_cannot_be_is_said(tree: Path, pattern: str, path: str | None, words: str) -> None:
    said = await glob(tree, pattern=pattern, **({} if path is None else {"path": path}))
    assert said.startswith("ERROR")
    assert words in said


@pytest.mark.anyio
async def test_braces_do_not_lead_out_of_the_folder(tree: Path) -> None:
    assert await glob(tree / "src", pattern="{.,..}{/,x}*") == "c.py"


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        (
            r"^import \w",
            None,
            ["a.py:1: import os", "b.ts:2: import x", "secret/.env:1: import KEY", "src/c.py:1: import re"],
        ),
        ("(?i)^IMPORT$", None, ["b.ts:1: Import", ".hidden/f.py:1: import", "src/deep/e.txt:1: import"]),
        ("ä", None, ["a.py:2: print('ä')"]),
        ("import", "src/c.py", ["src/c.py:1: import re"]),
        ("^$", "a.py", ["No line matches."]),
        ("outside", "linked", ["linked/g.py:1: import outside"]),
    ],
)
@pytest.mark.anyio
async def test_a_search_shows_path_line_and_text(tree: Path, pattern: str, path: str | None, found: list[str]) -> None:
    said = await grep_for(tree, pattern=pattern, **({} if path is None else {"path": path}))
    assert said.splitlines() == found


@pytest.mark.parametrize(
    ("pattern", "path", "words"),
    [
        ("(", None, "no regular expression"),
        ("x{99999999999}", None, "no regular expression"),
        ("x", "gone", "No such file"),
        ("x", "pipe.py", "was not opened"),
    ],
)
@pytest.mark.anyio
async def test_a_search_that_cannot_be_is_said(tree: Path, pattern: str, path: str | None, words: str) -> None:
    said = await grep_for(tree, pattern=pattern, **({} if path is None else {"path": path}))
    assert said.startswith("ERROR")
    assert words in said


@pytest.mark.anyio
async def test_what_the_rules_cover_is_left_out_and_counted(tree: Path) -> None:
    asked: list[str] = []

    def covers(path: str) -> bool:
        asked.append(path)
        return "secret" in path or path.endswith("c.py")

    said = await grep_for(tree, covers, pattern="import (KEY|re|os)")
    assert said.splitlines() == ["a.py:1: import os", "[2 files left out by permission rules.]"]
    assert all(path.startswith(str(tree)) for path in asked)
    said = await glob(tree, covers, pattern="src/*.py")
    assert said.splitlines() == ["No file matches.", "[1 file left out by permission rules.]"]
    said = await grep_for(tree, covers, pattern="import", path="secret/.env")
    assert said.splitlines() == ["No line matches.", "[1 file left out by permission rules.]"]


@pytest.mark.anyio
async def test_a_guard_that_fails_leaves_everything_out(tree: Path) -> None:
    def broken(path: str) -> bool:
        raise RuntimeError(path)

    assert "KEY" not in await grep_for(tree, broken, pattern="import")
    assert await glob(tree, broken, pattern="a.py") == "No file matches.\n[1 file left out by permission rules.]"


@pytest.mark.anyio
async def test_results_are_bounded_and_the_rest_is_counted(tmp_path: Path) -> None:
    for number in range(520):
        (tmp_path / f"{number:03}").touch()
    (tmp_path / "000").write_text("x\n" * 300 + "y" * 2000 + "\n")
    files = (await glob(tmp_path, pattern="*")).splitlines()
    assert files[499:] == ["499", "[20 more files match; use a narrower pattern.]"]
    lines = (await grep_for(tmp_path, pattern="x")).splitlines()
    assert lines[249:] == ["000:250: x", "[50 more lines match; use a narrower pattern or path.]"]
    assert await grep_for(tmp_path, pattern="y") == "000:301: " + "y" * 500 + "…"


@pytest.mark.anyio
async def test_a_pattern_that_never_ends_is_stopped_and_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("found: aaaa\n")
    (tmp_path / "b").write_text("a" * 5000 + "\n")
    monkeypatch.setattr(grep, "SEARCH_SECONDS", 0.7)
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await anyio.sleep(0.02)
            beats += 1

    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        said = await grep_for(tmp_path, pattern="f|(a+)+$b")
        group.cancel_scope.cancel()
    assert said.splitlines()[0] == "a:1: found: aaaa"
    assert "stopped after" in said
    assert beats > 5


@pytest.mark.anyio
async def test_a_walk_that_takes_too_long_is_stopped(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "WALK_SECONDS", -1.0)
    assert "stopped" in await glob(tree, pattern="**")
    assert "stopped" in await grep_for(tree, pattern="import")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
@pytest.mark.anyio
async def test_unreadable_folders_are_skipped_and_counted(tree: Path) -> None:
    (tree / "src").chmod(0)
    try:
        said = await glob(tree, pattern="**/*.py")
    finally:
        (tree / "src").chmod(0o755)
    assert said.splitlines()[-1] == "[1 unreadable folder skipped.]"


@pytest.mark.anyio
async def test_names_that_are_no_plain_text_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "a\nforged:1: line").write_text("x")
    (tmp_path / os.fsdecode(b"\xff")).write_text("x")
    assert (await grep_for(tmp_path, pattern="x")).splitlines() == ["a\\nforged:1: line:1: x", "\\udcff:1: x"]


names = st.text("ab.", min_size=1, max_size=3).filter(lambda name: name not in (".", ".."))


@given(st.lists(names, min_size=1, max_size=5), st.text("ab*?[]{},/.!", min_size=1, max_size=12))
def test_a_pattern_never_fails_in_any_other_way_than_it_says(path: list[str], pattern: str) -> None:
    try:
        parsed = GlobPattern.parse(pattern)
    except ToolError:
        return
    places = parsed.start()
    for name in path:
        places = parsed.below(places, name)
    assert isinstance(parsed.matches(places), bool)


@given(st.lists(names, min_size=1, max_size=6), st.data())
def test_any_number_of_folders_fits_two_stars(path: list[str], data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(path) - 1))
    end = data.draw(st.integers(begin, len(path) - 1))
    pattern = GlobPattern.parse("/".join([*path[:begin], "**", *path[end:]]))
    places = pattern.start()
    for name in path:
        places = pattern.below(places, name)
    assert pattern.matches(places)


def test_the_built_in_tools_come_in_their_order() -> None:
    assert list(builtin.BUILTIN_TOOLS) == ["Bash", "Read", "Write", "Edit", "Glob", "Grep"]
    for name, tool in builtin.BUILTIN_TOOLS.items():
        assert tool.name == name
        assert tool.input_schema["additionalProperties"] is False


# ── the process that searches ends by itself

T = TypeVar("T")
ENDLESS = "(a+)+$b"
APPLICATION = """
import anyio, sys
from agent_sdk.tools.grep import matching_lines

anyio.run(matching_lines, sys.argv[1], [sys.argv[2]], backend=sys.argv[3])
"""


def worker_of(parent: int) -> int | None:
    """The child that searches, whichever thread started it. There are others: trio runs ldconfig at its import."""
    for children in Path(f"/proc/{parent}/task").glob("*/children"):
        with suppress(OSError):  # the thread has ended
            for child in children.read_text().split():
                if grep_worker.__file__.encode() in Path(f"/proc/{child}/cmdline").read_bytes():
                    return int(child)
    return None


def soon(look: Callable[[], T]) -> T:
    """What is seen as soon as it is true, or after half a minute: a fresh process may have to compile everything."""
    until = time.monotonic() + 30
    while not (seen := look()) and time.monotonic() < until:
        time.sleep(0.02)
    return seen


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("later", [0.0, 0.3], ids=["at its start", "in the middle of a search"])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_death_of_the_application_ends_a_search(backend: str, later: float, tmp_path: Path) -> None:
    """SIGKILL leaves the application no time for anything, and Python none to the worker."""
    (tmp_path / "f").write_text("a" * 60 + "\n")
    words = [sys.executable, "-c", APPLICATION, ENDLESS, str(tmp_path / "f"), backend]
    with subprocess.Popen(words, env={**os.environ, "PYTHONPATH": os.getcwd()}) as application:
        try:
            worker = soon(lambda: worker_of(application.pid))
        finally:
            time.sleep(later)
            application.kill()
    assert worker is not None
    assert soon(lambda: not is_alive(worker))


def test_a_search_that_nobody_ends_is_ended_by_the_clock(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a" * 60 + "\n")
    request = {"pattern": ENDLESS, "files": [str(tmp_path / "f")], "limit": 1, "seconds": 1}
    with subprocess.Popen(
        [sys.executable, "-I", "-S", grep_worker.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as worker:
        assert worker.stdin is not None
        worker.stdin.write(json.dumps(request).encode() + b"\n")
        worker.stdin.flush()
        assert worker.wait(timeout=5) == -signal.SIGALRM
