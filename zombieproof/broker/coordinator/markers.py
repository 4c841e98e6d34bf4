"""How a coordinator sends WriteTxnMarkers (API key 27) and what it makes of the answers.

Behaviour: a decided transaction gets one marker for each broker that leads some of its partitions; markers for one
broker travel together. A partition whose leader is known but not alive waits; one whose topic is gone needs no marker.
An answer that comes when the coordinator has moved on counts for nothing. What is queued is dropped when the
transaction-log partition is; what is under way is judged by the coordinator's standing when it is answered.

The channel knows no transaction records: it reports `MarkerResult`s, the coordinator strikes the partitions that have
their marker off the transaction, and when none is missing asks `finish`, once, for the right to append the completion.
Source: reference §2.12; ``TransactionMarkerChannelManager.scala``, ``TransactionMarkerRequestCompletionHandler.scala``.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from zombieproof.broker.cluster.journal import Journal
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import MarkerToWrite, WriteTxnMarkers, WriteTxnMarkersAnswer
from zombieproof.model.decisions.marker_delivery import (
    MarkerOutcome,
    Route,
    judge_marker_answer,
    judge_standing,
    route_marker,
    version_of_write_txn_markers,
)
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Guard

DECISION = "marker_delivery"


class Leader(NamedTuple):
    """What the metadata says of a partition: whether its topic exists, and the live broker that leads it (or None)."""

    topic_exists: bool
    node: int | None


class Standing(NamedTuple):
    """How the coordinator stands to a transactional id now: error of the lookup, whether known, coordinator epoch."""

    lookup_error: int
    known: bool
    coordinator_epoch: int


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
            transaction = queued.transaction
            standing = self._judge_standing(transaction, standing_of)
            is_left_out = answer is not None and transaction.producer_id not in errors
            if is_left_out or standing == MarkerOutcome.INTERNAL_ERROR:
                results.append(self._result(queued, MarkerOutcome.INTERNAL_ERROR))
            elif standing == MarkerOutcome.FORGET:
                self._forget(transaction)
                results.append(self._result(queued, MarkerOutcome.FORGET))
            elif answer is None:
                results.append(self._result(queued, MarkerOutcome.RETRY))
                results += self._queue(transaction, frozenset(queued.partitions), leader_of, standing_of)
            else:
                results += self._judge(transaction, errors[transaction.producer_id], leader_of, standing_of)
            if results and results[-1].outcome == MarkerOutcome.INTERNAL_ERROR:
                break
        return results

    def finish(self, transaction: DecidedTransaction) -> bool:
        """Whether the caller is the one to append the completion: true once, and only for the newest of its id."""
        if self.pending.get(transaction.transactional_id) != transaction:
            return False
        del self.pending[transaction.transactional_id]
        return True

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
        skipped: list[TopicPartition] = []
        for partition in sorted(partitions):
            leader = leader_of(partition)
            route = route_marker(int(leader.topic_exists), int(leader.node is not None), self.rules)
            if route == Route.SEND and leader.node is not None:
                by_broker.setdefault(leader.node, []).append(partition)
            else:
                (waiting if route == Route.WAIT else skipped).append(partition)
        for broker, theirs in by_broker.items():
            self.queues.setdefault(broker, []).append(QueuedMarker(transaction, tuple(theirs)))
        if waiting:
            self.unknown_leader.append(QueuedMarker(transaction, tuple(waiting)))
        return self._skip(transaction, frozenset(skipped), standing_of) if skipped else []

    def _skip(
        self, transaction: DecidedTransaction, partitions: frozenset[TopicPartition], standing_of: StandingOf
    ) -> list[MarkerResult]:
        outcome = self._judge_standing(transaction, standing_of)
        if outcome == MarkerOutcome.FORGET:
            self._forget(transaction)
        return [MarkerResult(transaction, outcome, partitions)]

    def _judge_standing(self, transaction: DecidedTransaction, standing_of: StandingOf) -> MarkerOutcome:
        standing = standing_of(transaction.transactional_id)
        same = int(standing.coordinator_epoch == transaction.coordinator_epoch)
        outcome = MarkerOutcome(judge_standing(standing.lookup_error, int(standing.known), same))
        if outcome != MarkerOutcome.WRITTEN:
            self.journal.decided(DECISION, Guard.NO_GUARD, standing.lookup_error, transaction.transactional_id)
        return outcome

    def _judge(
        self,
        transaction: DecidedTransaction,
        errors: dict[TopicPartition, int],
        leader_of: LeaderOf,
        standing_of: StandingOf,
    ) -> list[MarkerResult]:
        by_outcome: dict[MarkerOutcome, list[TopicPartition]] = {}
        for partition, error in errors.items():
            outcome = MarkerOutcome(judge_marker_answer(error))
            self.journal.decided(DECISION, Guard.NO_GUARD, error, f"{transaction.transactional_id} {partition}")
            by_outcome.setdefault(outcome, []).append(partition)
            if outcome == MarkerOutcome.INTERNAL_ERROR:
                break
        results = [
            MarkerResult(transaction, outcome, frozenset(by_outcome[outcome]))
            for outcome in MarkerOutcome
            if outcome in by_outcome
        ]
        if MarkerOutcome.FORGET in by_outcome:
            self._forget(transaction)
        elif MarkerOutcome.RETRY in by_outcome and MarkerOutcome.INTERNAL_ERROR not in by_outcome:
            again = frozenset(by_outcome[MarkerOutcome.RETRY])
            results += self._queue(transaction, again, leader_of, standing_of)
        return results

    def _forget(self, transaction: DecidedTransaction) -> None:
        """Drop the transaction, unless a newer one (of a later coordinator epoch) has taken its place."""
        if self.pending.get(transaction.transactional_id) == transaction:
            del self.pending[transaction.transactional_id]

    def _result(self, queued: QueuedMarker, outcome: MarkerOutcome) -> MarkerResult:
        return MarkerResult(queued.transaction, outcome, frozenset(queued.partitions))

    def _request(self, queue: list[QueuedMarker]) -> WriteTxnMarkers:
        version = version_of_write_txn_markers(self.rules)
        markers = tuple(
            MarkerToWrite(
                producer_id=queued.transaction.producer_id,
                producer_epoch=queued.transaction.producer_epoch,
                committed=queued.transaction.committed,
                coordinator_epoch=queued.transaction.coordinator_epoch,
                partitions=queued.partitions,
                transaction_version=queued.transaction.transaction_version if version > 1 else 0,
            )
            for queued in queue
        )
        return WriteTxnMarkers(version, markers)


def _others(queue: list[QueuedMarker], txn_partition: int) -> list[QueuedMarker]:
    return [queued for queued in queue if queued.transaction.txn_partition != txn_partition]
