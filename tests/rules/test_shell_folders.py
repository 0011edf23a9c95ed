"""Behind `cd`: what a relative name means there is judged where the command runs, however often it moves."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_sdk.rules.files import TableFiles
from tests.rules.support import CWD, book, reading, verdict

NAMES = ("a", "b", "c", "d", "a/b", "./c", "a/..")
PROGRAMS = {"tee x": "Edit", "cat x": "Read", "npm test > x": "Edit", "sort < x": "Read", "touch ./x": "Edit"}
ALLOW = [f"Bash({name}:*)" for name in ("cd", "tee", "cat", "npm test", "sort", "touch")]
moves = st.lists(st.sampled_from(NAMES), min_size=1, max_size=9)


def there(names: list[str]) -> str:
    """The folder that all these moves together lead to."""
    return posixpath.normpath(posixpath.join(CWD, *names))


@settings(max_examples=150, deadline=None)
@given(moves, st.sampled_from(sorted(PROGRAMS)), st.sampled_from([" && ", "; "]), st.booleans())
def test_a_denied_file_is_found_behind_any_number_of_moves(
    names: list[str], program: str, joint: str, whole: bool
) -> None:
    """The file that is written or read when every `cd` succeeds is denied by its own name."""
    command = joint.join([*(f"cd {name}" for name in names), program])
    rules = book(
        allow=["Bash", "Edit"] if whole else [*ALLOW, "Edit(/**)"], deny=[f"{PROGRAMS[program]}(/{there(names)}/x)"]
    )
    assert verdict(rules, reading("Bash", {"command": command})) == "deny"


@settings(max_examples=150, deadline=None)
@given(
    moves,
    st.sampled_from(["tee x", "touch ./x", "npm test > x"]),
    st.integers(0, 511),
    st.sampled_from(["/etc/x", ".git/x"]),
)
def test_a_link_to_elsewhere_is_found_behind_any_number_of_moves(
    names: list[str], program: str, works: int, target: str
) -> None:
    """No wildcard covers a write through a link, in whichever folder the commands end."""
    there_really = there([name for place, name in enumerate(names) if works >> place & 1])
    target = target if target.startswith("/") else f"{CWD}/{target}"
    files = TableFiles(links={f"{there_really}/x": target}, dirs=[there(names), f"{CWD}/.git"])
    command = "; ".join([*(f"cd {name}" for name in names), program])
    rules = book(allow=[*ALLOW, "Edit(/**)"])
    assert verdict(rules, reading("Bash", {"command": command}, files=files)) != "allow"


@pytest.mark.parametrize("move", ["cd", "cd -", "popd +1", "pushd", "cd $X"])
@pytest.mark.parametrize("program", ["tee x", "npm test > x"])
def test_a_move_to_who_knows_where_leaves_relative_writes_to_a_person(move: str, program: str) -> None:
    """Even where an exact rule allows the move itself: nobody knows what is written then."""
    rules = book(allow=[*ALLOW, f"Bash({move})", "Edit(/**)"])
    assert verdict(rules, reading("Bash", {"command": f"{move} && {program}"})) != "allow"


@pytest.mark.parametrize(
    "command",
    [
        "cd a && cd b && cd c && cd d && tee x",
        "cd a && npm test && cd b && cat x",
        "pushd a && npm test && popd && tee x",
        f"cd && tee {CWD}/x",
    ],
)
def test_everyday_moves_still_pass(command: str) -> None:
    """A few moves inside the working directory ask nobody."""
    rules = book(allow=[*ALLOW, "Bash(pushd:*)", "Bash(popd)", "Bash(cd)"])
    assert verdict(rules, reading("Bash", {"command": command})) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "cd a && cd a && cat x",
        "cd a; sh -c 'cd a; cat x'",
        "(cd a && cd a && cat x)",
        "for i in 1 2; do cd a; done; cat x",
        "command cd a && builtin cd a && cat x",
        "cd 'a' && \\cd a && cat x",
        "pushd a && pushd a && cat x",
        "eval 'cd a' && eval 'cd a && cat x'",
    ],
)
def test_the_same_move_counts_each_time(command: str) -> None:
    """Twice into `a` is `a/a`, however the two are written."""
    assert verdict(book(allow=["Bash"], deny=["Read(a/a/x)"]), reading("Bash", {"command": command})) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        f"sh -c 'cd ~/.ssh; cat x'; sh -c '{'cd .;' * 49}'; sh -c '{'cd . ;' * 49}'",
        f"{'cd .;' * 48} sh -c 'cd .; cd .; cd ~/.ssh; cat x'",
    ],
    ids=["before", "behind"],
)
def test_moves_in_other_scripts_push_none_out(command: str) -> None:
    """However many scripts in strings move about, the one that leads to the denied file counts."""
    assert verdict(book(allow=["Bash"], deny=["Read(~/.ssh/**)"]), reading("Bash", {"command": command})) == "deny"


KERNEL = TableFiles({"/home/dev/in": "/proc/self/cwd"}, dirs=[f"{CWD}/a/b"])


@pytest.mark.parametrize(
    "command",
    [
        "cd a && cat /proc/self/cwd/../x",
        "cd a && cat //proc/self/cwd/../x",
        "cd a/b && cat < /proc/self/cwd/../../x",
        "cd a && cat /home/dev/in/../x",
        "cd a && sort /proc/thread-self/cwd/../x",
        "cd a; cd b; cat /proc/self/task/1/cwd/../../x",
    ],
)
def test_the_kernels_link_to_the_folder_moves_along(command: str) -> None:
    """It is absolute, and yet it leads to where the command runs."""
    rules = book(deny=[f"Read(/{CWD}/x)"], allow=["Bash"])
    assert verdict(rules, reading("Bash", {"command": command}, files=KERNEL)) == "deny"
