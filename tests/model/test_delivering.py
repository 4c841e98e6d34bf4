"""What a delivery decides: every state with every reply, positions at their edges, identities of other queries."""

import itertools

import pytest

from zombieproof.model.spark_sink.delivering import (
    decide_found,
    decide_reply,
    find_by_identity,
    find_by_positions,
    first_to_send,
    is_fenced,
    is_of_another_write,
    is_progress_lost,
    is_to_be_claimed,
)
from zombieproof.model.spark_sink.placing import decide_place, past_of_batch
from zombieproof.model.spark_sink.planning import is_exact_for
from zombieproof.model.spark_sink.vocabulary import DeliveryEvent as E
from zombieproof.model.spark_sink.vocabulary import DeliveryState as S
from zombieproof.model.spark_sink.vocabulary import Found, Purpose, ReaderEvent, Reply, Trait
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.delivery import DELIVERY

WAITING = (S.FENCING, S.LOOKING_UP, S.CLAIMING, S.SENDING_ROWS, S.SENDING_OFFSETS, S.COMMITTING, S.ABORTING)


@pytest.mark.parametrize(
    ("committed", "start"),
    [(NONE, 10), (0, 10), (9, 10), (10, 10), (11, 11), (19, 19), (20, 20), (21, 20), (99, 20)],
)
def test_rows_below_the_committed_position_are_not_sent_again(committed: int, start: int) -> None:
    assert first_to_send(10, 20, committed) == start


def test_an_empty_range_has_nothing_to_send() -> None:
    assert [first_to_send(5, 5, committed) for committed in (NONE, 4, 5, 6)] == [5, 5, 5, 5]


@pytest.mark.parametrize(
    ("rows", "left", "others", "found"),
    [
        (3, 3, 0, Found.NONE_DELIVERED),
        (3, 2, 0, Found.SOME_DELIVERED),
        (3, 0, 0, Found.ALL_DELIVERED),
        (0, 0, 0, Found.NONE_DELIVERED),
        (3, 0, 1, Found.NOT_COMPARABLE),
        (3, 3, 2, Found.NOT_COMPARABLE),
    ],
)
def test_what_is_left_tells_what_was_delivered(rows: int, left: int, others: int, found: Found) -> None:
    assert find_by_positions(rows, left, others) == found


@pytest.mark.parametrize(
    ("trait", "in_mode_batch", "in_mode_partition"),
    [
        (Trait.STATEFUL, False, False),
        (Trait.MOVING, True, False),
        (Trait.CUT, True, False),
        (Trait.BRANCHES, True, False),
        (Trait.LOADS, False, False),
    ],
)
def test_a_plan_is_exact_by_batch_or_by_positions_that_its_rows_do_not_share(
    trait: Trait, in_mode_batch: bool, in_mode_partition: bool
) -> None:
    assert is_exact_for(trait, by_batch=False, by_task=False) is in_mode_batch
    assert is_exact_for(trait, by_batch=False, by_task=True) is in_mode_partition
    assert is_exact_for(trait, by_batch=True, by_task=False)


@pytest.mark.parametrize(
    ("is_same_query", "is_same_sink", "is_same_output", "found_batch", "is_another"),
    [
        (True, True, True, 3, False),
        (True, True, True, 9, False),
        (False, True, True, 3, False),  # the checkpoint was lost
        (True, False, True, 2, False),  # the plan has changed
        (True, False, False, 2, True),  # the output has changed
        (True, False, True, 3, True),  # a second sink in the same batch
        (True, False, True, 9, True),
        (False, False, True, 2, True),
        (False, False, True, 9, True),
    ],
)
def test_a_write_keeps_the_id_of_its_query_or_the_name_of_its_sink(
    is_same_query: bool, is_same_sink: bool, is_same_output: bool, found_batch: int, is_another: bool
) -> None:
    assert is_of_another_write(is_same_query, is_same_sink, is_same_output, 3, found_batch) is is_another


@pytest.mark.parametrize(
    ("found_query", "found_batch", "is_same_work", "is_known", "found"),
    [
        (NONE, NONE, True, True, Found.NONE_DELIVERED),
        (7, 2, False, True, Found.NONE_DELIVERED),
        (7, 2, False, False, Found.NOT_COMPARABLE),  # an older checkpoint, and batch 2 had no rows this time
        (7, 3, True, True, Found.ALL_DELIVERED),
        (7, 3, False, True, Found.NOT_COMPARABLE),  # an older checkpoint, and another size of batches
        (7, 4, True, True, Found.NOT_COMPARABLE),  # an older checkpoint
        (6, 2, True, True, Found.NOT_COMPARABLE),
        (6, 3, True, True, Found.NOT_COMPARABLE),
    ],
)
def test_batches_are_compared_within_one_query(
    found_query: int, found_batch: int, is_same_work: bool, is_known: bool, found: Found
) -> None:
    assert find_by_identity(7, 3, found_query, found_batch, is_same_work, is_known) == found


