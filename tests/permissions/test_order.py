"""The order of a decision, row by row: in a dry run, before the judge, and in a live run, each with its trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent_sdk import (
    Allow,
    Ask,
    CanUseToolShadowedWarning,
    Defer,
    Deny,
    HookMatcher,
    PermissionPolicy,
)
from agent_sdk.calls import ToolCall
from agent_sdk.permissions.judge import _OF_HOOKS, STEPS, Case, judge
from agent_sdk.rules.matching import known_facts
from agent_sdk.testing import ScriptedApprover
from tests.engine.dialogue import Ran, hold, use

MODES = ("default", "manual", "acceptEdits", "plan", "bypassPermissions", "dontAsk")
SAID: dict[str, Any] = {
    "silent": None, "allow": Allow(), "ask": Ask("look"), "deny": Deny("no"), "defer": Defer("later"),
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """What is asked for, under which rules, and what must come of it: the behaviour and the step that decided."""

    name: str
    expected: str
    by: str
    tool: str = "Bash"
    input: dict[str, Any] = field(default_factory=lambda: {"command": "make all"})
    hook: str = "silent"
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    modes: tuple[str, ...] = ("default", "manual")


def row(name: str, expected: str, by: str, **fields: Any) -> Row:
    """A row of the table."""
    return Row(name, expected, by, **fields)


WRITE = {"tool": "Write", "input": {"file_path": "notes.txt", "content": "x"}}
OUTSIDE = {"tool": "Write", "input": {"file_path": "/var/elsewhere.txt", "content": "x"}}
PROTECTED = {"tool": "Write", "input": {"file_path": ".git/config", "content": "x"}}
READ = {"tool": "Read", "input": {"file_path": "notes.txt"}}
FAR_READ = {"tool": "Read", "input": {"file_path": "/var/elsewhere.txt"}}
REMOVE = {"input": {"command": "rm -rf /"}}
HIT = ("Bash(make:*)",)

ROWS = [
    row("nothing decides", "ask", "nothing"),
    row("a hook allows", "allow", "hook", hook="allow"),
    row("a hook denies whatever else", "deny", "hook", hook="deny", allow=HIT, modes=MODES),
    row("a hook asks", "ask", "hook", hook="ask", allow=HIT, modes=("default", "acceptEdits", "bypassPermissions")),
    row("a hook asks where nobody is asked", "deny", "mode", hook="ask", allow=HIT, modes=("dontAsk",)),
    row("a hook defers in every mode", "defer", "hook", hook="defer", ask=HIT, allow=HIT, modes=MODES),
    row("a deny rule beats a hook's allow", "deny", "deny_rules", hook="allow", deny=HIT, allow=HIT, modes=MODES),
    row("a deny rule beats a hook's deferral", "deny", "deny_rules", hook="defer", deny=HIT, modes=MODES),
    row("a deny rule beats a hook's ask", "deny", "deny_rules", hook="ask", deny=HIT, ask=HIT, modes=MODES),
    row("a deny rule beats a narrower allow", "deny", "deny_rules", deny=("Bash",), allow=("Bash(make all)",)),
    row("an ask rule beats a narrower allow", "ask", "ask_rules", ask=("Bash",), allow=("Bash(make all)",)),
    row("an ask rule beats a hook's allow", "ask", "ask_rules", hook="allow", ask=HIT, allow=HIT),
    row("an ask rule beats bypass", "ask", "ask_rules", ask=HIT, modes=("bypassPermissions", "acceptEdits", "plan")),
    row("an ask rule where nobody is asked", "deny", "mode", ask=HIT, allow=HIT, modes=("dontAsk",)),
    row("an allow rule", "allow", "allow_rules", allow=HIT, modes=("default", "acceptEdits", "dontAsk")),
    row("bypass", "allow", "mode", modes=("bypassPermissions",)),
    row("dontAsk", "deny", "mode", modes=("dontAsk",)),
    row("dontAsk and a hook's allow", "allow", "hook", hook="allow", modes=("dontAsk",)),
    row("plan", "ask", "mode", modes=("plan",)),
    row("plan and an allow rule", "ask", "mode", allow=HIT, modes=("plan",)),
    row("plan and a hook's allow", "ask", "mode", hook="allow", modes=("plan",)),
    row("plan lets reading be", "allow", "reads", **READ, modes=("plan", "default", "dontAsk", "acceptEdits")),
    row("reading elsewhere is asked", "ask", "nothing", **FAR_READ),
    row("reading elsewhere by rule", "allow", "allow_rules", **FAR_READ, allow=("Read(//var/**)",)),
    row("reading denied", "deny", "deny_rules", **READ, deny=("Read(notes.txt)",), modes=MODES),
    row("reading asked", "ask", "ask_rules", **READ, ask=("Read(notes.txt)",), modes=("default", "bypassPermissions")),
    row("edits are asked", "ask", "nothing", **WRITE),
    row("acceptEdits", "allow", "mode", **WRITE, modes=("acceptEdits",)),
    row("acceptEdits elsewhere", "ask", "nothing", **OUTSIDE, modes=("acceptEdits",)),
    row("acceptEdits and commands", "ask", "nothing", modes=("acceptEdits",)),
    row("acceptEdits and an ask rule", "ask", "ask_rules", **WRITE, ask=("Edit",), modes=("acceptEdits",)),
    row("a Write rule is an Edit rule", "deny", "deny_rules", **WRITE, deny=("Edit(notes.txt)",), modes=MODES),
    row("protected by mode", "ask", "safety", **PROTECTED, modes=("acceptEdits", "default")),
    row("protected by rule", "ask", "safety", **PROTECTED, allow=("Edit",), modes=("acceptEdits", "default")),
    row("protected by hook", "ask", "safety", **PROTECTED, hook="allow"),
    row("protected and bypass", "allow", "mode", **PROTECTED, modes=("bypassPermissions",)),
    row("critical and bypass", "ask", "mode", **REMOVE, modes=("bypassPermissions",)),
    row("critical and a rule", "ask", "safety", **REMOVE, allow=("Bash", "Bash(rm:*)")),
    row("critical and a hook", "ask", "safety", **REMOVE, hook="allow"),
    row("an unknown tool", "ask", "nothing", tool="mcp__x__y", input={}),
    row("an unknown tool in plan", "ask", "mode", tool="mcp__x__y", input={}, allow=("mcp__x__y",), modes=("plan",)),
]
CASES = [pytest.param(row, mode, id=f"{row.name}-{mode}") for row in ROWS for mode in row.modes]


def policy_of(row: Row, mode: Any, cwd: Path) -> PermissionPolicy:
    """The policy of a row."""
    return PermissionPolicy.load(cwd=cwd, allow=row.allow, ask=row.ask, deny=row.deny, mode=mode)


@pytest.mark.parametrize(("row", "mode"), CASES)
def test_the_judge_keeps_the_order(row: Row, mode: str, tmp_path: Path) -> None:
    """The verdict, who decided, and a trace that ends with the step that did."""
    policy = policy_of(row, mode, tmp_path)
    call = ToolCall(id="a", tool=row.tool, said=row.input, effective=row.input, cwd=str(tmp_path))
    case = Case(
        call=call,
        original=row.input,
        facts=known_facts(row.tool),
        snapshot=policy.snapshot,
        heard=SAID[row.hook],
        heard_by="the hook",
    )
    verdict = judge(case)
    assert (verdict.behavior, verdict.by) == (row.expected, row.by), verdict.explain()
    assert verdict.call is call
    if row.by != "nothing":
        assert verdict.trace[-1].said == row.expected
    if row.by in ("deny_rules", "ask_rules", "allow_rules"):
        assert verdict.rule
        assert verdict.trace[-1].where
    if row.hook == "silent":
        assert policy.evaluate(row.tool, row.input) == policy.evaluate(row.tool, row.input)
        dry = policy.evaluate(row.tool, row.input)
        assert (dry.behavior, dry.by, dry.rule) == (verdict.behavior, verdict.by, verdict.rule)
        assert dry.fix or row.by in ("safety", "reads"), "a dry run says what would change it"


def test_steps_of_hooks_are_silent_when_no_hook_spoke(tmp_path: Path) -> None:
    """So the judge need not ask them: whatever the rules and the mode, and whoever answered."""
    assert set(STEPS) > _OF_HOOKS
    for row in ROWS:
        call = ToolCall(id="a", tool=row.tool, said=row.input, effective=row.input, cwd=str(tmp_path))
        snapshot = policy_of(row, row.modes[0], tmp_path).snapshot
        case = Case(call=call, original=row.input, facts=known_facts(row.tool), snapshot=snapshot, answered=True)
        assert [step(case) for step in _OF_HOOKS] == [None] * len(_OF_HOOKS)


@pytest.mark.anyio
@pytest.mark.filterwarnings(f"ignore::{CanUseToolShadowedWarning.__module__}.CanUseToolShadowedWarning")
@pytest.mark.parametrize(("row", "mode"), CASES)
async def test_a_live_run_obeys_the_order(row: Row, mode: str, tmp_path: Path) -> None:
    """A tool runs exactly when it is allowed, the person is asked exactly when the order says so, the trace is kept."""
    ran = Ran()
    facts: dict[str, Any] = {
        "Write": {"writes": "file_path"}, "Read": {"reads": "file_path", "read_only": True},
    }.get(row.tool, {})  # fmt: skip
    person = ScriptedApprover({row.tool: Deny("asked")})

    async def hook(*_: Any) -> Any:
        return SAID[row.hook]

    hooks = {} if row.hook == "silent" else {"PreToolUse": [HookMatcher(hooks=[hook])]}
    held = await hold(
        [[use(row.tool, "a", **row.input)]],
        tools=[ran.tool(row.tool, **facts)],
        cwd=tmp_path,
        permission_mode=mode,
        allow=row.allow,
        ask=row.ask,
        deny=row.deny,
        hooks=hooks,
        can_use_tool=person,
    )
    assert (len(ran.calls), len(person.calls)) == (row.expected == "allow", row.expected == "ask")
    if row.expected == "defer":
        assert held.result.terminal_reason == "tool_deferred"
        (approval,) = await held.store.pending(held.session_id)
        steps: Any = approval.trace
    else:
        assert held.results["a"].is_error is (row.expected != "allow")
        steps = await held.trace("a")
    wanted = "deny" if row.expected == "ask" else row.expected
    assert steps[-1]["said"] == wanted, "the trace ends with whoever decided"
    if row.expected == "ask":
        context = person.calls[0].context
        assert context.trace, "the person is told why they are asked"
        assert context.matched_rule == (row.ask[0] if row.by == "ask_rules" else None)
    if row.by == "deny_rules":
        assert held.words["a"] == "Denied by a permission rule."


REWRITES = [
    ("rm x", "ls", {"deny": ["Bash(rm:*)"]}, "deny"),  # the original is denied
    ("ls", "rm x", {"deny": ["Bash(rm:*)"]}, "deny"),  # the rewritten one is
    ("rm x", "ls", {"ask": ["Bash(rm:*)"], "allow": ["Bash(ls)"]}, "ask"),
    ("ls", "rm x", {"ask": ["Bash(rm:*)"], "allow": ["Bash(ls)"]}, "ask"),
    ("rm x", "wrapper rm x", {"allow": ["Bash(wrapper:*)"]}, "ask"),  # no free pass for what wraps
    ("ls a", "ls b", {"allow": ["Bash(ls:*)"]}, "allow"),
    ("ls a", "make", {"allow": ["Bash(ls:*)"]}, "ask"),
]


@pytest.mark.anyio
@pytest.mark.parametrize("explicit", [False, True], ids=["bare", "with-allow"])
@pytest.mark.parametrize(("said", "made", "rules", "expected"), REWRITES)
async def test_what_a_hook_rewrites_is_judged_on_both_inputs(
    said: str, made: str, rules: dict[str, Any], expected: str, explicit: bool
) -> None:
    """Deny and ask hold for either; allow rules must cover both, unless the hook itself says allow."""
    ran, person = Ran(), ScriptedApprover({"Bash": Deny("asked")})

    async def hook(*_: Any) -> Any:
        return Allow({"command": made}) if explicit else {"hookSpecificOutput": {"updatedInput": {"command": made}}}

    hooks = {"PreToolUse": [HookMatcher(hooks=[hook])]}
    call = [[use("Bash", "a", command=said)]]
    await hold(call, tools=[ran.tool("Bash")], hooks=hooks, can_use_tool=person, **rules)
    by_hook = explicit and expected == "ask" and "ask" not in rules
    wanted = "allow" if by_hook else expected
    assert (len(ran.calls), len(person.calls)) == (wanted == "allow", wanted == "ask")
    assert all(run == {"command": made} for _, run in ran.calls)
    assert all(asked.tool_input == {"command": made} for asked in person.calls)
    dry = PermissionPolicy.load(**rules).evaluate("Bash", {"command": made}, original_input={"command": said})
    assert dry.behavior == expected
