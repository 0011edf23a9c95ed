"""Laws that hold for every command: random scripts against bash itself, against shfmt, and against one another."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_sdk.rules.deny_readings import deny_readings
from agent_sdk.rules.files import OsFiles
from agent_sdk.rules.matching import Place, Reading, Rulebook, known_facts
from agent_sdk.rules.rule import RuleSource, read_rules
from agent_sdk.rules.shell import read_command
from tests.rules.support import book, reading, verdict

STRICTNESS = {"allow": 0, "none": 1, "ask": 1, "deny": 2}
ALLOWED = ["ls", "cat", "git", "npm", "grep", "echo", "true", "printf", "[", "test", "cd", "pwd"]

PIECES = [
    *(
        "ls",
        "cat",
        "git",
        "npm",
        "grep",
        "echo",
        "printf",
        "[",
        "]",
        "test",
        "cd",
        "sub",
        "rm",
        "evil",
        "x",
        "-v",
        "-n",
    ),
    *("=", " ", " ", " ", "\n", ";", "&", "&&", "||", "|", "(", ")", "{", "}", "!", "<", ">", ">>", "<<<", "<<E"),
    *("<<'E'", "\nE\n", '"', "'", "\\", "\\\n", "$", "$(", "`", "$x", '"$x"', "$((", "))", "$'", "*", "~", "#", " #"),
    *(";;", "time", "if", "then", "fi", "for", "in", "do", "done", "case", "esac", "function", "coproc", "[[", "]]"),
    *("2>&1", ">/dev/null", "&>", "A=1", "LANG=C", "timeout 5", "nice", "command", "builtin", '"a b"', "a\\ b"),
    *("$(cat <<'E'\n", "\nE\n)", "rm x", "\t", "{a,b}", "$IFS", "-e", "eval", "exec", ".", ":", "é", "a[", "sh -c "),
]
SIMPLE = ["ls", "echo a", "git x", "cat f", "npm t", "grep a b", "printf %s a", "[ -f a ]", "test a", "cd sub"]

scripts = st.lists(st.one_of(st.sampled_from(SIMPLE), st.sampled_from(PIECES)), min_size=1, max_size=9).map("".join)


def judge(command: str, **rules: list[str]) -> str:
    """The verdict of rules on a command."""
    return verdict(book(**rules), reading("Bash", {"command": command}))


@settings(max_examples=150, deadline=None)
@given(st.one_of(scripts, st.text(max_size=60)))
def test_nothing_raises(command: str) -> None:
    """Any text has a verdict, and one that is allowed by name is allowed to the whole tool as well."""
    scoped = judge(command, allow=[f"Bash({name}:*)" for name in ALLOWED])
    assert scoped in ("allow", "none")
    if scoped == "allow":
        assert judge(command, allow=["Bash"]) == "allow"


@settings(max_examples=150, deadline=None)
@given(scripts, st.sampled_from(["Bash(rm:*)", "Bash(ls:*)", "Bash(git x)", "Bash(* a)", "Edit(f)", "Read(**)"]))
def test_a_deny_rule_never_loosens(command: str, rule: str) -> None:
    """With one more deny or ask rule every verdict is at least as strict."""
    allow = ["Bash", "Bash(ls:*)"]
    before = judge(command, allow=allow, ask=["Bash(cat:*)"])
    assert STRICTNESS[judge(command, allow=allow, ask=["Bash(cat:*)"], deny=[rule])] >= STRICTNESS[before]
    assert STRICTNESS[judge(command, allow=allow, ask=["Bash(cat:*)", rule])] >= STRICTNESS[before]


@settings(max_examples=150, deadline=None)
@given(scripts, scripts, st.sampled_from([" && ", "; ", " || ", " | ", "\n", " & "]))
def test_two_commands_are_never_wider_than_each(first: str, second: str, operator: str) -> None:
    """Where both parts are plain, a list of them is allowed only if each part is."""
    rules = [f"Bash({name}:*)" for name in ("ls", "echo", "git", "cat")]
    plain = read_command(first).plain and read_command(second).plain and "\n" not in first and "#" not in first
    if plain and judge(first + operator + second, allow=rules) == "allow":
        assert judge(first, allow=rules) == "allow"
        assert judge(second, allow=rules) == "allow"


RUNNERS = [
    *("sudo {}", "env A=1 {}", "command {}", "timeout 5 {}", "nice -n 5 {}", "exec {}", "eval {}", "xargs {}"),
    *(
        "find . -exec {} \\;",
        "setsid {}",
        "busybox {}",
        "nohup {}",
        "sudo -u root -- {}",
        "stdbuf -oL {}",
        "flock l {}",
    ),
    *("env -i {}", "exec -a x {}", "time -p -- {}", "timeout -k 1 5 {}", "xargs -0 -n1 {}", "xargs -I{{}} {}"),
    *("command -p -- {}", "builtin command {}", "uv run {}", "bundle exec {}", "sudo nice {}", "parallel {} ::: a"),
]
SYNTAX = [
    *("A=1 {}", "! {}", "({})", "{{ {}; }}", "$({})", "`{}`", "cat <({})", "if {}; then :; fi", "time {}", "coproc {}"),
    *("for i in 1; do {}; done", "f() {{ {}; }}", 'echo "$({})"', "echo ${{x:-$({})}}", "a | {}", "{} > f"),
    *("sh <<E\n{}\nE", "while {}; do :; done", "case a in a) {};; esac", "> f {}", "cat <<E\n$({})\nE", "tee >({})"),
    *("[[ $({}) ]]", "(( $({}) ))", "a[$({})]=1", "echo ${{a[$({})]}}", "cat <<< $({})", "coproc N {{ {}; }}"),
    *("select i in 1; do {}; done", "ls \\\n; {}", "until {}; do :; done", "a |& {}", "a & {}", "exec > >({})"),
]
STRINGS = [
    *("sh -c '{}'", "bash -xc '{}'", "trap '{}' EXIT", "echo '{}' | sh", "eval '{}'", "su -c '{}'", "sh <<< '{}'"),
    *("bash -lc '{}'", "find . -exec sh -c '{}' \\;", "xargs sh -c '{}'", "env -S '{}'", "mapfile -C '{}' -c 1 x < f"),
    *(". /dev/stdin <<< '{}'", "printf '%s\\n' '{}' | bash -s", "cat <<< '{}' | sh", "sh < <(echo '{}')"),
    *("alias x='{}'", "x='{}'; eval \"$x\"", "{{ sh; }} <<< '{}'", "f() {{ sh; }}; f <<< '{}'", "sudo -s <<< '{}'"),
]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(
        [
            *(
                "rm x",
                "/bin/rm x",
                "\\rm x",
                "r''m x",
                "RM x",
                "rm",
                '"rm" x',
                "r\\m x",
                "$'rm' x",
                "{rm,x}",
                "r$u''m x",
            ),
            *("../../bin/rm x", "/usr/bin/../bin/rm x", "$'\\x72m' x", "r{m,} x", "A=1 rm x", "rm\tx", "r`:`m x"),
        ]
    ),
    st.lists(st.sampled_from(RUNNERS), max_size=2),
    st.lists(st.sampled_from(SYNTAX), max_size=1),
    st.lists(st.sampled_from(STRINGS), max_size=2),
    st.sampled_from(["ls; ", "a && ", "", "a\n"]),
)
def test_a_disguised_program_is_never_allowed(
    command: str, runners: list[str], syntax: list[str], strings: list[str], before: str
) -> None:
    """However it is wrapped, a denied program does not pass under the whole tool."""
    for layer in (*runners, *syntax):
        command = layer.format(command)
    for layer in strings:
        command = layer.format(command.replace("'", "'\\''"))
    assert judge(before + command, allow=["Bash"], deny=["Bash(rm:*)"]) in ("deny", "none")


@pytest.mark.parametrize(
    "command",
    [
        *("echo " + "a " * 40_000, "$(" * 40_000, "`" * 80_000, "'" * 79_999, '"' * 79_999, "{a," * 25_000),
        *("(" * 80_000, "cat <<E\n" * 10_000, "a;" * 40_000, 'sh -c "' * 10_000, "eval " * 16_000, "${" * 40_000),
        *(
            "echo a|sh|" * 8_000,
            "sudo " * 1_900,
            "{a,b}" * 1_900,
            "find " + "-exec " * 1_600,
            "$x" * 4_900,
            "\\" * 80_000,
        ),
        *(
            "[" * 80_000,
            "[[ " * 26_000,
            "${@[" * 20_000,
            "sed " + "-e s/a/b/ " * 8_000,
            "sed 's/" + "[" * 79_000 + "]'",
        ),
        *("sudo -u " * 10_000, "xargs -I " * 8_000, "mapfile -C a " * 6_000, "cat " + "a=$(b) " * 11_000),
        *("cp " + "-t a " * 8_000 + "b " * 20_000, "tee >(a) " * 8_000),
    ],
    ids=lambda command: f"{command[:12]!r}",
)
@pytest.mark.parametrize("tail", ["", "; rm x"])
def test_hostile_texts_are_judged_in_bounded_time(command: str, tail: str) -> None:
    """No nesting and no length makes it hang, or lets pass what stands behind it."""
    judged = judge(command + tail, allow=["Bash"], deny=["Bash(rm:*)"])
    assert not tail or judged in ("deny", "none")


def test_no_limit_switches_deny_off() -> None:
    """Length, number of parts and nesting weaken allow only."""
    for command in (
        "true; " * 200 + "rm x",
        "echo " + "x" * 50_000 + "; rm x",
        "$(" * 300 + "rm x" + ")" * 300,
        "ls \u202e; rm x",
        "ls\r; rm x",
        "a <<A <<B\nA\nB\nrm x",
    ):
        assert judge(command, allow=["Bash"], deny=["Bash(rm:*)"]) == "deny"


BASH = shutil.which("bash")


def random_script(chance: random.Random) -> str:
    """A script that is often plain and often nearly so."""
    if chance.random() < 0.5:
        parts = [chance.choice(SIMPLE)] + [chance.choice(PIECES) for _ in range(chance.randint(1, 5))]
        return chance.choice(["", " "]).join([*parts, chance.choice([*SIMPLE, ""])])
    text = " && ".join(chance.choice(SIMPLE) for _ in range(chance.randint(1, 3)))
    for _ in range(chance.randint(1, 3)):
        at = chance.randint(0, len(text))
        text = text[:at] + chance.choice(PIECES) + text[at:]
    return text


class Stubs:
    """A folder whose programs only note that they ran, and a working directory."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.log = folder / "log"
        bin_folder = folder / "bin"
        for made in (bin_folder, self.work / "sub"):
            made.mkdir(parents=True)
        for name in ("ls", "cat", "git", "npm", "grep", "rm", "evil", "x", "f", "a", "time", "sub"):
            stub = bin_folder / name
            stub.write_text(f'#!{BASH}\nbuiltin echo "{name}" >> "{self.log}"\n')
            stub.chmod(0o755)
        for name in ("timeout", "nice", "env", "xargs", "sh"):
            real = shutil.which(name)
            if real:
                (bin_folder / name).symlink_to(real)
        self.environment = {"PATH": str(bin_folder), "HOME": str(folder), "x": "-v a[$(evil)] ; rm"}

    def run(self, command: str) -> list[str]:
        """Runs a command as the Bash tool does and says which programs ran."""
        self.log.unlink(missing_ok=True)
        subprocess.run(
            [BASH or "bash", "--noprofile", "--norc", "-p", "-c", 'eval "$1"', "_", command],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        )
        return self.log.read_text().split() if self.log.exists() else []


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_allowed_commands_run_nothing_else_in_a_real_bash(tmp_path: Path) -> None:
    """Of random scripts, those that are allowed are run: no program ran without a rule, and no file was made."""
    stubs = Stubs(tmp_path)
    source = RuleSource("options", None, str(stubs.work))
    rules = Rulebook(read_rules([f"Bash({name}:*)" for name in ALLOWED], "allow", source)[0])
    place = Place(str(stubs.work), files=OsFiles(home=str(tmp_path)))
    chance = random.Random(20)
    allowed = 0
    for _ in range(1500):
        command = random_script(chance)
        if rules.allow(Reading("Bash", {"command": command}, known_facts("Bash"), place)) is None:
            continue
        allowed += 1
        ran = stubs.run(command)
        assert set(ran) <= {*ALLOWED, "time"}, command
        assert os.listdir(stubs.work) == ["sub"], command
    assert allowed > 100


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_a_denied_program_never_ran_in_a_real_bash(tmp_path: Path) -> None:
    """Of random scripts under the whole tool, those that pass a deny rule are run: the denied program did not run."""
    stubs = Stubs(tmp_path)
    source = RuleSource("options", None, str(stubs.work))
    rules = Rulebook(
        [*read_rules(["Bash"], "allow", source)[0], *read_rules(["Bash(rm:*)"], "deny", source)[0]],
    )
    place = Place(str(stubs.work), files=OsFiles(home=str(tmp_path)))
    chance = random.Random(21)
    tried = 0
    while tried < 120:
        command = random_script(chance)
        call = Reading("Bash", {"command": command}, known_facts("Bash"), place)
        if "rm" not in command or rules.deny(call) or not rules.allow(call):
            continue
        tried += 1
        assert "rm" not in stubs.run(command), command


