"""From a decision to its completion: markers for every partition, what their answers mean, then one more record.

Theory of operation: when a decision is durable its completion is pending and markers set out (`drive`). Each partition
that has its marker, or needs none, is struck off, in memory only; when none is left the completion is appended, with
the time of the decision. Queues and connections are the host's.

Source: reference §2.12; ``TransactionMarkerChannelManager.scala``, ``TransactionMarkerRequestCompletionHandler.scala``.
"""

from dataclasses import dataclass
from typing import NamedTuple

from zombieproof.model.decisions.marker_delivery import (
    MarkerOutcome,
    Route,
    decide_completion,
    judge_marker_answer,
    judge_standing,
    route_marker,
    version_of_write_txn_markers,
)
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NOTHING, CoordinatorEvent, Row, TransactionState
from zombieproof.statemachines.coordinator import appends
from zombieproof.statemachines.coordinator.effects import CoordinatorEffects
from zombieproof.statemachines.coordinator.records import DecidedFacts, Office, Operation, PendingTransition
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes, note, successor


@dataclass(slots=True)
class MarkerAnswer:
    """What an answer has said so far of the markers of one transaction.

    `outcome` is the gravest of it. After the answer `forgets`: nobody drives the transaction any longer;
    `sends_again`: the partitions that are to be tried again are queued; `stops`: the rest of it is lost.
    """

    outcome: int = 0
    retries: bool = False
    forgets: bool = False
    sends_again: bool = False
    stops: bool = False


class Standing(NamedTuple):
    """How a coordinator stands to an id: the lookup's error, whether the id is known, the present coordinator epoch."""

    lookup_error: int
    known: bool
    coordinator_epoch: int


class Routed(NamedTuple):
    """Where a marker goes (`Route`); of one that is skipped, whether its partition counts as written."""

    route: int
    outcome: int


def drive(txn: Transaction, effects: CoordinatorEffects) -> None:
    """The decision is durable (F5, Z5): its completion is pending, and its markers go out (Z6)."""
    txn.pending_state = successor(MachineIndex.COORDINATOR, txn.state, CoordinatorEvent.MARKERS_WRITTEN)
    txn.failed_epoch_fence = False
    effects.sends_markers = True


def version_of_markers(rules: Rules) -> int:
    """The version of WriteTxnMarkers in which they go out."""
    return version_of_write_txn_markers(rules)


def transaction_version_sent(transaction_version: int, version: int) -> int:
    """What a marker in a WriteTxnMarkers of `version` says of its transaction version: before 2 nothing."""
    return transaction_version if version > 1 else 0


def is_committed(txn: Transaction) -> bool:
    """What the markers of a decided transaction say."""
    return txn.state == TransactionState.PREPARE_COMMIT


def stand(txn: Transaction, office: Office, notes: Notes) -> Standing:
    """How the coordinator stands to an id now."""
    return Standing(appends.look_up(office, notes), txn.known, int(office.coordinator_epoch))


def judge(standing: Standing, coordinator_epoch: int, notes: Notes) -> int:
    """Whether the coordinator still drives what it drove under `coordinator_epoch`: WRITTEN.

    FORGET where another one does; INTERNAL_ERROR where an id in office is not known.
    """
    same = standing.coordinator_epoch == coordinator_epoch
    outcome = judge_standing(standing.lookup_error, standing.known, same)
    if outcome != MarkerOutcome.WRITTEN:
        note(notes, Decision.MARKER_DELIVERY, Row.NO_ROW, standing.lookup_error)
    return outcome


def route(
    topic_exists: bool, leader_is_live: bool, standing: Standing, coordinator_epoch: int, rules: Rules, notes: Notes
) -> Routed:
    """Where the marker of one partition goes: to its leader, into waiting, or nowhere if the topic is gone."""
    way = route_marker(topic_exists, leader_is_live, rules)
    if way != Route.SKIP:
        return Routed(way, int(MarkerOutcome.WRITTEN))
    return Routed(way, judge(standing, coordinator_epoch, notes))


def begin_answer(answer: MarkerAnswer, standing: int, is_lost: bool, names_transaction: bool) -> None:
    """An answer comes, or the connection is lost: what counts before any of its errors. `standing` is of ``judge``."""
    answer.outcome = standing
    answer.retries = False
    answer.forgets = False
    answer.sends_again = False
    answer.stops = False
    if (not is_lost and not names_transaction) or standing == MarkerOutcome.INTERNAL_ERROR:
        answer.outcome = MarkerOutcome.INTERNAL_ERROR
        answer.stops = True
    elif standing == MarkerOutcome.FORGET:
        answer.forgets = True
    elif is_lost:
        answer.outcome = MarkerOutcome.RETRY
        answer.sends_again = True


def handle_partition(answer: MarkerAnswer, error: int, notes: Notes) -> int:
    """What a leader said of one partition; behind an internal error nothing is looked at (`stops`)."""
    outcome = judge_marker_answer(error)
    note(notes, Decision.MARKER_DELIVERY, Row.NO_ROW, error)
    if outcome == MarkerOutcome.INTERNAL_ERROR:
        answer.stops = True
    elif outcome == MarkerOutcome.FORGET:
        answer.forgets = True
    elif outcome == MarkerOutcome.RETRY:
        answer.retries = True
    answer.outcome = max(answer.outcome, outcome)
    return outcome


def end_answer(answer: MarkerAnswer) -> None:
    """Every partition was looked at: what is to be tried again is, unless the transaction is driven no longer."""
    answer.sends_again = answer.retries and not answer.forgets and not answer.stops


def strike_off(txn: Transaction, partitions: int, coordinator_epoch: int, office: Office) -> None:
    """These partitions need no marker any more; another coordinator's list is not touched."""
    if txn.known and office.coordinator_epoch == coordinator_epoch:
        txn.partitions = txn.partitions & ~partitions


def complete(
    txn: Transaction,
    pending: PendingTransition,
    decided: DecidedFacts,
    office: Office,
    rules: Rules,
    effects: CoordinatorEffects,
    notes: Notes,
) -> None:
    """Append the completion if no marker is missing and nobody has done it yet (C1 to C5)."""
    same = office.coordinator_epoch == decided.coordinator_epoch
    verdict = decide_completion(txn, appends.look_up(office, notes), same, rules)
    if verdict.row == Row.C1 or not decided.is_driven:
        return
    effects.finishes = True
    note(notes, Decision.MARKER_DELIVERY, verdict.row, verdict.error)
    if verdict.event == NOTHING:
        return
    pending.operation = Operation.COMPLETE
    appends.prepare(txn, pending, verdict, 0, decided.decided_ms, office, notes)
    appends.append(txn, pending, office, rules, effects, notes)


__all__ = [
    "DecidedFacts",
    "MarkerAnswer",
    "MarkerOutcome",
    "Route",
    "Routed",
    "Standing",
    "begin_answer",
    "complete",
    "drive",
    "end_answer",
    "handle_partition",
    "is_committed",
    "judge",
    "route",
    "stand",
    "strike_off",
    "transaction_version_sent",
    "version_of_markers",
]
