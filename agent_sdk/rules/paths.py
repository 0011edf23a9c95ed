"""Path patterns: gitignore syntax below an anchor, matched segment by segment.

An allow rule is taken narrowly and must cover every reading of a path; a deny or ask rule is taken widely and any
reading will do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from agent_sdk.rules.files import native_to_slashes
from agent_sdk.rules.globs import Token, fits, fold, literal, matches, pieces_of, tokens
from agent_sdk.rules.ground import Anchor, Anchoring, Ground, below
from agent_sdk.rules.rule import Rule
from agent_sdk.rules.spelling import Parts, Spelled, all_folded, all_same_case, folded, joined, same_case

FRESH_FOLDERS = 16
_ESCAPED_SLASH = re.compile(r"(?<!\\)((?:\\\\)*)\\/")  # it separates names all the same


@dataclass(frozen=True, slots=True)
class Segment:
    """One name of a pattern. `text` is set when only one name fits, `parts` when `*` is its only wildcard."""

    text: str | None
    parts: tuple[str, ...] | None
    tokens: tuple[Token, ...]

    def fits(self, name: str) -> bool:
        """True when the segment covers `name`."""
        if self.text is not None:
            return name == self.text
        if self.parts is not None:
            return fits(self.parts, name)
        return matches(self.tokens, name)


@lru_cache(maxsize=1024)  # so that each `*` is `ANY_NAME` itself, by which `covers` knows it
def _segment(found: tuple[Token, ...]) -> Segment:
    return Segment(literal(found), pieces_of(found), found)


ANY_NAME = _segment(tokens("*"))
DEEP: None = None
Segments: TypeAlias = tuple[Segment | None, ...]


def covers(pattern: Segments, names: Sequence[str]) -> bool:
    """True when `pattern` fits all `names`; `DEEP` stands for any number of them."""
    at = here = 0
    deep = -1
    resume = 0
    while here < len(names):
        if at < len(pattern):
            segment = pattern[at]
            if segment is None:
                deep, resume = at, here
                at += 1
                if at == len(pattern) or (pattern[at] is ANY_NAME and at + 1 == len(pattern)):
                    return True  # the usual end of a pattern: there is a name left, and any will do
                continue
            if segment.text == names[here] if segment.text is not None else segment.fits(names[here]):
                at += 1
                here += 1
                continue
        if deep < 0:
            return False
        resume += 1
        at, here = deep + 1, resume
    return all(segment is None for segment in pattern[at:])


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPattern:
    """The pattern of one rule. `segments` lie below the anchor; `folder`: written with a slash at the end.

    `lead` are its leading literal names (deny and ask only): a link among them is followed, and `below_lead` is the
    first segment behind them. `low` are the segments for folded names (deny and ask), or for names on a volume that
    ignores case (allow).
    """

    rule: Rule
    wide: bool
    anchoring: Anchoring
    segments: Segments
    low: Segments
    folder: bool
    lead: Parts
    below_lead: int


def compile_pattern(rule: Rule) -> PathPattern:
    """The pattern of a rule whose specifier is a path."""
    wide = rule.behavior != "allow"
    text = rule.specifier or ""
    if wide:
        text = re.sub(r"(?<!\\)[ \t]+$", "", text)
        if re.match(r"[A-Za-z]:[\\/]", text):
            text = "/" + native_to_slashes(text)
    anchor, rest = _anchor(_ESCAPED_SLASH.sub(r"\1/", text))
    names = [name for name in rest.split("/") if name not in ("", ".")]
    folder = rest.endswith("/")
    loose = anchor == "cwd" and not text.startswith("./")
    segments = [DEEP if name == "**" else _segment(tokens(name)) for name in names]
    lead = _lead(segments) if wide else ()
    floating = loose and _any_depth(names, wide, folder)
    if floating:
        segments.insert(0, DEEP)
    deep = bool(segments) and segments[-1] is DEEP
    if not wide and (folder or deep):
        segments += [ANY_NAME] if deep else [DEEP, ANY_NAME]
    if wide and not folder:
        segments.append(DEEP)
    return PathPattern(
        rule=rule,
        wide=wide,
        anchoring=(anchor, rule.source.root, wide),
        segments=tuple(segments),
        low=_lowered(segments, folded if wide else same_case),
        folder=folder and wide,
        lead=lead,
        below_lead=len(lead) + floating,
    )


def _lead(segments: Sequence[Segment | None]) -> Parts:
    """The leading names of which there is only one."""
    names: list[str] = []
    for segment in segments:
        if segment is None or segment.text is None:
            break
        names.append(segment.text)
    return tuple(names)


def _anchor(text: str) -> tuple[Anchor, str]:
    if text.startswith("//"):
        return "filesystem", text[2:]
    if text == "~" or text.startswith("~/"):
        return "home", text[2:]
    if text.startswith("/"):
        return "source", text[1:]
    return "cwd", text


def _any_depth(names: list[str], wide: bool, folder: bool) -> bool:
    """True for a pattern that begins at the working directory but holds in every folder below it."""
    if len(names) == 1:
        return wide or not folder
    return wide and len(names) == 2 and names[1] == "**"


def _lowered(segments: Sequence[Segment | None], how: Callable[[str], str]) -> Segments:
    return tuple(segment and _segment(fold(segment.tokens, how)) for segment in segments)


def pattern_covers(pattern: PathPattern, reading: Parts, ground: Ground) -> bool:
    """True when `pattern` covers this one reading of a path."""
    if not pattern.wide:
        exact = ground.files.case_sensitive
        segments = pattern.segments if exact else pattern.low
        for base in ground.bases(pattern.anchoring):
            names = below(reading, base, exact)
            if names is not None and covers(segments, names if exact else all_same_case(names)):
                return True
        return False
    return any(_covers_widely(pattern, 0, reading, base, ground) for base in ground.bases(pattern.anchoring))


def _covers_widely(pattern: PathPattern, skip: int, reading: Parts, base: Parts, ground: Ground) -> bool:
    """True when the segments behind the first `skip` ones cover what lies below `base`."""
    low_reading = all_folded(reading)
    size = len(base)
    if reading[:size] != base and low_reading[:size] != all_folded(base):
        return False
    names, low_names = reading[size:], low_reading[size:]
    segments, low = pattern.segments[skip:], pattern.low[skip:]
    if not pattern.folder:
        return covers(low, low_names) or (names != low_names and covers(segments, names))
    contents = (DEEP, ANY_NAME)
    if covers(low + contents, low_names) or covers(segments + contents, names):
        return True
    itself = covers(low, low_names) or covers(segments, names)
    return itself and ground.files.kind(joined(reading)) != "file"


_LeadPaths: TypeAlias = tuple[tuple[Parts, ...], list[tuple[str, list[int]]]]


class PathRules:
    """Path rules of one behaviour, found by a name that they must meet.

    Links in the leading names of deny and ask rules are followed for each call anew; with more than `FRESH_FOLDERS`
    different leads they are followed once, since that would cost more than everything else.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._patterns = [compile_pattern(rule) for rule in rules]
        self._by_name: dict[str, list[int]] = {}
        self._always: list[int] = []
        self._leads: dict[Anchoring, dict[Parts, list[int]]] = {}
        self._lead_paths: dict[Anchoring, _LeadPaths] = {}
        self._followed: tuple[Ground, list[tuple[Parts, list[int]]]] | None = None
        for number, pattern in enumerate(self._patterns):
            key = _key(pattern.segments)
            (self._always if key is None else self._by_name.setdefault(key, [])).append(number)
            if pattern.lead:
                self._leads.setdefault(pattern.anchoring, {}).setdefault(pattern.lead, []).append(number)
        self._names = frozenset(self._by_name)
        self._fresh = sum(map(len, self._leads.values())) <= FRESH_FOLDERS

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def any_reading(self, path: Spelled, ground: Ground) -> Rule | None:
        """The first rule that covers any reading of `path`."""
        if not self._patterns:
            return None
        readings = path.readings
        near = self._near(path.low)
        found = [number for number in near if self._holds(number, readings, ground)] if near else []
        if self._leads:
            for target, numbers in self._follow(ground) if self._fresh else self._targets(ground):
                found += [number for number in numbers if self._holds_below(number, readings, target, ground)]
        return self._patterns[min(found)].rule if found else None

    def all_readings(self, path: Spelled, ground: Ground) -> Rule | None:
        """The first rule that covers every reading of `path`; none covers a path that has no reading."""
        if not (self._patterns and path.readings):
            return None
        near = self._near(path.low[:1])
        for number in sorted(near) if len(near) > 1 else near:
            pattern = self._patterns[number]
            for reading in path.readings:
                if not pattern_covers(pattern, reading, ground):
                    break
            else:
                return pattern.rule
        return None

    @property
    def patterns(self) -> Sequence[PathPattern]:
        """The patterns of the rules, in their order."""
        return self._patterns

    def _near(self, readings: Sequence[Parts]) -> list[int]:
        """The rules that may cover one of the readings, given with folded names."""
        met: set[str] = set()
        for names in readings:
            if not self._names.isdisjoint(names):
                met |= self._names.intersection(names)
        if not met:
            return self._always
        return [*self._always, *[number for name in met for number in self._by_name[name]]]

    def _holds(self, number: int, readings: Sequence[Parts], ground: Ground) -> bool:
        return any(pattern_covers(self._patterns[number], reading, ground) for reading in readings)

    def _holds_below(self, number: int, readings: Sequence[Parts], target: Parts, ground: Ground) -> bool:
        """True when the rule covers a reading once its leading names have led to `target`."""
        pattern = self._patterns[number]
        return any(_covers_widely(pattern, pattern.below_lead, reading, target, ground) for reading in readings)

    def _targets(self, ground: Ground) -> Sequence[tuple[Parts, list[int]]]:
        """What `_follow` found once for this place."""
        if self._followed is None or not self._followed[0].same_place(ground):
            self._followed = (ground, self._follow(ground))
        return self._followed[1]

    def _follow(self, ground: Ground) -> list[tuple[Parts, list[int]]]:
        """Where the leading names of rules lead through links, and which rules."""
        found: list[tuple[Parts, list[int]]] = []
        for anchoring in self._leads:
            bases = ground.bases(anchoring)
            known = self._lead_paths.get(anchoring)
            if known is None or known[0] != bases:
                known = self._paths_of_leads(anchoring, bases)
            for path, numbers in known[1]:
                if links := ground.links(path):
                    found += [(target, numbers) for target in links]
        return found

    def _paths_of_leads(self, anchoring: Anchoring, bases: tuple[Parts, ...]) -> _LeadPaths:
        """The leading names of rules below `bases`, and which rules. That is mere text: the last of it is kept."""
        leads = self._leads[anchoring].items()
        made = (bases, [(joined(base + lead), numbers) for lead, numbers in leads for base in bases])
        self._lead_paths[anchoring] = made
        return made


def _key(segments: Segments) -> str | None:
    """The longest name that a path must hold for `segments` to cover it, as `folded`; `None` when there is none."""
    names = [folded(segment.text) for segment in segments if segment is not None and segment.text is not None]
    return max(names, key=len, default=None)