@pytest.mark.parametrize(
    ("found", "delivers", "resolves"),
    [
        (Found.NONE_DELIVERED, E.OPEN, E.MISS),
        (Found.SOME_DELIVERED, E.OPEN, E.MISS),
        (Found.ALL_DELIVERED, E.FIND, E.FIND),
        (Found.NOT_COMPARABLE, E.REFUSE, E.REFUSE),
        (Found.UNCLAIMED, E.CLAIM, E.REFUSE),
    ],
)
def test_a_resolution_never_opens_a_transaction(found: Found, delivers: E, resolves: E) -> None:
    assert decide_found(Purpose.DELIVER, found) == delivers
    assert decide_found(Purpose.RESOLVE, found) == resolves


def test_progress_is_lost_if_a_batch_that_expects_it_finds_neither_position_nor_topic() -> None:
    cases = list(itertools.product((False, True), repeat=3))
    assert [case for case in cases if is_progress_lost(*case)] == [(True, False, False)]


@pytest.mark.parametrize(
    ("is_own", "is_in_group", "unfenced", "is_needed"),
    [(True, True, 0, False), (False, True, 0, True), (True, False, 0, True), (True, True, 1, True)],
)
def test_a_mode_claims_what_is_not_its_own_or_not_seen_by_others_or_not_fenced(
    is_own: bool, is_in_group: bool, unfenced: int, is_needed: bool
) -> None:
    assert is_to_be_claimed(is_own, is_in_group, unfenced) is is_needed


def test_only_a_fence_of_the_same_claim_counts() -> None:
    assert [is_fenced(generation, 3) for generation in (0, 2, 3, 4)] == [False, False, True, False]


REPLIES = {
    S.FENCING: (E.FENCE_OTHERS, E.ASK_AGAIN, E.BE_FENCED, E.FAIL, E.FAIL, E.FAIL),
    S.LOOKING_UP: (None, E.ASK_AGAIN, E.BE_FENCED, E.FAIL, E.FAIL, E.FAIL),
    S.CLAIMING: (E.END_CLAIM, E.ASK_AGAIN, E.BE_FENCED, E.FAIL, E.FAIL, E.FAIL),
    S.SENDING_ROWS: (E.SEND_ROWS, E.ABORT, E.BE_FENCED, E.ABORT, E.FAIL, E.ABORT),
    S.SENDING_OFFSETS: (E.SEND_OFFSETS, E.ABORT, E.BE_FENCED, E.ABORT, E.FAIL, E.ABORT),
    S.COMMITTING: (E.COMMIT, E.ASK_AGAIN, E.BE_FENCED, E.ABORT, E.FAIL, E.GIVE_UP),
    S.ABORTING: (E.END_ABORT, E.ASK_AGAIN, E.BE_FENCED, E.END_ABORT, E.FAIL, E.GIVE_UP),
}
"""State -> the event of each reply, in the order of `Reply`; a look-up that is done is no reply but a finding."""


@pytest.mark.parametrize(
    ("state", "reply", "event"),
    [
        (state, reply, event)
        for state, events in REPLIES.items()
        for reply, event in zip(Reply, events, strict=True)
        if event is not None
    ],
    ids=lambda value: value.name,
)
def test_every_reply_is_an_event_that_the_table_has(state: S, reply: Reply, event: E) -> None:
    assert decide_reply(state, reply) == event
    assert event in set(DELIVERY.legal(state))


def test_replies_are_tested_in_every_state_that_waits_for_one() -> None:
    assert set(REPLIES) == set(WAITING) == {state for state in S if state not in DELIVERY.terminal} - {S.NEW}


def test_a_reader_begins_where_its_group_is() -> None:
    assert decide_place(NONE) == ReaderEvent.PLACE_AS_TOLD
    assert [decide_place(position) for position in (0, 5)] == [ReaderEvent.PLACE_AT_COMMITTED] * 2


@pytest.mark.parametrize(
    ("position", "last_stable_offset", "most", "past"),
    [
        (5, 9, NONE, 9),
        (5, 9, 3, 8),
        (5, 9, 4, 9),
        (5, 9, 5, 9),
        (5, 9, 0, 5),
        (5, 5, NONE, 5),
        (5, 4, NONE, 5),
        (5, 4, 1, 5),
    ],
)
def test_a_batch_ends_at_the_last_stable_offset_or_its_limit(
    position: int, last_stable_offset: int, most: int, past: int
) -> None:
    assert past_of_batch(position, last_stable_offset, most) == past
