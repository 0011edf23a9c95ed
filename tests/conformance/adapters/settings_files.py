"""Kind `settings`: what is remembered in a settings file, and what a settings file says.

An OptionsError is never noted: it says that the options of the check itself were refused, so nothing was checked.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

import anyio

from agent_sdk import AgentClient, InMemoryStore, OptionsError, PermissionPolicy
from tests.conformance.cases_file import Case
from tests.conformance.child import as_other_user, in_fresh_process, started
from tests.conformance.diagnostics import collected
from tests.conformance.people import Person
from tests.conformance.record import Raised, Record
from tests.conformance.script import DONE, Script, ScriptedSide, call_turn
from tests.conformance.settings_world import World
from tests.conformance.stage import Stage, home_directory

SOURCES: tuple[Literal["user", "project", "local"], ...] = ("user", "project", "local")
FIRST_CALL = {"tool": "Bash", "input": {"command": "true"}}
STEPS = {"session_loaded_before", "then_file_text", "then_file_edited_removing", "remember", "remember_twice"}
STEPS |= {"check", "then_check", "then_check_all"}


def play_settings(case: Case, record: Record, root: Path, backend: str) -> None:
    """Kind `settings`: build the folder, play, look at the file afterwards."""
    scene = case.scene
    world = World(root)
    world.build(scene)
    play: Callable[..., Record] = played_as_user if world.needs_other_user(scene) else played
    with _polled(world, record) if "reader_never_saw_invalid_json" in str(case.expect) else ExitStack():
        try:
            seen = play(scene, world, backend)
        finally:
            world.give_rights_back()
    record.absorb(seen)
    record.facts.update(world.facts(), before=seen.facts.get("before", world.last_put))
    if "loads_again" in str(case.expect) or scene.get("then_load_again"):
        if scene.get("then_load_again"):
            record.loads_again = in_fresh_process(fault_of_load, scene, world)
        else:
            record.loads_again = fault_of_load(scene, world)


def played_as_user(scene: Mapping[str, Any], world: World, backend: str) -> Record:
    """As `played`, by a user whom mode bits stop. A first session as root loads every module that one needs."""
    warm_up = World(world.root.parent / f"{world.root.name}-warm-up")
    warm_up.build({})
    played({"remember": FIRST_CALL}, warm_up, backend)
    seen: Record = as_other_user(played, scene, world, backend)
    return seen


def played(scene: Mapping[str, Any], world: World, backend: str) -> Record:
    """Everything that happens in the case."""
    record = Record()
    with collected(record), home_directory(world.home):
        if "remember_each" in scene:
            remember_each(scene, world, record, backend)
        if any(key in scene for key in STEPS):
            anyio.run(Session(scene, world, record).play, backend=backend)
        if any(key in scene for key in ("load", "load_then_check", "load_then_check_all")):
            load_and_check(scene, world, record)
    record.facts["before"] = world.last_put
    return record


def load(scene: Mapping[str, Any], world: World) -> PermissionPolicy:
    """A fresh policy on the files. Raises what `PermissionPolicy.load` raises."""
    words = {key: scene[key] for key in ("trust_project", "platform") if key in scene}
    return PermissionPolicy.load(
        cwd=world.project,
        setting_sources=SOURCES,
        home=str(world.home),
        auto_allow_reads=True,
        **(scene.get("rules") or {}),
        **words,
    )


def fault_of_load(scene: Mapping[str, Any], world: World) -> str:
    """Load the file once more: empty when it can be read, complete."""
    try:
        load(scene, world)
        data = world.file.read_bytes() if world.file.exists() else b""
        if data.strip():
            json.loads(data.decode("utf-8-sig"))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def load_and_check(scene: Mapping[str, Any], world: World, record: Record) -> None:
    """Load a fresh policy and ask it; nobody is there to ask."""
    try:
        policy = load(scene, world)
    except OptionsError:
        raise
    except Exception as error:
        record.raised.append(Raised.of(error, "load"))
        record.facts["no_verdict"] = f"{type(error).__name__}: {error}"
        return
    if one := scene.get("load_then_check"):
        record.verdicts.append(policy.evaluate(one["tool"], one["input"]).behavior)
    listed = scene.get("load_then_check_all") or ()
    record.facts["listed"] = [
        (each, each.get("behavior"), policy.evaluate(each["tool"], each["input"]).behavior) for each in listed
    ]


class Session:
    """The session of a case: one client, one call a prompt."""

    def __init__(self, scene: Mapping[str, Any], world: World, record: Record) -> None:
        self.scene = scene
        self.world = world
        self.record = record
        self.script = Script(turns=[])
        self.person = Person(written={}, record=record)
        self.calls = 0

    def stage(self) -> Stage:
        """Options and recorders for a new session."""
        tools = ["Bash", "Read", "Write", "Edit", *_tools_in(self.scene)]
        return Stage(
            scene=self.scene,
            record=self.record,
            side=ScriptedSide(record=self.record, script=self.script),
            store=InMemoryStore(),
            work=self.world.project,
            tools=list(dict.fromkeys(tools)),
            sources=SOURCES,
            can_use_tool=self.person,
        )

    async def play(self) -> None:
        """All steps, in one session; what comes after a reload in a second one."""
        scene = self.scene
        try:
            async with AgentClient(self.stage().options()) as client:
                await self.first_steps(client)
                if not self._reloads():
                    await self.check_again(client)
            if self._reloads():
                async with AgentClient(self.stage().options()) as client:
                    await self.check_again(client)
        except OptionsError:
            raise
        except Exception as error:
            self.record.raised.append(Raised.of(error, "load" if not self.calls else "run"))
            if "check" in scene and not self.record.verdicts:
                self.record.facts["no_verdict"] = f"{type(error).__name__}: {error}"

    def _reloads(self) -> bool:
        checked = self.scene.get("then_check")
        return bool(self.scene.get("reload") or (isinstance(checked, Mapping) and checked.get("reload")))

    async def first_steps(self, client: AgentClient) -> None:
        """What happens up to the call that is remembered or checked."""
        scene = self.scene
        if scene.get("session_loaded_before"):
            await self.call(client, FIRST_CALL)
        if "then_file_text" in scene:
            self.world.put(self.world.file, scene["then_file_text"].encode())
        if "then_file_edited_removing" in scene:
            self.world.remove_rule(scene["then_file_edited_removing"])
        for key in ("remember", "remember_twice"):
            if key in scene:
                await self.remember(client, scene[key], times=2 if key == "remember_twice" else 1)
        if "check" in scene:
            self.record.verdicts.append(await self.call(client, scene["check"]))

    async def remember(self, client: AgentClient, call: Mapping[str, Any], times: int) -> None:
        """Make the call, and let the person allow and remember it."""
        scope = call.get("scope", self.scene.get("scope", "local"))
        self.person.written = {"returns": {"behavior": "allow", "remember": scope}}
        for _ in range(times):
            ran = len(self.record.ran)
            await self.call(client, call)
            self.record.facts["remembered_ran"] = len(self.record.ran) > ran
        self.person.written = {}

    async def check_again(self, client: AgentClient) -> None:
        """The second calls of the case."""
        if one := self.scene.get("then_check"):
            self.record.facts["then"] = await self.call(client, one)
        for each in self.scene.get("then_check_all") or ():
            listed = self.record.facts.setdefault("listed", [])
            listed.append((each, each.get("behavior"), await self.call(client, each)))

    async def call(self, client: AgentClient, call: Mapping[str, Any]) -> str:
        """Let the model make this call: `ask` when the callback was asked, else `allow` when it ran, else `deny`."""
        self.calls += 1
        asked, ran = len(self.record.asked), len(self.record.ran)
        id_ = f"call-{self.calls}"
        self.script.turns += [call_turn([{"id": id_, "tool": call["tool"], "input": call["input"]}]), DONE]
        seen = Stage.begin(self.stage(), f"call {self.calls}")
        await client.query(f"Call {self.calls}.")
        async for message in client.receive_response():
            Stage.see(self.stage(), seen, message)
        seen.ended = True
        if len(self.record.asked) > asked:
            return "ask"
        return "allow" if len(self.record.ran) > ran else "deny"


def _tools_in(scene: Mapping[str, Any]) -> list[str]:
    """Every tool that a step of the case names."""
    steps = [scene.get(key) for key in ("remember", "remember_twice", "check", "then_check")]
    steps += scene.get("then_check_all") or ()
    return [step["tool"] for step in steps if isinstance(step, Mapping) and "tool" in step]


def remember_each(scene: Mapping[str, Any], world: World, record: Record, backend: str) -> None:
    """Several writers at once, each of which remembers so many commands of its own."""
    written = scene["remember_each"]
    count = written["n"] if isinstance(written, Mapping) else scene["n"] if written is True else written
    processes, tasks = scene.get("processes", 0), scene.get("tasks", 0)
    if processes:
        with ExitStack() as stack:
            running = [
                stack.enter_context(started(writer, scene, world, number, count, backend))
                for number in range(processes)
            ]
            for process in running:
                record.absorb(process.result())
        return

    async def all_writers() -> None:
        async with anyio.create_task_group() as group:
            for number in range(tasks or 1):
                group.start_soon(write, scene, world, record, number, count)

    anyio.run(all_writers, backend=backend)


def writer(scene: Mapping[str, Any], world: World, number: int, count: int, backend: str) -> Record:
    """One writer in a process of its own."""
    record = Record()
    with collected(record), home_directory(world.home):
        anyio.run(write, scene, world, record, number, count, backend=backend)
    return record


async def write(scene: Mapping[str, Any], world: World, record: Record, number: int, count: int) -> None:
    """One session with one turn of so many commands, each of them remembered."""
    session = Session(scene, world, record)
    scope = scene.get("scope", "local")
    session.person.written = {"returns": {"behavior": "allow", "remember": scope}}
    calls = [
        {"id": f"job-{number}-{i}", "tool": "Bash", "input": {"command": f"npx job-{number}-{i}"}} for i in range(count)
    ]
    session.script.turns.append(call_turn(calls))
    try:
        async with AgentClient(session.stage().options()) as client:
            await client.query("Begin.")
            async for _ in client.receive_response():
                pass
    except OptionsError:
        raise
    except Exception as error:
        record.raised.append(Raised.of(error, "run"))


@contextmanager
def _polled(world: World, record: Record) -> Iterator[None]:
    """A reader that looks at the file again and again; what is no JSON it notes."""
    over, invalid = threading.Event(), []

    def poll() -> None:
        while not over.wait(0.001):
            try:
                json.loads(world.file.read_bytes().decode("utf-8-sig"))
            except FileNotFoundError:
                continue
            except ValueError as error:
                invalid.append(str(error))

    reader = threading.Thread(target=poll, daemon=True)
    reader.start()
    try:
        yield
    finally:
        over.set()
        reader.join()
        record.facts["reader_saw"] = invalid