SHFMT = shutil.which("shfmt", path=f"{Path(os.sys.executable).parent}{os.pathsep}{os.environ['PATH']}")  # type: ignore[attr-defined]


def programs(node: object) -> set[str]:
    """The names of all programs in shfmt's tree, as far as they are literal."""
    found: set[str] = set()
    todo = [node]
    while todo:
        match todo.pop():
            case {"Type": "CallExpr", **rest}:
                arguments = rest.get("Args") or []
                if isinstance(arguments, list) and arguments:
                    parts = arguments[0].get("Parts", [])
                    if len(parts) == 1 and parts[0].get("Type") == "Lit":
                        found.add(parts[0]["Value"])
                todo += rest.values()
            case dict() as inner:
                todo += inner.values()
            case list() as items:
                todo += items
    return found


@pytest.mark.skipif(SHFMT is None or BASH is None, reason="needs shfmt and bash")
def test_another_parser_finds_no_program_that_deny_misses() -> None:
    """For random scripts that bash accepts, every literal program name in shfmt's tree is among the readings."""
    chance = random.Random(22)
    compared = 0
    while compared < 120:
        command = random_script(chance)
        if "\\\n" in command or "\r" in command:
            continue
        checked = subprocess.run([BASH or "bash", "-n", "-c", command], capture_output=True, check=False)
        if checked.returncode or checked.stderr:
            continue
        shown = subprocess.run(
            [SHFMT or "shfmt", "--to-json"], input=command.encode(), capture_output=True, check=False
        )
        if shown.returncode:
            continue
        compared += 1
        names = {argv.words[0] for argv in deny_readings(read_command(command)).argvs}
        missing = {name for name in programs(json.loads(shown.stdout)) if name.isalpha()} - names
        assert not missing, (command, missing)
