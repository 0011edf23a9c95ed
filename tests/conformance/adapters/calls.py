"""Kinds `hook`, `callback`, `question`: one turn of calls, and what callback, hooks and rules make of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from agent_sdk import InMemoryStore
from tests.conformance import stored
from tests.conformance.cases_file import Case
from tests.conformance.record import Record
from tests.conformance.script import DONE, Script, ScriptedSide, Turn, call_turn
from tests.conformance.stage import DEFAULT_PROMPT, Stage, cancelled_after

ONLY_CALL = "t1"
SUB_CALL = "agent-call"


def turn_calls(scene: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The calls of a case's turn: `{id, tool, input}` each."""
    if "tool_uses" in scene:
        return [{"id": f"t{number}", **call} for number, call in enumerate(scene["tool_uses"], 1)]
    if "tool" in scene:
        return [{"id": scene.get("id", ONLY_CALL), "tool": scene["tool"], "input": scene.get("input", {})}]
    return []


def tool_names(scene: Mapping[str, Any], calls: list[dict[str, Any]], *more: str) -> list[str]:
    """The tools that the agent of a case has, each once."""
    named = [*(call["tool"] for call in calls), *(scene.get("stub_tools") or ()), *more]
    return list(dict.fromkeys(named)) or ["Bash"]


def scripted(record: Record, scene: Mapping[str, Any], calls: list[dict[str, Any]]) -> ScriptedSide:
    """A model that makes the calls once, itself or inside a sub-agent, and then says `done`."""
    turns: list[Turn] = [call_turn(calls)] if calls else []
    record.facts["said"] = [*(turn["content"] for turn in turns), DONE["content"]]
    if scene.get("agent") != "sub":
        return ScriptedSide(record=record, script=Script(turns=turns))
    asked = {"description": "work", "prompt": "Do it.", "subagent_type": "helper"}
    outer = call_turn([{"id": SUB_CALL, "tool": "Agent", "input": asked}])
    return ScriptedSide(record=record, script=Script(turns=[outer]), sub_script=Script(turns=turns))


async def play_calls(case: Case, record: Record, root: Path) -> None:
    """Kinds `hook` and `callback`."""
    calls = turn_calls(case.scene)
    await _play(case, record, root, calls)


async def play_question(case: Case, record: Record, root: Path) -> None:
    """Kind `question`: the callback allows, with the questions and what the host hands back beside them."""
    scene = case.scene
    calls = [{"id": ONLY_CALL, "tool": "AskUserQuestion", "input": scene["input"]}]
    beside = {key: scene[key] for key in ("answers", "annotations") if key in scene}
    await _play(case, record, root, calls, default_callback={}, beside=beside)


async def _play(case: Case, record: Record, root: Path, calls: list[dict[str, Any]], **more: Any) -> None:
    scene = case.scene
    store = InMemoryStore()
    names = tool_names(scene, calls, *(("Agent",) if scene.get("agent") == "sub" else ()))
    stage = Stage(
        scene=scene,
        record=record,
        side=scripted(record, scene, calls),
        store=store,
        work=root,
        tools=names,
        **more,
    )
    prompt = scene.get("prompt", DEFAULT_PROMPT)
    await cancelled_after(scene.get("cancel_after_s"), lambda: stage.run("first", prompt=prompt))
    await anyio.sleep(scene.get("wait_s", 0))
    await look(stage)


async def look(stage: Stage) -> None:
    """Read the stored session and the open approvals into the record."""
    record = stage.record
    if record.session_id is None:
        return
    record.entries = await stored.entries(stage.store, record.session_id)
    record.saved = stored.messages(record.entries)
    listed = await stored.pending(stage.store, record.session_id)
    record.pending = list(dict.fromkeys([*listed, *record.left_open()]))
