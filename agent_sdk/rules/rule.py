"""Permission rules as text: `Tool` or `Tool(specifier)`, read strictly and written back as they came.

A bad allow rule grants nothing and is told as a warning; a bad deny or ask rule is an error: none dies silently.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from agent_sdk.errors import RuleError
from agent_sdk.rules.facts import misnamed

RuleScope: TypeAlias = Literal["options", "session", "local", "project", "user"]
RuleBehavior: TypeAlias = Literal["allow", "ask", "deny"]

MAIN_FIELDS = frozenset({"command", "file_path", "notebook_path", "path", "url"})
PATH_RULES = frozenset({"Edit", "Write", "Read"})
PATH_TOOLS = frozenset({"MultiEdit", "NotebookEdit", "Glob", "Grep", "LS"})

_NAME = re.compile(r"[A-Za-z0-9_*][A-Za-z0-9_.*\-]*")
_PARAMETER = re.compile(r"([A-Za-z_][A-Za-z0-9_]*):(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RuleSource:
    """Where a rule was written. `root` is the folder that a leading `/` in its paths stands for.

    `file` is `None` for rules given in code.
    """

    scope: RuleScope
    file: str | None
    root: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `specifier=None` is the whole tool; `text` is what the author wrote; `position` counts from 0.

    `where` is the place of the rule for people: `options deny[0]`, `/p/.claude/settings.json deny[3]`.
    """

    behavior: RuleBehavior
    tool: str
    specifier: str | None
    text: str
    source: RuleSource
    position: int
    where: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        where = f"{self.source.file or self.source.scope} {self.behavior}[{self.position}]"
        object.__setattr__(self, "where", where)

    @property
    def parameter(self) -> tuple[str, str] | None:
        """Name and value when the specifier may be read as `param:value`; never a main content field."""
        found = _PARAMETER.fullmatch(self.specifier or "")
        if found is None or found[1] in MAIN_FIELDS:
            return None
        return found[1], found[2]

    def __str__(self) -> str:
        return self.text


def parse_rule(text: str, behavior: RuleBehavior, source: RuleSource, position: int) -> Rule:
    """The rule that `text` says: tool name, and the specifier from the first `(` to the last `)`.

    `str()` of the result is `text` again. `Tool()` and `Tool(*)` are the whole tool. Raises RuleError, naming text,
    file and position, when the text is no rule or one that could never hold.
    """
    name, bracket, rest = text.partition("(")
    if bracket and not rest.endswith(")"):
        raise _error(f"rule {text!r} does not end with ')'", text, behavior, source, position)
    if not _NAME.fullmatch(name):
        raise _error(f"rule {text!r} does not begin with a tool name", text, behavior, source, position)
    specifier = rest[:-1] if bracket else None
    rule = Rule(behavior, name, None if specifier in ("", "*") else specifier, text, source, position)
    fault = _fault(rule)
    if fault is not None:
        raise _error(f"rule {text!r} {fault}", text, behavior, source, position)
    return rule


def read_rules(texts: Sequence[str], behavior: RuleBehavior, source: RuleSource) -> tuple[list[Rule], list[str]]:
    """The rules in `texts`, and warnings for people.

    A bad allow rule is left out with a warning that names file and rule. `Tool(x)*` in deny and ask is read as
    `Tool(x*)` with a warning. Raises RuleError for any other bad deny or ask rule.
    """
    rules: list[Rule] = []
    warnings: list[str] = []
    for position, text in enumerate(texts):
        try:
            rule = parse_rule(text, behavior, source, position)
        except RuleError as error:
            repaired = star_moved_inside(text) if behavior != "allow" else None
            if behavior != "allow" and repaired is None:
                raise
            if repaired is None:
                warnings.append(f"ignored: {error}")
                continue
            rule = parse_rule(repaired, behavior, source, position)
            warnings.append(f"{rule.where}: {text!r} is read as {repaired!r}")
        rules.append(rule)
        warnings += [f"{rule.where}: {rule.text!r} {remark}" for remark in _remarks(rule)]
    return rules, warnings


def _error(message: str, text: str, behavior: RuleBehavior, source: RuleSource, position: int) -> RuleError:
    where = f"{source.file or source.scope} {behavior}[{position}]"
    return RuleError(f"{where}: {message}", rule=text, file=source.file, position=position)


