"""What a coordinator's step wants appended, put into the world: durable at once, with its outcome told.

Only the world's facts are here: which node leads the log, what is durable, producer ids (one is taken with the record
that needs it), and the ghost facts.
"""

from zombieproof.checker.transactions.world import PRODUCER_IDS, Overflow, Setup, Trail, World
from zombieproof.model.vocabulary import NONE, Error, TransactionState
from zombieproof.statemachines.coordinator import appends, loading, outcomes
from zombieproof.statemachines.coordinator.effects import clear
from zombieproof.statemachines.coordinator.records import Office, Operation, PendingTransition

JOINS = (Operation.JOIN, Operation.JOIN_OFFSETS)
ENDS_OF_SERVER = (Operation.END_BY_INIT, Operation.END_BY_TIMEOUT)


def office(world: World, node: int, now_ms: int) -> Office:
    """What a node knows of itself, and the next producer id, NONE when this record can hold no more."""
    held = world.nodes[node]
    fresh = NONE if world.next_producer_id >= PRODUCER_IDS else int(world.next_producer_id)
    return Office(0, int(held.role), int(held.epoch), fresh, now_ms)


def begin(trail: Trail, k: int) -> None:
    """A step about transactional id `k` comes."""
    trail.subject = k
    clear(trail.effects)


def settle(world: World, setup: Setup, trail: Trail, node: int, k: int, label: int, unknown: int) -> None:
    """What is to be appended is durable, or not, at once, and the step behind the append follows.

    With `unknown` 1 it is durable but reported as failed. `label` is that of the request that asked.
    """
    effects, pending = trail.effects, trail.pending
    if effects.lacks_producer_id == 1:
        world.overflow = Overflow.PRODUCER_IDS
    if effects.appends == 0:
        return
    takes, holds = int(effects.takes_producer_id), int(effects.holds)
    error = int(Error.NOT_LEADER_OR_FOLLOWER)
    if node == world.coordinator:
        error = int(Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND) if unknown == 1 else int(Error.NONE)
        world.next_producer_id += takes
        make_durable(world, node, k, pending, label)
    txn = world.nodes[node].cache[k]
    clear(effects)
    outcomes.append_answered(txn, pending, error, office(world, node, 0), setup.rules, effects, trail)
    if holds == 1 and node != world.coordinator:
        # Metadata that a deposed node made up is nobody's: no producer id is taken for it.
        appends.forget(txn)
    if trail.contradicts == 1:
        effects.error = Error.UNKNOWN_SERVER_ERROR


def make_durable(world: World, node: int, k: int, pending: PendingTransition, label: int) -> None:
    """The record is in the log. Ghost: who opened the transaction, and who decided it."""
    was_open = world.nodes[node].cache[k].state == TransactionState.ONGOING
    if pending.operation == Operation.EXPIRE:
        appends.forget(world.durable[k])
        return
    loading.write(world.durable[k], pending.target)
    if pending.operation in JOINS and not was_open:
        world.ghost.owner[k] = label
    elif pending.operation == Operation.END_BY_CLIENT and was_open:
        if world.ghost.owner[k] != label:
            world.ghost.usurped = 1
        decide_label(world, k, 1 if pending.committed == 1 else 2)
    elif pending.operation in ENDS_OF_SERVER:
        decide_label(world, k, 2)


def decide_label(world: World, k: int, outcome: int) -> None:
    """Ghost: the transaction that `k` had open is decided; a second, different decision is a contradiction."""
    label = world.ghost.owner[k]
    if label == 0:
        return
    told = world.ghost.labels[label - 1]
    if told.decided not in (0, outcome):
        world.ghost.contradiction = 1
    told.decided = outcome
