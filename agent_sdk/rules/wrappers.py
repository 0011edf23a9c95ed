"""Programs that run another program: how to find that one behind their options. One table, a reason per row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapper:
    """One row. `values` and `long_values` are the options that take the next word, `flags` short ones that take none.

    `operands` words stand before the inner command. `assignments`: `NAME=value` words are skipped. `stripped`: allow
    rules look through it too, but only past the options listed here. `joined`: the inner words are joined and read by
    a shell. `string` are options whose value is a shell command.
    """

    why: str
    values: str = ""
    flags: str = ""
    long_values: frozenset[str] = field(default_factory=frozenset)
    long_flags: frozenset[str] = field(default_factory=frozenset)
    operands: int = 0
    assignments: bool = False
    stripped: bool = False
    joined: bool = False
    string: frozenset[str] = field(default_factory=frozenset)


def _longs(*names: str) -> frozenset[str]:
    return frozenset(names)


_SUDO = Wrapper(
    why="runs a command as another user",
    values="ugpCDRTUhrta",
    flags="ABbEeHiKklNnPSsVv",
    assignments=True,
    long_values=_longs(
        *("--user", "--group", "--prompt", "--close-from", "--chdir", "--chroot", "--command-timeout", "--other-user"),
        *("--host", "--role", "--type", "--auth-type", "--login-class"),
    ),
)
_SU = Wrapper(
    why="runs a command as another user",
    values="cgGsTwu",
    flags="lmpPf",
    operands=1,
    string=_longs("-c", "--command", "--session-command"),
    long_values=_longs("--command", "--session-command", "--group", "--supp-group", "--shell", "--user"),
)
_PLAIN = Wrapper(why="runs the command that follows its options")

WRAPPERS: dict[str, Wrapper] = {
    "timeout": Wrapper(
        why="ends a command after a time",
        values="sk",
        flags="v",
        operands=1,
        stripped=True,
        long_values=_longs("--signal", "--kill-after"),
        long_flags=_longs("--foreground", "--preserve-status", "--verbose"),
    ),
    "time": Wrapper(why="measures a command (keyword and program)", flags="p", stripped=True),
    "nice": Wrapper(
        why="lowers the priority of a command",
        values="n",
        flags="0123456789",
        stripped=True,
        long_values=_longs("--adjustment"),
    ),
    "nohup": Wrapper(why="detaches a command from the terminal", stripped=True),
    "stdbuf": Wrapper(
        why="changes the buffering of a command",
        values="ioe",
        stripped=True,
        long_values=_longs("--input", "--output", "--error"),
    ),
    "command": Wrapper(why="skips functions", flags="p", stripped=True),
    "builtin": Wrapper(why="skips functions", stripped=True),
    "env": Wrapper(
        why="changes the environment of a command",
        values="uC",
        flags="i0v",
        assignments=True,
        string=_longs("-S", "--split-string"),
        long_values=_longs("--unset", "--chdir", "--split-string"),
    ),
    "sudo": _SUDO,
    "doas": Wrapper(why="runs a command as another user", values="uCa", flags="Lns"),
    "su": _SU,
    "runuser": _SU,
    "pkexec": Wrapper(why="runs a command as another user", long_values=_longs("--user")),
    "gosu": Wrapper(why="runs a command as another user", operands=1),
    "su-exec": Wrapper(why="runs a command as another user", operands=1),
    "setpriv": Wrapper(why="changes privileges of a command", long_values=_longs("--reuid", "--regid", "--groups")),
    "ionice": Wrapper(
        why="changes the I/O priority", values="cnpPu", flags="t", long_values=_longs("--class", "--classdata")
    ),
    "chrt": Wrapper(why="changes the scheduling", values="TPD", flags="abdfiormvp", operands=1),
    "taskset": Wrapper(why="binds a command to processors", flags="ac", operands=1),
    "numactl": Wrapper(why="binds a command to processors", values="ipmNCPl"),
    "prlimit": Wrapper(why="sets limits of a command", values="p"),
    "setsid": Wrapper(why="starts a session for a command", flags="cfw"),
    "setarch": Wrapper(why="changes what a command sees of the machine", flags="RFLXZB3v", operands=1),
    "linux32": Wrapper(why="changes what a command sees of the machine"),
    "linux64": Wrapper(why="changes what a command sees of the machine"),
    **dict.fromkeys(
        ("x86_64", "i386", "i686", "uname26"),
        Wrapper(why="changes what a command sees of the machine", flags="RFLXZB3v"),
    ),
    "arch": Wrapper(why="on macOS, runs a command as for another processor", values="de"),
    "watch": Wrapper(
        why="repeats a command through sh",
        values="nq",
        flags="bcdegprtwx",
        joined=True,
        long_values=_longs("--interval", "--equexit"),
    ),
    "flock": Wrapper(
        why="runs a command under a lock",
        values="wE",
        flags="senxuoFv",
        operands=1,
        string=_longs("-c", "--command"),
        long_values=_longs("--timeout", "--wait", "--conflict-exit-code"),
    ),
    "chroot": Wrapper(why="runs a command in another root", operands=1),
    "unshare": Wrapper(why="runs a command in new namespaces", values="SGRw", flags="imnpuUCTrcf"),
    "nsenter": Wrapper(why="runs a command in other namespaces", values="tSGrw", flags="amnpuiUCTF"),
    "strace": Wrapper(why="traces a command", values="abeEIoOpPsSuUX", flags="cCdDfFhiknNqrtTvVwxyYzZ"),
    "ltrace": Wrapper(why="traces a command", values="aADeFlnopsuwxX", flags="bcCfiLrStTV"),
    "gdb": Wrapper(why="starts a program under a debugger", values="xp", long_flags=_longs("--args", "--batch")),
    "valgrind": Wrapper(why="runs a program in a checker"),
    "busybox": Wrapper(why="is many programs in one"),
    "toybox": Wrapper(why="is many programs in one"),
    "parallel": Wrapper(
        why="runs a command for each argument through sh",
        values="jSaNnLsdCIPE",
        flags="0kmXquvtp",
        joined=True,
        long_values=_longs("--jobs", "--sshlogin", "--arg-file", "--colsep", "--delimiter", "--results", "--joblog"),
    ),
    "xargs": Wrapper(
        why="appends words from its input to a command",
        values="adEILnPs",
        flags="0oprtxeil",
        long_values=_longs(
            *("--arg-file", "--delimiter", "--max-lines", "--max-args", "--max-procs", "--max-chars", "--replace"),
            "--process-slot-var",
        ),
    ),
    "exec": Wrapper(why="replaces the shell by a command", values="a", flags="cl"),
    "coproc": Wrapper(why="runs a command beside the shell"),
    "eval": Wrapper(why="reads its words as a command", joined=True),
    "noglob": _PLAIN,
    "nocorrect": _PLAIN,
    "fakeroot": Wrapper(why="runs a command that believes to be root", values="lsib"),
    "unbuffer": _PLAIN,
    "rlwrap": Wrapper(why="adds line editing to a command", values="abCDfgHlmOpPqsSTwz"),
    "script": Wrapper(why="records a command", values="cEIOBmoT", operands=1, string=_longs("-c", "--command")),
    "systemd-run": Wrapper(why="runs a command as a service", values="HMpuE", flags="dGPqrtS"),
    "systemd-inhibit": _PLAIN,
    "dbus-run-session": _PLAIN,
    "xvfb-run": Wrapper(why="runs a command with a display", values="efnpsw", flags="al"),
    "firejail": _PLAIN,
    "proot": Wrapper(why="runs a command in another root", values="rbqwv"),
    "caffeinate": Wrapper(why="keeps the machine awake for a command", values="tw", flags="disum"),
    "catchsegv": _PLAIN,
    "eatmydata": _PLAIN,
    "torsocks": _PLAIN,
    "proxychains": Wrapper(why="sends a command through a proxy", values="f", flags="q"),
    "proxychains4": Wrapper(why="sends a command through a proxy", values="f", flags="q"),
    "dumb-init": Wrapper(why="starts a command", flags="cv"),
    "tini": Wrapper(why="starts a command", values="pe", flags="svgw"),
    "choom": Wrapper(why="adjusts how a command is ended", values="np"),
    "hyperfine": Wrapper(
        why="measures commands through sh",
        values="wmMrsSpcPDLutn",
        flags="Ni",
        joined=True,
        string=_longs("-p", "-c", "-s", "--prepare", "--cleanup", "--setup"),
        long_values=_longs("--warmup", "--runs", "--prepare", "--cleanup", "--setup", "--shell"),
    ),
    "ssh-agent": Wrapper(why="runs a command with a key agent", values="atEOP", flags="cDdks"),
    "entr": Wrapper(why="runs a command when files change", flags="acdnprsxz"),
    "sg": Wrapper(why="runs a command as another group", operands=1, joined=True, string=_longs("-c")),
    "run0": Wrapper(why="runs a command as another user", values="ugD"),
    "coreutils": Wrapper(why="is many programs in one"),
    "chpst": Wrapper(why="changes the state of a process", values="uUbe/nmdopfcrtlL", flags="vP012"),
    "cgexec": Wrapper(why="runs a command in a control group", values="g"),
    "timelimit": Wrapper(why="ends a command after a time", values="tTsS", flags="pq"),
    "multitime": Wrapper(why="measures a command", values="nIirs", flags="vlq"),
    "logsave": Wrapper(why="records the output of a command", flags="asv", operands=1),
    **dict.fromkeys(
        ("envdir", "setuidgid", "envuidgid", "setlock"), Wrapper(why="runs a command in another state", operands=1)
    ),
    "softlimit": Wrapper(why="sets limits of a command", values="acdfloprtms"),
    "dtach": Wrapper(why="runs a command apart from the terminal", values="Aacneprx", flags="Ez"),
    "chronic": Wrapper(why="hides the output of a command", flags="ve"),
    "ifne": Wrapper(why="runs a command when there is input", flags="n"),
    "faketime": Wrapper(why="changes the time that a command sees", values="f", operands=1),
    "cpulimit": Wrapper(why="slows a command down", values="lpePc", flags="zifkmv"),
    "nix-shell": Wrapper(why="runs a command in an environment", values="pAI", string=_longs("--run", "--command")),
}

STARTS_SHELL = frozenset(
    ["sudo", "doas", "su", "runuser", "chroot", "unshare", "nsenter", "script", "setarch", "linux32", "linux64"]
) | {"fakeroot", "proot", "parallel", "sg"}
"""Wrappers that without a command run a shell, or read commands from their input."""

LOADERS = ("ld-", "ld.so")
"""What the names of the system's loaders begin with: `/lib64/ld-linux-x86-64.so.2 /bin/ls` runs `ls`."""
LOADER = Wrapper(
    why="loads the program that it is given",
    long_values=_longs("--library-path", "--argv0", "--preload", "--audit", "--inhibit-rpath"),
)

