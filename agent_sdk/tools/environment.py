"""The environment of a subprocess: the application's own, without what would make bash read a command differently."""

from __future__ import annotations

import os

from agent_sdk.values import JsonObject

_PREFIXES = ("BASH", "ANTHROPIC_")
_NAMES = frozenset(
    {
        "ENV",  # a start-up file of sh
        "SHELLOPTS",
        "POSIXLY_CORRECT",  # another grammar
        "CDPATH",  # `cd x` would go elsewhere
        "IFS",
        "GLOBIGNORE",
        "EXECIGNORE",
        "PROMPT_COMMAND",
        "PS0",
        "PS1",
        "PS2",
        "PS3",
        "PS4",  # expanded by `set -x`, and an expansion may run a command
        "TMOUT",
        "OLDPWD",
    }
)


def scrubbed_environment(extra: JsonObject | None = None, *, cwd: str | None = None) -> dict[str, str]:
    """The application's environment plus `extra`, scrubbed; `PWD` is `cwd` when given.

    Left out: variables that change how bash starts or reads (`BASH_ENV`, `SHELLOPTS`, `IFS`, …), exported functions,
    and `ANTHROPIC_*`, which are secrets of the application. They are left out of `extra` as well; so is whatever in
    `extra` is no string, or cannot be a variable.
    """
    given = {name: value for name, value in (extra or {}).items() if isinstance(value, str)}
    kept = {name: value for name, value in (os.environ | given).items() if _is_harmless(name, value)}
    return kept if cwd is None else kept | {"PWD": cwd}


def _is_harmless(name: str, value: str) -> bool:
    if not name or "=" in name or "\0" in name + value:
        return False
    return name not in _NAMES and not name.startswith(_PREFIXES) and not value.startswith("() {")
