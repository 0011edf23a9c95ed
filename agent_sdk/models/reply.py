"""Raw stream events become one whole reply, kept value for value as the model said it.

Pure: no clock, no network. Whatever the events hold, the only error that comes out is StreamBroken.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn, cast

from agent_sdk.models.base import StreamBroken
from agent_sdk.values import OBJECT, Json, JsonObject

MAX_DEPTH = 200
"""How deeply the JSON of a reply may be nested."""

_PIECE = {
    "text_delta": "text",
    "input_json_delta": "partial_json",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "citations_delta": "citation",
}


@dataclass(slots=True, kw_only=True)  # not frozen, though never changed: freezing doubles what each reply costs
class Reply:
    """One whole reply of the model.

    `content` holds the raw blocks, keys in the order in which they came. `usage` is that of the whole reply, with the
    service's own keys; `stop_reason` says why it ended. `message_id` and `stop_sequence` are `None` when not told.
    """

    content: list[JsonObject]
    stop_reason: str
    usage: JsonObject
    model: str
    message_id: str | None = None
    stop_sequence: str | None = None


@dataclass(slots=True)
class _Block:
    """A block that is still coming: what came at its start, and the pieces of its fields since."""

    start: JsonObject
    pieces: dict[str, list[str]] = field(default_factory=dict)
    set_later: dict[str, Json] = field(default_factory=dict)
    input_pieces: list[str] | None = None
    whole: dict[str, Json] | None = None
    bad_input: str | None = None


class ReplyBuilder:
    """Puts the raw events of one stream together: `feed` each event in order, then `finish`.

    Not to be used again after `finish`, nor after an error.
    """

    def __init__(self) -> None:
        self._message: JsonObject | None = None
        self._blocks: dict[int, _Block] = {}
        self._usage: dict[str, Json] = {}
        self._stop_reason: str | None = None
        self._stop_sequence: str | None = None
        self._stopped = False

    def feed(self, event: JsonObject) -> None:
        """Take the next event. Unknown kinds of events, blocks and deltas are no error.

        Raises StreamBroken for an `error` event and for events that do not fit together.
        """
        if not isinstance(event, OBJECT):
            raise StreamBroken(f"the stream held {type(event).__name__} where an event belongs")
        match event.get("type"):
            case "content_block_delta":
                _add_delta(self._open_block(event), _object(event, "delta"))
            case "content_block_start":
                self._start(event)
            case "content_block_stop":
                _close(self._open_block(event))
            case "message_start":
                self._message_start(_object(event, "message"))
            case "message_delta":
                self._message_delta(event)
            case "message_stop":
                self._stopped = True
            case "error":
                raise_error_event(event)
            case _:
                pass

    def finish(self) -> Reply:
        """The whole reply.

        The input of a tool call is what its pieces say as JSON. Where that is no JSON object, a reply that ends for
        another reason than `tool_use` gets `{}` there, because that call never runs.

        Raises StreamBroken when the reply is not complete, or when a call of a `tool_use` reply has no readable input.
        """
        if self._message is None or not self._stopped:
            raise StreamBroken("the stream ended before the reply was complete")
        if self._stop_reason is None:
            raise StreamBroken("the reply ended without a stop reason")
        content: list[JsonObject] = []
        for index in sorted(self._blocks):
            block = self._blocks[index]
            if block.whole is None:
                raise StreamBroken(f"the reply ended inside of block {index}")
            if block.bad_input is not None and self._stop_reason == "tool_use":
                raise StreamBroken(f"the input of block {index} {block.bad_input}")
            content.append(block.whole)
        model, message_id = self._message.get("model"), self._message.get("id")
        return Reply(
            content=content,
            stop_reason=self._stop_reason,
            usage=self._usage,
            model=model if isinstance(model, str) else "",
            message_id=message_id if isinstance(message_id, str) else None,
            stop_sequence=self._stop_sequence,
        )

    def _message_start(self, message: JsonObject) -> None:
        if self._message is not None:
            raise StreamBroken("the stream began a second message")
        self._message = message
        self._merge_usage(message.get("usage"))

    def _message_delta(self, event: JsonObject) -> None:
        delta = _object(event, "delta")
        match delta.get("stop_reason"):
            case str(reason):
                self._stop_reason = reason
        match delta.get("stop_sequence"):
            case str(sequence):
                self._stop_sequence = sequence
        self._merge_usage(event.get("usage"))

    def _merge_usage(self, usage: Json) -> None:
        """The numbers of an event replace earlier ones: they count from the beginning of the message."""
        if isinstance(usage, OBJECT):
            self._usage.update(
                {key: value for key, value in usage.items() if value is not None or key not in self._usage}
            )

    def _start(self, event: JsonObject) -> None:
        index = _index(event)
        if self._message is None:
            raise StreamBroken("a block began before its message")
        if index in self._blocks:
            raise StreamBroken(f"block {index} began twice")
        self._blocks[index] = _Block(_object(event, "content_block"))

    def _open_block(self, event: JsonObject) -> _Block:
        index = _index(event)
        block = self._blocks.get(index)
        if block is None or block.whole is not None:
            raise StreamBroken(f"block {index} went on without being open")
        return block


def _add_delta(block: _Block, delta: JsonObject) -> None:
    kind = delta.get("type")
    name = _PIECE.get(kind) if isinstance(kind, str) else None
    if name is None:
        _unknown_delta(block, delta)
        return
    piece = delta.get(name)
    if name == "citation" and name in delta:
        _add_item(block, "citations", piece)
    elif not isinstance(piece, str):
        raise StreamBroken(f"a {kind} came without its value")
    elif name == "partial_json":
        if block.input_pieces is None:
            block.input_pieces = []
        block.input_pieces.append(piece)
    elif name == "signature":
        block.set_later[name] = piece
    else:
        block.pieces.setdefault(name, []).append(piece)


def raise_error_event(event: JsonObject) -> NoReturn:
    """Raise the StreamBroken that an `error` event stands for, with the service's error type as `kind`."""
    match event.get("error"):
        case {"type": str(kind), "message": str(message)}:
            raise StreamBroken(f"the service broke the reply off: {short(message)} ({short(kind)})", kind=kind)
        case {"type": str(kind)}:
            raise StreamBroken(f"the service broke the reply off ({short(kind)})", kind=kind)
        case _:
            raise StreamBroken("the service broke the reply off, without saying why")


