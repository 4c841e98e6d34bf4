"""From the decision of a transaction to its completion: markers for every partition, then one more record.

Theory of operation: when a decision is durable its completion is pending and the marker channel gets the markers. Each
partition that has its marker is struck off the transaction, in memory only; when none is left the completion is
appended, with the time of the decision. Whoever loads a decided transaction does all of it again.

Source: reference §2.12, §2.15; ``TransactionMarkerChannelManager.scala``.
"""

from dataclasses import dataclass, field

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.partition_numbers import PartitionNumbers
from zombieproof.broker.coordinator.effects import Append
from zombieproof.broker.coordinator.markers import (
    DecidedTransaction,
    Leader,
    MarkerChannel,
    MarkerRequest,
    MarkerResult,
    Standing,
)
from zombieproof.broker.coordinator.store import TransactionStore
from zombieproof.broker.coordinator.waiting import Complete
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import WriteTxnMarkersAnswer
from zombieproof.model.decisions.log_append import Aftermath
from zombieproof.model.decisions.marker_delivery import MarkerOutcome, decide_completion
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NOTHING, CoordinatorEvent, Guard, TransactionState
from zombieproof.statemachines.coordinator import COORDINATOR


@dataclass(slots=True)
class Completions:
    """The decided transactions of one coordinator, and the channel of their markers.

    `_again` are completions whose append has to be tried again.
    """

    rules: Rules
    clock: Clock
    journal: Journal
    numbers: PartitionNumbers
    metadata: Metadata
    store: TransactionStore
    channel: MarkerChannel
    _decided_ms: dict[str, int] = field(default_factory=dict)
    _again: list[Complete] = field(default_factory=list)

    def start(self, transactional_id: str) -> list[Append]:
        """The decision is durable: its completion is pending, and its markers go out (F5, Z6)."""
        found = self.store.lookup(transactional_id)
        transaction = found.transaction
        assert transaction is not None, "only a transaction that was just looked up is started"
        event = CoordinatorEvent.MARKERS_WRITTEN
        transaction.pending_state = COORDINATOR.target(transaction.state, event, transactional_id)
        transaction.failed_epoch_fence = 0
        decided = DecidedTransaction(
            transactional_id=transactional_id,
            txn_partition=found.partition,
            coordinator_epoch=found.coordinator_epoch,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            committed=transaction.state == TransactionState.PREPARE_COMMIT,
            transaction_version=transaction.client_transaction_version,
        )
        self._decided_ms[transactional_id] = self.clock.now_ms()
        partitions = self.numbers.partitions(transaction.partitions)
        results = self.channel.add(decided, partitions, self._leader_of, self._standing_of)
        return self._apply(results) + self._complete(decided)

    def to_send(self) -> tuple[list[MarkerRequest], list[Append]]:
        """The marker requests to send now, at most one for each broker, and the completions that can be appended."""
        drained = self.channel.drain(self._leader_of, self._standing_of)
        return drained.requests, self._apply(drained.results) + self._retry()

    def answered(self, number: int, answer: WriteTxnMarkersAnswer | None) -> list[Append]:
        """A leader answered marker request `number`; None: the connection was lost."""
        return self._apply(self.channel.answered(number, answer, self._leader_of, self._standing_of))

    def appended(self, purpose: Complete, aftermath: Aftermath) -> None:
        """The append of a completion has its outcome; one that stays pending is tried again."""
        if aftermath == Aftermath.KEEP_PENDING:
            self._again.append(purpose)

    def drives(self, transactional_id: str) -> bool:
        """Whether somebody is at work on a decided transaction: its markers, or the append of its completion."""
        appends = self.store.in_flight_of(transactional_id)
        again = any(purpose.transaction.transactional_id == transactional_id for purpose in self._again)
        return bool(appends) or again or transactional_id in self.channel.pending

    def remove(self, partition: int) -> None:
        """The ids of a transaction-log partition belong to somebody else now, or are being loaded anew."""
        self.channel.remove(partition)
        self._again = [purpose for purpose in self._again if purpose.transaction.txn_partition != partition]

    def _apply(self, results: list[MarkerResult]) -> list[Append]:
        appends: list[Append] = []
        for result in results:
            if result.outcome != MarkerOutcome.WRITTEN:
                continue
            found = self.store.lookup(result.transaction.transactional_id)
            if found.transaction is not None and found.coordinator_epoch == result.transaction.coordinator_epoch:
                found.transaction.partitions &= ~self.numbers.mask(result.partitions)
            appends += self._complete(result.transaction)
        return appends

    def _complete(self, decided: DecidedTransaction) -> list[Append]:
        """Append the completion if no marker is missing and nobody has done it yet."""
        found = self.store.lookup(decided.transactional_id)
        same = int(found.coordinator_epoch == decided.coordinator_epoch)
        verdict = decide_completion(found.transaction or Transaction(), found.error, same, self.rules)
        if verdict.guard == Guard.C1 or not self.channel.finish(decided):
            return []
        return self._append(Complete(decided, self._decided_ms.pop(decided.transactional_id)))

    def _retry(self) -> list[Append]:
        again, self._again = self._again, []
        return [append for purpose in again for append in self._append(purpose)]

    def _append(self, purpose: Complete) -> list[Append]:
        name = purpose.transaction.transactional_id
        found = self.store.lookup(name)
        same = int(found.coordinator_epoch == purpose.transaction.coordinator_epoch)
        verdict = decide_completion(found.transaction or Transaction(), found.error, same, self.rules)
        self.journal.decided("marker_delivery", verdict.guard, verdict.error, name)
        if verdict.event == NOTHING:
            return []
        _, appends = self.store.append(name, found, verdict, purpose, now_ms=purpose.decided_ms)
        return appends

    def _leader_of(self, partition: TopicPartition) -> Leader:
        return Leader(*self.metadata.leader_of(partition))

    def _standing_of(self, transactional_id: str) -> Standing:
        found = self.store.lookup(transactional_id)
        return Standing(found.error, found.transaction is not None, found.coordinator_epoch)
