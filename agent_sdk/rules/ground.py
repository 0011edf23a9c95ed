"""The folders that the anchors of path rules stand for, each in every spelling that links give it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Literal as OneOf
from typing import TypeAlias

from agent_sdk.rules.files import FileView, glance, native_to_slashes
from agent_sdk.rules.spelling import Parts, all_same_case, parts
from agent_sdk.values import lazy

Anchor: TypeAlias = OneOf["filesystem", "home", "source", "cwd"]
Anchoring: TypeAlias = tuple[Anchor, str, bool]
"""What a pattern begins at, the folder of the rule's source, and whether the rule is taken widely (deny and ask)."""
Spellings: TypeAlias = Callable[[str], tuple[Parts, ...]]
"""All names of an absolute folder."""

_MAX_ANCHORS = 256


class Site:
    """The folders of a place as text, the same for every call there. What links make of them is the `Ground`'s.

    `root`, `cwd`, `additional` and `fixed` are those of `Ground`.
    """

    def __init__(
        self,
        root: str,
        cwd: str,
        additional: tuple[str, ...],
        fixed: tuple[tuple[str, str], ...],
        home: str,
        windows: bool,
    ) -> None:
        self._root = root
        self._home = home
        self._windows = windows
        self._all = tuple(dict.fromkeys((root, cwd, *additional)))
        # What a `cd` leads to lies in one of the others, once these are fixed.
        self._working = tuple(dict.fromkeys((root, *additional))) if fixed else self._all
        self._fixed = {folder: tuple(dict.fromkeys([parts(folder), parts(real)])) for folder, real in fixed}
        self._plain: dict[Anchoring | None, tuple[tuple[str, ...], tuple[Parts, ...]]] = {}

    def _settled(self, folders: Iterable[str], spellings: Spellings) -> tuple[Parts, ...]:
        """All names of folders as the session found them; of others, as they are now."""
        found = [names for folder in folders for names in self._fixed.get(folder) or spellings(folder)]
        return tuple(dict.fromkeys(found))

    def bases(self, anchoring: Anchoring | None, spellings: Spellings) -> tuple[Parts, ...]:
        """What an anchor stands for; `None`: the working directories."""
        if anchoring is None:
            return self._settled(self._working, spellings)
        anchor, source, wide = anchoring
        match anchor:
            case "filesystem":
                return ((),)
            case "home":
                return spellings(self._home)
            case "source":
                folders: tuple[str, ...] = (source,)
            case "cwd":
                folders = self._all if wide else (self._root,)
        if not wide:
            return self._settled(folders, spellings)
        # Deny and ask hold wherever a folder may lead by now.
        now = [names for folder in folders for names in spellings(folder)]
        return tuple(dict.fromkeys([*now, *self._settled(folders, spellings)]))

    def plain(self, anchoring: Anchoring | None) -> tuple[tuple[str, ...], tuple[Parts, ...]]:
        """What an anchor stands for as long as no link leads away from these paths: the paths, and the folders."""
        return self._plain.get(anchoring) or self._made_plain(anchoring)

    def _made_plain(self, anchoring: Anchoring | None) -> tuple[tuple[str, ...], tuple[Parts, ...]]:
        paths: list[str] = []

        def spelled(folder: str) -> tuple[Parts, ...]:
            paths.append(native_to_slashes(folder) if self._windows else folder)
            return (parts(paths[-1]),)

        bases = self.bases(anchoring, spelled)
        if len(self._plain) >= _MAX_ANCHORS:
            self._plain.clear()
        made = self._plain[anchoring] = (tuple(dict.fromkeys(paths)), bases)
        return made


_site = lru_cache(maxsize=64)(Site)


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
        self._site = _site(self.root, cwd, additional, fixed, disk.home, disk.windows)
        self._known: dict[str, tuple[Parts, ...]] = {}
        self._links: dict[str, tuple[Parts, ...]] = {}
        self._bases: dict[Anchoring | None, tuple[Parts, ...]] = {}

    def spellings(self, folder: str) -> tuple[Parts, ...]:
        """All names of an absolute folder."""
        known = self._known.get(folder)
        if known is None:
            path = native_to_slashes(folder) if self.files.windows else folder
            known = self._known[folder] = tuple(dict.fromkeys([parts(path), *self.links(path)]))
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

    def bases(self, anchoring: Anchoring | None) -> tuple[Parts, ...]:
        """What an anchor stands for; `None`: the working directories."""
        known = self._bases.get(anchoring)
        if known is None:
            paths, known = self._site.plain(anchoring)
            for path in paths:
                if self.links(path):
                    known = self._site.bases(anchoring, self.spellings)
                    break
            self._bases[anchoring] = known
        return known

    @lazy
    def working(self) -> tuple[Parts, ...]:
        """The working directory, the one that the session began in, and the additional ones."""
        return self.bases(None)

    def inside(self, reading: Parts) -> bool:
        """True when the path lies in, or is, a working directory."""
        exact = self.files.case_sensitive
        for base in self.working:
            if below(reading, base, exact) is not None:
                return True
        return False


def below(path: Parts, base: Parts, exact: bool) -> Parts | None:
    """The names of `path` below `base`, or `None` when it lies elsewhere."""
    size = len(base)
    if path[:size] == base:
        return path[size:]
    if not exact and all_same_case(path[:size]) == all_same_case(base):
        return path[size:]
    return None
