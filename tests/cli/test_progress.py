"""`agent-sdk run` at a terminal: words as they come, what runs and for how long, what it costs, and Ctrl-C."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_sdk import (
    AssistantMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agent_sdk.cli.progress import Progress
from agent_sdk.terminal import Console
from tests.terminal.screens import Terminal

pytestmark = pytest.mark.slow

RUN = "import sys; from agent_sdk.cli.main import main; sys.exit(main(sys.argv[1:]))"


class Watched:
    """A progress with a clock that stands still, on a screen that is kept."""

    def __init__(self) -> None:
        self.now = 0.0
        self.screen = io.StringIO()
        self.console = Console(output=self.screen)
        self.progress = Progress(self.console, status=True, clock=lambda: self.now)

    def streams(self, *texts: str) -> None:
        for text in texts:
            self.event({"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}})

    def event(self, event: dict[str, Any]) -> None:
        self.progress.show(StreamEvent(uuid="u", session_id="s", event=event))

    def system(self, subtype: str, **data: Any) -> None:
        self.progress.show(SystemMessage(subtype=subtype, data=data))


def test_words_are_written_as_they_come_and_once() -> None:
    """The whole message behind the stream repeats nothing, and what is not words is shown."""
    seen = Watched()
    seen.streams("Hel", "lo\nyou\x1b[2J")
    assert seen.screen.getvalue() == "\nagent: Hello\n       you\\x1b[2J"
    seen.event({"type": "content_block_stop"})
    call = ToolUseBlock("t", "Bash", {"command": "ls"})
    seen.progress.show(AssistantMessage(content=[TextBlock("Hello\nyou\x1b[2J"), call], model="m"))
    assert seen.screen.getvalue() == "\nagent: Hello\n       you\\x1b[2J\n  → Bash: ls\n"


def test_a_message_without_a_stream_is_written_whole() -> None:
    """Nothing is lost where no events come."""
    seen = Watched()
    seen.progress.show(AssistantMessage(content=[TextBlock("Hello")], model="m"))
    assert seen.screen.getvalue() == "\nagent: Hello\n"


def test_a_reply_that_breaks_off_starts_anew() -> None:
    """The news stands on a line of its own, and the words are written again."""
    seen = Watched()
    seen.streams("Hel")
    seen.system("api_retry", message="cut")
    seen.streams("Hello")
    seen.progress.show(AssistantMessage(content=[TextBlock("Hello")], model="m"))
    assert seen.screen.getvalue() == "\nagent: Hel\n(api retry: cut)\n\nagent: Hello\n"


def test_the_line_tells_what_runs_and_what_it_cost() -> None:
    """Tools with their time, side by side; tokens of all replies; dollars where the price is known."""
    seen = Watched()
    usage = {"input_tokens": 1_000, "cache_read_input_tokens": 200, "output_tokens": 300}
    seen.progress.show(AssistantMessage(content=[], model="claude-opus-4-5", usage=usage))
    assert seen.progress.line() == ""
    seen.now = 3
    assert seen.progress.line() == "… thinking 3 s · 1,200 tokens in, 300 out · $0.0126"
    seen.system("tool_started", tool_use_id="1", tool_name="Read")
    seen.now = 5
    seen.system("tool_started", tool_use_id="2", tool_name="Grep")
    assert seen.progress.line().startswith("… Read 2 s, Grep 0 s · 1,200 tokens")
    seen.system("tool_finished", tool_use_id="1")
    assert seen.progress.line().startswith("… Grep 0 s · ")
    seen.progress.show(UserMessage(content=[ToolResultBlock("2", "found")]))
    seen.progress.show(AssistantMessage(content=[], model="unknown", usage={"output_tokens": 7}))
    seen.now = 9
    assert seen.progress.line() == "… thinking 4 s · 1,200 tokens in, 307 out · $0.0126"


def test_the_line_is_taken_away_before_anything_is_written() -> None:
    """It never stands in the scrollback, and is not drawn into words that still come."""
    seen = Watched()
    seen.now = 2
    seen.progress.tick()
    seen.console.say("words")
    assert seen.screen.getvalue() == "… thinking 2 s · 0 tokens in, 0 out\r\x1b[2Kwords\n"
    seen.streams("Hel")
    seen.progress.tick()
    assert seen.screen.getvalue().endswith("agent: Hel")


def bash(command: str, *words: str) -> dict[str, Any]:
    text = [{"type": "text", "text": " ".join(words)}] if words else []
    return {"content": [*text, {"type": "tool_use", "name": "Bash", "input": {"command": command}}]}


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Any]:
    """Starts `agent-sdk run` on a terminal, with a script in place of a model."""
    terminals: list[Terminal] = []

    def start(turns: list[Any], *options: str, **environment: str) -> Terminal:
        script = tmp_path / "script.json"
        script.write_text(json.dumps({"turns": turns}))
        words = ("run", "go", "--script", str(script), "--cwd", str(tmp_path), *options)
        terminals.append(Terminal(RUN, *words, **environment))
        return terminals[-1]

    yield start
    for terminal in terminals:
        terminal.close()


def test_a_run_as_it_is_seen(started: Any) -> None:
    """The model's words, the running tool with its time and the tokens so far, then the result in their place."""
    terminal = started([bash("sleep 2; echo ran", "I look around.")], "--mode", "bypassPermissions")
    terminal.sees("agent: I look around.")
    terminal.sees("… Bash 1 s · ")
    terminal.sees("tokens in")
    terminal.sees("✓ ran")
    assert "… Bash" not in terminal.text
    assert terminal.text.count("I look around.") == 1


