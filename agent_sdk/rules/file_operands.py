"""Which operands of known programs are files that are read, written or removed. Best effort, and documented as such."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from agent_sdk.rules.escapes import program_of, text_operands

Use: TypeAlias = Literal["read", "write", "remove", "enter"]
Shape: TypeAlias = Literal["read", "write", "remove", "copy", "move", "link", "second"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProgram:
    """How a program takes files.

    `shape`: all operands are read, written or removed; the last one is written (`copy`, `move`, `link`); the second one
    is (`second`). `skip` operands in front are no files, unless one of the options `given` stands in their place.
    `values` and `long_values` are options that take the next word, `target` those whose value is the folder that is
    written, `reads` those whose value is a file that is read.
    """

    shape: Shape
    skip: int = 0
    given: tuple[str, ...] = ()
    values: str = ""
    long_values: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()


@dataclass(slots=True, unsafe_hash=True)  # not frozen, though never changed: it is made for every new command
class FileUse:
    """One file: the index of the word, and where in it the path begins (`of=path`, `--target-directory=path`).

    `into` is the index of a word that is copied into this folder under its own name, or -1; with `contents` it is a
    folder whose contents are copied, hidden names included.
    """

    index: int
    use: Use
    offset: int = 0
    into: int = -1
    contents: bool = False


_READ = FileProgram(shape="read")
_GREP = FileProgram(
    shape="read",
    skip=1,
    given=("-e", "-f", "--regexp", "--file"),
    values="ABCDdefm",
    reads=("-f", "--file"),
    long_values=("--regexp", "--file", "--max-count", "--context", "--after-context", "--before-context", "--label"),
)
_COPY = FileProgram(
    shape="copy",
    values="StgmoZ",
    target=("-t", "--target-directory"),
    long_values=("--suffix", "--mode", "--owner", "--group"),
)

FILES: dict[str, FileProgram] = {
    **dict.fromkeys(("cat", "tac", "rev", "bat", "batcat", "zcat", "bzcat", "xzcat", "more", "less", "most"), _READ),
    **dict.fromkeys(("nl", "fold", "fmt", "pr", "expand", "unexpand", "paste", "join", "comm", "cmp", "diff"), _READ),
    **dict.fromkeys(("wc", "cksum", "md5sum", "sha1sum", "sha256sum", "sha512sum", "b2sum", "sum"), _READ),
    **dict.fromkeys(("sdiff", "diff3", "colordiff", "column", "shuf", "tsort", "ptx", "ul", "look", "csplit"), _READ),
    **dict.fromkeys(("lzcat", "zstdcat", "lz4cat", "gzcat", "zless", "zmore", "bzless", "xzless", "basenc"), _READ),
    **dict.fromkeys(("b3sum", "shasum", "sha224sum", "sha384sum", "uuencode", "pygmentize"), _READ),
    **dict.fromkeys(("strings", "hexdump", "hd", "base64", "base32", "file", "source", ".", "iconv"), _READ),
    **dict.fromkeys(("od",), FileProgram(shape="read", values="AjNStw")),
    **dict.fromkeys(("head", "tail"), FileProgram(shape="read", values="nc", long_values=("--lines", "--bytes"))),
    **dict.fromkeys(("cut",), FileProgram(shape="read", values="bcfd", long_values=("--fields", "--delimiter"))),
    **dict.fromkeys(("sort", "gsort"), FileProgram(shape="read", values="koStT")),
    **dict.fromkeys(("grep", "egrep", "fgrep", "rgrep", "zgrep", "zegrep", "zfgrep", "bzgrep", "xzgrep"), _GREP),
    **dict.fromkeys(("rg", "ag", "ack"), _GREP),
    **dict.fromkeys(("jq",), FileProgram(shape="read", skip=1, given=("-f", "--from-file"))),
    "uniq": FileProgram(shape="second", values="fsw"),
    "xxd": FileProgram(shape="second", values="bcglos"),
    **dict.fromkeys(("tee", "sponge"), FileProgram(shape="write")),
    **dict.fromkeys(("touch",), FileProgram(shape="write", values="drt", long_values=("--date", "--reference"))),
    **dict.fromkeys(("mkdir", "mkfifo", "mknod"), FileProgram(shape="write", values="mZ", long_values=("--mode",))),
    "truncate": FileProgram(shape="write", values="sr", long_values=("--size", "--reference")),
    "fallocate": FileProgram(shape="write", values="lo"),
    **dict.fromkeys(("chmod", "chown", "chgrp"), FileProgram(shape="write")),
    **dict.fromkeys(("rm", "rmdir", "unlink"), FileProgram(shape="remove")),
    "shred": FileProgram(shape="remove", values="ns"),
    **dict.fromkeys(("cp", "gcp"), _COPY),
    "install": _COPY,
    **dict.fromkeys(("mv", "gmv"), FileProgram(shape="move", values="StZ", target=("-t", "--target-directory"))),
    **dict.fromkeys(("ln", "link"), FileProgram(shape="link", values="St", target=("-t", "--target-directory"))),
    "rsync": FileProgram(shape="copy", values="eBTfM"),
    "scp": FileProgram(shape="copy", values="cDFiJloPSX"),
    **dict.fromkeys(("gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd"), FileProgram(shape="write")),
    "patch": FileProgram(shape="write", values="dFipoDBrVYz"),
    "split": FileProgram(shape="second", values="abClnt"),
    **dict.fromkeys(("zip", "7z"), FileProgram(shape="write", values="bnPtsx")),
    "unzip": FileProgram(shape="read", values="dP", target=("-d",)),
}

READERS = frozenset(name for name, program in FILES.items() if program.shape == "read") | {"sed", "awk", "gawk", "ls"}
QUIET = frozenset(
    [
        "echo",
        "printf",
        "true",
        "false",
        ":",
        "pwd",
        "test",
        "[",
        "cd",
        "wc",
        "ls",
        "dirname",
        "basename",
        "date",
        "find",
    ]
)
RECURSIVE = frozenset(
    ["chmod", "chown", "chgrp", "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "zip", "7z"]
)
PRINTS = frozenset([("sed", "-n"), ("gsed", "-n")])
"""Commands of two words that print: a rule that spells them out does not mean an option that writes (`sed -n -i`)."""
TAKES_FILES = frozenset(
    ["sed", "gsed", "awk", "gawk", "mawk", "nawk", "dd", "find", "tar", "gtar", "bsdtar", "curl", *FILES]
)
"""The programs whose operands `file_uses` knows, `cd` and `pushd` aside."""
REMOVERS = frozenset(name for name, program in FILES.items() if program.shape == "remove")


_CURL_FORMS = ("-F", "--form")
_CURL_SENDS = (
    "-d",
    "--data",
    "-F",
    "--form",
    "-H",
    "--header",
    "-b",
    "--json",
    "--url-query",
    "--variable",
    "-w",
    "--write-out",
)
_CURL_VALUES = "AbCcdDeEFHhKmoPQrTtUuwXxyYz"
_CURL_FILES: tuple[tuple[Use, str, tuple[str, ...]], ...] = (
    ("read", "TK", ("--upload-file", "--config", "--netrc-file")),
    ("write", "oDc", ("--output", "--dump-header", "--cookie-jar")),
)
_FILE_URL = re.compile(r"file:(?://localhost(?=/)|/*(?=/))", re.IGNORECASE)
_FIND_WIDE = frozenset(
    ["-delete", "-depth", "-mindepth", "-maxdepth", "-xdev", "-mount", "-print", "-print0", "-L", "-P", "-H", "-type"]
)


@lru_cache(maxsize=512)
def file_uses(argv: tuple[str, ...]) -> tuple[FileUse, ...]:
    """The files that a command reads, writes or removes, as far as the table knows the program."""
    return tuple(_file_uses(argv))


def _file_uses(argv: Sequence[str]) -> Iterable[FileUse]:
    if not argv:
        return ()
    base, _ = program_of(argv[0])
    if base in ("sed", "gsed", "awk", "gawk", "mawk", "nawk"):
        return _after_text(argv, sed=base.endswith("sed"))
    if base == "dd":
        return _dd(argv)
    if base == "find":
        return _find(argv)
    if base in ("tar", "gtar", "bsdtar"):
        return [use for use in _tar(argv) if use.index < len(argv)]
    if base == "curl":
        return _curl(argv)
    if base in ("cd", "pushd"):
        return [FileUse(index, "enter") for index in _operands(argv, FileProgram(shape="read"))[0][:1]]
    program = FILES.get(base)
    if program is None:
        return ()
    operands, targets = _operands(argv, program)
    return [use for use in _shaped(argv, program, operands, targets) if use.index < len(argv)]


def _operands(argv: Sequence[str], program: FileProgram) -> tuple[list[int], list[FileUse]]:
    """The indexes of the operands, and the folders that options name."""
    operands: list[int] = []
    targets: list[FileUse] = []
    given = ended = False
    index = 1
    while index < len(argv):
        word = argv[index]
        if ended or not word.startswith("-") or word == "-":
            operands.append(index)
            index += 1
            continue
        if word == "--":
            ended = True
            index += 1
            continue
        name, equals, _ = word.partition("=")
        if word.startswith("--"):
            given = given or _begins(name, program.given)
            long_target = next((long for long in program.target if long.startswith(name) and len(name) > 4), None)
            if long_target is not None:
                targets.append(FileUse(index if equals else index + 1, "write", len(name) + 1 if equals else 0))
            if _begins(name, program.reads):
                targets.append(FileUse(index if equals else index + 1, "read", len(name) + 1 if equals else 0))
            takes = long_target is not None or _begins(name, program.long_values)
            index += 2 if takes and not equals else 1
            continue
        at = next((at for at, letter in enumerate(word) if at and letter in program.values), -1)
        letters = word[1:] if at < 0 else word[1 : at + 1]
        given = given or any("-" + letter in program.given for letter in letters)
        last = at == len(word) - 1
        if at >= 0 and "-" + word[at] in (*program.target, *program.reads):
            use: Use = "write" if "-" + word[at] in program.target else "read"
            targets.append(FileUse(index + 1 if last else index, use, 0 if last else at + 1))
        index += 2 if at >= 0 and last else 1
    skip = 0 if given else program.skip
    return operands[skip:], [target for target in targets if target.index < len(argv)]


def _begins(typed: str, options: Sequence[str]) -> bool:
    """True for a long option or a beginning of it; for one of two letters or fewer only in full."""
    return typed in options or (len(typed) > 4 and any(option.startswith(typed) for option in options))


def _shaped(
    argv: Sequence[str], program: FileProgram, operands: list[int], targets: list[FileUse]
) -> Iterator[FileUse]:
    match program.shape:
        case "read":
            yield from (FileUse(index, "read") for index in operands)
            yield from targets
        case "write":
            yield from (FileUse(index, "write") for index in operands)
        case "remove":
            yield from (FileUse(index, "remove") for index in operands)
        case "second":
            # What looks like the value of an option may be the first operand after all.
            plain = [index for index, word in enumerate(argv) if index and (not word.startswith("-") or word == "-")]
            yield from (FileUse(index, "read") for index in plain)
            yield from (FileUse(index, "write") for index in plain[1:])
        case "copy" | "move" | "link":
            yield from _copied(argv, program.shape, operands, targets)


def _copied(argv: Sequence[str], shape: Shape, operands: list[int], targets: list[FileUse]) -> Iterator[FileUse]:
    """Sources, and the places that they are written to."""
    base, _ = program_of(argv[0])
    over = any(word.startswith("--no-t") or (word[:1] == "-" and word[1:2] != "-" and "T" in word) for word in argv[1:])
    if not targets and shape == "link" and len(operands) == 1:
        yield FileUse(operands[0], "write")
        return
    sources = operands if targets else operands[:-1]
    if len(targets) > 2:  # programs refuse more than one: the first and the last will do
        targets = [targets[0], targets[-1]]
    places = targets or [FileUse(index, "write") for index in operands[-1:]]
    for index in sources:
        if shape != "copy":
            yield FileUse(index, "remove" if shape == "move" else "write")
        if shape != "link":
            yield FileUse(index, "read")
    for place in places:
        yield place
        for index in sources:
            source = argv[index]
            contents = over or source.rstrip("/").rpartition("/")[2] in (".", "..", "")
            contents = contents or (base == "rsync" and source.endswith("/"))
            yield FileUse(place.index, "write", place.offset, index, contents)


def _after_text(argv: Sequence[str], *, sed: bool) -> Iterator[FileUse]:
    """sed and awk: every operand behind the program text is read, and written with `sed -i`."""
    texts = {index for index, _ in text_operands(argv, sed=sed)}
    in_place = sed and any(map(_edits_in_place, argv[1:]))
    for index in range(1, len(argv)):
        if index in texts or argv[index].startswith("-"):
            continue
        if not sed and index > 1 and argv[index - 1] in ("-v", "-F"):
            continue
        yield FileUse(index, "read")
        if in_place:
            yield FileUse(index, "write")


def _edits_in_place(word: str) -> bool:
    """True for sed's `-i`, alone or in a cluster, and any beginning of `--in-place`."""
    if word.startswith("--"):
        return len(word) > 2 and "--in-place".startswith(word.partition("=")[0])
    return word.startswith("-") and "i" in word


