"""The identity of a producer and its sequences: one numbering for each partition.

Theory of operation: a partition is numbered under one (producer id, epoch). When the producer gets another identity,
the partition keeps its numbering until nothing is in flight there, and then begins again at 0. A *local bump* (only
without a transactional id) raises the epoch without asking anybody and numbers what is in flight on the partitions
that wanted it anew.
Source: reference §5.6; ``TxnPartitionMap.java``, ``TxnPartitionEntry.java``; KIP-360.
"""

from dataclasses import dataclass, field

from zombieproof.clients.batches import ProducerBatch
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.decisions.producer_batches import BatchStanding, DrainStanding, advance, can_raise_locally
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE


@dataclass(slots=True)
class PartitionSequences:
    """The numbering of one partition; `in_flight` is sorted by sequence."""

    producer_id: int = NONE
    producer_epoch: int = NONE
    next_sequence: int = 0
    last_acked_sequence: int = NONE
    last_acked_offset: int = NONE
    in_flight: list[ProducerBatch] = field(default_factory=list)

    def restart(self, producer_id: int, producer_epoch: int, rules: Rules) -> None:
        """Number from 0, under this identity; what is in flight first."""
        sequence = 0
        for batch in self.in_flight:
            batch.number(producer_id, producer_epoch, sequence)
            sequence = advance(sequence, len(batch.records), rules)
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        self.next_sequence, self.last_acked_sequence = sequence, NONE

    def track(self, batch: ProducerBatch) -> None:
        """`batch` is under way."""
        self.in_flight.append(batch)
        self.in_flight.sort(key=lambda other: other.base_sequence)

    def close_gap(self, failed: ProducerBatch) -> None:
        """`failed` was not stored: what follows it takes its place."""
        records = len(failed.records)
        self.next_sequence -= records
        for batch in self.in_flight:
            if batch.base_sequence > failed.base_sequence:
                batch.number(batch.producer_id, batch.producer_epoch, batch.base_sequence - records)
        assert self.next_sequence >= 0, "a batch that failed had a sequence below the next one"


class Sequences:
    """The numberings of all partitions, and the (producer id, epoch) that new ones get."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.producer_id = self.producer_epoch = NONE
        self.unresolved: dict[TopicPartition, int] = {}
        self._partitions: dict[TopicPartition, PartitionSequences] = {}
        self._wants_local_bump: set[TopicPartition] = set()

    def of(self, partition: TopicPartition) -> PartitionSequences:
        """The numbering of `partition`, a new one if there is none."""
        return self._partitions.setdefault(partition, PartitionSequences())

    @property
    def identity(self) -> tuple[int, int]:
        """Producer id and epoch; NONE, NONE before one is granted."""
        return self.producer_id, self.producer_epoch

    @property
    def has_producer_id(self) -> bool:
        """Whether there is an identity to send under."""
        return self.producer_id != NONE

    def adopt(self, producer_id: int, producer_epoch: int) -> None:
        """The identity that was granted. What was numbered while there was none is numbered under it."""
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        for known in self._partitions.values():
            if known.producer_id == NONE and known.in_flight:
                known.restart(producer_id, producer_epoch, self.rules)

    def reset(self) -> None:
        """Every partition begins again at 0."""
        self._partitions.clear()
        self.unresolved.clear()

    def forget_partition(self, partition: TopicPartition) -> None:
        """This partition begins again at 0."""
        self._partitions.pop(partition, None)
        self.unresolved.pop(partition, None)

    def number(self, batch: ProducerBatch) -> None:
        """A batch leaves for the first time: it gets its identity, and is under way.

        Before, a partition that was last numbered under another identity begins again at 0.
        """
        known = self.of(batch.partition)
        if self._is_stale(known) and not known.in_flight:
            known.restart(self.producer_id, self.producer_epoch, self.rules)
        batch.number(known.producer_id, known.producer_epoch, known.next_sequence)
        known.next_sequence = advance(known.next_sequence, len(batch.records), self.rules)
        known.track(batch)

    def _is_stale(self, known: PartitionSequences) -> bool:
        return (known.producer_id, known.producer_epoch) != self.identity

    def acknowledge(self, batch: ProducerBatch, base_offset: int) -> None:
        """`batch` is stored."""
        known = self._partitions.get(batch.partition)
        if known is None:
            return
        known.last_acked_sequence = max(known.last_acked_sequence, batch.last_sequence(self.rules))
        if base_offset != NONE:
            known.last_acked_offset = max(known.last_acked_offset, base_offset + len(batch.records) - 1)
        self.untrack(batch)

    def untrack(self, batch: ProducerBatch) -> None:
        """`batch` is no longer under way."""
        known = self._partitions.get(batch.partition)
        if known is not None and batch in known.in_flight:
            known.in_flight.remove(batch)

    def close_gap(self, failed: ProducerBatch) -> None:
        """`failed` was not stored; nothing to do where the partition was forgotten meanwhile."""
        known = self._partitions.get(failed.partition)
        if known is not None:
            known.close_gap(failed)

    def leave_unresolved(self, batch: ProducerBatch) -> None:
        """`batch` was sent and given up: whether it is stored will show in what happens to those behind it."""
        behind = advance(batch.last_sequence(self.rules), 1, self.rules)
        self.unresolved[batch.partition] = max(self.unresolved.get(batch.partition, 0), behind)

    def is_next(self, partition: TopicPartition, sequence: int) -> bool:
        """Whether `sequence` follows the last acknowledged one."""
        return sequence - self.of(partition).last_acked_sequence == 1

    def want_local_bump(self, partition: TopicPartition) -> None:
        """The epoch has to be raised because of `partition`."""
        self._wants_local_bump.add(partition)

    def bump_locally(self) -> bool:
        """Raise the epoch if a partition wanted it; True if none was left and the producer id was given up."""
        if not self._wants_local_bump:
            return False
        exhausted = self.has_producer_id and not can_raise_locally(self.producer_epoch, self.rules)
        if exhausted:
            self.producer_id = self.producer_epoch = NONE
        elif self.has_producer_id:
            self.producer_epoch += 1
        for partition in sorted(self._wants_local_bump):
            self.of(partition).restart(self.producer_id, self.producer_epoch, self.rules)
            self.unresolved.pop(partition, None)
        self._wants_local_bump.clear()
        return exhausted

    def standing(self, batch: ProducerBatch, may_retry: bool) -> BatchStanding:
        """What `react_to_batch` asks about an answered batch."""
        unresolved = self.unresolved.get(batch.partition)
        return BatchStanding(
            transactional=int(batch.transactional),
            records=len(batch.records),
            may_retry=int(may_retry),
            is_next=int(self.is_next(batch.partition, batch.base_sequence)),
            has_been_renumbered=int(batch.has_been_renumbered),
            partition_is_unresolved=int(unresolved is not None),
            follows_unresolved=int(unresolved == batch.base_sequence),
            last_acked_offset=self.of(batch.partition).last_acked_offset,
        )

    def drain_standing(self, batch: ProducerBatch, joined: bool) -> DrainStanding:
        """What `may_be_sent` asks about the first waiting batch of a partition."""
        known = self.of(batch.partition)
        return DrainStanding(
            joined=int(joined),
            has_producer_id=int(self.has_producer_id),
            has_sequence=int(batch.has_sequence),
            in_flight=len(known.in_flight),
            is_stale=int(self._is_stale(known)),
            is_unresolved=int(batch.partition in self.unresolved),
            is_lowest_in_flight=int(bool(known.in_flight) and known.in_flight[0].base_sequence == batch.base_sequence),
        )
