"""CreateTopics and CreatePartitions: reasons in Kafka's order: a row repairs what the one before was refused for."""

import pytest

from zombieproof.model.decisions.create_topics import (
    MOST_PARTITIONS,
    Place,
    Refusal,
    Refused,
    refusal_of_assignment,
    refusal_of_factor,
    refusal_of_more,
    refusal_of_name,
    refusal_of_places,
    refusal_of_records,
    refusal_of_size,
)
from zombieproof.model.vocabulary import NONE, Error

PLACE = Place((1, 2, 3), (1, 2))


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ((True, True, True, False, True), Refusal.NAMED_TWICE),
        ((False, True, True, False, True), Refusal.PROHIBITED),
        ((False, False, True, False, True), Refusal.ALREADY_THERE),
        ((False, False, False, False, True), Refusal.ILLEGAL_NAME),
        ((False, False, False, True, True), Refusal.COLLIDES),
        ((False, False, False, True, False), Refusal.NOTHING),
    ],
)
def test_why_a_name_is_refused(facts: tuple[bool, bool, bool, bool, bool], why: Refusal) -> None:
    assert refusal_of_name(*facts) is why


@pytest.mark.parametrize(
    ("partitions", "factor", "assignments", "refused"),
    [
        (0, 0, ((5, ()),), Refused(Refusal.FACTOR_BESIDE_ASSIGNMENT)),
        (0, -1, ((5, ()),), Refused(Refusal.COUNT_BESIDE_ASSIGNMENT)),
        (-1, -1, ((5, ()),), Refused(Refusal.NO_REPLICAS)),
        (-1, -1, ((5, (9, 9)),), Refused(Refusal.UNKNOWN_BROKER, 9)),
        (-1, -1, ((5, (1, 1)),), Refused(Refusal.BROKER_TWICE, 1)),
        (-1, -1, ((5, (3,)),), Refused(Refusal.NONE_LIVES, 5)),
        (-1, -1, ((5, (1,)), (5, ())), Refused(Refusal.ASSIGNED_TWICE, 5)),
        (-1, -1, ((5, (1,)), (6, (1, 2))), Refused(Refusal.UNEVEN, 2)),
        (-1, -1, ((5, (1,)),), Refused(Refusal.GAP)),
        (-1, -1, ((0, (3, 1)),), Refused(Refusal.NOTHING)),
        (0, 0, (), Refused(Refusal.BAD_FACTOR)),
        (0, -2, (), Refused(Refusal.BAD_FACTOR)),
        (0, 9, (), Refused(Refusal.BAD_COUNT)),
        (-2, 9, (), Refused(Refusal.BAD_COUNT)),
        (1, 9, (), Refused(Refusal.NOTHING)),
    ],
)
def test_why_places_are_refused(
    partitions: int, factor: int, assignments: tuple[tuple[int, tuple[int, ...]], ...], refused: Refused
) -> None:
    assert refusal_of_places(partitions, factor, assignments, PLACE) == refused


def test_there_are_not_more_replicas_than_brokers() -> None:
    assert [refusal_of_factor(factor, len(PLACE.brokers)).why for factor in (3, 4)] == [
        Refusal.NOTHING,
        Refusal.TOO_FEW_BROKERS,
    ]


@pytest.mark.parametrize(
    ("facts", "refused"),
    [
        ((True, 0, 2, 7), Refused(Refusal.NAMED_TWICE)),
        ((False, 0, 2, 7), Refused(Refusal.UNKNOWN_TOPIC)),
        ((False, 2, 2, 7), Refused(Refusal.SAME_COUNT, 2)),
        ((False, 3, 2, 7), Refused(Refusal.NO_INCREASE, 2)),
        ((False, 1, MOST_PARTITIONS + 2, 7), Refused(Refusal.TOO_MANY)),
        ((False, 1, MOST_PARTITIONS + 1, 7), Refused(Refusal.MISCOUNTED, 7)),
        ((False, 1, 2, 7), Refused(Refusal.MISCOUNTED, 7)),
        ((False, 1, 2, 1), Refused(Refusal.NOTHING)),
        ((False, 1, 2, NONE), Refused(Refusal.NOTHING)),
    ],
)
def test_why_no_partitions_are_added(facts: tuple[bool, int, int, int], refused: Refused) -> None:
    assert refusal_of_more(*facts) == refused


def test_a_request_wants_no_more_than_it_may() -> None:
    assert [refusal_of_size(MOST_PARTITIONS + more).error for more in (0, 1)] == [Error.NONE, Error.POLICY_VIOLATION]


def test_each_topic_and_setting_counts_as_a_partition_does() -> None:
    for partitions, settings, topics, error in (
        (9_999, 0, 1, Error.NONE),
        (10_000, 0, 1, Error.POLICY_VIOLATION),
        (9_998, 0, 2, Error.NONE),
        (9_999, 0, 2, Error.POLICY_VIOLATION),
        (9_998, 1, 1, Error.NONE),
        (9_998, 2, 1, Error.POLICY_VIOLATION),
    ):
        assert refusal_of_records(partitions, settings, topics).error == error


def test_whoever_is_down_may_have_a_replica_beside_one_that_lives() -> None:
    assert refusal_of_assignment(0, (3, 2), NONE, PLACE).why is Refusal.NOTHING


def test_every_reason_has_an_error() -> None:
    assert all(isinstance(Refused(why).error, int) for why in Refusal)
    assert {why for why in Refusal if Refused(why).error == Error.NONE} == {Refusal.NOTHING}
