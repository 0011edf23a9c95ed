"""Options and program texts that hide a write or another program: no wildcard covers them."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.rules.support import book, reading, verdict

HIDDEN = [
    ("git grep:*", "git grep -nO./pager x"),
    ("git grep:*", "git grep -sOvi x"),
    ("git grep:*", "git grep -n --open=vi x"),
    ("git rebase:*", "git rebase -nx ./run main"),
    ("git rebase:*", "git rebase -mx ./run main"),
    ("git merge:*", "git merge -ns mine main"),
    ("sed:*", "sed --in-pl s/a/b/ .git/config"),
    ("sed:*", "sed --i s/a/b/ /etc/passwd"),
    ("sed:*", "sed -n --e='w out' x"),
    ("sed:*", "sed -n --line-l p 'w out' x"),
    ("sed -n:*", "sed -n -i 1p x"),
    ("sed -n:*", "sed -n 1p -ni x"),
    ("sed -n:*", "sed -n --in-p 1p x"),
    ("sed -n:*", "sed -n 1p --in-place=.bak x"),
    ("tree:*", "tree -R -H . -L 1"),
    ("tree:*", "tree -aR x"),
    ("file:*", "file -z x.lz"),
    ("file:*", "file -bZ x.lz"),
    ("diff:*", "diff -l a b"),
    ("diff:*", "diff --pag a b"),
]
STILL_COVERED = [
    ("git merge:*", "git merge -Xours main"),
    ("git merge:*", "git merge --no-ff main"),
    ("git grep:*", "git grep -n x"),
    ("git pull:*", "git pull --rebase"),
    ("git log:*", "git log -n5"),
    ("sed -n:*", "sed -n '1,5p' x"),
    ("sed -n:*", "sed -n -e '/init/p' x"),
    ("sed -n:*", "sed -n --expression=1p x"),
    ("sed -n:*", "sed -n -E -l 5 1p x"),
    ("sed:*", "sed -i s/a/b/ x"),
    ("sed -i:*", "sed -i -n 1p x"),
    ("tree:*", "tree -a -L 2 -I node_modules"),
    ("file:*", "file -b x"),
    ("diff:*", "diff -u a b"),
]
WRITING_AWK = [
    'BEGIN { y = 1 ? /"/ : 2; print "x" > "out"; z = /"/ }',
    'BEGIN { y = 1 + /"/; print "x" > "out"; z = 1 + /"/ }',
    'BEGIN { if (1) print 1; else /"/; print "x" > "out"; z = /"/ }',
    'BEGIN { print /{/ > "out" }',
    'BEGIN { print "a",\n"b" > "out" }',
    'BEGIN { print "a", # a remark\n"b" > "out" }',
    'BEGIN { print 1 &&\n2 > "out" }',
    'BEGIN { print "a" > "out" }',
    'BEGIN { print "a" | "cat > out" }',
]
PLAIN_AWK = [
    "{print $1}",
    "{ s += $2 } END { print s / NR }",
    '{print (a + b) / c, "x"}',
    "NR >= 10 && NR <= 20",
    "/foo/,/bar/",
    '$1 == "a" { print "x" }',
    'length > 80 { print FILENAME ": " FNR }',
    "{ n[$1]++ } END { for (k in n) print k, n[k] }",
    '{ if ($3 > 3) print $2 }\nEND { printf "%d\\n", NR }',
]


@pytest.mark.parametrize(("rule", "command"), HIDDEN)
def test_a_wildcard_does_not_cover_a_hidden_option(rule: str, command: str) -> None:
    """Clusters, abbreviations and options that a rule for printing cannot have meant are asked."""
    assert verdict(book(allow=[f"Bash({rule})"]), reading("Bash", {"command": command})) == "none"


@pytest.mark.parametrize(("rule", "command"), STILL_COVERED)
def test_what_only_looks_similar_is_covered(rule: str, command: str) -> None:
    """No prompt without need."""
    assert verdict(book(allow=[f"Bash({rule})"]), reading("Bash", {"command": command})) == "allow"


@pytest.mark.parametrize("program", WRITING_AWK)
def test_an_awk_program_that_writes_is_not_covered(program: str, tmp_path: Path) -> None:
    """Slashes that may begin a regular expression, and statements over line ends, hide no output; awk itself agrees."""
    command = "awk " + shlex.quote(program)
    assert verdict(book(allow=["Bash(awk:*)"]), reading("Bash", {"command": command})) == "none"
    if shutil.which("awk"):
        subprocess.run(["awk", program], cwd=tmp_path, check=True, capture_output=True)
        assert (tmp_path / "out").exists()


@pytest.mark.parametrize("program", PLAIN_AWK)
def test_a_plain_awk_program_is_covered(program: str) -> None:
    """Divisions and comparisons need nobody."""
    command = f"awk {shlex.quote(program)} data.txt"
    assert verdict(book(allow=["Bash(awk:*)"]), reading("Bash", {"command": command})) == "allow"
