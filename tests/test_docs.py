"""The documentation is true: its examples run, print what it says, and its commands work.

A block of `python` is run in an empty folder; a block of `text output` below it is what it prints. `python pytest` is a
test file, `python conftest` a `conftest.py` for it. A table with the columns rules, call and verdict is run through
PermissionPolicy, row by row, on the disk that a block of `json disk` on its page describes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from ast import literal_eval
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest

from agent_sdk import (
    AgentOptions,
    Allow,
    AskUserQuestionConfig,
    HookContext,
    HookMatcher,
    InMemoryStore,
    PermissionContext,
    PermissionPolicy,
    query,
)
from agent_sdk.cli.main import main
from agent_sdk.hooks.events import HOOK_EVENTS
from agent_sdk.permissions.judge import STEPS
from agent_sdk.testing import PolicyCase, ScriptedModel, TableFiles, assert_policy
from agent_sdk.tools.builtin import BUILTIN_TOOLS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
CELL = re.compile(r"(?<!\\)\|")
CODE = re.compile(r"(`+) ?(.+?) ?\1(?!`)")
MAIN_FIELDS = {"Bash": "command", "WebFetch": "url", "Agent": "subagent_type", "NotebookEdit": "notebook_path",
               "Grep": "path"}  # fmt: skip
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#([^)]+))?\)")
RUN_BLOCKS = ("python", "python pytest", "python conftest")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a table of rules. `rules` are written as `allow Bash(ls)`; `call` as `Bash: ls`, or with JSON."""

    page: Path
    line: int
    rules: tuple[str, ...]
    call: str
    verdict: str
    mode: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"

    @property
    def case(self) -> PolicyCase:
        """The call, and what is expected of it."""
        tool, _, text = self.call.partition(": ")
        tool_input: dict[str, Any] = {MAIN_FIELDS.get(tool, "file_path"): text.replace("↵", "\n")} if text else {}
        if text.startswith('{"'):
            tool_input = json.loads(text)
        assert self.verdict in ("allow", "ask", "deny")
        return PolicyCase(tool, tool_input, self.verdict, where=str(self))  # type: ignore[arg-type]

    def policy(self) -> PermissionPolicy:
        """These rules and no others, on the disk of the page."""
        disks = [json.loads(text) for info, text, _ in blocks(self.page) if info == "json disk"]
        cwd, disk = disks[0].pop("cwd"), disks[0]
        rules = {kind: [rule[len(kind) + 1 :] for rule in self.rules if rule.startswith(f"{kind} ")]
                 for kind in ("allow", "ask", "deny")}  # fmt: skip
        assert sum(map(len, rules.values())) == len(self.rules)
        mode: Any = self.mode or None
        return PermissionPolicy.load(cwd=cwd, setting_sources=(), files=TableFiles(**disk), mode=mode, **rules)


