"""A page on a real terminal. The only module that knows prompt_toolkit, whose event loop lives in a worker thread."""

from __future__ import annotations

import contextlib
import os
import select
import termios
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TextIO

import anyio
from anyio import to_thread
from anyio.lowlevel import checkpoint_if_cancelled
from prompt_toolkit.application import Application, create_app_session, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import fragment_list_to_text
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import BufferControl, ConditionalContainer, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.layout.processors import Processor, TabsProcessor, Transformation, TransformationInput
from prompt_toolkit.layout.utils import explode_text_fragments
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from agent_sdk.render.text import visible
from agent_sdk.terminal.asking import Decision, tried
from agent_sdk.terminal.console import Console
from agent_sdk.terminal.editor import Editor, EditorFailed
from agent_sdk.terminal.rich_page import Line, OpenEditor, Page, Try, View, field_rows, now_utc

GUARD = 0.3
"""Seconds after the first drawing in which keys do nothing: nobody has read the card by then."""

_REFRESH = 0.25
_STYLE = Style.from_dict(
    {
        "title": "bold",
        "dim": "ansibrightblack",
        "notice": "bold ansiyellow",
        "add": "ansigreen",
        "del": "ansired",
        "hunk": "ansicyan",
        "cursor": "bold ansicyan",
        "chosen": "ansigreen",
        "error": "bold ansired",
        "bold": "bold",
    }
)
_NAMED = ("up", "down", "left", "right", "enter", "escape", "tab", "s-tab", "pageup", "pagedown", "home", "end")
_IN_FIELD = ("enter", "escape", "tab", "s-tab", "pageup", "pagedown", "s-up", "s-down")


@dataclass(frozen=True, slots=True)
class Gone:
    """The terminal vanished before there was a decision."""


async def run_page(console: Console, page: Page) -> Decision | Gone:
    """Show a page until it has an outcome. What others say on the console meanwhile is written afterwards.

    Cancelling it takes the page off the terminal. Raises what went wrong with drawing, after the terminal is restored.
    """
    handle = console.handle
    if handle is None:
        return Gone()
    screen = Screen(page, handle, console.output, lambda: console.waiting)

    async def stop_with_the_prompt() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            screen.stop()

    with console.drawn_on():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop_with_the_prompt)
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(screen.run, limiter=anyio.CapacityLimiter(1))
            tasks.cancel_scope.cancel()
    await checkpoint_if_cancelled()
    if screen.error is not None:
        raise screen.error
    return screen.outcome


