"""One turn: the calls of one model message, decided together, then run one after the other."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from agent_sdk.bound import Bound
from agent_sdk.calls import ToolCall, ToolResult
from agent_sdk.decisions import Allow, Considered, Deny, Verdict
from agent_sdk.history import text_of
from agent_sdk.messages import DeferredToolUse
from agent_sdk.models.reply import Reply
from agent_sdk.parking import worth_keeping
from agent_sdk.permissions import messages
from agent_sdk.permissions.pipeline import Docket
from agent_sdk.results import with_note
from agent_sdk.running import call_tool, hear_after
from agent_sdk.session import Session, opened_file, opens_files, permission_entry
from agent_sdk.sessions.records import Done, Entry, PendingApproval, SettledCall, Unknown
from agent_sdk.tools.base import Tool
from agent_sdk.values import JsonObject, copied_object, fresh_uuid, lazy

log = logging.getLogger("agent_sdk.tools")

_MAX_ASKED = 5
"""How often somebody is asked about a call just before it runs; then it is denied."""


class Turn:
    """The state of one turn. `admit`, then `decide`, then `execute`; afterwards every call has a result or is parked.

    `dockets` holds the calls that reached the gates, `results` what the model will read, by id; `reworded` names those
    that a hook changed after the tool. `stop` is a hook's
    reason to end the run; `aborted` is true after an interrupt; `exhausted` names the limit that kept calls from
    running. `deferred` are the dockets that wait for a later answer; `parked` is true once the store holds them.
    """

    def __init__(
        self,
        session: Session,
        message_uuid: str,
        calls: Sequence[JsonObject],
        *,
        text: str = "",
        stop_reason: str = "tool_use",
    ) -> None:
        self.session = session
        self.message_uuid = message_uuid
        self.answer_uuid = fresh_uuid()  # written twice where nobody knows whether the first time counted: kept once
        self.blocks = calls
        self.text = text
        self.stop_reason = stop_reason
        self.parked_before: dict[str, PendingApproval] = {}
        self.settled_before: dict[str, SettledCall] = {}
        self.dockets: dict[str, Docket] = {}
        self.results: dict[str, ToolResult] = {}
        self.started: set[str] = set()
        self.reworded: set[str] = set()
        self.answer: list[JsonObject] | None = None  # the message that closes it, once somebody tried to write that
        self.unrecorded: list[Entry] = []
        self.to_settle: list[SettledCall] = []
        self.stop: str | None = None
        self.aborted = False
        self.parked = False
        self.exhausted: str | None = None
        self._disk_touched = False  # or may have been, by others, while somebody thought
        self._bound = Bound(session)
        self._failure: Exception | None = None
        self._new_cwd: dict[int, str] = {}

    @classmethod
    def of(cls, session: Session, reply: Reply) -> Turn:
        """The turn that a reply opens; `blocks` is empty when it holds no calls."""
        calls = [block for block in reply.content if block.get("type") == "tool_use"]
        return cls(session, fresh_uuid(), calls, text=text_of(reply.content), stop_reason=reply.stop_reason)

    @property
    def ids(self) -> list[str]:
        """The ids of all calls, in call order."""
        return [str(block["id"]) for block in self.blocks]

    @property
    def deferred(self) -> list[Docket]:
        """The dockets that wait for a later answer, in call order."""
        return [d for id_, d in self.dockets.items() if _behavior(d) == "defer" and id_ not in self.results]

    @property
    def has_written(self) -> bool:
        """Whether a call has begun that may have changed files."""
        return any(not self.dockets[call_id].tool.read_only for call_id in self.started)

    def deferred_uses(self) -> list[DeferredToolUse]:
        """The parked calls as the result message names them."""
        return [DeferredToolUse(d.call.id, d.call.tool, d.original) for d in self.deferred]

    def give_up(self, text: str) -> None:
        """The run is broken off: every call without a result gets one that says what is known of it."""
        self._fill(text)

    # --- deciding ---------------------------------------------------------------------------------

    def admit(self) -> None:
        """Give every call a docket; an unknown tool or an input that does not fit gets its error result at once."""
        for index, block in enumerate(self.blocks):
            call_id, name, said = str(block["id"]), str(block["name"]), block["input"]
            tool = self.session.tools.get(name)
            if tool is None:
                known = ", ".join(self.session.tools)
                self.results[call_id] = _error(f"There is no tool {name!r}. The tools are: {known}.")
            elif not isinstance(said, dict):
                self.results[call_id] = _error(f"The input of {name} must be a JSON object.")
            elif not self._within_limit(call_id):
                continue
            else:
                self._open_docket(call_id, index, tool, copied_object(said))

    def _within_limit(self, call_id: str) -> bool:
        spent, limit = self.session.spent, self.session.options.max_tool_calls
        if limit is not None and spent.tool_calls >= limit:
            self.exhausted = "max_tool_calls"
            self.results[call_id] = _error(f"Not run: this run may make {limit} tool calls, and has made them.")
            return False
        spent.tool_calls += 1
        return True

    def _open_docket(self, call_id: str, index: int, tool: Tool, said: JsonObject) -> None:
        try:
            tidied = said if tool.prepare is None else tool.prepare(copied_object(said))
        except Exception as error:
            log.error("the tool %s cannot prepare its input", tool.name, exc_info=error)
            self.results[call_id] = _error(f"The input of {tool.name} could not be read.")
            return
        if (problem := tool.fault_in(tidied)) is not None:
            self.results[call_id] = _error(problem)
            return
        call = ToolCall(
            id=call_id,
            tool=tool.name,
            said=said,
            effective=tidied,
            cwd=self.session.cwd,
            message_uuid=self.message_uuid,
            session_id=self.session.id,
            index=index,
        )
        self.dockets[call_id] = Docket(call=call, tool=tool, original=tidied)

    async def decide(self) -> None:
        """Give every docket a verdict. Nothing runs yet."""
        await self.settle([docket for id_, docket in self.dockets.items() if id_ not in self.results])
        self.take_verdicts()

    async def settle(self, dockets: Sequence[Docket]) -> None:
        """Take the dockets through the gates; hooks and callbacks are cancelled by an interrupt."""
        if not dockets or self.aborted or self.stop is not None:
            return
        session = self.session
        with session.interrupt.guard():
            outcome = await session.pipeline.settle(dockets, assistant_text=self.text)
            session.arrive(*outcome.contexts)
            for notice in outcome.notices:
                session.tell("hook_message", message=notice)
            for docket in dockets:
                if docket.verdict is not None:
                    session.tell_hooks(docket.verdict.trace, docket.call.id)
            self.stop = outcome.stop if self.stop is None else self.stop
            self._disk_touched = self._disk_touched or outcome.waited
            self.aborted = self.aborted or outcome.interrupted_by is not None
        self.aborted = self.aborted or session.interrupt.requested

    def take_verdicts(self) -> None:
        """Turn denials into results. After a stop or an interrupt every call that has not begun gets one."""
        for call_id, docket in self.dockets.items():
            if call_id in self.results or call_id in self.started:
                continue
            verdict = docket.verdict
            if verdict is not None and verdict.behavior == "defer" and not self.session.ledger.can_park:
                log.error("call %s was deferred, but this store cannot park calls: denied", call_id)
                verdict = docket.verdict = _not_parkable(verdict)
            if self.stop is not None:
                self._keep_from_running(
                    docket, ToolResult(self.stop, is_error=True), f"a hook stopped the run: {self.stop}"
                )
            elif verdict is not None and verdict.behavior == "deny":
                self._keep_from_running(docket, verdict.result or _error(messages.PERSON_DENIED), verdict.reason)
            elif self.aborted:
                self._keep_from_running(docket, _error(messages.INTERRUPTED_BEFORE), "interrupted by the person")

    def _keep_from_running(self, docket: Docket, result: ToolResult, reason: str) -> None:
        call = docket.call
        self.results[call.id] = result
        self.session.denials.append(
            {"tool_name": call.tool, "tool_use_id": call.id, "tool_input": call.said, "reason": reason}
        )
        self._record_refusal(docket, result, reason)

    def _record_refusal(self, docket: Docket, result: ToolResult, reason: str) -> None:
        """The record tells what became of the call: a yes that was overtaken is no yes any more."""
        verdict = docket.verdict
        if verdict is not None and verdict.behavior != "deny":
            step = Considered(step="turn", said="deny", note=reason)
            docket.verdict = replace(
                verdict,
                behavior="deny",
                decision=Deny(),
                by="turn",
                reason=reason,
                result=result,
                trace=(*verdict.trace, step),
            )
        self._record(docket)

    def _record(self, docket: Docket) -> None:
        if docket.verdict is not None:
            self.unrecorded.append(permission_entry(docket.verdict))

    # --- running ----------------------------------------------------------------------------------

    async def execute(self) -> None:
        """Run what is approved, in call order; read-only calls that follow one another run side by side.

        Raises SessionBusyError when the session was taken over: nothing more is started then.
        """
        approved = [docket for id_, docket in self.dockets.items() if id_ not in self.results and _approved(docket)]
        for docket in approved:
            self._bound.keep(docket)
        self.to_settle = [] if self.parked else worth_keeping(self.dockets, self.results)
        with self.session.interrupt.guard():
            for group in _groups(approved):
                await self._run_group(group)
                if self._failure is not None:
                    raise self._failure
        self.aborted = self.aborted or self.session.interrupt.requested
        if self.aborted:
            self.take_aborted()
        elif self.stop is not None:
            self.take_verdicts()
        for _, cwd in sorted(self._new_cwd.items()):
            self.session.move(cwd)

    def take_aborted(self) -> None:
        """Give every call without a result the one that says what is known of it."""
        self._fill(messages.INTERRUPTED_BEFORE)

    def exhaust(self, limit: str, text: str) -> None:
        """A limit of the run is used up: whatever has no result yet does not run. What is deferred stays so."""
        self.exhausted = limit
        deferred = {docket.call.id for docket in self.deferred}
        for call_id in self.ids:
            if call_id not in self.results and call_id not in deferred:
                self.results[call_id] = _error(text)
                if (docket := self.dockets.get(call_id)) is not None:
                    self._record_refusal(docket, self.results[call_id], text)

    def leave_out(self, text: str) -> None:
        """The calls of a message that is not considered: none of them runs."""
        for block in self.blocks:
            self._refuse_unheard(block, text)

    def _refuse_unheard(self, block: JsonObject, text: str) -> None:
        call_id = str(block["id"])
        self.results[call_id] = _error(text)
        self.session.denials.append(
            {"tool_name": block["name"], "tool_use_id": call_id, "tool_input": block["input"], "reason": text}
        )

    def _fill(self, text: str) -> None:
        for block in self.blocks:
            call_id, docket = str(block["id"]), self.dockets.get(str(block["id"]))
            if call_id in self.results:
                continue
            if call_id in self.started:
                self.results[call_id] = _error(messages.INTERRUPTED_RUNNING)
                continue
            self._refuse_unheard(block, text)
            if docket is not None:
                self._record_refusal(docket, self.results[call_id], text)

    async def _run_group(self, group: Sequence[Docket]) -> None:
        if len(group) == 1:
            await self._run(group[0])
            return
        limiter = anyio.CapacityLimiter(self.session.options.max_parallel_tools or len(group))
        async with anyio.create_task_group() as tasks:

            async def run(docket: Docket) -> None:
                async with limiter:
                    await self._run(docket)

            for docket in group:
                tasks.start_soon(run, docket)
        for docket in group:
            if not self._stopped() or (docket.call.id in self.started and not self.aborted):
                self._note_lost(docket)

    def _note_lost(self, docket: Docket) -> None:
        """A tool that cancelled its own task left nothing behind: what it did is unknown."""
        if docket.call.id not in self.results and _approved(docket):
            started = docket.call.id in self.started
            self.results[docket.call.id] = _error(messages.UNKNOWN_OUTCOME if started else messages.CANCELLED_BEFORE)

    def _stopped(self) -> bool:
        """Whether nothing more of the turn may start."""
        ended = self.stop is not None or self.aborted or self._failure is not None
        return ended or self.session.interrupt.requested

    async def _run(self, docket: Docket) -> None:
        """Look once more, begin in the journal, run, end in the journal, let the hooks see it."""
        if self._stopped():
            return
        try:
            if not await self._still_approved(docket) or docket.verdict is None or self._stopped():
                return
            verdict = docket.verdict
            self._record(docket)
            if verdict.result is not None:
                self.results[docket.call.id] = verdict.result
                return
            await self._begin_and_run(docket, verdict)
        except Exception as error:  # of the store: nothing more is started
            self._failure = self._failure or error

    async def _still_approved(self, docket: Docket) -> bool:
        """Judge once more, just before the run, and look whether the file is the one that was shown.

        Where that asks somebody, both are done again with the answer. False when the call has got another end: denied
        or parked.
        """
        for _ in range(_MAX_ASKED):
            asked = await self._look(docket)
            if not _approved(docket):
                self.take_verdicts()
                return False
            if not asked:
                return True
            self._bound.keep(docket)
        log.error("%s: what it would open changes again and again: denied", docket.call.id)
        self._keep_from_running(docket, _error(messages.FILE_CHANGED), "the file changes again and again")
        return False

    async def _look(self, docket: Docket) -> bool:
        """Judge once more and look at the file, if need be; ask when the approval does not hold. True when asked."""
        verdict = docket.verdict
        assert verdict is not None, "only approved calls come here"
        version = self.session.policy.snapshot.version
        if self._disk_touched or verdict.by_person or opens_files(docket.tool) or docket.version != version:
            docket.verdict = self._judged_now(docket)
            if docket.verdict.behavior == "ask":
                await self._ask(docket, self.session.pipeline.ask_again, docket.verdict)
                return True
        if _approved(docket) and not await self._bound.holds(docket):
            log.warning("%s: the file has changed since this was approved; asking again", docket.call.id)
            await self._ask(docket, self.session.pipeline.ask_about_change)
            return True
        return False

    async def _ask(self, docket: Docket, ask: Callable[..., Awaitable[None]], *about: Verdict) -> None:
        """Ask once more, when no more questions are open than may be, and nothing has ended the turn by then."""
        async with self._prompts:
            if self._stopped():
                docket.verdict = replace(docket.verdict, behavior="ask") if docket.verdict is not None else None
                return
            await ask(docket, *about)
            self.note_asked(docket)

    @lazy
    def _prompts(self) -> anyio.CapacityLimiter:
        return anyio.CapacityLimiter(self.session.options.max_parallel_prompts or len(self.blocks) or 1)

    def _judged_now(self, docket: Docket) -> Verdict:
        """The verdict at this moment, and the file that it is about."""
        verdict, seen = self.session.pipeline.look_again(docket)
        docket.target = opened_file(docket.tool, verdict.call, self.session.policy.snapshot.place.files, seen)
        return verdict

    def note_asked(self, docket: Docket) -> None:
        """A call was asked about once more: that may stop the turn as well."""
        decision = docket.verdict.decision if docket.verdict is not None else None
        self.aborted = self.aborted or (isinstance(decision, Deny) and decision.interrupt)
        if docket.requested is not None:
            self.stop = docket.requested.stop if self.stop is None else self.stop
            for notice in docket.requested.notices:
                self.session.tell("hook_message", message=notice)

    async def _begin_and_run(self, docket: Docket, verdict: Verdict) -> None:
        call, ledger = verdict.call, self.session.ledger
        key = call.key
        settled, self.to_settle = self.to_settle, []
        stale = await self._bound.changed(self._waiting(docket))
        await checkpoint_if_cancelled()  # a call before this one may have kept its cancellation to itself
        match await ledger.begin(key, call.effective, settled):
            case Done(result):
                self.results[call.id] = result
                return
            case Unknown():
                self.results[call.id] = _error(messages.UNKNOWN_OUTCOME)
                return
        self.started.add(call.id)
        self.session.tell_tool("tool_started", call)
        ran = await call_tool(self.session, docket.tool, call, self._bound.state(call.id), docket.target)
        self.session.tell_tool("tool_finished", call)
        if ran.new_cwd is not None:
            self._new_cwd[call.index] = ran.new_cwd
        if not docket.tool.read_only:
            self._disk_touched = True
        note = verdict.decision.note if isinstance(verdict.decision, Allow) else None
        result = with_note(ran.result, note)
        closing = self._closes_next()
        self.results[call.id] = result  # known from here on, whatever becomes of the store
        await ledger.end(key, result, closing=closing)
        after = await hear_after(self.session, call, result)
        await self._bound.follow(self._waiting(docket), stale)
        self.stop = after.stop if self.stop is None else self.stop
        self.results[call.id] = after.result
        if after.result is not result:
            self.reworded.add(call.id)

    def _closes_next(self) -> bool:
        """Whether nothing waits any more before the turn is closed: this is the last result, and nobody hears it."""
        is_last = len(self.results) == len(self.blocks) - 1
        matchers = self.session.hooks
        heard = matchers.get("PostToolUse") or matchers.get("PostToolUseFailure")
        return is_last and not heard and not self.session.arrivals

    def _waiting(self, docket: Docket) -> list[Docket]:
        """The calls that wait while this one runs, if it may change files."""
        if docket.tool.read_only:
            return []
        return [
            other
            for id_, other in self.dockets.items()
            if other is not docket and id_ not in self.started and id_ not in self.results
        ]


def _behavior(docket: Docket) -> str | None:
    return None if docket.verdict is None else docket.verdict.behavior


def _approved(docket: Docket) -> bool:
    return _behavior(docket) == "allow"


def _groups(dockets: Sequence[Docket]) -> list[list[Docket]]:
    """Read-only calls that follow one another together, every other call alone."""
    groups: list[list[Docket]] = []
    for docket in dockets:
        if docket.tool.read_only and groups and groups[-1][-1].tool.read_only:
            groups[-1].append(docket)
        else:
            groups.append([docket])
    return groups


def _not_parkable(verdict: Verdict) -> Verdict:
    return replace(verdict, behavior="deny", decision=Deny(), result=_error(messages.CANNOT_PARK))


def _error(text: str) -> ToolResult:
    return ToolResult(text, is_error=True)
