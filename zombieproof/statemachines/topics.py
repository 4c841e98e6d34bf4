"""The topics of a cluster: a request wants one, or more partitions of it, or asks for one that is not there.

Theory of operation: who drives a broker says what it knows of names and brokers; here is judged, in Kafka's order, and
placed. Partitions are spread over the brokers, each replica at the next one; those that live come first, so that a
partition has a leader where one can lead.
Source: ``ReplicationControlManager.java``, ``StripedReplicaPlacer.java`` (which begins at random).
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from zombieproof.model.decisions.create_topics import (
    BY_DEFAULT,
    MOST_PARTITIONS,
    Assignment,
    Place,
    Refusal,
    Refused,
    error_of_missing_topic,
    refusal_of_assignment,
    refusal_of_factor,
    refusal_of_more,
    refusal_of_name,
    refusal_of_places,
    refusal_of_records,
    refusal_of_size,
)
from zombieproof.model.decisions.fetch import error_of_topic
from zombieproof.model.vocabulary import NONE

__all__ = [
    "AskedFor",
    "Elected",
    "LedBy",
    "Moved",
    "Named",
    "Place",
    "Refusal",
    "Refused",
    "Said",
    "adds",
    "asked_for",
    "creates",
    "elects",
    "names",
    "reassigns",
    "spread",
    "wanted",
]

Replicas = list[tuple[int, ...]]
"""The brokers of each partition, preferred leader first."""


class Named(NamedTuple):
    """What a broker knows of a name."""

    is_named_twice: bool
    is_prohibited: bool
    exists: bool
    is_legal: bool
    collides: bool
    may_create: bool = True


class Said(NamedTuple):
    """What a request says of a topic's size; BY_DEFAULT: the default."""

    partitions: int
    factor: int
    assignments: tuple[Assignment, ...] = ()


def names(named: Named, partitions: int) -> Refused:
    """Whether a topic can be called so, in a request that wants so many partitions in all."""
    refused = refusal_of_size(partitions)
    return Refused(refusal_of_name(*named)) if refused.why == Refusal.NOTHING else refused


MOST_AT_ONCE = MOST_PARTITIONS


def at_once(partitions: int, settings: int, topics: int) -> Refused:
    """Whether so many topics can be made by one request; `partitions` and `settings` of all of them."""
    return refusal_of_records(partitions, settings, topics)


def at_start(partitions: int) -> Refused:
    """Whether a topic that is there from the start can have so many partitions."""
    return refusal_of_size(partitions)


def wanted(said: Said, default: Said) -> int:
    """How many partitions are wanted."""
    if said.assignments:
        return len(said.assignments)
    return default.partitions if said.partitions == BY_DEFAULT else max(said.partitions, 0)


def creates(said: Said, default: Said, place: Place) -> tuple[Refused, Replicas]:
    """Where the partitions of a new topic lie."""
    refused = refusal_of_places(said.partitions, said.factor, said.assignments, place)
    if refused.why != Refusal.NOTHING:
        return refused, []
    if said.assignments:
        return refused, [tuple(brokers) for _, brokers in sorted(said.assignments)]
    factor = default.factor if said.factor == BY_DEFAULT else said.factor
    refused = refusal_of_factor(factor, len(place.brokers))
    return refused, [] if refused.why != Refusal.NOTHING else spread(0, wanted(said, default), factor, place)


def adds(
    is_named_twice: bool,
    there: Replicas,
    wanted: int,
    assigned: Sequence[Sequence[int]] | None,
    place: Place,
    may_alter: bool = True,
) -> tuple[Refused, Replicas]:
    """Where the partitions lie that a topic gets more; `there`: those that it has."""
    additional = NONE if assigned is None else len(assigned)
    refused = refusal_of_more(is_named_twice, len(there), wanted, additional, may_alter)
    if refused.why != Refusal.NOTHING:
        return refused, []
    width = len(there[0])
    if assigned is None:
        refused = refusal_of_factor(width, len(place.brokers))
        more = spread(len(there), wanted - len(there), width, place) if refused.why == Refusal.NOTHING else []
        return refused, more
    for number, brokers in enumerate(assigned, len(there)):
        refused = refusal_of_assignment(number, brokers, width, place)
        if refused.why != Refusal.NOTHING:
            return refused, []
    return refused, [tuple(brokers) for brokers in assigned]


