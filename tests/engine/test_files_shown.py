"""Write and Edit run only on the file that was shown to whoever approved them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_sdk import Allow, Defer, Deny, HookMatcher, ToolResult
from agent_sdk.sessions.records import Answer
from agent_sdk.testing import ScriptedApprover
from tests.engine.dialogue import Held, Ran, hold, use

CHANGED = "Not run: the file has changed since this was approved."


def write(path: Path, text: str, id_: str = "a") -> Any:
    """A call that writes the file."""
    return use("Write", id_, file_path=str(path), content=text)


def edit(path: Path, old: str, new: str, id_: str) -> Any:
    """A call that edits the file."""
    return use("Edit", id_, file_path=str(path), old_string=old, new_string=new)


@pytest.mark.anyio
@pytest.mark.parametrize("before", [None, "old"], ids=["absent", "present"])
async def test_a_file_that_changed_while_the_person_thought_is_asked_about_again(
    tmp_path: Path, before: str | None
) -> None:
    """The second question shows why; its answer is bound to the file as it is then."""
    file = tmp_path / "f.txt"
    if before is not None:
        file.write_text(before)

    def thinks(name: str, tool_input: dict[str, Any], context: Any) -> Allow:
        file.write_text("changed by somebody")
        return Allow()

    person = ScriptedApprover([thinks, Allow()])
    held = await hold([[write(file, "new")]], cwd=tmp_path, can_use_tool=person)
    person.assert_done()
    assert person.calls[1].context.decision_reason == "the file has changed since this was approved"
    assert file.read_text() == "new"
    assert not held.results["a"].is_error


@pytest.mark.anyio
@pytest.mark.parametrize("interrupt", [False, True])
async def test_a_no_to_the_changed_file_counts(tmp_path: Path, interrupt: bool) -> None:
    """With an interrupt nothing later starts either."""
    file, other = tmp_path / "f.txt", tmp_path / "g.txt"

    def thinks(name: str, tool_input: dict[str, Any], context: Any) -> Allow:
        file.write_text("changed by somebody")
        return Allow()

    person = ScriptedApprover({"a": [thinks, Deny("leave it", interrupt=interrupt)], "b": [Allow()]})
    held = await hold([[write(file, "new"), write(other, "x", "b")]], cwd=tmp_path, can_use_tool=person)
    assert file.read_text() == "changed by somebody"
    assert held.words["a"] == "leave it"
    assert other.exists() is not interrupt
    assert held.result.terminal_reason == ("aborted_tools" if interrupt else "completed")


@pytest.mark.anyio
async def test_changes_by_earlier_calls_of_the_turn_are_followed(tmp_path: Path) -> None:
    """Three edits of one file, approved together, run one after the other and ask nobody again."""
    file = tmp_path / "f.txt"
    file.write_text("one two three")
    calls = [edit(file, "one", "1", "a"), edit(file, "two", "2", "b"), write(file, "done", "c")]
    person = ScriptedApprover([Allow(), Allow(), Allow()])
    held = await hold([calls], cwd=tmp_path, can_use_tool=person)
    person.assert_done()
    assert not any(block.is_error for block in held.results.values())
    assert file.read_text() == "done"


@pytest.mark.anyio
async def test_a_person_may_name_another_file(tmp_path: Path) -> None:
    """The approval is then bound to that one: nobody is asked twice. Live and at a resume."""
    file, other = tmp_path / "f.txt", tmp_path / "g.txt"
    file.write_text("one")
    edited = Allow({"file_path": str(other), "content": "new"})
    person = ScriptedApprover([edited])
    held = await hold([[write(file, "new")]], cwd=tmp_path, can_use_tool=person)
    person.assert_done()
    assert (file.read_text(), other.read_text()) == ("one", "new")
    other.unlink()
    held = await hold([[write(file, "new")]], cwd=tmp_path, can_use_tool=ScriptedApprover([Defer()]))
    await resume(held, tmp_path, {"a": edited})
    assert (file.read_text(), other.read_text()) == ("one", "new")


async def resume(held: Held, cwd: Path, decisions: Any = None, **options: Any) -> Held:
    """Go on with a parked session."""
    return await hold(
        held.model, None, store=held.store, resume=held.session_id, cwd=cwd, decisions=decisions, **options
    )


async def hook_defers(*_: Any) -> Defer:
    """Parks every call."""
    return Defer()


PARKS: dict[str, Any] = {
    "callback": {"can_use_tool": ScriptedApprover({"Write": Defer()})},
    "hook": {"hooks": {"PreToolUse": [HookMatcher(hooks=[hook_defers])]}},
    "request-hook": {"hooks": {"PermissionRequest": [HookMatcher(hooks=[hook_defers])]}},
}


@pytest.mark.anyio
@pytest.mark.parametrize("parks", PARKS.values(), ids=PARKS)
async def test_an_answer_from_later_holds_for_the_file_that_was_shown(tmp_path: Path, parks: dict[str, Any]) -> None:
    """Whoever parked the call: a change of the file voids the answer, and the new approval shows it."""
    file = tmp_path / "f.txt"
    file.write_text("one")
    held = await hold([[write(file, "new")]], cwd=tmp_path, **parks)
    (first,) = await held.store.pending(held.session_id)
    assert first.state is not None
    file.write_text("changed by somebody")
    still = await resume(held, tmp_path, {"a": Allow()})
    assert still.result.terminal_reason == "tool_deferred"
    assert file.read_text() == "changed by somebody"
    (second,) = await held.store.pending(held.session_id)
    assert second.state not in (None, first.state)
    done = await resume(held, tmp_path, {"a": Allow()})
    assert done.result.terminal_reason == "completed"
    assert file.read_text() == "new"


@pytest.mark.anyio
async def test_a_changed_file_is_asked_about_at_the_resume_where_somebody_is_there(tmp_path: Path) -> None:
    """The stored yes was for another file; the person who is there decides."""
    file = tmp_path / "f.txt"
    held = await hold([[write(file, "new")]], cwd=tmp_path, can_use_tool=ScriptedApprover([Defer()]))
    file.write_text("somebody else's")
    person = ScriptedApprover([Deny("keep theirs")])
    done = await resume(held, tmp_path, {"a": Allow()}, can_use_tool=person)
    person.assert_done()
    assert (file.read_text(), done.words) == ("somebody else's", {"a": "keep theirs"})


@pytest.mark.anyio
async def test_work_done_elsewhere_may_have_changed_the_file(tmp_path: Path) -> None:
    """A result from outside stands for the call: that the file is another one now is no question."""
    file = tmp_path / "f.txt"
    held = await hold([[write(file, "new")]], cwd=tmp_path, can_use_tool=ScriptedApprover([Defer()]))
    (approval,) = await held.store.pending(held.session_id)
    file.write_text("written by the job")
    assert await held.store.answer(approval.key, Answer(result=ToolResult("the job wrote it")))
    done = await resume(held, tmp_path)
    assert done.words == {"a": "the job wrote it"}
    assert file.read_text() == "written by the job"


@pytest.mark.anyio
async def test_a_hook_answers_in_place_of_a_person_without_a_file_shown(tmp_path: Path) -> None:
    """Nobody to ask about a changed file: it does not run."""
    file = tmp_path / "f.txt"

    async def person(name: str, tool_input: dict[str, Any], context: Any) -> Any:
        if context.decision_reason and "changed" in context.decision_reason:
            return Deny(CHANGED)
        file.write_text("changed by somebody")
        return Allow()

    held = await hold([[write(file, "new")]], cwd=tmp_path, can_use_tool=person)
    assert held.words == {"a": CHANGED}
    assert file.read_text() == "changed by somebody"


@pytest.mark.anyio
async def test_a_folder_that_became_a_link_is_judged_again(tmp_path: Path) -> None:
    """An earlier call of the turn may lead a later one elsewhere: what acceptEdits allowed is asked, then denied."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    (inside / "sub").mkdir(parents=True)
    outside.mkdir()

    async def relink(tool_input: Any, context: Any) -> str:
        (inside / "sub").rmdir()
        (inside / "sub").symlink_to(outside)
        return "linked"

    tools = [Ran().tool("relink", relink), "Write"]
    calls = [use("relink", "a"), write(inside / "sub" / "f.txt", "x", "b")]
    held = await hold([calls], cwd=inside, tools=tools, permission_mode="acceptEdits", allow=["relink"])
    assert held.words["a"] == "linked"
    assert held.words["b"].startswith("Not run: nobody was there to approve this Write call.")
    assert not (outside / "f.txt").exists()
