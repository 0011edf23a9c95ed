"""Names of tools and servers, and `*` in them."""

from __future__ import annotations

import pytest

from tests.rules.support import book, reading, verdict

KNOWN = frozenset({"mcp__git__hub__x", "mcp__git__status", "mcp__github__get_me"})


@pytest.mark.parametrize(
    ("behavior", "rule", "tool", "registry", "covered"),
    [
        ("allow", "mcp__git", "mcp__git__status", None, True),
        ("allow", "mcp__git__*", "mcp__git__status", None, True),
        ("allow", "mcp__git__status", "mcp__git__status", None, True),
        ("allow", "mcp__git__st*", "mcp__git__status", None, True),
        ("allow", "mcp__git", "mcp__git__hub__x", None, False),
        ("allow", "mcp__git__*", "mcp__git__hub__x", None, False),
        ("allow", "mcp__git__h*", "mcp__git__hub__x", None, False),
        ("allow", "mcp__git", "mcp__git__hub__x", KNOWN, False),
        ("allow", "mcp__git__hub", "mcp__git__hub__x", None, False),
        ("allow", "mcp__git__hub", "mcp__git__hub__x", KNOWN, True),
        ("allow", "mcp__git__hub", "mcp__git__hub__x", KNOWN | {"mcp__git__hub"}, False),
        ("allow", "mcp__git__hub__x", "mcp__git__hub__x", None, True),
        ("allow", "mcp__git", "mcp__git", None, False),
        ("allow", "mcp__git", "mcp__git__", None, False),
        ("allow", "mcp__gi", "mcp__git__status", None, False),
        ("deny", "mcp__git", "mcp__git__hub__x", None, True),
        ("deny", "mcp__git__hub", "mcp__git__hub__x", None, True),
        ("deny", "mcp__git__hub__*", "mcp__git__hub__x", None, True),
        ("deny", "mcp__git", "mcp__git", None, True),
        ("deny", "mcp__gi", "mcp__git__status", None, False),
        ("deny", "mcp__*", "mcp__git__status", None, True),
        ("deny", "mcp__*__status", "mcp__git__status", None, True),
        ("deny", "*", "Whatever", None, True),
        ("deny", "Web*", "WebFetch", None, True),
        ("deny", "web*", "WebFetch", None, False),
        ("ask", "*status", "mcp__git__status", None, True),
        ("deny", "Bash", "BashOutput", None, False),
    ],
)
def test_a_name(behavior: str, rule: str, tool: str, registry: frozenset[str] | None, covered: bool) -> None:
    """Whole names are compared; an ambiguous one is settled by the registry, else only deny and ask match."""
    call = reading(tool, {}, registry=registry)
    assert (verdict(book(**{behavior: [rule]}), call) == behavior) is covered
