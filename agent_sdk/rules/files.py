"""FileView: the only view of a disk that rules have. It follows links and tells kinds; it never reads a file.

Paths are absolute, with forward slashes; a Windows drive is the first folder (`C:\\x` is `/c/x`).
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import Literal, Protocol, TypeAlias

Kind: TypeAlias = Literal["file", "dir"]

MAX_HOPS = 40
_DELETED = " (deleted)"  # what Linux puts behind the name of a thing that is gone
_MAX_WAYS = 4_000  # letters: each look searches all of them


class FileView(Protocol):
    """What rules may know of a disk.

    `case_sensitive` says whether the volume keeps `A` and `a` apart, `windows` whether paths are spelled as on Windows.
    """

    @property
    def home(self) -> str:
        """The folder that `~` stands for, spelled as on that system."""
        ...

    @property
    def case_sensitive(self) -> bool:
        """False when `A` and `a` name the same file."""
        ...

    @property
    def windows(self) -> bool:
        """True when backslashes separate and drives have letters."""
        ...

    def hops(self, path: str) -> tuple[str, ...]:
        """Where the absolute `path` leads, link by link; the last item is the real path.

        A part that does not exist is kept as it is written, so a dangling link ends in its target. `..` is taken after
        the link before it was followed. Empty when no link and no `..` lies on the way. Raises OSError when more than
        `MAX_HOPS` links follow one another.
        """
        ...

    def kind(self, path: str) -> Kind | None:
        """What exists at `path`, links followed; `None` when nothing does."""
        ...


def native_to_slashes(path: str) -> str:
    """A Windows spelling with forward slashes and the drive as first folder: `C:\\a` becomes `/c/a`."""
    path = path.replace("\\", "/")
    if path[1:2] == ":" and path[:1].isascii() and path[:1].isalpha():
        return f"/{path[0].lower()}/{path[2:].lstrip('/')}"
    return path


def follow(path: str, link_target: Callable[[str], str | None]) -> tuple[str, ...]:
    """The hops of `path` on a disk whose links `link_target` tells. See `FileView.hops`."""
    if _no_link(path, link_target):
        return ()
    todo = path.split("/")[::-1]
    done: list[str] = []
    seen: list[str] = []
    climbed = False
    while todo:
        name = todo.pop()
        if name in ("", "."):
            continue
        if name == "..":
            climbed = True
            if done:
                done.pop()
            continue
        done.append(name)
        target = link_target("/" + "/".join(done))
        if target is None:
            continue
        if len(seen) >= MAX_HOPS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        done.pop()
        rest = target.split("/")
        todo += rest[::-1]
        if target.startswith("/"):
            done = []
        seen.append("/" + "/".join([*done, *todo[::-1]]))
    if not seen and not climbed:
        return ()
    return (*seen, "/" + "/".join(done))


def _no_link(path: str, link_target: Callable[[str], str | None]) -> bool:
    """True when no link and no `..` lies on the way: by far the most paths."""
    here = ""
    for name in path.split("/"):
        if name in ("", "."):
            continue
        here = f"{here}/{name}"
        if name == ".." or link_target(here) is not None:
            return False
    return True


class OsFiles:
    """The real disk of this machine.

    `home=None` is the home folder of the user; `platform` is `linux`, `darwin` or `win32`, `None` = this machine;
    `case_sensitive=None` is what is usual on the platform. Only links and kinds are looked at: no file is opened for
    what it holds.
    """

    def __init__(
        self, home: str | None = None, case_sensitive: bool | None = None, platform: str | None = None
    ) -> None:
        system = platform or sys.platform
        self.home = home if home is not None else os.path.expanduser("~")
        self.windows = system == "win32"
        self.case_sensitive = system not in ("win32", "darwin") if case_sensitive is None else case_sensitive

    def hops(self, path: str) -> tuple[str, ...]:
        """See `FileView.hops`. A part that may not be looked at counts as no link."""
        return follow(path, _link_on_disk)

    def kind(self, path: str) -> Kind | None:
        """See `FileView.kind`. What may not be looked at counts as absent."""
        return _kind_on_disk(path)


def _link_on_disk(path: str) -> str | None:
    try:
        return os.readlink(path) if stat.S_ISLNK(os.lstat(path).st_mode) else None
    except (OSError, ValueError):
        return None


def _straight_on_disk(path: str) -> bool:
    """True when the system names what lies at the absolute `path` by this very path, so that no link leads there.

    One look instead of one for each name; the path is located for it (`O_PATH`), which opens nothing. False as well
    when that cannot be told: nothing is there, or the system has no such look. Then each name is to be looked at.
    """
    if sys.platform != "linux" or path.endswith(_DELETED):
        return False
    try:
        located = os.open(path, os.O_PATH)
    except (OSError, ValueError):
        return False
    try:
        return os.readlink(f"/proc/self/fd/{located}") == path
    except OSError:
        return False
    finally:
        os.close(located)


def _names_on(way: str) -> Iterable[str]:
    """The absolute paths of all names on an absolute path, the path itself last."""
    return accumulate(way[1:].split("/"), "{}/{}".format, initial="")


def _kind_on_disk(path: str) -> Kind | None:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return None
    return "dir" if stat.S_ISDIR(mode) else "file"


class Glance:
    """The real disk for one judgement: what was seen of a name counts to the end, and afterwards it tells all of it.

    It is the disk of one moment, so nothing else may be judged by it; `still_so` compares it with the disk of now.
    """

    def __init__(self, files: OsFiles) -> None:
        self.home = files.home
        self.case_sensitive = files.case_sensitive
        self.windows = files.windows
        self._ways = ""  # the paths on which nothing is a link, between NULs and with a slash behind each
        self._straight: set[str] = set()  # single names that are no links; those above them are known as well
        self._links: dict[str, str] = {}
        self._kinds: dict[str, Kind | None] = {}

    def hops(self, path: str) -> tuple[str, ...]:
        """See `FileView.hops`."""
        if self._is_straight(path):
            return ()
        folder, _, name = path.rpartition("/")
        if not self._is_straight(folder):
            if self._links or len(self._ways) > _MAX_WAYS:  # a link that was seen must not be found gone
                return follow(path, self._link)
            if _straight_on_disk(path):
                self._ways += f"\0{path}/"
                return ()
            if not _straight_on_disk(folder):
                return follow(path, self._link)
            self._ways += f"\0{folder}/"
        if folder == "/" or name in ("", ".", "..") or self._look(path) is not None:
            return follow(path, self._link)
        return ()

    def _is_straight(self, path: str) -> bool:
        """True when it was seen that nothing is a link on the absolute `path`."""
        return (f"\0{path}/" in self._ways and "\0" not in path) or path in self._straight

    def _link(self, path: str) -> str | None:
        return None if self._is_straight(path) else self._look(path)

    def _look(self, path: str) -> str | None:
        found = self._links.get(path) or _link_on_disk(path)
        if found is None:
            self._straight.add(path)
        else:
            self._links[path] = found
        return found

    def kind(self, path: str) -> Kind | None:
        """See `FileView.kind`."""
        if path not in self._kinds:
            self._kinds[path] = _kind_on_disk(path)
        return self._kinds[path]

    @property
    def ways(self) -> tuple[str, ...]:
        """Paths that were seen in one look: nothing is a link on them."""
        return tuple(self._ways[1:-1].split("/\0")) if self._ways else ()

    @property
    def letters(self) -> int:
        """About the length of all names together that were looked at, and of what links say."""
        size = len(self._ways) + len("".join(self._straight))
        if self._links or self._kinds:
            size += len("".join((*self._links, *self._links.values(), *self._kinds)))
        return size

    def leads(self, path: str) -> str | None:
        """Where the absolute `path` led when it was looked at, links followed; it may not exist.

        `None` when it led nowhere, or when not all of the way was looked at.
        """
        on_ways = (name for way in self.ways for name in _names_on(way))
        targets = {**dict.fromkeys(self._straight), **dict.fromkeys(on_ways), **self._links}
        try:
            hops = follow(path, targets.__getitem__)
        except (KeyError, OSError):
            return None
        return hops[-1] if hops else "/" + "/".join(name for name in path.split("/") if name not in ("", "."))

    def still_so(self) -> bool:
        """True when all that was seen is as it was. Everything is looked at anew."""
        for path in self.ways:
            if not _straight_on_disk(path) and not _no_link(path, _link_on_disk):
                return False
        look, is_link = os.lstat, stat.S_ISLNK
        for path in self._straight:
            try:
                if is_link(look(path).st_mode):
                    return False
            except (OSError, ValueError):
                pass  # as in `_link_on_disk`: what may not be looked at counts as no link
        for path, target in self._links.items():
            if _link_on_disk(path) != target:
                return False
        return all(_kind_on_disk(path) == kind for path, kind in self._kinds.items()) if self._kinds else True


def glance(files: FileView) -> FileView:
    """The real disk for one judgement; any other view as it is."""
    return Glance(files) if type(files) is OsFiles else files


class TableFiles:
    """A disk written down as a table, for tests and dry runs: `links` maps a link to its target.

    Nothing else exists, except the folders on the way to what is named.
    """

    def __init__(
        self,
        links: Mapping[str, str] | None = None,
        dirs: Iterable[str] = (),
        files: Iterable[str] = (),
        *,
        home: str = "/home/dev",
        case_sensitive: bool = True,
        windows: bool = False,
    ) -> None:
        self.home = home
        self.case_sensitive = case_sensitive
        self.windows = windows
        self._links = {self._key(link): self._spelled(target) for link, target in (links or {}).items()}
        self._files = {self._key(path) for path in files}
        self._dirs = {self._key(path) for path in dirs}
        for path in [*self._files, *self._dirs, *self._links]:
            while path := path.rpartition("/")[0]:
                self._dirs.add(path)

    def _spelled(self, path: str) -> str:
        return native_to_slashes(path) if self.windows else path

    def _key(self, path: str) -> str:
        path = self._spelled(path)
        path = path if len(path) == 1 else path.rstrip("/")
        return path if self.case_sensitive else path.casefold()

    def hops(self, path: str) -> tuple[str, ...]:
        """See `FileView.hops`."""
        if not self._links and "/../" not in path and not path.endswith("/.."):
            return ()
        return follow(self._spelled(path), lambda name: self._links.get(self._key(name)))

    def kind(self, path: str) -> Kind | None:
        """See `FileView.kind`."""
        try:
            real = self._key((self.hops(path) or (path,))[-1])
        except OSError:
            return None
        if real in self._files:
            return "file"
        return "dir" if real in self._dirs or real == "/" else None
