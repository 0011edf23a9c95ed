"""Settings files during a session: a change counts for the next call, but an agent cannot grant itself anything.

What widens for good (hooks, directories, mode) is fixed when the session starts. Rules follow the files, except for
changes that were made while a tool ran: these could be the tool's doing.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import anyio
import anyio.to_thread

from agent_sdk.config import SettingSource
from agent_sdk.errors import RuleError, SettingsError
from agent_sdk.rules.rule import Rule
from agent_sdk.settings.document import ABSENT, Signature, signature
from agent_sdk.settings.files import SOURCES, LoadedSettings, SettingsPlaces, load_from

log = logging.getLogger("agent_sdk.settings")

_Key: TypeAlias = tuple[str, str, str]
_FRESH_NS = 50_000_000
"""A file that changed so shortly before it was read may change again within one tick of the disk's clock."""


class SettingsWatch:
    """The settings of one session, kept up to date. Raises what `load_settings` raises, when it is made; never later.

    `loaded` is what held when the session started, and stays in force as far as it is fixed; `rules` are those in
    force now. `disable_bypass` follows the files. `warn` is given each warning once.
    """

    def __init__(
        self,
        places: SettingsPlaces,
        sources: Sequence[SettingSource] = SOURCES,
        *,
        trust_project: bool = False,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        self._places = places
        self._sources = tuple(sources)
        self._trust_project = trust_project
        self._warn = warn or _log_warning
        self._told: set[str] = set()
        self._running = 0
        self._held_back: set[_Key] = set()
        self._held_on: dict[_Key, Rule] = {}
        self._saved: set[_Key] = set()
        self._paths = tuple(places.path(source) for source in self._sources)
        self._signatures: tuple[tuple[str, Signature], ...] = ()
        self._fresh = False
        self._look()
        self.loaded = self._last = load_from(places, self._sources, trust_project)
        self._tell(self.loaded.warnings)
        self.rules: tuple[Rule, ...] = self.loaded.rules

    @property
    def disable_bypass(self) -> bool:
        """True when a file forbids the mode `bypassPermissions` now, or did when the session started."""
        return self._last.disable_bypass or self.loaded.disable_bypass

    def stale(self) -> bool:
        """True when a file may have changed since it was read. A few microseconds; opens nothing."""
        for path, seen in self._signatures:
            # To ask whether there is a file by now is half the price of its signature, which has to fail first.
            if (seen is not ABSENT or os.access(path, os.F_OK)) and signature(path) != seen:
                return True
        return self._fresh

    async def refresh(self) -> bool:
        """Read changed files again. True when rules or `disable_bypass` are others than before. Never raises but when
        cancelled.
        """
        if not self.stale():
            return False
        return await anyio.to_thread.run_sync(self.reload)

    async def before_tool(self) -> bool:
        """Call it before a tool runs, and `after_tool` when it has ended, however it ended. Returns as `refresh`."""
        changed = await self.refresh()
        self._running += 1
        return changed

    async def after_tool(self) -> bool:
        """The tool has ended: what appeared in the files meanwhile stays out of force. Returns as `refresh`."""
        changed = False
        try:
            if self.stale():
                with anyio.CancelScope(shield=True):
                    changed = await self.refresh()
        finally:
            self._running -= 1
        return changed

    def saved(self, rules: Iterable[tuple[SettingSource, str]]) -> bool:
        """These allow rules stand in the files because a person wanted it. True when that changes what is in force."""
        keys: set[_Key] = {(source, "allow", text) for source, text in rules}
        self._saved |= keys
        self._held_back -= keys
        return self._put_in_force()

    def reload(self) -> bool:
        """The blocking part of `refresh`: read all files again. True when rules or `disable_bypass` are others than
        before.

        A file that cannot be read leaves everything as it was, with one warning.
        """
        self._look()
        before = self.disable_bypass
        try:
            fresh = load_from(self._places, self._sources, self._trust_project)
        except (SettingsError, RuleError) as error:
            self._tell([f"the rules that were loaded before stay in force: {error}"])
            return False
        if self._running:
            self._hold(fresh)
        self._tell(fresh.warnings)
        self._tell(_fixed_changes(self.loaded, fresh))
        self._last = fresh
        return self._put_in_force() or before != self.disable_bypass

    def _look(self) -> None:
        """Note the state of the files. Done before reading: a change in between is seen next time."""
        self._signatures = tuple((path, signature(path)) for path in self._paths)
        newest = max((seen[1] for _, seen in self._signatures if len(seen) > 1), default=0)
        self._fresh = abs(time.time_ns() - newest) < _FRESH_NS

    def _hold(self, fresh: LoadedSettings) -> None:
        """A tool is running: keep out allow rules that appeared, keep deny and ask rules that went."""
        before = {_key(rule): rule for rule in self._last.rules}
        now = {_key(rule): rule for rule in fresh.rules}
        for key, rule in now.items():
            if rule.behavior == "allow" and key not in before and key not in self._saved:
                self._held_back.add(key)
                self._tell([f"{rule.where}: {rule.text!r} appeared while a tool ran and stays out of force"])
        for key, rule in before.items():
            if rule.behavior != "allow" and key not in now:
                self._held_on[key] = rule
                self._tell([f"{rule.where}: {rule.text!r} went while a tool ran and stays in force for this session"])

    def _put_in_force(self) -> bool:
        now = tuple(rule for rule in self._last.rules if _key(rule) not in self._held_back)
        there = {_key(rule) for rule in now}
        now += tuple(rule for key, rule in self._held_on.items() if key not in there)
        changed = now != self.rules
        self.rules = now
        return changed

    def _tell(self, warnings: Iterable[str]) -> None:
        for warning in warnings:
            if warning not in self._told:
                self._told.add(warning)
                self._warn(warning)


def _log_warning(warning: str) -> None:
    log.warning("%s", warning)


def _key(rule: Rule) -> _Key:
    return (rule.source.scope, rule.behavior, rule.text)


def _fixed_changes(start: LoadedSettings, now: LoadedSettings) -> list[str]:
    """What changed in the files but is fixed for this session."""
    found = {
        "hooks": start.hooks != now.hooks,
        "additionalDirectories": start.additional_directories != now.additional_directories,
        "defaultMode": start.default_mode != now.default_mode,
    }
    return [
        f"{name} changed in the settings files; it counts from the next session on"
        for name, yes in found.items()
        if yes
    ]
