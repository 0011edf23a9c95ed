"""Following links: the table and the real disk agree, and nothing hangs."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk import PermissionPolicy
from agent_sdk.rules.files import _MAX_WAYS, MAX_HOPS, Glance, OsFiles, TableFiles, glance


def build(root: Path, links: dict[str, str]) -> None:
    """Make the folders `a`, `a/b`, the file `a/f` and the given links below `root`."""
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "f").write_text("x")
    for link, target in links.items():
        os.symlink(target.replace("{root}", str(root)), root / link)


LAYOUTS = [
    {},
    {"l": "a"},
    {"l": "{root}/a/b"},
    {"l": "m", "m": "a"},
    {"l": "a/../a/b"},
    {"l": "missing/x"},
    {"l": "a", "a/up": "../l"},
    {"l": "a/b", "a/b/back": ".."},
]
PATHS = ["a/f", "l", "l/f", "l/b", "l/../f", "a/up/f", "l/back/f", "l/./b", "nowhere/x", "l//b/"]


@pytest.mark.parametrize("links", LAYOUTS, ids=[", ".join(layout) or "none" for layout in LAYOUTS])
@pytest.mark.parametrize("path", PATHS)
def test_the_table_follows_links_as_the_disk_does(tmp_path: Path, links: dict[str, str], path: str) -> None:
    """Both end where the system ends, and see the same hops on the way."""
    root = tmp_path.resolve()
    build(root, links)
    full = f"{root}/{path}"
    table = TableFiles(
        {f"{root}/{link}": target.replace("{root}", str(root)) for link, target in links.items()},
        dirs=[f"{root}/a/b"],
        files=[f"{root}/a/f"],
    )
    real = OsFiles()
    assert table.hops(full) == real.hops(full)
    assert table.kind(full) == real.kind(full)
    assert glance(real).hops(full) == real.hops(full)
    if real.hops(full):
        assert real.hops(full)[-1] == os.path.realpath(full)


def looked_at(seen: Glance) -> set[str]:
    """Every name that it says something of."""
    on_ways = {str(name) for way in seen.ways for name in (Path(way), *Path(way).parents)}
    return {*seen._straight, *on_ways, *seen._links}


READLINK = os.readlink


def readlink_without_proc(path: str) -> str:
    """As on a Linux where `/proc` is not mounted."""
    if str(path).startswith("/proc/"):
        raise FileNotFoundError(path)
    return READLINK(path)


@pytest.fixture(params=["linux", "without proc", "elsewhere"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The disk as Linux tells of it, a whole path in one look, and as any other system does, name by name."""
    if request.param == "without proc":
        monkeypatch.setattr(os, "readlink", readlink_without_proc)
    else:
        monkeypatch.setattr(sys, "platform", request.param)
    return str(request.param)


@pytest.mark.parametrize("links", LAYOUTS, ids=[", ".join(layout) or "none" for layout in LAYOUTS])
@pytest.mark.parametrize("paths", [PATHS, PATHS[::-1]], ids=["in order", "backwards"])
def test_a_glance_sees_what_the_disk_has(tmp_path: Path, system: str, links: dict[str, str], paths: list[str]) -> None:
    """What one judgement saw of a path before changes no answer about the next, and all of it is still so."""
    root = tmp_path.resolve()
    build(root, links)
    real, once = OsFiles(), Glance(OsFiles())
    for path in [*paths, *paths]:
        assert once.hops(f"{root}/{path}") == real.hops(f"{root}/{path}")
    assert once.still_so()
    assert looked_at(once) >= {f"{root}/a", f"{root}/l", f"{root}/nowhere/x"}
    assert set(once._links) == {f"{root}/{link}" for link in links}
    assert system == "linux" or not once.ways


WAYS = [
    "/",
    "/a",
    "/a/b/c",
    "/a/b/new",
    "/a/new/new",
    "/a/b/c (deleted)",
    "/a//b/c",
    "/a/./b/c",
    "/a/b/",
    "/a/b/../b/c",
]


