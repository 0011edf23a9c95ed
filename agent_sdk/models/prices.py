"""What a token costs: list prices of the Claude models, as data.

Source: the pricing page of the Claude platform documentation (platform.claude.com, About Claude, Pricing) and the model
pages beside it, as of November 2026. Tokens at the standard tariff only: batch, fast, regional and priority tariffs and
the fees of server tools are not in here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from agent_sdk.values import Json, JsonObject


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. Cache writes cost `write_5m` or `write_1h`, after how long they are kept."""

    input: float
    output: float
    write_5m: float
    write_1h: float
    read: float


_OPUS_4 = Price(15, 75, 18.75, 30, 1.50)
_OPUS_4_5 = Price(5, 25, 6.25, 10, 0.50)
_SONNET_4 = Price(3, 15, 3.75, 6, 0.30)

# A model whose price is not known, or depends on the length of the prompt, is not in here.
PRICES: Mapping[str, Price] = {
    "claude-fable-5": Price(10, 50, 12.50, 20, 1.00),
    "claude-fable-5-1": Price(10, 50, 12.50, 20, 0.25),
    "claude-opus-5-5": Price(4, 20, 5, 8, 0.20),
    "claude-opus-5": _OPUS_4_5,
    "claude-opus-4-8": _OPUS_4_5,
    "claude-opus-4-7": _OPUS_4_5,
    "claude-opus-4-6": _OPUS_4_5,
    "claude-opus-4-5": _OPUS_4_5,
    "claude-opus-4-1": _OPUS_4,
    "claude-opus-4-0": _OPUS_4,
    "claude-opus-4": _OPUS_4,
    "claude-sonnet-5-5": Price(2, 10, 2.50, 4, 0.10),
    "claude-sonnet-5": Price(2, 10, 2.50, 4, 0.20),
    "claude-sonnet-4-6": _SONNET_4,
    "claude-sonnet-4-5": _SONNET_4,
    "claude-sonnet-4-0": _SONNET_4,
    "claude-sonnet-4": _SONNET_4,
    "claude-3-7-sonnet": _SONNET_4,
    "claude-haiku-4-5": Price(1, 5, 1.25, 2, 0.10),
    "claude-3-5-haiku": Price(0.80, 4, 1, 1.60, 0.08),
    "claude-3-haiku": Price(0.25, 1.25, 0.30, 0.50, 0.03),
}


_DATE_OR_ALIAS = re.compile(r"[-@](\d{8}|latest)\Z")


@lru_cache(maxsize=256)
def price_of(model: str) -> Price | None:
    """The price of a model by its name, with or without a date; `None` when it is not known.

    Nothing but a date or `latest` may follow a known name: the next version of a model is another model.
    """
    return PRICES.get(_DATE_OR_ALIAS.sub("", model))


def cost(model: str, usage: JsonObject) -> float | None:
    """US dollars for one reply, from the `usage` that the service told; `None` when the model's price is not known.

    Cache writes of unknown duration are taken as five-minute ones. Odd values count as 0.
    """
    price = price_of(model)
    if price is None:
        return None
    created = usage.get("cache_creation")
    hour = _tokens(created.get("ephemeral_1h_input_tokens")) if isinstance(created, Mapping) else 0
    written = max(_tokens(usage.get("cache_creation_input_tokens")), hour)
    dollars = (
        _tokens(usage.get("input_tokens")) * price.input
        + _tokens(usage.get("output_tokens")) * price.output
        + (written - hour) * price.write_5m
        + hour * price.write_1h
        + _tokens(usage.get("cache_read_input_tokens")) * price.read
    )
    return dollars / 1_000_000


def _tokens(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
