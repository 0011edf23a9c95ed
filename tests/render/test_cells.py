"""Text in columns: what a terminal would need for it, and nothing lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcwidth

from agent_sdk.render.cells import char_width, chopped, cut, drawable, padded, width, wrapped
from agent_sdk.render.text import visible

TEXTS = st.text(max_size=60) | st.text("ab 中文🚀é", max_size=60)


@pytest.mark.parametrize(
    ("text", "columns"),
    [("", 0), ("abc", 3), ("中文", 4), ("🚀", 2), ("e\u0301", 1), ("한국", 4), ("ｱ", 1), ("ａ", 2), ("日a", 3)],
)
def test_width(text: str, columns: int) -> None:
    """Wide characters take two columns, marks none."""
    assert width(text) == columns


def test_widths_are_those_of_wcwidth() -> None:
    """For every character that is shown as it is, but for a few symbols that newer tables call wide."""
    shown = [chr(code) for code in range(0x20, 0x110000) if visible(chr(code)) == chr(code)]
    different = [char for char in shown if char not in "\t\n" and char_width(char) != wcwidth(char)]
    assert len(different) < 400
    assert all(char_width(char) == 1 for char in different if "\u2000" < char < "\u3000")


@given(TEXTS, st.integers(2, 30))
def test_chopping_loses_nothing(text: str, columns: int) -> None:
    """The pieces together are the text, and each one fits."""
    pieces = chopped(drawable(visible(text, keep_newlines=False)), columns)
    assert "".join(pieces) == drawable(visible(text, keep_newlines=False))
    assert all(width(piece) <= columns for piece in pieces)


@given(TEXTS, st.integers(2, 30))
def test_wrapping_loses_only_blanks(text: str, columns: int) -> None:
    """Words stay whole where they fit, and every character that is no blank is there."""
    lines = wrapped(drawable(visible(text)), columns)
    assert "".join("".join(lines).split()) == "".join(drawable(visible(text)).split())
    assert all(width(line) <= columns for line in lines)


@given(TEXTS, st.integers(1, 30))
def test_cutting_and_padding(text: str, columns: int) -> None:
    """A cut text fits, a padded one fills."""
    line = drawable(visible(text, keep_newlines=False))
    assert width(cut(line, columns)) <= columns
    assert width(padded(line, columns)) == columns
    assert cut(line, width(line)) == line
