"""The sequences of a producer, one numbering for each partition, and the batches that are in flight there.

What becomes of a numbering is said by the steps (``statemachines.producer.sequences``); here are the collections: which
partitions have one, and the batches that are numbered anew.
Source: reference §5.6; ``TxnPartitionMap.java``, ``TxnPartitionEntry.java``; KIP-360.
"""

from dataclasses import dataclass, field

from zombieproof.clients.batches import ProducerBatch
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.producer import sequences as steps
from zombieproof.statemachines.producer.effects import Fate, ProducerEffects
from zombieproof.statemachines.producer.records import Joining, Numbering, Producer, ProducerHost


@dataclass(slots=True)
class PartitionSequences(Numbering):
    """The numbering of one partition; `in_flight` is sorted by sequence."""

    in_flight: list[ProducerBatch] = field(default_factory=list)

    @property
    def lowest_in_flight(self) -> int:
        """The smallest sequence in flight, NONE if there is none."""
        return self.in_flight[0].base_sequence if self.in_flight else NONE

    def track(self, batch: ProducerBatch) -> None:
        """`batch` is under way."""
        self.in_flight.append(batch)
        self.in_flight.sort(key=lambda other: other.base_sequence)

    def untrack(self, batch: ProducerBatch) -> None:
        """`batch` is no longer under way."""
        if batch in self.in_flight:
            self.in_flight.remove(batch)


class Sequences:
    """The numberings of all partitions of one producer.

    Args:
        producer: its record, with the identity that new numberings get.
        effects: what its steps want.
        rules: the rules in force.
    """

    def __init__(self, producer: Producer, effects: ProducerEffects, rules: Rules) -> None:
        self.rules = rules
        self._producer, self._effects = producer, effects
        self._partitions: dict[TopicPartition, PartitionSequences] = {}

    def of(self, partition: TopicPartition) -> PartitionSequences:
        """The numbering of `partition`, a new one if there is none."""
        return self._partitions.setdefault(partition, PartitionSequences())

    @property
    def unresolved(self) -> dict[TopicPartition, int]:
        """The partitions that gave a sent batch up, and the sequence behind it."""
        return {p: known.unresolved for p, known in self._partitions.items() if known.unresolved != NONE}

    @property
    def identity(self) -> tuple[int, int]:
        """Producer id and epoch; NONE, NONE before one is granted."""
        return self._producer.producer_id, self._producer.producer_epoch

    @property
    def has_producer_id(self) -> bool:
        """Whether there is an identity to send under."""
        return self._producer.producer_id != NONE

    @property
    def wants_bump(self) -> bool:
        """Whether a gap in a partition makes an idempotent producer raise its epoch."""
        return any(known.wants_bump for known in self._partitions.values())

    def may_leave(self, batch: ProducerBatch, joining: Joining, host: ProducerHost) -> bool:
        """Whether `batch`, the first that waits in its partition, may leave."""
        known = self.of(batch.partition)
        in_flight, lowest = len(known.in_flight), known.lowest_in_flight
        return steps.may_leave(self._producer, known, batch.base_sequence, in_flight, lowest, joining, host)

    def number(self, batch: ProducerBatch) -> None:
        """`batch` leaves for the first time: it gets its identity, and is under way."""
        known = self.of(batch.partition)
        steps.number(self._producer, known, len(batch.records), len(known.in_flight), self.rules, self._effects)
        self._take_number(batch)
        known.track(batch)

    def split(self, batch: ProducerBatch) -> tuple[ProducerBatch, ProducerBatch]:
        """Two batches, in flight in the place of one that was too large."""
        known = self.of(batch.partition)
        known.untrack(batch)
        middle = len(batch.records) // 2
        first, second = batch.split(middle)
        if batch.has_sequence:
            first.number(batch.producer_id, batch.producer_epoch, batch.base_sequence)
            behind = steps.sequence_behind(batch.base_sequence, middle, self.rules)
            second.number(batch.producer_id, batch.producer_epoch, behind)
        known.track(first)
        known.track(second)
        return first, second

    def carry_out(self, batch: ProducerBatch | None = None) -> None:
        """Do to sequences what a step wants, one about `batch` if it is about any."""
        effects = self._effects
        if batch is not None:
            self._carry_out_for(batch, self.of(batch.partition))
        if effects.forgets_sequences:
            self._partitions.clear()
        if effects.adopts or effects.restarts:
            self._show_identity(is_granted=effects.adopts)

    def _carry_out_for(self, batch: ProducerBatch, known: PartitionSequences) -> None:
        effects = self._effects
        if effects.fate in (Fate.STORED, Fate.FAILED):
            known.untrack(batch)
        if effects.forgets_partition:
            known.in_flight.clear()
        if effects.renumbers:
            self._renumber(known)
        if effects.shifts > 0:
            assert known.next_sequence >= 0, "a batch that failed had a sequence below the next one"
            for later in known.in_flight:
                if later.base_sequence > batch.base_sequence:
                    later.number(later.producer_id, later.producer_epoch, later.base_sequence - effects.shifts)

    def _show_identity(self, *, is_granted: bool) -> None:
        for known in self._partitions.values():
            self._effects.renumbers = False
            if is_granted:
                steps.adopt(self._producer, known, len(known.in_flight), self._effects)
            else:
                steps.restart_if_wanted(self._producer, known, self._effects)
            if self._effects.renumbers:
                self._renumber(known)

    def _renumber(self, known: PartitionSequences) -> None:
        for batch in known.in_flight:
            steps.take_number(known, len(batch.records), self.rules, self._effects)
            self._take_number(batch)

    def _take_number(self, batch: ProducerBatch) -> None:
        effects = self._effects
        batch.number(effects.producer_id, effects.producer_epoch, effects.base_sequence)
