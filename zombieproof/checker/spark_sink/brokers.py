"""What brokers do for a sink, each in one step: take an id, take rows and positions, end a transaction."""

from zombieproof.checker.spark_sink.state import (
    ATTEMPTS,
    DRIVERS,
    IDS,
    LABELS,
    PARTITIONS,
    Key,
    Phase,
    Reads,
    Setup,
    State,
    Transaction,
    Work,
)
from zombieproof.model.spark_sink.vocabulary import Reply

MOST_COPIES = 2
"""A record that is in the output twice is there too often; more is not counted."""


def place_of(setup: Setup, partition: int) -> int:
    """Return where a partition has its position, and in mode *partition* its transactional id."""
    return partition if setup.reads in (Reads.PARTITIONS, Reads.KINDS) else 0


def take_id(state: State, work: Work) -> int:
    """The transactional id is another's from now on: what is open under it is aborted."""
    work.epoch = fence(state, int(work.transactional_id))
    return int(Reply.DONE)


def fence(state: State, transactional_id: int) -> int:
    """Abort what is open under a transactional id, and return its new epoch."""
    transaction = state.transactions[transactional_id]
    empty(transaction)
    transaction.epoch += 1
    return int(transaction.epoch)


def empty(transaction: Transaction) -> None:
    """Nothing is open."""
    transaction.is_open = False
    transaction.rows = 0
    for p in range(PARTITIONS):
        transaction.positions[p] = 0
    transaction.query = 0
    transaction.sink = 0
    transaction.batch = 0
    transaction.generation = 0


def send_rows(state: State, work: Work, rows: int) -> int:
    """Rows go into the transaction, which opens with them."""
    transaction = state.transactions[work.transactional_id]
    if transaction.epoch != work.epoch:
        return int(Reply.FENCED)
    transaction.is_open = True
    transaction.rows = transaction.rows | rows
    return int(Reply.DONE)


def send_positions(state: State, setup: Setup, work: Work) -> int:
    """The positions of the source behind the batch go into the transaction, and so does the batch's identity."""
    transaction = state.transactions[work.transactional_id]
    if transaction.epoch != work.epoch:
        return int(Reply.FENCED)
    for p in range(PARTITIONS):
        place = place_of(setup, p)
        if work.range.past[p] > work.start[p] and work.range.past[p] > transaction.positions[place]:
            transaction.positions[place] = work.range.past[p]
    transaction.query = work.query
    transaction.sink = work.sink
    transaction.batch = work.batch
    transaction.generation = work.seen
    return int(Reply.DONE)


def end(state: State, setup: Setup, transactional_id: int, epoch: int, commits: bool) -> int:
    """End the transaction; a commit that is asked for again is answered as the first."""
    transaction = state.transactions[transactional_id]
    if transaction.epoch != epoch:
        return int(Reply.FENCED)
    if transaction.is_open and commits:
        deliver(state, setup, transaction)
    empty(transaction)
    return int(Reply.DONE)


def deliver(state: State, setup: Setup, transaction: Transaction) -> None:
    """What a transaction holds is committed: rows, positions and identity at once."""
    for label in range(LABELS):
        if (transaction.rows >> label) & 1 == 1 and state.output[label] < MOST_COPIES:
            state.output[label] += 1
    group = state.group
    for p in range(PARTITIONS):
        if transaction.positions[p] > 0:
            group.positions[p] = transaction.positions[p]
            group.generations[p] = transaction.generation
            group.expired = group.expired & ~(1 << p)
    if transaction.batch > 0:
        group.query = transaction.query
        group.sink = transaction.sink
        group.batch = transaction.batch
        group.topic = state.topic
        if setup.key == Key.QUERY_AND_BATCH:
            group.rows = transaction.rows
            group.expired = 0


def time_out(state: State, transactional_id: int) -> bool:
    """The coordinator aborts a transaction that is open for too long, and fences its producer."""
    transaction = state.transactions[transactional_id]
    if not transaction.is_open or state.budget.timeouts == 0:
        return False
    state.budget.timeouts -= 1
    empty(transaction)
    transaction.epoch += 1
    return True


def committed_position(state: State, setup: Setup, partition: int) -> int:
    """Return the position that the group or the progress topic has of a partition; 0 if none."""
    place = place_of(setup, partition)
    if setup.keeps_progress == 0 and (state.group.expired >> place) & 1 == 1:
        return 0
    return int(state.group.positions[place])


def expire(state: State, setup: Setup) -> bool:
    """The group loses its positions and the claim: it had no members for too long, or somebody deleted it."""
    group = state.group
    here = 0
    for p in range(PARTITIONS):
        if group.positions[p] > 0:
            here = here | (1 << p)
    is_any_left = (here & ~group.expired) > 0 or group.claim.is_in_group
    if state.budget.expiries == 0 or not is_any_left:
        return False
    state.budget.expiries -= 1
    group.expired = here
    group.claim.is_in_group = False
    if setup.keeps_progress == 0:
        group.claim.mode = 0
        group.claim.generation += 1
        group.claim.has_tasks = False
    return True


def recreate_topic(state: State) -> bool:
    """The topic of the source is deleted and created again, between two batches; its new records are not the old ones.

    What is open of a driver that has crashed can no longer be committed.
    """
    if state.budget.recreated_topics == 0:
        return False
    for d in range(DRIVERS):
        if state.drivers[d].phase not in (Phase.DOWN, Phase.IDLE):
            return False
    for a in range(ATTEMPTS):
        if state.attempts[a].driver > 0:
            return False
    state.budget.recreated_topics -= 1
    state.topic += 1
    for i in range(IDS):
        empty(state.transactions[i])
    for label in range(LABELS):
        state.output[label] = 0
    return True
