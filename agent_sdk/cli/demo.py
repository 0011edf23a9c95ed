"""`agent-sdk demo`: the main job without a key and without a network.

A scripted agent asks three questions and wants to write, edit and run things, with the real tools in a temporary
directory. The person at the terminal decides; without a terminal, answers from the script are typed for them. A call
that they put off is answered and resumed by other processes.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path

import anyio

from agent_sdk.cli.command import Command, Exit, Problem, is_terminal
from agent_sdk.cli.show import call_line, message_lines
from agent_sdk.cli.signals import heeding_signals
from agent_sdk.client import query
from agent_sdk.decisions import trace_lines
from agent_sdk.errors import OptionsError
from agent_sdk.ledger import session_key
from agent_sdk.messages import ResultMessage
from agent_sdk.models.scripted import ScriptedModel
from agent_sdk.options import AgentOptions
from agent_sdk.render.text import visible
from agent_sdk.sessions.codec import trace_from_json
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.terminal import Console, LineReader, TerminalApprover
from agent_sdk.values import Json, JsonObject

DEFAULT_PROMPT = "Show what you can do."
TRY = "(try it all: change a command with 2, say no and why with 4, ask why you are asked with 6)"
_WHO = {
    "answer": "somebody, from another process",
    "deny_rules": "deny rule",
    "allow_rules": "allow rule",
    "mode": "the permission mode",
    "hook": "a hook",
    "reads": "nobody was asked: it only reads, and only here",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """A script with everything that a demonstration needs: the prompt, the model's turns, deny rules, typed answers."""

    prompt: str
    model: ScriptedModel
    file: Path
    deny: Sequence[str]
    answers: Sequence[str]


def add_arguments(parser: ArgumentParser) -> None:
    """The options of `demo`."""
    parser.add_argument("--script", metavar="FILE", help="play this script instead of the one that comes along")
    parser.add_argument("--plain", action="store_true", help="plain numbered lines, without a cursor")
    parser.add_argument("--yes", action="store_true", help="take the answers from the script, also at a terminal")


def run_demo(arguments: Namespace) -> int:
    """Play the demonstration. Raises Problem for a script that cannot be played."""
    given: str | None = arguments.script
    with as_file(files("agent_sdk.cli").joinpath("demo.json")) as own:
        file = own if given is None else Path(given)
        return _show(read_play(_text_of(file), file), arguments)


def _show(play: Play, arguments: Namespace) -> int:
    scripted: bool = arguments.yes or not is_terminal(sys.stdin, sys.stdout)
    with (
        tempfile.TemporaryDirectory(prefix="agent-sdk-demo-") as folder,
        tempfile.TemporaryDirectory(prefix="agent-sdk-demo-store-") as elsewhere,
        _console(play, scripted) as console,
    ):
        why = "--yes was given" if arguments.yes else "there is no terminal"
        if scripted:
            console.say(f"({why}: the answers below are typed from the script)")
        else:
            console.say(TRY)
        console.say(f"(the agent is a script, the tools are real; they work in {folder})", "")
        console.say(f"you: {visible(play.prompt)}")
        plain = arguments.plain or scripted
        by = "the script" if scripted else "you"
        approver = TerminalApprover(console=console, by=by, mode="plain" if plain else "auto", offer_defer=True)
        file = Path(elsewhere, "sessions.sqlite")
        ended_by = anyio.run(heeding_signals, partial(_play, play, console, approver, folder, file))
    return Exit.OK if ended_by is None else 128 + ended_by


def read_play(text: str, file: Path) -> Play:
    """The script behind a text of JSON, which stands in `file`. Raises Problem when it cannot be played."""
    where = str(file)
    try:
        source = json.loads(text)
        return Play(
            prompt=_prompt(source),
            model=ScriptedModel(source),
            file=file,
            deny=_texts(source, "deny"),
            answers=_texts(source, "answers"),
        )
    except (ValueError, RecursionError) as error:
        raise Problem(f"this script is not JSON: {error}", where=where, to_do="mend the file") from None
    except OptionsError as error:
        raise Problem(f"this script cannot be played: {error}", where=where, to_do="mend the file") from None


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise Problem(
            f"the script cannot be read: {reason}", where=str(path), to_do="name a file with a script"
        ) from None
    except UnicodeDecodeError:
        raise Problem("the script is not text in UTF-8", where=str(path), to_do="name a file with a script") from None


def _prompt(source: Json) -> str:
    prompt = source.get("prompt", DEFAULT_PROMPT) if isinstance(source, Mapping) else DEFAULT_PROMPT
    if not isinstance(prompt, str) or not prompt.strip():
        raise OptionsError(f"prompt is a text, got {prompt!r:.80}")
    return prompt


