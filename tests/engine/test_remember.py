"""Remembering in whole runs: what an answer saves counts at once, for siblings too, and never for the agent itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_sdk import (
    AgentClient,
    AgentOptions,
    Allow,
    CanUseToolShadowedWarning,
    Defer,
    Deny,
    HookMatcher,
    InMemoryStore,
    OptionsError,
    PermissionContext,
    PermissionRule,
    PermissionUpdate,
    ResultMessage,
    SettingsError,
)
from agent_sdk.testing import ScriptedModel
from tests.engine.dialogue import Held, Ran, hold, use

pytestmark = pytest.mark.anyio

PING = "mcp__srv__ping"
SCOPES = {"local": "settings.local.json", "project": "settings.json", "user": "settings.json"}
DESTINATIONS: dict[Any, Any] = {"localSettings": "local", "projectSettings": "project", "userSettings": "user"}


class Place:
    """A project and a home, both empty."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.cwd, self.home = root / "project", root / "home"
        self.cwd.mkdir()
        self.home.mkdir()
        patch.setenv("HOME", str(self.home))

    def file(self, scope: str) -> Path:
        return (self.home if scope == "user" else self.cwd) / ".claude" / SCOPES[scope]

    def put(self, scope: str, **permissions: Any) -> Path:
        file = self.file(scope)
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"permissions": permissions}))
        return file

    def permissions(self, scope: str) -> Any:
        file = self.file(scope)
        return json.loads(file.read_text())["permissions"] if file.exists() else None


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, monkeypatch)


class Person:
    """Answers in order, the last one for ever; keeps what they were asked."""

    def __init__(self, *answers: Allow | Deny) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, Any]] = []
        self.contexts: list[PermissionContext] = []

    async def __call__(self, name: str, given: dict[str, Any], context: PermissionContext) -> Allow | Deny:
        self.asked.append((name, given))
        self.contexts.append(context)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def bash(*commands: str) -> list[Any]:
    """One turn for each command, calls b0, b1, …"""
    return [[use("Bash", f"b{n}", command=command)] for n, command in enumerate(commands)]


async def play(place: Place, turns: Any, person: Any, *, ran: Ran | None = None, **options: Any) -> tuple[Held, Ran]:
    """A run in the project whose Bash and Write tools only keep what they are given."""
    ran = ran or Ran()
    tools = [ran.tool("Bash"), ran.tool("Write", writes="file_path"), ran.tool(PING)]
    held = await hold(turns, **{"can_use_tool": person, "cwd": place.cwd, "tools": tools, **options})
    return held, ran


async def receipts(held: Held, call: str) -> list[str]:
    """What the trace of a call says of remembering."""
    return [str(step["note"]) for step in await held.trace(call) if step["step"] == "remember"]


def add(*rules: str, behavior: Any = "allow", where: Any = "session") -> PermissionUpdate:
    made = [PermissionRule.from_text(rule) for rule in rules]
    return PermissionUpdate.add_rules(made, behavior=behavior, destination=where)


@pytest.mark.parametrize("scope", ["session", "local", "project", "user"])
async def test_each_scope(scope: Any, place: Place) -> None:
    """One yes is enough for this session; the next one asks again only when nothing counts from a file."""
    person = Person(Allow(remember=scope))
    held, ran = await play(place, bash("pytest -x", "pytest -x", "pytest -y"), person)
    assert [given["command"] for _, given in person.asked] == ["pytest -x", "pytest -y"]
    assert len(ran.calls) == 3
    [told] = await receipts(held, "b0")
    assert "allow: Bash(pytest -x)" in told
    assert await receipts(held, "b1") == []
    if scope != "session":
        assert place.permissions(scope)["allow"] == ["Bash(pytest -x)", "Bash(pytest -y)"]
    assert ("for this session only, unless trusted" in told) == (scope == "project")
    later = Person(Deny("no"))
    await play(place, bash("pytest -x"), later)
    assert len(later.asked) == (1 if scope in ("session", "project") else 0)


