"""Options that run programs or write files: no wildcard of an allow rule covers them. Data, with a reason per row.

How options are written here: `--name` a long option (its abbreviations count), `-x` a short one (clusters count),
`-word` a whole word with one dash, `+` a word that begins with a plus, `key=` an operand that begins so, `word` a
sub-command, `a:b` an option or sub-command `b` behind the sub-command `a`, `^-x` an option before the sub-command.
At the end: `:` the next word is its value, `…` all words behind it belong to it. `*` every call.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Escape:
    """One row: options of a program, and what they do. `writes` rows are free when they write to `/dev/null` or `-`."""

    options: tuple[str, ...]
    why: str
    writes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is known of a program. `values` are other short options that take a value, so that clusters can be read.

    `bundle`: its first operand may be a cluster without a dash (`tar xf`). `interpreter`: its first operand is a
    script, options behind it belong to the script, and without one it reads its input. `text`: its first operand is a
    program of its own (sed, awk). `subcommands`: its first operand chooses what it does. `dashwords`: its options are
    whole words with one dash, never clusters; of these `glued` letters may carry their value. `safe` are long options
    that only look like an abbreviation.
    """

    rows: tuple[Escape, ...]
    values: str = ""
    bundle: bool = False
    interpreter: bool = False
    text: bool = False
    subcommands: bool = False
    dashwords: bool = False
    glued: str = ""
    safe: frozenset[str] = frozenset()


def _row(options: str, why: str, *, writes: bool = False) -> Escape:
    return Escape(tuple(options.split()), why, writes)


def _same(names: str, program: Program) -> Iterable[tuple[str, Program]]:
    return ((name, program) for name in names.split())


