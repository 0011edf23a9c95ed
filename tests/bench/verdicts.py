"""What one verdict costs: as a dry run, and as a running session judges, its look at the settings files included."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from pathlib import Path
from time import perf_counter

from agent_sdk import AgentOptions, InMemoryStore, PermissionPolicy, Verdict
from agent_sdk.calls import ToolCall
from agent_sdk.permissions.judge import Case, judge
from agent_sdk.rules.matching import known_facts
from agent_sdk.session import Session
from agent_sdk.testing import ScriptedModel
from tests.bench.rows import Row

Input = dict[str, str]
Judge = Callable[[str, Input], Awaitable[Verdict]]

ALLOW = ["Bash(npm test:*)", "Bash(pytest:*)", "Bash(cd:*)", "Bash(tail:*)", "Edit(src/**)", "mcp__notes"]
ASK = ["Bash(git push:*)"]
DENY = ["Bash(rm:*)", "Bash(curl:*)", "Read(./.env)", "Edit(//etc/**)", "WebFetch(domain:*.evil.example)"]
NEW = {
    "Bash new, simple": "pytest tests/test_x{}.py -q",
    "Bash new, quoted": "npm test -- --grep 'name {}'",
    "Bash new, three programs": "cd sub && npm test -- --grep name{} 2>&1 | tail -5",
    "Bash new, with a variable": 'npm test -- --grep "name{} of $USER"',
    "Bash new, nothing matches": "make target{}",
}


def tree(workspace: Path, size: int) -> list[str]:
    """Make so many files in nested folders of the workspace. Their absolute paths."""
    files = [workspace / f"src/app/package{number % 20}/part{number % 7}/file{number}.py" for number in range(size)]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("a")
    return [str(file) for file in files]


def calls(files: list[str]) -> Mapping[str, tuple[str, Callable[[int], Input]]]:
    """The rows: a tool, and its input for each number. New ones are different each time, the others the same.

    So many calls in a row name different `files`, all of which exist, as there are files.
    """
    main = files[0]
    size = len(files)
    rows: dict[str, tuple[str, Callable[[int], Input]]] = {
        "whole tool": ("mcp__notes__add", lambda number: {"text": "x"}),
        "Bash seen": ("Bash", lambda number: {"command": "npm test -- --watch"}),
        "Bash seen, three programs": ("Bash", lambda number: {"command": "cd sub && npm test 2>&1 | tail -5"}),
        "Bash seen, nothing matches": ("Bash", lambda number: {"command": "make all"}),
        "Edit, same file": ("Edit", lambda number: {"file_path": main, "old_string": "a", "new_string": str(number)}),
        "Read, same file": ("Read", lambda number: {"file_path": main}),
        "Edit, another file each time": (
            "Edit",
            lambda number: {"file_path": files[number % size], "old_string": "a", "new_string": "b"},
        ),
        "Read, another file each time": ("Read", lambda number: {"file_path": files[number % size]}),
    }
    for name, text in NEW.items():
        rows[name] = ("Bash", lambda number, text=text: {"command": text.format(number)})
    return rows


def many(size: int) -> list[str]:
    """So many allow rules that cover none of the calls."""
    kinds = ("Bash(tool{}:*)", "Edit(pkg{}/**)", "mcp__server{}", "Bash(npm run task{})")
    return [kinds[number % len(kinds)].format(number) for number in range(size)]


def dry(workspace: Path, allow: list[str]) -> Judge:
    """`PermissionPolicy.evaluate`."""
    policy = PermissionPolicy.load(cwd=workspace, allow=allow, ask=ASK, deny=DENY)

    async def evaluate(tool: str, tool_input: Input) -> Verdict:
        return policy.evaluate(tool, tool_input)

    return evaluate


async def live(workspace: Path, allow: list[str]) -> Judge:
    """What a session does before it hears hooks or people: look at the settings files, and judge."""
    options = AgentOptions(
        model=ScriptedModel([]), cwd=workspace, allow=allow, ask=ASK, deny=DENY, session_store=InMemoryStore()
    )
    session = Session(options, InMemoryStore(), "bench")
    await session.start()

    async def settle(tool: str, tool_input: Input) -> Verdict:
        await session.policy.refresh()
        call = ToolCall(id="t", tool=tool, said=tool_input, effective=tool_input, cwd=session.cwd)
        facts, snapshot = known_facts(tool), session.policy.snapshot
        return judge(Case(call=call, original=tool_input, facts=facts, snapshot=snapshot))

    return settle


async def verdicts(times: int) -> list[Row]:
    """Median and mean of each kind of call, under ten rules and under ten thousand."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        (workspace / "sub").mkdir()
        files = tree(workspace, times)
        numbers = count()
        for size in (len(ALLOW) + len(ASK) + len(DENY), 10_000):
            allow = [*ALLOW, *many(size - len(ALLOW) - len(ASK) - len(DENY))]
            judges = {"dry run": dry(workspace, allow), "session": await live(workspace, allow)}
            for name, (tool, tool_input) in calls(files).items():
                row: Row = {"call": name, "rules": size}
                for how, one in judges.items():
                    spent = await timed(one, tool, [tool_input(next(numbers)) for _ in range(times)])
                    row |= {f"{how}, median": spent[0], f"{how}, mean": spent[1], "verdict": spent[2]}
                rows.append(row)
    return rows


async def timed(one: Judge, tool: str, inputs: list[Input]) -> tuple[float, float, str]:
    """Median and mean of one verdict in microseconds, and the last of the verdicts."""
    verdict = await one(tool, inputs[0])
    spent: list[float] = []
    for tool_input in inputs:
        started = perf_counter()
        verdict = await one(tool, tool_input)
        spent.append((perf_counter() - started) * 1e6)
    return round(statistics.median(spent), 1), round(statistics.mean(spent), 1), verdict.behavior
