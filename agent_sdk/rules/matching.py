"""Does a rule cover a call? The one door into this room: a `Reading` of a call, and a `Rulebook` to hold against it.

Allow needs the one canonical reading to match; deny and ask match if any reading does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from agent_sdk.calls import ToolFacts
from agent_sdk.rules.bash import BashRules
from agent_sdk.rules.domains import domain_covers
from agent_sdk.rules.facts import known_facts as known_facts
from agent_sdk.rules.files import FileView
from agent_sdk.rules.globs import fits, pieces
from agent_sdk.rules.names import name_covers, names_to_try
from agent_sdk.rules.paths import Ground, PathRules
from agent_sdk.rules.protected import protected
from agent_sdk.rules.rule import PATH_RULES, PATH_TOOLS, Rule, RuleBehavior
from agent_sdk.rules.shell_places import Places
from agent_sdk.rules.shell_view import Glob, ShellView
from agent_sdk.rules.spelling import Spelled, spell
from agent_sdk.values import Json, JsonObject

_PATH_FIELDS = ("file_path", "notebook_path", "path")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call is judged: its working directory, the additional ones, the settings folder's name, and the disk."""

    cwd: str
    additional: tuple[str, ...] = ()
    settings_dir: str = ".claude"
    files: FileView = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Found:
    """A rule that covers a call; `rules` are all that it took together, `because` says for people what was covered."""

    rule: Rule
    rules: tuple[Rule, ...]
    because: str


