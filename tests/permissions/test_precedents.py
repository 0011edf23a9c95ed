"""A verdict that was given before is given again only while all that it rests on is as it was."""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_sdk import Ask, Deny, PermissionPolicy, Verdict
from agent_sdk.calls import ToolCall
from agent_sdk.permissions.finding import _MAX_KEPT, Finding, Precedents
from agent_sdk.permissions.judge import Case, find, judge
from agent_sdk.rules.files import Glance, OsFiles
from agent_sdk.rules.matching import known_facts
from agent_sdk.session import opened_file
from agent_sdk.tools.read import READ
from tests.support.disk import lies_in

ALLOW = ["Edit(src/**)", "Bash(cat:*)", "Bash(cd:*)", "Bash(npm test:*)", "Bash(tee:*)", "mcp__notes"]
DENY = ["Read(./secret/**)", "Edit(//etc/**)", "Bash(rm:*)"]


def policy(folder: Path, **rules: list[str]) -> PermissionPolicy:
    """A policy for a folder, under these rules and no settings files."""
    given = {"allow": ALLOW, "deny": DENY} | rules
    return PermissionPolicy.load(cwd=folder, setting_sources=(), **given)  # type: ignore[arg-type]


def anew(one: PermissionPolicy) -> PermissionPolicy:
    """The same policy without any precedents."""
    return PermissionPolicy(replace(one.snapshot))