def _dd(argv: Sequence[str]) -> Iterator[FileUse]:
    for index, word in enumerate(argv):
        if word.startswith("if="):
            yield FileUse(index, "read", 3)
        elif word.startswith("of="):
            yield FileUse(index, "write", 3)


def _tar(argv: Sequence[str]) -> Iterator[FileUse]:
    """The archive is written when one is made, else read; what goes into it is read."""
    bundle = argv[1].lstrip("-") if len(argv) > 1 and not argv[1].startswith("--") else ""
    clusters = [word for word in argv[1:] if word.startswith("-") and not word.startswith("--")]
    letters = bundle + "".join(clusters)
    makes = bool(set(letters) & set("cru")) or any(word in ("--create", "--append", "--update") for word in argv)
    use: Use = "write" if makes else "read"
    named = 2 if "f" in bundle else 1  # an archive that is not named is the standard output, or a tape
    for index, word in enumerate(argv[1:], 1):
        name, equals, _ = word.partition("=")
        if word.startswith("--f") and "--file".startswith(name):
            yield FileUse(index if equals else index + 1, use, len(name) + 1 if equals else 0)
        elif (index == 1 or word.startswith("-")) and not word.startswith("--") and "f" in word:
            glued = word.startswith("-") and not word.endswith("f")
            yield FileUse(index if glued else index + 1, use, word.index("f") + 1 if glued else 0)
        elif makes and not word.startswith("-") and index > named:
            yield FileUse(index, "read")


