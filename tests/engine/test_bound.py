"""A yes is for the file that was shown, as it was shown: every second look is about the newest approval."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_sdk import Allow, Defer, DeferralError, Deny, HookMatcher, Inbox, InMemoryStore, PermissionContext
from agent_sdk.turn import Turn
from tests.engine.dialogue import Held, Ran, hold, use

CALLS: dict[str, dict[str, Any]] = {
    "Read": {},
    "Write": {"content": "mine"},
    "Edit": {"old_string": "old", "new_string": "mine"},
}


class Links:
    """Folders A, B, C with a file each, and a link that leads to one of these files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in "ABC":
            (folder / name).mkdir()
            (folder / name / "f").write_text("old")
        self.project = folder / "project"
        self.project.mkdir()
        self.link = self.project / "link"
        self.lead("A")

    def lead(self, name: str) -> None:
        """Let the link lead to another file, in one step."""
        fresh = self.project / "fresh"
        fresh.symlink_to(self.folder / name / "f")
        fresh.replace(self.link)

    def content(self) -> str:
        """What the three files hold."""
        return " ".join((self.folder / name / "f").read_text() for name in "ABC")

    @property
    def now(self) -> str:
        """Where the link leads."""
        return Path(os.readlink(self.link)).parent.name

    async def hold(self, tool: str, **options: Any) -> Held:
        """One call that names the link."""
        calls = [use(tool, "a", file_path="link", **CALLS[tool])]
        return await hold([calls, "fine"], tools=[tool], cwd=self.project, auto_allow_reads=False, **options)


@pytest.mark.anyio
@pytest.mark.parametrize("tool", CALLS)
async def test_each_yes_is_for_what_was_shown_with_it(tool: str, tmp_path: Path) -> None:
    """The link moves on while the second question is asked: there is a third one, and only that file is touched."""
    links, shown = Links(tmp_path), []

    async def person(*_: Any) -> Allow:
        shown.append(links.now)
        links.lead({"A": "B", "B": "C", "C": "C"}[links.now])
        return Allow()

    held = await links.hold(tool, can_use_tool=person)
    assert shown == ["A", "B", "C"]
    assert not held.results["a"].is_error
    assert links.content() == {"Read": "old old old", "Write": "old old mine", "Edit": "old old mine"}[tool]


@pytest.mark.anyio
@pytest.mark.parametrize("tool", CALLS)
async def test_a_file_that_changes_again_and_again_is_not_touched(tool: str, tmp_path: Path) -> None:
    """Nobody is asked for ever."""
    links, shown = Links(tmp_path), []

    async def person(*_: Any) -> Allow:
        shown.append(links.now)
        links.lead({"A": "B", "B": "A"}[links.now])
        return Allow()

    held = await links.hold(tool, can_use_tool=person)
    assert 2 < len(shown) < 10
    assert held.words["a"] == "Not run: the file has changed since this was approved."
    assert links.content() == "old old old"