def remove(path: Path) -> None:
    """Whatever is there, is gone."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@pytest.mark.parametrize("target", ["/etc", "secret"])
@pytest.mark.parametrize(
    ("tool", "tool_input"),
    [
        ("Edit", {"file_path": "src/a.txt", "old_string": "a", "new_string": "b"}),
        ("Bash", {"command": "npm test > src/a.txt"}),
        ("Bash", {"command": "cd src && npm test > a.txt"}),
    ],
    ids=["Edit", "redirection", "redirection behind cd"],
)
def test_a_link_that_appears_is_seen(tmp_path: Path, target: str, tool: str, tool_input: dict[str, Any]) -> None:
    """What was allowed twice is not allowed any more once a link leads elsewhere; when it is gone, it is again."""
    (tmp_path / "src").mkdir()
    (tmp_path / "secret").mkdir()
    one = policy(tmp_path)
    before = [one.evaluate(tool, tool_input).behavior for _ in range(2)]
    remove(tmp_path / "src")
    (tmp_path / "src").symlink_to(target)
    assert one.evaluate(tool, tool_input).behavior == anew(one).evaluate(tool, tool_input).behavior != "allow"
    remove(tmp_path / "src")
    (tmp_path / "src").mkdir()
    assert [one.evaluate(tool, tool_input).behavior for _ in range(2)] == before


NAMES = ("src", "src/a", "src/b", "secret", "secret/a", "lib", ".git")
TARGETS = ("/etc", "secret", "src", "../secret", "lib", "a", "nowhere", "..")
DISK = st.one_of(
    st.tuples(st.just("link"), st.sampled_from(NAMES), st.sampled_from(TARGETS)),
    st.tuples(st.sampled_from(["dir", "file", "remove"]), st.sampled_from(NAMES), st.just("")),
)
CALLS = [
    *(("Edit", {"file_path": name, "old_string": "a", "new_string": "b"}) for name in ("src/a", "src/b/c", "lib/a")),
    *(("Read", {"file_path": name}) for name in ("src/a", "secret/a", "lib", "src/../secret/a", "~/x")),
    *(("Glob", {"pattern": "*", "path": name}) for name in ("src", "secret", ".")),
    *(
        ("Bash", {"command": command})
        for command in (
            "npm test", "cat src/a", "cat lib/a | tee src/b", "cd src && cat a", "cd lib && npm test > a",
            "cd src && git status", "tee src/a/x", "rm src/a", "cp -r lib src/b", "cat < src/a", "cat src/*",
        )
    ),
]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(DISK, max_size=8))
def test_precedents_change_no_verdict(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, ...]]) -> None:
    """Whatever happens to the disk between two judgements, a policy with precedents says what one without says."""
    folder = tmp_path_factory.mktemp("w")
    one = policy(folder, allow=[*ALLOW, "Bash(git status)", "Bash(cp:*)"])
    for step in [("dir", "src", ""), *steps]:
        act(folder, *step)
        without = anew(one)
        for tool, tool_input in CALLS:
            first, second = one.evaluate(tool, tool_input), one.evaluate(tool, tool_input)
            assert first == second == without.evaluate(tool, tool_input)


def act(folder: Path, what: str, name: str, target: str) -> None:
    """One thing that happens to the disk below the folder; nothing when it cannot, or when a link leads out of it."""
    path = folder / name
    if not lies_in(path, folder):
        return
    try:
        if what != "dir" or path.is_symlink():
            remove(path)
        match what:
            case "link":
                os.symlink(target, path)
            case "dir":
                path.mkdir(parents=True, exist_ok=True)
            case "file":
                path.write_text("x")
    except OSError:
        return


def test_rules_that_name_parameters_look_at_all_of_the_input(tmp_path: Path) -> None:
    """A rule for a parameter is asked for each value, even when the command is the same."""
    one = policy(tmp_path, deny=["Bash(description:danger*)", "mcp__notes__add(text:x*)"])
    for tool, tool_input, expected in (
        ("Bash", {"command": "npm test", "description": "tests"}, "allow"),
        ("Bash", {"command": "npm test", "description": "dangerous"}, "deny"),
        ("Bash", {"command": "npm test"}, "allow"),
        ("mcp__notes__add", {"text": "a"}, "allow"),
        ("mcp__notes__add", {"text": "xa"}, "deny"),
    ):
        assert [one.evaluate(tool, tool_input).behavior for _ in range(2)] == [expected] * 2


def test_values_that_python_holds_for_equal_are_told_apart(tmp_path: Path) -> None:
    """`1` and `true` are equal keys in Python, but not in a rule."""
    one = policy(tmp_path, deny=["mcp__notes__add(pinned:true)"])
    verdicts = [one.evaluate("mcp__notes__add", {"pinned": value}).behavior for value in (1, True, 1, 1.0, True)]
    assert verdicts == ["allow", "deny", "allow", "allow", "deny"]


def test_another_mode_has_other_precedents(tmp_path: Path) -> None:
    """A change of mode or rules begins without precedents."""
    one = policy(tmp_path)
    call = ("Bash", {"command": "make all"})
    assert one.evaluate(*call).behavior == one.evaluate(*call).behavior == "ask"
    strict = PermissionPolicy(one.snapshot.changed(mode="dontAsk"))
    assert strict.evaluate(*call).behavior == "deny"
    assert one.evaluate(*call).behavior == "ask"


def test_a_verdict_from_a_precedent_holds_the_call_itself(tmp_path: Path) -> None:
    """What is judged is what runs: the input of this call, not that of the one before."""
    one = policy(tmp_path)
    for number in range(3):
        tool_input = {"file_path": "src/a", "old_string": "a", "new_string": str(number)}
        verdict = one.evaluate("Edit", tool_input)
        assert verdict.call.effective == tool_input
        assert verdict.behavior == "allow"


def case(one: PermissionPolicy, tool_input: dict[str, Any], **more: Any) -> Verdict:
    """The judge's verdict on a Bash call with what a hook said, a rewrite or another directory."""
    cwd = more.pop("cwd", one.snapshot.place.cwd)
    original = more.pop("original", tool_input)
    call = ToolCall(id="t", tool="Bash", said=original, effective=tool_input, cwd=cwd)
    return judge(Case(call=call, original=original, facts=known_facts("Bash"), snapshot=one.snapshot, **more))


