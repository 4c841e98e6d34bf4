"""CreateTopics (API key 19, versions 0-7) and CreatePartitions (37, 0-3): who may make what, and where it lies.

Behaviour: a request that wants too much is refused whole. A topic that is named twice, or has a name of Kafka's own, is
refused before all others, then one that whoever asks may not make or widen; then come names: one that exists, one that
is none, one that differs from another only in dots and underscores (their metrics would have one name); then settings;
then places. Where replicas are assigned by hand nothing else may be said of their number. Of partitions that are added,
each has as many replicas as those that are there; more than one request may make are refused (Kafka fails there, and
says so with -1). Metadata may ask for a topic that is made because of the question: its answer is that it is not there.
Source: ``ControllerApis.createTopics``, ``ReplicationControlManager.createTopics``, ``.createPartitions``.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from zombieproof.model.vocabulary import NONE, Error

BY_DEFAULT = -1
"""As many partitions, or replicas, as brokers give by default."""


MOST_PARTITIONS = 10_000
"""So many one request may make."""


class Refusal(IntEnum):
    """Why no topic is made, or no partitions are added."""

    NOTHING = 0
    NAMED_TWICE = 1
    PROHIBITED = 2
    ALREADY_THERE = 3
    ILLEGAL_NAME = 4
    COLLIDES = 5
    NULL_SETTINGS = 6
    BAD_SETTINGS = 7
    FACTOR_BESIDE_ASSIGNMENT = 8
    COUNT_BESIDE_ASSIGNMENT = 9
    ASSIGNED_TWICE = 10
    NO_REPLICAS = 11
    UNKNOWN_BROKER = 12
    BROKER_TWICE = 13
    UNEVEN = 14
    NONE_LIVES = 15
    GAP = 16
    BAD_FACTOR = 17
    BAD_COUNT = 18
    TOO_FEW_BROKERS = 19
    UNKNOWN_TOPIC = 20
    SAME_COUNT = 21
    NO_INCREASE = 22
    MISCOUNTED = 23
    TOO_MANY = 24
    MAY_NOT = 25
    TOO_LARGE = 26


_ERRORS = {
    Refusal.NOTHING: Error.NONE,
    Refusal.NAMED_TWICE: Error.INVALID_REQUEST,
    Refusal.PROHIBITED: Error.INVALID_REQUEST,
    Refusal.ALREADY_THERE: Error.TOPIC_ALREADY_EXISTS,
    Refusal.ILLEGAL_NAME: Error.INVALID_TOPIC_EXCEPTION,
    Refusal.COLLIDES: Error.INVALID_TOPIC_EXCEPTION,
    Refusal.NULL_SETTINGS: Error.INVALID_CONFIG,
    Refusal.BAD_SETTINGS: Error.INVALID_CONFIG,
    Refusal.FACTOR_BESIDE_ASSIGNMENT: Error.INVALID_REQUEST,
    Refusal.COUNT_BESIDE_ASSIGNMENT: Error.INVALID_REQUEST,
    Refusal.ASSIGNED_TWICE: Error.INVALID_REPLICA_ASSIGNMENT,
    Refusal.NO_REPLICAS: Error.INVALID_REPLICA_ASSIGNMENT,
    Refusal.UNKNOWN_BROKER: Error.INVALID_REPLICA_ASSIGNMENT,
    Refusal.BROKER_TWICE: Error.INVALID_REPLICA_ASSIGNMENT,
    Refusal.UNEVEN: Error.INVALID_REPLICA_ASSIGNMENT,
    Refusal.NONE_LIVES: Error.INVALID_REPLICA_ASSIGNMENT,
    Refusal.GAP: Error.INVALID_REPLICA_ASSIGNMENT,
    Refusal.BAD_FACTOR: Error.INVALID_REPLICATION_FACTOR,
    Refusal.BAD_COUNT: Error.INVALID_PARTITIONS,
    Refusal.TOO_FEW_BROKERS: Error.INVALID_REPLICATION_FACTOR,
    Refusal.UNKNOWN_TOPIC: Error.UNKNOWN_TOPIC_OR_PARTITION,
    Refusal.SAME_COUNT: Error.INVALID_PARTITIONS,
    Refusal.NO_INCREASE: Error.INVALID_PARTITIONS,
    Refusal.MISCOUNTED: Error.INVALID_REPLICA_ASSIGNMENT,
    Refusal.TOO_MANY: Error.POLICY_VIOLATION,
    Refusal.MAY_NOT: Error.TOPIC_AUTHORIZATION_FAILED,
    Refusal.TOO_LARGE: Error.POLICY_VIOLATION,
}


class Refused(NamedTuple):
    """Why, and whom or what it is about: a broker, a partition, a number; NONE: nothing else."""

    why: Refusal
    about: int = NONE

    @property
    def error(self) -> int:
        """What is answered."""
        return int(_ERRORS[self.why])


class Place(NamedTuple):
    """What is known of the brokers: all there are, and those that live."""

    brokers: Sequence[int]
    live: Sequence[int]


Assignment = tuple[int, Sequence[int]]
"""The number of a partition, and the brokers that are to have it."""


def refusal_of_size(partitions: int) -> Refused:
    """Why no topic of a request is made that wants so many partitions in all."""
    return Refused(Refusal.TOO_MANY if partitions > MOST_PARTITIONS else Refusal.NOTHING)


def refusal_of_records(partitions: int, settings: int, topics: int) -> Refused:
    """Why no topic of a request is made: the controller writes a record for each topic, partition and setting.

    So one topic can have 9,999 partitions at first, and more later (``BoundedList``).
    """
    return Refused(Refusal.TOO_LARGE if partitions + settings + topics > MOST_PARTITIONS else Refusal.NOTHING)


def refusal_of_name(
    is_named_twice: bool, is_prohibited: bool, exists: bool, is_legal: bool, collides: bool, may_create: bool = True
) -> Refusal:
    """Why no topic can have a name."""
    if is_named_twice:
        return Refusal.NAMED_TWICE
    if is_prohibited:
        return Refusal.PROHIBITED
    if not may_create:
        return Refusal.MAY_NOT
    if exists:
        return Refusal.ALREADY_THERE
    if not is_legal:
        return Refusal.ILLEGAL_NAME
    return Refusal.COLLIDES if collides else Refusal.NOTHING


def refusal_of_places(partitions: int, factor: int, assignments: Sequence[Assignment], place: Place) -> Refused:
    """Why a new topic cannot have so many partitions, or replicas, or these."""
    if assignments:
        return _refusal_of_assignments(partitions, factor, assignments, place)
    if factor == 0 or factor < BY_DEFAULT:
        return Refused(Refusal.BAD_FACTOR)
    if partitions == 0 or partitions < BY_DEFAULT:
        return Refused(Refusal.BAD_COUNT)
    return Refused(Refusal.NOTHING)


def refusal_of_factor(factor: int, brokers: int) -> Refused:
    """Why there cannot be so many replicas at so many brokers."""
    return Refused(Refusal.TOO_FEW_BROKERS, factor) if factor > brokers else Refused(Refusal.NOTHING)


def _refusal_of_assignments(partitions: int, factor: int, assignments: Sequence[Assignment], place: Place) -> Refused:
    if factor != BY_DEFAULT:
        return Refused(Refusal.FACTOR_BESIDE_ASSIGNMENT)
    if partitions != BY_DEFAULT:
        return Refused(Refusal.COUNT_BESIDE_ASSIGNMENT)
    seen = set[int]()
    width = NONE
    for number, brokers in assignments:
        if number in seen:
            return Refused(Refusal.ASSIGNED_TWICE, number)
        refused = refusal_of_assignment(number, brokers, width, place)
        if refused.why != Refusal.NOTHING:
            return refused
        seen.add(number)
        width = len(brokers)
    return Refused(Refusal.NOTHING if seen == set(range(len(seen))) else Refusal.GAP)


def refusal_of_assignment(number: int, brokers: Sequence[int], width: int, place: Place) -> Refused:
    """Why a partition cannot lie at these brokers; `width`: how many each of its topic has, NONE if none is known."""
    if not brokers:
        return Refused(Refusal.NO_REPLICAS)
    before = NONE
    for broker in sorted(brokers):
        if broker not in place.brokers:
            return Refused(Refusal.UNKNOWN_BROKER, broker)
        if broker == before:
            return Refused(Refusal.BROKER_TWICE, broker)
        before = broker
    if width not in (NONE, len(brokers)):
        return Refused(Refusal.UNEVEN, len(brokers))
    lives = any(broker in place.live for broker in brokers)
    return Refused(Refusal.NOTHING) if lives else Refused(Refusal.NONE_LIVES, number)


def refusal_of_more(is_named_twice: bool, there: int, wanted: int, assigned: int, may_alter: bool = True) -> Refused:
    """Why a topic that has `there` partitions (0: there is none) cannot have `wanted`; `assigned` NONE: none is."""
    if is_named_twice:
        return Refused(Refusal.NAMED_TWICE)
    if not may_alter:
        return Refused(Refusal.MAY_NOT)
    if there == 0:
        return Refused(Refusal.UNKNOWN_TOPIC)
    if wanted == there:
        return Refused(Refusal.SAME_COUNT, there)
    if wanted < there:
        return Refused(Refusal.NO_INCREASE, wanted)
    if wanted - there > MOST_PARTITIONS:
        return Refused(Refusal.TOO_MANY)
    if assigned not in (NONE, wanted - there):
        return Refused(Refusal.MISCOUNTED, assigned)
    return Refused(Refusal.NOTHING)


def error_of_missing_topic(is_legal: bool, is_denied: bool = False) -> int:
    """What Metadata says of a topic that does not exist, also where it is made because of that.

    `is_denied`: it would be made, and whoever asks may not make it.
    """
    if is_denied:
        return int(Error.TOPIC_AUTHORIZATION_FAILED)
    return int(Error.UNKNOWN_TOPIC_OR_PARTITION if is_legal else Error.INVALID_TOPIC_EXCEPTION)
