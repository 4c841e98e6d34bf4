"""Partitions join a transaction: AddPartitionsToTxn, AddOffsetsToTxn.

A request of a broker holds several transactions, each may wait for an append of its own: its answers are gathered.
Source: reference §2.8, §2.9; ``KafkaApis.handleAddPartitionsToTxnRequest``, ``handleAddOffsetsToTxnRequest``.
"""

from dataclasses import dataclass, field

from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.partition_numbers import PartitionNumbers
from zombieproof.broker.coordinator.effects import Append, Effect, Reply
from zombieproof.broker.coordinator.store import TransactionStore
from zombieproof.broker.coordinator.waiting import Gathering, IdRequest, Join, JoinOffsets
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.transactions import (
    AddOffsetsToTxn,
    AddOffsetsToTxnAnswer,
    AddPartitionsToTxn,
    AddPartitionsToTxnAnswer,
    TransactionAdded,
    TransactionToAdd,
)
from zombieproof.model.decisions.add_offsets_to_txn import decide_add_offsets_to_txn
from zombieproof.model.decisions.add_partitions_to_txn import (
    decide_add_partitions_front_door,
    decide_add_partitions_to_txn,
    decide_verify_partitions,
)
from zombieproof.model.decisions.versions import error_on_the_wire
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import ApiKey, CoordinatorEvent, Error


@dataclass(slots=True)
class Joins:
    """The requests to join transactions at one coordinator; `_gatherings` by ticket."""

    rules: Rules
    journal: Journal
    numbers: PartitionNumbers
    metadata: Metadata
    store: TransactionStore
    _gatherings: dict[int, Gathering] = field(default_factory=dict)

    def add_partitions(self, request: AddPartitionsToTxn, ticket: int) -> list[Effect]:
        """Answer AddPartitionsToTxn. One that names no transaction at all is never answered, as in Kafka (§14)."""
        if not request.transactions:
            return []
        effects: list[Effect] = []
        self._gatherings[ticket] = Gathering(request.version, [None] * len(request.transactions))
        for part, transaction in enumerate(request.transactions):
            if transaction.verify_only:
                effects += self._part_added(ticket, part, self._verify(transaction, request.version))
                continue
            error, appends = self._join(transaction, ticket, part, request.version)
            effects += appends
            if error == Error.UNSUPPORTED_VERSION:
                # The record cannot be written, and Kafka's handler throws (§14): nobody looks at the rest. No append of
                # this request is in flight, since none of its records could be written.
                del self._gatherings[ticket]
                return [*effects, Reply(ticket, AddPartitionsToTxnAnswer(error, ()))]
            if error != Error.NONE or not appends:
                effects += self._part_added(ticket, part, _same_for_all(transaction, error, request.version))
        return effects

    def _verify(self, asked: TransactionToAdd, version: int) -> TransactionAdded:
        name = asked.transactional_id
        front = decide_add_partitions_front_door(int(bool(name)), 1)
        if front.error != Error.NONE or not name:
            return _same_for_all(asked, self._note("add_partitions_to_txn", front, name).error, version)
        found = self.store.lookup(name)
        if found.error != Error.NONE:
            return _same_for_all(asked, found.error, version)
        errors: dict[TopicPartition, int] = {}
        for partition in asked.partitions:
            mask = self.numbers.mask([partition])
            request = IdRequest(version, asked.producer_id, asked.producer_epoch, partitions=mask)
            verdict = decide_verify_partitions(found.transaction or Transaction(), request, self.rules)
            errors[partition] = self._note("add_partitions_to_txn", verdict, f"{name} {partition}").error
        return TransactionAdded(name, errors)

    def _join(self, asked: TransactionToAdd, ticket: int, part: int, version: int) -> tuple[int, list[Append]]:
        name = asked.transactional_id
        front = decide_add_partitions_front_door(int(bool(name)), 0)
        if front.error != Error.NONE or not name:
            return self._note("add_partitions_to_txn", front, name).error, []
        found = self.store.lookup(name)
        if found.error != Error.NONE:
            return found.error, []
        mask = self.numbers.mask(asked.partitions)
        request = IdRequest(version, asked.producer_id, asked.producer_epoch, partitions=mask)
        verdict = decide_add_partitions_to_txn(found.transaction or Transaction(), request, self.rules)
        self._note("add_partitions_to_txn", verdict, name)
        if verdict.event == CoordinatorEvent.NOTHING:
            return verdict.error, []
        return self.store.append(name, found, verdict, Join(ticket, part, asked))

    def _part_added(self, ticket: int, part: int, added: TransactionAdded) -> list[Effect]:
        """One transaction of the request has its answer; the reply goes out with the last one."""
        gathering = self._gatherings[ticket]
        gathering.parts[part] = added
        parts = [each for each in gathering.parts if each is not None]
        if len(parts) < len(gathering.parts):
            return []
        del self._gatherings[ticket]
        return [Reply(ticket, AddPartitionsToTxnAnswer(0, tuple(parts)))]

    def add_offsets(self, request: AddOffsetsToTxn, ticket: int) -> list[Effect]:
        """Answer AddOffsetsToTxn."""
        name = request.transactional_id
        front = decide_add_partitions_front_door(int(bool(name)), 0)
        if front.error != Error.NONE or not name:
            self._note("add_offsets_to_txn", front, name)
            return [_offsets_added(ticket, request.version, front.error)]
        found = self.store.lookup(name)
        if found.error != Error.NONE:
            return [_offsets_added(ticket, request.version, found.error)]
        mask = self.numbers.mask([self.metadata.group_partition(request.group)])
        asked = IdRequest(request.version, request.producer_id, request.producer_epoch, partitions=mask)
        verdict = decide_add_offsets_to_txn(found.transaction or Transaction(), asked, self.rules)
        self._note("add_offsets_to_txn", verdict, name)
        error, appends = verdict.error, list[Append]()
        if verdict.event != CoordinatorEvent.NOTHING:
            error, appends = self.store.append(name, found, verdict, JoinOffsets(ticket, request.version))
        return [*appends] if appends else [_offsets_added(ticket, request.version, error)]

    def joined(self, purpose: Join, error: int) -> list[Effect]:
        """The append of one transaction of an AddPartitionsToTxn has its outcome."""
        added = _same_for_all(purpose.asked, error, self._gatherings[purpose.ticket].version)
        return self._part_added(purpose.ticket, purpose.part, added)

    def offsets_joined(self, purpose: JoinOffsets, error: int) -> list[Effect]:
        """The append of an AddOffsetsToTxn has its outcome."""
        return [_offsets_added(purpose.ticket, purpose.version, error)]

    def _note(self, decision: str, verdict: Verdict, subject: str | None) -> Verdict:
        self.journal.decided(decision, verdict.guard, verdict.error, subject or "")
        return verdict


def _offsets_added(ticket: int, version: int, error: int) -> Reply:
    return Reply(ticket, AddOffsetsToTxnAnswer(error_on_the_wire(ApiKey.ADD_OFFSETS_TO_TXN, version, error)))


def _same_for_all(asked: TransactionToAdd, error: int, version: int) -> TransactionAdded:
    told = error_on_the_wire(ApiKey.ADD_PARTITIONS_TO_TXN, version, error)
    return TransactionAdded(asked.transactional_id, dict.fromkeys(asked.partitions, told))