_GIT = Program(
    subcommands=True,
    values="CcmLnSGUM",
    rows=(
        _row("^-c: clone:-c: --config-env:", "configuration names programs, hooks and aliases"),
        _row("--exec-path:", "runs git's own programs from another folder"),
        _row("^-C: --git-dir: --work-tree:", "uses another repository and its configuration"),
        _row("--output: --output-directory: archive:-o: format-patch:-o:", "writes a file", writes=True),
        _row("--ext-diff --textconv", "runs a configured program"),
        _row("--upload-pack: --receive-pack: --exec: clone:-u: fetch:-u: pull:-u: ls-remote:-u:", "runs a program"),
        _row("grep:-O --open-files-in-pager", "runs a pager"),
        _row("rebase:-x: difftool:-x: --extcmd: mergetool difftool", "runs a command"),
        _row("bisect:run… submodule:foreach… filter-branch… hook:run… for-each-repo…", "runs a command"),
        _row("remote-ext… remote-fd… merge-index… submodule--helper… web--browse… maintenance", "runs a command"),
        _row("checkout-index:--prefix: fast-import fast-export p4 svn", "writes elsewhere or runs a program"),
        _row("clone:--template: init:--template: --separate-git-dir:", "brings hooks along or writes elsewhere"),
        _row("config daemon shell instaweb send-email credential", "sets or runs configured programs"),
        _row("bundle:create", "writes a file", writes=True),
        _row("merge-file mailinfo mailsplit pack-objects index-pack unpack-file", "writes the files that it is told"),
        _row("worktree:add worktree:move init clone interpret-trailers:--in-place", "writes at a place of its own"),
        _row("merge:-s: merge:--strategy: rebase:-s: rebase:--strategy: pull:-s: pull:--strategy:", "runs a program"),
    ),
)
_TAR = Program(
    bundle=True,
    values="fCTXbHgKLNVF",
    rows=(
        _row("--to-command: --checkpoint-action: --rmt-command: --rsh-command:", "runs a command"),
        _row("-I: --use-compress-program: --use-compress-prog:", "runs a program"),
        _row("-F: --info-script: --new-volume-script:", "runs a script"),
        _row("-P --absolute-names --index-file: -C: --directory:", "writes outside of the working directory"),
    ),
)
_SSH = Program(
    values="BbcDEeFIiJLlmOopQRSWw",
    rows=(
        _row("-o:", "options such as ProxyCommand run a program"),
        _row("-F:", "a configuration file names programs"),
        _row("-E:", "writes a file", writes=True),
        _row("-I: -S: -J:", "loads a library or uses a socket"),
    ),
)
_SCP = Program(
    values="cDFiJloPSX",
    rows=(_row("-S: -o: -F: -D: -b:", "runs a program, or names one in a file"),),
)
_GREPPERS = Program(
    values="ABCDdefgmtTjMEr",
    rows=(
        _row("--pre: --hostname-bin: -z --search-zip", "runs a program for each file"),
        _row("--pager: --filter: --view:", "runs a program"),
        _row("--ackrc:", "takes options from a file"),
    ),
)
_LESS = Program(
    values="bhjkpPTtxyzD",
    rows=(
        _row("+", "runs commands at the start"),
        _row("-o: -O: --log-file: --LOG-FILE:", "writes a file", writes=True),
        _row("-k: --lesskey-file: --lesskey-src: --lesskey-content:", "key bindings run commands"),
    ),
)
_VIM = Program(
    values="TNnirv",
    rows=(
        _row(
            "+ -c: --cmd: -S: -s: -u: -U: -w: -W: -i: -es -E -e --remote-expr: --startuptime:", "runs editor commands"
        ),
    ),
)
_EMACS = Program(rows=(_row("--eval: --execute: -eval: -l: --load: -f: --funcall: --script: -script:", "runs code"),))
_CURL = Program(
    values="AbCdeEFGHhmPQrTtUuwXxyYz",
    rows=(
        _row(
            "-o: --output: -D: --dump-header: -c: --cookie-jar: --trace: --trace-ascii:", "writes a file", writes=True
        ),
        _row("-O --remote-name --remote-name-all -J --remote-header-name --output-dir:", "writes a file"),
        _row("--libcurl: --stderr: --hsts: --alt-svc: --etag-save: --xattr", "writes a file", writes=True),
        _row("-K: --config:", "takes options from a file"),
        _row("--engine:", "loads a library"),
        _row("--ssl-sessions:", "writes a file"),
        _row("--unix-socket: --abstract-unix-socket:", "talks to a daemon of this machine"),
    ),
)
_SORT = Program(
    values="kStTo",
    rows=(
        _row("-o: --output:", "writes a file", writes=True),
        _row("--compress-program:", "runs a program"),
        _row("-T: --temporary-directory: --files0-from:", "writes or reads elsewhere"),
    ),
)
_FIND = Program(
    dashwords=True,
    rows=(
        _row("-exec… -execdir… -ok… -okdir…", "runs a command"),
        _row("-delete", "removes files"),
        _row("-fprint: -fprint0: -fls: -fprintf:", "writes a file", writes=True),
    ),
)
_FD = Program(values="dEtecSjC", rows=(_row("-x… -X… --exec… --exec-batch…", "runs a command"),))
_ZIP = Program(
    values="bnPtsx",
    rows=(_row("-TT: --unzip-command:", "runs a command"), _row("-O: --output-file: -m --move", "writes or removes")),
)
_RSYNC = Program(
    values="eBTfM",
    rows=(
        _row("-e: --rsh: --rsync-path: -M: --remote-option:", "runs a program"),
        _row("--log-file: --write-batch: --only-write-batch: --backup-dir: --partial-dir: -T: --temp-dir:", "writes"),
        _row("--daemon --config:", "takes options from a file"),
    ),
)
_MAKE = Program(
    values="CfIjloW",
    rows=(
        _row("--eval: -E:", "runs text as a makefile"),
        _row("-f: --file: --makefile:", "runs another makefile"),
        _row("SHELL= MAKEFLAGS= MAKE= .SHELLFLAGS= MAKEFILES=", "names the program that runs the recipes"),
        _row("CC= CXX= CPP= LD= AR= AS= RM=", "names a program that the recipes run"),
    ),
)
_NPM = Program(
    subcommands=True,
    rows=(
        _row("exec: exe: ex: e: x: init: ini: innit: create: creat: crea: cre: explore: dlx:", "fetches and runs"),
        _row(
            "--script-shell: --shell: --node-options: --userconfig: --globalconfig:",
            "names a program or a configuration",
        ),
        _row("--prefix: -C: --dir: --cwd:", "works in another folder"),
        _row("config:set config:edit c:set c:edit set edit", "changes or edits the configuration"),
    ),
)
_GO = Program(
    subcommands=True,
    dashwords=True,
    rows=(
        _row("-exec: -toolexec: -vettool:", "runs a program"),
        _row("-ldflags: -gcflags: -asmflags: -gccgoflags: -compiler:", "names programs of the build"),
        _row("-o: -cpuprofile: -memprofile: -coverprofile: -trace:", "writes a file", writes=True),
        _row("-overlay: -modfile: -C:", "takes sources from elsewhere"),
        _row("env:-w generate", "changes the environment or runs commands in comments"),
    ),
)
_DOCKER = Program(
    subcommands=True,
    rows=(_row("-H: --host: --config: --context:", "talks to another daemon or takes its configuration"),),
)
_KUBECTL = Program(
    subcommands=True, rows=(_row("--kubeconfig: --server: -s: --post-renderer:", "a configuration runs programs"),)
)
_APT = Program(rows=(_row("-o: --option: -c: --config-file:", "options run programs"),))
_MAN = Program(
    values="SsMmLRerpX",
    rows=(
        _row("-P: --pager: -H --html --browser: -X --gxditview", "runs a program"),
        _row("-C: --config-file:", "a configuration names programs"),
    ),
)
_PYTEST = Program(
    values="kmnorW",
    safe=frozenset(["--co", "--cov"]),
    rows=(
        _row("-p:", "loads a plugin"),
        _row("-c: --config-file: -o: --override-ini: --rootdir: --confcutdir:", "takes configuration from elsewhere"),
        _row("--pdbcls: --debug", "loads a class or writes a file"),
        _row("--basetemp: --junit-xml: --junitxml: --log-file: --cov-report:", "writes or removes files", writes=True),
    ),
)
_EVERY = "every call does"

