"""The Bash tool with a real bash: bytes in, output out, the directory back, and what it started ended with it."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk.calls import ToolResult
from agent_sdk.tools.base import ToolContext
from agent_sdk.tools.bash import BASH
from agent_sdk.tools.environment import scrubbed_environment
from agent_sdk.tools.output import MAX_CHARACTERS, BoundedOutput
from agent_sdk.tools.process import run_shell

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


async def bash(command: str, where: Path | str = "/", **extra: object) -> tuple[ToolResult, ToolContext]:
    context = ToolContext(cwd=str(where))
    assert BASH.check({"command": command, **extra}) is None  # type: ignore[dict-item]
    return await BASH.run({"command": command, **extra}, context), context  # type: ignore[dict-item]


def living(token: str) -> list[str]:
    """The command lines of living processes that hold a token; a zombie has none."""
    lines = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            line = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if token in line and int(name) != os.getpid():
            lines.append(line)
    return lines


def unused_seconds() -> str:
    """A duration for `sleep` that no other process uses: it tells our sleepers from all others."""
    return f"9{secrets.randbelow(10**9):09d}"


@pytest.mark.parametrize(
    ("command", "text", "is_error"),
    [
        ("echo hi", "hi", False),
        ("true", "The command ended well and printed nothing.", False),
        ("echo out; echo err >&2; echo out", "out\nerr\nout", False),
        ("exit 3", "exit code 3", True),
        ("echo a; false", "a\nexit code 1", True),
        ("no-such-program-here", "exit code 127", True),
        ("if", "syntax error", True),
        ("kill -9 $$", "The shell was ended by signal 9.", True),
        ("exec echo replaced", "replaced", False),
        ("cat; echo end", "end", False),
        ("echo $#", "1", False),
        ("printf 'a\\0b\\377c'", "a\ufffdb\ufffdc", False),
        ("echo one\necho two", "one\ntwo", False),
    ],
)
@pytest.mark.anyio
async def test_a_command_gives_its_output_and_its_exit_code(command: str, text: str, is_error: bool) -> None:
    result, _ = await bash(command)
    assert text in str(result.content)
    assert result.is_error is is_error


@pytest.mark.parametrize(
    "words",
    ["$HOME 'x' \"y\" `z` \\ \t * ? [a] {b,c} ~ ! # ; & | < >", "Zürich 漢字 \u200b \x7f \x01", "a\nb\n\n", "-n", "%s"],
    ids=["shell", "unicode", "lines", "option", "format"],
)
@pytest.mark.anyio
async def test_the_bytes_of_a_command_arrive_exactly(words: str, tmp_path: Path) -> None:
    quoted = "'" + words.replace("'", "'\\''") + "'"
    await bash(f"printf '%s' {quoted} > out", tmp_path)
    assert (tmp_path / "out").read_bytes() == words.encode()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("echo a\0b", "NUL"),
        ("echo \ud800", "lone surrogate"),
        ("echo " + "a" * 200_000, "could not be started"),
    ],
    ids=["NUL", "surrogate", "too long"],
)
@pytest.mark.anyio
async def test_a_command_that_cannot_be_started_is_a_readable_error(command: str, words: str) -> None:
    result, _ = await bash(command)
    assert result.is_error
    assert words in str(result.content)


@pytest.mark.anyio
async def test_a_missing_directory_and_a_missing_bash_are_readable_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, _ = await bash("true", tmp_path / "gone")
    assert (result.is_error, result.content) == (
        True,
        f"The command was not run: the working directory {tmp_path / 'gone'} is not there.",
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    result, _ = await bash("true")
    assert result.is_error
    assert "bash was not found" in str(result.content)


@pytest.mark.anyio
async def test_a_changed_directory_is_handed_back_as_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "a b\nc").mkdir()
    (tmp_path / "link").symlink_to("a b\nc")
    for command, ends_in in [
        ("cd link", tmp_path / "a b\nc"),
        ("cd link; exit 4", tmp_path / "a b\nc"),
        ("cd link && nosuch", tmp_path / "a b\nc"),
        ("(cd link)", None),
        ("cd link; cd ..", None),
        ("cd link; exec true", None),
        ("cd link; trap - EXIT", None),
        ("cd link; exec 9>&-", None),
        ("echo /nowhere >&9", None),
    ]:
        _, context = await bash(command, tmp_path)
        assert context.new_cwd == (None if ends_in is None else str(ends_in.resolve())), command
    _, context = await bash("true", tmp_path / "link")
    assert context.new_cwd is None, "the link and the directory behind it are the same place"


@pytest.mark.anyio
async def test_the_environment_is_scrubbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "start").write_text("echo STARTED\n")
    (tmp_path / "sub").mkdir()
    for name, value in {
        "BASH_ENV": str(tmp_path / "start"),
        "ENV": str(tmp_path / "start"),
        "BASH_FUNC_ls%%": "() { echo FUNCTION; }",
        "BASH_FUNC_greet%%": "() { echo FUNCTION; }",
        "CDPATH": str(tmp_path),
        "SHELLOPTS": "xtrace",
        "PS4": "$(echo TRACED)",
        "PROMPT_COMMAND": "echo PROMPT",
        "IFS": "x",
        "ANTHROPIC_API_KEY": "secret",
        "KEPT": "kept",
    }.items():
        monkeypatch.setenv(name, value)
    result, _ = await bash("ls -d /; greet; cd sub; x=1x2; echo $x; echo $KEPT; env", "/")
    text = str(result.content)
    for word in ["STARTED", "FUNCTION", "TRACED", "PROMPT=", "PROMPT_COMMAND", "ANTHROPIC", "secret", "SHELLOPTS"]:
        assert word not in text
    assert "1x2\nkept\n" in text
    assert "No such file" in text, "CDPATH does not lead `cd` elsewhere"


def test_extra_variables_are_scrubbed_as_well() -> None:
    extra = {"BASH_ENV": "x", "A": "1", "B": 2, "C=D": "x", "": "x", "E": "a\0b", "f": "() { x; }"}
    added = scrubbed_environment(extra, cwd="/tmp")
    assert {name: added.get(name) for name in [*extra, "PWD"]} == dict.fromkeys(extra) | {"A": "1", "PWD": "/tmp"}


@pytest.mark.anyio
async def test_nothing_is_carried_over_to_the_next_call(tmp_path: Path) -> None:
    await bash("x=1; alias ls=echo; f() { echo f; }; export y=2", tmp_path)
    result, _ = await bash('echo "[$x$y]"; f', tmp_path)
    assert "[]" in str(result.content)
    assert "exit code 127" in str(result.content)


DAEMON = f"""env -i {sys.executable} -I -S -c '
import os
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.closerange(0, 256)
os.chdir("/")
os.execve("/bin/sleep", ["sleep", "{{s}}"], {{{{}}}})
'"""
LEFT_BEHIND = {
    "child": "sleep {s}",
    "background": "sleep {s} & sleep 60",
    "ignores TERM": "trap '' TERM INT HUP; sleep {s}",
    "setsid": "setsid sleep {s} & sleep 60",
    "orphan": "(setsid sleep {s} &); sleep 60",
    "clean environment": "env -i setsid sleep {s} & sleep 60",
    "clean orphan without output": "env -i setsid -f sleep {s} >/dev/null 2>&1; sleep 60",
    "nested shells": "bash -c 'bash -c \"setsid sleep {s}\" & wait' & wait",
    "orphan without any trace": "(env -i setsid sleep {s} >/dev/null 2>&1 </dev/null 9>&- &); sleep 60",
    "many of them": "for i in 1 2 3 4; do (env -i setsid sleep {s} >/dev/null 2>&1 </dev/null 9>&- &); done; sleep 60",
    "daemon": DAEMON + "; sleep 60",
}


