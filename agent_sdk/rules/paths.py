"""Path patterns: gitignore syntax below an anchor, matched segment by segment.

An allow rule is taken narrowly and must cover every reading of a path; a deny or ask rule is taken widely and any
reading will do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal as OneOf
from typing import TypeAlias

from agent_sdk.rules.files import FileView, glance, native_to_slashes
from agent_sdk.rules.globs import Token, fits, fold, literal, matches, pieces_of, tokens
from agent_sdk.rules.rule import Rule
from agent_sdk.rules.spelling import Parts, Spelled, folded, joined, parts, same_case
from agent_sdk.values import lazy

Anchor: TypeAlias = OneOf["filesystem", "home", "source", "cwd"]

FRESH_FOLDERS = 16


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
                continue
            if segment.fits(names[here]):
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
    anchor: Anchor
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
    anchor, rest = _anchor(text)
    names = [name for name in rest.split("/") if name not in ("", ".")]
    folder = rest.endswith("/")
    loose = anchor == "cwd" and not text.startswith("./")
    segments = [DEEP if name == "**" else _segment(tokens(name)) for name in names]
    lead = _lead(segments) if wide else ()
    floating = loose and _any_depth(names, wide, folder)
    if floating:
        segments.insert(0, DEEP)
    if not wide and (folder or (segments and segments[-1] is DEEP)):
        segments += [DEEP, ANY_NAME]
    if wide and not folder:
        segments.append(DEEP)
    return PathPattern(
        rule=rule,
        wide=wide,
        anchor=anchor,
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


class Ground:
    """The folders that anchors stand for, each in every spelling that links give it. One for each call.

    `root` is where the session began: relative rules are anchored there, wherever a `cd` has led since. `fixed` tells
    where working directories really were then: one that became a link meanwhile widens nothing. `files` is how the
    judgement looks at the disk: what it saw is kept as long as it lives.
    """

    def __init__(
        self,
        cwd: str,
        additional: tuple[str, ...],
        disk: FileView,
        *,
        root: str = "",
        fixed: tuple[tuple[str, str], ...] = (),
        files: FileView | None = None,
    ) -> None:
        self.cwd = cwd
        self.root = root or cwd
        self.additional = additional
        self.disk = disk
        self.files = files or glance(disk)
        self._fixed = {folder: tuple(dict.fromkeys([parts(folder), parts(real)])) for folder, real in fixed}
        self._known: dict[str, tuple[Parts, ...]] = {}
        self._links: dict[str, tuple[Parts, ...]] = {}
        self._bases: dict[tuple[Anchor, str, bool], tuple[Parts, ...]] = {}

    def spellings(self, folder: str) -> tuple[Parts, ...]:
        """All names of an absolute folder."""
        known = self._known.get(folder)
        if known is None:
            path = native_to_slashes(folder) if self.files.windows else folder
            known = tuple(dict.fromkeys([parts(path), *self.links(path)]))
            self._known[folder] = known
        return known

    def links(self, path: str) -> tuple[Parts, ...]:
        """Where links lead from `path`; empty when there are none or they lead nowhere."""
        found = self._links.get(path)
        if found is None:
            try:
                found = tuple(parts(hop) for hop in self.files.hops(path))
            except (OSError, ValueError):
                found = ()
            self._links[path] = found
        return found

    def same_place(self, other: Ground) -> bool:
        """True when both stand on the same folders of the same disk."""
        return self.disk is other.disk and (self.cwd, self.root, self.additional) == (
            other.cwd,
            other.root,
            other.additional,
        )

    def bases(self, pattern: PathPattern) -> tuple[Parts, ...]:
        """What the anchor of `pattern` stands for."""
        anchor = (pattern.anchor, pattern.rule.source.root, pattern.wide)
        known = self._bases.get(anchor)
        if known is None:
            known = self._bases[anchor] = self._folders(pattern)
        return known

    def _folders(self, pattern: PathPattern) -> tuple[Parts, ...]:
        match pattern.anchor:
            case "filesystem":
                return ((),)
            case "home":
                return self.spellings(self.files.home)
            case "source":
                folders: tuple[str, ...] = (pattern.rule.source.root,)
            case "cwd":
                folders = (self.root, self.cwd, *self.additional) if pattern.wide else (self.root,)
        if pattern.wide:  # deny and ask hold wherever a folder may lead by now
            now = tuple(names for folder in folders for names in self.spellings(folder))
            return tuple(dict.fromkeys([*now, *self._settled(folders)]))
        return self._settled(folders)

    def _settled(self, folders: Iterable[str]) -> tuple[Parts, ...]:
        """All names of folders as the session found them; of others, as they are now."""
        return tuple(
            names for folder in dict.fromkeys(folders) for names in self._fixed.get(folder) or self.spellings(folder)
        )

    @lazy
    def working(self) -> tuple[Parts, ...]:
        """The working directory, the one that the session began in, and the additional ones."""
        cwd = () if self._fixed else (self.cwd,)  # what a `cd` leads to lies in one of the others
        return self._settled((*cwd, self.root, *self.additional))

    def inside(self, reading: Parts) -> bool:
        """True when the path lies in, or is, a working directory."""
        exact = self.files.case_sensitive
        return any(_below(reading, base, exact) is not None for base in self.working)


def _below(path: Parts, base: Parts, exact: bool) -> Parts | None:
    """The names of `path` below `base`, or `None` when it lies elsewhere."""
    size = len(base)
    if path[:size] == base:
        return path[size:]
    if not exact and _same_case(path[:size]) == _same_case(base):
        return path[size:]
    return None


@lru_cache(maxsize=1024)
def _folded(path: Parts) -> Parts:
    return tuple(map(folded, path))


@lru_cache(maxsize=1024)
def _same_case(path: Parts) -> Parts:
    return tuple(map(same_case, path))


def pattern_covers(pattern: PathPattern, reading: Parts, ground: Ground) -> bool:
    """True when `pattern` covers this one reading of a path."""
    if not pattern.wide:
        exact = ground.files.case_sensitive
        segments = pattern.segments if exact else pattern.low
        for base in ground.bases(pattern):
            names = _below(reading, base, exact)
            if names is not None and covers(segments, names if exact else _same_case(names)):
                return True
        return False
    return any(_covers_widely(pattern, 0, reading, base, ground) for base in ground.bases(pattern))


def _covers_widely(pattern: PathPattern, skip: int, reading: Parts, base: Parts, ground: Ground) -> bool:
    """True when the segments behind the first `skip` ones cover what lies below `base`."""
    low_reading = _folded(reading)
    size = len(base)
    if reading[:size] != base and low_reading[:size] != _folded(base):
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


class PathRules:
    """Path rules of one behaviour, found by a name that they must meet.

    Links in the leading names of deny and ask rules are followed for each call anew; with more than `FRESH_FOLDERS`
    different leads they are followed once, since that would cost more than everything else.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._patterns = [compile_pattern(rule) for rule in rules]
        self._by_name: dict[str, list[int]] = {}
        self._always: list[int] = []
        self._leads: dict[tuple[Anchor, str, Parts], list[int]] = {}
        self._followed: tuple[Ground, list[tuple[Parts, list[int]]]] | None = None
        for number, pattern in enumerate(self._patterns):
            key = _key(pattern.segments)
            (self._always if key is None else self._by_name.setdefault(key, [])).append(number)
            if pattern.lead:
                lead = (pattern.anchor, pattern.rule.source.root, pattern.lead)
                self._leads.setdefault(lead, []).append(number)

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def any_reading(self, path: Spelled, ground: Ground) -> Rule | None:
        """The first rule that covers any reading of `path`."""
        if not self._patterns:
            return None
        found = [number for number in self._near(path.readings) if self._holds(number, path.readings, ground)]
        found += self._through_links(path.readings, ground)
        return self._patterns[min(found)].rule if found else None

    def all_readings(self, path: Spelled, ground: Ground) -> Rule | None:
        """The first rule that covers every reading of `path`; none covers a path that has no reading."""
        if not path.readings:
            return None
        for number in sorted(self._near(path.readings[:1])):
            pattern = self._patterns[number]
            if all(pattern_covers(pattern, reading, ground) for reading in path.readings):
                return pattern.rule
        return None

    @property
    def patterns(self) -> Sequence[PathPattern]:
        """The patterns of the rules, in their order."""
        return self._patterns

    def _near(self, readings: Sequence[Parts]) -> list[int]:
        """The rules that may cover one of the readings."""
        if not self._by_name:
            return self._always
        names = self._by_name.keys() & set().union(*map(_folded, readings))
        return [*self._always, *[number for name in names for number in self._by_name[name]]]

    def _holds(self, number: int, readings: Sequence[Parts], ground: Ground) -> bool:
        return any(pattern_covers(self._patterns[number], reading, ground) for reading in readings)

    def _through_links(self, readings: Sequence[Parts], ground: Ground) -> list[int]:
        """The rules that cover a reading once links in their leading names are followed."""
        return [
            number
            for target, numbers in self._targets(ground)
            for number in numbers
            if any(self._holds_below(number, reading, target, ground) for reading in readings)
        ]

    def _holds_below(self, number: int, reading: Parts, target: Parts, ground: Ground) -> bool:
        pattern = self._patterns[number]
        return _covers_widely(pattern, pattern.below_lead, reading, target, ground)

    def _targets(self, ground: Ground) -> list[tuple[Parts, list[int]]]:
        """Where the leading names of rules lead through links, and which rules."""
        if len(self._leads) <= FRESH_FOLDERS:
            return [*self._follow(ground)]
        if self._followed is None or not self._followed[0].same_place(ground):
            self._followed = (ground, [*self._follow(ground)])
        return self._followed[1]

    def _follow(self, ground: Ground) -> Iterator[tuple[Parts, list[int]]]:
        for (_, _, lead), numbers in self._leads.items():
            for base in ground.bases(self._patterns[numbers[0]]):
                for target in ground.links(joined(base + lead)):
                    yield target, numbers


def _key(segments: Segments) -> str | None:
    """The longest name that a path must hold for `segments` to cover it, as `folded`; `None` when there is none."""
    names = [folded(segment.text) for segment in segments if segment is not None and segment.text is not None]
    return max(names, key=len, default=None)
