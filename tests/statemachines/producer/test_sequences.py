"""The sequences of a partition under a changing identity (reference §5.3, §5.6)."""

import pytest

from tests.statemachines.producer.stand import Stand
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, SEQUENCE_MAX, ProducerState
from zombieproof.statemachines.producer import sequences
from zombieproof.statemachines.producer.records import Joining, Numbering


def numbered(stand: Stand, records: int = 2, in_flight: int = 0) -> tuple[int, int, int]:
    known = stand.numbering
    sequences.number(stand.producer, known, records, in_flight, Rules(), stand.effects)
    return stand.effects.producer_id, stand.effects.producer_epoch, stand.effects.base_sequence


def test_batches_take_one_sequence_after_the_other(stand: Stand) -> None:
    assert [numbered(stand), numbered(stand, 3, in_flight=1)] == [(7, 2, 0), (7, 2, 2)]
    assert stand.numbering.next_sequence == 5


def test_behind_the_largest_sequence_comes_0(stand: Stand) -> None:
    stand.numbering.next_sequence = SEQUENCE_MAX - 1
    assert numbered(stand, 3) == (7, 2, SEQUENCE_MAX - 1)
    assert stand.numbering.next_sequence == 1
    assert sequences.sequence_behind(SEQUENCE_MAX, 1, Rules()) == 0


@pytest.mark.parametrize("in_flight", [0, 1])
def test_under_a_new_identity_a_partition_begins_again_once_nothing_is_in_flight(in_flight: int, stand: Stand) -> None:
    stand.numbering = Numbering(True, 7, 1, next_sequence=4, last_acked_sequence=3)
    assert numbered(stand, in_flight=in_flight) == ((7, 2, 0) if in_flight == 0 else (7, 1, 4))


@pytest.mark.parametrize(
    ("changes", "leaves"),
    [
        ({}, True),
        ({"state": ProducerState.FATAL_ERROR}, False),
        ({"producer_id": NONE}, False),
        ({"joining": Joining.PENDING}, False),
        ({"joining": Joining.OUTSIDE}, False),
        ({"joining": Joining.OUTSIDE, "transactional": 0}, True),
        ({"unresolved": 3}, False),
        ({"in_flight": 1, "lowest": 0}, True),
        ({"epoch": 1, "in_flight": 1, "lowest": 0}, False),
        ({"epoch": 1}, True),
        ({"base": 3, "in_flight": 1, "lowest": 2}, False),
        ({"base": 2, "in_flight": 2, "lowest": 2, "unresolved": 3}, True),
    ],
    ids=str,
)
def test_when_the_first_waiting_batch_leaves(changes: dict[str, int], leaves: bool, stand: Stand) -> None:
    stand.in_state(ProducerState(changes.get("state", ProducerState.IN_TRANSACTION)))
    stand.producer.producer_id = changes.get("producer_id", 7)
    stand.numbering = Numbering(True, 7, changes.get("epoch", 2), unresolved=changes.get("unresolved", NONE))
    stand.host = stand.host._replace(transactional=changes.get("transactional", 1) == 1)
    joining, base = changes.get("joining", Joining.JOINED), changes.get("base", NONE)
    flight = changes.get("in_flight", 0), changes.get("lowest", NONE)
    assert sequences.may_leave(stand.producer, stand.numbering, base, *flight, joining, stand.host) == leaves


def test_what_was_numbered_under_no_identity_is_numbered_under_the_granted_one(stand: Stand) -> None:
    stand.numbering = Numbering(True, NONE, NONE, next_sequence=2)
    sequences.adopt(stand.producer, stand.numbering, 0, stand.effects)
    assert stand.wanted() == {}, "nothing is in flight: the next batch begins again"
    sequences.adopt(stand.producer, stand.numbering, 2, stand.effects)
    assert stand.wanted() == {"renumbers": 1}
    assert stand.numbering == Numbering(True, 7, 2)


def test_a_partition_keeps_its_numbering_when_another_wanted_the_raised_epoch(stand: Stand) -> None:
    stand.producer.producer_epoch = 3
    kept = stand.numbering = Numbering(True, 7, 2, next_sequence=4)
    sequences.restart_if_wanted(stand.producer, kept, stand.effects)
    assert (stand.wanted(), kept) == ({}, Numbering(True, 7, 2, next_sequence=4))
    kept.wants_bump, kept.unresolved = True, 4
    sequences.restart_if_wanted(stand.producer, kept, stand.effects)
    assert (stand.wanted(), kept) == ({"renumbers": 1}, Numbering(True, 7, 3))


def test_a_forgotten_partition_wants_what_it_wanted() -> None:
    known = Numbering(True, 7, 2, 4, 3, 9, 4, wants_bump=True)
    sequences.forget(known)
    assert known == Numbering(wants_bump=True)