def _curl(argv: Sequence[str]) -> Iterator[FileUse]:
    """curl reads what stands behind `@` and `-T`, and writes what stands behind `-o`."""
    for index, word in enumerate(argv[1:], 1):
        before = argv[index - 1] if index > 1 else ""
        option = before if before.startswith("-") else word
        if option.startswith(_CURL_SENDS):
            marks = "@<" if option.startswith(_CURL_FORMS) else "@"
            yield from (FileUse(index, "read", at + 1) for at in map(word.find, marks) if at >= 0)
        if (scheme := _FILE_URL.match(word)) is not None:
            yield FileUse(index, "read", scheme.end())
        for use, letters, longs in _CURL_FILES:
            if before in longs or 0 < _clustered(before, letters) == len(before):
                yield FileUse(index, use)
            elif 0 < (at := _clustered(word, letters)) < len(word):
                yield FileUse(index, use, at)


def _clustered(word: str, letters: str) -> int:
    """Where the value of one of these short options of curl begins in a word; 0 when it holds none of them."""
    if not word.startswith("-") or word.startswith("--"):
        return 0
    for at, letter in enumerate(word[1:], 1):
        if letter in letters:
            return at + 1
        if letter in _CURL_VALUES:
            return 0
    return 0


def _find(argv: Sequence[str]) -> Iterator[FileUse]:
    """The places that `find -delete` begins at, when no test narrows it; files that it prints to are written."""
    deletes = "-delete" in argv and not any(word.startswith("-") and word not in _FIND_WIDE for word in argv[1:])
    for index in range(1, len(argv)):
        word = argv[index]
        if word.startswith(("-", "(", "!")) and word not in ("-L", "-P", "-H"):
            break
        if deletes:
            yield FileUse(index, "remove")
    for index, word in enumerate(argv[:-1]):
        if word in ("-fprint", "-fprint0", "-fls", "-fprintf"):
            yield FileUse(index + 1, "write")