@pytest.mark.parametrize("path", [*WAYS, "/a/b/n\n/\udcff", "/a/b/n\0/a/b/c"])
def test_a_whole_way_is_seen_as_its_names_are(tmp_path: Path, system: str, path: str) -> None:
    """However it is written, and whether or not it exists: no link lies on it, before and after others were seen."""
    root = tmp_path.resolve()
    (root / "a" / "b").mkdir(parents=True)
    for name in ("c", "c (deleted)"):
        (root / "a" / "b" / name).write_text("x")
    straight = OsFiles().hops(f"{root}{path}")
    for others in ([], ["/a/b/c"], ["/a/b/new"], ["/a/b/c", "/a/b"]):
        once = Glance(OsFiles())
        for other in others:
            assert once.hops(f"{root}{other}") == ()
        assert once.hops(f"{root}{path}") == straight
        assert once.still_so()


@pytest.mark.parametrize("name", ["a", "a/b", "a/b/c"])
@pytest.mark.parametrize("path", ["a/b/c", "a/b/new"])
def test_a_name_that_becomes_a_link_is_seen(tmp_path: Path, system: str, name: str, path: str) -> None:
    """Wherever on the way it lies, though it leads to just what was there. What is only gone, or new, is no link."""
    root = tmp_path.resolve()
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "c").write_text("x")
    once = Glance(OsFiles())
    assert once.hops(f"{root}/{path}") == ()
    assert once.still_so()
    assert bool(once.ways) == (system == "linux")
    assert once.leads(f"{root}/{path}") == f"{root}/{path}"
    assert once.leads(f"{root}/a") == f"{root}/a"
    assert once.leads(f"{root}/elsewhere") is None
    (root / name).rename(root / "away")
    assert once.still_so()
    os.symlink(root / "away", root / name)
    assert once.still_so() == (not f"{path}/".startswith(f"{name}/"))


def test_a_link_that_was_seen_counts_to_the_end(tmp_path: Path, system: str) -> None:
    """Though it is a folder by the time that the next path through it is looked at: one judgement sees one disk."""
    root = tmp_path.resolve()
    for folder in ("far", "near"):
        (root / folder).mkdir()
        (root / folder / "x").write_text("x")
    os.symlink("far", root / "l")
    once = Glance(OsFiles())
    assert once.hops(f"{root}/l") == (f"{root}/far", f"{root}/far")
    (root / "l").unlink()
    (root / "near").rename(root / "l")
    assert once.hops(f"{root}/l/x")[-1] == f"{root}/far/x"
    assert not once.still_so()


def test_what_is_kept_of_whole_ways_is_bounded(tmp_path: Path, system: str) -> None:
    """Many folders are still seen as they are: what is too much to search is looked at name by name."""
    root = tmp_path.resolve()
    once = Glance(OsFiles())
    for number in range(300):
        (root / f"folder{number}").mkdir()
        (root / f"folder{number}" / "x").write_text("x")
        assert once.hops(f"{root}/folder{number}/x") == ()
    assert len("".join(once.ways)) <= 2 * _MAX_WAYS
    assert once.still_so()
    os.symlink("folder1", root / "l")
    assert once.hops(f"{root}/l/x") == (f"{root}/folder1/x", f"{root}/folder1/x")


def test_what_links_say_counts_as_letters(tmp_path: Path) -> None:
    """A precedent is kept only when all that was seen is short, so a short name of a long link is no way around."""
    os.symlink("y" * 3_000, tmp_path / "l")
    once = Glance(OsFiles())
    once.hops(f"{tmp_path}/l")
    assert once.letters > 3_000


def test_a_look_at_a_pipe_or_a_device_waits_for_nobody(tmp_path: Path) -> None:
    """The path is located, and what lies there stays closed: nobody writes into the pipe."""
    root = tmp_path.resolve()
    os.mkfifo(root / "pipe")
    once = Glance(OsFiles())
    for path in (f"{root}/pipe", "/dev/null"):
        assert once.hops(path) == ()
    assert once.still_so()


