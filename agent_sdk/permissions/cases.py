"""A policy as a table: calls and what is to become of each. `agent-sdk policy test` and tests of your own use these.

assert_policy(policy, [PolicyCase("Bash", {"command": "rm -r ."}, "deny")])
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Literal, NoReturn, TypeAlias

from agent_sdk.config import MODES
from agent_sdk.decisions import Verdict
from agent_sdk.errors import OptionsError, RuleError, SettingsError
from agent_sdk.permissions.policy import PermissionPolicy
from agent_sdk.rules.rule import RuleSource, parse_rule
from agent_sdk.settings.content import PERMISSION_KEYS
from agent_sdk.settings.document import parse_document, read_bytes
from agent_sdk.values import Json, JsonObject, copied_object, to_text

Expected: TypeAlias = Literal["allow", "ask", "deny"]

_KEYS = ("tool", "input", "expect", "rule", "note")
_LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class PolicyCase:
    """One row: a call, and the behaviour that the policy must have for it.

    `rule`, when given, is the text of the rule that must decide; where several rules cover a command together it is
    the first of them. `note` says what the row is for; `where` is its place in a file. Raises OptionsError for a
    behaviour that is none of allow, ask and deny, and for an input that is not a JSON object.
    """

    tool: str
    input: JsonObject
    expect: Expected
    _: KW_ONLY
    rule: str | None = None
    note: str = ""
    where: str = ""

    def __post_init__(self) -> None:
        if self.expect not in ("allow", "ask", "deny"):
            raise OptionsError(f"expect is allow, ask or deny, got {self.expect!r}", option="expect")
        try:
            object.__setattr__(self, "input", copied_object(self.input))
        except TypeError as error:
            raise OptionsError(f"input: {error}", option="input") from None

    def __str__(self) -> str:
        return f"{self.tool} {to_text(self.input)} → {self.expect}"


@dataclass(frozen=True, slots=True)
class PolicyDifference:
    """A row that does not hold: `verdict` is what the policy says instead, with its trace."""

    case: PolicyCase
    verdict: Verdict

    def explain(self) -> str:
        """What was expected and why it is not so, a few lines for people."""
        case, verdict = self.case, self.verdict
        place = f"{case.where}: " if case.where else ""
        note = f"  ({case.note})" if case.note else ""
        wanted = f"{case.expect} by {case.rule}" if case.rule is not None else case.expect
        lines = [f"{place}{case.tool} {to_text(case.input)}{note}", f"  expected {wanted}, got:"]
        return "\n".join([*lines, *(f"  {line}" for line in verdict.explain().splitlines())])


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTable:
    """What a file says. `settings` is set when it holds rules of its own: what `PermissionPolicy.load(settings=...)`
    takes for them."""

    cases: tuple[PolicyCase, ...]
    settings: str | None = None


def check_policy(policy: PermissionPolicy, cases: Iterable[PolicyCase]) -> list[PolicyDifference]:
    """The rows that do not hold, in their order; empty when the policy does what the table says. Runs nothing."""
    differences = []
    for case in cases:
        verdict = policy.evaluate(case.tool, case.input)
        if verdict.behavior != case.expect or case.rule not in (None, verdict.rule):
            differences.append(PolicyDifference(case, verdict))
    return differences


def assert_policy(policy: PermissionPolicy, cases: Iterable[PolicyCase]) -> None:
    """Raises AssertionError that explains each row which does not hold, and OptionsError for a table without a row."""
    rows = list(cases)
    if not rows:
        raise OptionsError("there is no case to check: an empty table would always pass", option="cases")
    if differences := check_policy(policy, rows):
        told = "\n".join(difference.explain() for difference in differences)
        raise AssertionError(f"{len(differences)} of {len(rows)} calls are not decided as expected:\n{told}")


def load_policy_cases(path: str | os.PathLike[str]) -> list[PolicyCase]:
    """The rows of a file: JSON, or with the ending `.jsonl` one row a line. Blocks.

    Raises SettingsError, naming the place, for a file that is not there, holds no row, or holds anything unknown, a
    mode or an allow rule that does not count included.
    """
    return list(read_policy_table(path).cases)


def read_policy_table(path: str | os.PathLike[str]) -> PolicyTable:
    """The rows of a file, and whether it has rules of its own. Raises what `load_policy_cases` raises."""
    name = os.path.abspath(os.fspath(path))
    data = read_bytes(name)
    if data is None:
        raise SettingsError(f"there is no file {name}", path=name)
    table = _of_lines(name, data) if name.endswith(_LINES) else _of_document(name, data)
    if not table.cases:
        raise SettingsError(f"{name} holds no case: an empty table would always pass", path=name)
    return table


def _of_document(name: str, data: bytes) -> PolicyTable:
    """`{"cases": [...], "permissions": {...}}`, or the list of cases alone."""
    top = _value(name, data)
    if isinstance(top, list):
        return PolicyTable(cases=tuple(_case(name, row, f"[{place}]") for place, row in enumerate(top)))
    if not isinstance(top, Mapping):
        _refuse(name, "it is neither a list of cases nor an object with cases")
    if unknown := [key for key in top if key not in ("cases", "permissions", "note")]:
        _refuse(name, f"unknown key {unknown[0]!r}; known are cases, permissions, note")
    rows = top.get("cases")
    if not isinstance(rows, list):
        _refuse(name, "cases is a list of cases")
    cases = tuple(_case(name, row, f"cases[{place}]") for place, row in enumerate(rows))
    if "permissions" in top:
        _check_permissions(name, top["permissions"])
    return PolicyTable(cases=cases, settings=name if "permissions" in top else None)


def _check_permissions(name: str, permissions: Json) -> None:
    """More strictly than a settings file: what is passed over there with a warning would make this table pass here."""
    if not isinstance(permissions, Mapping):
        _refuse(name, "permissions is a JSON object")
    if unknown := [key for key in permissions if key not in PERMISSION_KEYS]:
        _refuse(name, f"unknown key {unknown[0]!r} in permissions; known are {', '.join(PERMISSION_KEYS)}")
    mode = permissions.get("defaultMode", "default")
    if mode not in MODES:
        _refuse(name, f"permissions.defaultMode is one of {', '.join(MODES)}, got {to_text(mode):.60}")
    allow = permissions.get("allow", [])
    if not isinstance(allow, list):
        _refuse(name, "permissions.allow is a list of rules")
    source = RuleSource(scope="options", file=name, root=os.path.dirname(name))
    for position, rule in enumerate(allow):
        if not isinstance(rule, str):
            _refuse(name, f"permissions.allow[{position}] is no text")
        try:
            parse_rule(rule, "allow", source, position)
        except RuleError as error:
            raise SettingsError(str(error), path=name) from None


def _of_lines(name: str, data: bytes) -> PolicyTable:
    """One case a line; empty lines are skipped."""
    cases = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip():
            try:
                row = _value(name, line)
            except SettingsError:
                _refuse(name, f"line {number} is not one JSON object, or a key stands twice in it")
            cases.append(_case(name, row, f"line {number}"))
    return PolicyTable(cases=tuple(cases))


def _value(name: str, data: bytes) -> Json:
    """The JSON in `data`, in which no key stands twice."""
    document = parse_document(name, data)
    if document.doubled:
        _refuse(name, f"the key {min(document.doubled)!r} stands twice in one object")
    return document.value


def _case(name: str, row: Json, place: str) -> PolicyCase:
    """One row, strictly: a misspelt key would be a check that checks nothing."""
    if not isinstance(row, Mapping):
        _refuse(name, f"{place} is no JSON object")
    if unknown := [key for key in row if key not in _KEYS]:
        _refuse(name, f"{place}: unknown key {unknown[0]!r}; known are {', '.join(_KEYS)}")
    match row.get("tool"), row.get("input"), row.get("expect"), row.get("rule"), row.get("note", ""):
        case str(tool), dict(tool_input), "allow" | "ask" | "deny" as expect, str() | None as rule, str(note) if tool:
            where = f"{os.path.basename(name)} {place}"
            return PolicyCase(tool, tool_input, expect, rule=rule, note=note, where=where)
    if row.get("expect") not in ("allow", "ask", "deny"):
        _refuse(name, f"{place}: expect is allow, ask or deny, got {to_text(row.get('expect')):.60}")
    _refuse(name, f"{place} needs the texts tool and expect and the object input; rule and note are texts")


def _refuse(name: str, reason: str) -> NoReturn:
    raise SettingsError(f"{name}: {reason}", path=name)
