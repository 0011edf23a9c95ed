"""Allow rules that an application can add, each with a reason. Nothing here is in force unless it is added.

`allow=[*presets.read_only_bash, "Bash(npm test:*)"]`. What one would expect here and does not find is in `left_out`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_READ_ONLY_BASH: dict[str, str] = {
    # Folders and files
    "Bash(ls:*)": "lists folders",
    "Bash(tree:*)": "draws folders; -o and -R, which write, are options that no wildcard covers",
    "Bash(find:*)": "finds files; -exec, -delete and -fprint are options that no wildcard covers",
    "Bash(du:*)": "adds up sizes",
    "Bash(df:*)": "shows free space",
    "Bash(stat:*)": "shows size, times and mode of files",
    "Bash(file:*)": "guesses what a file holds; -C writes and -z runs programs: no wildcard covers them",
    "Bash(realpath:*)": "follows links",
    "Bash(readlink:*)": "follows links",
    "Bash(basename:*)": "takes a path apart",
    "Bash(dirname:*)": "takes a path apart",
    "Bash(pwd:*)": "says where one is",
    "Bash(cd:*)": "moves inside the working directories only; what follows is judged at both places",
    # Contents
    "Bash(cat:*)": "prints files",
    "Bash(head:*)": "prints the beginning of files",
    "Bash(tail:*)": "prints the end of files; with -f until the time limit of the call",
    "Bash(tac:*)": "prints files from the end",
    "Bash(rev:*)": "prints lines backwards",
    "Bash(nl:*)": "numbers lines",
    "Bash(wc:*)": "counts",
    "Bash(od:*)": "prints bytes",
    "Bash(hexdump:*)": "prints bytes",
    "Bash(strings:*)": "prints the texts in a file",
    "Bash(base64:*)": "encodes and decodes to its output; -o, which writes, is an option that no wildcard covers",
    "Bash(sed -n:*)": "prints chosen lines; a rule that spells -n covers no -i, and no script that writes or runs",
    "Bash(md5sum:*)": "prints or checks digests",
    "Bash(sha1sum:*)": "prints or checks digests",
    "Bash(sha256sum:*)": "prints or checks digests",
    "Bash(sha512sum:*)": "prints or checks digests",
    "Bash(b2sum:*)": "prints or checks digests",
    "Bash(cksum:*)": "prints or checks digests",
    # Searching and comparing
    "Bash(grep:*)": "searches; it has no option that writes or runs anything",
    "Bash(rg:*)": "searches; --pre, -z and --hostname-bin, which run programs, are options that no wildcard covers",
    "Bash(diff:*)": "compares files; -l, which runs pr, is an option that no wildcard covers",
    "Bash(cmp:*)": "compares files",
    "Bash(comm:*)": "compares sorted files",
    # Reshaping text on its way through a pipe
    "Bash(sort:*)": "sorts; -o, -T and --compress-program are options that no wildcard covers",
    "Bash(uniq)": "drops repeated lines of its input; exact, because a second operand would be written",
    "Bash(uniq -c)": "counts repeated lines of its input",
    "Bash(uniq -d)": "shows repeated lines of its input",
    "Bash(uniq -u)": "shows lines of its input that are not repeated",
    "Bash(uniq -i)": "drops repeated lines of its input, whatever their case",
    "Bash(cut:*)": "cuts columns out of lines",
    "Bash(tr:*)": "replaces characters",
    "Bash(paste:*)": "joins lines",
    "Bash(join:*)": "joins lines by a key",
    "Bash(fold:*)": "breaks long lines",
    "Bash(fmt:*)": "fills paragraphs",
    "Bash(expand:*)": "replaces tabs by blanks",
    "Bash(unexpand:*)": "replaces blanks by tabs",
    "Bash(column:*)": "draws columns",
    "Bash(jq:*)": "queries JSON; its language can neither write files nor run programs",
    "Bash(awk '{print $1}':*)": "prints a column; the program is spelled out, so what follows are files",
    "Bash(awk '{print $2}':*)": "prints a column; the program is spelled out, so what follows are files",
    "Bash(awk '{print $3}':*)": "prints a column; the program is spelled out, so what follows are files",
    "Bash(awk '{print $NF}':*)": "prints the last column; the program is spelled out, so what follows are files",
    # Words of the shell
    "Bash(echo:*)": "prints its words; a redirection is judged by itself",
    "Bash(printf:*)": "prints its words; -v, which sets a variable, is an option that no wildcard covers",
    "Bash(seq:*)": "prints numbers",
    "Bash(test:*)": "tests a condition",
    "Bash([:*)": "tests a condition",
    "Bash(true)": "does nothing",
    "Bash(false)": "does nothing",
    "Bash(sleep:*)": "waits",
    "Bash(type:*)": "says what a name would run",
    "Bash(command -v:*)": "says what a name would run",
    "Bash(which:*)": "says what a name would run",
    # The machine. Exact where other words would change something or run something.
    "Bash(date)": "tells the time; exact, because a bare operand sets the clock",
    "Bash(date -u)": "tells the time",
    "Bash(date -I)": "tells the date",
    "Bash(date -Iseconds)": "tells the time",
    "Bash(date +%s)": "tells the time",
    "Bash(date +%F)": "tells the date",
    "Bash(date +%Y-%m-%d)": "tells the date",
    "Bash(date '+%Y-%m-%d %H:%M:%S')": "tells the time",
    "Bash(date -u +%Y-%m-%dT%H:%M:%SZ)": "tells the time",
    "Bash(whoami)": "names the user",
    "Bash(id)": "names user and groups",
    "Bash(groups)": "names the groups",
    "Bash(hostname)": "names the machine; exact, because an operand renames it",
    "Bash(uname:*)": "names the system",
    "Bash(arch)": "names the processor; exact, because on macOS its operands are a command",
    "Bash(nproc)": "counts processors",
    "Bash(uptime)": "tells how long the machine has been up",
    "Bash(free)": "shows memory",
    "Bash(free -h)": "shows memory",
    "Bash(free -m)": "shows memory",
    "Bash(ps)": "lists processes; exact, because the option e prints their environments",
    "Bash(ps aux)": "lists processes",
    "Bash(ps -ef)": "lists processes",
    "Bash(pgrep:*)": "finds processes by name; pkill is another program",
    "Bash(python --version)": "prints a version and ends",
    "Bash(python3 --version)": "prints a version and ends",
    "Bash(python -V)": "prints a version and ends",
    "Bash(node --version)": "prints a version and ends",
    "Bash(node -v)": "prints a version and ends",
    "Bash(git --version)": "prints a version and ends",
}

_READ_ONLY_GIT: dict[str, str] = {
    "Bash(git status:*)": "compares the work tree; may refresh the index",
    "Bash(git diff:*)": "shows changes; --output, --ext-diff and --textconv are options that no wildcard covers",
    "Bash(git log:*)": "shows commits; --output is an option that no wildcard covers",
    "Bash(git show:*)": "shows a commit or a file in it",
    "Bash(git blame:*)": "shows who changed a line",
    "Bash(git shortlog:*)": "sums up commits",
    "Bash(git grep:*)": "searches tracked files; -O, which runs a pager, is an option that no wildcard covers",
    "Bash(git ls-files:*)": "lists tracked files",
    "Bash(git ls-tree:*)": "lists the files of a commit",
    "Bash(git rev-parse:*)": "turns names into digests and says where things are",
    "Bash(git rev-list:*)": "lists commits",
    "Bash(git merge-base:*)": "finds the common ancestor",
    "Bash(git describe:*)": "names a commit by its nearest tag",
    "Bash(git for-each-ref:*)": "lists branches and tags",
    "Bash(git show-ref:*)": "lists branches and tags",
    "Bash(git check-ignore:*)": "says why a file is ignored",
    "Bash(git branch)": "lists branches; exact, because other words make, rename and remove them",
    "Bash(git branch -a)": "lists branches",
    "Bash(git branch -r)": "lists branches",
    "Bash(git branch -v)": "lists branches",
    "Bash(git branch -vv)": "lists branches",
    "Bash(git branch --list)": "lists branches",
    "Bash(git branch --show-current)": "names the branch",
    "Bash(git tag)": "lists tags; exact, because other words make and remove them",
    "Bash(git tag -l:*)": "lists tags; git refuses -l together with what makes or removes them",
    "Bash(git tag --list:*)": "lists tags",
    "Bash(git remote)": "lists remotes",
    "Bash(git remote -v)": "lists remotes",
    "Bash(git remote get-url:*)": "names a remote",
    "Bash(git stash list:*)": "lists stashes",
    "Bash(git worktree list:*)": "lists work trees",
    "Bash(git reflog)": "shows where branches have been; exact, because other words expire that",
    "Bash(git --no-pager status:*)": "as without --no-pager",
    "Bash(git --no-pager diff:*)": "as without --no-pager",
    "Bash(git --no-pager log:*)": "as without --no-pager",
    "Bash(git --no-pager show:*)": "as without --no-pager",
}

read_only_bash: tuple[str, ...] = tuple(_READ_ONLY_BASH)
"""Allow rules for shell commands that write nothing, run no other program and send nothing, whatever lies around.

