"""Files that a command names: operands of well-known programs and targets of redirections. Best effort."""

from __future__ import annotations

from collections.abc import Iterator

from agent_sdk.rules.bash import BashReading, Part
from agent_sdk.rules.escapes import WRITERS, named
from agent_sdk.rules.files import native_to_slashes
from agent_sdk.rules.paths import Ground
from agent_sdk.rules.protected import protected
from agent_sdk.rules.spelling import Parts, Spelled, folded, parts, spell

READERS = named(
    """cat head tail less more grep egrep fgrep rg sed awk sort uniq cut wc nl tac od xxd hexdump strings base64 md5sum
    sha1sum sha256sum diff cmp comm paste join tr file stat jq yq bat view source . cp mv ln install rsync scp tar zip
    curl"""
)
_CHANGERS = WRITERS | {"dd", "sed", "rsync", "scp"}
_REMOVERS = frozenset({"rm", "rmdir", "unlink", "shred"})
_GLOBS = "*?["


def _names(part: Part) -> set[str]:
    return {form for forms in part.forms for form in forms}


def read_operands(reading: BashReading) -> tuple[str, ...]:
    """Words that a known reader or writer may open, and input targets."""
    words = dict.fromkeys(reading.inputs)
    if reading.names.isdisjoint(READERS | WRITERS):
        return tuple(words)
    for part in reading.parts:
        if not _names(part).isdisjoint(READERS | WRITERS):
            words |= dict.fromkeys(_values(part))
    return tuple(words)


def written_operands(reading: BashReading) -> tuple[str, ...]:
    """Words that a known writer may change, and output targets."""
    words = dict.fromkeys(reading.outputs)
    if reading.names.isdisjoint(_CHANGERS):
        return tuple(words)
    for part in reading.parts:
        if not _names(part).isdisjoint(_CHANGERS):
            words |= dict.fromkeys(_values(part))
    return tuple(words)


def _values(part: Part) -> Iterator[str]:
    """The operands, and what stands behind the `=` of an option or the letter of a short one."""
    for word in part.words:
        if not word.startswith("-") or "--" in part.words:
            yield word
        if "=" in word:
            yield word.partition("=")[2]
        if word.startswith("-") and len(word) > 2:
            yield word[2:]


def has_glob_operand(reading: BashReading) -> bool:
    """True when a known reader or writer is given a glob, which may meet any file."""
    return any(
        any(char in word for char in _GLOBS)
        for part in reading.parts
        if not _names(part).isdisjoint(READERS | WRITERS)
        for word in part.words
    )


def protected_output(reading: BashReading, ground: Ground, settings_dir: str) -> str | None:
    """Why a person must agree to a redirection: the protected name and the reason."""
    for target in reading.outputs:
        why = protected(spell(target or ".", ground.cwd, ground.files).readings, settings_dir)
        if why is not None:
            return why
    return None


def refused_target(words: tuple[str, ...], spelled: str, ground: Ground, settings_dir: str) -> str | None:
    """Why a wildcard does not cover the operands of a writer: outside, protected, or an option that cannot be told.

    `spelled` is the last, unfinished word of the rule: it names the place itself (`mkdir -p /tmp/x-*`).
    """
    program = words[0].rpartition("/")[2].lower()
    if program not in WRITERS:
        return None
    if program == "cd" and len(words) != 2:
        return "cd takes one folder"
    for word in words[1:]:
        if word.startswith("-"):
            if "=" in word or (program in ("cp", "mv", "ln", "install") and ("t" in word or "S" in word)):
                return f"{program} {word} names a target"
            continue
        path = spell(word, ground.cwd, ground.files)
        if word.endswith("/."):
            return f"{word} stands for everything in it"
        why = path.odd or protected(path.readings, settings_dir)
        named = len(spelled) > 1 and word.startswith(spelled) and ".." not in word.split("/")
        if why is None and not named and not all(ground.inside(reading) for reading in path.readings):
            why = f"{word} lies outside the working directories"
        if why is not None:
            return why
    return None


def critical_removal(reading: BashReading, ground: Ground) -> str | None:
    """Why the command is never approved without a person: it may remove the root, home or a working directory."""
    if reading.names.isdisjoint(_REMOVERS) and "-delete" not in reading.names:
        return None
    for part in reading.parts:
        names = [set(forms) for forms in part.forms]
        first = next((place for place, forms in enumerate(names) if forms & _REMOVERS), None)
        if first is None:
            if any("find" in forms for forms in names) and "-delete" in part.low:
                first = 0
            else:
                continue
        if "$(" in reading.command or "`" in reading.command:
            return "it removes what only the shell knows"
        for word in part.words[first + 1 :]:
            if not word.startswith("-") and _critical(word, ground):
                return f"it may remove {word}"
    return None


def _critical(word: str, ground: Ground) -> bool:
    names = word.split("/")
    while len(names) > 1 and (not names[-1] or not names[-1].strip("*.?")) and names[-1] not in (".", ".."):
        names.pop()
    if (len(names) == 1 and names[0] and not names[0].strip("*?")) or names == [".*"]:
        names = ["."]
    text = "/".join(names) or "/"
    if text.startswith("~") and "/" not in text:
        return True
    path: Spelled = spell(text, ground.cwd, ground.files)
    return any(len(one) <= 1 or any(_holds(one, kept) for kept in _kept(ground)) for one in path.readings)


def _kept(ground: Ground) -> tuple[Parts, ...]:
    home = ground.files.home
    return (*ground.working, parts(native_to_slashes(home) if ground.files.windows else home))


def _holds(folder: Parts, kept: Parts) -> bool:
    return len(folder) <= len(kept) and tuple(map(folded, folder)) == tuple(map(folded, kept[: len(folder)]))
