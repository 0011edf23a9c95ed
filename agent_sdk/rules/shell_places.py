"""May a wildcard cover these files? Redirection targets, and the operands of programs that write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_sdk.rules.bash_pattern import SEPARATOR, BashPattern
from agent_sdk.rules.file_operands import PRINTS, RECURSIVE, FileUse, file_uses
from agent_sdk.rules.paths import PathRules
from agent_sdk.rules.protected import protected
from agent_sdk.rules.rule import Rule
from agent_sdk.rules.shell_nodes import Redirect, SimpleCommand, Word
from agent_sdk.rules.shell_view import NULL, WRITES, ShellView, Where, is_network, path_text
from agent_sdk.rules.spelling import Spelled, parts


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

    def operands(self, view: ShellView, index: int, command: SimpleCommand, spelled: int, pattern: BashPattern) -> bool:
        """True when a wildcard may cover what the command writes, removes or enters.

        `index` is its place in the line, `spelled` words of it are written out in the rule.
        """
        words, texts = command.words, command.texts
        uses = file_uses(texts)
        name = texts[0]
        if name in ("cd", "pushd") and not uses:
            return False
        for use in uses:
            if use.use == "read" or (use.index < spelled and use.into < spelled):
                continue
            if spelled > 1 and tuple(texts[:2]) in PRINTS:
                return False
            if not self._operand(view, view.where(index), words, use, spelled, pattern):
                return False
        if name in ("cd", "pushd"):
            return len([text for text in texts[1:] if not text.startswith("-")]) == 1 and not any(
                text.startswith(("+", "-")) and text not in ("-L", "-P", "--", "-e") for text in texts[1:]
            )
        return True

    def _operand(
        self,
        view: ShellView,
        where: Where,
        words: Sequence[Word],
        use: FileUse,
        spelled: int,
        pattern: BashPattern,
    ) -> bool:
        word = words[use.index]
        text = path_text(word, use.offset)
        if text == NULL and use.use == "write":
            return True
        if not text or word.brace or word.marks:
            return False
        if use.into >= 0 and (word.glob >= 0 or words[use.into].glob == 0):
            return False
        if use.contents or (use.into >= 0 and words[use.into].text.rpartition("/")[2][:2] in (".*", ".?", ".[")):
            return False
        if use.into >= 0:
            name = words[use.into].text.rstrip("/").rpartition("/")[2]
            text = f"{text.rstrip('/')}/{name}" if text.strip("/") else f"/{name}"
        elif word.glob >= 0:
            if use.use == "write" and not words[0].text.endswith("sed"):
                return False
            literal = word.text[use.offset : word.glob]
            tail = word.text[use.offset :].rpartition("/")[2]
            if tail.startswith(".") or "/" in word.text[word.glob :]:
                return False
            text = (literal.rpartition("/")[0] or ("/" if literal.startswith("/") else ".")) + "/" + tail
        if where.lost and not text.startswith(("/", "~/")):
            return False
        named = use.index == spelled and _place_named(pattern, spelled, word.text)
        for path in view.spelled(text, where.folders):
            if path.odd or path.refused:
                return False
            if use.into >= 0 and not _creates_inside(view, words, use, where):
                continue
            if protected(path.readings, view.settings_dir):
                return False
            if words[0].text in RECURSIVE and any(reading in view.ground.working for reading in path.readings):
                return False
            inside = all(view.ground.inside(reading) for reading in path.readings)
            if inside or named or (use.use != "enter" and self._edits(path, view)):
                continue
            return False
        return True


def _creates_inside(view: ShellView, words: Sequence[Word], use: FileUse, where: Where) -> bool:
    """False when the target is plainly no folder, so that nothing is created inside it."""
    text = path_text(words[use.index], use.offset) or ""
    if text.endswith("/") or use.offset or words[use.index - 1].text.startswith("-t"):
        return True
    kinds = [view.files.kind("/" + "/".join(parts(path.absolute))) for path in view.spelled(text, where.folders)]
    return any(kind == "dir" for kind in kinds) or text in (".", "..") or "/" in text[-2:]


def _place_named(pattern: BashPattern, spelled: int, text: str) -> bool:
    """True when the rule begins this very word and names a folder in it: `mkdir -p /tmp/claude-*`."""
    head = pattern.pieces[0].split(SEPARATOR)
    if len(head) != spelled + 1 or ".." in text.split("/"):
        return False
    begun = head[-1]
    return "/" in begun.strip("/") and text.startswith(begun)
