"""A link that is put in a file's place between the judgement and the tool leads nowhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_sdk import Allow, Deny, InMemoryStore
from tests.engine.dialogue import Ran, hold, use


class Swapping(InMemoryStore):
    """Does something in the very moment before a tool runs."""

    def __init__(self, swap: Callable[[], object]) -> None:
        super().__init__()
        self.swap = swap

    async def begin_call(self, *arguments: Any, **more: Any) -> Any:
        """As its base, then the swap."""
        begun = await super().begin_call(*arguments, **more)
        self.swap()
        return begun


CALLS: dict[str, dict[str, Any]] = {
    "Read": {},
    "Write": {"content": "mine"},
    "Edit": {"old_string": "secret", "new_string": "mine"},
}


@pytest.mark.anyio
@pytest.mark.parametrize("through_link", [False, True], ids=["file", "link"])
@pytest.mark.parametrize("how", ["rule", "person"])
@pytest.mark.parametrize("tool", CALLS)
async def test_a_link_in_the_place_of_a_judged_file_is_not_followed(
    tool: str, how: str, through_link: bool, tmp_path: Path
) -> None:
    """Whatever was approved, and whoever did: the file outside is not read and not written."""
    (tmp_path / "in").mkdir()
    inside, outside = tmp_path / "in" / "notes", tmp_path / "outside"
    inside.write_text("a secret of ours")
    outside.write_text("a secret of others")
    if through_link:
        (tmp_path / "in" / "link").symlink_to("notes")

    async def yes(*_: Any) -> Allow:
        return Allow()

    def swap() -> None:
        inside.unlink()
        inside.symlink_to(outside)

    named = "link" if through_link else "notes"
    options: dict[str, Any] = {"can_use_tool": yes} if how == "person" else {"allow": ["Edit(**)", "Read(**)"]}
    held = await hold(
        [[use(tool, "a", file_path=named, **CALLS[tool])], "fine"],
        store=Swapping(swap), tools=[tool], cwd=tmp_path / "in", **options,
    )  # fmt: skip
    assert "of others" not in held.words["a"]
    assert outside.read_text() == "a secret of others"
    if tool == "Read":
        assert held.results["a"].is_error
        assert "has become another link since this was approved" in held.words["a"]


@pytest.mark.anyio
@pytest.mark.parametrize("tool", CALLS)
async def test_a_link_that_is_moved_before_the_tool_leads_where_it_led(tool: str, tmp_path: Path) -> None:
    """The link itself may be moved: the tool goes to the file that was judged."""
    (tmp_path / "in").mkdir()
    link, inside, outside = tmp_path / "in" / "link", tmp_path / "in" / "notes", tmp_path / "outside"
    inside.write_text("a secret of ours")
    outside.write_text("a secret of others")
    link.symlink_to("notes")

    def swap() -> None:
        link.unlink()
        link.symlink_to(outside)

    held = await hold(
        [[use(tool, "a", file_path="link", **CALLS[tool])], "fine"],
        store=Swapping(swap), tools=[tool], cwd=tmp_path / "in", allow=["Edit(**)", "Read(**)"],
    )  # fmt: skip
    assert not held.results["a"].is_error
    assert "of others" not in held.words["a"]
    assert outside.read_text() == "a secret of others"
    assert inside.read_text() == {"Read": "a secret of ours", "Write": "mine", "Edit": "a mine of ours"}[tool]


def chain(folder: Path, length: int, last: str) -> str:
    """The first of so many links that lead one to the next, and at last to `last`."""
    for number in range(length):
        (folder / f"l{number}").symlink_to(f"l{number + 1}" if number + 1 < length else last)
    return "l0"


@pytest.mark.anyio
@pytest.mark.parametrize("length", [40, 41, 1_500])
@pytest.mark.parametrize("below", [False, True], ids=["link", "folder"])
@pytest.mark.parametrize("how", ["bypass", "person"])
@pytest.mark.parametrize("tool", CALLS)
async def test_links_that_are_too_many_to_be_judged_lead_nowhere(
    tool: str, how: str, below: bool, length: int, tmp_path: Path
) -> None:
    """Where rules cannot follow, no tool goes: a denied file is safe behind any number of links, in every mode."""
    (tmp_path / "secret").mkdir()
    secret = tmp_path / "secret" / "key"
    secret.write_text("a secret of ours")
    named = chain(tmp_path, length, "secret" if below else "secret/key") + ("/key" if below else "")

    async def yes(*_: Any) -> Allow:
        return Allow()

    options: dict[str, Any] = {"can_use_tool": yes} if how == "person" else {"permission_mode": "bypassPermissions"}
    held = await hold(
        [[use(tool, "a", file_path=named, **CALLS[tool])], "fine"],
        tools=[tool], cwd=tmp_path, deny=["Read(secret/**)", "Edit(secret/**)"], **options,
    )  # fmt: skip
    assert held.results["a"].is_error
    assert "of ours" not in held.words["a"]
    assert secret.read_text() == "a secret of ours"


@pytest.mark.anyio
@pytest.mark.parametrize("how", ["bypass", "person"])
@pytest.mark.parametrize(
    "name", ["\ud800", "a\udfff/b", "\0", "a" * 300, "a/" * 3_000, "/proc/self/fd/0", "loop", "loop/x"]
)
@pytest.mark.parametrize("tool", CALLS)
async def test_a_name_that_no_file_can_have_is_an_error_result(tool: str, name: str, how: str, tmp_path: Path) -> None:
    """Whoever approved it: the model is told, and the run goes on."""
    (tmp_path / "loop").symlink_to("loop")

    async def yes(*_: Any) -> Allow:
        return Allow()

    options: dict[str, Any] = {"can_use_tool": yes} if how == "person" else {"permission_mode": "bypassPermissions"}
    held = await hold([[use(tool, "a", file_path=name, **CALLS[tool])], "fine"], tools=[tool], cwd=tmp_path, **options)
    assert held.results["a"].is_error
    assert held.result.subtype == "success"


@pytest.mark.anyio
@pytest.mark.parametrize("tool", CALLS)
async def test_the_home_folder_is_the_one_that_was_judged(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `HOME` that changes after the judgement leads to no other file."""
    homes = [tmp_path / "home", tmp_path / "elsewhere"]
    for home in homes:
        home.mkdir()
        (home / "notes").write_text(f"a secret of {home.name}")
    monkeypatch.setenv("HOME", str(homes[0]))

    async def yes(*_: Any) -> Allow:
        os.environ["HOME"] = str(homes[1])
        return Allow()

    held = await hold(
        [[use(tool, "a", file_path="~/notes", **CALLS[tool])], "fine"], tools=[tool], cwd=tmp_path, can_use_tool=yes
    )
    assert "of elsewhere" not in held.words["a"]
    assert (homes[1] / "notes").read_text() == "a secret of elsewhere"


