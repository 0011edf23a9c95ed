"""One session in the hands of a run: its conversation, its books, its gates, and what was used up so far."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic

import anyio

from agent_sdk.calls import ToolCall
from agent_sdk.config import PermissionMode
from agent_sdk.decisions import Trace, Verdict
from agent_sdk.errors import SettingsError
from agent_sdk.history import History
from agent_sdk.hooks.events import HOOK_EVENTS
from agent_sdk.hooks.hear import Scene
from agent_sdk.interrupt import Interrupt
from agent_sdk.ledger import Ledger, entry
from agent_sdk.messages import Message, SystemMessage
from agent_sdk.models.anthropic import AnthropicModel
from agent_sdk.models.base import Model
from agent_sdk.models.prices import cost
from agent_sdk.models.reply import Reply
from agent_sdk.options import AgentOptions
from agent_sdk.permissions.desk import Gates
from agent_sdk.permissions.in_force import CurrentPolicy
from agent_sdk.permissions.judge import Case, find
from agent_sdk.permissions.pipeline import Pipeline
from agent_sdk.permissions.snapshot import Snapshot
from agent_sdk.rules.files import FileView, Glance, OsFiles
from agent_sdk.rules.matching import Place, Rulebook
from agent_sdk.rules.spelling import absolute
from agent_sdk.sessions.codec import considered_to_json, trace_to_json
from agent_sdk.sessions.records import Entry
from agent_sdk.sessions.store import SessionStore
from agent_sdk.settings.content import absolute_folder
from agent_sdk.settings.files import SettingsPlaces, refuse_hooks, silent_hooks
from agent_sdk.settings.remember import Keeper
from agent_sdk.settings.watch import SettingsWatch
from agent_sdk.tools.base import Tool
from agent_sdk.tools.state import bound_state, place_in, respelled
from agent_sdk.values import Json, JsonObject


@dataclass(slots=True)
class Spent:
    """What one run used up. `waited` is the time that people took, in seconds: it does not count as the run's."""

    started: float = field(default_factory=monotonic)
    waited: float = 0.0
    api_seconds: float = 0.0
    turns: int = 0
    tool_calls: int = 0
    usage: dict[str, int] = field(default_factory=dict)
    usd: float | None = None

    @property
    def seconds(self) -> float:
        """How long the run has been at work itself."""
        return monotonic() - self.started - self.waited

    def add(self, model: str, reply: Reply) -> None:
        """Count a reply, at the price of the model that it names, or else of the one that was asked."""
        for name, value in reply.usage.items():
            if isinstance(value, int):
                self.usage[name] = self.usage.get(name, 0) + value
        price = cost(reply.model, reply.usage)
        price = cost(model, reply.usage) if price is None else price
        if price is not None:
            self.usd = (self.usd or 0.0) + price


class PeoplesTime:
    """Measures for how long somebody is waited for; several who are waited for at the same time count once."""

    def __init__(self, tell: Callable[[float], None]) -> None:
        self._tell = tell
        self._open = 0
        self._since = 0.0

    def __enter__(self) -> None:
        if self._open == 0:
            self._since = monotonic()
        self._open += 1

    def __exit__(self, *error: object) -> None:
        self._open -= 1
        if self._open == 0:
            self._tell(monotonic() - self._since)


@dataclass(slots=True)
class Settings:
    """What of the options belongs to the conversation: restored when a session is resumed in the middle of a turn."""

    model: Model
    system: str | None
    thinking: JsonObject | None
    tools: Sequence[JsonObject]

    def as_json(self, mode: PermissionMode, cwd: str, directory: str) -> dict[str, Json]:
        """The `state` entry's fields."""
        return {
            "model": self.model.name,
            "system": self.system,
            "thinking": self.thinking,
            "tools": list(self.tools),
            "mode": mode,
            "cwd": cwd,
            "directory": directory,
        }


@dataclass(frozen=True, slots=True)
class Arrival:
    """Words that came in while a turn was open: a hook's additional context, or a prompt of the person.

    `admitted` marks a prompt that the UserPromptSubmit hooks have heard.
    """

    content: Sequence[JsonObject]
    is_prompt: bool = False
    admitted: bool = False


# Steps of a trace that are hooks: as the order names them, and the events that are no permission.
HOOK_STEPS = frozenset({"hook", "permission_request", *HOOK_EVENTS})