LS = PermissionRule("Bash", "ls")

BY_KIND: list[tuple[str, Any, dict[str, Any], dict[str, Any]]] = [
    ("addRules", lambda to: add("Bash(ls)", where=to), {}, {"allow": ["Bash(ls)"]}),
    (
        "replaceRules",
        lambda to: PermissionUpdate.replace_rules([LS], behavior="allow", destination=to),
        {"allow": ["Bash(pwd)"]},
        {"allow": ["Bash(ls)"]},
    ),
    (
        "removeRules",
        lambda to: PermissionUpdate.remove_rules([LS], behavior="allow", destination=to),
        {"allow": ["Bash(ls)", "Bash(pwd)"]},
        {"allow": ["Bash(pwd)"]},
    ),
    ("setMode", lambda to: PermissionUpdate.set_mode("plan", destination=to), {}, {"defaultMode": "plan"}),
    (
        "addDirectories",
        lambda to: PermissionUpdate.add_directories(["/srv"], destination=to),
        {},
        {"additionalDirectories": ["/srv"]},
    ),
    (
        "removeDirectories",
        lambda to: PermissionUpdate.remove_directories(["/srv"], destination=to),
        {"additionalDirectories": ["/srv", "/opt"]},
        {"additionalDirectories": ["/opt"]},
    ),
]  # fmt: skip


@pytest.mark.parametrize("destination", ["session", *DESTINATIONS])
@pytest.mark.parametrize(("make", "before", "after"), [c[1:] for c in BY_KIND], ids=[c[0] for c in BY_KIND])
async def test_every_update_everywhere(
    make: Any, before: dict[str, Any], after: dict[str, Any], destination: Any, place: Place
) -> None:
    """Each kind changes exactly its destination, and the receipt is in the trace."""
    scope = DESTINATIONS.get(destination)
    for other in SCOPES:
        place.put(other, **before)
    person = Person(Allow(updated_permissions=[make(destination)]))
    held, ran = await play(place, bash("make"), person)
    assert ran.names == ["Bash"]
    for other in SCOPES:
        assert place.permissions(other) == (after if other == scope else before)
    [told] = await receipts(held, "b0")
    assert told.startswith(f"remembered in {place.file(scope) if scope else 'this session'}: ")


MAKES_A_DIFFERENCE: list[tuple[str, PermissionUpdate, Any, bool]] = [
    ("a rule", add("Bash(ls)"), use("Bash", "c", command="ls"), True),
    ("the whole tool", add("Bash"), use("Bash", "c", command="ls"), True),
    ("a deny rule", add("Bash(ls)", behavior="deny"), use("Bash", "c", command="ls"), True),
    ("a mode", PermissionUpdate.set_mode("acceptEdits"), use("Write", "c", file_path="a", content="x"), True),
    ("a directory", PermissionUpdate.add_directories(["/srv"]), use("Bash", "c", command="ls"), False),
]


@pytest.mark.parametrize(
    ("update", "call", "settled"), [c[1:] for c in MAKES_A_DIFFERENCE], ids=[c[0] for c in MAKES_A_DIFFERENCE]
)
async def test_an_update_counts_for_the_next_call(
    update: PermissionUpdate, call: Any, settled: bool, place: Place
) -> None:
    """What an answer changes for the session decides about the next call, without another question."""
    person = Person(Allow(updated_permissions=[update]), Deny("asked"))
    held, _ = await play(place, [[use("Bash", "b", command="make")], [call]], person)
    assert len(person.asked) == (1 if settled else 2)
    if update.behavior == "deny":
        assert held.words["c"] == "Denied by a permission rule."


async def test_both_together(place: Place) -> None:
    """`remember` and `updated_permissions` of one answer are both carried out."""
    person = Person(Allow(remember="local", updated_permissions=[add("Bash(ls)", where="userSettings")]))
    held, _ = await play(place, bash("pytest -x", "ls", "pytest -x"), person)
    assert len(person.asked) == 1
    assert place.permissions("user") == {"allow": ["Bash(ls)"]}
    assert place.permissions("local") == {"allow": ["Bash(pytest -x)"]}
    assert len(await receipts(held, "b0")) == 2