def _file_becomes_a_link(folder: Path) -> None:
    (folder / "in" / "sub" / "notes").unlink(missing_ok=True)
    (folder / "in" / "sub" / "notes").symlink_to(folder / "out" / "notes")


def _folder_becomes_a_link(folder: Path) -> None:
    (folder / "in" / "sub").rename(folder / "in" / "before")
    (folder / "in" / "sub").symlink_to(folder / "out")


def _link_moves(folder: Path) -> None:
    (folder / "in" / "link").unlink()
    (folder / "in" / "link").symlink_to(folder / "out")


SWAPS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "file": ("sub/notes", _file_becomes_a_link),
    "folder": ("sub/notes", _folder_becomes_a_link),
    "link": ("link/notes", _link_moves),
}


@pytest.mark.anyio
@pytest.mark.parametrize("again", [True, False], ids=["then yes", "then no"])
@pytest.mark.parametrize("when", ["the person thinks", "the call before runs"])
@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("tool", ["Read", "Write", "Write new", "Edit"])
async def test_a_yes_is_for_the_file_that_the_path_led_to(
    tool: str, swap: str, when: str, again: bool, tmp_path: Path
) -> None:
    """Where it leads elsewhere when the call is to run, the person is asked again, though the content is the same."""
    named, act = SWAPS[swap]
    for folder in ("in/sub", "out"):
        (tmp_path / folder).mkdir(parents=True)
        if tool != "Write new":
            (tmp_path / folder / "notes").write_text("a secret")
    (tmp_path / "in" / "link").symlink_to("sub")
    asked: list[str] = []

    async def person(name: str, tool_input: dict[str, Any], context: Any) -> Allow | Deny:
        if name == "relink":
            return Allow()
        asked.append(context.trace[-1].note)
        if when == "the person thinks" and len(asked) == 1:
            act(tmp_path)
        return Allow() if again or len(asked) == 1 else Deny("Not that one.")

    async def relink(tool_input: dict[str, Any], context: Any) -> str:
        act(tmp_path)
        return "done"

    name = tool.split()[0]
    calls = [use("relink", "r")] if when == "the call before runs" else []
    calls.append(use(name, "a", file_path=named, **CALLS[name]))
    held = await hold(
        [calls, "fine"], tools=[name, Ran().tool("relink", relink)], cwd=tmp_path / "in", can_use_tool=person,
        auto_allow_reads=False,
    )  # fmt: skip
    assert len(asked) == 2
    assert asked[1] == "the file has changed since this was approved"
    assert held.results["a"].is_error is not again
    outside = tmp_path / "out" / "notes"
    before = None if tool == "Write new" else "a secret"
    after = {"Read": before, "Edit": "a mine"}.get(name, "mine") if again else before
    assert (outside.read_text() if outside.exists() else None) == after