def tables(page: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of all tables on a page: the line, and the text under each heading."""
    columns: list[str] = []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        cells = [cell.strip().replace("\\|", "|") for cell in CELL.split(line)[1:-1]] if line.startswith("|") else []
        if not cells:
            columns = []
        elif not columns:
            columns = cells
        elif not set(line) <= set("|-: "):
            yield number, dict(zip(columns, cells, strict=True))


def rows(page: Path) -> Iterator[Row]:
    """The rows of all tables of rules on a page."""
    for number, row in tables(page):
        if {"rules", "call", "verdict"} <= set(row):
            [(_, call)] = CODE.findall(row["call"])
            rules = tuple(text for _, text in CODE.findall(row["rules"]))
            yield Row(page=page, line=number, rules=rules, call=call, verdict=row["verdict"], mode=row.get("mode", ""))


def column(page: str, name: str, value: str) -> dict[str, list[str]]:
    """What a page lists: the code in column `name` of the tables with these two columns, and the codes beside it."""
    found = [row for _, row in tables(ROOT / "docs" / page) if {name, value} <= set(row)]
    return {row[name].strip("`"): [code for _, code in CODE.findall(row[value])] for row in found}


ROWS = [row for page in PAGES for row in rows(page)]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row_of_a_table_of_rules(row: Row) -> None:
    """With these rules, and no others, the call is decided as the page says."""
    assert_policy(row.policy(), [row.case])


def test_the_rule_reference_is_run() -> None:
    """The tables are found: a reference that nobody runs would pass every test."""
    assert sum(row.page.name == "rules.md" for row in ROWS) > 150
    assert {row.verdict for row in ROWS} == {"allow", "ask", "deny"}


def test_the_steps_of_a_trace_are_listed() -> None:
    """The table on permissions names every step, in its order."""
    assert list(column("permissions.md", "step of the trace", "has an opinion when")) == [
        step.__name__ for step in STEPS
    ]


def test_the_built_in_tools_are_listed() -> None:
    """Each with every field of its input, those that must be there first."""
    listed = column("permissions.md", "built-in tool", "fields of its input, optional ones in brackets")
    assert listed.pop("AskUserQuestion") == ["questions"]
    assert set(listed) == set(BUILTIN_TOOLS)
    for name, tool in BUILTIN_TOOLS.items():
        schema: Any = tool.input_schema
        assert set(listed[name]) == set(schema["properties"])
        assert set(listed[name][: len(schema["required"])]) == set(schema["required"])


def test_the_context_of_a_callback_is_listed() -> None:
    """The table on permissions names every field, and the method."""
    names = {field.name for field in fields(PermissionContext) if not field.name.startswith("_")}
    assert set(column("permissions.md", "field of the context", "holds")) == {*names, "recheck()"}


def test_defaults_on_the_pages_are_true() -> None:
    """Those of the options about time, and those of HookMatcher, which is listed whole."""
    options = {name: field.default for name, field in AgentOptions.model_fields.items()}
    listed = column("permissions.md", "option", "default")
    assert {name: literal_eval(code) for name, [code] in listed.items()} == {name: options[name] for name in listed}
    assert set(listed) >= {"approval_timeout", "on_timeout"}
    matcher = {field.name: field.default for field in fields(HookMatcher) if field.init}
    listed = column("hooks.md", "field", "default")
    assert {name: literal_eval(code) for name, [code] in listed.items()} == matcher
    assert AskUserQuestionConfig().timeout is None


@pytest.mark.anyio
async def test_the_keys_that_a_hook_is_told_are_listed(tmp_path: Path) -> None:
    """In a run in which every event happens, each hook gets the listed keys and no others."""
    seen: dict[str, set[str]] = {}

    async def hook(input_data: dict[str, Any], tool_use_id: str | None, context: HookContext) -> None:
        seen[input_data["hook_event_name"]] = set(input_data)

    async def can_use_tool(tool_name: str, tool_input: dict[str, Any], context: PermissionContext) -> Allow:
        return Allow()

    calls = [{"type": "tool_use", "name": "Bash", "input": {"command": command}} for command in ("true", "false")]
    hooks = {event: [HookMatcher(None, [hook])] for event in HOOK_EVENTS}
    options = AgentOptions(
        model=ScriptedModel([calls]),
        can_use_tool=can_use_tool,
        hooks=hooks,
        cwd=tmp_path,
        session_store=InMemoryStore(),
    )
    async for _ in query("Go.", options=options):
        pass
    listed = column("hooks.md", "at", "keys of `input_data`")
    common = set(listed.pop("every event"))
    assert seen == {event: {*common, *keys} for event, keys in listed.items()}
    assert set(seen) == set(HOOK_EVENTS)


def test_the_table_of_the_page_on_testing_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that stands below it finds every call decided as expected."""
    found = blocks(ROOT / "docs" / "testing.md")
    [(place, table)] = [(place, text) for place, (info, text, _) in enumerate(found) if info == "json"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.json").write_text(table)
    assert main(found[place + 1][1].split()[1:]) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("chosen", "runs"), [(False, 2), (True, 1)], ids=["every back end", "asyncio is chosen"])
def test_the_test_file_of_the_page_on_testing_passes(chosen: bool, runs: int, tmp_path: Path) -> None:
    """It runs as shown, on asyncio and on trio, or the one that the fixture names, and leaves the user's store be."""
    parts = {info: text for info, text, _ in blocks(ROOT / "docs" / "testing.md")}
    home, folder = tmp_path / "home", tmp_path / "folder"
    home.mkdir()
    folder.mkdir()
    (folder / "test_example.py").write_text(parts["python pytest"])
    if chosen:
        (folder / "conftest.py").write_text(parts["python conftest"])
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT)}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # so that it is the same where the package is not installed
    plugins = ["-p", "anyio", "-p", "agent_sdk.testing.plugin", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(folder), *plugins, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"= {runs} passed in" in done.stdout
    assert list(home.iterdir()) == []


def test_every_block_of_python_is_run() -> None:
    """There is no other kind of them, and every output belongs to a block."""
    infos = [info for page in PAGES for info, _, _ in blocks(page)]
    assert {info for info in infos if info.startswith("python")} == set(RUN_BLOCKS)
    assert (infos.count("python pytest"), infos.count("python conftest")) == (1, 1)
    assert infos.count("text output") == sum(example.output is not None for example in EXAMPLES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every link inside the project names something that is there: a file, and where it says so a heading in it."""
    for target, heading in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target
        if heading:
            titles = re.findall(r"^#+ (.*)$", (page.parent / target).read_text(), re.MULTILINE)
            assert heading in [re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles]


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