async def test_nothing_to_suggest(place: Place) -> None:
    """The call runs, nothing is saved, and the receipt says so."""
    person = Person(Allow(remember="local"))
    held, ran = await play(place, bash("for f in a b; do make $f; done"), person)
    assert len(ran.calls) == 1
    assert await receipts(held, "b0") == ["not remembered: no rule can be suggested for this call"]
    assert place.permissions("local") is None


@pytest.mark.parametrize("prompts", [1, None], ids=["one prompt at a time", "all prompts at once"])
async def test_twenty_calls_and_one_rule(prompts: int | None, place: Place) -> None:
    """Twenty calls of one message that one rule covers need one answer; the trace of the others names the rule."""
    asked, cancelled = 0, 0

    async def person(name: str, given: Any, context: PermissionContext) -> Allow:
        nonlocal asked, cancelled
        asked += 1
        if context.tool_use_id != "c0":
            try:
                await anyio.sleep_forever()
            except BaseException:
                cancelled += 1
                raise
        await anyio.sleep(0.05)
        return Allow(remember="session")

    calls = [use(PING, f"c{n}", n=n) for n in range(20)]
    held, ran = await play(place, [calls], person, max_parallel_prompts=prompts)
    assert len(ran.calls) == 20
    assert (asked, cancelled) == ((1, 0) if prompts == 1 else (20, 19))
    for n in range(1, 20):
        [step] = [step for step in await held.trace(f"c{n}") if step["step"] == "allow_rules"]
        assert (step["said"], step["by"], step["where"]) == ("allow", PING, "session allow[0]")
    assert len(await receipts(held, "c0")) == 1


async def test_a_late_answer_of_a_released_call_is_ignored(place: Place) -> None:
    """A callback that keeps its cancellation to itself and answers all the same changes nothing any more."""

    async def person(name: str, given: Any, context: PermissionContext) -> Allow | Deny:
        if context.tool_use_id == "c0":
            await anyio.sleep(0.05)
            return Allow(remember="session")
        try:
            await anyio.sleep_forever()
        except BaseException:
            pass
        return Deny("late", interrupt=True)

    held, ran = await play(place, [[use(PING, f"c{n}") for n in range(3)]], person, max_parallel_prompts=None)
    assert len(ran.calls) == 3
    assert held.result.subtype == "success"


async def test_an_open_prompt_that_no_new_rule_covers_goes_on(place: Place) -> None:
    """Rules that one answer adds leave other open prompts alone: their answers count, with all that they ask for."""

    async def person(name: str, given: Any, context: PermissionContext) -> Allow | Deny:
        if context.tool_use_id == "c0":
            return Allow(remember="session")
        await anyio.sleep(0.05)
        return Allow(remember="local") if context.tool_use_id == "c1" else Deny("Not that.")

    calls = [use("Bash", f"c{n}", command=command) for n, command in enumerate(["make", "pwd", "ls"])]
    held, ran = await play(place, [calls], person, max_parallel_prompts=None)
    assert [given["command"] for _, given in ran.calls] == ["make", "pwd"]
    assert held.words["c2"] == "Not that."
    assert place.permissions("local") == {"allow": ["Bash(pwd)"]}


async def test_a_sibling_that_an_ask_rule_holds_is_still_asked(place: Place) -> None:
    """A remembered rule releases only what no ask rule holds."""
    person = Person(Allow(updated_permissions=[add("Bash")]))
    calls = [use("Bash", f"c{n}", command=command) for n, command in enumerate(["make", "git push", "ls"])]
    _, ran = await play(place, [calls], person, ask=["Bash(git push:*)"])
    assert [given["command"] for _, given in person.asked] == ["make", "git push"]
    assert len(ran.calls) == 3


