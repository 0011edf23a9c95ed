"""Print the report: `python -m tests.bench [--quick]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import anyio

from tests.bench.everyday import prompts
from tests.bench.rows import Row, bare_loop, imports, row_a, yardstick
from tests.bench.verdicts import verdicts
from tests.bench.waiting import commit_ms, live, parked, resumed, stored_calls

STATEMENTS = (
    "import agent_sdk",
    "from agent_sdk import query, AgentOptions, Allow",
    "import pydantic.main, anyio",
    "import anthropic",
    "import claude_agent_sdk",
    "import agents",
    "import pydantic_ai",
    "from langchain.agents import create_agent",
)


def table(title: str, rows: Sequence[Row]) -> None:
    """Print rows as a Markdown table."""
    columns = list(rows[0])
    print(f"\n### {title}\n")
    print("| " + " | ".join(columns) + " |")
    print("|" + " --- |" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(row.get(column, "")) for column in columns) + " |")


def main() -> None:
    """Measure and print. Peers that are not installed are named as such."""
    quick = "--quick" in sys.argv
    table("The machine at this moment", [yardstick()])
    table(
        "A: one session in memory, n approved tool calls in a row",
        [row_a(n) for n in ((50,) if quick else (50, 200, 800))],
    )
    table("A, the floor: a bare loop", [anyio.run(bare_loop, 800)])
    table("The disk at this moment", [commit_ms()])
    table(
        "A on disk: one session in SQLite with its journal",
        [anyio.run(stored_calls, n) for n in ((50,) if quick else (50, 200, 800))],
    )
    table(
        "B: n sessions, each waiting on one approval, then approved",
        [anyio.run(row, n) for n in ((500,) if quick else (500, 10_000)) for row in (live, parked)],
    )
    table("C: stop at an approval, resume in a fresh process", [resumed(n) for n in (10, 200, 1000)])
    table("D: import", [imports(statement) for statement in (STATEMENTS[:2] if quick else STATEMENTS)])
    table("V: one verdict, in microseconds", anyio.run(verdicts, 300 if quick else 2_000))
    table("P: prompts for everyday commands of coding agents", prompts())


if __name__ == "__main__":
    main()
