"""Remarks on rules: malformed, dead, shadowed, useless, too wide, look-alike, dodged; and silence on sound ones."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk.errors import RuleError
from agent_sdk.rules.files import TableFiles
from agent_sdk.rules.lint import lint
from agent_sdk.rules.matching import Place, Rulebook
from agent_sdk.rules.probes import Probe, probes
from agent_sdk.rules.rule import Rule, RuleBehavior, RuleSource, read_rules
from tests.rules.support import verdict

CWD, HOME = "/home/ada/app", "/home/ada"
SOURCE = RuleSource("project", "settings.json", CWD)
USER = RuleSource("user", "user.json", f"{HOME}/.claude")


def rules(*texts: str, source: RuleSource = SOURCE) -> list[Rule]:
    """Rules written as `allow Bash(ls)`."""
    found: list[Rule] = []
    for text in texts:
        behavior, _, rule = text.partition(" ")
        known: Sequence[RuleBehavior] = ("allow", "ask", "deny")
        [kind] = [one for one in known if one == behavior]
        found += read_rules([rule], kind, source)[0]
    return found


def remarks(*texts: str) -> list[str]:
    return lint(rules(*texts), cwd=CWD, home=HOME)


MALFORMED = [
    ("Bash(ls", "does not end with"),
    ("(ls)", "does not begin with a tool name"),
    ("", "does not begin with a tool name"),
    ("Read(../x)", "holds '..'"),
    ("Read(!x)", "begins with '!'"),
    ("WebFetch(domain:)", "names no domain"),
    ("WebFetch(domain:https://a.b)", "more than a host"),
    ("WebFetch(a.b)", "not of the form"),
    ("mcp__", "names no server"),
    ("mcp__s__t(x)", "specifier"),
    ("Bash(command:ls)", "main content"),
]


@pytest.mark.parametrize(("text", "why"), MALFORMED, ids=[text for text, _ in MALFORMED])
def test_malformed(text: str, why: str) -> None:
    """A bad allow rule is a warning that names file and rule, a bad deny or ask rule an error."""
    found, [warning] = read_rules([text], "allow", SOURCE)
    assert (found, why in warning, "settings.json allow[0]" in warning) == ([], True, True)
    for behavior in ("ask", "deny"):
        with pytest.raises(RuleError, match=why.replace("'", "."), check=lambda error: error.position == 0):
            read_rules([text], behavior, SOURCE)


DEAD = [
    ("allow Bash(:*)", "names no command"),
    ("allow Bash( ls)", "names no command"),
    ("allow Bash(npm test && npm run lint)", "one command, without operators"),
    ("allow Bash(ls | wc)", "one command, without operators"),
    ("allow Bash(npm test 2>&1)", "one command, without operators"),
    ("allow Bash(done)", "not even the command that it spells"),
    ("allow Bash(rm -rf /)", "not even the command that it spells"),
    ("allow Bash(sudo:*)", "hardly anything behind its words"),
    ("allow Bash(timeout:*)", "hardly anything behind its words"),
    ("allow Bash(node -e:*)", "hardly anything behind its words"),
    ("allow Edit(.git/config)", "can never count"),
    ("allow Edit(~/.bashrc)", "can never count"),
    ("allow Read(src/[b-a].py)", "no path fits it"),
    ("allow Agent(re*)", "an agent of this very name"),
    ("deny Bash(rm)", "covers rm without arguments only"),
]
SHADOWED = [
    (["deny Bash", "allow Bash(ls)"], "allow[0]: 'Bash(ls)' can never count: 'Bash'"),
    (["ask Bash(ls)", "allow Bash(ls)"], "'Bash(ls)' can never count: 'Bash(ls)'"),
    (["deny Bash(git:*)", "allow Bash(git push:*)"], "'Bash(git push:*)' can never count"),
    (["deny Bash(rm:*)", "allow Bash(/bin/rm -r build)"], "can never count"),
    (["deny Bash(rm:*)", "ask Bash(sudo rm:*)"], "ask[0]: 'Bash(sudo rm:*)' can never count"),
    (["deny mcp__s", "ask mcp__s__t"], "'mcp__s__t' can never count"),
    (["deny mcp__s__*", "allow mcp__s__t"], "can never count"),
    (["deny *", "allow mcp__s"], "can never count"),
    (["deny Read(secret/**)", "allow Edit(secret/a.txt)"], "can never count"),
    (["ask Edit(/docs/**)", "allow Edit(docs/api/*.md)"], "can never count"),
    (["deny Read(//**)", "allow Read"], "can never count"),
    (["deny WebFetch(domain:*.example.com)", "allow WebFetch(domain:api.example.com)"], "can never count"),
    (["deny WebFetch", "allow WebFetch(domain:a.b)"], "can never count"),
    (["deny Agent(*)", "allow Agent(helper)"], "can never count"),
]
USELESS = [
    (["allow Bash(npm:*)", "allow Bash(npm test)"], "'Bash(npm test)' adds nothing: 'Bash(npm:*)'"),
    (["allow Bash(npm run build:*)", "allow Bash(npm run:*)"], "'Bash(npm run build:*)' adds nothing"),
    (["allow Bash(ls:*)", "allow Bash(ls *)"], "'Bash(ls *)' adds nothing: 'Bash(ls:*)'"),
    (["allow Read(src/**)", "allow Read(src/a/*.py)"], "'Read(src/a/*.py)' adds nothing"),
    (["allow Read(//home/ada/x/**)", "allow Read(~/x/y)"], "'Read(~/x/y)' adds nothing"),
    (["allow Edit(docs/**)", "allow Read(docs/**)"], "'Read(docs/**)' adds nothing"),
    (["allow WebFetch(domain:*.a.org)", "allow WebFetch(domain:b.a.org)"], "adds nothing"),
    (["allow mcp__s", "allow mcp__s__t"], "'mcp__s__t' adds nothing"),
    (["deny Bash(git:*)", "deny Bash(git push)"], "'Bash(git push)' adds nothing"),
    (["ask Read(**/.env)", "ask Read(config/.env)"], "'Read(config/.env)' adds nothing"),
    (["allow Bash(ls:*)", "allow Bash(ls:*)"], "says the same as settings.json allow[0]"),
]
WIDE = [
    ("allow Bash", "every command"),
    ("allow Bash(*)", "every command"),
    ("allow Write", "every file"),
    ("allow Edit", "every file"),
    ("allow Bash(python3:*)", "any program"),
    ("allow Bash(python3.11 *)", "any program"),
    ("allow Bash(bash:*)", "any program"),
    ("allow Bash(PYTHONPATH=src python:*)", "any program"),
    ("allow Bash(npx:*)", "any program"),
    ("allow Bash(docker run:*)", "any program"),
    ("allow Bash(ssh:*)", "any program"),
    ("allow Bash(* --version)", "no word of it is spelled out"),
    ("allow Edit(//**)", "nearly every file"),
    ("allow Edit(~/**)", "nearly every file"),
    ("allow Read(//**)", "keys and passwords"),
    ("allow Read(~/**)", "keys and passwords"),
    ("allow WebFetch", "any host"),
    ("allow WebFetch(domain:*)", "any host"),
    ("allow WebFetch(domain:*.com)", "hosts of anybody"),
    ("allow WebFetch(domain:*.co.uk)", "hosts of anybody"),
]
LOOK_ALIKE = [
    ("deny bash(rm:*)", "did you mean Bash"),
    ("deny Bsah(rm:*)", "did you mean Bash"),
    ("deny Reed(x)", "did you mean Read"),
    ("ask webfetch", "did you mean WebFetch"),
    ("allow Raed", "did you mean Read"),
    ("deny mcp_github_push", "begin with mcp__"),
    ("deny mcp-github", "begin with mcp__"),
    ("deny Bash(rm\u200b:*)", "nobody sees"),
    ("deny Read(s\u0435cret/**)", "only look like Latin"),
    ("deny Read(/etc/passwd)", "write //etc/passwd"),
    ("deny Read($HOME/.ssh/**)", "taken literally: write ~/"),
    ("deny Read(~ada/x)", "taken literally"),
    ("deny Read(file:///etc/passwd)", "is a URL"),
]
DODGED = [
    ("deny Bash(rm -rf:*)", "Bash(rm:*) covers them all"),
    ("ask Bash(git push --force:*)", "Bash(git push:*) covers them all"),
]
ALONE = [*DEAD, *WIDE, *LOOK_ALIKE, *DODGED]


@pytest.mark.parametrize(("text", "remark"), ALONE, ids=[text for text, _ in ALONE])
def test_a_rule_by_itself(text: str, remark: str) -> None:
    """Each is told once, with its place."""
    [told] = remarks(text)
    assert remark in told
    assert told.startswith("settings.json ")


TOGETHER = [*SHADOWED, *USELESS]


@pytest.mark.parametrize(("texts", "remark"), TOGETHER, ids=["; ".join(texts) for texts, _ in TOGETHER])
@pytest.mark.parametrize("order", [1, -1], ids=["as written", "the other way round"])
def test_rules_together(texts: list[str], remark: str, order: int) -> None:
    """Which rule is dead or useless does not hang on their order, but of equal ones it is the later."""
    told = [
        one for one in remarks(*texts[::order]) if "can never count" in one or "nothing:" in one or "same as" in one
    ]
    assert len(told) == 1
    equal = "says the same" in remark or "ls" in remark
    assert remark in told[0] or (equal and order == -1)


SOUND = [
    ["allow Bash(git:*)", "deny Bash(git push:*)"],
    ["ask mcp__s", "allow mcp__t__u"],
    ["allow Bash(npm test:*)", "allow Bash(npm run build)", "allow Bash(npm run lint:*)"],
    ["allow Bash(find:*)", "allow Bash(find . -name x -delete)"],
    ["allow Bash(git:*)", "allow Bash(git -C /srv/x log)"],
    ["allow Read(src/**)", "allow Edit(src/*)"],
    ["allow Read(src/*)", "allow Read(src/a/b)"],
    ["deny Read(**/.env)", "allow Read(**)", "ask Edit(**/*.lock)"],
    ["allow WebFetch(domain:*.a.org)", "allow WebFetch(domain:a.org)"],
    ["deny Bash(rm:*)", "ask Bash(mv:*)", "allow Bash(ls:*)"],
    ["allow Weather", "deny Reader(x)", "ask *_out", "deny mcp__a__*"],
    ["allow Agent(helper)", "deny Agent(other*)", "ask Bash(timeout:5)"],
    ["allow Bash(cd:*)", "allow Bash(sed:*)", "allow Bash(sleep:*)", "allow Bash(head:*)", "allow Bash(rm:*)"],
    ["allow Bash(mkdir -p /tmp/claude-*)", "allow Bash(sudo apt install:*)", "allow Bash(echo 'a & b')"],
]


@pytest.mark.parametrize("texts", SOUND, ids="; ".join)
def test_sound_rules(texts: list[str]) -> None:
    """Rules that do what they seem to do get no remark."""
    assert remarks(*texts) == []


def test_a_slash_stands_for_the_folder_of_the_source() -> None:
    """`/x` in user settings is another file than `/x` in those of a project."""
    both = [*rules("allow Read(/x/**)"), *rules("allow Read(/x/y)", source=USER)]
    assert lint(both, cwd=CWD, home=HOME) == []
    assert "adds nothing" in lint([*both, *rules("allow Read(.claude/x/y)")], cwd=HOME, home=HOME)[0]


REAL = json.loads((Path(__file__).parent / "real_rules.json").read_text())
ARGUMENTS = [
    "",
    " x",
    " x y",
    " --help",
    " -c x",
    " -o out",
    " $x",
    " *",
    " > out",
    " && rm x",
    " ../x",
    " .git/config",
]


def without(found: Sequence[Rule]) -> list[Rule]:
    """The rules of which no remark says that they do nothing."""
    told = [
        one for one in lint(found, cwd=CWD, home=HOME) if re.search("says the same|can never count|adds nothing", one)
    ]
    places = {one.partition(": ")[0] for one in told}
    return [rule for rule in found if rule.where not in places]


def calls_about(found: Sequence[Rule]) -> list[Probe]:
    """Calls that the rules are about, and commands that go a little further than they do."""
    place = Place(CWD, files=TableFiles(home=HOME))
    made = [probe for rule in found for probe in probes(rule, place)]
    spelled = [str(probe.input["command"]) for probe in made if probe.tool == "Bash"]
    return [*made, *(Probe("Bash", {"command": command + more}) for command in spelled for more in ARGUMENTS)]


@pytest.mark.parametrize("block", REAL, ids=lambda block: f"{sum(map(len, block.values()))} rules")
def test_what_does_nothing_can_be_removed(block: dict[str, list[str]]) -> None:
    """In lists that people really wrote no verdict changes without the rules that are said to do nothing."""
    found = [rule for kind in ("deny", "ask", "allow") for rule in _read(block, kind)]
    place = Place(CWD, files=TableFiles(home=HOME))
    before, after = Rulebook(found), Rulebook(without(found))
    for probe in calls_about(found)[:600]:
        call = probe.reading(place)
        assert verdict(before, call) == verdict(after, call), probe


def _read(block: dict[str, list[str]], kind: str) -> list[Rule]:
    behaviors: Sequence[RuleBehavior] = ("deny", "ask", "allow")
    [behavior] = [one for one in behaviors if one == kind]
    return read_rules(block.get(kind, []), behavior, SOURCE)[0]


@pytest.mark.parametrize("block", REAL, ids=lambda block: f"{sum(map(len, block.values()))} rules")
def test_remarks_stay_short(block: dict[str, list[str]]) -> None:
    """Whole scripts that were saved as rules are not quoted whole."""
    found = [rule for kind in ("deny", "ask", "allow") for rule in _read(block, kind)]
    assert all(len(remark) < 400 for remark in lint(found, cwd=CWD, home=HOME))


def test_many_rules() -> None:
    """A thousand rules are compared with one another in a moment: by halves, not each with each."""
    many = rules(*(f"allow Bash(tool-{number} run:*)" for number in range(500)), "allow Bash(tool-7:*)",
                 *(f"allow Read(folder-{number}/**)" for number in range(500)))  # fmt: skip
    [told] = lint(many, cwd=CWD, home=HOME)
    assert "'Bash(tool-7 run:*)' adds nothing" in told


PIECES = [
    *(
        "Bash",
        "Read",
        "Edit",
        "WebFetch",
        "Agent",
        "mcp__s__t",
        "(",
        ")",
        "domain:",
        "*",
        "**",
        "/",
        "//",
        "~/",
        "[",
        "]",
    ),
    *("!", "\\", "'", '"', "$(", "$x", "`", "&&", "|", ">", ":*", " ", "=", "A=1", "rm", "sudo", "a", "\u200b"),
    *("\u0435", "{a,b}", "\n", "-rf", "x:y", "?", "[!a-b]", "\x01", "\x1f", "\x05"),
]
BODIES = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
TEXTS = st.lists(st.builds("{}({})".format, st.sampled_from(PIECES[:6]), BODIES) | BODIES, max_size=6)


@given(allow=TEXTS, ask=TEXTS, deny=TEXTS)
def test_no_rule_is_too_odd(allow: list[str], ask: list[str], deny: list[str]) -> None:
    """Whatever can be read as a rule can be remarked on."""
    found = read_rules(allow, "allow", SOURCE)[0]
    for behavior, texts in (("ask", ask), ("deny", deny)):
        for text in texts:
            with suppress(RuleError):
                found += read_rules([text], behavior, SOURCE)[0]  # type: ignore[arg-type]
    assert all(isinstance(remark, str) for remark in lint(found, cwd=CWD, home=HOME))
