"""Producers of both kinds, and a way to a cluster that does what a test says."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.live.any_producer import KINDS, AnyProducer, AwaitedProducer, Make
from tests.live.faulty_transport import FaultyTransport
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.clients.producer import Producer


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Makes a producer of either kind."""
    loop = asyncio.new_event_loop()

    def made(transport: FaultyTransport, *given: Any, **named: Any) -> AnyProducer:
        if request.param == "sync":
            return Producer(transport, *given, **named)
        return AwaitedProducer(loop, transport, *given, **named)

    yield made
    loop.close()


@pytest.fixture
def transport() -> FaultyTransport:
    return FaultyTransport(Cluster(3, topics={"t": 2, "in": 1}))
