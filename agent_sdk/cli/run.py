"""`agent-sdk run` and `agent-sdk resume`: a real session, with the person at the terminal."""

from __future__ import annotations

import os
import signal
import sys
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import anyio

from agent_sdk.cli.command import Command, Exit, Problem, add_policy_arguments, directory, is_terminal, say_aside
from agent_sdk.cli.progress import Progress
from agent_sdk.cli.show import denial_lines
from agent_sdk.cli.signals import Heard, heeding_signals
from agent_sdk.cli.stores import add_store_argument, check_known, store_of, store_words
from agent_sdk.cli.wire import message_to_json
from agent_sdk.client import AgentClient
from agent_sdk.copies import session_directory
from agent_sdk.messages import Message, ResultMessage
from agent_sdk.models.anthropic import make_client
from agent_sdk.models.base import Model
from agent_sdk.models.scripted import ScriptedModel
from agent_sdk.options import AgentOptions
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.terminal import Console, InputEnded, TerminalApprover
from agent_sdk.values import to_text


def add_arguments(parser: ArgumentParser) -> None:
    """The options of `run`."""
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", help="what the agent is to do")
    parser.add_argument("--resume", metavar="ID", help="go on with this session; without PROMPT from where it stands")
    parser.add_argument(
        "--continue", dest="go_on", action="store_true", help="go on with this directory's last session"
    )
    _add_session_arguments(parser)


def add_resume_arguments(parser: ArgumentParser) -> None:
    """The options of `resume`."""
    parser.add_argument("resume", metavar="SESSION", help="id of the session")
    parser.set_defaults(prompt=None, go_on=False)
    _add_session_arguments(parser)


def _add_session_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--model", metavar="NAME", help="name of the model")
    parser.add_argument("--script", metavar="FILE", help="play this script instead of asking a model: needs no key")
    parser.add_argument("--max-turns", type=int, metavar="N", help="at most so many model requests")
    parser.add_argument("--plain", action="store_true", help="plain numbered lines, without a cursor")
    parser.add_argument("--json", action="store_true", help="print one message a line; without a terminal ask nobody")
    parser.add_argument("--fail-on-denial", action="store_true", help="exit with 1 when any call was denied")
    parser.add_argument("--ask-nobody", action="store_true", help="leave parked calls to their stored answers")
    add_store_argument(parser)
    add_policy_arguments(parser)
    parser.set_defaults(cwd=None)  # for a session that is resumed: where it was


def run_session(arguments: Namespace) -> int:
    """Run a session to its end. Exit code 0 when it ended well, 1 when not, 3 when the model could not be asked.

    A signal that asks it to end (Ctrl-C, SIGTERM, a closed terminal) ends the run and what it started: 128 and more.
    After the first Ctrl-C at a terminal, the person may say what to do instead, and the session goes on.

    Raises Problem, OptionsError, SettingsError or RuleError before anything is sent, and SessionError.
    """
    prompt: str | None = arguments.prompt
    if prompt is not None and not prompt.strip():
        raise Problem("the prompt is blank", where="agent-sdk run PROMPT", to_do="say what the agent is to do")
    if prompt is None and arguments.resume is None and not arguments.go_on:
        raise Problem("there is no prompt", where="agent-sdk run PROMPT", to_do="say what the agent is to do")
    console = Console(output=sys.stderr if arguments.json else None)
    options = _options(arguments, console)
    session = _Session(options, prompt, console, as_json=arguments.json, store=store_words(arguments))
    if isinstance(options.model, str) and not _has_key():
        raise _no_model("there is no key for the model service")
    if (ended_by := anyio.run(heeding_signals, session.run, session.interrupt, session.heard)) is not None:
        return 128 + ended_by
    return _exit_code(session.result, fail_on_denial=arguments.fail_on_denial)


def _has_key() -> bool:
    """Whether a client made from the environment has something to prove who it is. Nothing is sent."""
    try:
        client = make_client()
        headers = {name.lower() for name in client.default_headers}
    except Exception:
        return True  # the first request tells what is wrong
    return client.credentials is not None or bool(headers & {"x-api-key", "authorization"})


def _options(arguments: Namespace, console: Console) -> AgentOptions:
    model: Model | str | None = arguments.model
    if arguments.script is not None:
        model = ScriptedModel.from_file(arguments.script)
    # A program that reads our JSON is no person: somebody is asked only where somebody sees the question and can type.
    somebody = (not arguments.json or is_terminal(sys.stdin, sys.stderr)) and not arguments.ask_nobody
    somebody = somebody and not (_goes_on(arguments) and console.has_ended)
    # What was not typed is left to the stored session, when one is resumed.
    stored = arguments.resume is not None or arguments.go_on
    mode = {} if arguments.mode is None else {"permission_mode": arguments.mode}
    store = store_of(arguments, may_be_new=not stored)
    return AgentOptions(
        **({} if model is None else {"model": model}),
        can_use_tool=_approver(arguments, console) if somebody else None,
        include_partial_messages=not arguments.json and console.is_terminal,
        setting_sources=arguments.setting_sources,
        trust_project=arguments.trust_project,
        session_store=store,
        resume=arguments.resume,
        continue_conversation=arguments.go_on,
        allow=arguments.allow,
        ask=arguments.ask,
        deny=arguments.deny,
        max_turns=arguments.max_turns,
        cwd=_directory(arguments, store),
        **mode,
    )


