"""A stored session becomes a conversation again, repaired where a run died in the middle of something."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_sdk.config import MODES
from agent_sdk.history import USABLE_ID, History, blocks_of, tool_use_ids
from agent_sdk.models.anthropic import AnthropicModel
from agent_sdk.options import AgentOptions
from agent_sdk.permissions import messages
from agent_sdk.session import Session, Settings
from agent_sdk.values import Json, JsonObject

log = logging.getLogger("agent_sdk.history")


@dataclass(slots=True)
class Loaded:
    """What the transcript says: the conversation, the last state, and the assistant message that is still open.

    `open_uuid` and `open_content` belong to the last assistant message when its calls have no answer in the transcript.
    `unanswered` is true when the conversation ends in a user message, so that the model has the next word.
    """

    history: History = field(default_factory=History)
    state: JsonObject = field(default_factory=dict)
    open_uuid: str | None = None
    open_content: list[JsonObject] = field(default_factory=list)
    unanswered: bool = False


def read_entries(entries: Sequence[JsonObject]) -> Loaded:
    """Read a transcript. A call without a result in the middle gets an error result, a result without its call is left
    out: both only in what is sent; the calls of the last message are left open for the caller to close."""
    loaded = Loaded()
    for stored in entries:
        match stored.get("type"):
            case "state":
                loaded.state = stored
            case "user" | "assistant" if not stored.get("refused"):
                message = stored.get("message")
                if isinstance(message, dict):
                    _add(loaded, stored, str(stored.get("type")), blocks_of(message.get("content")))
    return loaded


def _usable(content: list[JsonObject], known: set[str]) -> list[JsonObject]:
    """The blocks without calls whose id the service would refuse for ever: empty, ill-formed, or used before."""
    kept: list[JsonObject] = []
    seen = set(known)
    for block in content:
        if block.get("type") == "tool_use":
            call_id = block.get("id")
            if not isinstance(call_id, str) or not USABLE_ID.fullmatch(call_id) or call_id in seen:
                log.warning("a stored call with the unusable id %r is not sent", call_id)
                continue
            seen.add(call_id)
        kept.append(block)
    return kept


def _add(loaded: Loaded, stored: JsonObject, role: str, content: list[JsonObject]) -> None:
    if role == "assistant":
        _close_open(loaded)
        content = _usable(content, loaded.history.tool_use_ids)
        loaded.history.add_assistant(content)
        loaded.unanswered = False
        if tool_use_ids(content):
            loaded.open_uuid, loaded.open_content = str(stored.get("uuid", "")), content
        return
    expected = tool_use_ids(loaded.open_content)
    results = {str(b.get("tool_use_id")): b for b in content if b.get("type") == "tool_result"}
    others = [block for block in content if block.get("type") != "tool_result"]
    if orphans := results.keys() - set(expected):
        log.warning("results without their call are left out: %s", ", ".join(sorted(orphans)))
    if expected and not results.keys() & set(expected):
        _close_open(loaded)
        expected = []
    answers = [results.get(call_id) or _lost(call_id) for call_id in expected]
    loaded.open_uuid, loaded.open_content = None, []
    loaded.history.add_user([*answers, *others], results=bool(answers))
    loaded.unanswered = bool(answers or others) or loaded.unanswered


def _close_open(loaded: Loaded) -> None:
    """The calls of a message that nobody answered and that was not the last one."""
    if loaded.open_uuid is not None:
        answers = [_lost(call_id) for call_id in tool_use_ids(loaded.open_content)]
        loaded.history.add_user(answers, results=True)
        loaded.open_uuid, loaded.open_content = None, []


def _lost(call_id: str) -> JsonObject:
    log.warning("the call %s has no result in the transcript; it is told as unknown", call_id)
    return {"type": "tool_result", "tool_use_id": call_id, "content": messages.UNKNOWN_OUTCOME, "is_error": True}


def restore(session: Session, loaded: Loaded) -> None:
    """Put what was loaded into the session: conversation, mode, working directory and, inside a turn, the settings."""
    session.history = loaded.history
    state, options = loaded.state, session.options
    session.stored_state = {key: value for key, value in state.items() if key not in ("type", "uuid", "timestamp")}
    given = options.model_fields_set
    mode = state.get("mode")
    if not session.mode_given and mode != "bypassPermissions":
        for known in MODES:
            if known == mode:
                session.policy.set_mode(known)
    cwd = state.get("cwd")
    if "cwd" not in given and isinstance(cwd, str):
        session.move(cwd)
    if loaded.open_uuid is not None or loaded.unanswered:
        _keep_settings(session, options, state)
    if session.history.has_tool_blocks and not session.settings.tools:
        session.settings.tools = _objects(state.get("tools"))


def _keep_settings(session: Session, options: AgentOptions, state: JsonObject) -> None:
    """Model, system prompt and thinking belong to the open tool loop: signatures are bound to them."""
    if not state:
        return
    own = session.settings
    model = own.model
    if isinstance(name := state.get("model"), str) and name != own.model.name and isinstance(options.model, str):
        model = AnthropicModel(name, options.anthropic)
    system, thinking = state.get("system"), state.get("thinking")
    kept = Settings(
        model,
        system if isinstance(system, str) else None,
        thinking if isinstance(thinking, dict) else None,
        own.tools,
    )
    if (kept.model.name, kept.system, kept.thinking) != (own.model.name, own.system, own.thinking):
        if names := [name for name, differs in _given(options, kept, own) if differs]:
            session.warn(
                f"until the open turn has ended, what was stored counts, not what is given: {', '.join(names)}"
            )
        session.settings, session.settings_after = kept, own


def _given(options: AgentOptions, kept: Settings, own: Settings) -> list[tuple[str, bool]]:
    """Which of these settings were given and differ from what is kept. A default that differs is no news."""
    given = options.model_fields_set
    return [
        ("model", "model" in given and kept.model.name != own.model.name),
        ("system_prompt", "system_prompt" in given and kept.system != own.system),
        ("thinking", "thinking" in given and kept.thinking != own.thinking),
    ]


def settle_settings(session: Session) -> None:
    """The open turn has ended: the options given now count."""
    if session.settings_after is not None:
        session.settings, session.settings_after = session.settings_after, None


def _objects(value: Json) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
