"""From the decision of a transaction to its completion: markers for every partition, then one more record.

Theory of operation: when a decision is durable the marker channel gets its markers. Each partition that has its marker
is struck off the transaction; when none is left the completion is appended. Whoever loads a decided transaction does
all of it again. The machine's steps judge; here are the channel, and completions to be tried again.

Source: reference §2.12, §2.15; ``TransactionMarkerChannelManager.scala``.
"""

from dataclasses import dataclass, field

from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.partition_numbers import PartitionNumbers
from zombieproof.broker.coordinator.effects import Append
from zombieproof.broker.coordinator.markers import (
    DecidedTransaction,
    Leader,
    MarkerChannel,
    MarkerRequest,
    MarkerResult,
)
from zombieproof.broker.coordinator.steps import Steps
from zombieproof.broker.coordinator.waiting import Completing
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import WriteTxnMarkersAnswer
from zombieproof.statemachines.coordinator import completion
from zombieproof.statemachines.coordinator.completion import MarkerOutcome, Standing
from zombieproof.statemachines.coordinator.records import DecidedFacts, PendingTransition


@dataclass(slots=True)
class Completions:
    """The decided transactions of one coordinator, and the channel of their markers.

    `_again` are completions whose append has to be tried again.
    """

    steps: Steps
    numbers: PartitionNumbers
    metadata: Metadata
    channel: MarkerChannel
    _decided_ms: dict[str, int] = field(default_factory=dict)
    _again: list[Completing] = field(default_factory=list)

    def start(self, transactional_id: str) -> list[Append]:
        """The decision is durable and its completion pending: its markers go out (F5, Z6)."""
        place, transaction = self.steps.store.find(transactional_id)
        assert transaction is not None, "only a transaction that was just looked up is started"
        decided = DecidedTransaction(
            transactional_id=transactional_id,
            txn_partition=place.partition,
            coordinator_epoch=place.coordinator_epoch,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            committed=completion.is_committed(transaction),
            transaction_version=transaction.client_transaction_version,
        )
        self._decided_ms[transactional_id] = self.steps.clock.now_ms()
        partitions = self.numbers.partitions(transaction.partitions)
        results = self.channel.add(decided, partitions, self._leader_of, self._standing_of)
        return self._apply(results) + self._complete(decided)

    def to_send(self) -> tuple[list[MarkerRequest], list[Append]]:
        """The marker requests to send now, at most one for each broker, and the completions that can be appended."""
        drained = self.channel.drain(self._leader_of, self._standing_of)
        appends, again = self._apply(drained.results), self._again
        self._again = []
        for completing in again:
            appends += self._append(completing, is_driven=True)
        return drained.requests, appends

    def answered(self, number: int, answer: WriteTxnMarkersAnswer | None) -> list[Append]:
        """A leader answered marker request `number`; None: the connection was lost."""
        return self._apply(self.channel.answered(number, answer, self._leader_of, self._standing_of))

    def try_again(self, completing: Completing) -> None:
        """The append of a completion failed, and stays pending."""
        self._again.append(completing)

    @property
    def has_work(self) -> bool:
        """Whether a decided transaction is not complete."""
        return bool(self.channel.pending or self._again)

    def drives(self, transactional_id: str) -> bool:
        """Whether somebody is at work on a decided transaction: its markers, or the append of its completion."""
        again = any(completing.transaction.transactional_id == transactional_id for completing in self._again)
        return again or transactional_id in self.channel.pending or self.steps.store.is_in_flight(transactional_id)

    def remove(self, partition: int) -> None:
        """The ids of a transaction-log partition belong to somebody else now, or are being loaded anew."""
        self.channel.remove(partition)
        self._again = [completing for completing in self._again if completing.transaction.txn_partition != partition]

    def _apply(self, results: list[MarkerResult]) -> list[Append]:
        appends: list[Append] = []
        for result in results:
            if result.outcome == MarkerOutcome.WRITTEN:
                decided = result.transaction
                transaction, office = self.steps.begin(decided.transactional_id)
                written = self.numbers.mask(result.partitions)
                completion.strike_off(transaction, written, decided.coordinator_epoch, office)
                appends += self._complete(decided)
        return appends

    def _complete(self, decided: DecidedTransaction) -> list[Append]:
        """Append the completion if no marker is missing and nobody has done it yet."""
        is_driven = self.channel.drives(decided)
        return self._append(Completing(decided, self._decided_ms.get(decided.transactional_id, 0)), is_driven=is_driven)

    def _append(self, completing: Completing, *, is_driven: bool) -> list[Append]:
        steps, decided = self.steps, completing.transaction
        transaction, office = steps.begin(decided.transactional_id)
        pending = PendingTransition()
        facts = DecidedFacts(decided.coordinator_epoch, completing.decided_ms, is_driven)
        completion.complete(transaction, pending, facts, office, steps.rules, steps.effects, steps.notes)
        steps.end(decided.transactional_id, transaction)
        if steps.effects.finishes and self.channel.finish(decided):
            del self._decided_ms[decided.transactional_id]
        return steps.append(decided.transactional_id, pending, completing)

    def _leader_of(self, partition: TopicPartition) -> Leader:
        return Leader(*self.metadata.leader_of(partition))

    def _standing_of(self, transactional_id: str) -> Standing:
        transaction, office = self.steps.begin(transactional_id)
        return completion.stand(transaction, office, self.steps.notes)
