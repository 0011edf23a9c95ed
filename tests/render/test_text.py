"""Text of a model is safe to show: nothing invisible and nothing that steers a terminal gets through."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_sdk.render import shorten, visible

SPELT = [
    pytest.param("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m", id="colour sequence"),
    pytest.param("\x9b2J", r"\x9b2J", id="one-byte CSI"),
    pytest.param("a\rb", r"a\x0db", id="carriage return overwrites a line"),
    pytest.param("a\bb\x7f", r"a\x08b\x7f", id="backspace and delete"),
    pytest.param("\x07\x00", r"\x07\x00", id="bell and NUL"),
    pytest.param("gpj.\u202eexe", r"gpj.\u202eexe", id="right-to-left override"),
    pytest.param("\u2066x\u2069", r"\u2066x\u2069", id="isolates"),
    pytest.param("rm\u200b -rf", r"rm\u200b -rf", id="zero-width space"),
    pytest.param("\ufeffx\u2060y\u00adz", r"\ufeffx\u2060y\xadz", id="BOM, word joiner, soft hyphen"),
    pytest.param("\U000e0041", r"\U000e0041", id="tag characters carry hidden text"),
    pytest.param("\U000e0100\ufe01", r"\U000e0100\ufe01", id="variation selectors carry hidden text"),
    pytest.param("\ud800", r"\ud800", id="lone surrogate"),
    pytest.param("a\u2028b\u2029c\u0085d", r"a\u2028b\u2029c\x85d", id="odd line breaks"),
    pytest.param("rm\u00a0-rf", r"rm\xa0-rf", id="no-break space"),
    pytest.param("\u3164\u115f\u2800", r"\u3164\u115f\u2800", id="blank letters"),
]
KEPT = [
    pytest.param("plain\ttext\nnext", id="tabs and newlines"),
    pytest.param("博客用什么技术栈？　评论", id="Chinese with its wide space"),
    pytest.param("naïve café Ω ≤ — ‘’ …", id="letters and punctuation"),
    pytest.param("⚠\ufe0f ✔\ufe0f 🎉", id="emoji"),
    pytest.param(r"already \x1b", id="a backslash is an ordinary character"),
]


@pytest.mark.parametrize(("text", "shown"), SPELT)
def test_what_cannot_be_seen_is_spelt_out(text: str, shown: str) -> None:
    """Control, format and blank characters become escapes."""
    assert visible(text) == shown


@pytest.mark.parametrize("text", KEPT)
def test_readable_text_stays(text: str) -> None:
    """Text that a person can read is left as it is."""
    assert visible(text) == text


def test_newlines_can_be_spelt_out() -> None:
    """Where a line must stay one line, newlines become visible as well."""
    assert visible("one\ntwo", keep_newlines=False) == r"one\ntwo"


@given(st.text(st.characters()), st.booleans())
@settings(deadline=None)
def test_no_control_character_ever_gets_through(text: str, keep_newlines: bool) -> None:
    """Whatever goes in, the result holds no control, format or surrogate character but tabs and newlines."""
    shown = visible(text, keep_newlines=keep_newlines)
    allowed = {"\t", "\n"} if keep_newlines else {"\t"}
    assert not [char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Cs") and char not in allowed]


@given(st.text(st.characters()))
@settings(deadline=None)
def test_making_visible_twice_changes_nothing(text: str) -> None:
    """`visible` is idempotent, so a value may pass it on every border."""
    assert visible(visible(text)) == visible(text)


@given(st.text(), st.integers(min_value=1, max_value=40))
@settings(deadline=None)
def test_shortened_text_fits(text: str, limit: int) -> None:
    """A shortened text has at most the characters asked for, and a short one stays as it is."""
    short = shorten(text, limit)
    assert len(short) <= limit
    assert short == text if len(text) <= limit else short.endswith("…")
