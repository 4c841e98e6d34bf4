"""What a coordinator makes durable: prepared, appended, completed (reference §2.3 to §2.6)."""

from zombieproof.checker.transactions.moves import move
from zombieproof.checker.transactions.views import is_tv2
from zombieproof.checker.transactions.world import Setup, Trail, World
from zombieproof.model.decisions import transition
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.vocabulary import NONE, Error, TransactionState, TransactionVersion
from zombieproof.statemachines.notes import MachineIndex


def append(world: World, setup: Setup, trail: Trail, node: int, k: int, verdict: Verdict, unknown: int) -> int:
    """Prepare the transition, make it durable, complete it (reference §2.3, §2.4, §2.6); returns the mapped error."""
    if node != world.coordinator:
        return int(Error.NOT_COORDINATOR)
    txn = world.nodes[node].cache[k]
    fenced = txn.pending_state == TransactionState.PREPARE_EPOCH_FENCE
    source = txn.pending_state if fenced else txn.state
    state = move(trail, MachineIndex.COORDINATOR, k, source, verdict.event)
    transition.prepare(txn, verdict, state, 1, 0, trail.target)
    txn.pending_state = state
    if not transition.is_valid(txn, trail.target):
        world.ghost.insane = 1
    make_durable(world.durable[k], trail.target)
    if unknown == 1:
        transition.give_up(txn, 1 if fenced and not is_tv2(setup) else 0, setup.rules)
        return int(Error.COORDINATOR_NOT_AVAILABLE)
    transition.complete(txn, trail.target)
    return int(Error.NONE)


def make_durable(durable: Transaction, target: Transaction) -> None:
    """What the log holds of a record: not the last producer epoch, not a failed fence (reference §2.2)."""
    transition.complete(durable, target)
    durable.last_producer_epoch = NONE
    durable.failed_epoch_fence = 0


def clear(txn: Transaction) -> None:
    """Back to "not known"."""
    txn.known = 0
    txn.state = TransactionState.EMPTY
    txn.pending_state = NONE
    txn.producer_id = NONE
    txn.previous_producer_id = NONE
    txn.next_producer_id = NONE
    txn.producer_epoch = NONE
    txn.last_producer_epoch = NONE
    txn.partitions = 0
    txn.timeout_ms = 0
    txn.start_ms = NONE
    txn.last_update_ms = NONE
    txn.client_transaction_version = TransactionVersion.TV0
    txn.failed_epoch_fence = 0
