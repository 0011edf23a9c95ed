"""Ways around a deny rule that were thought of by hand (`dodges.txt`), each held against the rules and against bash."""

from __future__ import annotations

import pytest

from tests.rules.fuzz.corpus import ROWS
from tests.rules.fuzz.policies import Policy
from tests.rules.fuzz.real import Scratch
from tests.rules.support import book, reading, verdict

RULES = book(allow=["Bash"], deny=["Bash(evil:*)"])


@pytest.mark.parametrize(("sign", "command"), ROWS, ids=[f"{number}" for number in range(len(ROWS))])
def test_no_way_around_a_deny_rule(sign: str, command: str) -> None:
    """What may run a denied program is denied or asked about; what only looks like it passes under the whole tool."""
    judged = verdict(RULES, reading("Bash", {"command": command}))
    assert (judged == "allow") == (sign == "="), command


@pytest.mark.slow
def test_bash_agrees_with_the_table() -> None:
    """In a real bash the denied program runs in nearly all rows that say so, and in none that the rules allow."""
    ran: dict[str, list[bool]] = {"!": [], "?": [], "=": []}
    with Scratch(writable=False, real=True, variables={"e": "evil"}) as scratch:
        policy = Policy("denied", scratch)
        for sign, command in ROWS:
            done = "evil" in scratch.run(command).names
            ran[sign].append(done)
            assert not (done and policy.allows(command)), command
    assert not any(ran["="])
    assert sum(ran["!"]) > 0.9 * len(ran["!"])  # some need programs, or a version of bash, that are not everywhere


@pytest.mark.parametrize(
    "command",
    [
        "awk '{print $1}' f | sort | uniq -c",
        "awk 'NR==1 || /x|y/ {print}' f",
        "awk 'BEGIN { while ((\"date\" | getline d) > 0) print d }'",
        "sed -n '1,5p' f; sed -i 's/a/b/g' f",
        "git commit -m 'use `foo` and $(bar)'",
        'git commit -m "fix: [x] use \\`evil\\`"',
        "[[ -f package.json ]] && npm test",
        "i=0; while ((i<3)); do echo $i; ((i++)); done",
        'arr=(a b c); echo "${arr[0]}" "${x:0:3}"',
        'x=$(git rev-parse HEAD); [[ $x -eq 1 ]] || echo "$x"',
        "bash -lc 'npm test' && bash script.sh > log",
        "sh -c 'for i in 1 2; do echo $i; done'",
        'cat <<E > f\nhello $x `date` $(date "+%F")\nE',
        "cat > x.py <<'E'\nprint(\"$(x)\")\nE\npython3 x.py",
        "find . -exec sh -c 'wc -l \"$1\"' _ {} \\;",
        "xargs -I{} echo {} < f",
        'while read -r l; do echo "$l"; done < f',
        "sudo -i ls; sudo -v",
        "env A=1 npm test; export B=2",
        "rsync -av a b; tar -czf x.tgz src; ssh -o StrictHostKeyChecking=no host ls",
        "uv run pytest evil; poetry run pytest",
        "mapfile -t lines < f; declare -A m; m[a]=1",
        'for f in *.py; do wc -l "$f"; done',
        "trap 'echo bye' EXIT; set -euo pipefail; ls",
        "diff <(sort a) <(sort b)",
        "curl -s x | jq '.[] | select(.a==\"b\")'",
    ],
)
def test_everyday_commands_are_not_asked_about(command: str) -> None:
    """With a deny rule for another program they pass under the whole tool."""
    assert verdict(RULES, reading("Bash", {"command": command})) == "allow"
