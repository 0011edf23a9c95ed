"""May a path rule cover something that an unquoted glob in a command expands to? It rather says so than not."""

from __future__ import annotations

from collections.abc import Sequence

from agent_sdk.rules.globs import fold, matches, tokens
from agent_sdk.rules.ground import Ground
from agent_sdk.rules.paths import PathRules, Segments
from agent_sdk.rules.spelling import Parts, folded

_WILD = frozenset("*?[{")


def could_cover(rules: PathRules, names: Parts, ground: Ground) -> bool:
    """True when a deny or ask rule may cover something that the shell glob `names` expands to."""
    return any(
        len(names) >= len(base)
        and all(may_be_same(name, each) for name, each in zip(names, base, strict=False))
        and could_meet(pattern.segments, names[len(base) :])
        for pattern in rules.patterns
        for base in ground.bases(pattern.anchoring)
    )


def may_be_same(glob: str, name: str) -> bool:
    """True when the shell glob may expand to `name`: wildcards do not stand for a dot at the start."""
    if _WILD.isdisjoint(glob):
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
            elif not _WILD.isdisjoint(name) or segment.fits(name):
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
