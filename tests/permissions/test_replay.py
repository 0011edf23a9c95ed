"""Past calls against the rules of today: real sessions are run, stored, and held against another policy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_sdk import (
    AgentOptions,
    Allow,
    Ask,
    Defer,
    Deny,
    HookMatcher,
    InMemoryStore,
    PermissionPolicy,
    SessionNotFoundError,
    SQLiteStore,
    query,
)
from agent_sdk.testing import ReplayedCall, ScriptedModel, replay_policy

pytestmark = pytest.mark.anyio

LS, MAKE, RM = "echo ls", "echo make", "echo rm"


def wants(*commands: str) -> list[dict[str, Any]]:
    """A turn in which these commands are called for."""
    return [{"type": "tool_use", "name": "Bash", "input": {"command": command}} for command in commands]


async def run(store: Any, turns: Sequence[Any], cwd: Path, **options: Any) -> None:
    """One session, stored under the id `s` unless the options say otherwise."""
    model = ScriptedModel(list(turns))
    given = {"session_id": "s", "setting_sources": (), **options}
    async for _ in query("go", options=AgentOptions(model=model, session_store=store, cwd=cwd, **given)):
        pass


def today(cwd: Path, **rules: Any) -> PermissionPolicy:
    return PermissionPolicy.load(cwd=cwd, setting_sources=(), **rules)


async def replayed(store: Any, policy: PermissionPolicy, **how: Any) -> list[ReplayedCall]:
    return [one async for one in replay_policy(policy, store=store, **how)]


def told(found: Sequence[ReplayedCall]) -> list[tuple[Any, ...]]:
    """Command, then, outcome, now, change of each call."""
    return [(one.call.said["command"], one.then, one.call.outcome, one.now.behavior, one.change) for one in found]


async def yes(tool: str, tool_input: dict[str, Any], context: Any) -> Allow:
    return Allow()


async def no(tool: str, tool_input: dict[str, Any], context: Any) -> Deny:
    return Deny("no")


async def later(tool: str, tool_input: dict[str, Any], context: Any) -> Defer:
    return Defer()


async def edits(tool: str, tool_input: dict[str, Any], context: Any) -> Allow:
    return Allow({"command": MAKE})


def hook(said: Any) -> dict[str, Any]:
    async def speak(data: Any, tool_use_id: Any, context: Any) -> Any:
        return said

    return {"PreToolUse": [HookMatcher(hooks=[speak])]}


ALLOW_LS, DENY_LS = {"allow": [f"Bash({LS})"]}, {"deny": [f"Bash({LS})"]}
THEN_AND_NOW: list[tuple[str, dict[str, Any], dict[str, Any], tuple[str, ...]]] = [
    ("a rule that is still there", ALLOW_LS, ALLOW_LS, ("allow", "ran", "allow", "same")),
    ("a rule that is gone", ALLOW_LS, {}, ("allow", "ran", "ask", "changed")),
    ("a deny rule that is new", ALLOW_LS, DENY_LS, ("allow", "ran", "deny", "changed")),
    ("a deny rule that is gone", DENY_LS, {}, ("deny", "not run", "ask", "changed")),
    ("a person said yes", {"can_use_tool": yes}, {}, ("ask", "ran", "ask", "same")),
    ("a person said yes, a rule does now", {"can_use_tool": yes}, ALLOW_LS, ("ask", "ran", "allow", "changed")),
    ("a person said no", {"can_use_tool": no}, {}, ("ask", "not run", "ask", "same")),
    ("a person changed it", {"can_use_tool": edits}, ALLOW_LS, ("ask", "ran", "allow", "changed")),
    ("nobody was there", {}, {}, ("ask", "not run", "ask", "same")),
    ("it waits", {"can_use_tool": later}, {}, ("ask", "waiting", "ask", "same")),
    ("a mode that asks nobody", {"permission_mode": "dontAsk"}, {}, ("deny", "not run", "deny", "same")),
    ("a mode that allows", {"permission_mode": "bypassPermissions"}, {}, ("allow", "ran", "allow", "same")),
    ("a mode, and a rule against it", {"permission_mode": "bypassPermissions"}, DENY_LS,
     ("allow", "ran", "deny", "changed")),
    ("a hook allowed it", {"hooks": hook(Allow())}, {}, ("allow", "ran", "allow", "same")),
    ("a hook allowed it, a rule asks", {"hooks": hook(Allow())}, {"ask": ["Bash"]}, ("allow", "ran", "ask", "changed")),
    ("a hook denied it", {"hooks": hook(Deny()), **ALLOW_LS}, ALLOW_LS, ("deny", "not run", "deny", "same")),
    ("a hook asked", {"hooks": hook(Ask()), "can_use_tool": yes, **ALLOW_LS}, ALLOW_LS, ("ask", "ran", "ask", "same")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "rules", "expected"), [case[1:] for case in THEN_AND_NOW], ids=[case[0] for case in THEN_AND_NOW]
)
async def test_then_and_now(
    options: dict[str, Any], rules: dict[str, Any], expected: tuple[str, ...], tmp_path: Path
) -> None:
    """What was decided before any person spoke is compared with what would be decided now."""
    store = InMemoryStore()
    await run(store, [wants(LS), "done"], tmp_path, **options)
    assert told(await replayed(store, today(tmp_path, **rules))) == [(LS, *expected)]


async def test_a_mode_may_be_given(tmp_path: Path) -> None:
    """It counts in place of the one that the session had."""
    store = InMemoryStore()
    await run(store, [wants(LS), "done"], tmp_path, permission_mode="bypassPermissions")
    [one] = await replayed(store, today(tmp_path), mode="default")
    assert (one.now.behavior, one.change) == ("ask", "changed")


async def test_calls_are_judged_where_they_were_made(tmp_path: Path) -> None:
    """A `cd` counts for the calls of later turns; paths are read from there."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_text("x")
    store = InMemoryStore()
    read = [{"type": "tool_use", "name": "Read", "input": {"file_path": "a.txt"}}]
    await run(store, [wants("cd sub"), read, "done"], tmp_path, can_use_tool=yes)
    moved, reading = await replayed(store, today(tmp_path, deny=["Read(./sub/a.txt)"]))
    assert (moved.call.cwd, reading.call.cwd) == (str(tmp_path), str(tmp_path / "sub"))
    assert (moved.change, reading.then, reading.now.behavior) == ("same", "allow", "deny")


