"""What brokers do for a sink, each in one step: take an id, take rows and positions, end a transaction."""

from zombieproof.checker.spark_sink.state import LABELS, PARTITIONS, State, Transaction, Work
from zombieproof.model.spark_sink.vocabulary import Reply

MOST_COPIES = 2
"""A record that is in the output twice is there too often; more is not counted."""


def take_id(state: State, work: Work) -> int:
    """The transactional id is another's from now on: what is open under it is aborted."""
    transaction = state.transactions[work.transactional_id]
    empty(transaction)
    transaction.epoch += 1
    work.epoch = transaction.epoch
    return int(Reply.DONE)


def empty(transaction: Transaction) -> None:
    """Nothing is open."""
    transaction.is_open = False
    transaction.rows = 0
    for p in range(PARTITIONS):
        transaction.positions[p] = 0
    transaction.query = 0
    transaction.batch = 0


def send_rows(state: State, work: Work, rows: int) -> int:
    """Rows go into the transaction, which opens with them."""
    transaction = state.transactions[work.transactional_id]
    if transaction.epoch != work.epoch:
        return int(Reply.FENCED)
    transaction.is_open = True
    transaction.rows = transaction.rows | rows
    return int(Reply.DONE)


def send_positions(state: State, work: Work) -> int:
    """The positions of the source behind the batch go into the transaction, and so does the batch's identity."""
    transaction = state.transactions[work.transactional_id]
    if transaction.epoch != work.epoch:
        return int(Reply.FENCED)
    for p in range(PARTITIONS):
        if work.range.past[p] > work.range.first[p]:
            transaction.positions[p] = work.range.past[p]
    transaction.query = work.query
    transaction.batch = work.batch
    return int(Reply.DONE)


def end(state: State, transactional_id: int, epoch: int, commits: bool) -> int:
    """End the transaction; a commit that is asked for again is answered as the first."""
    transaction = state.transactions[transactional_id]
    if transaction.epoch != epoch:
        return int(Reply.FENCED)
    if transaction.is_open and commits:
        deliver(state, transaction)
    empty(transaction)
    return int(Reply.DONE)


def deliver(state: State, transaction: Transaction) -> None:
    """What a transaction holds is committed: rows, positions and identity at once."""
    for label in range(LABELS):
        if (transaction.rows >> label) & 1 == 1 and state.output[label] < MOST_COPIES:
            state.output[label] += 1
    for p in range(PARTITIONS):
        if transaction.positions[p] > 0:
            state.group.positions[p] = transaction.positions[p]
    if transaction.batch > 0:
        state.group.query = transaction.query
        state.group.batch = transaction.batch


def time_out(state: State, transactional_id: int) -> bool:
    """The coordinator aborts a transaction that is open for too long, and fences its producer."""
    transaction = state.transactions[transactional_id]
    if not transaction.is_open or state.budget.timeouts == 0:
        return False
    state.budget.timeouts -= 1
    empty(transaction)
    transaction.epoch += 1
    return True
