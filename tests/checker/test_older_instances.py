"""Whose an open transaction is, told from states made by hand: the promise about older instances of a producer."""

import pytest

from zombieproof.checker.transactions.capacities import TXNS
from zombieproof.checker.transactions.state import LogRecord, State
from zombieproof.model.promises import nothing_of_an_older_instance_takes_effect
from zombieproof.model.vocabulary import LogEntry, ProducerState, TransactionState

A, B = 0, 1


def label(client: int, number: int = 0) -> int:
    return 1 + client * TXNS + number


def initialised(client: int, producer_id: int, producer_epoch: int) -> State:
    """A client has the identity that its coordinator knows; nothing is open."""
    state = State()
    holder, durable = state.clients[client], state.durable[0]
    holder.state, durable.state, durable.known = ProducerState.READY, TransactionState.EMPTY, True
    holder.producer_id = durable.producer_id = producer_id
    holder.producer_epoch = durable.producer_epoch = producer_epoch
    return state


def opened(state: State, whose: int, producer_id: int, producer_epoch: int) -> State:
    """A record is open on p0."""
    partition = state.partitions[0]
    partition.log[partition.end] = LogRecord(LogEntry.DATA, producer_id, producer_epoch, 0, whose)
    if partition.entries[producer_id].txn_first_offset < 0:
        partition.entries[producer_id].txn_first_offset = partition.end
    partition.end += 1
    return state


@pytest.mark.parametrize(
    ("whose", "identity", "kept"),
    [
        pytest.param(label(B), (0, 1), True, id="its own record"),
        pytest.param(label(A), (0, 0), False, id="a record of the instance before"),
        pytest.param(label(A), (0, 1), False, id="a record of another instance under the same identity"),
        pytest.param(label(B), (0, 0), False, id="a record that it left behind when it crashed"),
        pytest.param(label(A), (1, 0), False, id="a record under another producer id"),
    ],
)
def test_what_is_open_belongs_to_the_newest_instance(whose: int, identity: tuple[int, int], kept: bool) -> None:
    assert nothing_of_an_older_instance_takes_effect(opened(initialised(B, 0, 1), whose, *identity)) is kept


def test_a_record_that_joins_an_open_transaction_counts_too() -> None:
    state = opened(opened(initialised(B, 0, 1), label(B), 0, 1), label(A), 0, 1)
    assert not nothing_of_an_older_instance_takes_effect(state)


@pytest.mark.parametrize(("whose", "kept"), [(label(B), True), (label(A), False)])
def test_what_its_coordinator_has_open_belongs_to_it(whose: int, kept: bool) -> None:
    state = initialised(B, 0, 1)
    state.durable[0].state, state.ghost.owner[0] = TransactionState.ONGOING, whose
    assert nothing_of_an_older_instance_takes_effect(state) is kept


@pytest.mark.parametrize("doing", [ProducerState.UNINITIALIZED, ProducerState.INITIALIZING, ProducerState.FATAL_ERROR])
def test_nothing_is_owed_to_who_is_not_initialised_or_is_at_its_end(doing: ProducerState) -> None:
    state = opened(initialised(B, 0, 1), label(A), 0, 0)
    state.clients[B].state = doing
    assert nothing_of_an_older_instance_takes_effect(state)


def test_what_is_being_ended_may_be_of_its_transaction_before() -> None:
    state = opened(initialised(B, 0, 2), label(B), 0, 1)
    state.durable[0].state = TransactionState.PREPARE_COMMIT
    assert nothing_of_an_older_instance_takes_effect(state)
    state.durable[0].state = TransactionState.COMPLETE_COMMIT
    assert not nothing_of_an_older_instance_takes_effect(state)


def test_it_says_nothing_where_two_transactional_ids_are_in_use() -> None:
    state = opened(initialised(B, 0, 1), label(A), 1, 0)
    state.durable[1].known = True
    assert nothing_of_an_older_instance_takes_effect(state)
