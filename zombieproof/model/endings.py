"""What is owed where nothing more can happen but new faults: the promises of the kind *at rest*.

The same kind of predicates as in ``promises``, on the same states. A transaction that is left open for ever, a marker
that nobody sends, a producer that waits for an answer that never comes break no promise about what is visible: they
are seen only when everything else is over. A transaction that is still undecided may stay so, if its coordinator can
time it out.

Source: KIP-98; KIP-664 and KIP-890 (hanging transactions); ``bugs.md`` (LSOProgress, LivenessOfInit).
"""

from typing import Any

from zombieproof.model.promises import fate, is_data
from zombieproof.model.vocabulary import NONE, Outcome, ProducerState, TransactionState

State = Any
"""See ``promises.State``."""


def a_decided_transaction_is_complete(state: State) -> bool:
    """At rest no transaction is half ended: what was decided is complete, so that its producer can go on."""
    for durable in state.durable:
        if durable.known and durable.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT):
            return False
    for txn in state.nodes[state.coordinator].cache:
        if txn.known and txn.pending_state != NONE:
            return False
    return True


def what_is_open_can_time_out(state: State) -> bool:
    """At rest a transaction that is open on a partition is one that its coordinator can still abort."""
    for p in range(len(state.partitions)):
        entries = state.partitions[p].entries
        for pid in range(len(entries)):
            if entries[pid].txn_first_offset != NONE and not _is_ongoing(state, pid, p):
                return False
    return True


def _is_ongoing(state: State, pid: int, p: int) -> bool:
    for txn in state.nodes[state.coordinator].cache:
        ongoing = txn.known and txn.state == TransactionState.ONGOING
        if ongoing and txn.producer_id == pid and (txn.partitions >> p) & 1 == 1:
            return True
    return False


def nobody_waits_for_ever(state: State) -> bool:
    """At rest no request, batch or marker is still without its answer, and no producer in the middle of a call."""
    for message in state.messages:
        if message.live:
            return False
    for client in state.clients:
        if client.state in (
            ProducerState.INITIALIZING,
            ProducerState.COMMITTING_TRANSACTION,
            ProducerState.ABORTING_TRANSACTION,
        ):
            return False
    return True


def an_acknowledged_commit_is_visible(state: State) -> bool:
    """At rest all records of a transaction are committed whose application was told so."""
    for label in range(1, len(state.ghost.labels) + 1):
        if state.ghost.labels[label - 1].result != Outcome.COMMIT:
            continue
        for partition in state.partitions:
            for offset in range(partition.end):
                record = partition.log[offset]
                if record.label == label and is_data(record.kind) and fate(partition, offset) != Outcome.COMMIT:
                    return False
    return True