_PYTHON = Program(
    interpreter=True, values="cmWXQ", rows=(_row("-c:", "runs code"), _row("-i --inspect", "reads its input"))
)
_NODE = Program(
    interpreter=True,
    values="epr",
    rows=(
        _row("-e: --eval: -p: --print: -r: --require: --import: --loader: --experimental-loader:", "runs code"),
        _row("-i --interactive", "reads its input"),
        _row("eval… repl", "runs code"),
    ),
)
_PERL = Program(interpreter=True, values="eEmMIxdiFC", rows=(_row("-e: -E: -M: -m: -I: -x -d -i -n -p", "runs code"),))
_RUBY = Program(interpreter=True, values="eErIxCFTW", rows=(_row("-e: -r: -I: -x -n -p -i", "runs code"),))
_PHP = Program(interpreter=True, values="rRBEFdcfz", rows=(_row("-r: -R: -B: -E: -F: -d: -c: -a -z:", "runs code"),))
_LUA = Program(interpreter=True, values="el", rows=(_row("-e: -l: -i", "runs code"),))
_OTHER_CODE = Program(
    interpreter=True,
    values="eELl",
    rows=(_row("-e: -E: -eval: --eval: --execute: -L: -l: -i -s", "runs code"),),
)
_SHELL = Program(
    interpreter=True, values="oO", rows=(_row("-c: -s -i --rcfile: --init-file: -l --login --command:", "runs a text"),)
)
_COMPILER = Program(
    dashwords=True,
    glued="oB",
    rows=(
        _row("-wrapper: -B: -specs: -fplugin: -plugin: --config:", "runs a program"),
        _row("-fuse-ld: -o:", "runs a program or writes a file", writes=True),
    ),
)

