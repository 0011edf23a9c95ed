"""The folders that anchors stand for: what is kept as text says the same as a look at everything."""

from __future__ import annotations

from itertools import product
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from agent_sdk.rules.files import TableFiles
from agent_sdk.rules.ground import Anchor, Anchoring, Ground
from agent_sdk.rules.spelling import parts

FOLDERS = ("/p", "/p/sub", "/home/dev", "/data", "/else")
ANCHORINGS: list[Anchoring | None] = [
    None,
    *(
        (cast("Anchor", anchor), source, wide)
        for anchor, source, wide in product(("filesystem", "home", "source", "cwd"), ("/p", "/data"), (True, False))
    ),
]
LINKS = st.dictionaries(st.sampled_from(["/p", "/p/sub", "/home", "/data"]), st.sampled_from(["/else", "/data", "x"]))


@given(
    LINKS,
    st.sampled_from(FOLDERS),
    st.sampled_from(["", *FOLDERS]),
    st.lists(st.sampled_from(FOLDERS), max_size=2).map(tuple),
    st.lists(st.tuples(st.sampled_from(FOLDERS), st.sampled_from(FOLDERS)), max_size=2).map(tuple),
    st.booleans(),
)
def test_anchors_stand_for_what_a_look_at_everything_finds(
    links: dict[str, str],
    cwd: str,
    root: str,
    additional: tuple[str, ...],
    fixed: tuple[tuple[str, str], ...],
    windows: bool,
) -> None:
    """With links or without, first asked or again, the folders are those that all spellings give."""
    disk = TableFiles(links, home="/home/dev", windows=windows)
    ground = Ground(cwd, additional, disk, root=root, fixed=fixed)
    again = Ground(cwd, additional, disk, root=root, fixed=fixed)
    for anchoring in ANCHORINGS:
        found = everything(again, anchoring, dict(fixed), additional)
        assert set(ground.bases(anchoring)) == found
        assert len(ground.bases(anchoring)) == len(found)


def everything(
    ground: Ground, anchoring: Anchoring | None, fixed: dict[str, str], additional: tuple[str, ...]
) -> set[tuple[str, ...]]:
    """The meaning of an anchor, written down without a thought for speed."""

    def settled(folder: str) -> set[tuple[str, ...]]:
        return {parts(folder), parts(fixed[folder])} if folder in fixed else set(ground.spellings(folder))

    if anchoring is None:
        folders = [ground.root, *additional] if fixed else [ground.root, ground.cwd, *additional]
        return set().union(*map(settled, folders))
    anchor, source, wide = anchoring
    if anchor == "filesystem":
        return {()}
    if anchor == "home":
        return set(ground.spellings(ground.files.home))
    folders = [source] if anchor == "source" else [ground.root]
    if wide and anchor == "cwd":
        folders = [ground.root, ground.cwd, *additional]
    found = set().union(*map(settled, folders))
    return found.union(*map(ground.spellings, folders)) if wide else found