async def test_a_sibling_that_a_new_deny_rule_covers_is_denied(place: Place) -> None:
    """An answer may also forbid what still waits."""
    person = Person(Allow(updated_permissions=[add("Bash(ls)", behavior="deny")]))
    calls = [use("Bash", f"c{n}", command=command) for n, command in enumerate(["make", "ls"])]
    held, ran = await play(place, [calls], person)
    assert len(person.asked) == len(ran.calls) == 1
    assert held.words["c1"] == "Denied by a permission rule."


async def test_recheck(place: Place) -> None:
    """A waiting callback can ask whether its answer is still needed."""
    seen: list[str] = []

    async def person(name: str, given: Any, context: PermissionContext) -> Allow:
        seen.append(context.recheck().behavior)
        place.put("local", allow=["Bash(make)"])
        await anyio.sleep(0.06)
        return Allow()

    await play(place, bash("make", "make"), person)
    assert seen == ["ask"]  # the second call is not asked: the file that a person wrote meanwhile counts


async def test_a_rule_removed_by_hand_is_gone_for_the_next_call(place: Place) -> None:
    """The files are read again when they change."""
    place.put("local", allow=["Bash(make)"], additionalDirectories=[])

    class Editor(Person):
        async def __call__(self, name: str, given: Any, context: PermissionContext) -> Allow | Deny:
            place.put("local", allow=[])
            return await super().__call__(name, given, context)

    person = Editor(Allow())
    await play(place, bash("make", "ls", "make"), person)
    assert [given["command"] for _, given in person.asked] == ["ls", "make"]


async def test_an_agent_that_writes_its_own_rule_earns_nothing(place: Place) -> None:
    """A rule that appears while a tool runs stays out of force until a person remembers it."""
    ran = Ran()

    async def cheat(given: Any, context: Any) -> str:
        if given["command"] == "cheat":
            place.put("local", allow=["Bash(pytest -x)"])
        return "done"

    tools = [ran.tool("Bash", cheat)]
    person = Person(Allow(), Allow(), Allow(remember="local"))
    turns = bash("cheat", "pytest -x", "pytest -x", "pytest -x")
    await play(place, turns, person, ran=ran, tools=tools)
    assert [given["command"] for _, given in person.asked] == ["cheat", "pytest -x", "pytest -x"]
    assert len(ran.calls) == 4


ANSWERS = [Allow(remember="local"), Allow(updated_permissions=[add("Bash(make)", where="localSettings")])]


@pytest.mark.parametrize("answer", ANSWERS, ids=["rung", "own"])
async def test_what_cannot_be_saved_does_not_stop_the_call(answer: Allow, place: Place) -> None:
    """A broken file stays as it is; the call runs; the receipt says why, and the next call is asked again."""
    file = place.put("local")

    class Breaker(Person):
        async def __call__(self, name: str, given: Any, context: PermissionContext) -> Allow | Deny:
            file.write_text("{broken")
            return await super().__call__(name, given, context)

    person = Breaker(answer)
    held, ran = await play(place, bash("make", "make"), person)
    assert len(ran.calls) == len(person.asked) == 2
    [told] = await receipts(held, "b0")
    assert told.startswith(f"not remembered in {file}: ")
    assert "not valid JSON" in told
    assert file.read_text() == "{broken"
    assert [path.name for path in file.parent.iterdir() if not path.name.endswith(".lock")] == [file.name]


async def test_a_mode_that_a_file_forbids(place: Place) -> None:
    """`disableBypassPermissionsMode` refuses the mode when the session starts and when it changes."""
    place.put("project", disableBypassPermissionsMode="disable")
    with pytest.raises(SettingsError, match="disableBypassPermissionsMode"):
        await hold(["x"], cwd=place.cwd, permission_mode="bypassPermissions")


async def test_bypass_is_not_for_sessions_that_began_otherwise(place: Place) -> None:
    """An answer cannot put it in force, and no file ever holds it."""
    wishes = [PermissionUpdate.set_mode("bypassPermissions", destination=to) for to in ("session", "localSettings")]  # type: ignore[arg-type]
    person = Person(*(Allow(updated_permissions=[wish]) for wish in wishes))
    held, _ = await play(place, bash("make", "make", "ls"), person)
    assert len(person.asked) == 3
    for call in ("b0", "b1"):
        [told] = await receipts(held, call)
        assert told.startswith("not remembered")
    assert place.permissions("local") is None


