"""Path patterns: gitignore syntax below an anchor, matched segment by segment.

An allow rule is taken narrowly and must cover every reading of a path; a deny or ask rule is taken widely and any
reading will do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal as OneOf
from typing import TypeAlias

from agent_sdk.rules.files import FileView, native_to_slashes
from agent_sdk.rules.globs import Token, fits, fold, literal, matches, pieces_of, tokens
from agent_sdk.rules.rule import Rule
from agent_sdk.rules.spelling import Parts, Spelled, folded, joined, parts, same_case

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


def may_be_same(glob: str, name: str) -> bool:
    """True when the shell glob may expand to `name`: wildcards do not stand for a dot at the start."""
    if not any(char in glob for char in "*?[{"):
        return folded(glob) == folded(name)
    if name.startswith(".") and not glob.startswith((".", "{")):
        return False
    return "{" in glob or matches(fold(tokens(glob), folded), folded(name))


def could_meet(pattern: Segments, names: Sequence[str]) -> bool:
    """True when `pattern` may fit something that the shell glob `names` expands to. It rather says so than not."""
    reached = {0}
    for name in names:
        following: set[int] = set()
        for at in _past_deep(pattern, reached):
            if at >= len(pattern):
                continue
            segment = pattern[at]
            if segment is None:
                following.add(at)
            elif segment.text is not None:
                if may_be_same(name, segment.text):
                    following.add(at + 1)
            elif any(char in name for char in "*?[{") or segment.fits(name):
                following.add(at + 1)
        reached = following
    return len(pattern) in _past_deep(pattern, reached)


def _past_deep(pattern: Segments, places: set[int]) -> set[int]:
    """`places`, and those behind each `DEEP` that stands there: it may stand for nothing."""
    found = set(places)
    for at in sorted(places):
        while at < len(pattern) and pattern[at] is None:
            at += 1
            found.add(at)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPattern:
    """The pattern of one rule. `segments` lie below the anchor; `folder`: written with a slash at the end.

    `lead` are its leading literal names (deny and ask only): a link among them is followed.
    """

    rule: Rule
    wide: bool
    anchor: Anchor
    segments: Segments
    folder: bool
    lead: Parts


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
    lead: list[str] = []
    if loose and _any_depth(names, wide, folder):
        segments.insert(0, DEEP)
    elif wide:
        for segment in segments:
            if segment is None or segment.text is None:
                break
            lead.append(segment.text)
    if not wide and (folder or (segments and segments[-1] is DEEP)):
        segments += [DEEP, ANY_NAME]
    if wide and not folder:
        segments.append(DEEP)
    return PathPattern(
        rule=rule, wide=wide, anchor=anchor, segments=tuple(segments), folder=folder and wide, lead=tuple(lead)
    )


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


@lru_cache(maxsize=8192)
def _lowered(segments: Segments, how: Callable[[str], str]) -> Segments:
    return tuple(segment and _segment(fold(segment.tokens, how)) for segment in segments)


@dataclass(frozen=True)
class Ground:
    """The folders that anchors stand for, each in every spelling that links give it. One for each call."""

    cwd: str
    additional: tuple[str, ...]
    files: FileView

    @cached_property
    def _known(self) -> dict[str, tuple[Parts, ...]]:
        return {}

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
        try:
            return tuple(parts(hop) for hop in self.files.hops(path))
        except (OSError, ValueError):
            return ()

    def bases(self, pattern: PathPattern) -> tuple[Parts, ...]:
        """What the anchor of `pattern` stands for."""
        match pattern.anchor:
            case "filesystem":
                return ((),)
            case "home":
                return self.spellings(self.files.home)
            case "source":
                return self.spellings(pattern.rule.source.root)
            case "cwd":
                found = self.spellings(self.cwd)
                if pattern.wide:
                    for folder in self.additional:
                        found += self.spellings(folder)
                return found

    @cached_property
    def working(self) -> tuple[Parts, ...]:
        """The working directory and the additional ones."""
        return tuple(names for folder in (self.cwd, *self.additional) for names in self.spellings(folder))

    def inside(self, reading: Parts) -> bool:
        """True when the path lies in, or is, a working directory."""
        exact = self.files.case_sensitive
        return any(_below(reading, base, exact) is not None for base in self.working)


def _below(path: Parts, base: Parts, exact: bool) -> Parts | None:
    """The names of `path` below `base`, or `None` when it lies elsewhere."""
    size = len(base)
    if path[:size] == base:
        return path[size:]
    if not exact and tuple(map(same_case, path[:size])) == tuple(map(same_case, base)):
        return path[size:]
    return None


def _below_folded(path: Parts, base: Parts) -> Parts | None:
    size = len(base)
    if path[:size] == base or tuple(map(folded, path[:size])) == tuple(map(folded, base)):
        return path[size:]
    return None


def pattern_covers(pattern: PathPattern, reading: Parts, ground: Ground) -> bool:
    """True when `pattern` covers this one reading of a path."""
    if not pattern.wide:
        exact = ground.files.case_sensitive
        segments = pattern.segments if exact else _lowered(pattern.segments, same_case)
        for base in ground.bases(pattern):
            names = _below(reading, base, exact)
            if names is not None and covers(segments, names if exact else tuple(map(same_case, names))):
                return True
        return False
    return any(_covers_widely(pattern, pattern.segments, reading, base, ground) for base in ground.bases(pattern))


def _covers_widely(pattern: PathPattern, segments: Segments, reading: Parts, base: Parts, ground: Ground) -> bool:
    names = _below_folded(reading, base)
    if names is None:
        return False
    low_names = tuple(map(folded, names))
    low = _lowered(segments, folded)
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
        self._remembered: dict[tuple[int, str, Parts], tuple[Parts, ...]] = {}
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

    def could_cover(self, names: Parts, ground: Ground) -> bool:
        """True when a deny or ask rule may cover something that the shell glob `names` expands to."""
        return any(
            len(names) >= len(base)
            and all(may_be_same(name, each) for name, each in zip(names, base, strict=False))
            and could_meet(pattern.segments, names[len(base) :])
            for pattern in self._patterns
            for base in ground.bases(pattern)
        )

    def _near(self, readings: Sequence[Parts]) -> list[int]:
        """The rules that may cover one of the readings."""
        names = {folded(name) for reading in readings for name in reading}
        return [*self._always, *(number for name in names for number in self._by_name.get(name, ()))]

    def _holds(self, number: int, readings: Sequence[Parts], ground: Ground) -> bool:
        return any(pattern_covers(self._patterns[number], reading, ground) for reading in readings)

    def _through_links(self, readings: Sequence[Parts], ground: Ground) -> list[int]:
        """The rules that cover a reading once links in their leading names are followed."""
        found = []
        for (_, _, lead), numbers in self._leads.items():
            for base in ground.bases(self._patterns[numbers[0]]):
                for target in self._targets(base, lead, ground):
                    for number in numbers:
                        pattern = self._patterns[number]
                        rest = pattern.segments[len(lead) :]
                        if any(_covers_widely(pattern, rest, reading, target, ground) for reading in readings):
                            found.append(number)
        return found

    def _targets(self, base: Parts, lead: Parts, ground: Ground) -> tuple[Parts, ...]:
        path = joined(base + lead)
        if len(self._leads) <= FRESH_FOLDERS:
            return ground.links(path)
        key = (id(ground.files), path, ())
        known = self._remembered.get(key)
        if known is None:
            known = self._remembered[key] = ground.links(path)
        return known


def _key(segments: Segments) -> str | None:
    """The longest name that a path must hold for `segments` to cover it, as `folded`; `None` when there is none."""
    names = [folded(segment.text) for segment in segments if segment is not None and segment.text is not None]
    return max(names, key=len, default=None)
