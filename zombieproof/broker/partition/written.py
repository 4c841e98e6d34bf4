"""Which logs of a broker have moved in the present step: an effect of every part that writes."""

from dataclasses import dataclass, field

from zombieproof.formats.topics import TopicPartition


@dataclass(slots=True)
class Written:
    """The partitions that are led here and were written to, or taken over, since this was asked last."""

    _partitions: dict[TopicPartition, None] = field(default_factory=dict)

    def add(self, partition: TopicPartition) -> None:
        """The log of `partition` has moved, or its followers have to look at it."""
        self._partitions[partition] = None

    def take(self) -> list[TopicPartition]:
        """Each partition once, in the order in which they were written to first."""
        taken = list(self._partitions)
        self._partitions.clear()
        return taken
