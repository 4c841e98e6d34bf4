"""Many clients at once see no error that is not their own; and a broker that is wrong is found by them."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import count

import pytest

from tests.wire.load import MOST_GROWN_BYTES, TOPIC, Crowd, Load, Loaded
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.partition.replica import Replica
from zombieproof.broker.store.config import Durability
from zombieproof.model.releases import RELEASES
from zombieproof.model.rules import Rules, preset_for
from zombieproof.wire.front import Front
from zombieproof.wire.server import Server

CROWD = Crowd(producers=4, readers=8, askers=6, rascals=2)
SECONDS = 1.5

Memory = Callable[[], int]


def loaded(rules: Rules | None = None, memory: Memory | None = None, seconds: float = SECONDS) -> Loaded:
    async def run(embedded: Embedded) -> Loaded:
        server = Server(embedded)
        address = (await server.start())[1]
        try:
            return await Load((address.host, address.port), CROWD, memory=memory).run(seconds)
        finally:
            await server.close()

    opened: AbstractContextManager[Embedded] = Embedded(
        topics={TOPIC: CROWD.producers}, durability=Durability.MEMORY, rules=rules
    )
    with opened as embedded:
        return asyncio.run(run(embedded))


@pytest.mark.slow
def test_many_clients_see_no_error() -> None:
    found = loaded()
    assert found.wrong == []
    assert found.counts["committed"] > 10
    assert found.counts["aborted"] > 0
    assert found.counts["records read"] > 100
    assert found.counts["bad connections"] > 0
    assert found.counts["questions"] > 0


@pytest.mark.slow
def test_a_broker_that_shows_what_is_open_is_found() -> None:
    rules = preset_for(RELEASES[-1], None)
    rules.stable_bound = 0
    assert "not read as they were committed" in "\n".join(loaded(rules).wrong)


@pytest.mark.slow
def test_a_broker_that_lists_no_aborted_transactions_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    fetch = Replica.fetch
    monkeypatch.setattr(Replica, "fetch", lambda *given: replace(fetch(*given), aborted=()))
    assert "not read as they were committed" in "\n".join(loaded().wrong)


def test_a_broker_that_ends_connections_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    answered, number = Front.response, count()
    monkeypatch.setattr(Front, "response", lambda *given: answered(*given) if next(number) < 50 else 1 / 0)
    assert "IncompleteReadError" in "\n".join(loaded().wrong)


@pytest.mark.slow
def test_memory_that_grows_is_found() -> None:
    grows = count(1)
    found = loaded(memory=lambda: next(grows) * MOST_GROWN_BYTES, seconds=4.5)
    assert ["the broker has grown by" in each for each in found.wrong] == [True]