They read whatever the process may read, outside of the working directories too: deny rules such as `Read(~/.ssh/**)`
and `Read(**/.env)` hold for their operands, as far as the readers are known. `cd` is among them.
"""

read_only_git: tuple[str, ...] = tuple(_READ_ONLY_GIT)
"""Allow rules for git commands that show things. Only for repositories whose `.git` folder you trust.

The configuration in `.git` names programs that even `git status` runs (`core.fsmonitor`, external diffs, filters). A
clone of your own holds none of a stranger's; an unpacked archive or a shared folder may.
"""

reasons: Mapping[str, str] = MappingProxyType({**_READ_ONLY_BASH, **_READ_ONLY_GIT})
"""Why each rule is where it is, by its text."""

left_out: Mapping[str, str] = MappingProxyType(
    {
        "git": "the configuration in .git names programs that it runs; see read_only_git",
        "less, more, man, bat": "pagers run programs: !command, LESSOPEN, the pager that is configured",
        "sed without -n": "the rule would cover -i",
        "awk": "a program of its own that can write and run; only a few spelled-out ones are covered",
        "xxd": "writes its second operand",
        "uniq FILE": "writes its second operand",
        "tee": "writes files",
        "env, printenv": "env runs a command, and both print secrets into the conversation",
        "export, set, alias, history": "change what later commands mean, or write files",
        "ps with options": "the option e prints the environments of other processes",
        "curl, wget, ping, dig, nslookup, host, getent": "send: an address can carry what was read",
        "tar -t, unzip -l": "tar opens host:file through rsh and may run what unpacks it",
        "zcat, zgrep, xzcat": "scripts and programs that start others",
        "ldd": "may run the program that it looks at",
        "fd": "-l runs ls, -x runs anything",
        "ack, yq": "read options from files in the project, or differ too much between versions",
        "npm, pnpm, yarn, corepack --version": "configuration in the project may name another version to fetch and run",
        "go version, cargo --version, rustc --version": "may fetch the toolchain that a file in the project names",
        "pip list, pip show": "--log writes a file, and options come from configuration",
        "npm ls, npm view": "write logs, read configuration of the project, or ask a registry",
        "docker ps, kubectl get": "talk to a daemon or a server that their configuration names",
        "any --help": "runs the program, which may do what it likes",
        "xargs": "needs no rule: bare xargs passes with the rule of the command behind it",
    }
)
"""What one may expect in `read_only_bash`, and why it is not there."""
