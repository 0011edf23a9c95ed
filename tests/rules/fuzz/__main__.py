"""The fuzzer for as long as one likes: `python -m tests.rules.fuzz --minutes 60 --seed 1 --report fuzz.txt`."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

from tests.rules.fuzz.fuzzer import Fuzzer
from tests.rules.fuzz.policies import Finding

_ROUND = 600
_KEPT = 40


def main() -> int:
    """Runs the fuzzer, keeps the report up to date, and returns 1 when anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.rules.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", type=Path, default=Path("fuzz-report.txt"))
    options = parser.parse_args()
    started = time.monotonic()
    kept: list[Finding] = []
    kinds: Counter[tuple[str, str]] = Counter()
    with Fuzzer(options.seed) as fuzzer:
        while time.monotonic() - started < 60 * options.minutes:
            for finding in fuzzer.round(_ROUND):
                kind = finding.oracle, finding.policy
                kinds[kind] += 1
                if kinds[kind] <= _KEPT:
                    kept.append(fuzzer.shrunk(finding))
            minutes = (time.monotonic() - started) / 60
            options.report.write_text(_report(options.seed, minutes, fuzzer.counts, kept), errors="backslashreplace")
    print(options.report.read_text())
    return 1 if kept else 0


def _report(seed: int, minutes: float, counts: Counter[str], findings: list[Finding]) -> str:
    lines = [f"seed {seed}, {minutes:.1f} minutes", *(f"{name}: {count}" for name, count in sorted(counts.items()))]
    lines += [f"{each.oracle} ({each.policy}) {each.command!r}: {each.detail}" for each in findings]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