async def test_bypass_that_a_file_forbids_meanwhile(place: Place) -> None:
    """A file that appears during the session takes the mode away, and it cannot be put back."""
    ran = Ran()

    async def forbid(given: Any, context: Any) -> str:
        place.put("user", disableBypassPermissionsMode="disable")
        return "done"

    person = Person(Allow())
    with pytest.warns(CanUseToolShadowedWarning):
        options = AgentOptions(
            model=ScriptedModel(bash("first", "second")),
            tools=[ran.tool("Bash", forbid)],
            cwd=place.cwd,
            can_use_tool=person,
            permission_mode="bypassPermissions",
        )
    async with AgentClient(options) as client:
        await client.query("go")
        last = [message async for message in client.receive_response()][-1]
        assert isinstance(last, ResultMessage)
        assert [given["command"] for _, given in person.asked] == ["second"]
        with pytest.raises(OptionsError, match="disabled by a settings file"):
            await client.set_permission_mode("bypassPermissions")


GATING = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh"}]}]}


@pytest.mark.parametrize("scope", ["user", "project"])
async def test_hooks_in_trusted_settings_refuse_to_start(scope: str, place: Place) -> None:
    """A gate that is not built yet is never passed over; one that a repository brings does not count anyway."""
    file = place.file(scope)
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"hooks": GATING}))
    with pytest.raises(SettingsError, match=r"\./check\.sh.*not run"):
        await hold(["x"], cwd=place.cwd, trust_project=True)
    if scope == "project":
        assert (await hold(["x"], cwd=place.cwd)).result.subtype == "success"


async def test_a_permission_request_hook_remembers(place: Place) -> None:
    """A hook in a person's place may hand back updates as well."""

    async def hook(input_data: Any, tool_use_id: str | None, context: Any) -> Any:
        updates = [add("Bash(make)", where="localSettings").to_dict()]
        decision = {"behavior": "allow", "updatedPermissions": updates}
        return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}

    held, ran = await play(place, bash("make"), None, hooks={"PermissionRequest": [HookMatcher(hooks=[hook])]})
    assert len(ran.calls) == 1
    assert place.permissions("local") == {"allow": ["Bash(make)"]}
    assert len(await receipts(held, "b0")) == 1


async def test_a_stored_answer_remembers(place: Place) -> None:
    """An answer that is handed in at a resume may be remembered too."""
    store = InMemoryStore()

    async def later(name: str, given: Any, context: PermissionContext) -> Defer:
        return Defer("later")

    held, _ = await play(place, bash("pytest -x"), later, store=store)
    decisions = {"b0": Allow(remember="local")}
    resumed: dict[str, Any] = {"prompt": None, "store": store, "resume": held.session_id, "decisions": decisions}
    again, ran = await play(place, bash("pytest -x"), None, **resumed)
    assert len(ran.calls) == 1
    assert place.permissions("local") == {"allow": ["Bash(pytest -x)"]}
    assert len(await receipts(again, "b0")) == 1


async def test_an_answer_removes_no_rule_of_another_scope(place: Place) -> None:
    """A deny rule given in code or in another file stays, whatever an answer takes out of the session."""
    place.put("user", deny=["Bash(rm:*)"])
    gone = [PermissionRule("Bash", "rm:*"), PermissionRule("Bash", "dd:*")]
    wish = PermissionUpdate.remove_rules(gone, behavior="deny", destination="session")
    person = Person(Allow(updated_permissions=[wish]))
    held, ran = await play(place, bash("make", "rm x", "dd x"), person, deny=["Bash(dd:*)"])
    assert len(ran.calls) == 1
    assert held.words["b1"] == held.words["b2"] == "Denied by a permission rule."