@linux
@pytest.mark.parametrize("command", LEFT_BEHIND.values(), ids=LEFT_BEHIND)
@pytest.mark.anyio
async def test_a_time_out_ends_everything_that_was_started(command: str) -> None:
    seconds = unused_seconds()
    result, _ = await bash(command.format(s=seconds), timeout=200)
    assert living(seconds) == []
    assert result.is_error
    assert result.content == "The command did not end within 0.2 seconds and was stopped, with what it had started."


@linux
@pytest.mark.parametrize("command", LEFT_BEHIND.values(), ids=LEFT_BEHIND)
@pytest.mark.anyio
async def test_cancelling_ends_everything_that_was_started(command: str) -> None:
    seconds = unused_seconds()
    with anyio.move_on_after(0.2) as scope:
        await bash(command.format(s=seconds))
    assert scope.cancelled_caught
    assert living(seconds) == []


BEFORE_THE_END = [
    "sleep {s} & echo done",
    "setsid sleep {s} & echo done",
    "(env -i setsid -f sleep {s})",
    "env -i setsid sleep {s} >/dev/null 2>&1 9>&- </dev/null & disown; exit",
    "for i in 1 2 3 4; do (env -i setsid sleep {s} >/dev/null 2>&1 </dev/null 9>&- &); done",
    "ulimit -S -n 100; (env -i setsid sleep {s} >/dev/null 2>&1 </dev/null 9>&- &)",
    DAEMON,
]