class Reading:
    """One call as the rules see it. Everything is worked out when it is first asked for, and once.

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
        self.ground = Ground(place.cwd, place.additional, place.files)

    @cached_property
    def command(self) -> str | None:
        """The command of a Bash call."""
        value = self.input.get("command")
        return value if self.tool == "Bash" and isinstance(value, str) else None

    @cached_property
    def shell(self) -> ShellView | None:
        """What the command of a Bash call would run, read and write."""
        return None if self.command is None else ShellView(self.command, self.ground, self.place.settings_dir)

    @cached_property
    def writes(self) -> tuple[Spelled, ...]:
        """The paths that the tool writes."""
        return self._paths(self.facts.writes) if self.facts.writes is not None else ()

    @cached_property
    def reads(self) -> tuple[Spelled, ...]:
        """The paths that the tool reads; a search without a path reads the working directory."""
        if self.facts.reads is None:
            return ()
        found = self._paths(None if self.facts.reads == self.facts.writes else self.facts.reads)
        pattern = self.input.get("pattern") if self.tool == "Glob" else None
        if isinstance(pattern, str) and (pattern.startswith(("/", "~", "\\")) or ".." in pattern):
            found += (self._spell(_literal_folder(pattern)),)
        return found

    def _paths(self, main: str | None) -> tuple[Spelled, ...]:
        fields = dict.fromkeys([main, *(_PATH_FIELDS if self.facts.name in PATH_RULES | PATH_TOOLS else ())])
        texts = [value for name in fields if name is not None and isinstance(value := self.input.get(name), str)]
        if not texts and self.tool in ("Glob", "Grep", "LS"):
            texts = ["."]
        return tuple(self._spell(text) for text in texts)

    def _spell(self, text: str) -> Spelled:
        return spell(text, self.place.cwd, self.place.files)

    @cached_property
    def refused(self) -> str | None:
        """Why the call must not run at all: an empty path, or one with a NUL character."""
        return next((path.refused for path in (*self.writes, *self.reads) if path.refused), None)

    @cached_property
    def odd(self) -> str | None:
        """Why no rule and no mode may approve the call: what it names cannot be told for certain."""
        if self.shell is not None:
            return self.shell.odd
        paths = (*self.writes, *self.reads)
        wanted = self.facts.writes or self.facts.reads
        if wanted is not None and not paths:
            return f"the call names no {wanted}"
        return next((path.odd for path in paths if path.odd), None)

    @cached_property
    def protected(self) -> str | None:
        """Why a person must agree to what the call writes: the protected name and the reason."""
        if self.shell is not None:
            return self.shell.protected
        for path in self.writes:
            why = protected(path.readings, self.place.settings_dir)
            if why is not None:
                return why
        return None

    @cached_property
    def inside(self) -> bool:
        """True when all paths lie inside the working directories, in every reading; False for a call without paths."""
        paths = (*self.writes, *self.reads)
        if not paths or self.odd is not None:
            return False
        return all(self.ground.inside(reading) for path in paths for reading in path.readings)

    @cached_property
    def critical_removal(self) -> str | None:
        """Why the call is never approved without a person: it removes the root, home or a working directory."""
        return self.shell.critical_removal if self.shell is not None else None


def _literal_folder(pattern: str) -> str:
    """The folders of a search pattern before its first wildcard."""
    kept = []
    for name in pattern.split("/"):
        if any(char in name for char in "*?["):
            break
        kept.append(name)
    return "/".join(kept) or "/"


class Rulebook:
    """Rules, compiled once and never changed; `with_rules` makes a new one.

    `deny`, `ask` and `allow` each say which of their rules covers a call. They do not know of one another: the order is
    the judge's.
    """

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules = tuple(rules)
        self._deny = _Book("deny", self.rules)
        self._ask = _Book("ask", self.rules)
        self._allow = _Book("allow", self.rules)

    def with_rules(self, more: Iterable[Rule]) -> Rulebook:
        """A book that also holds `more`."""
        return Rulebook((*self.rules, *more))

    def deny(self, reading: Reading) -> Found | None:
        """The deny rule that covers the call, in any reading."""
        return self._deny.any_reading(reading)

    def ask(self, reading: Reading) -> Found | None:
        """The ask rule that covers the call, in any reading."""
        return self._ask.any_reading(reading)

    def allow(self, reading: Reading) -> Found | None:
        """The allow rules that cover the call in every reading. Never one that is odd, writes a protected path or
        removes a critical one."""
        if reading.odd or reading.refused or reading.protected or reading.critical_removal:
            return None
        if reading.shell is not None and self._may_be_denied(reading.shell):
            return None
        return self._allow.every_reading(reading)

    def _may_be_denied(self, shell: ShellView) -> bool:
        """True when a deny or ask rule may cover what can only be seen at run time."""
        if self._deny.bash and (shell.denials.unseen or shell.denials.nameless):
            return True
        return any(book.may_meet(glob, shell.ground) for glob in shell.globs for book in (self._deny, self._ask))


class _Book:
    """The rules of one behaviour, by what they are looked up with."""

    def __init__(self, behavior: RuleBehavior, rules: Iterable[Rule]) -> None:
        self.behavior = behavior
        self._whole: dict[str, Rule] = {}
        self._globs: list[Rule] = []
        self._domains: list[Rule] = []
        self._special: dict[str, list[Rule]] = {}
        paths: dict[str, list[Rule]] = {}
        bash: list[Rule] = []
        for rule in rules:
            if rule.behavior != behavior:
                continue
            if rule.specifier is None:
                plain = "*" not in rule.tool.removesuffix("__*")
                self._whole.setdefault(rule.tool, rule) if plain else self._globs.append(rule)
            elif rule.tool == "WebFetch" and rule.specifier.startswith("domain:"):
                self._domains.append(rule)
            elif rule.tool == "Bash":
                bash.append(rule)
            elif rule.tool in PATH_RULES:
                paths.setdefault("Read" if rule.tool == "Read" else "Edit", []).append(rule)
            else:
                self._special.setdefault(rule.tool, []).append(rule)
            if behavior != "allow" and rule.parameter and (rule.tool != "Bash" or rule.parameter[1] != "*"):
                self._special.setdefault(rule.tool, []).append(rule)
        self._edit = PathRules(paths.get("Edit", ()))
        self._read = PathRules(paths.get("Read", ()))
        self.bash = BashRules(bash)
        self._places = Places(self._edit, self._read, *self._every_path_rules())

    def _every_path_rules(self) -> tuple[Rule | None, Rule | None]:
        """The bare rules that cover every path, for writing and for reading."""
        edit = self._whole.get("Edit") or self._whole.get("Write")
        return edit, self._whole.get("Read") or edit

    def may_meet(self, glob: Glob, ground: Ground) -> bool:
        """True when a path rule may cover something that a glob expands to."""
        books = (self._edit, self._read) if self.behavior == "deny" and glob.writes else (self._edit,)
        return any(book.could_cover(glob.names, ground) for book in (books if glob.writes else (self._read,)))

    def any_reading(self, reading: Reading) -> Found | None:
        """The rule that covers any reading of the call."""
        rule = self._by_name(reading)
        if rule is not None:
            return Found(rule, (rule,), f"{rule.text} covers the tool")
        if reading.shell is not None and (rule := self.bash.any_reading(reading.shell)) is not None:
            return Found(rule, (rule,), f"{rule.text} covers a part of the command")
        return self._any_path(reading) or self._any_special(reading)

    def every_reading(self, reading: Reading) -> Found | None:
        """The rules that cover the call in every reading."""
        rule = self._by_name(reading)
        if rule is not None:
            return Found(rule, (rule,), f"{rule.text} covers the tool")
        if reading.shell is not None:
            rules = self.bash.covering(reading.shell, self._places)
            because = "each part of the command is covered by " + " and ".join(rule.text for rule in rules or ())
            return Found(rules[0], rules, because) if rules else None
        if reading.writes or reading.reads:
            return self._every_path(reading)
        for rule in (*self._domains, *self._special.get(reading.tool, ())) if self._may_special(reading) else ():
            if _special_covers(rule, reading):
                return Found(rule, (rule,), f"{rule.text} covers the call")
        return None

    def _may_special(self, reading: Reading) -> bool:
        return reading.tool == "WebFetch" or reading.tool in self._special

    def _by_name(self, reading: Reading) -> Rule | None:
        names = [*names_to_try(reading.tool)]
        if reading.facts.writes is not None:
            names += ["Edit", "Write"]
        if reading.facts.reads is not None:
            names += (
                ["Read", "Edit", "Write"] if self.behavior == "allow" and reading.facts.writes is None else ["Read"]
            )
        for name in names:
            rule = self._whole.get(name)
            if rule is not None and (name in PATH_RULES or name_covers(rule, reading.tool, reading.registry)):
                return rule
        return next((rule for rule in self._globs if name_covers(rule, reading.tool, reading.registry)), None)

    def _any_path(self, reading: Reading) -> Found | None:
        books = (self._edit, self._read) if self.behavior == "deny" else (self._edit,)
        writes, reads = reading.writes, reading.reads
        if reading.shell is not None and (self._edit or self._read):
            writes, reads = reading.shell.writes, reading.shell.reads
        for paths, among in ((writes, books), (reads, (self._read,))):
            for path in paths:
                for book in among:
                    rule = book.any_reading(path, reading.ground)
                    if rule is not None:
                        return Found(rule, (rule,), f"{rule.text} covers {path.absolute}")
        return None

    def _every_path(self, reading: Reading) -> Found | None:
        used: list[Rule] = []
        for paths, among in ((reading.writes, (self._edit,)), (reading.reads, (self._read, self._edit))):
            for path in paths:
                rules = (book.all_readings(path, reading.ground) for book in among)
                rule = next((rule for rule in rules if rule is not None), None)
                if rule is None:
                    return None
                used.append(rule)
        if not used:
            return None
        return Found(
            used[0],
            tuple(dict.fromkeys(used)),
            f"{used[0].text} covers {(*reading.writes, *reading.reads)[0].absolute}",
        )

    def _any_special(self, reading: Reading) -> Found | None:
        if not self._may_special(reading):
            return None
        for rule in (*self._domains, *self._special.get(reading.tool, ())):
            if _special_covers(rule, reading):
                return Found(rule, (rule,), f"{rule.text} covers the call")
        return None


def _special_covers(rule: Rule, reading: Reading) -> bool:
    """Rules with a specifier that is neither a path nor a command."""
    specifier = rule.specifier or ""
    allow = rule.behavior == "allow"
    if rule.tool != reading.tool:
        return False
    if rule.tool == "WebFetch" and specifier.startswith("domain:"):
        url = reading.input.get("url")
        return isinstance(url, str) and domain_covers(specifier.removeprefix("domain:"), url, allow=allow)
    if rule.tool in ("Agent", "Task"):
        name = reading.input.get("subagent_type")
        if isinstance(name, str) and (
            name == specifier or (not allow and fits(pieces(specifier.lower()), name.lower()))
        ):
            return True
    if allow:
        return False
    if rule.parameter is not None:
        name, value = rule.parameter
        return name in reading.input and fits(pieces(value.lower()), _as_text(reading.input[name]).lower())
    return any(isinstance(value, str) and fits(pieces(specifier), value) for value in reading.input.values())


def _as_text(value: Json) -> str:
    match value:
        case True:
            return "true"
        case False:
            return "false"
        case None:
            return "null"
        case str() | int() | float():
            return str(value)
        case _:
            return ""
