"""Kind `transcript`: what goes over the wire, through the real `anthropic` client, and what is stored of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from agent_sdk import AgentClient, InMemoryStore
from tests.conformance import conversation, stored
from tests.conformance.adapters.calls import look, turn_calls
from tests.conformance.adapters.parked import wanted_decisions
from tests.conformance.cases_file import Case
from tests.conformance.elsewhere import Part, run_elsewhere
from tests.conformance.http_side import serving
from tests.conformance.public import public
from tests.conformance.record import Raised, Ran, Record
from tests.conformance.script import DONE, Script, ScriptedSide, call_turn, is_fault
from tests.conformance.stage import ALLOW_ALL, DEFAULT_PROMPT, Stage, cancelled_after

WAIT_IN_TOOL_S = 5.0


def transcript_script(scene: Mapping[str, Any]) -> Script:
    """All answers of the service, in order."""
    calls = turn_calls(scene)
    turns: list[Any] = [call_turn(calls)] if calls else []
    turns += scene.get("stream_attempts") or ()
    turns += scene.get("model_turns") or ()
    repeat = scene.get("model_turns_repeat")
    if "error" in scene:
        outage = {key: scene[key] for key in ("error", "retry_after") if key in scene}
        if turns or "retry_after" in scene:
            turns.append(outage)
        else:
            repeat = outage
    return Script(turns=turns, repeat=repeat)


def saved_messages(scene: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The stored messages that a case begins with; `None` when it begins with none."""
    if "saved_messages" in scene:
        return list(scene["saved_messages"])
    if "saved_assistant_content" in scene:
        asked = {"role": "user", "content": scene.get("prompt", DEFAULT_PROMPT)}
        return [asked, {"role": "assistant", "content": scene["saved_assistant_content"]}]
    return None


def _called_tools(value: Any) -> list[str]:
    """The names of all tools that are called anywhere in the data of a case."""
    if isinstance(value, Mapping):
        own = [value["name"]] if value.get("type") == "tool_use" and isinstance(value.get("name"), str) else []
        return own + [name for item in value.values() for name in _called_tools(item)]
    if isinstance(value, list):
        return [name for item in value for name in _called_tools(item)]
    return []


