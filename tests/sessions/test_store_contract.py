"""Every store keeps the same contract, on asyncio and on trio."""

from __future__ import annotations

import pytest

from agent_sdk.sessions.memory import InMemoryStore
from agent_sdk.sessions.store import DeferralStore, Journal, SessionStore
from agent_sdk.testing.store_contract import CONTRACTS, run_store_contract
from agent_sdk.testing.store_values import Contract


@pytest.mark.anyio
@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
async def test_contract(contract: Contract) -> None:
    """The store in memory keeps each contract."""
    await contract(InMemoryStore())


@pytest.mark.anyio
async def test_a_broken_store_is_named() -> None:
    """A store that breaks a contract fails with the contract's name."""

    class Forgetful(InMemoryStore):
        async def load(self, key: object) -> None:
            return None

    with pytest.raises(AssertionError, match="entries_come_back_in_order"):
        await run_store_contract(Forgetful)  # type: ignore[arg-type, type-abstract]


def test_one_object_is_all_ports() -> None:
    """InMemoryStore is a transcript store, a deferral store and a journal."""
    store = InMemoryStore()
    assert isinstance(store, SessionStore)
    assert isinstance(store, DeferralStore)
    assert isinstance(store, Journal)
