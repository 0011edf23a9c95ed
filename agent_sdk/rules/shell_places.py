"""May a wildcard cover these files? Redirection targets, and the operands of programs that write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_sdk.rules.bash_pattern import SEPARATOR, BashPattern
from agent_sdk.rules.file_operands import PRINTS, RECURSIVE, FileUse, file_uses
from agent_sdk.rules.ground import Ground
from agent_sdk.rules.paths import PathRules
from agent_sdk.rules.protected import protected
from agent_sdk.rules.rule import Rule
from agent_sdk.rules.shell_nodes import Redirect, SimpleCommand, Word
from agent_sdk.rules.shell_view import NULL, WRITES, ShellView, Where, is_network, path_text
from agent_sdk.rules.spelling import Parts, Spelled, parts


@dataclass(slots=True)  # not frozen, though never changed: it is made for every new command
class Operand:
    """A file that a wildcard of a rule would cover, as far as the text of the command tells.

    `text` is its path as `spell` takes it. `entered`: the command only goes there. `named`: the rule itself names the
    place. `spreads`: the program changes all that lies in a folder. `folder` is the path that something is copied into
    under its own name, if it is a folder; None when it is one, or nothing is.
    """

    text: str
    entered: bool
    named: bool
    spreads: bool
    folder: str | None


@dataclass(frozen=True, slots=True)
class Places:
    """The allow rules for paths: `edit` and `read` by pattern, and the bare rules that cover every path."""

    edit: PathRules
    read: PathRules
    every_edit: Rule | None
    every_read: Rule | None

    def redirect(self, view: ShellView, where: Where, redirect: Redirect) -> list[Rule] | None:
        """The rules that cover the target of a redirection; empty when it needs none, None when it must be asked."""
        writes = redirect.op in WRITES
        target = redirect.target
        text = path_text(target, 0)
        if text is None or target.brace or target.glob >= 0 or is_network(text) or (writes and not target.static):
            return None
        if (where.lost or (writes and where.moved)) and not text.startswith("/"):
            return None
        used: list[Rule] = []
        for path in view.spelled(text, where.folders):
            if path.odd or path.refused:
                return None
            if writes:
                if protected(path.readings, view.settings_dir):
                    return None
                rule = self._edits(path, view)
            elif all(view.ground.inside(reading) for reading in path.readings):
                continue
            else:
                rule = self.every_read or self.read.all_readings(path, view.ground) or self._edits(path, view)
            if rule is None:
                return None
            used.append(rule)
        return used

    def _edits(self, path: Spelled, view: ShellView) -> Rule | None:
        return self.every_edit or self.edit.all_readings(path, view.ground)

    def hold(self, operands: Sequence[Operand], view: ShellView, where: Where) -> bool:
        """True when a wildcard may cover all these operands at this place."""
        for operand in operands:
            if not self._holds(operand, view, where):
                return False
        return True

    def _holds(self, operand: Operand, view: ShellView, where: Where) -> bool:
        """True when a wildcard may cover the operand at this place, in every directory that the command may run in."""
        if where.lost and not operand.text.startswith(("/", "~/")):
            return False
        for path in view.spelled(operand.text, where.folders):
            if path.odd or path.refused:
                return False
            if operand.folder is not None and not _may_be_folder(operand.folder, view, where):
                continue
            if protected(path.readings, view.settings_dir):
                return False
            if operand.spreads and any(reading in view.ground.working for reading in path.readings):
                return False
            if operand.named or _all_inside(path.readings, view.ground):
                continue
            if operand.entered or not self._edits(path, view):
                return False
        return True


def _all_inside(readings: Sequence[Parts], ground: Ground) -> bool:
    for reading in readings:
        if not ground.inside(reading):
            return False
    return True


def _may_be_folder(text: str, view: ShellView, where: Where) -> bool:
    """False when it is plainly no folder, so that nothing is created inside it."""
    kinds = [view.files.kind("/" + "/".join(parts(path.absolute))) for path in view.spelled(text, where.folders)]
    return any(kind == "dir" for kind in kinds)


def wildcard_operands(command: SimpleCommand, spelled: int, pattern: BashPattern) -> tuple[Operand, ...] | None:
    """What a command writes, removes or enters that stands behind the words that the rule spells out.

    `spelled` is how many these are. None when no wildcard covers it, wherever it runs.
    """
    words, texts = command.words, command.texts
    uses = file_uses(texts)
    if texts[0] in ("cd", "pushd") and not (uses and _moves_plainly(texts)):
        return None
    found: list[Operand] = []
    for use in uses:
        if use.use == "read" or (use.index < spelled and use.into < spelled):
            continue
        if spelled > 1 and texts[:2] in PRINTS:
            return None
        word = words[use.index]
        text = path_text(word, use.offset)
        if text == NULL and use.use == "write":
            continue
        target = _target(words, use, text)
        if target is None:
            return None
        named = use.index == spelled and _place_named(pattern, spelled, word.text)
        folder = text if use.into >= 0 and not _is_folder(words, use, text or "") else None
        found.append(Operand(target, use.use == "enter", named, texts[0] in RECURSIVE, folder))
    return tuple(found)


def _moves_plainly(texts: Sequence[str]) -> bool:
    """True for a `cd` with one operand and options that change nothing about where it leads."""
    return len([text for text in texts[1:] if not text.startswith("-")]) == 1 and not any(
        text.startswith(("+", "-")) and text not in ("-L", "-P", "--", "-e") for text in texts[1:]
    )


def _target(words: Sequence[Word], use: FileUse, text: str | None) -> str | None:
    """The path of a use whose word says the path `text`; None when a wildcard must not cover it.

    With a glob it is a path that stands for all that the glob may find.
    """
    word = words[use.index]
    if not text or word.brace or word.marks or use.contents:
        return None
    if use.into >= 0:
        copied = words[use.into]
        if word.glob >= 0 or copied.glob == 0 or copied.text.rpartition("/")[2][:2] in (".*", ".?", ".["):
            return None
        name = copied.text.rstrip("/").rpartition("/")[2]
        return f"{text.rstrip('/')}/{name}" if text.strip("/") else f"/{name}"
    if word.glob < 0:
        return text
    if use.use == "write" and not words[0].text.endswith("sed"):
        return None
    literal = word.text[use.offset : word.glob]
    tail = word.text[use.offset :].rpartition("/")[2]
    if tail.startswith(".") or "/" in word.text[word.glob :]:
        return None
    return (literal.rpartition("/")[0] or ("/" if literal.startswith("/") else ".")) + "/" + tail


def _is_folder(words: Sequence[Word], use: FileUse, text: str) -> bool:
    """True when the target is a folder by how it is written."""
    if use.offset or words[use.index - 1].text.startswith("-t"):
        return True
    return text in (".", "..") or "/" in text[-2:]


def _place_named(pattern: BashPattern, spelled: int, text: str) -> bool:
    """True when the rule begins this very word and names a folder in it: `mkdir -p /tmp/claude-*`."""
    head = pattern.pieces[0].split(SEPARATOR)
    if len(head) != spelled + 1 or ".." in text.split("/"):
        return False
    begun = head[-1]
    return "/" in begun.strip("/") and text.startswith(begun)