@linux
@pytest.mark.parametrize("command", BEFORE_THE_END)
@pytest.mark.anyio
async def test_a_call_does_not_wait_for_background_children_and_leaves_none(command: str) -> None:
    seconds = unused_seconds()
    with anyio.fail_after(5):
        result, _ = await bash(command.format(s=seconds))
    assert not result.is_error
    assert living(seconds) == []


APPLICATION = """
import anyio, sys
from agent_sdk.tools.process import run_shell

async def main():
    await run_shell(sys.argv[1], cwd="/", timeout=60)

anyio.run(main, backend=sys.argv[2])
"""


@linux
@pytest.mark.parametrize("command", LEFT_BEHIND.values(), ids=LEFT_BEHIND)
def test_the_death_of_the_application_ends_everything_that_was_started(command: str) -> None:
    """SIGKILL leaves the application no time for anything; asyncio and trio take turns."""
    seconds = unused_seconds()
    backend = ["asyncio", "trio"][len(command) % 2]
    words = [sys.executable, "-c", APPLICATION, command.format(s=seconds), backend]
    with subprocess.Popen(words, env={**os.environ, "PYTHONPATH": os.getcwd()}) as application:
        try:
            assert soon(lambda: f"sleep {seconds} " in living(seconds))
        finally:
            time.sleep(0.05)
            application.kill()
    assert soon(lambda: not living(seconds))


def soon(condition: Callable[[], bool]) -> bool:
    """Wait up to half a minute for a condition: a fresh process may have to compile everything."""
    until = time.monotonic() + 30
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


@pytest.mark.anyio
async def test_what_watches_over_a_command_is_not_to_be_seen_by_it() -> None:
    with anyio.fail_after(5):
        result, _ = await bash('jobs; wait; echo "[$!]"; ls /proc/self/fd | wc -w; sleep 0.1 & wait; set -- *; echo $?')
    assert result.content == "[]\n5\n0", "the standard ones, 9, and the folder that ls lists"


@pytest.mark.parametrize("held", range(12))
@pytest.mark.anyio
async def test_the_descriptors_of_a_call_may_have_any_number(held: int, tmp_path: Path) -> None:
    """Whichever of the pipes has the number 9 in the application, the directory comes back."""
    taken = [os.open("/dev/null", os.O_RDONLY) for _ in range(held)]
    try:
        result, context = await bash("cd /; echo x", tmp_path)
    finally:
        for descriptor in taken:
            os.close(descriptor)
    assert (result.content, context.new_cwd) == ("x", "/")


@linux
@pytest.mark.anyio
async def test_children_of_the_application_and_of_other_calls_are_left_alone() -> None:
    mine = unused_seconds()
    other = await anyio.open_process(["sleep", mine], start_new_session=True)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(bash, f"sleep 1.{mine}")
            await bash("setsid sleep 60 &")
            await bash("sleep 60", timeout=100)
            assert len(living(mine)) >= 2
            group.cancel_scope.cancel()
        assert living(mine) == [f"sleep {mine} "]
    finally:
        other.kill()
        await other.aclose()


@pytest.mark.anyio
async def test_late_output_of_a_process_substitution_is_read() -> None:
    result, _ = await bash("echo x > >(sleep 0.05; cat)")
    assert result.content == "x"


@pytest.mark.anyio
async def test_a_flood_of_output_is_cut_in_bounded_memory() -> None:
    tracemalloc.start()
    result = await run_shell("echo first; yes 0123456789; ", cwd="/", timeout=0.5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.exit_code is None
    assert result.output.startswith("first\n0123456789\n")
    assert len(result.output) <= MAX_CHARACTERS + 60
    assert "bytes left out" in result.output
    assert peak < 5_000_000


@given(st.lists(st.binary(max_size=50) | st.integers(0, 300_000), max_size=5))
def test_bounded_output_accounts_for_every_byte(pieces: list[bytes | int]) -> None:
    output, whole = BoundedOutput(), b""
    for piece in pieces:
        data = piece if isinstance(piece, bytes) else b"x" * piece
        output.add(data)
        whole += data
    text = output.text()
    if len(whole.decode(errors="surrogateescape")) <= MAX_CHARACTERS:
        assert text == whole.decode(errors="surrogateescape").encode("utf-8", "surrogateescape").decode(
            errors="replace"
        ).replace("\0", "\ufffd")
    else:
        missing = int(text.partition("[… ")[2].partition(" ")[0])
        assert 0 < missing <= len(whole) - MAX_CHARACTERS
        assert len(text) <= MAX_CHARACTERS + 60
