"""Topic partitions, and the topics that Kafka keeps for itself."""

import re
from typing import Self
from uuid import UUID

TRANSACTION_STATE = "__transaction_state"
CONSUMER_OFFSETS = "__consumer_offsets"
CLUSTER_METADATA = "__cluster_metadata"
"""Kafka's own log of what is known of a cluster; nobody makes a topic of that name."""
INTERNAL_TOPICS = frozenset({TRANSACTION_STATE, CONSUMER_OFFSETS})

TopicPartition = tuple[str, int]


class UnnamedTopic(str):
    """A topic of which only the id is known: it was deleted, or never existed. Written as "?" and the id.

    It has a class of its own because a client may send any string as a name, also one that begins with "?".
    """

    __slots__ = ()

    @classmethod
    def of(cls, topic_id: UUID) -> Self:
        """The topic with this id."""
        return cls(f"?{topic_id}")

    @property
    def id(self) -> UUID:
        """Its id."""
        return UUID(self[1:])


LONGEST_NAME = 249
"""A folder is called after topic and partition, and most file systems allow 255 bytes."""
LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")


def is_legal_topic(topic: str) -> bool:
    """Whether Kafka would take this name."""
    is_short = len(topic) <= LONGEST_NAME and topic not in (".", "..")
    return is_short and LEGAL_NAME.fullmatch(topic) is not None


def check_topic(topic: str) -> None:
    """See that Kafka would take this name.

    Raises:
        ValueError: it would not. Source: ``Topic.java``.
    """
    fault = None
    if topic in ("", ".", ".."):
        fault = "is empty" if topic == "" else "is the name of a folder"
    elif len(topic) > LONGEST_NAME:
        fault = f"has {len(topic)} characters"
    elif LEGAL_NAME.fullmatch(topic) is None:
        fault = "has a character that Kafka does not take"
    if fault is not None:
        shown = topic if len(topic) <= LONGEST_NAME else f"{topic[:20]}..."
        raise ValueError(
            f"topic {shown!r} {fault}: a name has 1 to {LONGEST_NAME} letters, digits, dots, underscores and hyphens, "
            f"and is not '.' or '..'"
        )
