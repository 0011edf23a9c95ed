"""One session over several runs: claim, load, run, give back."""

from __future__ import annotations

import atexit
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import cache

from agent_sdk.closing import CLOSING_SECONDS, add_user
from agent_sdk.config import MODES
from agent_sdk.copies import fork_session, last_session
from agent_sdk.decisions import Allow, Deny
from agent_sdk.endings import Ended, result_message
from agent_sdk.errors import DeferralError, ModelError, OptionsError, SessionError, SessionNotFoundError
from agent_sdk.history import text_of
from agent_sdk.loading import Loaded, read_entries, restore, settle_settings
from agent_sdk.loop import Progress, run
from agent_sdk.messages import Message, SystemMessage
from agent_sdk.models.anthropic import AnthropicModel
from agent_sdk.models.base import Model
from agent_sdk.models.prices import price_of
from agent_sdk.options import AgentOptions
from agent_sdk.prompts import admit_prompt
from agent_sdk.resume import reenter
from agent_sdk.session import Arrival, Session
from agent_sdk.sessions.at_once import at_once
from agent_sdk.sessions.sqlite import SQLiteStore
from agent_sdk.sessions.store import SessionStore
from agent_sdk.turn import Turn
from agent_sdk.values import JsonObject, fresh_uuid

log = logging.getLogger("agent_sdk")


@cache
def default_store() -> SQLiteStore:
    """The store of runs that name none: the user's own, on disk. Opened at its first use, closed with the process."""
    store = SQLiteStore()
    atexit.register(store.close)
    return store


def prompt_blocks(item: Mapping[str, object]) -> list[JsonObject]:
    """The content of a user message in the interop form, or of a bare `{"role", "content"}`.

    Raises OptionsError for anything else, and for a message without content.
    """
    message = item.get("message", item)
    content = message.get("content") if isinstance(message, Mapping) and message.get("role") == "user" else None
    if isinstance(content, str) and content.strip():
        return [{"type": "text", "text": content}]
    if isinstance(content, list) and content and all(isinstance(block, Mapping) for block in content):
        return [dict(block) for block in content]
    raise OptionsError(f"a prompt message is {{'role': 'user', 'content': ...}} with content, got {item!r:.80}")