RUNNERS: dict[str, frozenset[str]] = {
    **{name: frozenset(["run"]) for name in ("uv", "poetry", "pipenv", "conda", "mamba", "hatch", "rye", "pdm")},
    **{name: frozenset(["exec", "x"]) for name in ("bundle", "direnv", "mise", "asdf", "rbenv", "pyenv")},
    "perf": frozenset(["stat", "record", "trace"]),
}
"""Programs with a sub-command that runs any program, in an environment of theirs or under observation."""
_RUNNER = Wrapper(why="runs a program in an environment", values="npCgoe", long_values=frozenset(["--with", "--name"]))

SHELLS = frozenset(
    ["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "yash", "fish", "csh", "tcsh", "oksh", "pdksh", "posh"]
)
INTERPRETERS = frozenset(
    ["python", "pypy", "node", "nodejs", "deno", "bun", "ruby", "perl", "php", "lua", "luajit", "rscript", "r"]
) | {"julia", "osascript", "tclsh"}
"""Programs whose arguments are code, or name it; a version behind the name does not count."""
STDIN_SHELLS = SHELLS | {"at", "batch"}
_SHELL_VALUES = "oO"
_DESCRIPTOR = re.compile(r"/+dev/+(?:stdin|fd/+[0-9]+)|/+proc/+[a-z0-9-]+/+fd/+[0-9]+")
SHELL_LONG_VALUES = frozenset(["--rcfile", "--init-file"])


@dataclass(frozen=True, slots=True)
class ShellCall:
    """How a shell is started: with a command text (`text` is its index), a script file (`script`), or its input.

    `command` is true with `-c`, even when no text follows, `interactive` with `-i`: then it reads start-up files first,
    and aliases and history count.
    """

    command: bool
    text: int | None
    script: int | None
    interactive: bool = False

    @property
    def reads_input(self) -> bool:
        """True when what it runs comes from its standard input."""
        return not self.command and self.script is None


def glued_text(argv: Sequence[str]) -> str | None:
    """`sh -c'text'`: no shell takes it so, but a reader may think that one does."""
    for word in argv[1:]:
        if not word.startswith("-") or word.startswith("--"):
            return None
        text = word.partition("c")[2]
        if not text.isalnum() and text.strip("-"):
            return text
    return None


def shell_call(argv: Sequence[str]) -> ShellCall:
    """How `argv`, which begins with the name of a shell, is to be taken."""
    position, command, from_input, interactive = 1, False, False, False
    while position < len(argv):
        word = argv[position]
        if word == "--" or word == "-":
            position += 1
            break
        if word.startswith("--"):
            command = command or word in ("--command",)
            position += 2 if word in SHELL_LONG_VALUES else 1
            continue
        if word[:1] not in ("-", "+"):
            break
        interactive = interactive or (word[0] == "-" and "i" in word)
        command = command or (word[0] == "-" and "c" in word)
        from_input = from_input or "s" in word
        takes = sum(word.count(letter) for letter in _SHELL_VALUES)
        position += 1 + takes
    operand = position if position < len(argv) else None
    if command:
        return ShellCall(True, operand, None, interactive)
    if from_input or (operand is not None and names_input(argv[operand])):
        return ShellCall(False, None, None, interactive)
    return ShellCall(False, None, operand, interactive)


def names_input(path: str) -> bool:
    """True for a path that is a descriptor of the process which opens it."""
    return bool(_DESCRIPTOR.fullmatch(path))


def xargs_replaces(options: Sequence[str]) -> str:
    """The text that `xargs -I TEXT` replaces by its input, or an empty one; of the words before the inner command."""
    replaced = ""
    for index, word in enumerate(options):  # the last one counts
        if word == "-I":
            replaced = options[index + 1] if index + 1 < len(options) else ""
        elif word.startswith(("-I", "--replace=")):
            replaced = word.removeprefix("-I").removeprefix("--replace=")
        elif word.startswith("-i") and len(word) > 2:
            replaced = word[2:]
    return replaced


_MAX_DOUBTFUL = 40


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """What a wrapper runs: the indexes at which its inner command may begin, the first one being the most likely.

    `strings` are texts that a shell reads. `known` is false when an option was met that the table does not list, `bare`
    true when no command follows. `more`: there are so many less likely places that not all are told.
    """

    starts: tuple[int, ...]
    strings: tuple[str, ...]
    known: bool
    bare: bool = False
    more: bool = False


def unwrap(wrapper: Wrapper, argv: Sequence[str]) -> Unwrapped:
    """Steps over the wrapper's own options and operands.

    What stands behind an unknown option, with another option behind it, may be its value or the command: the command is
    the more likely, for allow rules judge that one alone.
    """
    position, known, guess = 1, True, False
    strings: list[str] = []
    likely: list[int] = []
    doubtful: list[int] = []
    while position < len(argv):
        word = argv[position]
        if word == "--":
            position += 1
            break
        if wrapper.assignments and "=" in word and not word.startswith("-"):  # env takes any name, even none
            position += 1
            continue
        if len(word) < 2 or word[0] != "-":
            following = argv[position + 1] if position + 1 < len(argv) else ""
            if word != "-" and not (guess and following.startswith("-")):
                break
            likely += [position + wrapper.operands] if word != "-" else []
            position, guess = position + 1, False
            continue
        step, value, sure = _option(wrapper, argv, position)
        known = known and sure
        name = _whole_name(wrapper, word) if word.startswith("--") else "-" + _value_letter(wrapper, word)
        if name in wrapper.string and value is not None:
            strings.append(value)
        if not sure:
            doubtful.append(position + 1)
        guess = not sure and step == 1
        position += step
        if step == 2:
            doubtful.append(position - 1)
    while wrapper.assignments and position < len(argv) and "=" in argv[position]:
        position += 1
    if wrapper.string and position + wrapper.operands < len(argv):
        strings += _late_strings(wrapper, argv, position)
    start = position + wrapper.operands
    starts = [*likely[:1], start, position, *doubtful[:_MAX_DOUBTFUL], *([] if known else [start + 1])]
    found = tuple(index for index in dict.fromkeys(starts) if index < len(argv))
    return Unwrapped(found, tuple(strings), known, bare=start >= len(argv), more=len(doubtful) > _MAX_DOUBTFUL)


def run_in_environment(name: str, argv: Sequence[str]) -> tuple[list[int], bool]:
    """Where the program may begin that `uv run`, `bundle exec` and the like run, and whether there are more places."""
    if len(argv) < 2 or argv[1] not in RUNNERS.get(name, ()):
        return [], False
    found = unwrap(_RUNNER, argv[1:])
    starts = [1 + start for start in found.starts]
    return ([*starts, starts[0] + 1] if name == "direnv" and starts else starts), found.more


def _whole_name(wrapper: Wrapper, word: str) -> str:
    """The long option that a word begins with, of which programs take any beginning; those for text come first."""
    typed = word.partition("=")[0]
    if typed in wrapper.long_values or typed in wrapper.long_flags or len(typed) < 3:
        return typed
    return next((name for name in (*wrapper.string, *wrapper.long_values) if name.startswith(typed)), typed)


def _value_letter(wrapper: Wrapper, word: str) -> str:
    letters = wrapper.values + "".join(name[1] for name in wrapper.string if len(name) == 2)
    return next((letter for letter in word[1:] if letter in letters), "")


def _option(wrapper: Wrapper, argv: Sequence[str], position: int) -> tuple[int, str | None, bool]:
    """One option: how many words it takes, its value, and whether the table knows it."""
    word = argv[position]
    following = argv[position + 1] if position + 1 < len(argv) else None
    if word.startswith("--"):
        typed, equals, value = word.partition("=")
        name = _whole_name(wrapper, word)
        if equals:
            return 1, value, typed in wrapper.long_values
        if name in wrapper.long_values or name in wrapper.string:
            return 2, following, typed == name
        return 1, None, name in wrapper.long_flags
    letter = _value_letter(wrapper, word)
    if letter:
        at = word.index(letter)
        sure = all(flag in wrapper.flags for flag in word[1:at])
        return (1, word[at + 1 :], sure) if at + 1 < len(word) else (2, following, sure)
    return 1, None, all(flag in wrapper.flags for flag in word[1:])


def _late_strings(wrapper: Wrapper, argv: Sequence[str], position: int) -> list[str]:
    """Values of string options that stand behind an operand: `su root -c 'x'`, `flock file -c 'x'`."""
    found: list[str] = []
    for index in range(position, min(len(argv), position + wrapper.operands + 4)):
        word = argv[index]
        name = _whole_name(wrapper, word) if word.startswith("--") else word
        if name in wrapper.string:
            value = word.partition("=")[2] if word.startswith("--") else ""
            found += [value] if value else argv[index + 1 : index + 2]
    return found


def find_commands(argv: Sequence[str]) -> list[tuple[int, int]]:
    """Where the commands begin and end that `find` runs."""
    found: list[tuple[int, int]] = []
    start = -1
    for index, word in enumerate(argv):
        if start < 0 and word in ("-exec", "-execdir", "-ok", "-okdir"):
            start = index + 1
        elif start >= 0 and word == ";":
            found.append((start, index))
            start = -1
    return [*found, (start, len(argv))] if start >= 0 else found


def fd_commands(argv: Sequence[str]) -> list[tuple[int, int]]:
    """Where the commands begin that `fd` runs; glued forms begin at the option itself."""
    for index, word in enumerate(argv):
        if word in ("-x", "-X", "--exec", "--exec-batch"):
            return [(index + 1, len(argv))] if index + 1 < len(argv) else []
        if index > 0 and word.startswith(("--exec=", "--exec-batch=", "-x", "-X")):
            return [(index, len(argv))]
    return []


_GIT_VALUES = frozenset(
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"]
)


def git_subcommand(argv: Sequence[str]) -> int:
    """The index of git's sub-command behind its global options; the length when there is none."""
    position = 1
    while position < len(argv) and argv[position].startswith("-"):
        position += 2 if argv[position] in _GIT_VALUES else 1
    return min(position, len(argv))


def git_commands(argv: Sequence[str]) -> tuple[list[str], int | None]:
    """Commands in git's own arguments: as texts (aliases, `rebase -x`, `submodule foreach`), and where one begins.

    That is behind `bisect run`.
    """
    at = git_subcommand(argv)
    rest = list(argv[at:])
    values = (word.partition("=")[2] for before, word in pairwise(argv[:at]) if before == "-c")
    texts = [value[1:] for value in values if value.startswith("!")]
    if rest[:1] == ["submodule"] and "foreach" in rest:
        texts.append(" ".join(word for word in rest[rest.index("foreach") + 1 :] if not word.startswith("--")))
    elif rest[:1] == ["rebase"]:
        for before, word in pairwise(rest):
            if before in ("-x", "--exec"):
                texts.append(word)
            elif word.startswith(("--exec=", "-x")):
                texts.append(word.removeprefix("-x").removeprefix("--exec="))
    return texts, at + 2 if rest[:2] == ["bisect", "run"] else None