def test_what_has_no_descriptors_left_sees_the_same(tmp_path: Path) -> None:
    """Looking at a whole way takes a descriptor for a moment; when there is none, each name is looked at."""
    root = tmp_path.resolve()
    (root / "a").mkdir()
    os.symlink("a", root / "l")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    held: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(64, limits[1]), limits[1]))
    try:
        with contextlib.suppress(OSError):
            while True:
                held.append(os.open("/", os.O_RDONLY))
        once = Glance(OsFiles())
        assert once.hops(f"{root}/a/x") == ()
        assert once.hops(f"{root}/l/x") == (f"{root}/a/x", f"{root}/a/x")
        assert once.ways == ()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for descriptor in held:
            os.close(descriptor)


@pytest.mark.parametrize("path", ["x", "x/f", "y/f", "self", "self/f"])
def test_a_loop_is_an_error_not_a_hang(tmp_path: Path, path: str) -> None:
    """`hops` raises OSError after a fixed number of links, each time; `kind` says that nothing is there."""
    links = {
        f"{tmp_path}/{link}": f"{tmp_path}/{target}" for link, target in (("x", "y"), ("y", "x"), ("self", "self"))
    }
    for link, target in links.items():
        os.symlink(target, link)
    for files in (OsFiles(), TableFiles(links), Glance(OsFiles())):
        for _ in range(2):
            with pytest.raises(OSError, match="symbolic links"):
                files.hops(f"{tmp_path}/{path}")
        assert files.kind(f"{tmp_path}/{path}") is None


@pytest.mark.parametrize("path", ["loop", "loop/x"])
def test_nothing_approves_a_path_through_a_loop(tmp_path: Path, path: str) -> None:
    """Whatever the rules and the mode, the first time and again, and when the loop came later."""
    policy = PermissionPolicy.load(cwd=tmp_path, allow=["Read(//**)", "Edit(//**)"], mode="acceptEdits")
    link = tmp_path / "loop"
    for tool in ("Read", "Edit"):
        assert policy.evaluate(tool, {"file_path": f"{tmp_path}/{path}"}).behavior == "allow"
        link.symlink_to(link)
        for _ in range(2):
            assert policy.evaluate(tool, {"file_path": f"{tmp_path}/{path}"}).behavior == "ask"
        link.unlink()


def test_a_long_chain_is_bounded() -> None:
    """A chain of as many links as are allowed is followed, one more is not."""
    links = {f"/l{number}": f"/l{number + 1}" for number in range(MAX_HOPS)}
    assert TableFiles(links).hops("/l0")[-1] == f"/l{MAX_HOPS}"
    with pytest.raises(OSError, match="symbolic links"):
        TableFiles(links | {f"/l{MAX_HOPS}": "/end"}).hops("/l0")


def test_a_link_that_swells_is_bounded() -> None:
    """A link into itself with more behind it ends like any loop."""
    with pytest.raises(OSError, match="symbolic links"):
        TableFiles({"/l": "/l/l"}).hops("/l")


@given(st.text(alphabet="ab/.\\:~", max_size=12))
def test_the_table_takes_any_absolute_path(path: str) -> None:
    """Whatever the path, the last hop is absolute and has no `..` left."""
    hops = TableFiles({"/a": "/b/../c"}).hops(f"/{path}")
    assert all(hop.startswith("/") for hop in hops)
    assert not hops or ".." not in hops[-1].split("/")


def test_case_and_drives_on_windows() -> None:
    """Windows names are found in any case and with either slash."""
    files = TableFiles(
        {"C:\\Link": "D:\\Data"}, files=["D:\\Data\\x"], home="C:\\Users\\dev", case_sensitive=False, windows=True
    )
    assert files.hops("/c/link/x")[-1] == "/d/Data/x"
    assert files.kind("/c/LINK/X") == "file"
    assert files.kind("/d/data") == "dir"


def test_the_home_folder_defaults_to_the_users() -> None:
    """Case and spelling default to what is usual on the platform."""
    assert OsFiles().home == os.path.expanduser("~")
    assert OsFiles(platform="darwin").case_sensitive is False
    assert OsFiles(platform="win32").windows is True
    assert OsFiles("/h", True, "darwin").case_sensitive is True


def test_a_path_with_two_slashes_in_front_leads_to_the_path_with_one() -> None:
    """Such paths are made of a relative one in the root folder."""
    seen = Glance(OsFiles())
    assert seen.hops("//nothing-of-this-name") == ()
    assert seen.leads("//nothing-of-this-name") == "/nothing-of-this-name"
