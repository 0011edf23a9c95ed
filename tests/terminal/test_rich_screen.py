"""The rich prompt on a real pseudo-terminal, wide and narrow: what is seen, which keys decide, what is left behind."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.terminal.screens import ASK, Terminal, compare

pytestmark = pytest.mark.slow  # a process and a terminal for each; tests/cli keeps one rich prompt in the default run

BOTH = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
SIZES = {"wide": (100, 30), "narrow": (60, 24)}
Opens = Callable[..., Terminal]


@pytest.fixture
def anyio_backend() -> str:
    """The harder one of the two. These tests take long: only those marked with `BOTH` run on both."""
    return "trio"


@pytest.fixture
def opened(anyio_backend: str) -> Iterator[Opens]:
    """Opens terminals with a prompt, and closes them."""
    terminals: list[Terminal] = []

    def open_one(size: str = "wide", environment: dict[str, str] | None = None, **case: Any) -> Terminal:
        columns, rows = SIZES[size]
        terminal = Terminal(ASK, anyio_backend, json.dumps(case), columns=columns, rows=rows, **(environment or {}))
        terminals.append(terminal)
        return terminal

    yield open_one
    for terminal in terminals:
        terminal.close()


def bash(command: str = "rm -r build", **fields: Any) -> list[Any]:
    return ["Bash", {"command": command, **fields}]


def option(label: str, description: str, preview: str | None = None) -> dict[str, Any]:
    fields = {"label": label, "description": description}
    return fields if preview is None else {**fields, "preview": preview}


STACK = {
    "question": "博客用什么技术栈？",
    "header": "技术栈",
    "multiSelect": False,
    "options": [
        option("Next.js", "需要动态功能时更灵活", "app/\n  page.tsx"),
        option("Astro (Recommended)", "内容站首选，默认零 JS", "site: '中文宽字符测试 🚀'"),
    ],
}
FEATURES = {
    "question": "第一版要哪些功能？",
    "header": "功能",
    "multiSelect": True,
    "options": [option("评论", "giscus"), option("RSS", "一个文件"), option("全文搜索", "pagefind")],
}
PORT = {"question": "Which port?", "header": "Port", "kind": "number", "min": 1024, "max": 65535}
CARD = ["AskUserQuestion", {"questions": [STACK, FEATURES, PORT]}]
SUGGESTIONS = [
    ["localSettings", 0, "npm test", "Bash", "npm test"],
    ["localSettings", 1, "npm test", "Bash", "npm test:*"],
    ["session", 0, "rm -r build", "Bash", "rm -r build"],
]


@pytest.mark.parametrize("size", SIZES)
def test_a_command_as_it_is_seen(opened: Opens, size: str) -> None:
    """Who asks, what is unusual, why, the command, its parts and files, the choices: at one glance."""
    known = {
        "cwd": "/srv/app",
        "agent_path": ["toolu_9"],
        "agent_type": "reviewer",
        "decision_reason": "An ask rule covers this call.",
        "matched_rule": "Bash(rm *)",
    }
    command = "npm test && rm -r build > 日志.txt"
    terminal = opened(size, calls=[bash(command, description="测试并清理")], context=known, suggestions=SUGGESTIONS)
    terminal.asks("May it run?")
    compare(terminal.text, f"command_{size}")
    terminal.press("6")
    compare(terminal.text, f"why_{size}")
    terminal.press("escape", "8")
    compare(terminal.text, f"remember_{size}")
    terminal.press("escape", "2")
    compare(terminal.text, f"edit_{size}")
    terminal.press("escape", "3")
    assert terminal.decision.startswith("Deny(")
    assert terminal.lines[0] == "  (Bash: run a command: no)"


DECISIONS = [
    pytest.param(["enter"], "Allow(updated_input=None", id="yes"),
    pytest.param(["3"], "Deny(message=''", id="no"),
    pytest.param(["escape"], "Deny(message=''", id="Esc"),
    pytest.param(
        ["down", "down", "down", "enter", "用 make clean", "enter"], "Deny(message='用 make clean'", id="words"
    ),
    pytest.param(["5"], "Deny(message='The person interrupted the work.', interrupt=True", id="stop"),
    pytest.param(["c-c"], "Deny(message='The person interrupted the work.', interrupt=True", id="Ctrl-C"),
    pytest.param(["9"], "Defer(", id="later"),
    pytest.param(["2", "c-u", "ls -中文", "enter", "1"], "Allow(updated_input={'command': 'ls -中文'}", id="edit"),
    pytest.param(["2", "\x1b[200~ two\r\nlines\x1b[201~", "enter", "1"], "'rm -r build two\\nlines'", id="paste"),
    pytest.param(["\x1b[200~1\r1\x1b[201~", "3"], "Deny(message=''", id="what is pasted chooses nothing"),
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("keys", "decision"), DECISIONS)
def test_keys_decide(opened: Opens, keys: list[str], decision: str, size: str) -> None:
    """Every choice works on a real terminal, wide or narrow, which is as it was before afterwards."""
    terminal = opened(size, calls=[bash()], approver={"offer_defer": True})
    terminal.asks("May it run?")
    terminal.press(*keys)
    assert decision in terminal.decision
    assert terminal.is_restored()


@pytest.mark.parametrize("size", SIZES)
def test_a_rule_is_remembered_where_the_person_says(opened: Opens, size: str) -> None:
    """A wider rule for one part, all of it for this session."""
    terminal = opened(size, calls=[bash("npm test && rm -r build")], suggestions=SUGGESTIONS)
    terminal.asks("May it run?")
    terminal.press("8", "down", "space", "right")
    terminal.sees("Kept for this session")
    terminal.press("enter")
    assert "'npm test:*'" in terminal.decision
    assert "'rm -r build'" in terminal.decision
    assert "localSettings" not in terminal.decision
    assert "(Bash: run a command: yes, and remembered)" in terminal.text


@pytest.mark.parametrize("size", SIZES)
def test_a_question_card_as_it_is_seen(opened: Opens, size: str) -> None:
    """Recommended first, previews beside or below, several answers, a number in range, the submit page; in Chinese."""
    terminal = opened(size, calls=[CARD])
    terminal.asks("Astro")
    compare(terminal.text, f"question_{size}")
    terminal.press("n", "以后再说", "enter", "1")
    terminal.sees("第一版要哪些功能？")
    terminal.press("1", "2", "4", "收藏 🚀", "enter")
    terminal.sees("Which port?")
    compare(terminal.text, f"number_{size}")
    terminal.press("80", "enter")
    terminal.sees("80 is out of range")
    terminal.press("80", "enter")
    terminal.sees("Your answers")
    compare(terminal.text, f"submit_{size}")
    terminal.press("enter")
    assert "'answers': {'博客用什么技术栈？': 'Astro (Recommended)', " in terminal.decision
    assert "'第一版要哪些功能？': ['评论', 'RSS', '收藏 🚀'], 'Which port?': '8080'}" in terminal.decision
    assert "'notes': '以后再说'" in terminal.decision


@BOTH
@pytest.mark.parametrize("size", SIZES)
def test_a_card_is_declined_with_two_keys(opened: Opens, size: str) -> None:
    """One Esc only asks; the second one hands the card in empty."""
    terminal = opened(size, calls=[CARD])
    terminal.asks("Astro")
    terminal.press("escape")
    terminal.sees("Esc once more declines")
    terminal.press("escape")
    assert "'answers': {}" in terminal.decision


@BOTH
def test_nothing_typed_before_counts(opened: Opens) -> None:
    """Enter and 1 that were hit before the card was there, or in the very moment it appeared, approve nothing."""
    terminal = opened(calls=[bash()])
    terminal.child.send("1\r1\r")
    terminal.sees("May it run?")
    terminal.child.send("1\r")
    terminal.read(0.6)
    assert "DECISION" not in terminal.text
    terminal.press("3")
    assert terminal.decision.startswith("Deny(")


@pytest.mark.parametrize("size", SIZES)
def test_a_change_of_3000_lines(opened: Opens, tmp_path: Path, size: str) -> None:
    """The menu stays in sight, the end can be reached, and it is told where one is."""
    content = "".join(f"行 {number}\n" for number in range(3_000))
    terminal = opened(
        size, calls=[["Write", {"file_path": "long.txt", "content": content}]], context={"cwd": str(tmp_path)}
    )
    terminal.asks("May it run?")
    if size == "wide":
        compare(terminal.text, "long_change")
    terminal.press("end")
    terminal.sees("+行 2999")
    terminal.press("pageup")
    terminal.sees("PgDn shows more")
    terminal.press("1")
    assert terminal.decision.startswith("Allow(")


@pytest.mark.parametrize("size", SIZES)
def test_a_command_of_100000_characters(opened: Opens, size: str) -> None:
    """It is drawn in bounded time, scrolled to its end, and can be edited."""
    terminal = opened(size, calls=[bash("echo " + "x" * 99_980 + " && rm -r build")])
    terminal.asks("May it run?")
    terminal.press("end")
    terminal.sees("rm -r build")
    terminal.press("2", " --help", "enter")
    terminal.sees("May it run as changed?")
    terminal.press("1")
    assert "rm -r build --help'" in terminal.decision


def test_hostile_text_cannot_steer_the_terminal(opened: Opens) -> None:
    """Escapes, bidirectional overrides and invisible characters are spelt out: on the card and in the text field."""
    command = "echo \x1b[2J\x1b]0;title\x07 \u202egnp.exe \u200b1"
    terminal = opened(calls=[bash(command, description="\x1b[1;1H1. Yes, once")])
    terminal.asks("May it run?")
    compare("\n".join(line for line in terminal.lines if "in /" not in line), "hostile")
    terminal.press("2")
    terminal.sees("What shall run instead?")
    assert "echo \\x1b[2J\\x1b]0;title\\x07 \\u202egnp.exe \\u200b1" in terminal.text
    assert "\u202e" not in terminal.raw
    assert "\u200b" not in terminal.raw
    terminal.press("enter", "3")


@pytest.mark.parametrize("size", SIZES)
def test_the_persons_editor(opened: Opens, tmp_path: Path, size: str) -> None:
    """Ctrl-X hands the text to $EDITOR; what comes back is shown before it may run."""
    editor = tmp_path / "editor"
    editor.write_text(f"#!{sys.executable}\nimport sys\nopen(sys.argv[1], 'a').write(' --dry-run')\n")
    editor.chmod(0o700)
    terminal = opened(size, calls=[bash()], environment={"EDITOR": str(editor)})
    terminal.asks("May it run?")
    terminal.press("2", "c-x")
    terminal.asks("May it run as changed?")
    terminal.press("1")
    assert "Allow(updated_input={'command': 'rm -r build --dry-run'}" in terminal.decision


@pytest.mark.parametrize("size", SIZES)
def test_an_editor_that_fails_changes_nothing(opened: Opens, size: str) -> None:
    """The reason is told, and the card is still there."""
    terminal = opened(size, calls=[bash()], environment={"EDITOR": "false"})
    terminal.asks("May it run?")
    terminal.press("2", "c-x")
    terminal.asks("The editor failed: false ended with code 1")
    terminal.press("escape", "3")
    assert terminal.decision.startswith("Deny(")


@BOTH
def test_calls_are_asked_one_after_the_other(opened: Opens) -> None:
    """The bar counts those that wait."""
    terminal = opened(calls=[bash("echo one"), bash("echo two"), bash("echo three")])
    terminal.asks("2 more waiting")
    terminal.press("3")
    terminal.asks("1 more waiting")
    terminal.press("3")
    terminal.sees("May it run?")
    terminal.read(0.5)
    assert "waiting" not in terminal.lines[-10]
    terminal.press("3")
    terminal.read(0.5)
    assert terminal.raw.count("DECISION Deny") == 3


def test_the_countdown_runs(opened: Opens) -> None:
    """The time that is left is told, and goes down by itself."""
    terminal = opened(calls=[bash()], seconds=70)
    terminal.sees("1:0")
    terminal.sees("1:07 left")
    terminal.press("3")


@BOTH
def test_a_cancelled_prompt_leaves_the_terminal_as_it_was(opened: Opens) -> None:
    """A time-out takes the card off the screen, says so, and lines are echoed again."""
    terminal = opened(calls=[bash()], cancel_after=1.5)
    terminal.asks("May it run?")
    assert terminal.decision == "cancelled"
    assert "(no longer needed)" in terminal.text
    assert "May it run?" not in terminal.text
    assert terminal.is_restored()


@BOTH
def test_a_cancelled_editor_is_ended(opened: Opens, tmp_path: Path) -> None:
    """Nobody waits for an editor whose prompt is over."""
    terminal = opened(calls=[bash()], cancel_after=2.5, environment={"EDITOR": "sleep 60 #"})
    terminal.asks("May it run?")
    terminal.press("2", "c-x")
    terminal.sees("DECISION cancelled", within=8)


def test_a_failure_falls_back_to_plain_lines(opened: Opens) -> None:
    """When drawing fails the terminal is restored, and the person is asked all the same."""
    broken = "import agent_sdk.terminal.rich_approval as r\nr.window = None\n"
    terminal = Terminal(broken + ASK, "asyncio", json.dumps({"calls": [bash()]}))
    terminal.sees("5. No, and stop the agent")
    terminal.read(0.2)
    assert "Traceback" not in terminal.text.split("Permission needed")[1]
    assert terminal.is_restored()
    terminal.press("3\r")
    assert terminal.decision.startswith("Deny(")
    terminal.close()


@pytest.mark.parametrize(
    ("when_gone", "said"), [("deny", "Deny(message='Not approved"), ("defer", "Defer(reason='the")]
)
@pytest.mark.parametrize("call", [bash(), CARD], ids=["call", "card"])
def test_a_terminal_that_vanishes(anyio_backend: str, tmp_path: Path, when_gone: str, said: str, call: Any) -> None:
    """Nobody approved: the call is denied or parked as configured, and nothing breaks."""
    out = tmp_path / "out"
    quiet = (
        f"import signal, os, sys\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\nsys.stderr = open({str(out)!r}, 'a')\n"
    )
    told = ASK.replace(
        'print("DECISION", repr(decision), flush=True)', "print(repr(decision), file=sys.stderr, flush=True)"
    )
    case = json.dumps({"calls": [call], "approver": {"when_gone": when_gone}})
    terminal = Terminal(quiet + told, anyio_backend, case)
    terminal.sees("↑↓")
    vanish(terminal)
    written = out.read_text()
    assert "Traceback" not in written
    assert written.replace("Nobody answered", "Not approved").startswith(said), written


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"TERM": ""}])
def test_dumb_terminals_get_plain_lines(opened: Opens, environment: dict[str, str]) -> None:
    """No escape sequence where nobody understands one."""
    terminal = opened(calls=[bash("npm test && rm -r build")], environment=environment, suggestions=SUGGESTIONS)
    terminal.sees("May it run?")
    terminal.read(0.3)
    assert "\x1b" not in terminal.raw
    compare("\n".join(line for line in terminal.lines if "in /" not in line), "command_dumb")
    terminal.press("8\r")
    terminal.sees("Enter alone goes back")
    terminal.read(0.2)
    compare("\n".join(terminal.lines[-9:]), "remember_dumb")
    terminal.press("\r", "3\r")
    assert terminal.decision.startswith("Deny(")


PLAIN_DECISIONS = [
    pytest.param(["1"], "Allow(updated_input=None", id="yes"),
    pytest.param(["3"], "Deny(message=''", id="no"),
    pytest.param(["4", "用 make clean"], "Deny(message='用 make clean'", id="words"),
    pytest.param(["5"], "Deny(message='The person interrupted the work.', interrupt=True", id="stop"),
    pytest.param(["9"], "Defer(", id="later"),
    pytest.param(["6", "1"], "Allow(updated_input=None", id="why, then yes"),
    pytest.param(["2", "ls -中文", "1"], "Allow(updated_input={'command': 'ls -中文'}", id="edit"),
]


@pytest.mark.parametrize(("lines", "decision"), PLAIN_DECISIONS)
def test_lines_decide_on_a_dumb_terminal(opened: Opens, lines: list[str], decision: str) -> None:
    """The same choices, a line each."""
    terminal = opened(calls=[bash()], approver={"offer_defer": True}, environment={"TERM": "dumb"})
    terminal.sees("May it run?")
    for line in lines:
        terminal.read(0.3)
        terminal.press(line + "\r")
    assert decision in terminal.decision


def test_a_rule_is_remembered_on_a_dumb_terminal(opened: Opens) -> None:
    """The wider rule of the first part, chosen by its number."""
    terminal = opened(calls=[bash("npm test && rm -r build")], suggestions=SUGGESTIONS, environment={"TERM": "dumb"})
    terminal.sees("May it run?")
    terminal.read(0.3)
    terminal.press("8\r")
    terminal.sees("Enter alone goes back")
    terminal.read(0.2)
    terminal.press("2,3\r", "\r")
    assert "'npm test:*'" in terminal.decision
    assert "'rm -r build'" in terminal.decision


def test_a_card_on_a_dumb_terminal(opened: Opens) -> None:
    """Everything that the rich card can do, in words."""
    terminal = opened(calls=[CARD], environment={"TERM": "dumb"})
    terminal.sees("Enter skips")
    terminal.read(0.3)
    terminal.press(":note 以后再说\r", "1\r", "1,2\r", ":back\r", ":review\r", "3\r", "80\r", "8080\r")
    terminal.sees("Enter hands them in")
    terminal.read(0.2)
    compare("\n".join(terminal.lines), "card_dumb")
    terminal.press("\r")
    assert "'第一版要哪些功能？': ['评论', 'RSS'], 'Which port?': '8080'}" in terminal.decision


@pytest.mark.parametrize(
    ("lines", "answers"),
    [
        pytest.param([":decline"], "'answers': {}", id="decline"),
        pytest.param(["", "", "", ""], "'answers': {}", id="skip all"),
        pytest.param(["自己的话", "", "", ""], "'answers': {'博客用什么技术栈？': '自己的话'}", id="own words"),
    ],
)
def test_a_card_answered_briefly_on_a_dumb_terminal(opened: Opens, lines: list[str], answers: str) -> None:
    """Nothing, or one answer in own words: the rest stays open."""
    terminal = opened(calls=[CARD], environment={"TERM": "dumb"})
    terminal.sees("Enter skips")
    for line in lines:
        terminal.read(0.3)
        terminal.press(line + "\r")
    assert answers in terminal.decision


def test_it_follows_the_size_of_the_terminal(opened: Opens) -> None:
    """A window that is made smaller gets a card that fits."""
    terminal = opened(calls=[CARD])
    terminal.asks("│ site:")
    terminal.screen.resize(24, 60)
    terminal.child.setwinsize(24, 60)
    terminal.sees("┌─ preview ────────────────────────────────────────────────┐")
    assert terminal.lines[-2].startswith("↑↓ move")
    terminal.press("escape", "escape")
    assert "'answers': {}" in terminal.decision


def test_no_boxes_where_they_cannot_be_written(opened: Opens) -> None:
    """An output that has only ASCII gets plain lines."""
    terminal = opened(calls=[bash("echo 中文")], environment={"PYTHONIOENCODING": "ascii"})
    terminal.sees("6. Why am I asked?")
    assert "$ echo \\u4e2d\\u6587" in terminal.text
    terminal.press("3\r")


RUN = """
import signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
sys.stderr = open(sys.argv[2], "a")
import anyio
from agent_sdk import AgentOptions, Allow, InMemoryStore, ResultMessage, query
from agent_sdk.terminal import TerminalApprover
from agent_sdk.testing import ScriptedModel
store = InMemoryStore()
model = ScriptedModel([[{"type": "tool_use", "name": "Bash", "input": {"command": "echo ran"}}], "I see."])
async def main():
    options = dict(model=model, session_store=store, cwd=sys.argv[3])
    approver = TerminalApprover(when_gone=sys.argv[4])
    async for message in query("Go.", options=AgentOptions(can_use_tool=approver, **options)):
        if isinstance(message, ResultMessage):
            ended = message
    print(ended.terminal_reason, file=sys.stderr, flush=True)
    answers = {use.id: Allow() for use in ended.deferred_tool_uses}
    prompt = None if answers else "And now?"
    options["resume"] = ended.session_id
    async for message in query(prompt, options=AgentOptions(**options), decisions=answers or None):
        if isinstance(message, ResultMessage):
            print(message.terminal_reason, message.result, file=sys.stderr, flush=True)
