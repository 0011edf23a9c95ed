"""Real bash on a scratch folder: a PATH of programs that only note that they ran, limits, and what changed on the disk.

As root the commands run as a user that owns nothing. Each runs in a fresh bash as the Bash tool starts it.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

BASH = shutil.which("bash") or "bash"
_DASH = shutil.which("dash") or shutil.which("sh") or "sh"
_NOBODY = 54_321
_SECONDS = 3
_STUBS = ("ok", "evil", "a", "b", "x", "f", "e", "zz", "junk", "text", "5", "E", "Ex")
_REAL = ("sh", "bash", "dash", "env", "xargs", "timeout", "nice", "nohup", "stdbuf", "find", "cat", "tee", "awk", "sed")
_SYNTAX = ("syntax error near", "syntax error: unexpected end of file", "unexpected EOF while looking")
_NASTY = ("-v", "evil", "a[$(evil)]", "-exec", ";", "--flag", "s p")


@dataclass(frozen=True, slots=True)
class Ran:
    """What one command did: the programs that ran, with their words; what bash printed; what changed on the disk.

    `timed_out`: it was ended after a few seconds; what it did until then counts.
    """

    programs: tuple[tuple[str, ...], ...]
    errors: str
    changed: frozenset[str]
    timed_out: bool

    @property
    def names(self) -> frozenset[str]:
        """The names of the programs that ran."""
        return frozenset(words[0] for words in self.programs)

    @property
    def syntax_error(self) -> bool:
        """True when bash complained about the text itself."""
        return any(words in self.errors for words in _SYNTAX)


class Scratch:
    """A folder `root` with `bin` (the programs), `work` (the working directory, with some files) and `home`.

    With `writable=False` the commands can change nothing. `real` adds real shells and wrappers to `cat` and the
    programs that only note that they ran. `variables` are added to a scrubbed environment.
    """

    def __init__(self, *, writable: bool, real: bool, variables: dict[str, str] | None = None) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="rules-fuzz-"))
        self.bin, self.work, self.home = (self.root / name for name in ("bin", "work", "home"))
        self.log = self.root / "log" / "ran"
        self._writable = writable
        for folder in (self.bin, self.home, self.log.parent):
            folder.mkdir()
        for name in _STUBS:
            stub = self.bin / name
            said = "echo evil" if name == "ok" else ":"
            stub.write_text(f"#!{_DASH}\nprintf '%s\\0' \"${{0##*/}}\" $# \"$@\" >> '{self.log}'\n{said}\n")
            stub.chmod(0o755)
        for name in _REAL if real else ("cat",):
            found = shutil.which(name)
            if found is not None:
                (self.bin / name).symlink_to(found)
        self.environment = {"PATH": str(self.bin), "HOME": str(self.home), **(variables or {})}
        self._fill()
        self._before = self._listing()

    def __enter__(self) -> Scratch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._make_writable()
        shutil.rmtree(self.root, ignore_errors=True)

    def _fill(self) -> None:
        """The working directory as each command finds it: names that an unwatched glob would turn into options."""
        (self.work / "sub").mkdir(parents=True)
        for name in (*_NASTY, "a", "b.txt", "sub/f"):
            (self.work / name).write_text("a\n")
            (self.work / name).chmod(0o666)
        for path in (self.log.parent, *((self.work, self.work / "sub", self.home) if self._writable else ())):
            path.chmod(0o777)
        if not self._writable:
            for path in (self.work, self.work / "sub", self.home):
                path.chmod(0o555)
        self.root.chmod(0o755)

    def _make_writable(self) -> None:
        for path in (self.work, self.work / "sub", self.home):
            if path.is_dir():
                path.chmod(0o777)

    def _listing(self) -> dict[str, tuple[int, bytes]]:
        """Every file below `root` but the log: mode, and content or link target."""
        found: dict[str, tuple[int, bytes]] = {}
        for folder, names, files in os.walk(self.root):
            for name in (*names, *files):
                path = os.path.join(folder, name)
                if path == str(self.log):
                    continue
                status = os.lstat(path)
                content = b""
                if os.path.islink(path):
                    content = os.readlink(path).encode()
                elif os.path.isfile(path) and not folder.endswith("/bin"):
                    with open(path, "rb") as file:
                        content = file.read(200)
                found[path.removeprefix(f"{self.root}/")] = (status.st_mode, content)
        return found

    def run(self, command: str) -> Ran:
        """Runs one command as the Bash tool does. Never raises for what the command does."""
        self.log.unlink(missing_ok=True)
        nobody = _NOBODY if os.geteuid() == 0 else None
        process = subprocess.Popen(
            [BASH, "--noprofile", "--norc", "-p", "-c", 'eval "$1"', "_", command],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=_limits,
            user=nobody,
            group=nobody,
            extra_groups=None if nobody is None else (),
        )
        timed_out = False
        try:
            _, errors = process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            timed_out, errors = True, b""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        if process.stderr is not None:
            process.stderr.close()
        programs = _logged(self.log.read_bytes()) if self.log.exists() else ()
        return Ran(programs, errors.decode(errors="replace"), self._changed(), timed_out)

    def _changed(self) -> frozenset[str]:
        """The names that differ from before; they are put back."""
        after = self._listing()
        if after == self._before:
            return frozenset()
        names = {name for name in after.keys() | self._before.keys() if after.get(name) != self._before.get(name)}
        self._make_writable()
        shutil.rmtree(self.work)
        shutil.rmtree(self.home)
        self.home.mkdir()
        self._fill()
        return frozenset(names)


def _limits() -> None:
    """Little memory, small files, two seconds of work; few processes where the user has no others."""
    limits = {
        resource.RLIMIT_CPU: 2,
        resource.RLIMIT_FSIZE: 1_000_000,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_AS: 1_000_000_000,
    }
    if os.getuid() == _NOBODY:
        limits[resource.RLIMIT_NPROC] = 400
    for what, value in limits.items():
        try:
            resource.setrlimit(what, (value, value))
        except (OSError, ValueError):
            continue  # a system without this limit


def _logged(data: bytes) -> tuple[tuple[str, ...], ...]:
    """The log of the stubs: name, number of words, the words, each ended by NUL."""
    fields = data.decode("utf-8", "surrogateescape").split("\0")
    found: list[tuple[str, ...]] = []
    at = 0
    while at + 1 < len(fields):
        count = int(fields[at + 1])
        found.append((fields[at], *fields[at + 2 : at + 2 + count]))
        at += 2 + count
    return tuple(found)


def rejected_by_bash(commands: Sequence[str]) -> list[bool]:
    """For each command whether `bash -n` finds fault with it. One driving bash reads them all."""
    driver = 'while IFS= read -r -d "" c; do e=$("$BASH" -n -c "$c" 2>&1) && [[ -z $e ]] && echo 0 || echo 1; done'
    done = subprocess.run(
        [BASH, "--noprofile", "--norc", "-c", driver],
        input="".join(f"{command}\0" for command in commands).encode("utf-8", "surrogateescape"),
        capture_output=True,
        check=True,
        env={"PATH": os.environ.get("PATH", "")},
    )
    return [line == b"1" for line in done.stdout.split()]