class Play:
    """One case of the kind, step by step."""

    def __init__(self, case: Case, record: Record, root: Path, backend: str, side: Any) -> None:
        self.scene = case.scene
        self.expect = case.expect
        self.record = record
        self.root = root
        self.backend = backend
        self.side = side
        self.saved = saved_messages(self.scene)
        said = [message["content"] for message in self.saved or () if message["role"] == "assistant"]
        said += [turn["content"] for turn in side.script.turns if not is_fault(turn)]
        record.facts["said"] = [*said, DONE["content"]]
        record.facts["began_stored"] = self.saved is not None
        calls = [call["tool"] for call in turn_calls(self.scene)]
        names = [*calls, *_called_tools(dict(self.scene)), *(self.scene.get("stub_tools") or ())]
        self.tools = list(dict.fromkeys(names)) or ["Bash"]
        self.database = root / "sessions.db"
        fresh_process = "then_new_process_user_text" in self.scene or self.scene.get("new_process")
        self.store: Any = public("SQLiteStore")(self.database) if fresh_process else InMemoryStore()
        self.stage = self.stage_on(self.store)

    def stage_on(self, store: Any) -> Stage:
        """Fresh objects on a store."""
        return Stage(
            scene=self.scene,
            record=self.record,
            side=self.side,
            store=store,
            work=self.root,
            tools=self.tools,
            default_callback=ALLOW_ALL,
        )

    async def play(self) -> None:
        """The whole case."""
        try:
            await self.play_all()
        finally:
            await self.side.aclose()

    async def play_all(self) -> None:
        """First run or stored session, what follows, a look at the store."""
        scene = self.scene
        if self.saved is not None:
            await self.put_stored_session()
        elif "while_tool_runs_send_user_text" in scene:
            await self.run_with_client()
        elif scene.get("cancel_while_tool_runs"):
            await self.run_cancelled_in_tool()
        else:
            prompt = scene.get("prompt", DEFAULT_PROMPT)
            await cancelled_after(scene.get("cancel_after_s"), lambda: self.stage.run("first", prompt=prompt))
        await anyio.sleep(scene.get("wait_s", 0))
        await self.go_on()
        await look(self.stage)
        if "loads_again" in self.expect or scene.get("then_load_again"):
            self.record.loads_again = await self.load_again()

    async def go_on(self) -> None:
        """What follows the first run, or the stored session."""
        scene = self.scene
        stage = self.stage_on(self.store)
        parked = any(key in scene for key in ("resume_with", "resume_with_ordered"))
        if parked or "resume_gate_says" in scene:
            try:
                decisions = wanted_decisions(scene)
            except Exception as error:
                self.record.raised.append(Raised.of(error, "decision"))
                return
            await stage.run("resume", decisions=decisions, go_on=True, parked=True)
        if "then_user_text" in scene:
            await stage.run("next", prompt=scene["then_user_text"], go_on=True, parked=True)
        elif "then_new_process_user_text" in scene:
            self.run_in_new_process(scene["then_new_process_user_text"])
        elif "send_user_text" in scene:
            await stage.run("next", prompt=scene["send_user_text"], go_on=True, parked=True)
        elif self.saved is not None and not parked:
            await stage.run("first", prompt=scene.get("prompt"), go_on=True)

    async def put_stored_session(self) -> None:
        """A store that holds the saved messages, parked if there is a resume with decisions."""
        assert self.saved is not None
        donor = Record(session_id=None)
        parked = any(key in self.scene for key in ("resume_with", "resume_with_ordered"))
        calls = [block for block in conversation.blocks(self.saved[-1]) if block.get("type") == "tool_use"]
        turn = {"content": calls, "stop_reason": "tool_use"} if parked else DONE
        given = self.scene.get("options") or {}
        scene: dict[str, Any] = {"options": {key: given[key] for key in ("system_prompt", "thinking") if key in given}}
        if parked:
            scene["gates"] = {call["id"]: "defer" for call in calls}
        self.store = stored.SwappingStore(self.saved) if parked else InMemoryStore()
        stage = Stage(
            scene=scene,
            record=donor,
            side=ScriptedSide(record=donor, script=Script(turns=[turn])),
            store=self.store,
            work=self.root,
            tools=self.tools,
        )
        await stage.run("donor", prompt=DEFAULT_PROMPT)
        assert not donor.raised, f"the session to be saved could not be made: {donor.raised}"
        assert donor.session_id is not None
        if not parked:
            self.store = await stored.store_with(self.saved, self.store, donor.session_id)
        self.record.session_id = donor.session_id
        self.stage = self.stage_on(self.store)

    async def run_with_client(self) -> None:
        """A run through `AgentClient`; while a tool runs, another task sends more text of the user."""
        started, sent = anyio.Event(), anyio.Event()

        async def wait_inside(ran: Ran) -> None:
            started.set()
            with anyio.move_on_after(WAIT_IN_TOOL_S):
                await sent.wait()

        self.stage.inside = wait_inside
        text = self.scene["while_tool_runs_send_user_text"]
        seen = self.stage.begin("first")
        try:
            async with AgentClient(self.stage.options(False, **self.stage.identity(False))) as client:
                async with anyio.create_task_group() as tasks:

                    async def send() -> None:
                        await started.wait()
                        await client.query(text)
                        sent.set()

                    tasks.start_soon(send)
                    await client.query(self.scene.get("prompt", DEFAULT_PROMPT))
                    async for message in client.receive_response():
                        self.stage.see(seen, message)
                if not any(text in json.dumps(body, ensure_ascii=False) for body in self.record.requests()):
                    async for message in client.receive_response():
                        self.stage.see(seen, message)
        except Exception as error:
            self.stage.note(seen, error, "run")
        seen.ended = True

    async def run_cancelled_in_tool(self) -> None:
        """A run whose task is cancelled while a tool runs."""
        started = anyio.Event()

        async def wait_inside(ran: Ran) -> None:
            started.set()
            await anyio.sleep(WAIT_IN_TOOL_S)

        self.stage.inside = wait_inside
        async with anyio.create_task_group() as tasks:

            async def cancel() -> None:
                await started.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(cancel)
            await self.stage.run("first", prompt=self.scene.get("prompt", DEFAULT_PROMPT))
            tasks.cancel_scope.cancel()
        self.stage.inside = None

    def run_in_new_process(self, prompt: str) -> None:
        """The session goes on in a fresh process, with a service of its own."""
        part = Part(
            scene=self.scene,
            backend=self.backend,
            session_id=self.record.session_id,
            database=self.database,
            work=self.root,
            tools=self.tools,
            script=self.side.script,
            over_http=True,
            default_callback=ALLOW_ALL,
            name="next",
            prompt=prompt,
            go_on=True,
            parked=True,
        )
        run_elsewhere(part, self.record)

    async def load_again(self) -> str:
        """Go on with the stored session once more: empty when it is complete and the service would take it."""
        record = Record(session_id=self.record.session_id)
        side = ScriptedSide(record=record, script=Script(turns=[]))
        stage = Stage(scene={}, record=record, side=side, store=self.store, work=self.root, tools=self.tools)
        await stage.run("load", prompt="Once more.", go_on=True)
        if record.raised:
            return record.raised[0].details
        messages = record.requests()[0]["messages"]
        faults = conversation.faults(messages)
        text = json.dumps(messages, ensure_ascii=False)
        lost = [call["id"] for call in conversation.calls(self.record.saved or ()) if call["id"] not in text]
        return "; ".join([*faults, *(f"the call {id_!r} is lost" for id_ in lost)])


def play_transcript(case: Case, record: Record, root: Path, backend: str) -> None:
    """Kind `transcript`."""
    with serving(record, transcript_script(case.scene)) as side:
        play = Play(case, record, root, backend, side)
        anyio.run(play.play, backend=backend)