class Session:
    """The state of one session while this process runs it. Built with `start`; used by loop, turn and resume."""

    def __init__(self, options: AgentOptions, store: SessionStore, session_id: str) -> None:
        self.options = options
        self.id = session_id
        self.directory = self.cwd = options.directory
        self.tools = options.registry
        self.hooks = options.matchers
        self.ledger = Ledger(store, session_id)
        self.history = History()
        self.settings = own_settings(options)
        self.settings_after: Settings | None = None
        self.policy = CurrentPolicy(_snapshot(options), _keeper(options))
        self.mode_given = "permission_mode" in options.model_fields_set
        self.interrupt = Interrupt(armed=False)
        self.spent = Spent()
        self.denials: list[JsonObject] = []
        self.warnings: list[str] = []
        self.arrivals: list[Arrival] = []
        self.stored_state: JsonObject = {}
        self._settings_read = False
        self.post: Callable[[Message], None] | None = None
        self._outbox: list[Message] = []
        self.pipeline = Pipeline(
            gates=_gates(options),
            policy=self.policy,
            scene=self.scene,
            target_state=self.target_state,
            state_for=self.state_for,
            people=PeoplesTime(self.waited),
        )

    @property
    def mode(self) -> PermissionMode:
        """The permission mode in force."""
        return self.policy.snapshot.mode

    async def start(self) -> None:
        """Read the settings files, before the first run. Raises SettingsError, and RuleError for their rules."""
        options = self.options
        if self._settings_read or not options.setting_sources:
            return
        watch = await anyio.to_thread.run_sync(_watch, options)
        refuse_hooks(watch.loaded.hooks)
        for warning in silent_hooks(watch.loaded):
            self.warn(warning)
        mode = options.mode
        if "permission_mode" not in options.model_fields_set:
            mode = watch.loaded.default_mode or mode
        if mode == "bypassPermissions" and watch.disable_bypass:
            raise SettingsError(
                "the mode bypassPermissions is disabled by disableBypassPermissionsMode in a settings file"
            )
        self.policy.use_settings(watch, mode)
        self._settings_read = True

    def become(self, session_id: str) -> None:
        """Be the session of this id. Only before the first run."""
        self.id = session_id
        self.ledger = Ledger(self.ledger.store, session_id)

    def scene(self) -> Scene:
        """What hooks are told of the surroundings."""
        return Scene(session_id=self.id, cwd=self.cwd, mode=self.mode)

    def waited(self, seconds: float) -> None:
        """A person took so long; it does not count as the run's own time."""
        self.spent.waited += seconds

    def new_run(self) -> None:
        """Forget what belongs to one run."""
        self.spent = Spent()
        self.denials = []
        self.warnings = []

    def arrive(self, *texts: str) -> None:
        """Context from hooks: it follows the results of the open turn, in order of arrival."""
        self.arrivals += [Arrival([{"type": "text", "text": text}]) for text in texts if text.strip()]

    def take_arrivals(self, *, prompts: bool) -> list[JsonObject]:
        """The blocks that came in meanwhile; `prompts=False` leaves the person's prompts for the next run."""
        taken = [arrival for arrival in self.arrivals if prompts or not arrival.is_prompt]
        self.arrivals = [arrival for arrival in self.arrivals if not prompts and arrival.is_prompt]
        return [block for arrival in taken for block in arrival.content]

    def take_prompts(self) -> list[JsonObject]:
        """The person's prompts alone, for a run of their own; what hooks said waits for the results of its turn."""
        taken = [arrival for arrival in self.arrivals if arrival.is_prompt]
        self.arrivals = [arrival for arrival in self.arrivals if not arrival.is_prompt]
        return [block for arrival in taken for block in arrival.content]

    def tell(self, subtype: str, **data: Json) -> None:
        """News for the application: yielded at the next opportunity, or at once where somebody listens live."""
        message = SystemMessage(subtype=subtype, data=data)
        if self.post is not None:
            self.post(message)
        else:
            self._outbox.append(message)

    def tell_tool(self, subtype: str, call: ToolCall) -> None:
        """For those who watch a run as it goes: they are the ones who asked for partial messages."""
        if self.options.include_partial_messages:
            self.tell(subtype, tool_use_id=call.id, tool_name=call.tool)

    def tell_hooks(self, trace: Trace, tool_use_id: str | None = None) -> None:
        """What each hook said, one message a hook, where the options ask for it."""
        for step in trace if self.options.include_hook_events else ():
            if step.step in HOOK_STEPS:
                data = considered_to_json(step)
                self.tell("hook_event", **data, tool_use_id=tool_use_id)

    def warn(self, text: str) -> None:
        """A warning for the application, once a run."""
        if text not in self.warnings:
            self.warnings.append(text)
            self.tell("warning", message=text)

    def news(self) -> list[Message]:
        """What was told since the last time."""
        news, self._outbox = self._outbox, []
        return news

    def move(self, cwd: str) -> None:
        """Later turns run in another working directory, if it really lies inside the session's."""
        real = os.path.realpath(cwd)
        if any(_is_inside(real, root) for _, root in self.policy.snapshot.place.fixed):
            self.cwd = real
            self.policy.move_to(real)

    async def target_state(self, tool: Tool, call: ToolCall) -> str | None:
        """What an approval of the call is bound to (`tools/state.py`); `None` for a call that names no file."""
        path = self.target_of(tool, call)
        if path is None:
            return None
        snapshot = self.policy.snapshot
        _, seen = find(Case(call=call, original=call.effective, facts=tool.facts(call.effective), snapshot=snapshot))
        target = opened_file(tool, call, snapshot.place.files, seen) or path
        look = partial(bound_state, path, target, writes=tool.writes is not None)
        return await anyio.to_thread.run_sync(look, abandon_on_cancel=True)

    async def state_for(self, tool: Tool, call: ToolCall, shown: ToolCall, state: str | None) -> str | None:
        """What a yes for `call` is bound to, when `shown` was shown, with this state of its file.

        However `call` spells the path: the same file stays bound as it was shown. Another one is taken as it is now.
        """
        path, other = self.target_of(tool, shown), self.target_of(tool, call)
        if path == other or path is None or other is None or state is None:
            return state if path == other else await self.target_state(tool, call)
        now = await self.target_state(tool, call)
        if now is not None and (_is_same_name(path, other) or place_in(now, other) == place_in(state, path)):
            return respelled(state, path, other)
        return now

    def target_of(self, tool: Tool, call: ToolCall) -> str | None:
        """The file that a call names to write or read it, as an absolute path; `None` when it names none."""
        name = tool.writes or tool.reads
        return None if name is None else _named_file(call, name, self.policy.snapshot.place.files)

    async def write(self, entries: Sequence[Entry], *, closes: str | None = None) -> None:
        """Store entries, and the state before them when it changed."""
        state = self.settings.as_json(self.mode, self.cwd, self.directory)
        if state != self.stored_state:
            entries = [entry("state", **state), *entries]
        await self.ledger.write(entries, closes=closes)
        self.stored_state = state


