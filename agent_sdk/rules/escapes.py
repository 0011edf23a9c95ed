"""What a wildcard in an allow rule does not cover: programs and options that run other programs or write files.

The tables are data; each block says why. An exact rule covers all of it, and so does what the rule itself spells out.
"""

from __future__ import annotations

from collections.abc import Sequence


def named(text: str) -> frozenset[str]:
    """The words of `text` as a set: a table that is read like a list."""
    return frozenset(text.split())


# Reserved words are syntax: a command that begins with one is not a plain command.
RESERVED = named("if then elif else fi for while until do done case esac select function time coproc in { } ! [[ ]]")

# They run their operands, so covering them would cover everything.
WRAPPERS = named(
    """sudo doas su env exec eval command builtin nice nohup timeout stdbuf ionice chrt taskset setsid watch flock
    chroot strace ltrace gdb unshare nsenter busybox toybox parallel xargs script expect rlwrap systemd-run runuser
    pkexec start-stop-daemon entr at batch crontab ssh-agent dbus-run-session xvfb-run"""
)

# They change what later words mean, or expand subscripts.
BUILTINS = named(
    """source . set trap hash enable alias unalias export declare typeset local readonly unset let read mapfile
    readarray shopt bind complete compgen fc history printf test [ pushd popd umask ulimit"""
)

# Programs whose operands are programs of a language of their own, or whose options cannot be told apart here.
LANGUAGES = named(
    """sed gsed ssed awk gawk mawk nawk ed ex vi vim nvim emacs nano m4 bc dc ssh scp sftp rsync telnet nc ncat socat
    wget aria2c less more most man info zip unzip xxd dd split csplit screen tmux docker podman psql mysql sqlite3
    jshell ghci openssl gpg"""
)

# Package runners that fetch and run what they are given.
RUNNERS = named("npx pnpx bunx uvx pipx")

SHELLS = named("sh bash dash zsh ksh mksh ash fish csh tcsh pwsh powershell cmd")

# An interpreter is covered when it is handed a script by name; options before the script run text.
INTERPRETERS = named(
    """python python2 python3 pypy pypy3 node nodejs deno bun ruby perl php lua luajit Rscript R julia osascript
    tclsh"""
)

# Writers are covered for targets inside the working directories only; see operands.py.
WRITERS = named(
    "tee cp mv ln install rm rmdir unlink shred touch mkdir truncate chmod chown chgrp rename mkfifo mknod cd"
)

# Options that run programs, write files, or read a configuration that does. `--long` holds for its abbreviations too,
# `-x` for clusters; `word` is a sub-command or operand, and `word*` one that begins so.
OPTIONS: dict[str, tuple[str, ...]] = {
    "find": ("-exec*", "-ok*", "-delete", "-fprint*", "-fls", "-files0-from"),
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "git": (
        *("-c", "-C", "-O", "--exec-path", "--git-dir", "--work-tree", "--config-env", "--namespace", "--output"),
        *("--exec", "--upload-pack", "--receive-pack", "--ext-diff", "--textconv", "--open-files-in-pager", "--extcmd"),
        *("--template", "--config", "--tool", "--upload-archive", "--super-prefix", "-x", "-u"),
        *("config", "difftool", "mergetool", "filter-branch", "bisect", "submodule", "daemon", "instaweb", "gui"),
        *("clone", "ext::*", "hook", "credential*", "send-email", "archive", "alias.*"),
    ),
    "grep": ("-f",),
    "rg": ("--pre", "--hostname-bin", "--search-zip", "-z"),
    "sort": ("-o", "--output", "--compress-program", "-T", "--temporary-directory", "--files0-from"),
    "tar": (
        *("-I", "-F", "--to-command", "--checkpoint-action", "--use-compress-program", "--info-script"),
        *("--new-volume-script", "--rmt-command", "--rsh-command", "-P", "--absolute-names", "-C", "--directory"),
    ),
    "make": ("-f", "-C", "-I", "--eval", "--file", "--makefile", "--directory", "*=*"),
    "gmake": ("-f", "-C", "-I", "--eval", "--file", "--makefile", "--directory", "*=*"),
    "cargo": ("--config", "-Z", "install", "--manifest-path", "-C"),
    "go": (
        "-exec",
        "-exec=*",
        "-toolexec*",
        "-vettool*",
        "run",
        "install",
        "generate",
        "tool",
        "-C",
        "-o",
        "-overlay*",
    ),
    "pytest": ("-p", "-c", "--rootdir", "--confcutdir", "-o", "--override-ini", "--pyargs", "--pdbcls"),
    "npm": ("exec", "x", "init", "create", "innit", "config", "set", "explore", "edit", "--script-shell", "--prefix"),
    "pnpm": ("exec", "dlx", "create", "config", "env", "--script-shell"),
    "yarn": ("exec", "dlx", "create", "config", "set", "plugin"),
    "pip": ("-r", "--target", "--editable", "-e", "--root", "--prefix", "config"),
    "uv": ("run", "tool", "x"),
    "column": (),
    "uniq": (),
    "iconv": ("-o", "--output"),
    "tree": ("-o", "-R"),
    "date": ("-s", "--set"),
    "hostname": ("-F", "--file", "-b"),
    "journalctl": ("--vacuum*", "--rotate", "--flush", "--cursor-file"),
    "systemctl": ("edit", "--root", "-H", "--host"),
    "kubectl": ("exec", "edit", "cp", "--kubeconfig", "plugin"),
    "gh": ("alias", "extension", "ext", "config"),
    "jq": ("-f", "--from-file", "-L"),
    "diff": ("--output", "-l", "--paginate"),
    "ps": (),
}