def _texts(source: Json, key: str) -> Sequence[str]:
    found = source.get(key, []) if isinstance(source, Mapping) else []
    texts = [item for item in found if isinstance(item, str)] if isinstance(found, list) else []
    if not isinstance(found, list) or len(texts) != len(found):
        raise OptionsError(f"{key} is a list of texts, got {found!r:.80}")
    return texts


@contextmanager
def _console(play: Play, scripted: bool) -> Iterator[Console]:
    """The person's terminal, or one on which the script types."""
    if not scripted:
        yield Console()
        return
    with tempfile.TemporaryFile("w+", encoding="utf-8") as typed:
        typed.writelines(f"{line}\n" for line in play.answers)
        typed.flush()
        typed.seek(0)
        yield Console(reader=LineReader(typed))


async def _play(play: Play, console: Console, approver: TerminalApprover, folder: str, file: Path) -> None:
    store = SQLiteStore(file)
    options = AgentOptions(
        model=play.model,
        can_use_tool=approver,
        deny=play.deny,
        cwd=folder,
        session_store=store,
    )
    result: ResultMessage | None = None
    async with aclosing(query(play.prompt, options=options)) as messages:
        async for message in messages:
            console.say(*message_lines(message, f" --store {shlex.quote(str(file))}"))
            if isinstance(message, ResultMessage):
                result = message
    if result is not None:
        await _answer_and_resume(play, console, result, file)
        entries = await store.load(session_key(result.session_id)) or []
        console.say(*summary([entry for entry in entries if entry["type"] == "permission"]))
    store.close()


async def _answer_and_resume(play: Play, console: Console, parked: ResultMessage, file: Path) -> None:
    """What was put off is answered by a second process and run by a third: this one only shows what they say."""
    session_id, in_file = parked.session_id, ["--store", str(file)]
    commands = [
        ["answer", session_id, use.id, "allow", "--by", "a colleague", *in_file] for use in parked.deferred_tool_uses
    ]
    if not commands:
        return
    denied = [word for rule in play.deny for word in ("--deny", rule)]
    commands += [["resume", session_id, "--ask-nobody", "--script", str(play.file), *denied, *in_file]]
    console.say("", "Nothing runs now: what was put off is in a file. Two other processes go on from here.")
    command = [sys.executable, "-m", "agent_sdk"]
    for words in (["pending", *in_file], *commands):
        console.say("", f"$ agent-sdk {visible(shlex.join(words), keep_newlines=False)}")
        done = await anyio.run_process([*command, *words], check=False, stderr=subprocess.STDOUT)
        console.say(*visible(done.stdout.decode(errors="replace")).strip("\n").split("\n"))


def summary(decisions: Sequence[JsonObject]) -> list[str]:
    """What ran, what did not, and the whole trace of one decision; from the transcript's records of decisions."""
    ran = [entry for entry in decisions if entry["behavior"] == "allow"]
    denied = [entry for entry in decisions if entry["behavior"] != "allow"]
    lines = ["", "What ran, and who said so:", *(map(_decided, ran) if ran else ["  nothing"])]
    lines += ["", "What did not run, and who said so:", *(map(_decided, denied) if denied else ["  nothing"])]
    by_person = [entry for entry in denied if entry["by"] == "callback"]
    for entry in (by_person or denied or ran)[-1:]:
        lines += ["", f"Why? Every decision has a trace. This is the one of {_call(entry)}", *_trace(entry)]
    return lines


def _decided(entry: JsonObject) -> str:
    by = str(entry["by"])
    rule = f" {entry['rule']}" if entry["rule"] and by.endswith("_rules") else ""
    who = _answered_by(entry) if by == "callback" else _WHO.get(by, by)
    return f"  {_call(entry)}  ({visible(who + rule, keep_newlines=False)})"


def _answered_by(entry: JsonObject) -> str:
    """Who the approver says has answered: the person, the script, or the end of what was typed."""
    steps = [step for step in trace_from_json(entry["trace"]) if step.step == "callback"]
    return steps[-1].by if steps else "you"


def _call(entry: JsonObject) -> str:
    tool_input = entry["input"]
    if entry["tool_name"] == "AskUserQuestion":
        return "AskUserQuestion"
    return call_line(str(entry["tool_name"]), tool_input if isinstance(tool_input, Mapping) else {})


def _trace(entry: JsonObject) -> Iterator[str]:
    for line in trace_lines(trace_from_json(entry["trace"])):
        yield f"  {visible(line, keep_newlines=False)}"


DEMO = Command(
    name="demo",
    summary="the main job offline: a scripted agent asks, you decide",
    add_arguments=add_arguments,
    run=run_demo,
)
