"""How a coordinator sends WriteTxnMarkers (API key 27) and what it makes of the answers.

Behaviour: a decided transaction gets one marker for each broker that leads some of its partitions; markers for one
broker travel together. A partition whose leader is known but not alive waits; one whose topic is gone needs no marker.
An answer that comes when the coordinator has moved on counts for nothing. What is queued is dropped when the
transaction-log partition is; what is under way is judged by the coordinator's standing when it is answered.

The channel knows no transaction records: it reports `MarkerResult`s, the coordinator strikes the partitions that have
their marker off the transaction, and when none is missing asks `finish`, once, for the right to append the completion.
Source: reference §2.12; ``TransactionMarkerChannelManager.scala``, ``TransactionMarkerRequestCompletionHandler.scala``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from zombieproof.broker.cluster.journal import Journal
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import MarkerToWrite, WriteTxnMarkers, WriteTxnMarkersAnswer
from zombieproof.model.rules import Rules
from zombieproof.statemachines import notes as noting
from zombieproof.statemachines.coordinator import completion
from zombieproof.statemachines.coordinator.completion import MarkerAnswer, MarkerOutcome, Route, Standing
from zombieproof.statemachines.notes import Notes


class Leader(NamedTuple):
    """What the metadata says of a partition: whether its topic exists, and the live broker that leads it (or None)."""

    topic_exists: bool
    node: int | None


LeaderOf = Callable[[TopicPartition], Leader]
StandingOf = Callable[[str], Standing]


@dataclass(frozen=True, slots=True)
class DecidedTransaction:
    """A transaction whose decision is durable: what its markers say, and under which coordinator epoch."""

    transactional_id: str
    txn_partition: int
    coordinator_epoch: int
    producer_id: int
    producer_epoch: int
    committed: bool
    transaction_version: int


@dataclass(frozen=True, slots=True)
class MarkerResult:
    """What became of the markers of some partitions of one transaction.

    WRITTEN: these partitions need no marker any more. RETRY: they are queued again, nothing is to be done. FORGET: the
    channel drives the transaction no longer (and nobody does until it is loaded again). INTERNAL_ERROR: Kafka throws
    here; what else the same answer said is lost, and those markers are never sent again.
    """

    transaction: DecidedTransaction
    outcome: MarkerOutcome
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class QueuedMarker:
    """A marker that waits to be sent."""

    transaction: DecidedTransaction
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class MarkerRequest:
    """A request to send to `broker` now; `number` names it when it is answered."""

    number: int
    broker: int
    request: WriteTxnMarkers


class Drained(NamedTuple):
    """The requests to send now, at most one for each broker, and what became of markers whose topic is gone."""

    requests: list[MarkerRequest]
    results: list[MarkerResult]


@dataclass(slots=True)
class MarkerChannel:
    """The markers of one coordinator. Equal channels behave alike: everything is plain data."""

    rules: Rules
    journal: Journal = field(repr=False, compare=False)
    pending: dict[str, DecidedTransaction] = field(default_factory=dict)
    queues: dict[int, list[QueuedMarker]] = field(default_factory=dict)
    unknown_leader: list[QueuedMarker] = field(default_factory=list)
    in_flight: dict[int, list[QueuedMarker]] = field(default_factory=dict)
    next_number: int = 0
    _notes: Notes = field(default_factory=lambda: Notes(moves=[]), repr=False, compare=False)

    def add(
        self,
        transaction: DecidedTransaction,
        partitions: frozenset[TopicPartition],
        leader_of: LeaderOf,
        standing_of: StandingOf,
    ) -> list[MarkerResult]:
        """Queue the markers of a transaction; it takes the place of an older one of the same id.

        The results name the partitions that need none. The caller then completes the transaction if none is missing.
        """
        self.pending[transaction.transactional_id] = transaction
        return self._queue(transaction, partitions, leader_of, standing_of)

    def drain(self, leader_of: LeaderOf, standing_of: StandingOf) -> Drained:
        """Everything that waits, as one request for each broker, the markers in the order in which they were queued.

        Markers that waited for a leader are routed anew first.
        """
        results = []
        waiting, self.unknown_leader = self.unknown_leader, []
        for queued in waiting:
            results += self._queue(queued.transaction, frozenset(queued.partitions), leader_of, standing_of)
        requests = []
        for broker, queue in self.queues.items():
            if queue:
                requests.append(MarkerRequest(self.next_number, broker, self._request(queue)))
                self.in_flight[self.next_number] = queue
                self.next_number += 1
        self.queues = {}
        return Drained(requests, results)

    def answered(
        self, number: int, answer: WriteTxnMarkersAnswer | None, leader_of: LeaderOf, standing_of: StandingOf
    ) -> list[MarkerResult]:
        """Judge the answer to request `number`; None: the connection was lost. An unknown number changes nothing."""
        results: list[MarkerResult] = []
        sent = self.in_flight.pop(number, [])
        errors = {} if answer is None else {marker.producer_id: marker.errors for marker in answer.markers}
        for queued in sent:
            of_transaction = errors.get(queued.transaction.producer_id)
            handled, theirs = self._handle_answer(queued, answer is None, of_transaction, standing_of)
            results += theirs
            if handled.forgets:
                self._forget(queued.transaction)
            if handled.sends_again:
                again = theirs[-1].partitions
                results += self._queue(queued.transaction, again, leader_of, standing_of)
            if handled.stops:
                break
        return results

    def _handle_answer(
        self,
        queued: QueuedMarker,
        is_lost: bool,
        errors: Mapping[TopicPartition, int] | None,
        standing_of: StandingOf,
    ) -> tuple[MarkerAnswer, list[MarkerResult]]:
        """What an answer says of the markers of one transaction; of `errors` nothing counts once it is settled."""
        transaction, handled, notes = queued.transaction, MarkerAnswer(), self._notes
        standing = completion.judge(standing_of(transaction.transactional_id), transaction.coordinator_epoch, notes)
        completion.begin_answer(handled, standing, is_lost, errors is not None)
        self._tell(transaction.transactional_id)
        if errors is None or handled.outcome != MarkerOutcome.WRITTEN:
            outcome = MarkerOutcome(handled.outcome)
            return handled, [MarkerResult(transaction, outcome, frozenset(queued.partitions))]
        by_outcome: dict[int, list[TopicPartition]] = {}
        for partition, error in errors.items():
            by_outcome.setdefault(completion.handle_partition(handled, error, notes), []).append(partition)
            self._tell(f"{transaction.transactional_id} {partition}")
            if handled.stops:
                break
        completion.end_answer(handled)
        return handled, [
            MarkerResult(transaction, outcome, frozenset(by_outcome[outcome]))
            for outcome in MarkerOutcome
            if outcome in by_outcome
        ]

    def drives(self, transaction: DecidedTransaction) -> bool:
        """Whether this is what is driven of its id, and its completion not appended yet."""
        return self.pending.get(transaction.transactional_id) == transaction

    def finish(self, transaction: DecidedTransaction) -> bool:
        """Whether the caller is the one to append the completion: true once, and only for the newest of its id."""
        is_driven = self.drives(transaction)
        self._forget(transaction)
        return is_driven

    def remove(self, txn_partition: int) -> None:
        """The transaction-log partition has another coordinator: drop what is queued of it.

        A transaction with every marker under way stays pending, as in Kafka; the answer will find it deposed.
        """
        for queue in (self.unknown_leader, *self.queues.values()):
            for queued in queue:
                if queued.transaction.txn_partition == txn_partition:
                    self._forget(queued.transaction)
        self.unknown_leader = _others(self.unknown_leader, txn_partition)
        self.queues = {broker: _others(queue, txn_partition) for broker, queue in self.queues.items()}

    def _queue(
        self,
        transaction: DecidedTransaction,
        partitions: frozenset[TopicPartition],
        leader_of: LeaderOf,
        standing_of: StandingOf,
    ) -> list[MarkerResult]:
        by_broker: dict[int, list[TopicPartition]] = {}
        waiting: list[TopicPartition] = []
        skipped: dict[int, list[TopicPartition]] = {}
        standing, epoch = standing_of(transaction.transactional_id), transaction.coordinator_epoch
        for partition in sorted(partitions):
            exists, node = leader_of(partition)
            routed = completion.route(exists, node is not None, standing, epoch, self.rules, self._notes)
            if routed.route == Route.SEND and node is not None:
                by_broker.setdefault(node, []).append(partition)
            elif routed.route == Route.WAIT:
                waiting.append(partition)
            else:
                skipped.setdefault(routed.outcome, []).append(partition)
        self._tell(transaction.transactional_id)
        for broker, theirs in by_broker.items():
            self.queues.setdefault(broker, []).append(QueuedMarker(transaction, tuple(theirs)))
        if waiting:
            self.unknown_leader.append(QueuedMarker(transaction, tuple(waiting)))
        if MarkerOutcome.FORGET in skipped:
            self._forget(transaction)
        return [
            MarkerResult(transaction, MarkerOutcome(outcome), frozenset(theirs)) for outcome, theirs in skipped.items()
        ]

    def _tell(self, subject: str) -> None:
        self.journal.take(subject, self._notes)
        noting.clear(self._notes, 0)

    def _forget(self, transaction: DecidedTransaction) -> None:
        """Drop the transaction, unless a newer one (of a later coordinator epoch) has taken its place."""
        if self.drives(transaction):
            del self.pending[transaction.transactional_id]

    def _request(self, queue: list[QueuedMarker]) -> WriteTxnMarkers:
        version = completion.version_of_markers(self.rules)
        told = completion.transaction_version_sent
        markers = tuple(
            MarkerToWrite(
                producer_id=queued.transaction.producer_id,
                producer_epoch=queued.transaction.producer_epoch,
                committed=queued.transaction.committed,
                coordinator_epoch=queued.transaction.coordinator_epoch,
                partitions=queued.partitions,
                transaction_version=told(queued.transaction.transaction_version, version),
            )
            for queued in queue
        )
        return WriteTxnMarkers(version, markers)


def _others(queue: list[QueuedMarker], txn_partition: int) -> list[QueuedMarker]:
    return [queued for queued in queue if queued.transaction.txn_partition != txn_partition]
