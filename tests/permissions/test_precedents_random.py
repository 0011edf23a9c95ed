"""Random rules, modes, places, inputs and disks: a policy that remembers says what one that remembers nothing says."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_sdk import PermissionPolicy, Verdict
from agent_sdk.calls import ToolCall, ToolFacts
from agent_sdk.permissions.judge import Case, judge
from agent_sdk.permissions.snapshot import Snapshot
from agent_sdk.rules.matching import known_facts
from tests.support.disk import lies_in

ALLOW = (
    "Edit", "Read(//tmp/**)", "Edit(src/**)", "Edit(/src/*)", "Read(~/**)", "Bash", "Bash(cat:*)", "Bash(cd:*)",
    "Bash(git status)", "Bash(tee:*)", "Bash(./run:*)", "Bash(X=1 make)", "Bash(cp:*)", "mcp__a", "mcp__a__b",
    "Agent(helper)", "WebFetch(domain:a.org)",
)  # fmt: skip
STRICT = (
    "Read(secret/**)", "Edit(secret/)", "Edit(lib/)", "Read(~/key)", "Read(*.pem)", "Bash(rm:*)", "Agent(evil*)",
    "Bash(description:no*)", "Bash(timeout:true)", "mcp__a__b(n:1)", "mcp__a__b(text:secret*)", "mcp__a__c", "*__c",
    "Read(limit:1)", "Agent(model:x)", "WebFetch(domain:b.org)", "Keep(secret/**)", "Keep(sure:true)",
    "Glob(pattern:x)",
)  # fmt: skip
MODES = ("default", "default", "default", "acceptEdits", "plan", "dontAsk", "bypassPermissions")
NAMES = ("src", "src/a", "secret", "secret/key", "lib", "lib/x", "run", ".git", "src/.git", "home", "home/key", "more")
TARGETS = ("/etc", "secret", "../secret", "src", "lib/x", "nowhere", "..", ".", "home", "../.git", "src/a")
ODD = (
    "~/key",
    "~",
    "./src/../secret/key",
    "SRC/A",
    "src/",
    "lib/",
    "more/x",
    "$HOME/x",
    "",
    "src\0",
    "\u00e9",
    "e\u0301",
)
PATHS = (*NAMES, *ODD)
COMMANDS = (
    "cat src/a", "cat lib/* > src/a", "cd src && cat a", "cd src && git status", "cd lib; cd ..; tee src/a", "./run x",
    "make", "X=1 make", "rm -rf src", "cat ~/key", "tee src/a | cat", "cat < home/key", "cd src && cd src && cat a", 
    "cp lib/x src", "(",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    1,
    True,
    1.0,
    False,
    0,
    None,
    "1",
    "true",
    "secret x",
    "no",
    "x",
    ["secret"],
    {"n": 1},
    "",
    "evil1",
)
KEEP = (
    ToolFacts(name="Keep", writes="to", reads="from"),
    ToolFacts(name="Keep", writes="to"),
    ToolFacts(name="Keep", reads="path", read_only=True),
    ToolFacts(name="Keep", interaction=True),
    ToolFacts(name="Keep"),
)
Call: TypeAlias = tuple[ToolFacts, dict[str, Any]]


def given_to(
    name: str, fields: dict[str, st.SearchStrategy[Any]], *, facts: ToolFacts | None = None
) -> st.SearchStrategy[Call]:
    """Calls of one tool, each field there or not."""
    return st.tuples(st.just(facts or known_facts(name)), st.fixed_dictionaries({}, optional=fields))


paths, values = st.sampled_from(PATHS), st.sampled_from(VALUES)
KINDS: tuple[st.SearchStrategy[Call], ...] = (
    given_to("Bash", {"command": st.sampled_from((*COMMANDS, 1, None)), "description": values, "timeout": values}),
    *(given_to(name, {"file_path": paths, "path": paths, "limit": values}) for name in ("Edit", "Write", "Read")),
    given_to("Glob", {"pattern": st.sampled_from(["*", "x", "../*", "/etc/*", "~/*"]), "path": paths}),
    *(given_to(f"mcp__a__{name}", {"n": values, "text": values, "command": values}) for name in ("b", "c", "b__c")),
    given_to("Agent", {"subagent_type": st.one_of(values, st.just("helper")), "model": values, "prompt": values}),
    given_to("WebFetch", {"url": st.sampled_from(["https://a.org/x", "https://b.org", "https://a.org@b.org", 1])}),
    *(given_to("Keep", {"to": paths, "from": paths, "path": paths, "sure": values}, facts=facts) for facts in KEEP),
)  # fmt: skip
calls = st.sampled_from(KINDS).flatmap(lambda kind: st.lists(kind, min_size=4, max_size=12))
"""Calls of one tool: they differ little, which is what a memory might overlook."""
changes = st.tuples(
    st.sampled_from(["link", "dir", "file", "remove"]), st.sampled_from([*NAMES, "."]), st.sampled_from(TARGETS)
)


def change(folder: Path, what: str, name: str, target: str) -> None:
    """One thing that happens to the disk, to the working directory too; nothing when it cannot."""
    path = folder / "work" / name if name != "." else folder / "work"
    if not lies_in(path, folder):
        return
    try:
        if path.is_dir() and not path.is_symlink():
            if what == "dir":
                return
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        match what:
            case "link":
                os.symlink(target, path)
            case "dir":
                path.mkdir(parents=True)
            case "file":
                path.write_text("x")
    except OSError:
        return


def said(snapshot: Snapshot, call: Call, cwd: str) -> Verdict:
    """The judge's verdict. The input is copied, as everywhere where one comes in."""
    facts, tool_input = call
    one = ToolCall(id="t", tool=facts.name, said=tool_input, effective=dict(tool_input), cwd=cwd)
    return judge(Case(call=one, original=one.effective, facts=facts, snapshot=snapshot))


@settings(max_examples=150, deadline=None)
@given(
    allow=st.lists(st.sampled_from(ALLOW), min_size=3, max_size=9),
    ask=st.lists(st.sampled_from(STRICT), max_size=3),
    deny=st.lists(st.sampled_from(STRICT), min_size=4, max_size=9),
    mode=st.sampled_from(MODES),
    fixed=st.booleans(),
    asked=calls,
    steps=st.lists(st.lists(changes, min_size=1, max_size=3), max_size=5),
)
def test_what_is_remembered_changes_no_verdict(
    tmp_path_factory: pytest.TempPathFactory,
    allow: list[str],
    ask: list[str],
    deny: list[str],
    mode: Any,
    fixed: bool,
    asked: list[Call],
    steps: list[list[tuple[str, str, str]]],
) -> None:
    """Every verdict in full, its reasons and its trace, is that of a snapshot that was never asked before."""
    folder = tmp_path_factory.mktemp("w")
    work = folder / "work"
    (work / "src").mkdir(parents=True)
    rules: dict[str, Any] = {"allow": allow, "ask": ask, "deny": deny}

    loaded = PermissionPolicy.load(
        cwd=work,
        setting_sources=(),
        mode=mode,
        additional_directories=[folder / "more"],
        home=str(work / "home"),
        **rules,
    ).snapshot
    place = replace(loaded.place, fixed=((str(work), str(work)),) if fixed else ())
    remembers = replace(loaded, place=place, registry=frozenset(["mcp__a__b", "mcp__a__c"]))
    for step in [[], *steps]:
        for one in step:
            change(folder, *one)
        for call in asked:
            for cwd in (str(work), str(work), str(work / "src")):
                assert said(remembers, call, cwd) == said(replace(remembers), call, cwd)
