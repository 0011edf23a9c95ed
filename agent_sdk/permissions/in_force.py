"""What is in force in one session: rules in code, rules of settings files, and what people said to remember.

The one place where rules, mode and directories change while a session lives. Each change puts a new snapshot in force.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agent_sdk.config import PermissionMode
from agent_sdk.decisions import Allow
from agent_sdk.permissions.snapshot import Snapshot
from agent_sdk.rules.matching import Reading, Rulebook
from agent_sdk.rules.rule import Rule
from agent_sdk.rules.suggestions import narrowest, suggest
from agent_sdk.settings.memory import SessionMemory
from agent_sdk.settings.remember import Keeper, Receipt
from agent_sdk.settings.watch import SettingsWatch


class CurrentPolicy:
    """Holds the snapshot in force. `keeper` writes what is to be remembered; without `use_settings` no file is read."""

    def __init__(self, snapshot: Snapshot, keeper: Keeper) -> None:
        self.snapshot = snapshot
        self._given: Sequence[Rule] = snapshot.rules.rules
        self._directories = snapshot.place.additional
        self._memory = SessionMemory()
        self._watch: SettingsWatch | None = None
        self._keeper = keeper

    def use_settings(self, watch: SettingsWatch, mode: PermissionMode) -> None:
        """From the start of the session: rules and directories of the settings files count, and `mode` is in force."""
        self._watch = watch
        self._directories = (*self._directories, *watch.loaded.additional_directories)
        self._keeper = replace(self._keeper, may_bypass=mode == "bypassPermissions")
        self.snapshot = replace(self.snapshot, mode=mode)
        self._put_in_force()

    def set_mode(self, mode: PermissionMode) -> None:
        """Put another mode in force: for calls not yet judged, and at once for running ones where it is stricter."""
        self._memory = replace(self._memory, mode=None)
        self.snapshot = self.snapshot.changed(mode=mode)

    def move_to(self, cwd: str) -> None:
        """Later calls are judged in another working directory."""
        self.snapshot = self.snapshot.moved(cwd)

    @property
    def bypass_refused(self) -> bool:
        """True when a settings file forbids the mode `bypassPermissions`."""
        return self._watch is not None and self._watch.disable_bypass

    async def refresh(self) -> None:
        """Read settings files again that changed. Costs a few microseconds when none did."""
        if self._watch is not None and await self._watch.refresh():
            self._put_in_force()

    async def before_tool(self) -> None:
        """A tool is about to run: what appears in the files from now on could be its doing."""
        if self._watch is not None and await self._watch.before_tool():
            self._put_in_force()

    async def after_tool(self) -> None:
        """The tool has ended, however it ended."""
        if self._watch is not None and await self._watch.after_tool():
            self._put_in_force()

    async def remember(self, allow: Allow, reading: Reading) -> tuple[Receipt, ...]:
        """Carry out what an answer to the call `reading` asks to remember. The receipts say what came of it.

        Never raises for what the answer or a file holds: the yes holds all the same.
        """
        if allow.remember is None and allow.updated_permissions is None:
            return ()
        updates = tuple(allow.updated_permissions or ())
        if allow.remember is not None:
            updates += narrowest(suggest(reading, self.snapshot.rules), allow.remember)
        done = await self._keeper.remember(updates, self._memory, call=reading, rules=self.snapshot.rules)
        if done.memory != self._memory or done.saved:
            self._memory = done.memory
            if self._watch is not None:
                self._watch.saved(done.saved)
                await self._watch.refresh()
            self._put_in_force()
        return done.receipts

    def _put_in_force(self) -> None:
        files = self._watch.rules if self._watch is not None else ()
        now = self.snapshot
        mode = self._memory.mode or now.mode
        if mode == "bypassPermissions" and self.bypass_refused:
            mode = "default"
        place = replace(now.place, additional=self._memory.working_directories(self._directories))
        self.snapshot = replace(
            now,
            rules=Rulebook([*self._given, *self._memory.rules, *files]),
            place=place,
            mode=mode,
            version=now.version + 1,
        )