@pytest.mark.anyio
@pytest.mark.parametrize("tool", CALLS)
async def test_what_is_opened_is_what_was_checked(tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that leads elsewhere only for the moment of the judgement does not lead a tool there."""
    links, asked = Links(tmp_path), []
    judged_now = Turn._judged_now

    def judge(turn: Turn, docket: Any) -> Any:
        links.lead("B")
        try:
            return judged_now(turn, docket)
        finally:
            links.lead("A")

    async def person(*_: Any) -> Allow | Deny:
        asked.append(links.now)
        return Allow() if len(asked) == 1 else Deny()

    monkeypatch.setattr(Turn, "_judged_now", judge)
    held = await links.hold(tool, can_use_tool=person)
    assert asked == ["A", "A"]
    assert held.results["a"].is_error
    assert links.content() == "old old old"


@pytest.mark.anyio
@pytest.mark.parametrize("what", ["the link moves", "the content changes"])
@pytest.mark.parametrize("tool", CALLS)
async def test_a_yes_of_a_permission_request_hook_is_bound_as_well(tool: str, what: str, tmp_path: Path) -> None:
    """It stands for a person, who saw the file as it was before the hook was asked."""
    links, shown = Links(tmp_path), []

    async def hook(*_: Any) -> Allow:
        shown.append(links.now)
        if what == "the link moves":
            links.lead("B")
        elif len(shown) == 1:
            (tmp_path / "A" / "f").write_text("old and new")
        return Allow()

    hooks = {"PermissionRequest": [HookMatcher(hooks=[hook])]}
    await links.hold(tool, hooks=hooks, ask=["Read"])
    again = what == "the link moves" or tool != "Read"
    assert shown == ["A", *({"the link moves": "B"}.get(what, "A") if again else "")]


@pytest.mark.anyio
@pytest.mark.parametrize("what", ["the link moves", "the content changes"])
@pytest.mark.parametrize("tool", CALLS)
async def test_a_question_just_before_the_run_binds_too(tool: str, what: str, tmp_path: Path) -> None:
    """A call before it made the mode's yes void, so a person is asked; what that person was shown counts."""
    links, shown = Links(tmp_path), []
    (links.project / "sub").mkdir()
    (links.project / "sub" / "f").write_text("old")

    async def person(name: str, *_: Any) -> Allow:
        if name == "Bash":
            return Allow()
        shown.append(os.readlink(links.project / "sub"))
        if what == "the content changes" and len(shown) == 1:
            (links.project / "sub" / "f").write_text("old and new")
        elif what == "the link moves":
            (links.project / "sub").unlink()
            (links.project / "sub").symlink_to("../B")
        return Allow()

    calls = [
        use("Bash", "b", command="mv sub before && ln -s ../A sub"),
        use(tool, "a", file_path="sub/f", **CALLS[tool]),
    ]
    held = await hold(
        [calls, "fine"], tools=["Bash", tool], cwd=links.project, can_use_tool=person, permission_mode="acceptEdits"
    )
    again = what == "the link moves" or tool != "Read"
    assert shown == ["../A", *({"the link moves": ["../B"]}.get(what, ["../A"]) if again else [])]
    assert not held.results["a"].is_error


@pytest.mark.anyio
@pytest.mark.parametrize("what", ["a formatter after each edit", "nothing"])
async def test_two_edits_of_one_file_need_one_yes_each(what: str, tmp_path: Path) -> None:
    """What the first one and the hooks behind it make of the file is ours."""
    (tmp_path / "f").write_text("a b")
    asked: list[str] = []

    async def person(name: str, tool_input: dict[str, Any], context: Any) -> Allow:
        asked.append(tool_input["new_string"])
        return Allow()

    async def formatter(*_: Any) -> None:
        (tmp_path / "f").write_text((tmp_path / "f").read_text() + "\n")

    hooks = {"PostToolUse": [HookMatcher(hooks=[formatter])]} if what != "nothing" else {}
    edits = [("a", "x"), ("b", "y")]
    calls = [use("Edit", old, file_path="f", old_string=old, new_string=new) for old, new in edits]
    await hold([calls, "fine"], tools=["Edit"], cwd=tmp_path, can_use_tool=person, hooks=hooks)
    assert asked == ["x", "y"]
    assert (tmp_path / "f").read_text().strip() == "x y"


@pytest.mark.anyio
async def test_a_parked_call_waits_for_the_file_as_the_turn_left_it(tmp_path: Path) -> None:
    """The other call of its turn changed the file after it was shown: an answer to what is there now counts."""
    (tmp_path / "f").write_text("a b")
    store = InMemoryStore()

    async def person(name: str, tool_input: dict[str, Any], context: Any) -> Allow | Defer:
        return Allow() if tool_input["new_string"] == "x" else Defer()

    edits = [("a", "x"), ("b", "y")]
    calls = [use("Edit", old, file_path="f", old_string=old, new_string=new) for old, new in edits]
    options: dict[str, Any] = {"tools": ["Edit"], "cwd": tmp_path, "store": store}
    held = await hold([calls, "fine"], can_use_tool=person, **options)
    assert await Inbox(store).answer(held.session_id, "b", Allow())
    held = await hold([calls, "fine"], None, resume=held.session_id, **options)
    assert held.result.terminal_reason == "completed"
    assert (tmp_path / "f").read_text() == "x y"


@pytest.mark.anyio
@pytest.mark.parametrize("tool", CALLS)
async def test_an_answer_to_another_file_than_the_one_that_waits_is_refused(tool: str, tmp_path: Path) -> None:
    """The digest of a parked call holds what was shown of the file: where the path led, and for writers the content."""
    links, store = Links(tmp_path), InMemoryStore()

    async def later(*_: Any) -> Defer:
        return Defer()

    held = await links.hold(tool, store=store, can_use_tool=later, ask=["Read"])
    [shown] = await Inbox(store).pending()
    links.lead("B")
    calls = [use(tool, "a", file_path="link", **CALLS[tool])]
    options: dict[str, Any] = {"tools": [tool], "cwd": links.project, "store": store, "ask": ["Read"]}
    await hold([calls, "fine"], None, resume=held.session_id, can_use_tool=later, **options)
    with pytest.raises(DeferralError, match="look at it again"):
        await Inbox(store).answer(held.session_id, "a", Allow(), digest=shown.digest)
    [fresh] = await Inbox(store).pending()
    assert await Inbox(store).answer(held.session_id, "a", Allow(), digest=fresh.digest)
    await hold([calls, "fine"], None, resume=held.session_id, **options)
    assert links.content() == {"Read": "old old old", "Write": "old mine old", "Edit": "old mine old"}[tool]


SPELLINGS: dict[str, Callable[[Links], str]] = {
    "as it was": lambda links: "link",
    "another spelling": lambda links: "./link",
    "absolute": lambda links: str(links.link),
    "where it led": lambda links: str(links.folder / "A" / "f"),
}


@pytest.mark.anyio
@pytest.mark.parametrize("where", ["callback", "inbox"])
@pytest.mark.parametrize("what", ["the link moves", "the content changes"])
@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_the_same_file_in_another_spelling_stays_bound(
    spelling: str, what: str, where: str, tmp_path: Path
) -> None:
    """Who hands back the input with the path spelled anew has seen the file as it was shown, and no other one."""
    links, shown, store = Links(tmp_path), [], InMemoryStore()
    answer = Allow({"file_path": SPELLINGS[spelling](links), "content": "mine"})

    def change() -> None:
        if what == "the link moves":
            links.lead("B")
        elif len(shown) == 1:
            (tmp_path / "A" / "f").write_text("old and new")

    async def person(*_: Any) -> Allow | Defer | Deny:
        shown.append(links.now)
        if where == "inbox" and len(shown) == 1:
            return Defer()
        if len(shown) > 1:
            return Deny()
        change()
        return answer

    held = await links.hold("Write", can_use_tool=person, store=store)
    if where == "inbox":
        assert await Inbox(store).answer(held.session_id, "a", answer)
        change()
        calls = [use("Write", "a", file_path="link", **CALLS["Write"])]
        options: dict[str, Any] = {"tools": ["Write"], "cwd": links.project, "store": store}
        await hold([calls, "fine"], None, resume=held.session_id, can_use_tool=person, **options)
    led_to_a = spelling == "where it led" and what == "the link moves"  # that path leads where it led
    assert len(shown) == (1 if led_to_a else 2)
    assert "mine" in links.content() if led_to_a else "mine" not in links.content()


@pytest.mark.anyio
@pytest.mark.parametrize("ends", [False, True], ids=["yes to all", "one no that interrupts"])
@pytest.mark.parametrize("prompts", [1, 2, None])
async def test_questions_just_before_the_run_keep_to_the_limit(prompts: int | None, ends: bool, tmp_path: Path) -> None:
    """So many are open at once as may be, no call begins after a no that interrupts, and waiting counts once."""
    names = "abcd"
    for name in names:
        (tmp_path / name).write_text(name)
        (tmp_path / f"{name}.link").symlink_to(name)
    (tmp_path / "other").write_text("other")
    asked: list[str] = []
    now = most = 0

    async def person(tool: str, tool_input: dict[str, Any], context: PermissionContext) -> Allow | Deny:
        nonlocal now, most
        asked.append(context.tool_use_id)
        if len(asked) == len(names):  # all are approved: now every link leads elsewhere
            for name in names:
                (tmp_path / f"{name}.link").unlink()
                (tmp_path / f"{name}.link").symlink_to("other")
        if len(asked) > len(names):
            now += 1
            most = max(most, now)
            await anyio.sleep(0.02)
            now -= 1
            return Deny(interrupt=True) if ends else Allow()
        return Allow()

    calls = [use("Read", name, file_path=f"{name}.link") for name in names]
    held = await hold(
        [calls, "fine"], tools=["Read"], cwd=tmp_path, can_use_tool=person, max_parallel_prompts=prompts,
        auto_allow_reads=False, max_seconds=60.0,
    )  # fmt: skip
    assert most <= (prompts or len(names))
    assert ends or most == (prompts or len(names))
    read = [name for name in names if "other" in held.words[name]]
    assert read == ([] if ends else list(names))
    if ends and prompts == 1:
        assert len(asked) == len(names) + 1
    assert held.result.duration_ms >= 0


@pytest.mark.anyio
async def test_a_call_that_is_running_is_not_refused_for_another_one(tmp_path: Path) -> None:
    """One of two calls that run side by side ran to its end; the other one's question ended in an interrupt."""
    (tmp_path / "f").write_text("f")
    (tmp_path / "link").symlink_to("f")
    begun = anyio.Event()
    asked: list[str] = []

    async def look(tool_input: Any, context: Any) -> str:
        begun.set()
        await anyio.sleep(0.05)
        return "looked"

    async def person(tool: str, tool_input: dict[str, Any], context: PermissionContext) -> Allow | Deny:
        asked.append(tool)
        if asked.count("Read") == 1 and tool == "Read":
            (tmp_path / "link").unlink()
            (tmp_path / "link").symlink_to("other")
            (tmp_path / "other").write_text("other")
            return Allow()
        if tool == "Read":
            await begun.wait()
            return Deny(interrupt=True)
        return Allow()

    calls = [use("look", "a"), use("Read", "b", file_path="link")]
    tools = [Ran().tool("look", look, read_only=True), "Read"]
    held = await hold([calls, "fine"], tools=tools, cwd=tmp_path, can_use_tool=person, auto_allow_reads=False)
    assert held.words["a"] == "looked"
    assert [denied["tool_use_id"] for denied in held.result.permission_denials] == ["b"]
    entries = {entry["tool_use_id"]: entry["behavior"] for entry in await held.entries("permission")}
    assert entries == {"a": "allow", "b": "deny"}


@pytest.mark.anyio
async def test_recheck_judges_what_is_shown(tmp_path: Path) -> None:
    """A PermissionRequest hook changed the input and an ask rule sent it on: that input is asked about."""
    seen: list[tuple[Any, Any]] = []

    async def hook(*_: Any) -> Allow:
        return Allow({"command": "rm f"})

    async def person(tool: str, tool_input: dict[str, Any], context: PermissionContext) -> Deny:
        seen.append((tool_input, context.recheck().call.effective))
        return Deny()

    hooks = {"PermissionRequest": [HookMatcher(hooks=[hook])]}
    call = use("Bash", "a", command="touch g")
    await hold([[call], "fine"], tools=["Bash"], cwd=tmp_path, hooks=hooks, can_use_tool=person, ask=["Bash(rm:*)"])
    assert seen == [({"command": "rm f"}, {"command": "rm f"})]
