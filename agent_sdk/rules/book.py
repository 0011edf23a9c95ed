"""Rules of one behaviour, looked up by what a call names, so that ten thousand cost about as much as ten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent_sdk.calls import ToolFacts
from agent_sdk.rules.bash import BashRules
from agent_sdk.rules.domains import DomainRules
from agent_sdk.rules.glob_meets import could_cover
from agent_sdk.rules.globs import fits, pieces
from agent_sdk.rules.ground import Ground
from agent_sdk.rules.names import name_covers, names_to_try, whole_server
from agent_sdk.rules.paths import PathRules
from agent_sdk.rules.reading import Reading
from agent_sdk.rules.rule import PATH_RULES, Rule, RuleBehavior
from agent_sdk.rules.shell_places import Places
from agent_sdk.rules.shell_view import ShellView
from agent_sdk.rules.spelling import Spelled
from agent_sdk.values import Json

_SPECIAL = frozenset(["WebFetch", "Agent", "Task"])
_MAX_KEPT = 256


@dataclass(slots=True)  # not frozen, though never changed: it is made for every judgement
class Found:
    """A rule that covers a call; `rules` are all that it took together, `because` says for people what was covered."""

    rule: Rule
    rules: tuple[Rule, ...]
    because: str


def _found(rule: Rule, what: str) -> Found:
    return Found(rule, (rule,), f"{rule.text} covers {what}")


class Book:
    """The rules of one behaviour. Compiled once, never changed."""

    def __init__(self, behavior: RuleBehavior, rules: Iterable[Rule]) -> None:
        self.behavior = behavior
        self._whole: dict[str, Rule] = {}
        self._globs: list[Rule] = []
        self._parameters: dict[tuple[str, str], list[tuple[tuple[str, ...], Rule]]] = {}
        self._agents: list[Rule] = []
        self._others: dict[str, list[Rule]] = {}
        paths: dict[str, list[Rule]] = {"Edit": [], "Read": []}
        commands: list[Rule] = []
        domains: list[Rule] = []
        self._kept: dict[str, tuple[ToolFacts, frozenset[str] | None, Rule | None]] = {}
        own = [rule for rule in rules if rule.behavior == behavior]
        self._empty = not own
        for rule in own:
            if behavior != "allow" and (parameter := _parameter(rule)) is not None:
                name, value = parameter
                for text in dict.fromkeys((value, value.strip())):
                    self._parameters.setdefault((rule.tool, name), []).append((pieces(text.lower()), rule))
            match rule.tool:
                case tool if rule.specifier is None:
                    if "*" in tool and not whole_server(tool):
                        self._globs.append(rule)
                    else:
                        self._whole.setdefault(tool, rule)
                case "Bash":
                    commands.append(rule)
                case "WebFetch":
                    domains.append(rule)
                case "Edit" | "Write":
                    paths["Edit"].append(rule)
                case "Read":
                    paths["Read"].append(rule)
                case "Agent" | "Task":
                    self._agents.append(rule)
                case tool:
                    self._others.setdefault(tool, []).append(rule)
        self._edit = PathRules(paths["Edit"])
        self._read = PathRules(paths["Read"])
        self._own_paths = {tool: (PathRules(own),) for tool, own in self._others.items()}
        # Who may not read a file may not change it.
        self._writing = tuple(rules for rules in (self._edit, *([self._read] if behavior == "deny" else [])) if rules)
        self._reading = (self._read,) if self._read else ()
        self._names_paths = bool(self._writing or self._reading or self._own_paths)
        self._inspects = bool(self._parameters or self._others)
        self._commands = BashRules(commands)
        self._domains = DomainRules(domains)
        whole_edit = self._whole.get("Edit") or self._whole.get("Write")
        self._places = Places(self._edit, self._read, whole_edit, self._whole.get("Read") or whole_edit)

    @property
    def inspected(self) -> frozenset[str]:
        """The tools whose whole input is looked at: rules name parameters of theirs, or any text in it."""
        return frozenset([*(tool for tool, _ in self._parameters), *self._others])

    @property
    def names_commands(self) -> bool:
        """True when a rule names a command."""
        return bool(self._commands)

    @property
    def names_files(self) -> bool:
        """True when a rule names files to read or to write."""
        return bool(self._edit or self._read)

    def hides(self, path: Spelled, ground: Ground) -> bool:
        """True when a rule for reading covers this very path."""
        return self._read.any_reading(path, ground) is not None

    def may_meet(self, shell: ShellView) -> bool:
        """True when a path rule may cover something that a glob in the command expands to."""
        for glob in shell.globs:
            books = (self._edit, self._read) if self.behavior == "deny" else (self._edit,)
            if any(could_cover(book, glob.names, shell.ground) for book in (books if glob.writes else (self._read,))):
                return True
        return False

    def any_reading(self, reading: Reading) -> Found | None:
        """The rule that covers any reading of the call: deny and ask."""
        if self._empty:
            return None
        rule = self._by_name(reading)
        if rule is not None:
            return _found(rule, reading.tool)
        if reading.bash is not None:
            found = self._any_command(reading.bash)
        else:
            found = self._any_path(reading) if self._names_paths else None
        if found is None and reading.tool in _SPECIAL:
            found = self._any_agent_or_url(reading)
        return self._any_parameter(reading) if found is None and self._inspects else found

    def every_reading(self, reading: Reading) -> Found | None:
        """The rules that cover the call in every reading: allow."""
        if self._empty:
            return None
        rule = self._by_name(reading)
        if rule is not None:
            return _found(rule, reading.tool if reading.bash is None else "the command")
        if reading.bash is not None:
            return self._every_command(reading.bash)
        found = self._every_path(reading)
        return self._every_agent_or_url(reading) if found is None and reading.tool in _SPECIAL else found

    def _by_name(self, reading: Reading) -> Rule | None:
        """The rule that covers the whole tool. It does not depend on the input, so it is kept for each tool."""
        if not (self._whole or self._globs):
            return None
        kept = self._kept.get(reading.tool)
        if kept is not None and kept[0] is reading.facts and kept[1] is reading.registry:
            return kept[2]
        if len(self._kept) >= _MAX_KEPT:
            self._kept.clear()
        rule = self._found_by_name(reading)
        self._kept[reading.tool] = (reading.facts, reading.registry, rule)
        return rule

    def _found_by_name(self, reading: Reading) -> Rule | None:
        for name in self._names(reading):
            rule = self._whole.get(name)
            if rule is not None and (name in PATH_RULES or name_covers(rule, reading.tool, reading.registry)):
                return rule
        for rule in self._globs:
            if name_covers(rule, reading.tool, reading.registry):
                return rule
        return None

    def _names(self, reading: Reading) -> tuple[str, ...]:
        """Names of rules that may cover the whole tool: `Edit` is for all that writes; allowing it allows reading."""
        names = names_to_try(reading.tool)
        writes, reads = reading.facts.writes is not None, reading.facts.reads is not None
        if reads and not (writes and self.behavior == "allow"):
            names += ("Read",)
        if writes or (reads and self.behavior == "allow"):
            names += ("Edit", "Write")
        return names

    def _any_path(self, reading: Reading) -> Found | None:
        own = self._own_paths.get(reading.tool, ())
        writing, looking = self._writing + own, self._reading + own
        found = _any(writing, reading.writes, reading.ground) if writing and reading.writes else None
        if found is None and looking and reading.reads:
            found = _any(looking, reading.reads, reading.ground)
        return found

    def _every_path(self, reading: Reading) -> Found | None:
        used: list[Rule] = []
        for path in reading.writes:
            rule = self._edit.all_readings(path, reading.ground)
            if rule is None:
                return None
            used.append(rule)
        for path in reading.reads:
            rule = self._read.all_readings(path, reading.ground) or self._edit.all_readings(path, reading.ground)
            if rule is None:
                return None
            used.append(rule)
        if not used:
            return None
        paths = reading.writes + reading.reads
        if len(used) == 1:
            return _found(used[0], paths[0].absolute)
        names = ", ".join([path.absolute for path in paths])
        return Found(used[0], tuple({id(rule): rule for rule in used}.values()), f"{used[0].text} covers {names}")

    def _any_command(self, shell: ShellView) -> Found | None:
        """Bash rules, and path rules for what known programs and redirections touch."""
        rule = self._commands.any_reading(shell)
        if rule is not None:
            return _found(rule, "the command")
        return (_any(self._writing, shell.writes, shell.ground) if self._writing else None) or (
            _any(self._reading, shell.reads, shell.ground) if self._reading else None
        )

    def _every_command(self, shell: ShellView) -> Found | None:
        """Rules that together cover every part of the command, and the files that it is redirected to."""
        rules = self._commands.covering(shell, self._places)
        if not rules:
            return None
        verb = "covers" if len(rules) == 1 else "cover"
        return Found(rules[0], rules, f"{' and '.join([rule.text for rule in rules])} {verb} all parts of the command")

    def _any_agent_or_url(self, reading: Reading) -> Found | None:
        match reading.tool, reading.input.get("url"), reading.input.get("subagent_type"):
            case "WebFetch", str(url), _:
                rule = self._domains.either(url)
                return None if rule is None else _found(rule, url)
            case (("Agent" | "Task"), _, str(name)):
                low = name.strip().lower()
                rules = (rule for rule in self._agents if rule.tool == reading.tool)
                rule = next((rule for rule in rules if fits(pieces((rule.specifier or "").strip().lower()), low)), None)
                return None if rule is None else _found(rule, name)
            case _:
                return None

    def _every_agent_or_url(self, reading: Reading) -> Found | None:
        match reading.tool, reading.input.get("url"), reading.input.get("subagent_type"):
            case "WebFetch", str(url), _:
                rule = self._domains.plain(url)
                return None if rule is None else _found(rule, url)
            case (("Agent" | "Task"), _, str(name)):
                rules = (rule for rule in self._agents if rule.tool == reading.tool and rule.specifier == name)
                rule = next(rules, None)
                return None if rule is None else _found(rule, name)
            case _:
                return None

    def _any_parameter(self, reading: Reading) -> Found | None:
        """`Tool(param:value)`; for a tool whose specifiers we do not know, any text of the input that equals it."""
        for name, given in reading.input.items():
            for value, rule in self._parameters.get((reading.tool, name), ()):
                for text in _as_texts(given):
                    if fits(value, text.lower()):
                        return _found(rule, f"{name}: {text}")
        for rule in self._others.get(reading.tool, ()):
            if any(
                isinstance(value, str) and fits(pieces(rule.specifier or ""), value) for value in reading.input.values()
            ):
                return _found(rule, "the input")
        return None


def _parameter(rule: Rule) -> tuple[str, str] | None:
    """Name and value of a rule for a parameter; `WebFetch(domain:x)` and `Bash(x:*)` are something else."""
    parameter = rule.parameter
    if parameter is None or (rule.tool == "WebFetch" and parameter[0] == "domain"):
        return None
    return None if rule.tool == "Bash" and parameter[1] == "*" else parameter


def _any(books: Sequence[PathRules], paths: Sequence[Spelled], ground: Ground) -> Found | None:
    """The rule that covers the first of the paths that one covers."""
    for path in paths:
        for rules in books:
            rule = rules.any_reading(path, ground)
            if rule is not None:
                return _found(rule, path.absolute)
    return None


def _as_texts(value: Json) -> tuple[str, ...]:
    """A JSON value as it may be written in a rule; of a list each item that is no list, and the empty text.

    An object is the empty text.
    """
    match value:
        case True:
            return ("true",)
        case False:
            return ("false",)
        case None:
            return ("null",)
        case float() if value.is_integer():
            return (str(int(value)), str(value))
        case str() | int() | float():
            return (str(value),)
        case list() | tuple():
            single = (item for item in value if not isinstance(item, list | tuple))
            return ("", *(text for item in single for text in _as_texts(item)))
        case _:
            return ("",)