def _approver(arguments: Namespace, console: Console) -> TerminalApprover:
    """Asks at the terminal. Where a session goes on, an input that ends leaves parked calls parked."""
    return TerminalApprover(
        console=console,
        mode="plain" if arguments.plain else "auto",
        offer_defer=True,
        when_gone="defer" if _goes_on(arguments) else "deny",
    )


def _goes_on(arguments: Namespace) -> bool:
    """Whether a stored session is resumed where it stands, without new words."""
    return arguments.prompt is None


def _directory(arguments: Namespace, store: SQLiteStore) -> str:
    """Where the session works: what `--cwd` names; for one that is resumed, where it was. Raises Problem."""
    given: str | None = arguments.cwd
    if arguments.resume is not None:
        anyio.run(check_known, arguments.resume, store, store_words(arguments))
    if given is not None or arguments.resume is None:
        return directory(given or ".")
    stored = anyio.run(session_directory, store, arguments.resume) or "."
    if not Path(stored).is_dir():
        to_do = "bring it back, or name another one with --cwd"
        raise Problem(f"the directory of the session is gone: {stored}", where="the session", to_do=to_do)
    return stored


class _Session:
    """A prompt, shown as it goes; after a run that was interrupted at a terminal, another prompt may follow.

    Without a prompt the stored session goes on where it stands.
    """

    def __init__(
        self, options: AgentOptions, prompt: str | None, console: Console, *, as_json: bool, store: str
    ) -> None:
        self._client = AgentClient(options)
        self._prompt: str | None = prompt
        self._console = console
        self._as_json = as_json
        self._interactive = not as_json and console.is_terminal
        status = self._interactive and os.environ.get("TERM", "") not in ("", "dumb")
        self._progress = Progress(console, status=status, store=store)
        self._asking: anyio.CancelScope | None = None
        self.heard = Heard()
        self.result: ResultMessage | None = None

    async def run(self) -> None:
        """Run to the last result message. Raises what the run raised, OSError for the output."""
        failure: Exception | None = None
        async with self._client as client, anyio.create_task_group() as tasks:
            tasks.start_soon(self._tick)
            try:
                prompt = self._prompt
                while True:
                    await (client.resume() if prompt is None else client.query(prompt))
                    async for message in client.receive_response():
                        self._show(message)
                    prompt = await self._next_prompt()
                    if prompt is None:
                        break
            except Exception as error:
                failure = error  # raised below: a task group would wrap it
            tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def interrupt(self) -> None:
        """Have the run end legally: what is in flight is stopped, and the result message comes."""
        if self._asking is not None:
            self._asking.cancel()
        with suppress(OSError, ValueError):  # the terminal may be gone
            self._progress.close_line()
        await self._client.interrupt()

    async def _next_prompt(self) -> str | None:
        """After an interrupted run, what the person wants instead; `None` ends the session."""
        aborted = self.result is not None and (self.result.terminal_reason or "").startswith("aborted_")
        if not aborted or not self._interactive or set(self.heard.signals) - {signal.SIGINT}:
            return None
        self.heard.no_hurry()
        self._console.say("What shall it do instead? Enter alone ends.")
        self._console.forget_typed()
        words = ""
        with anyio.CancelScope() as self._asking:
            try:
                words = (await self._console.ask("you> ")).strip()
            except InputEnded:
                pass
        self._asking = None
        if words:
            self.heard.forget()
        return words or None

    async def _tick(self) -> None:
        while True:
            await anyio.sleep(0.25)
            if self._asking is not None:
                continue  # a person is typing
            with suppress(OSError, ValueError):
                self._progress.tick()

    def _show(self, message: Message) -> None:
        if isinstance(message, ResultMessage):
            self.result = message
        if self._as_json:
            print(to_text(message_to_json(message)), flush=True)
        else:
            self._progress.show(_without_problem(message))


def _without_problem(message: Message) -> Message:
    """A result without what `_exit_code` tells at the end."""
    if isinstance(message, ResultMessage) and message.terminal_reason == "model_error":
        return replace(message, errors=[])
    return message


def _no_model(what: str) -> Problem:
    to_do = "set ANTHROPIC_API_KEY and check the network, or play a script with --script FILE"
    return Problem(what, where="the model service", to_do=to_do, code=Exit.ENVIRONMENT)


def _exit_code(result: ResultMessage | None, *, fail_on_denial: bool) -> int:
    """How the run ended, as an exit code. Raises Problem when the model could not be asked."""
    if result is None:
        return Exit.NO
    if result.terminal_reason == "model_error":
        raise _no_model("; ".join(result.errors) or "the model could not be asked")
    if fail_on_denial and result.permission_denials:
        say_aside("Denied:", *denial_lines(result.permission_denials))
        return Exit.NO
    return Exit.NO if result.is_error else Exit.OK


RESUME = Command(
    name="resume",
    summary="go on with a parked or broken-off session",
    add_arguments=add_resume_arguments,
    run=run_session,
)
RUN = Command(
    name="run",
    summary="a session with a model; you approve at the terminal",
    add_arguments=add_arguments,
    run=run_session,
)
