"""What a coordinator's step wants appended, put into the state: durable at once, with its outcome told, or under way.

Only the state's facts are here: which node leads the log, what is durable, producer ids (one is taken with the record
that needs it), and the ghost facts.
"""

from zombieproof.checker.transactions import id_blocks
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import State, Trail
from zombieproof.checker.transactions.vocabulary import Overflow, Phase
from zombieproof.model.records import Transaction
from zombieproof.model.vocabulary import NONE, Error, TransactionState
from zombieproof.statemachines.coordinator import appends, ends, loading, outcomes
from zombieproof.statemachines.coordinator.effects import clear
from zombieproof.statemachines.coordinator.records import Office, Operation, PendingTransition

JOINS = (Operation.JOIN, Operation.JOIN_OFFSETS)
ENDS_OF_SERVER = (Operation.END_BY_INIT, Operation.END_BY_TIMEOUT)


def office(state: State, setup: Setup, node: int, now_ms: int) -> Office:
    """What a node knows of itself, and the next producer id, NONE when it has none."""
    held = state.nodes[node]
    fresh = id_blocks.peek(state, node) if len(state.blocks) > 0 and setup.bounds.id_blocks > 0 else _count(state)
    return Office(False, held.believes, int(held.epoch), fresh, now_ms)


def _count(state: State) -> int:
    """The next producer id, where they are counted; NONE when this record can hold no more."""
    fresh, room = int(state.next_producer_id), len(state.group.pending)
    if len(state.appends) > 0:
        # An id that went with a transition that never was durable is as if it had never been given.
        while fresh < room and _is_used(state, fresh):
            fresh += 1
    return NONE if fresh >= room else fresh


def _is_used(state: State, producer_id: int) -> bool:
    """Whether anybody knows a producer id, or a log holds it."""
    for node in state.nodes:
        for txn in node.cache:
            if _names(txn, producer_id):
                return True
    for durable in state.durable:
        if _names(durable, producer_id):
            return True
    for under_way in state.appends:
        if _names(under_way.pending.target, producer_id):
            return True
    for message in state.messages:
        if message.producer_id == producer_id:
            return True
    for client in state.clients:
        if client.producer_id == producer_id:
            return True
    return _is_in_a_log(state, producer_id)


def _names(txn: Transaction, producer_id: int) -> bool:
    return bool(producer_id in (txn.producer_id, txn.previous_producer_id, txn.next_producer_id))


def _is_in_a_log(state: State, producer_id: int) -> bool:
    for partition in state.partitions:
        for offset in range(partition.end):
            if partition.log[offset].producer_id == producer_id:
                return True
    return False


def begin(trail: Trail, k: int) -> None:
    """A step about transactional id `k` comes."""
    trail.subject = k
    clear(trail.effects)


def settle(state: State, setup: Setup, trail: Trail, node: int, k: int, label: int, unknown: bool) -> int:
    """What is to be appended is durable, or not, at once, and the step behind the append follows.

    With `unknown` it is durable but reported as failed. `label` is that of the request that asked. Where appends
    travel nothing of this happens yet: returned is 1 + the number under which the append is under way, else 0.
    """
    effects, pending = trail.effects, trail.pending
    takes, holds = bool(effects.takes_producer_id), bool(effects.holds)
    if len(state.blocks) > 0 and setup.bounds.id_blocks > 0:
        if takes or effects.lacks_producer_id:
            id_blocks.claim(state, node)
        takes = False
    elif effects.lacks_producer_id:
        state.overflow = Overflow.PRODUCER_IDS
    if not effects.appends:
        return 0
    if len(state.appends) > 0 and setup.bounds.appends_travel == 1:
        if holds and node != state.coordinator:
            appends.forget(state.nodes[node].cache[k])
        return 1 + _send(state, pending, node, k, label)
    error = int(Error.NOT_LEADER_OR_FOLLOWER)
    if node == state.coordinator:
        error = int(Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND) if unknown else int(Error.NONE)
        state.next_producer_id += 1 if takes else 0
        make_durable(state, setup, node, k, pending, label)
    txn = state.nodes[node].cache[k]
    clear(effects)
    outcomes.append_answered(txn, pending, error, office(state, setup, node, 0), setup.rules, effects, trail)
    if effects.owes_look:
        clear(effects)
        ends.look_again(txn, pending, office(state, setup, node, 0), effects, trail)
    if holds and node != state.coordinator:
        # Metadata that a deposed node made up is nobody's: no producer id is taken for it.
        appends.forget(txn)
    if trail.contradicts:
        effects.error = Error.UNKNOWN_SERVER_ERROR
    return 0


def _send(state: State, pending: PendingTransition, node: int, k: int, label: int) -> int:
    """The append is under way; returns its number."""
    number = 0
    while number < len(state.appends) - 1 and state.appends[number].phase != Phase.FREE:
        number += 1
    under_way = state.appends[number]
    if under_way.phase != Phase.FREE:
        state.overflow = Overflow.APPENDS
    under_way.phase = Phase.PREPARED
    under_way.node = node
    under_way.subject = k
    under_way.label = label
    under_way.error = 0
    copy_pending(pending, under_way.pending)
    return number


def copy_pending(source: PendingTransition, target: PendingTransition) -> None:
    """Copy every field."""
    target.operation = source.operation
    target.coordinator_epoch = source.coordinator_epoch
    target.asked_version = source.asked_version
    target.version = source.version
    target.producer_id = source.producer_id
    target.producer_epoch = source.producer_epoch
    target.committed = source.committed
    target.partitions = source.partitions
    target.fences = source.fences
    copy_transaction(source.target, target.target)


def copy_transaction(source: Transaction, target: Transaction) -> None:
    """Copy every field."""
    target.known = source.known
    target.state = source.state
    target.pending_state = source.pending_state
    target.producer_id = source.producer_id
    target.previous_producer_id = source.previous_producer_id
    target.next_producer_id = source.next_producer_id
    target.producer_epoch = source.producer_epoch
    target.last_producer_epoch = source.last_producer_epoch
    target.partitions = source.partitions
    target.timeout_ms = source.timeout_ms
    target.start_ms = source.start_ms
    target.last_update_ms = source.last_update_ms
    target.client_transaction_version = source.client_transaction_version
    target.failed_epoch_fence = source.failed_epoch_fence
    target.next_producer_epoch = source.next_producer_epoch


def make_durable(state: State, setup: Setup, node: int, k: int, pending: PendingTransition, label: int) -> None:
    """The record is in the log. Ghost: who opened the transaction, and who decided it."""
    was_open = state.nodes[node].cache[k].state == TransactionState.ONGOING
    if pending.operation == Operation.EXPIRE:
        appends.forget(state.durable[k])
        return
    loading.write(state.durable[k], pending.target, setup.rules)
    if pending.operation in JOINS and not was_open:
        state.ghost.owner[k] = label
    elif pending.operation == Operation.END_BY_CLIENT and was_open:
        if state.ghost.owner[k] != label:
            state.ghost.usurped = True
        decide_label(state, k, 1 if pending.committed else 2)
    elif pending.operation in ENDS_OF_SERVER:
        decide_label(state, k, 2)


def decide_label(state: State, k: int, outcome: int) -> None:
    """Ghost: the transaction that `k` had open is decided; a second, different decision is a contradiction."""
    label = state.ghost.owner[k]
    if label == 0:
        return
    facts = state.ghost.labels[label - 1]
    if facts.decided not in (0, outcome):
        state.ghost.contradiction = True
    facts.decided = outcome
