"""Carries out what an answer asks to remember: in the session, in settings files. All of it, or nothing.

The yes and the memory are two things. Whatever goes wrong here, the call that was allowed still runs; the receipt says
why nothing was remembered.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio.to_thread

from agent_sdk.config import SettingSource
from agent_sdk.errors import AgentSDKError, SettingsError
from agent_sdk.rules.matching import Reading, Rulebook
from agent_sdk.rules.rule import RuleSource, parse_rule
from agent_sdk.settings.changes import Change, changed
from agent_sdk.settings.content import absolute_folder
from agent_sdk.settings.exclude import keep_out_of_commits
from agent_sdk.settings.files import SOURCE_OF, SettingsPlaces
from agent_sdk.settings.git import is_within, work_tree
from agent_sdk.settings.memory import SessionMemory, checked_rules
from agent_sdk.settings.trust import link_inside, supplied_by_repository
from agent_sdk.settings.writing import Edit, edit_files
from agent_sdk.updates import Destination, PermissionUpdate
from agent_sdk.values import Json, JsonObject

log = logging.getLogger("agent_sdk.settings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of one wish to remember, for trace and log.

    `file` is `None` for the session. `added`, `already` and `removed` name rules, folders and modes as
    `allow: Bash(ls)`. `session_only` says why it holds for this session only; `still_asks` why the very call would
    be asked about again; `failed` why nothing was remembered; `note` what else happened.
    """

    destination: Destination = "session"
    file: str | None = None
    added: tuple[str, ...] = ()
    already: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    session_only: str | None = None
    still_asks: str | None = None
    failed: str | None = None
    note: str | None = None

    def __str__(self) -> str:
        if self.failed is not None:
            place = "" if self.file is None else f" in {self.file}"
            return f"not remembered{place}: {self.failed}"
        where = self.file or "this session"
        told = [f"added {', '.join(self.added)}" if self.added else "nothing added"]
        if self.already:
            told.append(f"already there {', '.join(self.already)}")
        if self.removed:
            told.append(f"removed {', '.join(self.removed)}")
        if self.session_only is not None:
            told.append(f"for this session only, unless trusted: {self.session_only}")
        if self.still_asks is not None:
            told.append(f"will still ask: {self.still_asks}")
        if self.note is not None:
            told.append(self.note)
        return f"remembered in {where}: {'; '.join(told)}"