# The same letter is harmless behind these sub-commands.
HARMLESS = frozenset({("git", "push", "-u"), ("git", "add", "-u"), ("git", "status", "-u"), ("git", "stash", "-u")})

# Options of curl that neither write nor read files; all others ask.
CURL = named("-s -S -f -L -I -i -v --silent --show-error --fail --location --head --include --verbose -sS -sSL -fsSL")


def refusal(words: Sequence[str], spelled: int) -> str | None:
    """Why a wildcard does not cover the plain `words`; the first `spelled` of them stand in the rule itself."""
    program = words[0].rpartition("/")[2]
    if spelled < 1 and program in SHELLS | INTERPRETERS | WRAPPERS | RUNNERS | LANGUAGES | BUILTINS | WRITERS:
        return f"{program} is not named by the rule"
    if program in WRAPPERS or program in RUNNERS:
        inner = 1
        while inner < spelled and (words[inner][0] in "-0123456789" or "=" in words[inner]):
            inner += 1
        return f"{program} runs its operands" if inner >= spelled else refusal(words[inner:], spelled - inner)
    if program in BUILTINS or program in LANGUAGES:
        return f"{program} can do more than its name says"
    if program in SHELLS or program.rstrip("0123456789.") in INTERPRETERS or program in INTERPRETERS:
        if len(words) < 2 or (words[1].startswith("-") and spelled < 3):
            return f"{program} runs text"
        return None
    rest = words[max(spelled, 1) :]
    if program == "curl":
        odd = next((word for word in rest if word.startswith("-") and word not in CURL), None)
        return odd and f"curl {odd} may write a file"
    if program == "uniq" and sum(not word.startswith("-") for word in words[1:]) > 1:
        return "uniq writes its second operand"
    for word in rest:
        for option in OPTIONS.get(program, ()):
            if _is(word, option) and (*words[:2], option) not in HARMLESS:
                return f"{program} {word} runs a program or writes a file"
    return None


def _is(word: str, option: str) -> bool:
    """True when `word` may be `option`: written out, abbreviated, in a cluster, or with a value."""
    if option == "*=*":
        return "=" in word
    if option.endswith("*"):
        return word.startswith(option[:-1])
    name = word.partition("=")[0]
    if option.startswith("--"):
        return len(name) > 2 and name.startswith("--") and option.startswith(name)
    if option.startswith("-") and len(option) == 2:
        return word.startswith("-") and not word.startswith("--") and option[1] in word
    return name == option
