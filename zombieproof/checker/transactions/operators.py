"""What comes from outside of the protocol: an administrator who ends a transaction by hand, and stale metadata."""

from zombieproof.checker.transactions import network
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import State
from zombieproof.checker.transactions.vocabulary import Kind, Stage
from zombieproof.model.vocabulary import NONE, ProducerState, TransactionState


def abort_by_hand(state: State, setup: Setup, p: int, pid: int) -> bool:
    """An administrator sends the marker that aborts what a partition has open; nobody waits for the answer.

    The marker names the epochs that the partition knows, coordinator epoch 0 where it knows none, as
    ``kafka-transactions abort --start-offset`` does; with `Bounds.looks_first` the coordinator is asked before
    (``find-hanging``), and only what it does not list is aborted.

    Source: KIP-664; ``TransactionsCommand.AbortTransactionCommand``.
    """
    if pid >= len(state.partitions[p].entries):
        return False
    entry = state.partitions[p].entries[pid]
    if entry.txn_first_offset == NONE or (setup.bounds.looks_first == 1 and _is_listed(state, p, pid)):
        return False
    state.budget.aborts_by_hand -= 1
    message = state.messages[network.free_slot(state)]
    network.empty(message)
    message.kind = Kind.MARKER
    message.producer_id = pid
    message.producer_epoch = entry.producer_epoch
    message.partition = p
    message.value = entry.coordinator_epoch if entry.coordinator_epoch != NONE else 0
    return True


def _is_listed(state: State, p: int, pid: int) -> bool:
    """Whether the coordinator says that this partition is in a transaction of this producer that is not over."""
    for txn in state.nodes[state.coordinator].cache:
        undecided = txn.state in (
            TransactionState.ONGOING,
            TransactionState.PREPARE_COMMIT,
            TransactionState.PREPARE_ABORT,
        )
        if txn.known and undecided and txn.producer_id == pid and (txn.partitions >> p) & 1 == 1:
            return True
    return False


def mislead(state: State, setup: Setup, c: int) -> bool:
    """Client `c` looks its coordinator up again, and is told the other node: the answer was stale."""
    client = state.clients[c]
    if c >= setup.bounds.clients or not client.alive or client.state == ProducerState.FATAL_ERROR:
        return False
    if client.node != state.coordinator:
        return False
    state.budget.stale_lookups -= 1
    client.node = 1 - state.coordinator
    for message in state.messages:
        waits = message.live and message.client == c and not message.answered and message.stage == Stage.TO_LEADER
        if waits and network.speaks_to_coordinator(message.kind):
            message.node = client.node
    return True
