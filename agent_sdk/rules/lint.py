"""What people should know of the rules in force: which of them can do nothing, and which do more than one thinks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_sdk.rules.files import TableFiles
from agent_sdk.rules.matching import Found, Place, Rulebook
from agent_sdk.rules.probes import Probe, probes
from agent_sdk.rules.remarks import remarks
from agent_sdk.rules.rule import Rule, RuleBehavior

_SHOWN = 100
_BEHAVIORS: tuple[RuleBehavior, ...] = ("deny", "ask", "allow")


def lint(rules: Sequence[Rule], *, cwd: str = "/project", home: str = "/home/person") -> list[str]:
    """One sentence for each remark, naming the rule and its place. Pure: no disk is looked at.

    `cwd` and `home` are what relative paths and `~/` stand for.
    """
    place = Place(cwd, files=TableFiles(home=home))
    made = {rule: probes(rule, place) for rule in rules}
    said = {rule: list(remarks(rule, place)) for rule in made}
    own = [f"{_named(rule)} {remark}" for rule, found in said.items() for remark in found]
    doubled = dict(_doubled(rules))
    shadowed = dict(_shadowed(rules, made, place))
    useless = _useless([rule for rule in made if rule not in doubled and rule not in shadowed], made, place)
    return [*doubled.values(), *shadowed.values(), *useless, *own]


def _named(rule: Rule) -> str:
    return f"{rule.where}: {_short(rule)}"


def _short(rule: Rule) -> str:
    """The rule as it is quoted in remarks: whole commands saved as rules can have many lines."""
    text = repr(rule.text)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _doubled(rules: Sequence[Rule]) -> Iterator[tuple[Rule, str]]:
    first: dict[tuple[str, str, str | None], Rule] = {}
    for rule in rules:
        before = first.setdefault((rule.behavior, rule.tool, rule.specifier), rule)
        if before is not rule:
            yield rule, f"{_named(rule)} says the same as {before.where}"


def _shadowed(rules: Sequence[Rule], made: dict[Rule, tuple[Probe, ...]], place: Place) -> Iterator[tuple[Rule, str]]:
    """A rule is dead when stricter ones take every call that it could cover."""
    stricter = {
        "ask": Rulebook(rule for rule in rules if rule.behavior == "deny"),
        "allow": Rulebook(rule for rule in rules if rule.behavior != "allow"),
    }
    for rule in made:
        book = stricter.get(rule.behavior)
        other = None if book is None else _taker(book, ("deny", "ask"), made[rule], place)
        if other is not None:
            yield rule, f"{_named(rule)} can never count: {_short(other)} in {other.where} comes first"


def _useless(rules: Sequence[Rule], made: dict[Rule, tuple[Probe, ...]], place: Place) -> Iterator[str]:
    """A rule adds nothing when others of its own list cover whatever it covers."""
    for behavior in _BEHAVIORS:
        own = [rule for rule in rules if rule.behavior == behavior]
        broader: dict[Rule, Rule] = {}
        _compare(own, behavior, made, place, broader)
        for rule in own:
            if (other := broader.get(rule)) is not None:
                yield f"{_named(rule)} adds nothing: {_short(other)} in {other.where} covers it"


def _compare(
    rules: Sequence[Rule],
    behavior: RuleBehavior,
    made: dict[Rule, tuple[Probe, ...]],
    place: Place,
    broader: dict[Rule, Rule],
) -> None:
    """Find for each rule a broader one, by halves: each rule meets books that hold all others, and never itself.

    Of two rules that cover the same the later one is useless.
    """
    if len(rules) < 2:
        return
    middle = len(rules) // 2
    left, right = rules[:middle], rules[middle:]
    for half, others in ((right, left), (left, right)):
        book = Rulebook(others)
        for rule in half:
            other = None if rule in broader else _taker(book, (behavior,), made[rule], place)
            if other is None or (half is left and _same(rule, other, behavior, made, place)):
                continue
            broader[rule] = other
    _compare(left, behavior, made, place, broader)
    _compare(right, behavior, made, place, broader)


def _same(rule: Rule, other: Rule, behavior: RuleBehavior, made: dict[Rule, tuple[Probe, ...]], place: Place) -> bool:
    return _taker(Rulebook([rule]), (behavior,), made[other], place) is not None


def _taker(book: Rulebook, behaviors: Sequence[RuleBehavior], made: Sequence[Probe], place: Place) -> Rule | None:
    """The rule of the book that takes all these calls, the last one named; `None` when one call is left."""
    taker: Rule | None = None
    for probe in made:
        found = _first(book, behaviors, probe, place)
        if found is None:
            return None
        taker = found.rule
    return taker


def _first(book: Rulebook, behaviors: Sequence[RuleBehavior], probe: Probe, place: Place) -> Found | None:
    reading = probe.reading(place)
    asks = {"deny": book.deny, "ask": book.ask, "allow": book.allow}
    return next((found for behavior in behaviors if (found := asks[behavior](reading)) is not None), None)
