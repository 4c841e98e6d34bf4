"""Steps of the consumer: what becomes of a batch under each isolation."""

import pytest

from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NONE, Isolation
from zombieproof.model.vocabulary import ConsumerState as S
from zombieproof.statemachines.consumer.reading import (
    ConsumerEffects,
    Met,
    aborted_begins,
    is_due,
    isolation_of_request,
    keeps_states,
    read,
)
from zombieproof.statemachines.notes import Notes

COMMITTED, UNCOMMITTED = Isolation.READ_COMMITTED, Isolation.READ_UNCOMMITTED
BUFFERING = Isolation.READ_COMMITTED_BUFFERING
RULES = Rules()
DATA, PLAIN, COMMIT, ABORT = (
    Met(False, False, True),
    Met(False, False, False),
    Met(True, True, True),
    Met(True, False, True),
)

DELIVERS, HOLDS = ConsumerEffects(delivers=True), ConsumerEffects(holds=True)
RELEASES, DROPS, PASSES = ConsumerEffects(delivers_held=True), ConsumerEffects(drops_held=True), ConsumerEffects()


@pytest.mark.parametrize(
    ("isolation", "state", "met", "effects", "after"),
    [
        (UNCOMMITTED, S.DELIVERING, DATA, DELIVERS, S.DELIVERING),
        (UNCOMMITTED, S.DELIVERING, PLAIN, DELIVERS, S.DELIVERING),
        (UNCOMMITTED, S.DELIVERING, ABORT, PASSES, S.DELIVERING),
        (COMMITTED, S.DELIVERING, DATA, DELIVERS, S.DELIVERING),
        (COMMITTED, S.SKIPPING, DATA, PASSES, S.SKIPPING),
        (COMMITTED, S.SKIPPING, PLAIN, DELIVERS, S.SKIPPING),
        (COMMITTED, S.SKIPPING, COMMIT, PASSES, S.SKIPPING),
        (COMMITTED, S.SKIPPING, ABORT, PASSES, S.DELIVERING),
        (BUFFERING, S.DELIVERING, DATA, HOLDS, S.BUFFERING),
        (BUFFERING, S.BUFFERING, DATA, HOLDS, S.BUFFERING),
        (BUFFERING, S.BUFFERING, PLAIN, DELIVERS, S.BUFFERING),
        (BUFFERING, S.BUFFERING, COMMIT, RELEASES, S.DELIVERING),
        (BUFFERING, S.BUFFERING, ABORT, DROPS, S.DELIVERING),
    ],
)
def test_what_becomes_of_a_batch(isolation: Isolation, state: S, met: Met, effects: ConsumerEffects, after: S) -> None:
    done, notes = ConsumerEffects(True, True, True, True), Notes()
    assert read(state, isolation, met, RULES, done, notes) == after
    assert (done, notes.illegal) == (effects, 0)


@pytest.mark.parametrize("isolation", [UNCOMMITTED, COMMITTED, BUFFERING])
def test_a_marker_that_was_compacted_away_ends_nothing(isolation: Isolation) -> None:
    done = ConsumerEffects()
    assert read(S.SKIPPING, isolation, ABORT._replace(is_empty=True), RULES, done, Notes()) == S.SKIPPING
    assert done == PASSES


def test_a_consumer_that_never_ends_to_skip_stays_where_it_is() -> None:
    rules = with_switches(RULES, off=["skipping_ends"])
    assert read(S.SKIPPING, COMMITTED, ABORT, rules, ConsumerEffects(), Notes()) == S.SKIPPING


@pytest.mark.parametrize(
    ("isolation", "state", "after"),
    [
        (COMMITTED, S.DELIVERING, S.SKIPPING),
        (COMMITTED, S.SKIPPING, S.SKIPPING),
        (UNCOMMITTED, S.DELIVERING, S.DELIVERING),
        (BUFFERING, S.BUFFERING, S.BUFFERING),
    ],
)
def test_only_read_committed_goes_by_the_list(isolation: Isolation, state: S, after: S) -> None:
    assert aborted_begins(state, isolation, Notes()) == after


@pytest.mark.parametrize(
    ("first", "producer_id", "last", "due"), [(3, 7, 2, False), (3, 7, 3, True), (3, 7, 9, True), (3, NONE, 9, False)]
)
def test_a_listed_transaction_is_due_with_the_batch_that_reaches_its_begin(
    first: int, producer_id: int, last: int, due: bool
) -> None:
    assert is_due(first, producer_id, last, RULES) == due
    assert not is_due(first, producer_id, last, with_switches(RULES, off=["aborted_list"]))


def test_only_buffering_outlives_an_answer_and_the_broker_is_not_told_of_it() -> None:
    every = (UNCOMMITTED, COMMITTED, BUFFERING)
    assert [keeps_states(isolation) for isolation in every] == [False, False, True]
    assert [isolation_of_request(isolation) for isolation in every] == [UNCOMMITTED, COMMITTED, UNCOMMITTED]
