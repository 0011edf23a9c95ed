"""Wildcards on programs that write, tried in a real bash: nothing protected and nothing outside changes."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from agent_sdk.rules.files import OsFiles
from agent_sdk.rules.matching import Place, Reading, Rulebook, known_facts
from agent_sdk.rules.rule import RuleSource, read_rules

BASH = shutil.which("bash")
PROGRAMS = [
    "cp",
    "mv",
    "ln",
    "rm",
    "mkdir",
    "touch",
    "tee",
    "sed",
    "sort",
    "uniq",
    "install",
    "truncate",
    "rmdir",
    "dd",
]
OPERANDS = [
    *("a", "b", "c", "sub", "sub/", "../out", "../out/o", "{top}/out/o", ".git", ".git/config", ".git/x", ".envrc"),
    *(
        "x/.envrc",
        "x/.git",
        "x/.",
        ".",
        "..",
        "~",
        "~/.bashrc",
        "*",
        ".*",
        "x/*",
        "link",
        "link/o",
        "lf",
        "-",
        "-t",
        "-T",
    ),
    *(
        "-r",
        "-f",
        "-i",
        "-n",
        "-s",
        "-a",
        "-o",
        "-p",
        "-d",
        "-e",
        "-m",
        "755",
        "-sf",
        "--",
        "--target-directory=../out",
    ),
    *(
        "--target=../out",
        "-t../out",
        "of=b",
        "if=a",
        "of=../out/o",
        "s/p/q/",
        "p",
        "'w ../out/w'",
        "--in-place",
        "-i.bak",
    ),
    *(
        "> f",
        "'../out/q'",
        "$HOME/x",
        "$x",
        "{a,../out/z}",
        "src/*.ts",
        "sub/../../out/k",
        "-ft",
        "--no-target-directory",
    ),
]


def build(top: Path) -> None:
    """A project with protected files in it, and things beside it that must stay as they are."""
    shutil.rmtree(top, ignore_errors=True)
    for folder in ("home", "proj/.git", "proj/sub", "proj/x/.git", "proj/src", "out"):
        (top / folder).mkdir(parents=True)
    for file in ("proj/a", "proj/b", "proj/x/.envrc", "proj/src/f.ts", "out/o", "home/.bashrc", "proj/.git/config"):
        (top / file).write_text(file)
    (top / "proj/.envrc").write_text("p")
    (top / "proj/link").symlink_to(top / "out")
    (top / "proj/lf").symlink_to(top / "home/.bashrc")


def guarded(top: Path) -> dict[str, str]:
    """Everything outside of the project and everything protected in it, with its content."""
    found: dict[str, str] = {}
    for path in sorted(top.rglob("*")):
        inside = path.relative_to(top).parts
        if (inside[0] == "proj" and not (".git" in inside or inside[-1] == ".envrc")) or inside[:2] == ("proj", "x"):
            continue
        found["/".join(inside)] = path.read_text() if path.is_file() else ""
    return found


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_what_wildcards_cover_stays_in_its_place(tmp_path: Path) -> None:
    """Of random calls of writers, those that are allowed are run; what is guarded is as it was."""
    top = tmp_path / "top"
    source = RuleSource("options", None, str(top / "proj"))
    rules = Rulebook(read_rules([f"Bash({name}:*)" for name in PROGRAMS], "allow", source)[0])
    chance = random.Random(23)
    build(top)
    before = guarded(top)
    tried = 0
    while tried < 80:
        count = chance.randint(1, 5)
        words = [chance.choice(PROGRAMS), *(chance.choice(OPERANDS) for _ in range(count))]
        command = " ".join(words).replace("{top}", str(top))
        place = Place(str(top / "proj"), files=OsFiles(home=str(top / "home")))
        if rules.allow(Reading("Bash", {"command": command}, known_facts("Bash"), place)) is None:
            continue
        tried += 1
        subprocess.run(
            [BASH or "bash", "--noprofile", "--norc", "-p", "-c", 'eval "$1"', "_", command],
            cwd=top / "proj",
            env={"PATH": os.environ["PATH"], "HOME": str(top / "home")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        )
        assert guarded(top) == before, command
        build(top)
