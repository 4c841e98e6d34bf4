"""What a client of the checker makes of an answer, interpreted."""

import pytest

from zombieproof.checker.transactions.client_answers import hear
from zombieproof.checker.transactions.model import initial_world, setup_of
from zombieproof.checker.transactions.world import Bounds, Budget, Kind, Op, Setup, Trail, World
from zombieproof.model.rules import preset
from zombieproof.model.vocabulary import NONE, Error, ProducerState


def idempotent_client(release: str, sequence: int) -> tuple[World, Setup]:
    """A client without transactional id under producer id 1, whose batch with this sequence is in flight."""
    bounds = Bounds()
    bounds.transactional_id[0] = NONE
    setup = setup_of(preset(release), bounds, Budget(), [((Op.SEND_0,), (Op.SEND_0,))])
    world = initial_world(setup)
    client = world.clients[0]
    client.alive, client.state = 1, int(ProducerState.READY)
    client.producer_id, client.producer_epoch = 1, 0
    client.sequences[0] = sequence + 1
    message = world.messages[0]
    message.live, message.answered, message.kind, message.client = 1, 1, int(Kind.PRODUCE), 0
    message.producer_id, message.producer_epoch, message.value, message.label = 1, 0, sequence, 1
    return world, setup


@pytest.mark.parametrize("error", [Error.OUT_OF_ORDER_SEQUENCE_NUMBER, Error.UNKNOWN_PRODUCER_ID])
def test_before_kip_360_a_gap_makes_an_idempotent_producer_ask_for_a_new_identity(error: Error) -> None:
    world, setup = idempotent_client("2.4", sequence=3)
    hear(world, setup, Trail(), 0, int(error))
    client = world.clients[0]
    assert client.state == ProducerState.UNINITIALIZED, "it is not at its end"
    assert (client.producer_id, client.producer_epoch, client.sequences[0]) == (NONE, NONE, 0)
    assert world.messages[0].live == 0, "the batch failed"


def test_before_kip_360_a_gap_of_an_identity_that_was_given_up_concerns_nobody() -> None:
    world, setup = idempotent_client("2.4", sequence=3)
    world.clients[0].producer_id = 2
    hear(world, setup, Trail(), 0, int(Error.OUT_OF_ORDER_SEQUENCE_NUMBER))
    assert world.clients[0].state == ProducerState.READY
    assert world.clients[0].producer_id == 2
    assert world.messages[0].live == 0


def test_since_kip_360_it_raises_its_epoch() -> None:
    world, setup = idempotent_client("newest", sequence=3)
    hear(world, setup, Trail(), 0, int(Error.OUT_OF_ORDER_SEQUENCE_NUMBER))
    client = world.clients[0]
    assert client.state == ProducerState.READY
    assert (client.producer_id, client.producer_epoch) == (1, 1)
    assert world.messages[0].live == 1
    assert (world.messages[0].producer_epoch, world.messages[0].value) == (1, 0)
