"""A settings file that a person names, beside those of the scopes: a path, or the JSON text itself."""

from __future__ import annotations

import os

from agent_sdk.errors import SettingsError
from agent_sdk.rules.rule import RuleSource
from agent_sdk.settings.content import Content, read_content
from agent_sdk.settings.document import Document, parse_document, read_document

INLINE = "the given settings"


def read_extra(given: str, *, cwd: str, home: str) -> Content:
    """What the file, or the JSON text in braces, says. All of it counts: whoever names a file means it. Blocks.

    Paths in its rules start where those of the project settings do. Raises SettingsError for a file that is not there
    or cannot be read as its author meant, and RuleError for a bad deny or ask rule.
    """
    document = _document(given, cwd)
    inline = document.path == INLINE
    source = RuleSource(scope="options", file=None if inline else document.path, root=cwd)
    return read_content(document, source, cwd=cwd, home=home)


def _document(given: str, cwd: str) -> Document:
    if given.lstrip().startswith("{"):
        return parse_document(INLINE, given.encode("utf-8", "surrogatepass"))
    path = os.path.join(cwd, os.path.expanduser(given))
    found = read_document(path)
    if found is None:
        raise SettingsError(f"there is no settings file {path}", path=path)
    return found
