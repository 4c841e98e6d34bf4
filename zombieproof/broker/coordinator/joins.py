"""Partitions join a transaction: AddPartitionsToTxn, AddOffsetsToTxn.

A request of a broker holds several transactions, each may wait for an append of its own: its answers are gathered.
Source: reference §2.8, §2.9; ``KafkaApis.handleAddPartitionsToTxnRequest``, ``handleAddOffsetsToTxnRequest``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.partition_numbers import PartitionNumbers
from zombieproof.broker.coordinator.effects import Effect, Reply
from zombieproof.broker.coordinator.steps import Steps
from zombieproof.broker.coordinator.waiting import Gathering, Requester
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.transactions import (
    AddOffsetsToTxn,
    AddOffsetsToTxnAnswer,
    AddPartitionsToTxn,
    AddPartitionsToTxnAnswer,
    TransactionAdded,
    TransactionToAdd,
)
from zombieproof.statemachines.coordinator import joins
from zombieproof.statemachines.coordinator.records import IdRequest, PendingTransition


@dataclass(slots=True)
class Joins:
    """The requests to join transactions at one coordinator; `_gatherings` by ticket."""

    steps: Steps
    numbers: PartitionNumbers
    metadata: Metadata
    _gatherings: dict[int, Gathering] = field(default_factory=dict)

    def add_partitions(self, request: AddPartitionsToTxn, ticket: int) -> list[Effect]:
        """Answer AddPartitionsToTxn. One that names no transaction at all is never answered, as in Kafka (§14)."""
        if not request.transactions:
            return []
        effects: list[Effect] = []
        self._gatherings[ticket] = Gathering(len(request.transactions))
        for part, asked in enumerate(request.transactions):
            requester = Requester(ticket, part, asked)
            if asked.verify_only:
                effects += self._added(requester, self._verify(asked, request.version))
                continue
            effects += self._join(asked, requester, request.version)
            if self.steps.effects.throws:
                # The record cannot be written, and Kafka's handler throws (§14): nobody looks at the rest. No append of
                # this request is in flight, since none of its records could be written.
                del self._gatherings[ticket]
                return [*effects, Reply(ticket, AddPartitionsToTxnAnswer(self.steps.effects.error, ()))]
        return effects

    def _verify(self, asked: TransactionToAdd, version: int) -> TransactionAdded:
        steps, name = self.steps, asked.transactional_id or ""
        errors: dict[TopicPartition, int] = {}
        for partition in asked.partitions:
            transaction, office = steps.begin(name)
            request = self._asked(asked, version, [partition])
            joins.verify_partition(transaction, request, office, steps.rules, steps.effects, steps.notes)
            steps.end(name, transaction, f"{name} {partition}")
            errors[partition] = steps.effects.error
        return TransactionAdded(asked.transactional_id, errors)

    def _join(self, asked: TransactionToAdd, requester: Requester, version: int) -> list[Effect]:
        steps, name, pending = self.steps, asked.transactional_id or "", PendingTransition()
        transaction, office = steps.begin(name)
        request = self._asked(asked, version, asked.partitions)
        joins.add_partitions(transaction, pending, request, office, steps.rules, steps.effects, steps.notes)
        steps.end(name, transaction)
        if steps.effects.replies and not steps.effects.throws:
            return self.joined(requester)
        return [*steps.append(name, pending, requester)]

    def _asked(self, asked: TransactionToAdd, version: int, partitions: Iterable[TopicPartition]) -> IdRequest:
        mask, has_id = self.numbers.mask(partitions), bool(asked.transactional_id)
        return IdRequest(version, asked.producer_id, asked.producer_epoch, False, mask, has_id)

    def joined(self, requester: Requester) -> list[Effect]:
        """One transaction of an AddPartitionsToTxn is answered by the last step."""
        assert requester.asked is not None, "a part of AddPartitionsToTxn is about a transaction"
        asked, error = requester.asked, self.steps.effects.error
        return self._added(requester, TransactionAdded(asked.transactional_id, dict.fromkeys(asked.partitions, error)))

    def _added(self, requester: Requester, added: TransactionAdded) -> list[Effect]:
        """One transaction of the request has its answer; the reply goes out with the last one."""
        ticket = requester.ticket
        gathering = self._gatherings[ticket]
        gathering.parts[requester.part] = added
        if len(gathering.parts) < gathering.expected:
            return []
        del self._gatherings[ticket]
        parts = tuple(gathering.parts[part] for part in range(gathering.expected))
        return [Reply(ticket, AddPartitionsToTxnAnswer(0, parts))]

    def add_offsets(self, request: AddOffsetsToTxn, ticket: int) -> list[Effect]:
        """Answer AddOffsetsToTxn."""
        steps, name, pending = self.steps, request.transactional_id or "", PendingTransition()
        mask = self.numbers.mask([self.metadata.group_partition(request.group)])
        asked = IdRequest(request.version, request.producer_id, request.producer_epoch, False, mask, bool(name))
        transaction, office = steps.begin(name)
        joins.add_offsets(transaction, pending, asked, office, steps.rules, steps.effects, steps.notes)
        steps.end(name, transaction)
        if steps.effects.replies:
            return [Reply(ticket, AddOffsetsToTxnAnswer(steps.effects.error))]
        return [*steps.append(name, pending, Requester(ticket))]