def star_moved_inside(text: str) -> str | None:
    """`Tool(x*)` for `Tool(x)*`, which deny and ask lists may hold; `None` for any other text."""
    body = text.rstrip("*")
    if body == text or not body.endswith(")") or "(" not in body:
        return None
    return f"{body[:-1]}*)"


def _fault(rule: Rule) -> str | None:
    """Why the rule can never hold, or `None`."""
    name, specifier = rule.tool, rule.specifier
    if rule.behavior == "allow" and "*" in name and not _anchored_mcp_glob(name):
        return "is too wide: in allow, '*' in a name is for the tools of one server, as in mcp__server__get_*"
    if name.startswith("mcp__") and (name == "mcp__" or name.startswith("mcp____") or name.endswith("__")):
        return "names no server or no tool"
    if specifier is None:
        return None
    if "*" in name:
        return "has both a '*' in its name and a specifier"
    field, colon, value = specifier.partition(":")
    if colon and field in MAIN_FIELDS and value != "*":
        return "names the main content of a call as a parameter: write the pattern alone"
    if name in PATH_RULES or name in PATH_TOOLS:
        return _path_fault(rule)
    if name == "WebFetch":
        return _domain_fault(rule)
    if name in ("Bash", "Agent", "Task"):
        return None
    if rule.behavior == "allow":
        return misnamed(name) or "has a specifier that this tool does not take"
    if name.startswith("mcp__") and rule.parameter is None:
        return "has a specifier that tools of servers do not take, except param:value"
    if name.startswith("mcp__") and "__" not in name[5:]:
        return f"names a server, while a parameter is one tool's: write {name}__tool({specifier})"
    return None


def _anchored_mcp_glob(name: str) -> bool:
    server, separator, tool = name.removeprefix("mcp__").partition("__")
    return name.startswith("mcp__") and bool(server and separator and tool) and "*" not in server


def _path_fault(rule: Rule) -> str | None:
    pattern = rule.specifier or ""
    if rule.behavior == "allow" and rule.tool in PATH_TOOLS:
        return "is never consulted: write Edit(path) or Read(path)"
    if pattern.startswith("!"):
        return "begins with '!': write an allow rule for what is to be let through"
    if ".." in pattern.replace("\\", "/").split("/"):
        return "holds '..': write the path that it leads to"
    if "\0" in pattern:
        return "holds a NUL character"
    if rule.behavior == "allow" and not pattern.strip("/.~ "):
        return "names a folder itself: write /** for what is in it"
    return None


def _domain_fault(rule: Rule) -> str | None:
    specifier = rule.specifier or ""
    host = specifier.removeprefix("domain:").strip()
    if host == specifier:
        return None if rule.behavior != "allow" and rule.parameter else "is not of the form WebFetch(domain:host)"
    if not host.strip("."):
        return "names no domain"
    if re.search(r"[\s,;|]", host):
        return "names more than one host: write a rule for each"
    if "" in host.removesuffix(".").split("."):
        return "holds a dot too many: write *.example.com for all below a host"
    if "/" in host or "@" in host:
        return "holds more than a host: write the host alone, as in domain:example.com"
    if ":" in host.lstrip("[").rstrip("]") and host.count(":") < 2:
        return "names a port: a domain rule covers every port"
    return None


def _remarks(rule: Rule) -> list[str]:
    """What people should know of a rule that is in force."""
    remarks = []
    specifier = rule.specifier or ""
    if (remark := misnamed(rule.tool)) is not None:
        remarks.append(remark)
    if rule.behavior == "allow" and rule.tool == "Write" and specifier:
        remarks.append("is read as Edit(path): it covers every tool that writes")
    if rule.tool in ("Agent", "Task") and "," in specifier:
        remarks.append("holds a comma, which is part of the one name: write a rule for each agent")
    if rule.tool in PATH_RULES:
        if "{" in specifier:
            remarks.append("holds braces, which are taken literally")
        if specifier[:1].isspace():
            remarks.append("begins with a blank, which is taken literally")
        if re.match(r"[A-Za-z]:[\\/]", specifier) or re.search(r"\\[A-Za-z0-9_*.]", specifier):
            remarks.append("holds backslashes or a drive: write //c/dir/** with forward slashes")
    return remarks
