"""HookMatcher: which hooks hear which tools."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent_sdk.callables import check_async_callable
from agent_sdk.errors import OptionsError
from agent_sdk.hooks.events import HookCallback

_PLAIN = re.compile(r"[A-Za-z0-9_\- ,|]*")
_SIGNATURE = "async def hook(input_data, tool_use_id, context): ..."


@dataclass(frozen=True, slots=True)
class HookMatcher:
    """Hooks for the tools that `matcher` names.

    `None`, `""` and `"*"` are all tools. Only letters, digits, `_`, `-`, space, `,` and `|`: exact tool names, a list
    cut at `|` or `,`. Anything else: a regular expression, searched anywhere in the name, case-sensitive.
    `timeout` is in seconds, `None` = no limit. A hook that fails, times out or answers nonsense denies the call
    (`on_failure="block"`), or is passed over (`"continue"`).

    Raises OptionsError for a matcher that is no regular expression, and for hooks that cannot be awaited with three
    arguments.
    """

    matcher: str | None = None
    hooks: Sequence[HookCallback] = ()
    timeout: float | None = 60.0
    on_failure: Literal["block", "continue"] = "block"
    _names: frozenset[str] | None = field(init=False, repr=False, compare=False, default=None)
    _pattern: re.Pattern[str] | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        if self.matcher is not None and not isinstance(self.matcher, str):
            raise OptionsError(f"HookMatcher(matcher=...) is a str or None, got {self.matcher!r}", option="matcher")
        if self.on_failure not in ("block", "continue"):
            raise OptionsError(f"on_failure is 'block' or 'continue', got {self.on_failure!r}", option="on_failure")
        seconds = isinstance(self.timeout, int | float) and not isinstance(self.timeout, bool)
        if self.timeout is not None and not (seconds and self.timeout > 0):
            raise OptionsError(f"HookMatcher(timeout=...) is seconds above 0, got {self.timeout!r}", option="timeout")
        if isinstance(self.hooks, str) or not isinstance(self.hooks, Sequence):
            raise OptionsError(f"HookMatcher(hooks=...) is a list of async functions, got {self.hooks!r}")
        for hook in self.hooks:
            check_async_callable(hook, what="hook", signature=_SIGNATURE, arguments=3)
        object.__setattr__(self, "hooks", tuple(self.hooks))
        self._compile()

    def _compile(self) -> None:
        matcher = self.matcher
        if matcher is None or matcher in ("", "*"):
            return
        if _PLAIN.fullmatch(matcher):
            names = frozenset(name for part in re.split(r"[|,]", matcher) if (name := part.strip()))
            object.__setattr__(self, "_names", names)
            return
        try:
            object.__setattr__(self, "_pattern", re.compile(matcher))
        except re.error as error:
            raise OptionsError(
                f"HookMatcher(matcher={matcher!r}) is no regular expression: {error}", option="matcher"
            ) from None

    def covers(self, name: str) -> bool:
        """Whether these hooks hear the tool of this name."""
        if self._names is not None:
            return name in self._names
        return self._pattern is None or self._pattern.search(name) is not None

    def covers_some(self, names: Sequence[str]) -> bool:
        """Whether any of the tools is heard: a matcher that hears none is most often a misspelling."""
        return any(self.covers(name) for name in names)
