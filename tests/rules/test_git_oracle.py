"""`git check-ignore` as an oracle for path patterns: what git ignores, a deny rule covers, and the other way round."""

from __future__ import annotations

import itertools
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from agent_sdk.rules.files import TableFiles
from agent_sdk.rules.ground import Ground
from agent_sdk.rules.paths import compile_pattern, pattern_covers
from agent_sdk.rules.rule import RuleSource, parse_rule

NAMES = ["/".join(names) for depth in (1, 2, 3) for names in itertools.product("ab", repeat=depth)]
SEGMENTS = ["a", "b", "*", "?", "[ab]", "a*", "*b", "[!a]"]


def patterns(count: int) -> list[str]:
    """Random patterns; a last `**` and a single star are left out: there we differ from git on purpose."""
    chance = random.Random(7)
    found = []
    for _ in range(count):
        middle = [chance.choice([*SEGMENTS, "**"]) for _ in range(chance.randrange(3))]
        start = chance.choice(["", "", "/"]) if middle else ""
        found.append(start + "/".join([*middle, chance.choice(SEGMENTS)]))
    return [pattern for pattern in found if pattern != "*"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the oracle")
def test_a_deny_rule_covers_what_git_ignores(tmp_path: Path) -> None:
    """Patterns of one to three segments, on all paths of one to three names."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    command = ["git", "check-ignore", "--no-index", "-z", "--stdin"]
    ground = Ground("/w", (), TableFiles())
    for pattern in patterns(80):
        (tmp_path / ".gitignore").write_text(pattern + "\n")
        done = subprocess.run(command, cwd=tmp_path, input="\0".join(NAMES).encode(), capture_output=True, check=False)
        compiled = compile_pattern(parse_rule(f"Read({pattern})", "deny", RuleSource("options", None, "/w"), 0))
        covered = {name for name in NAMES if pattern_covers(compiled, ("w", *name.split("/")), ground)}
        assert covered == set(done.stdout.decode().split("\0")) - {""}, pattern
