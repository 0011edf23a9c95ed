"""What a reply costs."""

from __future__ import annotations

from typing import Any

import pytest

from agent_sdk.models.prices import PRICES, cost

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        ("claude-sonnet-4-5-20250929", {"input_tokens": MILLION}, 3.0),
        ("claude-sonnet-4-5", {"output_tokens": MILLION}, 15.0),
        ("claude-opus-4-20250514", {"output_tokens": MILLION}, 75.0),
        ("claude-opus-4-5@20251101", {"output_tokens": MILLION}, 25.0),
        ("claude-3-5-haiku-latest", {"input_tokens": MILLION}, 0.8),
        ("claude-haiku-4-5", {"cache_read_input_tokens": MILLION}, 0.1),
        ("claude-haiku-4-5", {"cache_creation_input_tokens": MILLION}, 1.25),
        (
            "claude-haiku-4-5",
            {"cache_creation_input_tokens": MILLION, "cache_creation": {"ephemeral_1h_input_tokens": MILLION}},
            2.0,
        ),
        ("claude-haiku-4-5", {"input_tokens": "many", "output_tokens": None, "cache_creation": 3}, 0.0),
        ("claude-haiku-4-5", {}, 0.0),
        ("claude-opus-4-9", {"input_tokens": 1}, None),
        ("claude-opus-4-12345678x", {"input_tokens": 1}, None),
        ("scripted", {"input_tokens": 1}, None),
        ("", {}, None),
    ],
)
def test_cost(model: str, usage: Any, dollars: float | None) -> None:
    """Tokens times price; no price where the model is not known."""
    assert cost(model, usage) == (None if dollars is None else pytest.approx(dollars))


@pytest.mark.parametrize("name", PRICES)
def test_prices_keep_their_usual_proportions(name: str) -> None:
    """Output costs five times the input, a five-minute cache write about a quarter more, a read at most a tenth."""
    price = PRICES[name]
    assert price.output == pytest.approx(5 * price.input)
    assert price.write_5m == pytest.approx(1.25 * price.input, rel=0.05)
    assert price.write_1h == pytest.approx(2 * price.input)
    assert price.read <= 0.1 * price.input * 1.21
