"""The person's own editor, on a text that is about to be used."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

import anyio
from anyio import to_thread


class EditorFailed(Exception):
    """The editor could not be started, ended with an error, or left something that is no text. Nothing was changed."""


class Editor:
    """`$VISUAL`, `$EDITOR` or `vi` on one text. `run` blocks; `stop` ends the editor from another thread."""

    def __init__(self, text: str, suffix: str = ".txt") -> None:
        self._text = text
        self._suffix = suffix if suffix.isascii() and suffix[:1] == "." and suffix[1:].isalnum() else ".txt"
        self._process: subprocess.Popen[bytes] | None = None

    def run(self) -> str:
        """The text as the person left it, without a line end that the editor put there. Raises EditorFailed."""
        command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        with tempfile.TemporaryDirectory(prefix="agent-sdk-edit-") as folder:
            path = Path(folder, "edit" + self._suffix)
            path.write_text(self._text, encoding="utf-8", errors="surrogatepass", newline="")
            try:
                self._process = subprocess.Popen([*shlex.split(command), str(path)])
                code = self._process.wait()
                text = path.read_bytes().decode("utf-8", errors="strict")
            except (OSError, ValueError) as error:
                raise EditorFailed(f"{command}: {error}") from None
        if code != 0:
            raise EditorFailed(f"{command} ended with code {code}, so nothing was changed")
        return text.removesuffix("\n") if not self._text.endswith("\n") else text

    def stop(self) -> None:
        """End the editor, if it runs."""
        if self._process is not None:
            self._process.terminate()


async def edit_text(text: str, suffix: str) -> str:
    """What the person made of `text` in their editor. Cancelling it ends the editor. Raises EditorFailed."""
    editor = Editor(text, suffix)

    async def end_with_the_prompt() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            editor.stop()

    found: list[str | Exception] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(end_with_the_prompt)
        with anyio.CancelScope(shield=True):
            try:
                found.append(await to_thread.run_sync(editor.run))
            except Exception as error:
                found.append(error)
        tasks.cancel_scope.cancel()
    came = found[0]
    if isinstance(came, Exception):
        raise came
    return came
