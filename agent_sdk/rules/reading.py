"""One call as the rules see it: what it names, in every reading, and what is odd, protected or critical about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from agent_sdk.calls import ToolFacts
from agent_sdk.rules.files import FileView, Glance, glance
from agent_sdk.rules.ground import Ground
from agent_sdk.rules.protected import protected
from agent_sdk.rules.rule import PATH_RULES, PATH_TOOLS
from agent_sdk.rules.shell_view import ShellView
from agent_sdk.rules.spelling import Spelled, spell
from agent_sdk.values import Json, JsonObject, lazy

_PATH_FIELDS = ("file_path", "notebook_path", "path")
_FIELDS = frozenset({*_PATH_FIELDS, "command", "pattern", "url", "subagent_type"})
_MAX_NAMED = 4_000

Named: TypeAlias = tuple[tuple[str, Json], ...]


def named(input: JsonObject, facts: ToolFacts, *, whole: bool) -> Named | None:
    """What rules look at in an input: the fields that they know; all of it (`whole`) when they name parameters.

    Two calls of a tool in which it is equal are the same to the rules. `None` when it is long, or no plain text.
    """
    size = 0
    found: list[tuple[str, Json]] = []
    own = (facts.writes, facts.reads)
    for name, value in input.items():
        if name in _FIELDS or whole or name in own:
            if type(value) is not str:
                return None
            size += len(name) + len(value)
            found.append((name, value))
    return tuple(found) if size <= _MAX_NAMED else None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call is judged: its working directory, the additional ones, the settings folder's name, and the disk.

    `root` is the directory that the session began in, empty while it is `cwd` itself. `fixed` pairs each working
    directory with the real folder that it was then; empty = it is looked up at every call.
    """

    cwd: str
    additional: tuple[str, ...] = ()
    settings_dir: str = ".claude"
    root: str = ""
    fixed: tuple[tuple[str, str], ...] = ()
    files: FileView = field(kw_only=True)


@lru_cache(maxsize=256)
def _path_fields(main: str | None, tool: str) -> tuple[str, ...]:
    """The fields that may hold a path: the one that the tool names, and for well-known tools all usual ones."""
    usual = _PATH_FIELDS if tool in PATH_RULES or tool in PATH_TOOLS else ()
    return tuple(dict.fromkeys([*([main] if main is not None else []), *usual]))


class Reading:
    """One call as the rules see it. Paths are worked out when they are first asked for, and once.

    `registry` are the names of all registered tools, if known: they settle which server a tool belongs to. Never raises
    for odd input: what cannot be read is `odd`, and no rule or mode may approve it.
    """

    def __init__(
        self, tool: str, input: JsonObject, facts: ToolFacts, place: Place, *, registry: frozenset[str] | None = None
    ) -> None:
        self.tool = tool
        self.input = input
        self.facts = facts
        self.place = place
        self.registry = registry
        self.files = glance(place.files)
        self.bash = self._shell() if tool == "Bash" else None
        """What the command of a Bash call would run, read and write."""

    @property
    def seen(self) -> Glance | None:
        """What was seen of the disk for this call so far; `None` when it is not the real disk."""
        return self.files if isinstance(self.files, Glance) else None

    @lazy
    def ground(self) -> Ground:
        """The folders that anchors stand for."""
        place = self.place
        return Ground(place.cwd, place.additional, place.files, root=place.root, fixed=place.fixed, files=self.files)

    def _shell(self) -> ShellView | None:
        command = self.input.get("command")
        return ShellView(command, self.ground, self.place.settings_dir) if isinstance(command, str) else None

    @lazy
    def writes(self) -> tuple[Spelled, ...]:
        """The paths that the tool writes."""
        return self._paths(self.facts.writes) if self.facts.writes is not None else ()

    @lazy
    def reads(self) -> tuple[Spelled, ...]:
        """The paths that the tool reads; a search without a path reads the working directory."""
        if self.facts.reads is None:
            return ()
        found = self._paths(None if self.facts.reads == self.facts.writes else self.facts.reads)
        pattern = self.input.get("pattern") if self.tool == "Glob" else None
        if isinstance(pattern, str) and (pattern.startswith(("/", "~", "\\")) or ".." in pattern):
            cwd, files = self.place.cwd, self.files
            found += tuple([spell(_searched(pattern, path.absolute), cwd, files) for path in found])
        return found

    def _paths(self, main: str | None) -> tuple[Spelled, ...]:
        given = self.input
        cwd, files = self.place.cwd, self.files
        found: list[Spelled] = []
        for name in _path_fields(main, self.facts.name):
            text = given.get(name)
            if isinstance(text, str):
                found.append(spell(text, cwd, files))
        if not found and self.tool in ("Glob", "Grep", "LS"):
            found.append(spell(".", cwd, files))
        return tuple(found)

    @property
    def refused(self) -> str | None:
        """Why the call must not run at all: an empty path, or one with a NUL character."""
        if self.odd is None:  # what is refused is odd as well
            return None
        return next((path.refused for path in (*self.writes, *self.reads) if path.refused), None)

    @lazy
    def odd(self) -> str | None:
        """Why no rule and no mode may approve the call: what it names cannot be told for certain."""
        if self.tool == "Bash":
            return self.bash.odd if self.bash is not None else "the call names no command"
        paths = self.writes + self.reads
        wanted = self.facts.writes or self.facts.reads
        if wanted is not None and not paths:
            return f"the call names no {wanted}"
        for path in paths:
            if path.odd:
                return path.odd
        return None

    @lazy
    def protected(self) -> str | None:
        """Why a person must agree to what the call writes: the protected name and the reason."""
        if self.bash is not None:
            return self.bash.protected
        for path in self.writes:
            why = protected(path.readings, self.place.settings_dir)
            if why is not None:
                return why
        return None

    @lazy
    def inside(self) -> bool:
        """True when all paths lie inside the working directories, in every reading; False for a call without paths."""
        paths = self.writes + self.reads
        if not paths or self.odd is not None:
            return False
        return all(self.ground.inside(reading) for path in paths for reading in path.readings)

    @property
    def critical_removal(self) -> str | None:
        """Why the call is never approved without a person: it may remove the root, home or a working directory."""
        return self.bash.critical_removal if self.bash is not None else None


def _searched(pattern: str, base: str) -> str:
    """The folder that a search pattern leads to: the names before its first wildcard, from `base` on.

    The root when the pattern may climb behind a wildcard.
    """
    names = pattern.split("/")
    literal = next((place for place, name in enumerate(names) if any(char in name for char in "*?[{")), len(names))
    if ".." in "/".join(names[literal:]):
        return "/"
    folder = "/".join(names[:literal]) or ("/" if pattern.startswith("/") else ".")
    return folder if folder.startswith(("/", "~", "\\")) else f"{base}/{folder}"