class Moved(IntEnum):
    """What becomes of a wish to have the replicas of a partition elsewhere."""

    AS_THEY_ARE = 0
    NO_TOPIC = 1
    NO_PARTITION = 2
    NOTHING_TO_CANCEL = 3
    REFUSED = 4
    STAYS = 5


def reassigns(
    topic_exists: bool, there: tuple[int, ...] | None, wanted: Sequence[int] | None, place: Place
) -> tuple[Moved, Refused]:
    """The replicas of a partition (None: there is none) are to be these; None: a move is to be given up."""
    refused = Refused(Refusal.NOTHING)
    if not topic_exists:
        return Moved.NO_TOPIC, refused
    if there is None:
        return Moved.NO_PARTITION, refused
    if wanted is None:
        return Moved.NOTHING_TO_CANCEL, refused
    refused = refusal_of_assignment(0, wanted, NONE, place)
    if refused.why != Refusal.NOTHING:
        return Moved.REFUSED, refused
    return Moved.AS_THEY_ARE if tuple(wanted) == there else Moved.STAYS, refused


class Elected(IntEnum):
    """What becomes of a wish to have another leader."""

    ELECTED = 0
    UNKNOWN_KIND = 1
    NO_TOPIC = 2
    NO_PARTITION = 3
    NOT_NEEDED = 4
    PREFERRED_IS_OUT = 5
    NOBODY_MAY = 6


class LedBy(NamedTuple):
    """A partition as an election finds it: replicas, preferred first, those in sync, and the leader or NONE."""

    replicas: Sequence[int]
    in_sync: Sequence[int]
    leader: int


PREFERRED, UNCLEAN = 0, 1


def elects(kind: int, topic_exists: bool, partition: LedBy | None, live: Sequence[int]) -> Elected:
    """The preferred replica is to lead, or (`kind` UNCLEAN) anybody where nobody does: nobody out of sync ever does."""
    if kind not in (PREFERRED, UNCLEAN):
        return Elected.UNKNOWN_KIND
    if not topic_exists:
        return Elected.NO_TOPIC
    if partition is None:
        return Elected.NO_PARTITION
    first = partition.replicas[0]
    if partition.leader == first or (kind == UNCLEAN and partition.leader != NONE):
        return Elected.NOT_NEEDED
    if kind == UNCLEAN:
        return Elected.NOBODY_MAY
    is_fit = first in partition.in_sync and first in live
    return Elected.ELECTED if is_fit else Elected.PREFERRED_IS_OUT


class AskedFor(NamedTuple):
    """What is said of a topic, and whether it is made because of the question."""

    error: int
    is_made: bool


def asked_for(exists: bool, by_id: bool, is_legal: bool, may_be_made: bool, may_create: bool = True) -> AskedFor:
    """Somebody asks for a topic, by name or (`by_id`) by id.

    `may_be_made`: brokers and he let it be made where it is not there; `may_create`: he has the right.
    """
    if exists or by_id:
        return AskedFor(error_of_topic(exists, by_id), is_made=False)
    error = error_of_missing_topic(is_legal, is_denied=may_be_made and not may_create)
    return AskedFor(error, is_made=is_legal and may_be_made and may_create)


def spread(first: int, partitions: int, factor: int, place: Place) -> Replicas:
    """So many partitions from number `first` on, each with `factor` replicas; live ones lead."""
    brokers, live = place.brokers, set(place.live)
    found = []
    for number in range(first, first + partitions):
        ring = [brokers[(number + each) % len(brokers)] for each in range(len(brokers))]
        found.append(tuple(sorted(ring, key=lambda broker: broker not in live)[:factor]))
    return found
