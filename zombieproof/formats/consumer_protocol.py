"""What consumers of a group say to each other, in bytes that no broker reads: subscriptions and assignments.

A reader takes a later version for the newest that it knows, and passes over what follows, as Kafka's does.
Source: ``ConsumerProtocolSubscription.json``, ``ConsumerProtocolAssignment.json``, ``ConsumerProtocol.java``; KIP-429,
KIP-792, KIP-881.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from zombieproof.formats.faults import Undecodable
from zombieproof.formats.primitives import INT16, Fields
from zombieproof.formats.schema import Array, Field, Message, Schema, Struct, read_message, write_message
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE

NEWEST = 3
NEVER = 1 << 15
"""From this version on strings are compact: there is none."""

PARTITIONS_OF_TOPIC = (Field("Topic", "string"), Field("Partitions", Array("int32")))

SUBSCRIPTION = Schema(
    "the subscription",
    versions=(0, NEWEST),
    flexible=NEVER,
    fields=(
        Field("Topics", Array("string")),
        Field("UserData", "bytes", nullable=True),
        Field("OwnedPartitions", Array(PARTITIONS_OF_TOPIC), since=1),
        Field("GenerationId", "int32", since=2),
        Field("RackId", "string", since=3, nullable=True),
    ),
)
ASSIGNMENT = Schema(
    "the assignment",
    versions=(0, NEWEST),
    flexible=NEVER,
    fields=(
        Field("AssignedPartitions", Array(PARTITIONS_OF_TOPIC)),
        Field("UserData", "bytes", nullable=True),
    ),
)


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a member wants to read, what it still has, and in which generation it got that; NONE: in none."""

    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = NONE
    rack: str | None = None
    user_data: bytes | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a member reads."""

    partitions: tuple[TopicPartition, ...]
    user_data: bytes | None = None


def read_subscription(data: bytes) -> Subscription:
    """The subscription in `data`; one without bytes is one to nothing.

    Raises:
        Undecodable: the bytes are not a subscription.
    """
    if not data:
        return Subscription(())
    fields = _read(SUBSCRIPTION, data)
    return Subscription(
        tuple(fields["Topics"]),
        _partitions(fields.get("OwnedPartitions", ())),
        fields.get("GenerationId", NONE),
        fields.get("RackId"),
        fields["UserData"],
    )


def write_subscription(subscription: Subscription, version: int = NEWEST) -> bytes:
    """The bytes of a subscription; topics stand in their order. Versions before 2 do not say the generation.

    Raises:
        Unwritable: there is no such version, or a name does not fit into its bytes.
    """
    fields: Struct = {
        "Topics": sorted(subscription.topics),
        "UserData": subscription.user_data,
        "OwnedPartitions": _by_topic(subscription.owned),
        "GenerationId": subscription.generation,
        "RackId": subscription.rack,
    }
    return write_message(SUBSCRIPTION, Message(version, fields))


def read_assignment(data: bytes) -> Assignment:
    """The assignment in `data`; one without bytes assigns nothing.

    Raises:
        Undecodable: the bytes are not an assignment.
    """
    if not data:
        return Assignment(())
    fields = _read(ASSIGNMENT, data)
    return Assignment(_partitions(fields["AssignedPartitions"]), fields["UserData"])


def write_assignment(assignment: Assignment, version: int = NEWEST) -> bytes:
    """The bytes of an assignment.

    Raises:
        Unwritable: there is no such version, or a name does not fit into its bytes.
    """
    fields: Struct = {"AssignedPartitions": _by_topic(assignment.partitions), "UserData": assignment.user_data}
    return write_message(ASSIGNMENT, Message(version, fields))


def _read(schema: Schema, data: bytes) -> Struct:
    version = Fields(data).int16()
    if version < 0:
        raise Undecodable(f"version {version} of {schema.name} is none; versions 0 to {NEWEST} are read", 0)
    return read_message(schema, INT16.pack(min(version, NEWEST)) + data[INT16.size :]).fields


def _partitions(topics: Iterable[Struct]) -> tuple[TopicPartition, ...]:
    return tuple((topic["Topic"], number) for topic in topics for number in topic["Partitions"])


def _by_topic(partitions: Iterable[TopicPartition]) -> list[Struct]:
    found: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        found.setdefault(topic, []).append(number)
    return [{"Topic": topic, "Partitions": numbers} for topic, numbers in found.items()]