class Screen:
    """One page and the terminal it is drawn on. `run` blocks its thread; `stop` may be called from any other.

    Afterwards `outcome` is the decision, `Gone` when there is none, and `error` what went wrong, if anything did.
    """

    def __init__(self, page: Page, handle: int, output: TextIO, waiting: Callable[[], int]) -> None:
        self.outcome: Decision | Gone = Gone()
        self.error: Exception | None = None
        self._page = page
        self._handle = handle
        self._output = output
        self._waiting = waiting
        self._stopped = False
        self._ready_at = float("inf")
        self._editor: Editor | None = None
        self._view = View(())
        self._field: str | None = None
        self._buffer = Buffer(multiline=True, on_text_changed=self._typed)
        self._app: Application[None] | None = None

    def run(self) -> None:
        """Draw and take keys until there is an outcome, the terminal is gone, or `stop` was called. Raises nothing."""
        stdin = open(self._handle, closefd=False)  # noqa: SIM115
        try:
            source = Vt100Input(stdin)
            clear_typeahead(source)
            term = os.environ.get("TERM")
            sink = Vt100_Output(self._output, self._size, term=term, enable_bell=False, enable_cpr=False)
            with create_app_session(input=source, output=sink):
                self._app = self._application()
                self._app.run(pre_run=self._begin, set_exception_handler=False, handle_sigint=False)
        except EOFError:
            pass
        except Exception as error:
            self.error = None if self._hung_up() else error
        finally:
            self._app = None
            with contextlib.suppress(OSError):
                stdin.close()

    def stop(self) -> None:
        """Take the page off the terminal, and end the person's editor if it is open."""
        self._stopped = True
        if self._editor is not None:
            self._editor.stop()
        app = self._app
        if app is not None and app.loop is not None:
            with contextlib.suppress(RuntimeError):  # its loop has just ended
                app.loop.call_soon_threadsafe(self._exit)

    def _application(self) -> Application[None]:
        top = FormattedTextControl(lambda: _fragments(self._view.above), focusable=True, show_cursor=False)
        below = FormattedTextControl(lambda: _fragments(self._view.below))
        field = BufferControl(self._buffer, input_processors=[_ShowInvisible(), TabsProcessor(char1=" ", char2=" ")])
        has_field = Condition(lambda: self._page.field is not None)
        self._top, self._field_window = (
            Window(top, dont_extend_height=True),
            Window(field, height=self._field_height, wrap_lines=True, dont_extend_height=True),
        )
        parts = [
            self._top,
            ConditionalContainer(self._field_window, has_field),
            Window(below, dont_extend_height=True),
        ]
        app: Application[None] = Application(
            layout=Layout(HSplit(parts)),
            style=_STYLE,
            key_bindings=self._bindings(has_field),
            erase_when_done=True,
            refresh_interval=_REFRESH,
        )
        app.ttimeoutlen, app.timeoutlen = 0.05, 0.2
        app.before_render += lambda _: self._before_drawing()
        app.after_render += lambda _: self._after_drawing()
        return app

    def _bindings(self, has_field: Condition) -> KeyBindings:
        bindings = KeyBindings()
        for name in (*_NAMED, "s-up", "s-down"):
            bindings.add(name, filter=~has_field)(lambda event, name=name: self._press(name))
        for name in _IN_FIELD:
            bindings.add(name, filter=has_field)(lambda event, name=name: self._press(name))
        for name in ("c-c", "c-x"):
            bindings.add(name, eager=True)(lambda event, name=name: self._press(name))
        bindings.add("escape", "enter", filter=has_field)(lambda event: self._buffer.insert_text("\n"))
        bindings.add(Keys.Any, filter=~has_field)(self._press_character)
        return bindings

    def _press_character(self, event: KeyPressEvent) -> None:
        """A key that stands for itself. What is pasted is none: it was not meant for the card."""
        key = event.key_sequence[0].key
        if not isinstance(key, Keys):
            self._press(key)

    def _press(self, key: str) -> None:
        if monotonic() >= self._ready_at:
            self._page = self._page.press(key)
            self._follow()

    def _typed(self, buffer: Buffer) -> None:
        if self._page.field is not None and self._page.field.name == self._field:
            self._page = self._page.typed(buffer.text)

    def _follow(self) -> None:
        """Do what the page wants, and show what it became."""
        match self._page.want:
            case Try(asking, tool_input):
                self._page = self._page.tried(tried(asking, tool_input))
            case OpenEditor(text, suffix) if self._app is not None:
                self._editor = Editor(text, suffix)
                self._app.create_background_task(self._edit(self._editor))
            case _:
                pass
        self._focus()
        if self._page.outcome is not None:
            self.outcome = self._page.outcome
            self._exit()

    async def _edit(self, editor: Editor) -> None:
        try:
            text = await run_in_terminal(editor.run, in_executor=True)
        except EditorFailed as error:
            self._page = self._page.from_editor(None, f"The editor failed: {error}")
        else:
            self._page = self._page.from_editor(text)
        self._editor = None
        self._ready_at = monotonic() + GUARD
        self._follow()

    def _focus(self) -> None:
        """Put the keys where the page wants them: into a text field that has just opened, or on the page."""
        field = self._page.field
        name = None if field is None else field.name
        if self._app is None or name == self._field:
            return
        self._field = name
        if field is None:
            self._app.layout.focus(self._top)
            return
        self._buffer.reset(Document(field.text, len(field.text)))
        self._app.layout.focus(self._field_window)

    def _begin(self) -> None:
        if self._app is not None and self._app.loop is not None:
            self._app.loop.set_exception_handler(lambda loop, context: self._fail(context.get("exception")))
        self._focus()

    def _fail(self, error: object) -> None:
        self.error = error if isinstance(error, Exception) else RuntimeError("the rich terminal failed")
        if self._hung_up():
            self.error = None
        self._exit()

    def _exit(self) -> None:
        app = self._app
        if app is not None and app.future is not None and not app.future.done():
            app.exit()

    def _before_drawing(self) -> None:
        if self._stopped or self._hung_up():
            self._exit()
        size = self._size()
        self._view = self._page.view(size.columns, size.rows, now=now_utc(), waiting=self._waiting())
        self._page = self._page.scrolled(self._view.scroll, self._view.rows)

    def _after_drawing(self) -> None:
        """What was typed before the first drawing was meant for something else."""
        if self._ready_at == float("inf"):
            with contextlib.suppress(OSError, termios.error):
                termios.tcflush(self._handle, termios.TCIFLUSH)
            self._ready_at = monotonic() + GUARD

    def _field_height(self) -> int:
        return field_rows(self._buffer.text, self._size().columns)

    def _size(self) -> Size:
        try:
            columns, rows = os.get_terminal_size(self._output.fileno())
        except (OSError, ValueError):
            columns, rows = 0, 0
        return Size(rows=rows or 24, columns=columns or 80)

    def _hung_up(self) -> bool:
        """Whether the terminal is gone."""
        poll = select.poll()
        try:
            poll.register(self._handle, select.POLLIN)
            events = poll.poll(0)
        except (OSError, ValueError):
            return True
        return any(event & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, event in events)


class _ShowInvisible(Processor):
    """Shows in the text field what could not be seen or would steer the terminal, without changing the text."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        """One line of the field."""
        fragments = transformation_input.fragments
        text = fragment_list_to_text(fragments)
        if visible(text) == text:
            return Transformation(fragments)
        shown: StyleAndTextTuples = []
        starts = [0]
        for style, char, *_ in explode_text_fragments(fragments):
            shown.append((style, visible(char)))
            starts.append(starts[-1] + len(visible(char)))
        return Transformation(
            shown,
            source_to_display=lambda place: starts[min(place, len(starts) - 1)],
            display_to_source=lambda place: max(bisect_right(starts, place) - 1, 0),
        )


def _fragments(lines: tuple[Line, ...]) -> StyleAndTextTuples:
    fragments: StyleAndTextTuples = []
    for place, content in enumerate(lines):
        if place:
            fragments.append(("", "\n"))
        fragments += [(f"class:{style}" if style else "", text) for style, text in content]
    return fragments