async def test_another_directory_stands_for_that_of_the_session(tmp_path: Path) -> None:
    """A policy of another directory judges there, as far below it as the call was."""
    before, now = tmp_path / "before", tmp_path / "now"
    (before / "sub").mkdir(parents=True)
    now.mkdir()
    store = InMemoryStore()
    read = [{"type": "tool_use", "name": "Read", "input": {"file_path": "a.txt"}}]
    await run(store, [read, wants("cd sub"), read, "done"], before, can_use_tool=yes)
    found = await replayed(store, today(now, deny=["Read(./sub/a.txt)"]))
    assert [one.now.call.cwd for one in found] == [str(now), str(now), str(now / "sub")]
    assert [one.change for one in found] == ["same", "same", "changed"]


async def test_sessions_and_times(tmp_path: Path) -> None:
    """One session, or only what is new; an unknown session is an error."""
    store = SQLiteStore(tmp_path / "s.sqlite")
    for name in ("one", "two"):
        await run(store, [wants(LS, MAKE), wants(RM), "done"], tmp_path, session_id=name, can_use_tool=yes)
    policy = today(tmp_path)
    assert len(await replayed(store, policy)) == 6
    assert {one.call.session_id for one in await replayed(store, policy, session_id="two")} == {"two"}
    now = datetime.now(UTC)
    assert len(await replayed(store, policy, since=now - timedelta(hours=1))) == 6
    assert await replayed(store, policy, since=now + timedelta(hours=1)) == []
    with pytest.raises(SessionNotFoundError, match="three"):
        await replayed(store, policy, session_id="three")
    store.close()


async def test_both_stores_tell_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in small pages, too."""
    monkeypatch.setattr("agent_sdk.sessions.past.PAGE", 2)
    found = []
    for store in (InMemoryStore(), SQLiteStore(tmp_path / "s.sqlite")):
        await run(store, [wants(LS, MAKE), wants(RM, LS), "done"], tmp_path, can_use_tool=yes, **ALLOW_LS)
        found.append(told(await replayed(store, today(tmp_path))))
    assert found[0] == found[1]
    assert [one[-1] for one in found[0]] == ["changed", "same", "same", "changed"]


RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
RECORDS: list[tuple[str, list[dict[str, Any]], tuple[Any, ...]]] = [
    ("it ran, today's rules deny it", [RESULT], (None, "ran", "deny", "changed")),
    ("an error may be the tool's", [{**RESULT, "is_error": True}], (None, "unknown", "deny", "unclear")),
    ("there is no result", [], (None, "unknown", "deny", "unclear")),
]


@pytest.mark.parametrize(("results", "expected"), [case[1:] for case in RECORDS], ids=[case[0] for case in RECORDS])
async def test_transcripts_without_decisions(
    results: list[dict[str, Any]], expected: tuple[Any, ...], tmp_path: Path
) -> None:
    """What is not recorded is said to be unclear; what ran and would be denied now is a change all the same."""
    store = InMemoryStore()
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": LS}}
    entries: list[dict[str, Any]] = [{"type": "assistant", "uuid": "a", "message": {"content": [use]}}]
    if results:
        entries.append({"type": "user", "uuid": "u", "message": {"content": results}})
    await store.append({"project_key": "else", "session_id": "s"}, entries)
    assert told(await replayed(store, today(tmp_path, **DENY_LS))) == [(LS, *expected)]


ODD: list[Any] = [
    {"type": "assistant"},
    {"type": "assistant", "message": {"content": "text"}},
    {"type": "assistant", "message": {"content": [3, {"type": "tool_use"}, {"type": "tool_use", "id": 3}]}},
    {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "never"}]}},
    {"type": "permission", "tool_use_id": "never", "behavior": "allow", "by": "x", "input": {}, "trace": 3},
    {"type": "permission"},
    {"type": "state", "cwd": 3, "mode": "none"},
    {"type": "else"},
    {},
]


@pytest.mark.parametrize("entry", ODD, ids=lambda entry: json.dumps(entry)[:60])
async def test_odd_entries_are_passed_over(entry: Any, tmp_path: Path) -> None:
    """They hide no call that stands beside them."""
    store = InMemoryStore()
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": LS}}
    call = {"type": "assistant", "uuid": "a", "timestamp": "yesterday", "message": {"content": [use]}}
    await store.append({"project_key": "p", "session_id": "s"}, [{**entry, "uuid": "o"}, call])
    [one] = await replayed(store, today(tmp_path))
    assert (one.call.tool_use_id, one.call.at, one.change) == ("t", None, "unclear")


async def test_a_refused_message_calls_nothing(tmp_path: Path) -> None:
    """Its calls were never considered."""
    store = InMemoryStore()
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": LS}}
    refused = {"type": "assistant", "uuid": "a", "refused": True, "message": {"content": [use]}}
    await store.append({"project_key": "p", "session_id": "s"}, [refused])
    assert await replayed(store, today(tmp_path)) == []
