"""The card of a call as a value: which keys decide, what is drawn at which size, what is remembered."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agent_sdk.decisions import Allow, Defer, Deny, PermissionRule, PermissionUpdate
from agent_sdk.errors import OptionsError
from agent_sdk.render.cells import width
from agent_sdk.terminal.asking import STOPPED, asked, tried
from agent_sdk.terminal.rich_approval import ApprovalPage
from agent_sdk.terminal.rich_page import OpenEditor, Try
from tests.terminal.people import context

NOW = datetime(2030, 1, 1, tzinfo=UTC)
COMMAND = {"command": "rm -r build", "description": "Clean up"}


def update(rule: str, covers: str, rung: int = 0, destination: str = "localSettings") -> PermissionUpdate:
    tool, _, specifier = rule.partition("(")
    rules = (PermissionRule(tool, specifier.removesuffix(")") or None),)
    fields: dict[str, Any] = {"destination": destination, "behavior": "allow", "rung": rung, "covers": covers}
    return PermissionUpdate(type="addRules", rules=rules, **fields)


SUGGESTIONS = (
    update("Bash(npm test)", "npm test"),
    update("Bash(npm test:*)", "npm test", 1),
    update("Bash(git push)", "git push", 0, "session"),
)
REMEMBERS = True
try:
    Allow(updated_permissions=SUGGESTIONS)
except OptionsError:
    REMEMBERS = False
remembers = pytest.mark.skipif(not REMEMBERS, reason="an answer cannot carry rules yet")


def page(tool: str = "Bash", tool_input: dict[str, Any] | None = None, **known: Any) -> ApprovalPage:
    defer = known.pop("offer_defer", False)
    return ApprovalPage.of(asked(tool, tool_input or COMMAND, context(**known), by="me", offer_defer=defer))


def pressed(on: ApprovalPage, *keys: str) -> ApprovalPage:
    """After these keys; text in a field is typed by a key of more than one character that names no key."""
    for key in keys:
        on = on.typed(key[1:]) if key.startswith(">") else on.press(key)
        if isinstance(on.want, Try):
            on = on.tried(tried(on.want.asking, on.want.tool_input))
    return on


def text(on: ApprovalPage, columns: int = 100, rows: int = 40, waiting: int = 0) -> str:
    return on.view(columns, rows, now=NOW, waiting=waiting).text


EDITED = Allow({**COMMAND, "command": "ls"}, by="me")
PATHS = [
    pytest.param(["enter"], Allow(by="me"), id="Enter on the first row"),
    pytest.param(["1"], Allow(by="me"), id="its number"),
    pytest.param(["3"], Deny(by="me"), id="no"),
    pytest.param(["escape"], Deny(by="me"), id="Esc is no"),
    pytest.param(["down", "down", "enter"], Deny(by="me"), id="down to no"),
    pytest.param(["up", "enter", "escape", "up", "up", "up", "enter"], Deny(by="me"), id="up goes round"),
    pytest.param(["5"], Deny(STOPPED, interrupt=True, by="me"), id="stop"),
    pytest.param(["c-c"], Deny(STOPPED, interrupt=True, by="me"), id="Ctrl-C stops"),
    pytest.param(["4", "c-c"], Deny(STOPPED, interrupt=True, by="me"), id="Ctrl-C stops in a field"),
    pytest.param(["4", ">use make clean", "enter"], Deny("use make clean", by="me"), id="no, with words"),
    pytest.param(["4", "enter", ">  ", "enter", "escape", "3"], Deny(by="me"), id="no words are no reason"),
    pytest.param(["2", ">ls", "enter", "enter"], EDITED, id="edited, shown again, approved"),
    pytest.param(["2", ">ls", "escape", "1"], Allow(by="me"), id="an edit taken back"),
    pytest.param(["2", "enter", "1"], Allow(by="me"), id="an edit without a change"),
    pytest.param(["2", ">ls", "enter", "2", ">pwd", "enter", "3"], Deny(by="me"), id="edited twice, then no"),
    pytest.param(["6", "escape", "1"], Allow(by="me"), id="why, back, yes"),
    pytest.param(["6", "6", "3"], Deny(by="me"), id="why twice"),
    pytest.param(
        ["y", "x", "7", "8", "9", "0", "home", "tab", "s-tab", "1"], Allow(by="me"), id="other keys do nothing"
    ),
]


@pytest.mark.parametrize(("keys", "decision"), PATHS)
def test_keys_decide(keys: list[str], decision: Allow | Deny) -> None:
    """Each way through the card ends in its decision, and not before the last key."""
    on = page()
    for key in keys:
        assert on.outcome is None
        on = pressed(on, key)
    assert on.outcome == decision


def test_later_is_offered_when_it_can_be_parked() -> None:
    """Only an approver that was told so offers it, under its own number."""
    assert isinstance(pressed(page(offer_defer=True), "9").outcome, Defer)
    assert "9. Not now" in text(page(offer_defer=True))
    assert "Not now" not in text(page())


def test_an_empty_command_is_no_edit() -> None:
    """What cannot run is told in the field, and nothing is decided."""
    on = pressed(page(), "2", "> ", "enter")
    assert on.outcome is None
    assert on.field is not None
    assert "there is no command" in text(on)


def test_other_inputs_are_edited_as_json() -> None:
    """The field holds the input; broken JSON is told with its place."""
    on = pressed(page("Read", {"file_path": "a"}), "2")
    assert on.field is not None
    assert on.field.text == '{\n  "file_path": "a"\n}'
    assert "line 1, column 2" in text(pressed(on, ">{file_path", "enter"))
    assert pressed(on, '>{"file_path": "b"}', "enter", "1").outcome == Allow({"file_path": "b"}, by="me")


def test_the_new_text_of_a_write_is_edited_as_it_is(tmp_path: Path) -> None:
    """Nobody has to edit a file with escaped line ends; the change shown afterwards is the new one."""
    on = pressed(page("Write", {"file_path": "a.py", "content": "one\n"}, cwd=str(tmp_path)), "2", ">two\nthree\n")
    assert pressed(on, "c-x").want == OpenEditor("two\nthree\n", ".py")
    on = pressed(on, "enter")
    assert "Changed by you." in text(on)
    assert "+three" in text(on)


def test_what_comes_from_the_editor_is_tried_at_once() -> None:
    """The text is judged like a typed one; a failed editor leaves everything as it was."""
    on = pressed(page(), "2", "c-x")
    assert on.want == OpenEditor("rm -r build", ".sh")
    failed = on.from_editor(None, "The editor failed: x")
    assert failed.want is None
    assert "The editor failed: x" in text(failed)
    assert isinstance(on.from_editor("ls").want, Try)
    assert on.from_editor("  ").problem == "That is no input: there is no command."


def test_a_remembered_rule_is_said_in_words_with_its_place() -> None:
    """Rule text, what else it would match, and the file stand under the cursor; the narrowest is taken at first."""
    on = pressed(page("Bash", {"command": "npm test && git push"}, suggestions=SUGGESTIONS), "8")
    shown = text(on)
    assert "For npm test" in shown
    assert "❯ (●) 1. Bash(npm test): exactly the command 'npm test', and no other" in shown
    assert "  ( ) 2. Bash(npm test:*): every command that begins with 'npm test', whatever follows" in shown
    assert "  (●) 3. Bash(git push): exactly" in shown
    assert "Kept for you, this project (.claude/settings.local.json" in shown
    assert "Kept for this session" in text(pressed(on, "down", "down"))
    assert "Kept for you, everywhere (~/.claude/settings.json" in text(pressed(on, "left"))


def test_one_rung_of_each_part_is_taken() -> None:
    """Taking a wider rule lets go of the narrower one of the same part, and of no other."""
    on = pressed(page("Bash", {"command": "npm test && git push"}, suggestions=SUGGESTIONS), "8", "down", " ")
    assert on.remember is not None
    assert on.remember.updates == [SUGGESTIONS[1], SUGGESTIONS[2]]
    on = pressed(on, "3", " ", "right")
    assert on.remember is not None
    assert on.remember.updates == [replace(SUGGESTIONS[1], destination="session")]
    assert "Nothing is taken" in text(pressed(on, "2", " ", "enter"))
    assert pressed(on, "escape", "3").outcome == Deny(by="me")


@remembers
@pytest.mark.parametrize("times", [1, 2])
def test_a_number_takes_and_never_leaves(times: int) -> None:
    """As on the card before: who presses the number of the row that is taken already means that row."""
    on = pressed(page(suggestions=SUGGESTIONS), "8", *["1"] * times)
    assert "a number takes, Space takes or leaves" in text(on)
    assert pressed(on, "enter").outcome == Allow(updated_permissions=[SUGGESTIONS[0], SUGGESTIONS[2]], by="me")


@remembers
def test_what_was_taken_is_handed_back() -> None:
    """The answer carries the very updates that were shown."""
    on = pressed(page(suggestions=SUGGESTIONS), "8", "3", " ", "enter")
    assert on.outcome == Allow(updated_permissions=[SUGGESTIONS[0]], by="me")


def test_a_changed_call_remembers_nothing() -> None:
    """The suggestions were made for the call of the model, so they are not offered for another one."""
    on = pressed(page(suggestions=SUGGESTIONS), "2", ">ls", "enter")
    assert "remember" not in text(on)
    assert pressed(on, "8").step == "menu"


def test_nothing_to_remember_is_not_offered() -> None:
    """A choice that would do nothing is no choice."""
    assert "remember" not in text(page())


def test_the_bar_counts() -> None:
    """How many wait and how long is left, in minutes or hours."""
    on = page(deadline=NOW + timedelta(seconds=75))
    assert "2 more waiting · 1:15 left ─" in text(on, waiting=2)
    assert "0:00 left" in text(page(deadline=NOW - timedelta(seconds=5)))
    assert "2:00:01 left" in text(page(deadline=NOW + timedelta(hours=2, seconds=1)))


LONG = "\n".join(f"line {number}" for number in range(3_000))


def scrolled(on: ApprovalPage, *keys: str) -> ApprovalPage:
    """After these keys, drawn after each one as the terminal does."""
    for key in keys:
        on = on.press(key)
        view = on.view(80, 24, now=NOW, waiting=0)
        on = on.scrolled(view.scroll, view.rows)
    return on


def test_a_long_change_is_scrolled_and_says_so(tmp_path: Path) -> None:
    """The menu stays in sight, the place is told, nobody scrolls beyond the end, and scrolling decides nothing."""
    on = scrolled(page("Write", {"file_path": "n", "content": LONG}, cwd=str(tmp_path)), "pageup")
    assert "of 3,0" in text(on, 80, 24)
    assert "PgDn shows more" in text(on, 80, 24)
    end = scrolled(on, "end")
    assert "+line 2999" in text(end, 80, 24)
    assert "the end" in text(end, 80, 24)
    assert scrolled(end, "pagedown", "pagedown") == end
    assert scrolled(end, "pageup").scroll < end.scroll
    assert scrolled(end, "home", "s-down", "s-down", "s-up").scroll == 1
    assert end.outcome is None


def test_no_character_of_a_long_command_is_left_out() -> None:
    """However long it is, all of it can be scrolled to."""
    command = "echo " + "".join(chr(0x4E00 + number % 5000) for number in range(100_000))
    body = page("Bash", {"command": command}).body.lines(80)
    shown = "".join(piece for line in body for style, piece in line if style == "bold")
    assert shown == command
    assert all(sum(width(piece) for _, piece in line) <= 80 for line in body)


TEXTS = st.text(st.characters(codec="utf-8"), max_size=60) | st.sampled_from(
    ["中文 " * 40, "\t\x1b[2J\u202e", "x" * 500]
)


@settings(max_examples=150, deadline=None)
@given(
    tool_input=st.dictionaries(st.sampled_from(["command", "description", "file_path", "content", "other"]), TEXTS),
    tool=st.sampled_from(["Bash", "Write", "Edit", "mcp__s__t", "Agent", "Own"]),
    columns=st.integers(20, 140),
    rows=st.integers(20, 50),
    keys=st.lists(st.sampled_from(["2", "4", "6", "8", "down", "pagedown", "end", ">中文字", "enter"]), max_size=5),
)
def test_it_fits_every_terminal(
    tool_input: dict[str, Any], tool: str, columns: int, rows: int, keys: list[str]
) -> None:
    """No line is wider than the terminal, nothing is drawn below its end, and no control character is drawn at all."""
    assume(REMEMBERS or not {"8", "enter"} <= set(keys))
    on = pressed(page(tool, tool_input or COMMAND, suggestions=SUGGESTIONS, agent_type="中" * 30), *keys)
    view = on.view(columns, rows, now=NOW, waiting=3)
    lines = ["".join(piece for _, piece in line) for line in (*view.above, *view.below)]
    assert all(width(line) <= columns for line in lines)
    assert len(lines) <= rows
    assert not {char for line in lines for char in line if unicodedata.category(char) in ("Cc", "Cf", "Cs")}
