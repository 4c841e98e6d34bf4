"""What messages, stages, appends, lines of programs and overflows are called in a state."""

from enum import IntEnum


class Kind(IntEnum):
    """What a message is. A request and its answer share one slot: the answer is the request turned round."""

    EMPTY = 0
    INIT_PRODUCER_ID = 1
    ADD_PARTITIONS = 2
    ADD_OFFSETS = 3
    PRODUCE = 4
    TXN_OFFSET_COMMIT = 5
    END_TXN = 6
    MARKER = 7


class Stage(IntEnum):
    """Where a PRODUCE or TXN_OFFSET_COMMIT is on its way to the log (KIP-890).

    APPENDING: a request, of either kind or to a coordinator, waits there for the outcome of an append. WAITING: its
    question waits at its leader for the one before. ABANDONED: a question to the coordinator whose asker has gone on.
    REPLICATING: it is in the log, and its answer waits until the high watermark has passed it.
    """

    TO_LEADER = 0
    TO_COORDINATOR = 1
    BACK_TO_LEADER = 2
    APPENDING = 3
    WAITING = 4
    ABANDONED = 5
    REPLICATING = 6


class Phase(IntEnum):
    """How far an append to the transaction log is, where appends travel.

    COMPLETED: what it made true is in memory, and the look behind a decision is still to come.
    """

    FREE = 0
    PREPARED = 1
    ANSWERED = 2
    COMPLETED = 3


class Op(IntEnum):
    """One line of an application's program.

    STORE: producer id and epoch are kept outside, beside a decision to commit. Who starts again resumes.
    """

    STOP = 0
    SEND_0 = 1
    SEND_1 = 2
    OFFSETS = 3
    COMMIT = 4
    ABORT = 5
    FETCH = 6
    STORE = 7


class Overflow(IntEnum):
    """Which capacity of the record was reached."""

    NOTHING = 0
    MESSAGE_SLOTS = 1
    LOG_END = 2
    PRODUCER_IDS = 3
    APPENDS = 4
