"""The folders that the anchors of path rules stand for, each in every spelling that links give it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal as OneOf
from typing import TypeAlias

from agent_sdk.rules.files import FileView, glance, native_to_slashes
from agent_sdk.rules.spelling import Parts, all_same_case, parts
from agent_sdk.values import lazy

Anchor: TypeAlias = OneOf["filesystem", "home", "source", "cwd"]
Anchoring: TypeAlias = tuple[Anchor, str, bool]
"""What a pattern begins at, the folder of the rule's source, and whether the rule is taken widely (deny and ask)."""


class Ground:
    """The folders that anchors stand for. One for each call.

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
        self._fixed = _names_of(fixed)
        self._known: dict[str, tuple[Parts, ...]] = {}
        self._links: dict[str, tuple[Parts, ...]] = {}
        self._bases: dict[Anchoring, tuple[Parts, ...]] = {}

    def spellings(self, folder: str) -> tuple[Parts, ...]:
        """All names of an absolute folder."""
        known = self._known.get(folder)
        if known is None:
            path = native_to_slashes(folder) if self.files.windows else folder
            names, links = parts(path), self.links(path)
            known = self._known[folder] = tuple(dict.fromkeys([names, *links])) if links else (names,)
        return known

    def links(self, path: str) -> tuple[Parts, ...]:
        """Where links lead from `path`; empty when there are none or they lead nowhere."""
        found = self._links.get(path)
        if found is None:
            try:
                hops = self.files.hops(path)
            except (OSError, ValueError):
                hops = ()
            found = self._links[path] = tuple(map(parts, hops)) if hops else ()
        return found

    def same_place(self, other: Ground) -> bool:
        """True when both stand on the same folders of the same disk."""
        return self.disk is other.disk and (self.cwd, self.root, self.additional) == (
            other.cwd,
            other.root,
            other.additional,
        )

    def bases(self, anchoring: Anchoring) -> tuple[Parts, ...]:
        """What an anchor stands for."""
        known = self._bases.get(anchoring)
        if known is None:
            known = self._bases[anchoring] = self._folders(*anchoring)
        return known

    def _folders(self, anchor: Anchor, source: str, wide: bool) -> tuple[Parts, ...]:
        match anchor:
            case "filesystem":
                return ((),)
            case "home":
                return self.spellings(self.files.home)
            case "source":
                folders: tuple[str, ...] = (source,)
            case "cwd":
                folders = (self.root, self.cwd, *self.additional) if wide else (self.root,)
        if not wide:
            return self._settled(folders)
        # Deny and ask hold wherever a folder may lead by now.
        return _distinct([*map(self.spellings, folders), self._settled(folders)])

    def _settled(self, folders: Iterable[str]) -> tuple[Parts, ...]:
        """All names of folders as the session found them; of others, as they are now."""
        return _distinct([self._fixed.get(folder) or self.spellings(folder) for folder in folders])

    @lazy
    def working(self) -> tuple[Parts, ...]:
        """The working directory, the one that the session began in, and the additional ones."""
        cwd = () if self._fixed else (self.cwd,)  # what a `cd` leads to lies in one of the others
        return self._settled((*cwd, self.root, *self.additional))

    def inside(self, reading: Parts) -> bool:
        """True when the path lies in, or is, a working directory."""
        exact = self.files.case_sensitive
        return any(below(reading, base, exact) is not None for base in self.working)


def _distinct(groups: list[tuple[Parts, ...]]) -> tuple[Parts, ...]:
    """Each of the names once, in their order."""
    first = groups[0]
    if all(group is first for group in groups):
        return first
    return tuple(dict.fromkeys([names for group in groups for names in group]))


@lru_cache(maxsize=64)
def _names_of(fixed: tuple[tuple[str, str], ...]) -> Mapping[str, tuple[Parts, ...]]:
    """The names of each folder and of the real folder that it was."""
    return {folder: tuple(dict.fromkeys([parts(folder), parts(real)])) for folder, real in fixed}


def below(path: Parts, base: Parts, exact: bool) -> Parts | None:
    """The names of `path` below `base`, or `None` when it lies elsewhere."""
    size = len(base)
    if path[:size] == base:
        return path[size:]
    if not exact and all_same_case(path[:size]) == all_same_case(base):
        return path[size:]
    return None
