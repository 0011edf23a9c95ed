"""`can_use_tool` for a person at a terminal. Chooses the front end, and asks about one call at a time."""

from __future__ import annotations

import importlib.util
import logging
import os
from functools import partial
from typing import Any, Literal, TextIO

import anyio
from anyio import to_thread

from agent_sdk.decisions import Allow, Defer, Deny, PermissionContext
from agent_sdk.errors import OptionsError
from agent_sdk.render.text import visible
from agent_sdk.terminal.asking import Asking, Decision, WhenGone, asked, settled
from agent_sdk.terminal.console import Console
from agent_sdk.terminal.lines import LineReader
from agent_sdk.terminal.plain import ask_plainly

_LOOK_EVERY = 0.5
_SINKS_IN = 0.5

_log = logging.getLogger("agent_sdk.terminal")

Mode = Literal["auto", "rich", "plain"]


class TerminalApprover:
    """Asks the person at the terminal about every call that needs an answer. Pass it as `can_use_tool`.

    `input` is an open file or a file descriptor, `None` = standard input; `output` is an open text file, `None` =
    standard output. Or `console`: a Console that is shared with others who talk on the same terminal. `by` names the
    person in the trace; a denial because the input ended is by `end of input`.

    `mode`: `"rich"` draws a card with a cursor and needs the extra `terminal`; `"plain"` is numbered lines without
    colours, boxes or cursor movement; `"auto"` is rich where that works. Everything is plain without a terminal, where
    `TERM` is `dumb`, and where the encoding has no boxes. `offer_defer` lets the person park a call for somebody else;
    it needs a store that can park. `when_gone` says what becomes of a call when the input ends or the terminal vanishes
    before an answer.

    Only an explicit answer counts; nothing typed before a call was shown does. A call that was waiting and that a rule
    remembered meanwhile covers is answered by that rule. Cancelling a prompt leaves the terminal ready for the next
    one. Raises what writing to `output` raises; OptionsError for a bad option, or for `"rich"` without the extra.

        AgentOptions(can_use_tool=TerminalApprover())
    """

    def __init__(
        self,
        *,
        input: TextIO | int | None = None,
        output: TextIO | None = None,
        console: Console | None = None,
        by: str | None = None,
        mode: Mode = "auto",
        offer_defer: bool = False,
        when_gone: WhenGone = "deny",
    ) -> None:
        if mode not in ("auto", "rich", "plain"):
            raise OptionsError(f"mode is 'auto', 'rich' or 'plain', got {mode!r}", option="mode")
        if when_gone not in ("deny", "defer"):
            raise OptionsError(f"when_gone is 'deny' or 'defer', got {when_gone!r}", option="when_gone")
        if mode == "rich" and not _has_toolkit():
            raise OptionsError("the rich terminal needs prompt_toolkit: pip install prompt_toolkit", option="mode")
        self._console = console or Console(reader=LineReader(input), output=output)
        self._by = by
        self._mode = mode
        self._offer_defer = offer_defer
        self._when_gone = when_gone
        self._remembered_at = float("-inf")

    @property
    def is_rich(self) -> bool:
        """Whether the next call would be asked about in the rich form."""
        if self._mode == "plain" or os.environ.get("TERM", "") in ("", "dumb"):
            return False
        console = self._console
        return console.is_terminal and _has_boxes(console.output) and (self._mode == "rich" or _has_toolkit())

    async def __call__(
        self, tool_name: str, tool_input: dict[str, Any], context: PermissionContext
    ) -> Allow | Deny | Defer:
        """Show the call, ask, and return the answer. For AskUserQuestion the answer is the filled-in card."""
        async with self._console.conversation() as waited:
            if waited and (by_rule := await self._settled_meanwhile(context)) is not None:
                self._console.say(_no_need(tool_name, by_rule))
                return by_rule
            ask = partial(asked, tool_name, tool_input, context, by=self._by, offer_defer=self._offer_defer)
            decision = await self._ask(await to_thread.run_sync(ask, abandon_on_cancel=True))
            if isinstance(decision, Allow) and decision.updated_permissions:
                self._remembered_at = anyio.current_time()
            return decision

    async def _settled_meanwhile(self, context: PermissionContext) -> Allow | Deny | None:
        """What the rules say now. Right after a rule was remembered, wait a moment until it is in force."""
        until = self._remembered_at + _SINKS_IN
        while (decision := settled(context)) is None and anyio.current_time() < until:  # noqa: ASYNC110
            await anyio.sleep(0.01)
        return decision

    async def _ask(self, asking: Asking) -> Decision:
        """Ask the person, unless the rules come to settle the call while it is shown."""
        found: list[Decision] = []

        async def watch(prompt: anyio.CancelScope) -> None:
            while True:
                await anyio.sleep(_LOOK_EVERY)
                if (decision := settled(asking.context)) is not None:
                    found.append(decision)
                    prompt.cancel()
                    return

        try:
            async with anyio.create_task_group() as tasks:
                with anyio.CancelScope() as prompt:
                    tasks.start_soon(watch, prompt)
                    decision = await self._front_end(asking)
                    found.insert(0, decision)
                tasks.cancel_scope.cancel()
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        if prompt.cancelled_caught:
            self._console.say(_no_need(asking.tool_name, found[0]))
        return found[0]

    async def _front_end(self, asking: Asking) -> Decision:
        if self.is_rich:
            decision = await _ask_richly(self._console, asking, self._when_gone)
            if decision is not None:
                return decision
        return await ask_plainly(self._console, asking, when_gone=self._when_gone)


async def _ask_richly(console: Console, asking: Asking, when_gone: WhenGone) -> Decision | None:
    """The door to the rich terminal. `None` when it failed: the plain prompt asks instead."""
    from agent_sdk.terminal.rich import ask_richly  # noqa: PLC0415

    try:
        return await ask_richly(console, asking, when_gone=when_gone)
    except Exception as error:
        _log.error("the rich prompt failed; asking in plain lines", exc_info=error)
        return None


def _has_toolkit() -> bool:
    return importlib.util.find_spec("prompt_toolkit") is not None


def _has_boxes(output: TextIO) -> bool:
    """Whether the output's encoding has the characters that a card is drawn with."""
    try:
        "─│❯●★✓".encode(output.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _no_need(tool_name: str, decision: Decision) -> str:
    said = "allows" if isinstance(decision, Allow) else "denies"
    by = decision.by if isinstance(decision, Allow | Deny) and decision.by else "a rule"
    return visible(f"(no need to ask about {tool_name}: {by} {said} it)", keep_newlines=False)