def read_json(text: str) -> Json:
    """The value of a JSON text.

    Raises ValueError for anything else, for NaN and infinities, and for more than `MAX_DEPTH` levels: whoever walks
    through the value later must not run out of stack.
    """
    try:
        value = cast(Json, _DECODER.decode(text))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _deeper_than(value, MAX_DEPTH):
        raise ValueError("it is nested too deeply")
    return value


def _deeper_than(value: Json, depth: int) -> bool:
    level: list[Json] = [value]
    for _ in range(depth):
        inner: list[Json] = []
        for item in level:
            inner.extend(item.values() if isinstance(item, Mapping) else cast("list[Json]", item))
        level = [item for item in inner if isinstance(item, Mapping | list)]
        if not level:
            return False
    return True


def short(text: str, limit: int = 300) -> str:
    """A text from outside on one line, cut to `limit` characters, so that it fits into an error message."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _close(block: _Block) -> None:
    """Fill the collected pieces in where the block's start has their keys; new keys go to the end."""
    whole = dict(block.start)
    for key, pieces in block.pieces.items():
        begun = whole.get(key)
        whole[key] = _joined([begun, *pieces] if isinstance(begun, str) else pieces)
    whole.update(block.set_later)
    if block.input_pieces is not None:
        _close_input(block, whole)
    elif whole.get("type") == "tool_use" and not isinstance(whole.get("input"), OBJECT):
        block.bad_input, whole["input"] = "is missing", {}
    block.whole = whole


def _close_input(block: _Block, whole: dict[str, Json]) -> None:
    text = _joined(block.input_pieces or [])
    if not text:
        begun = whole.get("input")
        whole["input"] = begun if isinstance(begun, OBJECT) else {}
        return
    try:
        value = read_json(text)
    except ValueError as error:
        block.bad_input, whole["input"] = f"is not JSON: {short(str(error))}", {}
        return
    if isinstance(value, OBJECT):
        whole["input"] = value
    else:
        block.bad_input, whole["input"] = "is not a JSON object", {}


def _joined(pieces: list[str]) -> str:
    """The pieces as one string. Halves of a character that was split between two pieces become that character."""
    text = "".join(pieces)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


def _unknown_delta(block: _Block, delta: JsonObject) -> None:
    """Keep what a delta of a later kind brings: strings are joined, lists are extended, the rest replaces."""
    for key, value in delta.items():
        if key == "type":
            continue
        if isinstance(value, str):
            block.pieces.setdefault(key, []).append(value)
        elif isinstance(value, list):
            for item in value:
                _add_item(block, key, item)
        else:
            block.set_later[key] = value


def _add_item(block: _Block, key: str, item: Json) -> None:
    items = block.set_later.get(key)
    if not isinstance(items, list):
        begun = block.start.get(key)
        items = list(begun) if isinstance(begun, list) else []
        block.set_later[key] = items
    items.append(item)


def _object(event: JsonObject, key: str) -> JsonObject:
    value = event.get(key)
    if not isinstance(value, OBJECT):
        raise StreamBroken(f"an event came without its {key}")
    return value


def _index(event: JsonObject) -> int:
    index = event.get("index")
    if type(index) is not int:  # no bool
        raise StreamBroken("an event came without the index of its block")
    return index


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError("a number is too large")
    return value


_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