def test_ctrl_c_once_brings_the_prompt_back(started: Any) -> None:
    """The run ends legally, and the session goes on with the next words."""
    terminal = started([bash("sleep 30"), bash("echo second")], "--mode", "bypassPermissions")
    terminal.sees("… Bash")
    terminal.press("c-c")
    terminal.sees("What shall it do instead?")
    terminal.read(0.2)
    terminal.press("something else\r")
    terminal.sees("✓ second")
    terminal.sees("(completed")
    terminal.read(0.5)
    terminal.child.wait()
    assert terminal.child.exitstatus == 0


def test_ctrl_c_twice_ends(started: Any) -> None:
    """At the prompt as well; with exit code 130."""
    terminal = started([bash("sleep 30")], "--mode", "bypassPermissions")
    terminal.sees("… Bash")
    terminal.press("c-c")
    terminal.sees("you>")
    terminal.press("c-c")
    terminal.read(1)
    terminal.child.wait()
    assert terminal.child.exitstatus == 130
    assert "Traceback" not in terminal.raw


def test_a_rich_prompt_in_a_run(started: Any) -> None:
    """The card takes the terminal, Ctrl-C on it stops the agent, Enter alone ends the session."""
    terminal = started([bash("echo one"), bash("echo two")])
    terminal.asks("❯ 1. Yes, once")
    terminal.press("1")
    terminal.sees("✓ one")
    terminal.asks("$ echo two")
    terminal.press("c-c")
    terminal.sees("you>")
    terminal.press("enter")
    terminal.read(1)
    terminal.child.wait()
    assert "aborted_tools" in terminal.raw


@pytest.mark.parametrize("environment", [{}, {"TERM": "dumb"}])
def test_plain_on_request_and_on_dumb_terminals(started: Any, environment: dict[str, str]) -> None:
    """`--plain` is plain lines everywhere; a dumb terminal gets no escape sequence at all."""
    terminal = started([bash("echo one")], *([] if environment else ["--plain"]), **environment)
    terminal.sees("May it run?")
    assert "❯" not in terminal.text
    terminal.read(0.3)
    terminal.press("1\r")
    terminal.sees("✓ one")
    if environment:
        assert "\x1b" not in terminal.raw


@pytest.mark.parametrize("options", [[], ["--plain"]], ids=["rich", "plain"])
def test_nothing_is_drawn_while_a_person_types(started: Any, options: list[str]) -> None:
    """Neither into the prompt after Ctrl-C nor below a card that waits for an answer."""
    running = {"type": "tool_use", "name": "Bash", "input": {"command": "sleep 30"}}
    asked = {"type": "tool_use", "name": "Bash", "input": {"command": "rm x"}}
    terminal = started([{"content": [running, asked]}], "--allow", "Bash(sleep *)", *options)
    terminal.asks("May it run?")
    cards = terminal.text
    terminal.read(1.0)
    assert terminal.text == cards
    assert "…" not in terminal.lines[-1]
    terminal.press("3" if not options else "3\r")
    terminal.sees("… Bash")
    terminal.press("c-c")
    terminal.sees("you>")
    terminal.press("words")
    terminal.read(1.5)
    assert terminal.lines[-1] == "you> words"
    terminal.press("\r")
    terminal.sees("(completed")