class Conversation:
    """A session, run after run. Each run claims the session first and gives it back at its end.

    `error` is what the last run's caller should be told after the result message.
    """

    def __init__(self, options: AgentOptions, store: SessionStore) -> None:
        self.options = options
        resumed = None if options.fork_session else options.resume
        self.session = Session(options, store, resumed or options.session_id or fresh_uuid())
        self.error: ModelError | None = None
        self._started = self._settled = False
        self._running = False
        self._stale = True
        self._loaded: Loaded | None = None

    async def run(
        self, prompt: Sequence[JsonObject] | None, decisions: Mapping[str, Allow | Deny] | None
    ) -> AsyncGenerator[Message, None]:
        """One run: with a prompt, or from where the session stands. Ends with the result message."""
        session = self.session
        session.new_run()
        self.error = None
        self._check_store(decisions)
        await self._choose_session()
        left = False
        foreign = await session.ledger.open()
        self._running = True
        try:
            await session.start()
            await self._load(anew=foreign or self._stale or prompt is None)
            self._stale = True  # until this run has ended in good order
            yield self._init_message()
            progress = Progress()
            await self._begin(progress, prompt, decisions)
            for news in session.news():
                yield news
            async with aclosing(run(session, progress)) as messages:
                async for message in messages:
                    yield message
            ended = progress.ended
            assert ended is not None, "the loop ends only when the run has ended"
            self.error = ended.error
            self._stale = bool(ended.deferred)
            if not ended.deferred:
                await self._keep_admitted()
        except GeneratorExit:
            left = True
            raise
        finally:
            settle_settings(session)
            self._running = False
            await self._give_back(without_waiting=left)
        yield result_message(session, ended)

    async def _keep_admitted(self) -> None:
        """A prompt that passed the hooks, but that an interrupt kept from being sent, is stored for the next run."""
        session = self.session
        kept = [arrival for arrival in session.arrivals if arrival.admitted]
        session.arrivals = [arrival for arrival in session.arrivals if not arrival.admitted]
        for arrival in kept:
            await add_user(session, arrival.content)

    async def _give_back(self, *, without_waiting: bool) -> None:
        """Give the claim back, before anybody hears that the run is over. If that fails, its lease ends it."""
        ledger = self.session.ledger
        try:
            with at_once(without_waiting), ledger.briefly(CLOSING_SECONDS) as scope:
                await ledger.close()
        except Exception as error:
            log.error("the claim on session %s could not be given back", self.session.id, exc_info=error)
            return
        if scope.cancelled_caught:
            log.error("the claim on session %s could not be given back in time", self.session.id)

    def _check_store(self, decisions: Mapping[str, Allow | Deny] | None) -> None:
        """Raises SessionError when parked calls are to be answered, and the store cannot park."""
        ledger = self.session.ledger
        if decisions and not ledger.can_park:
            raise SessionError(
                f"decisions need a store that can park calls; {type(ledger.store).__name__} keeps transcripts only",
                session_id=self.session.id,
            )

    async def _choose_session(self) -> None:
        """Before the first run: find the session to continue, make the fork."""
        if self._settled:
            return
        options, session, store = self.options, self.session, self.session.ledger.store
        origin = options.resume
        if options.continue_conversation:
            origin = await last_session(store, options.directory)
        if origin is not None and options.fork_session:
            await fork_session(origin, store=store, new_id=session.id)
        elif origin is not None:
            session.become(origin)
        self._settled = True

    def _init_message(self) -> SystemMessage:
        session = self.session
        return SystemMessage(
            subtype="init",
            data={
                "session_id": session.id,
                "model": session.settings.model.name,
                "tools": [str(tool.get("name")) for tool in session.settings.tools],
                "permissionMode": session.mode,
                "cwd": session.cwd,
            },
        )

    async def _load(self, *, anew: bool) -> None:
        """Read the transcript where what this process remembers of it may not be all."""
        first, self._started = not self._started, True
        self._loaded = None
        if not anew:
            return
        entries = await self.session.ledger.load()
        if entries is not None:
            self._loaded = read_entries(entries)
            restore(self.session, self._loaded)
        elif first and self.options.resume is not None:
            raise SessionNotFoundError(
                f"the store has no session {self.session.id!r}; see `agent-sdk sessions`, or name its store",
                session_id=self.session.id,
            )

    async def _begin(
        self, progress: Progress, prompt: Sequence[JsonObject] | None, decisions: Mapping[str, Allow | Deny] | None
    ) -> None:
        """Bring the session to the point where the loop can go on: the prompt added, the open turn entered."""
        session, loaded = self.session, self._loaded
        admitted: list[JsonObject] | None = None
        if prompt is not None:
            match await admit_prompt(session, prompt):
                case Ended() as blocked:
                    progress.ended = blocked
                    return
                case content:
                    admitted = content
        if loaded is not None and loaded.open_uuid is not None:
            turn = _open_turn(session, loaded)
            ended = await reenter(session, turn, decisions, superseded=prompt is not None)
            if ended is not None:
                progress.ended = ended
                return
            progress.turn = turn
            if admitted is not None:
                session.arrivals.insert(0, Arrival(admitted, is_prompt=True, admitted=True))
            return
        if decisions:
            raise DeferralError(f"nothing is pending in session {session.id}", session_id=session.id)
        if admitted is not None:
            await add_user(session, admitted)
        elif loaded is None or not loaded.unanswered:
            raise SessionError(f"nothing to resume in session {session.id}: it has ended", session_id=session.id)

    def set_mode(self, mode: str) -> None:
        """Put another permission mode in force. Raises OptionsError."""
        for known in MODES:
            if known == mode:
                if known == "bypassPermissions" and self.options.permission_mode != "bypassPermissions":
                    raise OptionsError("bypassPermissions can be chosen only when the session starts", option="mode")
                if known == "bypassPermissions" and self.session.policy.bypass_refused:
                    raise OptionsError("bypassPermissions is disabled by a settings file", option="mode")
                self.session.policy.set_mode(known)
                self.session.mode_given = True
                return
        raise OptionsError(f"the mode is one of {', '.join(MODES)}, got {mode!r}", option="mode")

    def set_model(self, model: str | Model) -> None:
        """Use another model from the next run on.

        Raises OptionsError for anything but a name or a Model, and for one without a price where a budget is kept.
        """
        if not isinstance(model, str | Model):
            raise OptionsError(f"model is a name or a Model, got {model!r:.80}", option="model")
        name = model if isinstance(model, str) else model.name
        if self.options.max_budget_usd is not None and price_of(name) is None:
            raise OptionsError(
                f"max_budget_usd cannot be kept: no price is known for the model {name!r}", option="model"
            )
        session = self.session
        new = AnthropicModel(model, self.options.anthropic) if isinstance(model, str) else model
        if self._running:
            session.settings_after = replace(session.settings_after or session.settings, model=new)
        else:
            session.settings.model = new


def _open_turn(session: Session, loaded: Loaded) -> Turn:
    calls = [block for block in loaded.open_content if block.get("type") == "tool_use"]
    assert loaded.open_uuid is not None, "callers ask for it first"
    return Turn(session, loaded.open_uuid, calls, text=text_of(loaded.open_content))
