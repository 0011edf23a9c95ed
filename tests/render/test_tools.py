"""Every call has a card that shows the whole input, whatever is in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_sdk.render import Card, Command, Diff, Fields, Questions, Text, register, render_call
from agent_sdk.values import JsonObject

JSON_OBJECTS = st.dictionaries(
    st.text(max_size=8),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=12),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=5,
)
TOOLS = ("Bash", "Edit", "Write", "Read", "Glob", "Grep", "AskUserQuestion", "Agent", "mcp__s__t", "mcp__", "Own")


def words(card: Card) -> str:
    """Everything a card would show, in one string."""
    parts = [card.title, card.summary, *card.notices]
    for part in card.body:
        match part:
            case Command(text) | Text(text):
                parts.append(text)
            case Diff(lines):
                parts += lines
            case Fields(pairs):
                parts += [f"{name}: {value}" for name, value in pairs]
            case Questions(questions):
                parts += [option.label for question in questions for option in question.options]
    return "\n".join(parts)


def diff_lines(card: Card) -> tuple[str, ...]:
    """The lines of the card's diff below its two header lines."""
    return next(part.lines[2:] for part in card.body if isinstance(part, Diff))


def test_a_command_is_shown_whole() -> None:
    """However long a command is, no character of it is left out."""
    command = "echo " + "x" * 50_000 + " && rm -rf build"
    card = render_call("Bash", {"command": command, "timeout": 5000, "description": "Clean up"}, cwd="/srv")
    assert card.body[0] == Command(command)
    assert card.body[1] == Fields((("described by the agent as", "Clean up"), ("time limit", "5000 ms")))
    assert card.summary == "in /srv"


@pytest.mark.parametrize(
    ("command", "notice"),
    [
        pytest.param("echo x > out.txt", "write to a file", id="redirects output"),
        pytest.param("echo x >> out.txt", "write to a file", id="appends"),
        pytest.param("sudo ls", "another user", id="sudo"),
        pytest.param("ls\nrm x", "several lines", id="several lines"),
        pytest.param("rm\u200b x", "cannot be seen", id="invisible characters"),
    ],
)
def test_a_notice_points_at_what_is_easily_missed(command: str, notice: str) -> None:
    """A command that redirects, changes the user, has lines or hidden characters says so above it."""
    assert notice in " ".join(render_call("Bash", {"command": command}).notices)


@pytest.mark.parametrize("command", ["ls 2>&1", "ls >/dev/null 2>&1", "cat pseudo.sudoers"])
def test_ordinary_commands_have_no_notice(command: str) -> None:
    """Notices are rare enough to be read."""
    assert render_call("Bash", {"command": command}).notices == ()


def test_write_shows_what_changes(tmp_path: Path) -> None:
    """Replacing a file is shown as a diff against the file as it is now, relative paths taken from the cwd."""
    (tmp_path / "notes").write_text("one\ntwo\n")
    card = render_call("Write", {"file_path": "notes", "content": "one\nthree\n"}, cwd=str(tmp_path))
    assert (card.title, card.summary) == ("Write: replace a file", "notes")
    assert diff_lines(card) == ("@@ -1,2 +1,2 @@", " one", "-two", "+three")


def test_write_of_a_new_file_shows_all_of_it(tmp_path: Path) -> None:
    """A file that does not exist yet is shown as added lines."""
    card = render_call("Write", {"file_path": "new", "content": "a\nb\n"}, cwd=str(tmp_path))
    assert card.title == "Write: create a file"
    assert diff_lines(card) == ("@@ -0,0 +1,2 @@", "+a", "+b")


def test_a_long_change_says_how_much_is_missing(tmp_path: Path) -> None:
    """Nobody approves hidden lines without being told of them."""
    content = "".join(f"{n}\n" for n in range(30_000))
    card = render_call("Write", {"file_path": "new", "content": content}, cwd=str(tmp_path))
    assert "10,003 more lines are not shown" in " ".join(card.notices)


def test_writing_over_something_unreadable_says_so(tmp_path: Path) -> None:
    """A binary file cannot be compared; the card says why and shows what would take its place."""
    (tmp_path / "logo").write_bytes(b"\0\1")
    card = render_call("Write", {"file_path": "logo", "content": "text\n"}, cwd=str(tmp_path))
    assert "binary" in words(card)
    assert "+text" in words(card)


