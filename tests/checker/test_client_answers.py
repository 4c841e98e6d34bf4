"""What a client of the checker makes of an answer, interpreted."""

from dataclasses import replace

import pytest

from zombieproof.checker.transactions import network
from zombieproof.checker.transactions.budget import Budget
from zombieproof.checker.transactions.client_actions import step
from zombieproof.checker.transactions.client_answers import handle
from zombieproof.checker.transactions.model import initial_state, setup_of
from zombieproof.checker.transactions.setup import Bounds, Setup
from zombieproof.checker.transactions.state import State, Trail
from zombieproof.checker.transactions.vocabulary import Kind, Op
from zombieproof.model.rules import preset
from zombieproof.model.vocabulary import NONE, Error, ProducerState


def idempotent_client(release: str, sequence: int) -> tuple[State, Setup]:
    """A client without transactional id under producer id 1, whose batch with this sequence is in flight."""
    bounds = Bounds()
    bounds.transactional_id[0] = NONE
    setup = setup_of(preset(release), bounds, Budget(), [((Op.SEND_0,), (Op.SEND_0,))])
    state = initial_state(setup)
    client = state.clients[0]
    client.alive, client.state = True, int(ProducerState.READY)
    client.producer_id, client.producer_epoch = 1, 0
    client.sequences[0] = sequence + 1
    message = state.messages[0]
    message.live, message.answered, message.kind, message.client = True, True, int(Kind.PRODUCE), 0
    message.producer_id, message.producer_epoch, message.value, message.label = 1, 0, sequence, 1
    return state, setup


@pytest.mark.parametrize("error", [Error.OUT_OF_ORDER_SEQUENCE_NUMBER, Error.UNKNOWN_PRODUCER_ID])
def test_before_kip_360_a_gap_makes_an_idempotent_producer_ask_for_a_new_identity(error: Error) -> None:
    state, setup = idempotent_client("2.4", sequence=3)
    handle(state, setup, Trail(), 0, int(error))
    client = state.clients[0]
    assert client.state == ProducerState.UNINITIALIZED, "it is not at its end"
    assert (client.producer_id, client.producer_epoch, client.sequences[0]) == (NONE, NONE, 0)
    assert not state.messages[0].live, "the batch failed"


def test_before_kip_360_a_gap_of_an_identity_that_was_given_up_concerns_nobody() -> None:
    state, setup = idempotent_client("2.4", sequence=3)
    state.clients[0].producer_id = 2
    handle(state, setup, Trail(), 0, int(Error.OUT_OF_ORDER_SEQUENCE_NUMBER))
    assert state.clients[0].state == ProducerState.READY
    assert state.clients[0].producer_id == 2
    assert not state.messages[0].live


def test_since_kip_360_it_raises_its_epoch() -> None:
    state, setup = idempotent_client("newest", sequence=3)
    handle(state, setup, Trail(), 0, int(Error.OUT_OF_ORDER_SEQUENCE_NUMBER))
    client = state.clients[0]
    assert client.state == ProducerState.READY
    assert (client.producer_id, client.producer_epoch) == (1, 1)
    assert state.messages[0].live
    assert (state.messages[0].producer_epoch, state.messages[0].value) == (1, 0)


def test_a_batch_that_fails_for_good_raises_the_epoch_for_those_behind_it() -> None:
    state, setup = idempotent_client("newest", sequence=3)
    behind = state.messages[1]
    network.copy(state.messages[0], behind)
    behind.value = 4
    state.clients[0].sequences[0] = 5
    handle(state, setup, Trail(), 0, int(Error.INVALID_TXN_STATE))
    assert not state.messages[0].live
    assert (behind.producer_epoch, behind.value, behind.answered) == (1, 0, 0), "it goes out again"
    assert (state.clients[0].producer_epoch, state.clients[0].sequences[0]) == (1, 1)


def test_a_new_batch_waits_for_those_of_the_epoch_before() -> None:
    state, setup = idempotent_client("newest", sequence=3)
    setup.bounds.in_flight = 2
    state.clients[0].producer_epoch, state.clients[0].sequences[0] = 1, 0
    assert not step(state, setup, Trail(), 0, False)
    state.messages[0].partition = 1
    assert step(state, setup, Trail(), 0, False)
    assert (state.messages[1].producer_epoch, state.messages[1].value) == (1, 0)


def test_behind_the_largest_epoch_comes_another_producer_id() -> None:
    state, setup = idempotent_client("newest", sequence=3)
    setup.rules = replace(setup.rules, epoch_max=0)
    state.next_producer_id = 1
    state.clients[0].producer_id = state.messages[0].producer_id = 0
    handle(state, setup, Trail(), 0, int(Error.OUT_OF_ORDER_SEQUENCE_NUMBER))
    client, message = state.clients[0], state.messages[0]
    assert (client.producer_id, client.producer_epoch, client.state) == (1, 0, ProducerState.READY)
    assert (message.producer_id, message.producer_epoch, message.value) == (1, 0, 0)
