"""The consumer's filter: reference §6."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from zombieproof.model.decisions.consume import Delivery, decide_read
from zombieproof.model.vocabulary import ConsumerEvent as E
from zombieproof.model.vocabulary import ConsumerState as S
from zombieproof.model.vocabulary import Isolation
from zombieproof.statemachines.consumer import CONSUMER

BROKER = Isolation.READ_COMMITTED
CLIENT = Isolation.READ_COMMITTED_BUFFERING


@pytest.mark.parametrize(
    ("isolation", "state", "control", "committed", "transactional", "begins", "event", "delivery"),
    [
        (Isolation.READ_UNCOMMITTED, S.DELIVERING, False, False, False, False, E.PLAIN_DATA, Delivery.THIS_BATCH),
        (Isolation.READ_UNCOMMITTED, S.DELIVERING, False, False, True, True, E.PLAIN_DATA, Delivery.THIS_BATCH),
        (Isolation.READ_UNCOMMITTED, S.DELIVERING, True, True, True, False, E.NOTHING, Delivery.NOTHING),
        (Isolation.READ_UNCOMMITTED, S.DELIVERING, True, False, True, False, E.NOTHING, Delivery.NOTHING),
        (BROKER, S.DELIVERING, False, False, False, False, E.PLAIN_DATA, Delivery.THIS_BATCH),
        (BROKER, S.DELIVERING, False, False, True, False, E.PLAIN_DATA, Delivery.THIS_BATCH),
        (BROKER, S.DELIVERING, False, False, True, True, E.ABORTED_TRANSACTION_BEGINS, Delivery.NOTHING),
        (BROKER, S.DELIVERING, True, False, True, True, E.ABORTED_TRANSACTION_BEGINS, Delivery.NOTHING),
        (BROKER, S.DELIVERING, True, True, True, False, E.COMMIT_MARKER, Delivery.NOTHING),
        (BROKER, S.DELIVERING, True, False, True, False, E.ABORT_MARKER, Delivery.NOTHING),
        (BROKER, S.SKIPPING, False, False, True, False, E.TRANSACTIONAL_DATA, Delivery.NOTHING),
        (BROKER, S.SKIPPING, False, False, True, True, E.TRANSACTIONAL_DATA, Delivery.NOTHING),
        (BROKER, S.SKIPPING, False, False, False, False, E.NOTHING, Delivery.THIS_BATCH),
        (CLIENT, S.BUFFERING, False, False, False, False, E.NOTHING, Delivery.THIS_BATCH),
        (BROKER, S.SKIPPING, True, True, True, False, E.NOTHING, Delivery.NOTHING),
        (BROKER, S.SKIPPING, True, False, True, False, E.ABORT_MARKER, Delivery.NOTHING),
        (CLIENT, S.DELIVERING, False, False, False, False, E.PLAIN_DATA, Delivery.THIS_BATCH),
        (CLIENT, S.DELIVERING, False, False, True, True, E.TRANSACTIONAL_DATA, Delivery.NOTHING),
        (CLIENT, S.BUFFERING, False, False, True, False, E.TRANSACTIONAL_DATA, Delivery.NOTHING),
        (CLIENT, S.BUFFERING, True, True, True, False, E.COMMIT_MARKER, Delivery.HELD_BACK),
        (CLIENT, S.BUFFERING, True, False, True, False, E.ABORT_MARKER, Delivery.DROP_HELD_BACK),
        (CLIENT, S.DELIVERING, True, True, True, False, E.COMMIT_MARKER, Delivery.HELD_BACK),
    ],
)
def test_what_a_consumer_makes_of_a_batch(
    isolation: int,
    state: int,
    control: bool,
    committed: bool,
    transactional: bool,
    begins: bool,
    event: int,
    delivery: int,
) -> None:
    assert decide_read(isolation, state, control, committed, transactional, begins) == (event, delivery)
    if event != E.NOTHING:
        CONSUMER.target(state, event)


class Batch(NamedTuple):
    """A batch of one producer id at `offset`."""

    offset: int
    control: bool = False
    committed: bool = False
    transactional: bool = True


LOG = (
    Batch(0),
    Batch(1),
    Batch(2, True, False),
    Batch(3),
    Batch(4, True, True),
    Batch(5, transactional=False),
    Batch(6),
    Batch(7, True, False),
)
"""Aborted (0, 1), committed (3), plain (5), aborted (6)."""


def read(isolation: int, aborted: tuple[int, ...], start: int = 0) -> Iterator[int]:
    """The offsets that a consumer hands to its application, as a host drives `decide_read`."""
    held: list[int] = []
    state, pending = int(CONSUMER.initial), list(aborted)
    for batch in LOG[start:]:
        begins = bool(pending) and pending[0] <= batch.offset
        while True:
            verdict = decide_read(isolation, state, batch.control, batch.committed, batch.transactional, begins)
            if verdict.event != E.NOTHING:
                state = CONSUMER.target(state, verdict.event)
            if verdict.event != E.ABORTED_TRANSACTION_BEGINS:
                break
            begins = False
            pending.pop(0)
        if verdict.delivery == Delivery.THIS_BATCH:
            yield batch.offset
        elif verdict.delivery == Delivery.HELD_BACK:
            yield from held
            held = []
        elif verdict.delivery == Delivery.DROP_HELD_BACK:
            held = []
        elif state == S.BUFFERING:
            held.append(batch.offset)


def test_both_ways_of_read_committed_deliver_the_same() -> None:
    assert list(read(BROKER, aborted=(0, 6))) == [3, 5]
    assert sorted(read(CLIENT, aborted=())) == [3, 5]


def test_without_the_list_the_consumer_delivers_aborted_data() -> None:
    assert list(read(BROKER, aborted=())) == [0, 1, 3, 5, 6]


def test_a_transaction_that_began_before_the_fetch_is_skipped_too() -> None:
    assert list(read(BROKER, aborted=(0, 6), start=1)) == [3, 5]


def test_read_uncommitted_hides_markers_only() -> None:
    assert list(read(Isolation.READ_UNCOMMITTED, aborted=())) == [0, 1, 3, 5, 6]
