"""What a wildcard in an allow rule does not cover: programs and options that run other programs or write files.

The tables are data; each block says why. An exact rule covers all of it, and so does what the rule itself spells out.
"""

from __future__ import annotations

from functools import lru_cache


def named(text: str) -> frozenset[str]:
    """The words of `text` as a set: a table that is read like a list."""
    return frozenset(text.split())


# Reserved words are syntax: a command that begins with one is not a plain command.
RESERVED = named("if then elif else fi for while until do done case esac select function time coproc in { } ! [[ ]]")

# They run their operands, so covering them would cover everything.
WRAPPERS = named(
    """sudo doas su env exec eval command builtin nice nohup timeout stdbuf ionice chrt taskset setsid watch flock
    chroot strace ltrace gdb unshare nsenter busybox toybox parallel xargs script expect rlwrap systemd-run runuser
    pkexec start-stop-daemon entr at batch crontab ssh-agent dbus-run-session xvfb-run open xdg-open"""
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
    jshell ghci openssl gpg patch cpio pax sponge ssh-keygen ssh-add tcpdump nmap fzf"""
)

# Package runners that fetch and run what they are given.
RUNNERS = named("npx pnpx bunx uvx pipx")

SHELLS = named("sh bash dash zsh ksh mksh ash fish csh tcsh pwsh powershell cmd")

# An interpreter is covered when it is handed a script by name; options before the script run text.
INTERPRETERS = named(
    """python pypy node nodejs deno bun ruby perl php lua luajit rscript r julia osascript
    tclsh"""
)

# Writers are covered for targets inside the working directories only; see operands.py.
WRITERS = named(
    """tee cp mv ln install rm rmdir unlink shred touch mkdir truncate chmod chown chgrp rename mkfifo mknod cd gzip
    gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 7z"""
)

# Options that run programs, write files, or read a configuration that does. `--long` holds for its abbreviations too,
# `-x` for clusters; `word` is a sub-command or operand, and `word*` one that begins so.
OPTIONS: dict[str, frozenset[str]] = {
    "find": named("-exec* -ok* -delete -fprint* -fls -files0-from"),
    "fd": named("-x -X --exec --exec-batch"),
    "git": named(
        """-c -C -O -o -x -u --exec-path --git-dir --work-tree --config-env --output --output-directory --exec
        --upload-pack --receive-pack --ext-diff --textconv --open-files-in-pager --extcmd --template --config --tool
        --upload-archive --super-prefix config difftool mergetool filter-branch bisect submodule daemon instaweb gui
        clone ext::* hook credential* send-email archive alias.* web--browse fast-import fast-export svn p4
        upload-pack"""
    ),
    "rg": named("--pre --hostname-bin --search-zip -z"),
    "ack": named("--pager --output"),
    "ag": named("--pager"),
    "bat": named("--pager cache"),
    "sort": named("-o --output --compress-program -T --temporary-directory --files0-from"),
    "tar": named(
        """-I -F -P -C --to-command --checkpoint-action --use-compress-program --info-script --new-volume-script
        --rmt-command --rsh-command --absolute-names --directory"""
    ),
    "bsdtar": named("-I --use-compress-program -P -C --cd"),
    "make": named("-f -C -I --eval --file --makefile --directory *=*"),
    "cargo": named("--config -Z install --manifest-path -C --target-dir --out-dir --artifact-dir"),
    "rustc": named("-C -Z -o --out-dir"),
    "go": named("-exec* -toolexec* -vettool* -overlay* -C -o run install generate tool"),
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++"), named("-wrapper -fplugin* -specs* -B -o @*")),
    "pytest": named(
        "-p -c -o --rootdir --confcutdir --override-ini --pdbcls --basetemp --junitxml --junit-xml --log-file"
    ),
    "npm": named(
        """e ex exe exec x ini init innit cre crea creat create config set explore edit --script-shell --prefix
        --node-options --userconfig --globalconfig"""
    ),
    "pnpm": named("exec dlx create config env --script-shell --node-options -C --dir --use-node-version"),
    "yarn": named("exec dlx create config set plugin --cwd --use-yarnrc"),
    "pip": named("-r -e --target --editable --root --prefix config"),
    "uv": named("run tool x"),
    "yq": named("-i -s --inplace --split-exp --split-exp-file"),
    "base64": named("-o --output"),
    "iconv": named("-o --output"),
    "tree": named("-o -R"),
    "date": named("-s --set"),
    "hostname": named("-F --file -b"),
    "journalctl": named("--vacuum* --rotate --flush --cursor-file"),
    "systemctl": named("edit --root -H --host"),
    "kubectl": named("exec edit cp plugin --kubeconfig"),
    "gh": named("alias extension ext config"),
    "jq": named("-f -L --from-file"),
    "diff": named("--output -l --paginate"),
}

NONE = named("")

# The same letter is harmless behind these sub-commands.
HARMLESS = frozenset({("git", "push", "-u"), ("git", "add", "-u"), ("git", "status", "-u"), ("git", "stash", "-u")})

_POWERFUL = SHELLS | INTERPRETERS | WRAPPERS | RUNNERS | LANGUAGES | BUILTINS | WRITERS

# Options of curl that neither write nor read files; all others ask.
CURL = named("-s -S -f -L -I -i -v --silent --show-error --fail --location --head --include --verbose -sS -sSL -fsSL")


@lru_cache(maxsize=1024)
def refusal(words: tuple[str, ...], spelled: int) -> str | None:
    """Why a wildcard does not cover the plain `words`; the first `spelled` of them stand in the rule itself."""
    program = _program(words[0])
    if spelled < 1 and program in _POWERFUL:
        return f"{program} is not named by the rule"
    if program in WRAPPERS or program in RUNNERS:
        return _wrapped(program, words, spelled)
    if program in BUILTINS or program in LANGUAGES:
        return f"{program} can do more than its name says"
    if program in SHELLS or program in INTERPRETERS:
        runs_text = len(words) < 2 or (words[1].startswith("-") and spelled < 3)
        return f"{program} runs text" if runs_text else None
    if program == "uniq" and sum(not word.startswith("-") for word in words[1:]) > 1:
        return "uniq writes its second operand"
    return _option(program, words, spelled)


def _program(word: str) -> str:
    """The program that a word names, as the tables have it: without folder, case and version."""
    name = word.rpartition("/")[2].lower()
    if name in OPTIONS or name in WRITERS:
        return name
    return name.rstrip("0123456789.-") or name


def _wrapped(program: str, words: tuple[str, ...], spelled: int) -> str | None:
    """A wrapper is covered as far as the rule itself names the inner program."""
    inner = 1
    while inner < spelled and (words[inner][0].isdigit() or _assigns(words[inner])):
        inner += 1
    if inner >= spelled or words[inner].startswith("-"):
        return f"{program} runs its operands"
    return refusal(words[inner:], spelled - inner)


def _option(program: str, words: tuple[str, ...], spelled: int) -> str | None:
    """The first word behind the spelled ones that runs a program or writes a file. Behind `--` only options count."""
    rest = words[max(spelled, 1) :]
    if program.endswith("tar") and spelled < 2 and rest and not rest[0].startswith("-"):
        rest = (f"-{rest[0]}", *rest[1:])
    if program == "curl":
        odd = next((word for word in rest if word.startswith("-") and word not in CURL), None)
        return odd and f"curl {odd} may write a file"
    options = OPTIONS.get(program) or OPTIONS.get(program.removeprefix("g"), NONE)
    operands_from = rest.index("--") if "--" in rest else len(rest)
    for place, word in enumerate(rest):
        for option in options:
            counts = place <= operands_from or option[0] in "-*"
            if counts and _is(word, option) and (*words[:2], option) not in HARMLESS:
                return f"{program} {word} runs a program or writes a file"
    return None


def _assigns(word: str) -> bool:
    return "=" in word and not word.startswith("-")


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
