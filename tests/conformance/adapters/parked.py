"""Kind `resume`: one turn of calls is parked, and resumed by fresh objects on the same store."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from agent_sdk import InMemoryStore, SessionBusyError
from tests.conformance import stored
from tests.conformance.adapters.calls import look, tool_names, turn_calls
from tests.conformance.cases_file import Case
from tests.conformance.child import in_fresh_process
from tests.conformance.damage import damaged, kill_point
from tests.conformance.decided import decision
from tests.conformance.elsewhere import Part, run_elsewhere
from tests.conformance.public import public
from tests.conformance.record import Raised, Record
from tests.conformance.script import DONE, Script, ScriptedSide, call_turn, text_turn
from tests.conformance.stage import DEFAULT_PROMPT, Stage, cancelled_after
from tests.conformance.vocabulary import PARKED

WAIT_FOR_LEASE_S = 25.0
NOT_A_RESUME = {"gates", "send_user_text", "expires_in_s", "turns_before", "import_into_two_stores", "resume_a"}
RESUMES = PARKED - NOT_A_RESUME


def wanted_decisions(scene: Mapping[str, Any]) -> dict[str, Any] | None:
    """The decisions of a resume, in their order; `None` for a resume without. Raises what our classes raise."""
    ordered = scene.get("resume_with_ordered")
    if ordered is not None:
        pairs = [pair for each in ordered for pair in _pairs(each)]
        return {id_: decision(written) for id_, written in pairs}
    written = scene.get("resume_with")
    if not isinstance(written, Mapping) or not written:
        return None
    return {id_: decision(each) for id_, each in written.items()}


def _pairs(each: Any) -> list[tuple[str, Any]]:
    """`[id, decision]`, `{id: decision}` or `{"id": id, …decision}`."""
    if isinstance(each, Mapping):
        if isinstance(each.get("id"), str):
            return [(each["id"], {key: value for key, value in each.items() if key != "id"})]
        return list(each.items())
    id_, written = each
    return [(id_, written)]


def parked_script(scene: Mapping[str, Any], calls: list[dict[str, Any]]) -> Script:
    """Earlier turns of text, the turn with the calls, and what the model would do after them."""
    turns = [text_turn(f"Reply {number}.") for number in range(1, scene.get("turns_before", 0) + 1)]
    turns.append(call_turn(calls))
    if "model_if_called_again_returns" in scene:
        command = {"command": scene["model_if_called_again_returns"]}
        turns.append(call_turn([{"id": "again-1", "tool": "Bash", "input": command}]))
    after = scene.get("model_after_resume")
    if isinstance(after, Mapping) and "content" in after:
        turns.append(dict(after))
    return Script(turns=list(turns))


class Play:
    """One case of the kind, step by step."""

    def __init__(self, case: Case, record: Record, root: Path, backend: str) -> None:
        self.scene = case.scene
        self.expect = case.expect
        self.record = record
        self.root = root
        self.backend = backend
        self.calls = turn_calls(self.scene)
        self.script = parked_script(self.scene, self.calls)
        record.facts["said"] = [*(turn["content"] for turn in self.script.turns), DONE["content"]]
        self.kill = kill_point(self.scene.get("killed"))
        self.database = root / "sessions.db"
        needs_file = self.scene.get("new_process") or self.kill != "never"
        self.store: Any = public("SQLiteStore")(self.database) if needs_file else InMemoryStore()
        more = ("Bash",) if "model_if_called_again_returns" in self.scene else ()
        self.tools = tool_names(self.scene, self.calls, *more)
        self.stage = self.stage_on(self.store)

    def stage_on(self, store: Any) -> Stage:
        """Fresh objects on a store."""
        side = ScriptedSide(record=self.record, script=self.script)
        return Stage(scene=self.scene, record=self.record, side=side, store=store, work=self.root, tools=self.tools)

    async def play(self) -> None:
        """The whole case."""
        await self.park()
        await anyio.sleep(self.scene.get("wait_s", 0))
        if self.scene.get("import_into_two_stores"):
            await self.resume_a_copy()
        elif "send_user_text" in self.scene:
            await self.stage_on(self.store).run("resume", prompt=self.scene["send_user_text"], go_on=True, parked=True)
        elif any(key in self.scene for key in RESUMES):
            await self.resume()
        await look(self.stage)
        if self.scene.get("then_load_again") or "loads_again" in self.expect:
            self.record.loads_again = await self.load_again()

    async def park(self) -> None:
        """Earlier turns, and the run that ends parked (or is killed on its way, when nothing is deferred)."""
        for number in range(self.scene.get("turns_before", 0)):
            await self.stage.run("before", prompt=f"Question {number + 1}?", go_on=number > 0)
        go_on = bool(self.scene.get("turns_before"))
        prompt = self.scene.get("prompt", DEFAULT_PROMPT)
        if self.kill != "never" and not self._defers():
            self.stage.identity(go_on)
            run_elsewhere(self.part("first", prompt=prompt, go_on=go_on, kill=self.kill), self.record)
            self.script.position += 1
        else:
            await cancelled_after(
                self.scene.get("cancel_after_s"), lambda: self.stage.run("first", prompt=prompt, go_on=go_on)
            )
        await look(self.stage)
        self.record.saved_before = self.record.saved
        if self.record.session_id is not None:
            self.record.pending_inputs = await stored.pending(self.store, self.record.session_id)

    def _defers(self) -> bool:
        return "defer" in str([self.scene.get(key) for key in ("gates", "hooks", "callback", "options")])

    async def resume(self) -> None:
        """The resume, and those after it."""
        scene = self.scene
        if "export_damaged" in scene:
            await self.move_through_damaged_export()
            if self.record.facts.get("import_failed"):
                return
        try:
            decisions = wanted_decisions(scene)
        except Exception as error:
            self.record.raised.append(Raised.of(error, "decision"))
            return
        after = scene.get("model_after_resume")
        self.script.outage = after if isinstance(after, Mapping) and "error" in after else None
        await self.resume_once("resume", decisions)
        self.script.outage = None
        if scene.get("resume_again_same"):
            await self.resume_once("again", decisions)
        if scene.get("then_resume_again"):
            await self.resume_once("again", None)

    async def resume_once(self, name: str, decisions: dict[str, Any] | None) -> None:
        """One resume: here, or in a fresh process, or in one that is killed on its way and then once more."""
        killed_here = name == "resume" and self.kill != "never" and self._defers()
        if killed_here:
            run_elsewhere(self.part(name, decisions=decisions, go_on=True, parked=True, kill=self.kill), self.record)
            decisions = None
        if self.scene.get("new_process"):
            run_elsewhere(self.part(name, decisions=decisions, go_on=True, parked=True), self.record)
            self.script.position += 1
            return
        deadline = anyio.current_time() + (WAIT_FOR_LEASE_S if self.kill != "never" else 0)
        while True:
            resume = partial(self.stage_on(self.store).run, name, decisions=decisions, go_on=True, parked=True)
            await cancelled_after(self.scene.get("cancel_after_s"), resume)
            seen = self.record.runs[-1]
            busy = seen.error is not None and seen.error.type == SessionBusyError.__name__
            if not busy or anyio.current_time() > deadline:
                return
            self.record.runs.remove(seen)
            self.record.raised.pop()
            await anyio.sleep(0.5)

    def part(self, name: str, **words: Any) -> Part:
        """A run that a fresh process does."""
        return Part(
            scene=self.scene,
            backend=self.backend,
            session_id=self.record.session_id,
            database=self.database,
            work=self.root,
            tools=self.tools,
            script=self.script,
            over_http=False,
            default_callback=None,
            name=name,
            journal=self.root / f"ran-{name}.jsonl" if words.get("kill", "never") != "never" else None,
            **words,
        )

    async def exported(self) -> Path:
        """The session as JSON lines."""
        file = self.root / "session.jsonl"
        file.unlink(missing_ok=True)
        await public("export_session")(self.record.session_id, file, store=self.store)
        return file

    async def move_through_damaged_export(self) -> None:
        """From here on the session lives in a fresh store, into which a damaged export was imported."""
        file = await self.exported()
        file.write_bytes(damaged(file.read_bytes(), self.scene["export_damaged"]))
        self.store = InMemoryStore()
        try:
            await public("import_session")(file, store=self.store)
        except Exception as error:
            self.record.raised.append(Raised.of(error, "import"))
            self.record.facts["import_failed"] = True
        self.stage = self.stage_on(self.store)

    async def resume_a_copy(self) -> None:
        """Two copies of the session: the first is resumed, the second is only looked at."""
        file = await self.exported()
        first, second = InMemoryStore(), InMemoryStore()
        for copy in (first, second):
            await public("import_session")(file, store=copy)
        self.store, self.stage = first, self.stage_on(first)
        written = self.scene.get("resume_a")
        decisions = {id_: decision(each) for id_, each in written.items()} if written else None
        await self.stage.run("resume", decisions=decisions, go_on=True, parked=True)
        assert self.record.session_id is not None
        self.record.pending_in_copy = list(await stored.pending(second, self.record.session_id))

    async def load_again(self) -> str:
        """Export what is stored and import it in a fresh process: empty when it is complete there."""
        file = await self.exported()
        found = await anyio.to_thread.run_sync(
            in_fresh_process, imported_messages, file, self.record.session_id, self.backend
        )
        return "" if found == self.record.saved else f"stored {self.record.saved}, loaded again {found}"


def imported_messages(file: Path, session_id: str, backend: str) -> list[dict[str, Any]]:
    """The messages of an exported session, imported here."""

    async def load() -> list[dict[str, Any]]:
        store = InMemoryStore()
        await public("import_session")(file, store=store)
        return stored.messages(await stored.entries(store, session_id))

    return anyio.run(load, backend=backend)


def play_parked(case: Case, record: Record, root: Path, backend: str) -> None:
    """Kind `resume`."""
    play = Play(case, record, root, backend)
    anyio.run(play.play, backend=backend)
