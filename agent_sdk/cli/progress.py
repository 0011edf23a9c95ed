"""What a run is doing right now: streamed words, the running tools, tokens and cost so far. For a terminal."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from time import monotonic

from agent_sdk.cli.show import message_lines
from agent_sdk.messages import AssistantMessage, Message, StreamEvent, SystemMessage, TextBlock, UserMessage
from agent_sdk.models.prices import cost
from agent_sdk.render.cells import cut, drawable
from agent_sdk.render.text import visible
from agent_sdk.terminal import Console
from agent_sdk.values import Json, JsonObject

_MARK = "agent: "
_SHOWN_AFTER = 0.5


class Spending:
    """Tokens and dollars of all replies so far. `usd` is `None` as long as no price is known."""

    def __init__(self) -> None:
        self.tokens_in = 0
        self.tokens_out = 0
        self.usd: float | None = None

    def add(self, message: AssistantMessage) -> None:
        """Count a reply."""
        usage: JsonObject = message.usage or {}
        fields = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        self.tokens_in += sum(_count(usage.get(name)) for name in fields)
        self.tokens_out += _count(usage.get("output_tokens"))
        price = cost(message.model, usage)
        self.usd = self.usd if price is None else (self.usd or 0.0) + price

    def __str__(self) -> str:
        price = "" if self.usd is None else f" · ${self.usd:.4f}"
        return f"{self.tokens_in:,} tokens in, {self.tokens_out:,} out{price}"


class Progress:
    """Shows the messages of a run on a terminal, and below them one line that changes: it is taken away before
    anything else is written. `store` stands behind the commands that it shows; `clock` gives seconds.

    Words are written as they come; the whole message that follows them is not written again.
    """

    def __init__(
        self, console: Console, *, status: bool, store: str = "", clock: Callable[[], float] = monotonic
    ) -> None:
        self._console = console
        self._store = store
        self._status = status
        self._clock = clock
        self._spending = Spending()
        self._running: dict[str, tuple[str, float]] = {}
        self._since = clock()
        self._in_words = False
        self._wrote_words = False
        self._drawn = False
        console.before_writing = self._clear

    def show(self, message: Message) -> None:
        """Write what a person wants to see of a message."""
        match message:
            case StreamEvent(event=event):
                self._stream(event)
                return
            case SystemMessage(subtype="tool_started", data=data):
                self._running[str(data.get("tool_use_id"))] = (str(data.get("tool_name")), self._clock())
                return
            case SystemMessage(subtype="tool_finished", data=data):
                self._running.pop(str(data.get("tool_use_id")), None)
                return
            case AssistantMessage():
                self._spending.add(message)
            case UserMessage():
                self._running.clear()
        self._end_words()
        self._console.say(*message_lines(self._without_words(message), self._store))
        self._wrote_words = False
        self._since = self._clock()

    def tick(self) -> None:
        """Draw the line that changes, if nothing else is going on at the terminal."""
        if not self._status or self._in_words or self._console.busy:
            return
        text = self.line()
        if text:
            columns = shutil.get_terminal_size().columns
            self._clear()
            self._console.output.write(cut(drawable(visible(text, keep_newlines=False)), columns - 1))
            self._console.output.flush()
            self._drawn = True

    def line(self) -> str:
        """What is going on: the tools that run and for how long, or that the model is thinking; what it cost so far."""
        now = self._clock()
        if self._running:
            tools = ", ".join(f"{name} {now - started:.0f} s" for name, started in self._running.values())
            return f"… {tools} · {self._spending}"
        waited = now - self._since
        return "" if waited < _SHOWN_AFTER else f"… thinking {waited:.0f} s · {self._spending}"

    def close_line(self) -> None:
        """End what is being written, so that something else can be."""
        self._end_words()
        self._clear()

    def _stream(self, event: JsonObject) -> None:
        match event:
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}} if text:
                if not self._in_words:
                    self._console.say("")
                    self._console.stream(_MARK)
                    self._in_words = self._wrote_words = True
                self._console.stream(visible(text).replace("\n", "\n" + " " * len(_MARK)))
            case {"type": "content_block_stop" | "message_stop"}:
                self._end_words()

    def _end_words(self) -> None:
        if self._in_words:
            self._in_words = False
            self._console.stream("\n")
            self._since = self._clock()

    def _without_words(self, message: Message) -> Message:
        """The message without the words that were written as they came."""
        if not isinstance(message, AssistantMessage) or not self._wrote_words:
            return message
        rest = [block for block in message.content if not isinstance(block, TextBlock)]
        return AssistantMessage(content=rest, model=message.model)

    def _clear(self) -> None:
        if self._drawn:
            self._drawn = False
            self._console.output.write("\r\x1b[2K")
            self._console.output.flush()


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