NOTHING_TO_REMEMBER = Receipt(failed="no rule can be suggested for this call")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """The session's memory afterwards, what became of each destination, and which allow rules now stand in files for a
    person: pairs of source and text, for `SettingsWatch.saved`.
    """

    memory: SessionMemory
    receipts: tuple[Receipt, ...]
    saved: tuple[tuple[SettingSource, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeper:
    """Remembers for one session. `sources` are the settings that it reads; `may_bypass` is true when it started in
    `bypassPermissions`.
    """

    places: SettingsPlaces
    sources: Sequence[SettingSource] = ()
    trust_project: bool = False
    may_bypass: bool = False

    async def remember(
        self,
        updates: Sequence[PermissionUpdate],
        memory: SessionMemory,
        *,
        call: Reading | None = None,
        rules: Rulebook | None = None,
    ) -> Remembered:
        """Carry out the updates of one answer. Never raises but when cancelled; what is begun is finished first.

        `call` is the call that was answered and `rules` are those in force: the receipt then tells whether an ask or
        deny rule will stop it all the same.
        """
        done = await anyio.to_thread.run_sync(self.carry_out, updates, memory)
        if call is not None and rules is not None and all(receipt.failed is None for receipt in done.receipts):
            still = self._still_asks(updates, call, rules)
            done = replace(done, receipts=tuple(replace(one, still_asks=still) for one in done.receipts))
        for receipt in done.receipts:
            log.log(logging.WARNING if receipt.failed or receipt.still_asks else logging.INFO, "%s", receipt)
        return done

    def carry_out(self, updates: Sequence[PermissionUpdate], memory: SessionMemory) -> Remembered:
        """The blocking part of `remember`. Never raises for anything that updates or files hold."""
        if not updates:
            return Remembered(memory=memory, receipts=(NOTHING_TO_REMEMBER,))
        try:
            for update in updates:
                self._check(update)
            changes = self._write(updates)
            return self._settle(updates, memory, changes)
        except AgentSDKError as error:
            failed = tuple(
                Receipt(destination=one, file=self._file(one), failed=str(error))
                for one in dict.fromkeys(update.destination for update in updates)
            )
            return Remembered(memory=memory, receipts=failed)

    def _still_asks(self, updates: Sequence[PermissionUpdate], call: Reading, rules: Rulebook) -> str | None:
        """Why the very call that was answered would be asked about again."""
        found = rules.deny(call) or rules.ask(call)
        if found is not None:
            return f"{found.rule.text} ({found.rule.where})"
        added = [
            parse_rule(str(rule), "allow", self._rule_source(update.destination), position)
            for update in updates
            if update.behavior == "allow" and update.type != "removeRules"
            for position, rule in enumerate(update.rules)
        ]
        if not added or rules.with_rules(added).allow(call) is not None:
            return None
        return "no rule covers this very call as a whole"

    def _file(self, destination: Destination) -> str | None:
        return None if destination == "session" else self.places.path(SOURCE_OF[destination])

    def _rule_source(self, destination: Destination) -> RuleSource:
        if destination == "session":
            return RuleSource(scope="session", file=None, root=self.places.cwd)
        source = SOURCE_OF[destination]
        return RuleSource(scope=source, file=self.places.path(source), root=self.places.root(source))

    def _check(self, update: PermissionUpdate) -> None:
        """Raise for what must not be done at all."""
        if update.behavior is not None:
            checked_rules(update, update.behavior, self._rule_source(update.destination))
        if update.mode == "bypassPermissions":
            if not self.may_bypass:
                raise SettingsError("the mode bypassPermissions is only for sessions that started in it")
            if update.destination != "session":
                raise SettingsError("the mode bypassPermissions is never kept in a file")
        path = self._file(update.destination)
        if path is not None and not os.path.isabs(path):
            raise SettingsError(f"the home folder {self.places.home!r} is not known")
        if update.destination in ("localSettings", "projectSettings") and not self.trust_project:
            self._refuse_foreign_link(self.places.path(SOURCE_OF[update.destination]))

    def _refuse_foreign_link(self, path: str) -> None:
        """A link that a repository brought must not turn a rule for this folder into one for another."""
        real = os.path.realpath(path)
        if is_within(real, os.path.realpath(self.places.cwd)):
            return
        top = work_tree(self.places.cwd)
        if top is None or is_within(real, top):
            return
        link = link_inside(path, top)
        if link is not None:
            message = f"{path} leads out of the work tree, to {real}, through the link {link}"
            raise SettingsError(message, path=path)

    def _write(self, updates: Sequence[PermissionUpdate]) -> list[Change]:
        """Write the files. Returns what each update changed; nothing for the session's own."""
        changes = [Change()] * len(updates)
        edits = [
            (path, self._edit(place, update, path, changes))
            for place, update in enumerate(updates)
            if (path := self._file(update.destination)) is not None
        ]
        if edits:
            edit_files(edits)
        return changes

    def _edit(self, place: int, update: PermissionUpdate, path: str, changes: list[Change]) -> Edit:
        def edit(document: JsonObject) -> dict[str, Json]:
            after, changes[place] = changed(document, update, path)
            return after

        return edit

    def _settle(
        self, updates: Sequence[PermissionUpdate], memory: SessionMemory, changes: Sequence[Change]
    ) -> Remembered:
        """The files are written: bring the session in line, and write the receipts."""
        receipts: dict[Destination, Receipt] = {}
        saved: list[tuple[SettingSource, str]] = []
        for update, change in zip(updates, changes, strict=True):
            where = update.destination
            if where not in receipts:
                receipts[where] = self._empty_receipt(where, updates)
            receipt = receipts[where]
            before = memory
            counts = where != "session" and receipt.session_only is None
            memory = self._in_session(update, memory, file_counts=counts)
            if where == "session":
                change = _session_change(update, before, memory)
            elif update.behavior == "allow" and update.type != "removeRules":
                saved += [(SOURCE_OF[where], str(rule)) for rule in update.rules]
            receipts[where] = replace(
                receipt,
                added=receipt.added + change.added,
                already=receipt.already + change.already,
                removed=receipt.removed + change.removed,
            )
        return Remembered(memory=memory, receipts=tuple(receipts.values()), saved=tuple(saved))

    def _in_session(self, update: PermissionUpdate, memory: SessionMemory, *, file_counts: bool) -> SessionMemory:
        if update.mode is not None:
            return replace(memory, mode=update.mode)
        if update.directories:
            return memory.with_directories(
                update, lambda text: absolute_folder(text, cwd=self.places.cwd, home=self.places.home)
            )
        needed = update.destination == "session" or not file_counts
        return memory.with_rules(update, self._rule_source(update.destination), add=needed)

    def _empty_receipt(self, where: Destination, updates: Sequence[PermissionUpdate]) -> Receipt:
        if where == "session":
            return Receipt(destination=where)
        source = SOURCE_OF[where]
        widens = any(update.destination == where and _widens(update) for update in updates)
        return Receipt(
            destination=where,
            file=self.places.path(source),
            session_only=self._why_session_only(source) if widens or source not in self.sources else None,
            note=None if source == "user" else keep_out_of_commits(self.places, source),
        )

    def _why_session_only(self, source: SettingSource) -> str | None:
        """Why what this file now holds does not count by itself."""
        if source not in self.sources:
            return f"{source} settings are not read by this session"
        if source == "user" or self.trust_project:
            return None
        if source == "project":
            return "project settings come with the repository"
        return supplied_by_repository(self.places.path(source), self.places.cwd)


def _widens(update: PermissionUpdate) -> bool:
    return update.behavior == "allow" or update.type in ("addDirectories", "setMode")


def _session_change(update: PermissionUpdate, before: SessionMemory, after: SessionMemory) -> Change:
    """What an update of the session changed, in the words of a receipt."""
    if update.mode is not None:
        return Change(added=(f"mode: {update.mode}",))
    if update.directories:
        named = tuple(f"additionalDirectories: {folder}" for folder in update.directories)
        return Change(removed=named) if update.type == "removeDirectories" else Change(added=named)
    old, new = set(before.rules), set(after.rules)
    added = tuple(f"{rule.behavior}: {rule.text}" for rule in after.rules if rule not in old)
    removed = tuple(f"{rule.behavior}: {rule.text}" for rule in before.rules if rule not in new)
    wanted = [f"{update.behavior}: {rule}" for rule in update.rules] if update.type != "removeRules" else []
    return Change(added=added, removed=removed, already=tuple(text for text in wanted if text not in added))
