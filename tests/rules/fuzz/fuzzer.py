"""The fuzzer: scripts from the grammar and from known dodges, some wounded, judged under every policy, and tried."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

from tests.rules.fuzz.corpus import made_of_rows
from tests.rules.fuzz.grammar import DODGE, PLAIN, Grammar, mutated
from tests.rules.fuzz.policies import POLICIES, Finding, Policy
from tests.rules.fuzz.real import Scratch

# What expansions may turn into: options, operators and substitutions, all of which must stay plain text.
_VARIABLES = {"x": "-v a[$(evil)] ; evil", "y": "$(evil)", "e": "evil", "e1": "evil"}
_WOUNDED = 0.35
_FROM_ROWS = 0.4
_SHRINKS = 150


class Fuzzer:
    """A reproducible run. `counts` are the figures so far. A context manager: it owns two scratch folders."""

    def __init__(self, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self._chance = random.Random(f"{seed} cases")
        self._stack = ExitStack()
        open_scratch = self._stack.enter_context(Scratch(writable=True, real=False, variables=_VARIABLES))
        shut_scratch = self._stack.enter_context(Scratch(writable=False, real=True, variables={"e": "evil"}))
        self._policies = {
            name: Policy(name, open_scratch if kind == "scoped" else shut_scratch)
            for name, (kind, _, _) in POLICIES.items()
        }
        self._scoped = [policy for policy in self._policies.values() if policy.kind == "scoped"]
        self._plain = Grammar(random.Random(f"{seed} plain"), PLAIN, str(open_scratch.bin), hiding=0.1)
        self._dodge = Grammar(random.Random(f"{seed} dodge"), DODGE, str(shut_scratch.bin), hiding=0.4)
        self._seen: set[int] = set()

    def __enter__(self) -> Fuzzer:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def round(self, cases: int) -> list[Finding]:
        """Judges `cases` new scripts and tries those that are allowed."""
        allowed: dict[str, list[str]] = {}
        found: list[Finding] = []
        for policy, command in self._cases(cases):
            self.counts["cases"] += 1
            passes, finding = policy.judge(command)
            if finding is not None:
                found.append(finding)
            if passes:
                self.counts[f"allowed, {policy.kind}"] += 1
                allowed.setdefault(policy.name, []).append(command)
        for name, commands in allowed.items():
            found += self._policies[name].check(commands, self.counts)
        self.counts["findings"] += len(found)
        return found

    def _cases(self, count: int) -> Iterator[tuple[Policy, str]]:
        chance = self._chance
        for _ in range(count):
            scoped = chance.random() < 0.6
            policy = chance.choice(self._scoped) if scoped else self._policies["denied"]
            if scoped:
                command = self._plain.script()
            elif chance.random() < _FROM_ROWS:
                command = made_of_rows(chance, self._dodge.quoted)
            else:
                command = self._dodge.script()
            if chance.random() < _WOUNDED:
                command = mutated(command, chance)
            key = hash((policy.name, command))
            if key not in self._seen:
                self._seen.add(key)
                yield policy, command

    def shrunk(self, finding: Finding) -> Finding:
        """The finding with as short a command as simple cutting gives."""
        best = finding
        left = _SHRINKS
        size = max(1, len(best.command) // 2)
        while size and left > 0:
            at = 0
            while at < len(best.command) and left > 0:
                left -= 1
                smaller = self._again(replace(best, command=best.command[:at] + best.command[at + size :]))
                best, at = (smaller, at) if smaller is not None else (best, at + size)
            size //= 2
        return best

    def _again(self, finding: Finding) -> Finding | None:
        """The same kind of finding for another command, if it is one."""
        policy = self._policies[finding.policy]
        allowed, wrong = policy.judge(finding.command)
        found = [wrong] if wrong is not None else []
        if allowed:
            found += policy.check([finding.command], Counter())
        return next((each for each in found if each.oracle == finding.oracle), None)