EDITS = [
    pytest.param("two", "2", False, "+2", (), id="one place"),
    pytest.param("o", "0", True, "+0ne", ("Every occurrence is replaced: 2.",), id="everywhere"),
    pytest.param("o", "0", False, "+0ne", ("The text to replace occurs 2 times: the edit would fail.",), id="unclear"),
    pytest.param(
        "four", "4", False, "+4", ("The text to replace does not occur in the file: the edit would fail.",), id="absent"
    ),
]


@pytest.mark.parametrize(("old", "new", "everywhere", "line", "notices"), EDITS)
def test_edit_shows_what_changes(
    tmp_path: Path, old: str, new: str, everywhere: bool, line: str, notices: tuple[str, ...]
) -> None:
    """An edit is shown in its place, and what would make it fail is said beforehand."""
    (tmp_path / "f").write_text("one\ntwo\n")
    call: JsonObject = {"file_path": "f", "old_string": old, "new_string": new, "replace_all": everywhere}
    card = render_call("Edit", call, cwd=str(tmp_path))
    assert line in diff_lines(card)
    assert card.notices == notices


def test_a_link_is_named(tmp_path: Path) -> None:
    """A path that leads elsewhere shows where the file really is."""
    (tmp_path / "real").write_text("x\n")
    (tmp_path / "link").symlink_to("real")
    card = render_call("Write", {"file_path": "link", "content": "y\n"}, cwd=str(tmp_path))
    assert str(tmp_path / "real") in " ".join(card.notices)


def test_an_mcp_call_names_server_and_tool() -> None:
    """The long name of an MCP tool is taken apart, its arguments are listed."""
    card = render_call("mcp__github__create_issue", {"title": "Bug", "labels": ["a"]})
    assert card.title == "MCP tool create_issue of the server github"
    assert card.body == (Fields((("title", "Bug"), ("labels", '["a"]'))),)


def test_questions_become_a_question_card() -> None:
    """AskUserQuestion is shown as questions with options, a long header as a chip."""
    options = [{"label": "A", "description": "first", "preview": "x\x1b"}, {"label": "B", "description": ""}]
    question = {"question": "Which?", "header": "A header that is long", "options": options}
    (part,) = render_call("AskUserQuestion", {"questions": [question]}).body
    assert isinstance(part, Questions)
    (shown,) = part.questions
    assert (shown.question, len(shown.header)) == ("Which?", 12)
    assert shown.options[0].preview == r"x\x1b"


def test_a_renderer_that_raises_gives_way_to_json() -> None:
    """A broken renderer cannot keep a person from seeing the call."""

    def broken(tool_input: JsonObject, cwd: str) -> Card:
        raise RuntimeError("no")

    register("Broken", broken)
    assert render_call("Broken", {"a": 1}) == Card(title="Broken", body=(Text('{"a": 1}'),))


@given(st.sampled_from(TOOLS), JSON_OBJECTS)
@settings(deadline=None)
def test_every_input_has_a_card_that_is_safe_to_print(tool: str, tool_input: JsonObject) -> None:
    """No input makes rendering fail or brings a control character onto the screen."""
    shown = words(render_call(tool, tool_input))
    assert all(char in "\n\t" or char.isprintable() or char == "\u3000" for char in shown)


@pytest.mark.parametrize("tool", ["Bash", "Read", "mcp__s__t", "Own"])
def test_unknown_fields_are_shown(tool: str) -> None:
    """What a person approves is the whole input, so fields that a renderer does not know are listed."""
    shown = words(render_call(tool, {"command": "ls", "file_path": "x", "sandbox": "off"}))
    assert "sandbox" in shown
    assert "off" in shown


def test_an_agent_is_shown_with_its_whole_task() -> None:
    """What a sub-agent would be told is what is approved."""
    card = render_call("Agent", {"description": "Look", "prompt": "Read\nall.", "subagent_type": "reader", "more": 1})
    assert (card.title, card.summary) == ("Agent: start a sub-agent", "Look")
    assert card.body == (Fields((("kind", "reader"),)), Text("Read\nall."), Fields((("more", "1"),)))


def test_redirections_are_fields() -> None:
    """Files that a command line writes and reads are named."""
    card = render_call("Bash", {"command": "sort < in.txt > out.txt"})
    assert card.body[1] == Fields((("writes to", "out.txt"), ("reads from", "in.txt")))