def permission_entry(verdict: Verdict) -> Entry:
    """The transcript's record of a decision: what was decided, by whom, and the whole trace."""
    return entry(
        "permission",
        tool_use_id=verdict.call.id,
        tool_name=verdict.call.tool,
        input=verdict.call.effective,
        behavior=verdict.behavior,
        by=verdict.by,
        reason=verdict.reason,
        rule=verdict.rule,
        trace=trace_to_json(verdict.trace),
    )


def _is_same_name(path: str, other: str) -> bool:
    return os.path.normpath(path) == os.path.normpath(other)


def opens_files(tool: Tool) -> bool:
    """Whether the tool's input names a file that it opens."""
    return tool.writes is not None or tool.reads is not None


def opened_file(tool: Tool, call: ToolCall, files: FileView, seen: Glance | None) -> str | None:
    """The file that a call would read or write, links followed as they were `seen` when it was judged.

    The name itself when the links led nowhere then; `None` when the call names no file. Never raises.
    """
    name = tool.writes or tool.reads
    path = None if name is None else _named_file(call, name, files)
    if path is None or seen is None:
        return path
    return seen.leads(path) or path.rstrip("/")


def _named_file(call: ToolCall, name: str, files: FileView) -> str | None:
    path = call.effective.get(name)
    if not isinstance(path, str) or not path or "\0" in path:
        return None
    return absolute(path, call.cwd, files)


def own_settings(options: AgentOptions) -> Settings:
    """The conversation settings that the options ask for."""
    model = options.model if isinstance(options.model, Model) else AnthropicModel(str(options.model), options.anthropic)
    return Settings(model, options.system_prompt, options.thinking, options.offered_tools())


def _snapshot(options: AgentOptions) -> Snapshot:
    home = os.path.expanduser("~")
    folders = [os.fspath(folder) for folder in options.additional_directories]
    additional = tuple(absolute_folder(folder, cwd=options.directory, home=home) for folder in folders)
    place = Place(
        cwd=options.directory,
        additional=additional,
        settings_dir=options.settings_dir,
        fixed=tuple((folder, os.path.realpath(folder)) for folder in (options.directory, *additional)),
        files=OsFiles(platform=options.platform),
    )
    return Snapshot(
        rules=Rulebook(options.rules),
        place=place,
        mode=options.mode,
        auto_allow_reads=options.auto_allow_reads,
        registry=frozenset(options.registry),
    )


def _places(options: AgentOptions) -> SettingsPlaces:
    return SettingsPlaces(cwd=options.directory, home=os.path.expanduser("~"), settings_dir=options.settings_dir)


def _keeper(options: AgentOptions) -> Keeper:
    return Keeper(
        places=_places(options),
        sources=tuple(options.setting_sources),
        trust_project=options.trust_project,
        may_bypass=options.mode == "bypassPermissions",
    )


def _watch(options: AgentOptions) -> SettingsWatch:
    return SettingsWatch(_places(options), tuple(options.setting_sources), trust_project=options.trust_project)


def _gates(options: AgentOptions) -> Gates:
    return Gates(
        hooks=options.matchers,
        can_use_tool=options.callback,
        approval_timeout=options.approval_timeout,
        on_timeout=options.on_timeout,
        questions=options.questions,
        max_parallel_prompts=options.max_parallel_prompts,
    )


def _is_inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
