"""A local Messages API over real HTTP: it plays scripts, faults too, and refuses what the real service refuses.

    with MessagesServer([[{"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}], "done"]) as server:
        client = AsyncAnthropic(base_url=server.base_url, api_key="none")

It runs in threads of its own, so that tests on any event loop can use it. The check of conversations shares no code
with the package.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from agent_sdk.models.script import Fault, Script, TurnScript, events_before, events_of

Block = Mapping[str, Any]


class MessagesServer:
    """The service, on a free port of this machine, for as long as the `with` block lasts.

    `requests` holds the body of every POST in the order of arrival, repeated and refused ones too; `illegal` says why
    requests were refused; `connections` counts the connections made. `check=False` lets any conversation pass. With
    `raw`, every reply that would begin well has these bytes as its body.
    """

    def __init__(
        self, script: Sequence[TurnScript] | Mapping[str, Any], *, check: bool = True, raw: bytes | None = None
    ) -> None:
        self.script = Script(script)
        self.check = check
        self.raw = raw
        self.connections = 0
        self.requests: list[dict[str, Any]] = []
        self.illegal: list[str] = []
        self.stopping = threading.Event()
        self._server = _Server(self)

    @property
    def base_url(self) -> str:
        """The address for `AsyncAnthropic(base_url=…)`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> MessagesServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._server.hang_up()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, service: MessagesServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.service = service
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        self.service.connections += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Tests do not want a log."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", "0")))
        service = self.server.service
        if self.path.partition("?")[0] != "/v1/messages":
            return self._refuse(404, "not_found_error", "there is only POST /v1/messages")
        try:
            body = json.loads(raw)
        except ValueError:
            return self._refuse(400, "invalid_request_error", "the body is not JSON")
        service.requests.append(body)
        reason = check_conversation(body) if service.check else None
        if reason is None and body.get("stream") is not True:
            reason = "stream: this service only streams"
        if reason is not None:
            service.illegal.append(reason)
            return self._refuse(400, "invalid_request_error", reason)
        index = sum(message["role"] == "assistant" for message in body["messages"])
        fault = service.script.next_fault(index)
        if service.raw is not None:
            self._send_whole(service.raw)
        elif fault is None:
            self._send_whole(_wire(events_of(service.script.turn(index), index, model=body["model"])))
        elif fault.kind == "drop":
            self._hang_up()
        elif fault.kind == "http":
            self._refuse(fault.status, fault.error, fault.message, retry_after=fault.retry_after)
        else:
            self._break_off(events_before(fault, service.script.turn(index), index, model=body["model"]), fault)

    def _refuse(self, status: int, kind: str, message: str, *, retry_after: float | None = None) -> None:
        body = json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if retry_after is not None:
            self.send_header("retry-after", f"{retry_after:g}")
        self.end_headers()
        self.wfile.write(body)

    def _begin(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("cache-control", "no-cache")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _send_whole(self, body: bytes) -> None:
        self._begin()
        self.wfile.write((_chunk(body) if body else b"") + b"0\r\n\r\n")

    def _break_off(self, events: Sequence[Block], fault: Fault) -> None:
        self._begin()
        sent = _wire(events)
        if fault.kind == "error_event":
            sent += _wire([{"type": "error", "error": {"type": fault.error, "message": fault.message}}])
        if sent:
            self.wfile.write(_chunk(sent))
        if fault.kind == "stall":
            self._wait_for_client(fault.seconds)
        self._hang_up()

    def _wait_for_client(self, seconds: float) -> None:
        """Until the client hangs up, the server stops, or the time is over."""
        self.connection.settimeout(0.02)
        for _ in range(int(seconds / 0.02) + 1):
            if self.server.service.stopping.is_set():
                return
            try:
                if not self.connection.recv(1024):
                    return
            except TimeoutError:
                continue
            except OSError:
                return

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _wire(events: Iterable[Block]) -> bytes:
    """Events as the service sends them, with a ping after the first."""
    lines: list[str] = []
    for event in events:
        lines.append(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n")
        if event["type"] == "message_start":
            lines.append('event: ping\ndata: {"type": "ping"}\n\n')
    return "".join(lines).encode()


ID = re.compile(r"[A-Za-z0-9_-]+\Z")
NAME = re.compile(r"[A-Za-z0-9_-]{1,200}\Z")
THINKING = ("thinking", "redacted_thinking")
MAX_CACHE_POINTS = 4


def check_conversation(body: Any) -> str | None:
    """Why the real service would answer this body with 400, or `None` for a body that it takes."""
    if not isinstance(body, dict):
        return "body: not an object"
    return next(_objections(body), None)


def _objections(body: Mapping[str, Any]) -> Iterator[str]:
    messages = body.get("messages")
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model: Field required"
    tokens = body.get("max_tokens")
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 1:
        yield "max_tokens: a whole number above 0 is required"
    if not isinstance(messages, list) or not messages:
        yield "messages: at least one message is required"
        return
    for place, message in enumerate(messages):
        yield from _message_objections(message, f"messages.{place}")
    if messages[0]["role"] != "user":
        yield "messages: the first message must use the user role"
    yield from _pairing_objections(messages)
    yield from _tools_objections(body, messages)
    yield from _system_objections(body.get("system"))
    yield from _thinking_objections(body, messages)
    if _cache_points(body) > MAX_CACHE_POINTS:
        yield f"a maximum of {MAX_CACHE_POINTS} blocks with cache_control may be provided"


def _message_objections(message: Any, where: str) -> Iterator[str]:
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
        yield f"{where}: role must be user or assistant"
        return
    content = message.get("content")
    if isinstance(content, str):
        if not content.strip():
            yield f"{where}: content must be non-empty"
        return
    if not isinstance(content, list) or not content:
        yield f"{where}: content must be non-empty"
        return
    for place, block in enumerate(content):
        inside = f"{where}.content.{place}"
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            yield f"{inside}: a block needs a type"
        elif message["role"] == "user":
            yield from _user_block_objections(block, inside)
        else:
            yield from _assistant_block_objections(block, inside)
    if message["role"] == "assistant" and isinstance(content[-1], dict) and content[-1].get("type") in THINKING:
        yield f"{where}: the final block in an assistant message cannot be `{content[-1]['type']}`"


def _user_block_objections(block: Block, where: str) -> Iterator[str]:
    match block["type"]:
        case "text":
            yield from _text_objections(block, where)
        case "tool_result":
            yield from _result_objections(block, where)
        case "tool_use" | "thinking" | "redacted_thinking" | "server_tool_use":
            yield f"{where}: `{block['type']}` blocks can only be in assistant messages"


def _assistant_block_objections(block: Block, where: str) -> Iterator[str]:
    match block["type"]:
        case "text":
            yield from _text_objections(block, where)
        case "tool_use" | "server_tool_use":
            if not isinstance(block.get("id"), str) or not ID.match(block["id"]):
                yield f"{where}.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
            if not isinstance(block.get("name"), str) or not NAME.match(block["name"]):
                yield f"{where}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,200}}$'"
            if not isinstance(block.get("input"), dict):
                yield f"{where}.input: Input should be a valid dictionary"
        case "thinking":
            if not isinstance(block.get("signature"), str) or not block["signature"]:
                yield f"{where}.thinking.signature: Field required"
            if not isinstance(block.get("thinking"), str):
                yield f"{where}.thinking.thinking: Field required"
        case "redacted_thinking":
            if not isinstance(block.get("data"), str) or not block["data"]:
                yield f"{where}.redacted_thinking.data: Field required"
        case "tool_result" | "image" | "document":
            yield f"{where}: `{block['type']}` blocks can only be in user messages"


def _text_objections(block: Block, where: str) -> Iterator[str]:
    text = block.get("text")
    if not isinstance(text, str):
        yield f"{where}.text: Field required"
    elif not text:
        yield f"{where}: text content blocks must be non-empty"
    elif not text.strip():
        yield f"{where}: text content blocks must contain non-whitespace text"


def _result_objections(block: Block, where: str) -> Iterator[str]:
    content, is_error = block.get("content"), block.get("is_error", False)
    if not isinstance(block.get("tool_use_id"), str) or not ID.match(block["tool_use_id"]):
        yield f"{where}.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'"
    if not isinstance(is_error, bool):
        yield f"{where}.is_error: Input should be a valid boolean"
    if content is not None and not isinstance(content, str | list):
        yield f"{where}.content: Input should be a string or a list of blocks"
        return
    if is_error and not content:
        yield f"{where}: content cannot be empty if `is_error` is true"
    if not isinstance(content, list):
        return
    for place, inner in enumerate(content):
        kind = inner.get("type") if isinstance(inner, dict) else None
        if kind == "text" and not (isinstance(inner.get("text"), str) and inner["text"]):
            yield f"{where}.content.{place}: text content blocks must be non-empty"
        elif is_error and kind != "text":
            yield f"{where}: all content must be type `text` if `is_error` is true"
        elif kind not in ("text", "image", "document", "search_result", "tool_reference"):
            yield f"{where}.content.{place}: a block of type {kind!r} is not allowed in a result"


def _pairing_objections(messages: Sequence[Block]) -> Iterator[str]:
    """Each call is answered once, at the head of the very next message; no answer is without its call."""
    seen: set[str] = set()
    asked: list[str] = []
    for place, message in enumerate(messages):
        where = f"messages.{place}"
        if message["role"] == "user":
            yield from _answer_objections(message, asked, where)
            asked = []
            continue
        if asked:
            yield f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after: {asked}"
        asked = [block["id"] for block in _blocks(message) if block["type"] == "tool_use"]
        for block in _blocks(message):
            if block["type"] in ("tool_use", "server_tool_use"):
                if block["id"] in seen:
                    yield f"{where}: `tool_use` ids must be unique, {block['id']!r} is used again"
                seen.add(block["id"])
    if asked:
        yield f"messages: `tool_use` ids were found without `tool_result` blocks immediately after: {asked}"


def _answer_objections(message: Block, asked: Sequence[str], where: str) -> Iterator[str]:
    blocks = _blocks(message)
    answered = [block.get("tool_use_id") for block in blocks if block["type"] == "tool_result"]
    if missing := [id_ for id_ in asked if id_ not in answered]:
        yield f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after: {missing}"
    if orphans := [id_ for id_ in answered if id_ not in asked]:
        yield f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {orphans}"
    if len(answered) != len(set(answered)):
        yield f"{where}: each tool_use must have a single result, found several"
    if any(block["type"] != "tool_result" for block in blocks[: len(answered)]):
        yield f"{where}: `tool_result` blocks must come before any other content"


def _tools_objections(body: Mapping[str, Any], messages: Sequence[Block]) -> Iterator[str]:
    tools = body.get("tools")
    used = any(block["type"] in ("tool_use", "tool_result") for message in messages for block in _blocks(message))
    if used and not tools:
        yield "tools: requests which include `tool_use` or `tool_result` blocks must define tools"
    if tools is None:
        return
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        yield "tools: Input should be a list of tools"
        return
    names = [tool.get("name") for tool in tools]
    for place, tool in enumerate(tools):
        if not isinstance(tool.get("name"), str) or not NAME.match(tool["name"]):
            yield f"tools.{place}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,200}}$'"
        schema = tool.get("input_schema")
        if tool.get("type", "custom") == "custom" and not (isinstance(schema, dict) and schema.get("type") == "object"):
            yield f"tools.{place}.input_schema: a schema of type object is required"
    if len(names) != len(set(map(str, names))):
        yield "tools: Tool names must be unique"


def _system_objections(system: Any) -> Iterator[str]:
    if system is None or isinstance(system, str):
        return
    if not isinstance(system, list):
        yield "system: Input should be a string or a list of blocks"
        return
    for place, block in enumerate(system):
        yield from _text_objections(block if isinstance(block, dict) else {}, f"system.{place}")


def _thinking_objections(body: Mapping[str, Any], messages: Sequence[Block]) -> Iterator[str]:
    """With thinking enabled, the call of an open tool loop begins with the thought behind it."""
    thinking = body.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return
    results_last = any(block["type"] == "tool_result" for block in _blocks(messages[-1]))
    assistants = [message for message in messages if message["role"] == "assistant"]
    if results_last and assistants and _blocks(assistants[-1])[0]["type"] not in THINKING:
        yield "messages: when `thinking` is enabled, a final `assistant` message must start with a thinking block"


def _cache_points(body: Mapping[str, Any]) -> int:
    system = body.get("system")
    blocks: list[Any] = [*(body.get("tools") or ()), *(system if isinstance(system, list) else ())]
    for message in body["messages"]:
        blocks += _blocks(message)
    return sum(1 for block in blocks if isinstance(block, dict) and block.get("cache_control"))


def _blocks(message: Block) -> list[Any]:
    content = message["content"]
    return content if isinstance(content, list) else []
