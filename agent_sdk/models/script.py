"""Scripts: what a scripted model says, turn by turn, with the faults on the way there, and the raw events of it.

Pure. The models in `scripted.py` play scripts in memory; a test server can play the same ones over HTTP.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias, cast, get_args

from agent_sdk.errors import OptionsError
from agent_sdk.values import Json, JsonObject, copied_object, to_text

FaultKind: TypeAlias = Literal["http", "cut", "error_event", "stall", "drop"]
TurnScript: TypeAlias = "str | Sequence[JsonObject] | JsonObject"
"""A turn as it is written: its text, its content blocks, or the whole object."""

TURN_KEYS = ("content", "stop_reason", "repeat", "usage", "faults")
NO_USAGE: JsonObject = {"input_tokens": 0, "output_tokens": 0}
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
ID_PREFIXES = {"tool_use": "toolu", "server_tool_use": "srvtoolu", "mcp_tool_use": "mcptoolu"}
PIECES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One attempt that goes wrong.

    `http`: the service answers with `status`, and `retry_after` (seconds) if given. `drop`: the connection closes
    before any answer. The others begin a reply and break it off: `cut` closes the connection, `error_event` sends an
    `error` event, `stall` sends nothing more for `seconds` and then closes. They break after `after` events, half-way
    through block `inside_block`, or else in the middle; what they begin is `content`, or else the reply of the turn.
    """

    kind: FaultKind
    status: int = 529
    error: str = "overloaded_error"
    message: str = "scripted fault"
    retry_after: float | None = None
    after: int | None = None
    inside_block: int | None = None
    seconds: float = 30.0
    content: tuple[JsonObject, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One reply: its content blocks as written, why it ends, what it is said to have used, and the faults before it.

    `inputs` are the inputs of its calls as text, `None` for a block that holds placeholders or is no call.
    """

    content: tuple[JsonObject, ...]
    stop_reason: str
    usage: JsonObject
    faults: tuple[Fault, ...] = ()
    inputs: tuple[str | None, ...] = ()


class Script:
    """A script that is being played: the turns, and the faults that have not happened yet.

    Turn k answers a request that holds k assistant messages; further requests are answered by `after`. Each fault
    happens once, in order, whichever session meets it first. It may be used from several threads.

    `source` is `{"turns": […], "after": …}` or the list of turns alone; other keys of the object are left to whoever
    shares the file. Raises OptionsError naming turn and block for a script that cannot be played.
    """

    def __init__(self, source: Sequence[TurnScript] | JsonObject) -> None:
        turns, after = _parts(source)
        self._turns: list[Turn] = []
        self._faults: dict[int, deque[Fault]] = {}
        for number, written in enumerate(turns):
            where = f"turn {number}"
            turn = read_turn(written, where)
            self._faults[len(self._turns)] = deque(turn.faults)
            self._turns.extend([turn] * _repeat(written, where))
        self._after = read_turn(after, "after")
        self._faults[len(self._turns)] = deque(self._after.faults)

    def turn(self, index: int) -> Turn:
        """The turn that answers a request with `index` assistant messages."""
        return self._turns[index] if index < len(self._turns) else self._after

    def next_fault(self, index: int) -> Fault | None:
        """The next fault before turn `index`, which is thereby used up; `None` when the turn may answer."""
        waiting = self._faults.get(min(index, len(self._turns)))
        try:
            return waiting.popleft() if waiting else None
        except IndexError:
            return None


def read_turn(written: TurnScript, where: str = "turn") -> Turn:
    """The turn behind its written form. Raises OptionsError, beginning with `where`, when it cannot be played."""
    if isinstance(written, str):
        written = {"content": [{"type": "text", "text": written}]}
    elif not isinstance(written, Mapping):
        written = {"content": written}
    unknown = [key for key in written if key not in TURN_KEYS]
    if unknown:
        raise OptionsError(f"{where}: unknown key {unknown[0]!r}; a turn has {', '.join(TURN_KEYS)}")
    content = _blocks(written.get("content"), where)
    default = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
    stop_reason = written.get("stop_reason", default)
    if not isinstance(stop_reason, str):
        raise OptionsError(f"{where}: stop_reason is a string, got {stop_reason!r}")
    usage = written.get("usage", NO_USAGE)
    if not isinstance(usage, Mapping):
        raise OptionsError(f"{where}: usage is an object, got {usage!r}")
    faults = written.get("faults", ())
    if not isinstance(faults, list | tuple):
        raise OptionsError(f"{where}: faults is a list, got {faults!r}")
    return Turn(
        content=content,
        stop_reason=stop_reason,
        usage=usage,
        faults=tuple(_fault(fault, f"{where}, fault {number}") for number, fault in enumerate(faults)),
        inputs=tuple(map(_fixed_input, content)),
    )


def events_of(turn: Turn | TurnScript, index: int, *, model: str = "scripted") -> Iterator[JsonObject]:
    """The raw stream events of a turn, played as turn number `index` of its session.

    `{{turn}}` and `{{block}}` in any string become the numbers of turn and block, counted from 0; a call without an id
    gets one that is unique within its session. Raises OptionsError for a turn that cannot be played.
    """
    read = turn if isinstance(turn, Turn) else read_turn(turn)
    yield {
        "type": "message_start",
        "message": {
            "id": f"msg_{index}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**read.usage, "output_tokens": 0},
        },
    }
    for number, written in enumerate(read.content):
        said = read.inputs[number] if read.inputs else None
        if said is None:
            yield from _block_events(said_block(written, index, number), number)
        else:
            start = {**_with_id(written, index, number), "input": {}}
            yield from _events_of_block(start, _input_deltas(said), number)
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": read.stop_reason, "stop_sequence": None},
        "usage": read.usage,
    }
    yield {"type": "message_stop"}


def events_before(fault: Fault, turn: Turn, index: int, *, model: str = "scripted") -> list[JsonObject]:
    """The events that a `cut`, `error_event` or `stall` lets through before it breaks the reply off."""
    if fault.content is not None:
        turn = Turn(content=fault.content, stop_reason=turn.stop_reason, usage=turn.usage)
    events = list(events_of(turn, index, model=model))
    if fault.after is not None:
        return events[: fault.after]
    if fault.inside_block is None:
        return events[: (len(events) + 1) // 2]
    inside = [place for place, event in enumerate(events) if event.get("index") == fault.inside_block]
    return list(islice(events, inside[0] + (len(inside) + 1) // 2)) if inside else events[:-1]


def said_block(written: JsonObject, turn: int, number: int) -> JsonObject:
    """A block as it is said in turn number `turn`: placeholders filled in, a missing id given."""
    block = cast(JsonObject, _filled(written, str(turn), str(number)))
    if not _is_call(block):
        return block
    call = dict(_with_id(block, turn, number))
    call.setdefault("input", {})
    return call


def _is_call(block: JsonObject) -> bool:
    return block["type"] in ID_PREFIXES


def _with_id(call: JsonObject, turn: int, number: int) -> JsonObject:
    """A call with its id, a fresh one where it has none."""
    if "id" in call:
        return call
    return {"type": call["type"], "id": f"{ID_PREFIXES[str(call['type'])]}_{turn}_{number}", **call}


def _fixed_input(written: JsonObject) -> str | None:
    """The input of a call as text, where every turn says the same, and nothing else in the block could be changed."""
    tool_input = written.get("input", {})
    others = (value for name, value in written.items() if name != "input")
    if not _is_call(written) or "{{" in to_text(written) or not all(isinstance(value, str) for value in others):
        return None
    return "" if tool_input == {} else to_text(tool_input)


def _filled(value: Json, turn: str, block: str) -> Json:
    if isinstance(value, str):
        return value.replace("{{turn}}", turn).replace("{{block}}", block) if "{{" in value else value
    if isinstance(value, dict):
        return {cast(str, _filled(key, turn, block)): _filled(item, turn, block) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, turn, block) for item in value]
    return value


def _block_events(block: JsonObject, number: int) -> Iterator[JsonObject]:
    return _events_of_block(*_taken_apart(block), number)


def _events_of_block(start: JsonObject, deltas: Sequence[JsonObject], number: int) -> Iterator[JsonObject]:
    yield {"type": "content_block_start", "index": number, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": number, "delta": delta}
    yield {"type": "content_block_stop", "index": number}


def _taken_apart(block: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """A block as the service sends it: what its start holds, and the deltas that bring the rest."""
    match block:
        case {"type": "text", "text": str(text)}:
            start: dict[str, Json] = {**block, "text": ""}
            deltas: list[JsonObject] = [{"type": "text_delta", "text": piece} for piece in _pieces(text)]
            citations = block.get("citations")
            if isinstance(citations, list) and citations:
                start["citations"] = []
                deltas += [{"type": "citations_delta", "citation": citation} for citation in citations]
            return start, deltas
        case {"type": "thinking", "thinking": str(thinking)}:
            start = {**block, "thinking": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(thinking)]
            if "signature" in block:
                start["signature"] = ""
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return start, deltas
        case {"type": "tool_use" | "server_tool_use" | "mcp_tool_use", "input": tool_input}:
            return {**block, "input": {}}, _input_deltas("" if tool_input == {} else to_text(tool_input))
        case _:
            return block, []


def _input_deltas(said: str) -> list[JsonObject]:
    return [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *_pieces(said))]


def _pieces(text: str) -> list[str]:
    size = max(1, -(-len(text) // PIECES))
    return [text[at : at + size] for at in range(0, len(text), size)]


def _parts(source: Sequence[TurnScript] | JsonObject) -> tuple[Sequence[TurnScript], TurnScript]:
    turns: Json | Sequence[TurnScript]
    turns, after = (source.get("turns"), source.get("after")) if isinstance(source, Mapping) else (source, None)
    if not isinstance(turns, list | tuple):
        raise OptionsError(f"a script is a list of turns, or an object with `turns`; got {type(turns).__name__}")
    return turns, "done" if after is None else cast(TurnScript, after)


def _repeat(written: TurnScript, where: str) -> int:
    repeat = written.get("repeat", 1) if isinstance(written, Mapping) else 1
    if not isinstance(repeat, int) or isinstance(repeat, bool) or repeat < 1:
        raise OptionsError(f"{where}: repeat is a whole number above 0, got {repeat!r}")
    return repeat


def _blocks(written: Json, where: str) -> tuple[JsonObject, ...]:
    if not isinstance(written, list | tuple):
        raise OptionsError(f"{where}: content is a list of blocks, got {type(written).__name__}")
    return tuple(_block(block, f"{where}, block {number}") for number, block in enumerate(written))


_MISSPELT = {kind.replace("_", ""): kind for kind in ("text", "tool_use", "thinking", "redacted_thinking")}
"""The types that a script mostly holds, by their letters. Any other type is played as it is."""


def _block(written: Json, where: str) -> JsonObject:
    try:
        block = copied_object(cast(JsonObject, written))
    except TypeError as error:
        raise OptionsError(f"{where}: {error}") from None
    match block:
        case {"type": "text"} if not isinstance(block.get("text"), str):
            raise OptionsError(f"{where}: a text block has a string `text`")
        case {"type": "tool_use"} if not isinstance(block.get("name"), str):
            raise OptionsError(f"{where}: a tool_use block has a string `name`")
        case {"type": "thinking"} if not isinstance(block.get("thinking"), str):
            raise OptionsError(f"{where}: a thinking block has a string `thinking`")
        case {"type": str(kind)}:
            if (meant := _MISSPELT.get(kind.replace("_", "").replace("-", "").lower(), kind)) != kind:
                raise OptionsError(f"{where}: there is no type {kind!r}; did you mean {meant!r}?")
            return block
        case _:
            raise OptionsError(f"{where}: a block has a string `type`")


def _fault(written: Json, where: str) -> Fault:
    if not isinstance(written, Mapping):
        raise OptionsError(f"{where}: a fault is an object, got {written!r}")
    kinds = get_args(FaultKind)
    kind = written.get("kind")
    if kind not in kinds:
        raise OptionsError(f"{where}: kind is one of {', '.join(kinds)}, got {kind!r}")
    status = _number(written, "status", where)
    content = written.get("content")
    after, inside = _number(written, "after", where), _number(written, "inside_block", where)
    seconds = _number(written, "seconds", where)
    code = 529 if status is None else int(status)
    default = ERROR_TYPES.get(code, "api_error") if kind == "http" else "overloaded_error"
    return Fault(
        kind=cast(FaultKind, kind),
        status=code,
        error=str(written.get("error", default)),
        message=str(written.get("message", "scripted fault")),
        retry_after=_number(written, "retry_after", where),
        after=None if after is None else int(after),
        inside_block=None if inside is None else int(inside),
        seconds=30.0 if seconds is None else seconds,
        content=None if content is None else _blocks(content, where),
    )


def _number(written: JsonObject, key: str, where: str) -> float | None:
    value = written.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise OptionsError(f"{where}: {key} is a number of at least 0, got {value!r}")
    return value
