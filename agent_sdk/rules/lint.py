"""What people should know of the rules in force: which of them can do nothing, and which do more than one thinks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_sdk.rules.escapes import INTERPRETERS, SHELLS
from agent_sdk.rules.names import name_covers
from agent_sdk.rules.rule import Rule

_WIDE = ("Bash", "Write", "Edit")
_STRICTER = {"allow": ("deny", "ask"), "ask": ("deny",), "deny": ()}


def lint(rules: Sequence[Rule]) -> list[str]:
    """One sentence for each remark, naming the rule and its place. Pure."""
    return [*_doubled(rules), *_shadowed(rules), *_wide(rules)]


def _named(rule: Rule) -> str:
    return f"{rule.where}: {rule.text!r}"


def _doubled(rules: Sequence[Rule]) -> Iterator[str]:
    first: dict[tuple[str, str, str | None], Rule] = {}
    for rule in rules:
        before = first.setdefault((rule.behavior, rule.tool, rule.specifier), rule)
        if before is not rule:
            yield f"{_named(rule)} says the same as {before.where}"


def _shadowed(rules: Sequence[Rule]) -> Iterator[str]:
    """A rule is dead when a stricter one takes every call that it could cover."""
    for rule in rules:
        for other in rules:
            if other.behavior in _STRICTER[rule.behavior] and _takes_all(other, rule):
                yield f"{_named(rule)} can never count: {other.text!r} in {other.where} comes first"
                break


def _takes_all(other: Rule, rule: Rule) -> bool:
    if other.specifier is None:
        return name_covers(other, rule.tool, None)
    return (other.tool, other.specifier) == (rule.tool, rule.specifier)


def _wide(rules: Sequence[Rule]) -> Iterator[str]:
    for rule in rules:
        if rule.behavior != "allow":
            continue
        if rule.specifier is None and rule.tool in _WIDE:
            yield f"{_named(rule)} lets every call of {rule.tool} pass without a question"
        elif rule.tool == "Bash" and rule.specifier is not None:
            program, _, rest = rule.specifier.replace(":*", " *").partition(" ")
            bare = program.rstrip("0123456789.")
            if rest.strip() == "*" and (program in SHELLS or bare in INTERPRETERS):
                yield f"{_named(rule)} lets any program run: {program} takes one as its argument"
