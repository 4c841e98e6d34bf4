"""What is owed, and has to be paid some time if all who can act do: the promises of the kind *leads to*.

The same kind of predicates as in ``promises``, on the same states. Each does not hold where something is owed: it is
broken by what goes on for ever in such states, whether requests are repeated, producers fence each other, or nothing
happens any more.

Source: KIP-98; KIP-664 and KIP-890 (hanging transactions); ``bugs.md`` (LSOProgress, LivenessOfInit).
"""

from typing import Any

from zombieproof.model.vocabulary import NONE, ProducerState, TransactionState

State = Any
"""See ``promises.State``."""


def every_open_transaction_is_decided(state: State) -> bool:
    """A transaction that is open is committed or aborted some time, so that nobody waits for it for ever."""
    for durable in state.durable:
        if durable.known and durable.state == TransactionState.ONGOING:
            return False
    return True


def every_decided_transaction_completes(state: State) -> bool:
    """A transaction that is decided gets all of its markers some time, and is complete."""
    for durable in state.durable:
        if durable.known and durable.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT):
            return False
    return True


def the_last_stable_offset_advances(state: State) -> bool:
    """What is open on a partition is ended there some time, so that readers of what is committed go on."""
    for partition in state.partitions:
        for entry in partition.entries:
            if entry.txn_first_offset != NONE:
                return False
    return True


def a_producer_is_never_stuck(state: State) -> bool:
    """A producer that initialises or ends a transaction gets its answer some time."""
    for client in state.clients:
        if client.state in (
            ProducerState.INITIALIZING,
            ProducerState.COMMITTING_TRANSACTION,
            ProducerState.ABORTING_TRANSACTION,
        ):
            return False
    return True


def every_request_is_answered(state: State) -> bool:
    """Every request and every marker gets its final answer some time: no request is repeated without end."""
    for message in state.messages:
        if message.live:
            return False
    return True


def somebody_gets_through(state: State) -> bool:
    """Of the producers that share a transactional id one gets a transaction to its end some time."""
    for facts in state.ghost.labels:
        if facts.result != 0:
            return True
    return False
