"""What applications hand to clients and get from them, besides records."""

from typing import NamedTuple

from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE


class RecordMetadata(NamedTuple):
    """Where a record is stored. `offset` NONE: nobody knows (``acks=0``, or a copy was stored before)."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition with its topic."""
        return self.topic, self.partition


class OffsetAndMetadata(NamedTuple):
    """The offset that a consumer goes on at, with what the application notes beside it."""

    offset: int
    metadata: str = ""
    leader_epoch: int = NONE


class PartitionInfo(NamedTuple):
    """A partition, and the node that leads it; None: nobody does now."""

    topic: str
    partition: int
    leader: int | None