def test_hooks_rewrites_and_other_directories_are_no_precedents(tmp_path: Path) -> None:
    """What a hook said, what the input was before and where it is judged count each time, and leave no trace."""
    (tmp_path / "src").mkdir()
    one = policy(tmp_path)
    plain, other = {"command": "npm test > src/a"}, {"command": "rm x"}
    assert case(one, plain).behavior == "allow"
    assert case(one, plain, heard=Deny("no"), heard_by="hook").behavior == "deny"
    assert case(one, plain, heard=Ask("look"), heard_by="hook").behavior == "ask"
    assert case(one, plain, original=other).behavior == "deny"
    assert case(one, plain, cwd="/etc").behavior != "allow"
    assert case(one, plain).behavior == "allow"


def test_precedents_are_bounded() -> None:
    """A model that makes up new calls fills no memory; neither do rulings that rest on very many files."""
    kept = Precedents()
    ruling = (Finding(behavior="ask", decision=Ask(""), by="nothing"), ())
    facts = known_facts("Bash")
    for number in range(3 * _MAX_KEPT):
        kept.keep(("Bash", (("command", str(number)),)), facts, ruling, Glance(OsFiles()))
        assert len(kept._kept) <= _MAX_KEPT
    much = Glance(OsFiles())
    for number in range(2_000):
        much.kind(f"/{number}")
    kept.keep(("Bash", ()), facts, ruling, much)
    assert kept.find(("Bash", ()), facts) is None


def test_a_precedent_holds_for_the_same_facts_of_the_tool_only() -> None:
    """A tool that now reads or writes something else is judged anew; equal facts are the same facts."""
    kept = Precedents()
    ruling = (Finding(behavior="ask", decision=Ask(""), by="nothing"), ())
    facts = known_facts("Edit")
    seen = Glance(OsFiles())
    kept.keep(("Edit", ()), facts, ruling, seen)
    assert kept.find(("Edit", ()), replace(facts, writes="path")) is None
    assert kept.find(("Edit", ()), replace(facts)) == (ruling, seen)


def test_long_inputs_are_judged_each_time(tmp_path: Path) -> None:
    """What is unusually long is not kept: values, names of fields, or all the folders on the way to a file."""
    one = policy(tmp_path, deny=["mcp__notes__add(text:x)"])
    for tool, tool_input in (
        ("Bash", {"command": "cat " + "x" * 5_000}),
        ("mcp__notes__add", {"x" * 5_000: ""}),
        ("Read", {"file_path": f"{'x' * 3_000}{'/x' * 30}"}),
    ):
        for _ in range(2):
            one.evaluate(tool, tool_input)
        assert len(one.snapshot.precedents._kept) == 0


def leads_nowhere(path: Path) -> bool:
    """Whether links go round in a circle there: the system opens nothing then, by whatever name."""
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


@settings(max_examples=80, deadline=None)
@given(
    steps=st.lists(DISK, max_size=6),
    later=st.lists(DISK, min_size=1, max_size=6),
    path=st.sampled_from(
        ["src/a", "src/b/", "lib//a", "./src/./b", "src/../secret/a", "lib/../x", "secret/a/..", ".git"]
    ),
)
def test_what_was_seen_tells_where_a_path_led(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, ...]], later: list[tuple[str, ...]], path: str
) -> None:
    """With a precedent and without: the file of a judgement is the one of that moment, whatever the disk becomes."""
    folder = tmp_path_factory.mktemp("w")
    one = policy(folder)
    for step in steps:
        act(folder, *step)
    place, facts = one.snapshot.place, known_facts("Read")
    call = ToolCall(id="t", tool="Read", said={}, effective={"file_path": path}, cwd=place.cwd)
    then, nowhere = os.path.realpath(folder / path), leads_nowhere(folder / path)
    seen = [find(Case(call=call, original=call.effective, facts=facts, snapshot=one.snapshot)) for _ in range(2)]
    for step in later:
        act(folder, *step)
    for (finding, _), sight in seen:
        opened = opened_file(READ, call, place.files, sight)
        assert nowhere or opened == then or finding.behavior != "allow"
        assert sight is not None
        assert sight.leads(f"{folder}/{path}") in (then, None)
