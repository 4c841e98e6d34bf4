"""What a delivery decides: every state with every reply, positions at their edges, identities of other queries."""

import pytest

from zombieproof.model.spark_sink.delivering import (
    decide_found,
    decide_reply,
    find_by_identity,
    find_by_positions,
    first_to_send,
)
from zombieproof.model.spark_sink.placing import decide_place, past_of_batch
from zombieproof.model.spark_sink.vocabulary import DeliveryEvent as E
from zombieproof.model.spark_sink.vocabulary import DeliveryState as S
from zombieproof.model.spark_sink.vocabulary import Found, Purpose, ReaderEvent, Reply
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.delivery import DELIVERY

WAITING = (S.FENCING, S.LOOKING_UP, S.SENDING_ROWS, S.SENDING_OFFSETS, S.COMMITTING, S.ABORTING)


@pytest.mark.parametrize(
    ("committed", "start"),
    [(NONE, 10), (0, 10), (9, 10), (10, 10), (11, 11), (19, 19), (20, 20), (21, 20), (99, 20)],
)
def test_rows_below_the_committed_position_are_not_sent_again(committed: int, start: int) -> None:
    assert first_to_send(10, 20, committed) == start


def test_an_empty_range_has_nothing_to_send() -> None:
    assert [first_to_send(5, 5, committed) for committed in (NONE, 4, 5, 6)] == [5, 5, 5, 5]


@pytest.mark.parametrize(
    ("rows", "left", "found"),
    [
        (3, 3, Found.NONE_DELIVERED),
        (3, 2, Found.SOME_DELIVERED),
        (3, 0, Found.ALL_DELIVERED),
        (0, 0, Found.NONE_DELIVERED),
    ],
)
def test_what_is_left_tells_what_was_delivered(rows: int, left: int, found: Found) -> None:
    assert find_by_positions(rows, left) == found


@pytest.mark.parametrize(
    ("found_query", "found_batch", "found"),
    [
        (NONE, NONE, Found.NONE_DELIVERED),
        (7, 2, Found.NONE_DELIVERED),
        (7, 3, Found.ALL_DELIVERED),
        (7, 4, Found.ALL_DELIVERED),
        (6, 2, Found.NOT_COMPARABLE),
        (6, 3, Found.NOT_COMPARABLE),
    ],
)
def test_batches_are_compared_within_one_query(found_query: int, found_batch: int, found: Found) -> None:
    assert find_by_identity(7, 3, found_query, found_batch) == found


@pytest.mark.parametrize(
    ("found", "delivers", "resolves"),
    [
        (Found.NONE_DELIVERED, E.OPEN, E.MISS),
        (Found.SOME_DELIVERED, E.OPEN, E.MISS),
        (Found.ALL_DELIVERED, E.FIND, E.FIND),
        (Found.NOT_COMPARABLE, E.REFUSE, E.REFUSE),
    ],
)
def test_a_resolution_never_opens_a_transaction(found: Found, delivers: E, resolves: E) -> None:
    assert decide_found(Purpose.DELIVER, found) == delivers
    assert decide_found(Purpose.RESOLVE, found) == resolves


REPLIES = {
    S.FENCING: (E.FENCE_OTHERS, E.ASK_AGAIN, E.BE_FENCED, E.FAIL, E.FAIL, E.FAIL),
    S.LOOKING_UP: (None, E.ASK_AGAIN, E.BE_FENCED, E.FAIL, E.FAIL, E.FAIL),
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