anyio.run(main, backend=sys.argv[1])
"""


@BOTH
@pytest.mark.parametrize(("when_gone", "reason"), [("deny", "completed"), ("defer", "tool_deferred")])
def test_a_session_survives_its_terminal(anyio_backend: str, tmp_path: Path, when_gone: str, reason: str) -> None:
    """The run ends as configured, and the session can be resumed; nobody sees a traceback."""
    out = tmp_path / "out"
    terminal = Terminal(RUN, anyio_backend, str(out), str(tmp_path), when_gone)
    terminal.sees("↑↓")
    vanish(terminal)
    said = out.read_text().splitlines()
    assert [line.split()[0] for line in said] == [reason, "completed"], said


def vanish(terminal: Terminal) -> None:
    """Close the terminal under the program, and wait for its end."""
    pid = terminal.child.pid
    os.close(terminal.child.child_fd)
    for _ in range(400):
        if os.waitpid(pid, os.WNOHANG)[0]:
            return
        signal.sigtimedwait([], 0.05)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the program did not end")


def test_plain_by_choice(opened: Opens) -> None:
    """Who asks for plain lines gets them on every terminal."""
    terminal = opened(calls=[bash()], approver={"mode": "plain"})
    terminal.sees("6. Why am I asked?")
    assert "❯" not in terminal.text
    terminal.press("3\r")