PROGRAMS: dict[str, Program] = {
    "find": _FIND,
    **dict(_same("fd fdfind", _FD)),
    "git": _GIT,
    "sed": Program(text=True, values="efl", rows=(_row("-f: --file:", "runs a script that nobody looked at"),)),
    "gsed": Program(text=True, values="efl", rows=(_row("-f: --file:", "runs a script that nobody looked at"),)),
    **dict(
        _same(
            "awk gawk mawk nawk original-awk",
            Program(
                text=True,
                values="vFW",
                rows=(
                    _row("-f: --file: -i: --include: -l: --load: -E: --exec:", "runs a script that nobody looked at"),
                    _row("-o --pretty-print -p --profile -d --dump-variables -D --debug", "writes a file"),
                ),
            ),
        )
    ),
    **dict(_same("tar gtar bsdtar", _TAR)),
    "cpio": Program(rows=(_row("-F: --rsh-command: -O:", "runs a program or writes a file"),)),
    **dict(_same("ssh autossh mosh sshfs slogin", _SSH)),
    **dict(_same("scp sftp", _SCP)),
    "rsync": _RSYNC,
    **dict(_same("sort gsort", _SORT)),
    **dict(_same("bat batcat", Program(values="lHSrm", rows=(_row("--pager: --diff-cmd:", "runs a program"),)))),
    **dict(_same("rg ripgrep ag ack ugrep", _GREPPERS)),
    **dict(_same("less more most zless", _LESS)),
    "man": _MAN,
    **dict(_same("vim vi nvim view ex gvim vimdiff rvim", _VIM)),
    **dict(_same("ed red", Program(rows=(_row("*", "commands from its input run programs and write files"),)))),
    **dict(_same("emacs emacsclient", _EMACS)),
    "curl": _CURL,
    **dict(_same("wget wget2 aria2c", Program(rows=(_row("*", f"{_EVERY} write files"),)))),
    "dd": Program(rows=(_row("of=", "writes a file", writes=True),)),
    **dict(_same("make gmake", _MAKE)),
    "ninja": Program(rows=(_row("-f: -C:", "runs another build file"),)),
    "cmake": Program(rows=(_row("-P: -E… -C: --build", "runs a script or a command"),)),
    "ctest": Program(rows=(_row("-S: -SP: --build-and-test --script:", "runs a script"),)),
    **dict(_same("gradle gradlew", Program(rows=(_row("-I: --init-script: -b: -c: -p:", "runs another script"),)))),
    **dict(
        _same("ant", Program(dashwords=True, rows=(_row("-f: -file: -buildfile: -lib:", "runs another build file"),)))
    ),
    **dict(_same("docker podman nerdctl", _DOCKER)),
    **dict(_same("kubectl helm oc", _KUBECTL)),
    **dict(_same("apt apt-get aptitude", _APT)),
    "dpkg": Program(rows=(_row("--pre-invoke: --post-invoke: --status-logger:", "runs a command"),)),
    "rpm": Program(rows=(_row("--pipe: -D: --define: -E: --eval: --load: --rcfile:", "runs macros or a command"),)),
    "pacman": Program(rows=(_row("--hookdir: --config:", "runs hooks"),)),
    "split": Program(
        values="abClnt",
        rows=(_row("--filter:", "runs a command"), _row("--additional-suffix:", "writes elsewhere")),
    ),
    **dict(_same("zip", _ZIP)),
    "xxd": Program(values="bcglos", rows=(_row("-r --revert", "writes a file"),)),
    **dict(_same("npm pnpm yarn", _NPM)),
    "bun": Program(
        subcommands=True,
        rows=(
            _row("x: create: init: exec: -e: --eval: -p: --print: -r: --preload: --config: -c:", "runs code"),
            _row("--cwd:", "works in another folder"),
        ),
    ),
    "cargo": Program(
        subcommands=True,
        rows=(
            _row("--config: -Z:", "configuration names programs"),
            _row("--out-dir: --artifact-dir: --target-dir: -C:", "writes or works elsewhere"),
        ),
    ),
    "go": _GO,
    "pytest": _PYTEST,
    "py.test": _PYTEST,
    **dict(_same("python pypy ipython", _PYTHON)),
    **dict(_same("node nodejs deno", _NODE)),
    "perl": _PERL,
    "ruby": _RUBY,
    "php": _PHP,
    **dict(_same("lua luajit", _LUA)),
    **dict(
        _same(
            "julia rscript r osascript scala groovy swift elixir erl tclsh guile ghci irb octave ts-node tsx",
            _OTHER_CODE,
        )
    ),
    **dict(_same("sh bash dash zsh ksh ash mksh rbash yash fish csh tcsh posh oksh pdksh", _SHELL)),
    **dict(_same("gcc g++ cc c++ clang clang++", _COMPILER)),
    "eslint": Program(
        rows=(
            _row("-c: --config: --rulesdir: --plugin: --resolve-plugins-relative-to: --parser:", "loads code"),
            _row("-f: --format: -o: --output-file:", "loads code or writes a file"),
        )
    ),
    "mypy": Program(
        rows=(
            _row("--python-executable: --config-file: --custom-typeshed-dir:", "runs a program or loads plugins"),
            _row("--cache-dir: --junit-xml: --install-types", "writes elsewhere or installs"),
        )
    ),
    "tree": Program(
        rows=(_row("-o: --output:", "writes a file", writes=True), _row("-R", "writes a page into every folder"))
    ),
    "diff": Program(rows=(_row("-l --paginate", "runs pr"),)),
    **dict(
        _same(
            "sdiff diff3",
            Program(
                values="wILT",
                rows=(_row("--diff-program:", "runs a program"), _row("-o: --output:", "writes, and starts an editor")),
            ),
        )
    ),
    "fzf": Program(rows=(_row("--preview: --bind: --become: --with-shell: --listen:", "runs a command"),)),
    "nodemon": Program(values="weCdis", rows=(_row("-x: --exec: --config:", "runs a command"),)),
    **dict(
        _same(
            "tcpdump tshark dumpcap",
            Program(values="BCcDEFGiIjmMQrsTVWyzw", rows=(_row("-z: -w: -X:", "runs a command or writes a file"),)),
        )
    ),
    "rake": Program(values="fIrRepE", rows=(_row("-e: -E: -p: --execute: --execute-print: -r: -f:", "runs code"),)),
    "pandoc": Program(
        values="fFtolLVMHBAcTC",
        rows=(
            _row("-F: --filter: -L: --lua-filter: --pdf-engine: --defaults: -d:", "runs a program"),
            _row("-o: --output: --extract-media:", "writes a file", writes=True),
        ),
    ),
    **dict(
        _same(
            "tex latex pdflatex pdftex xelatex xetex lualatex luatex latexmk",
            Program(
                dashwords=True,
                rows=(
                    _row("-shell-escape -enable-write18 -e: -r: -latex: -pdflatex:", "runs commands"),
                    _row("-output-directory:", "writes files", writes=True),
                ),
            ),
        )
    ),
    "npx": Program(
        subcommands=True,
        rows=(_row("^-c: ^--call: ^--shell: ^--script-shell: ^--node-options:", "runs a text"),),
    ),
    "xmllint": Program(rows=(_row("--output:", "writes a file", writes=True),)),
    "xsltproc": Program(rows=(_row("-o: --output:", "writes a file", writes=True),)),
    "ssh-keygen": Program(values="abCEFfGIjJKkMmNnOPRrSsTtVWwYZz", rows=(_row("-D: -w:", "loads a library"),)),
    **dict(_same("iconv shuf base64", Program(rows=(_row("-o: --output:", "writes a file", writes=True),)))),
    "gpg": Program(rows=(_row("-o: --output: --options: --exec-path: --agent-program: --photo-viewer:", "runs"),)),
    "openssl": Program(
        dashwords=True, rows=(_row("-out: -engine: -provider: -provider-path: -config:", "writes or loads"),)
    ),
    "file": Program(
        values="eFfmP",
        rows=(
            _row("-C --compile", "writes a file"),
            _row("-z -Z --uncompress --uncompress-noreport", "runs programs that unpack"),
        ),
    ),
    "yq": Program(rows=(_row("-i --inplace -s: --split-exp:", "writes files"),)),
    "gh": Program(subcommands=True, rows=(_row("alias extension ext config", "adds commands"),)),
    **dict(_same("nc ncat netcat", Program(rows=(_row("-e: -c: --exec: --sh-exec: --lua-exec:", "runs a program"),)))),
    **dict(_same("socat", Program(rows=(_row("*", f"{_EVERY} open what its addresses say"),)))),
    **dict(_same("tmux screen", Program(rows=(_row("*", f"{_EVERY} start programs"),)))),
    **dict(_same("at batch crontab", Program(rows=(_row("*", f"{_EVERY} run a text later"),)))),
    "date": Program(rows=(_row("-s: --set:", "sets the clock"),)),
    "git-lfs": Program(rows=(_row("*", "runs git with its configuration"),)),
    **dict(
        _same(
            "psql mysql mariadb sqlite3 ftp lftp dc m4 gnuplot expect rename prename jshell",
            Program(rows=(_row("*", "commands from its input or operands run programs"),)),
        )
    ),
    "patch": Program(
        values="BDFgipVxYz", rows=(_row("-o: --output: -d: --directory: -r: --reject-file: -e --ed", "writes"),)
    ),
    "rustc": Program(rows=(_row("-C: --codegen: -Z: -o: --out-dir: --emit: --sysroot:", "runs a linker or writes"),)),
    "printf": Program(rows=(_row("-v:", "sets a variable"),)),
    **dict(_same("compgen complete", Program(rows=(_row("*", "its words are expanded and run"),)))),
    **dict(_same("mapfile readarray", Program(rows=(_row("-C:", "runs a command for each line"),)))),
    "jobs": Program(rows=(_row("-x…", "runs a command"),)),
}
"""Programs by base name. A name with a version (`python3.12`) counts as the name without it."""

WRITES_SECOND = frozenset(["uniq", "xxd"])
"""Programs that write to their second operand."""

NAMED_ONLY = frozenset(
    [
        *(
            "export",
            "declare",
            "typeset",
            "local",
            "readonly",
            "alias",
            "unalias",
            "source",
            ".",
            "set",
            "shopt",
            "trap",
        ),
        *(
            "hash",
            "enable",
            "unset",
            "exec",
            "eval",
            "coproc",
            "bind",
            "complete",
            "command_not_found_handle",
            "ulimit",
        ),
        *("umask", "exit", "return", "logout", "kill", "disown", "fc", "history", "mapfile", "readarray", "read"),
    ]
)
"""Builtins that change what later commands mean: covered only by a rule that spells their name."""

RUNS_TEXT = frozenset(["eval", "exec", "source", ".", "trap", "coproc"])
"""Builtins that run their operands: a wildcard covers them only when the rule spells out the first operand too."""
