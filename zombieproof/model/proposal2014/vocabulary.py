"""The words of the 2014 proposal: states, events, records, requests and answers.

Source: "Transactional Messaging in Kafka" (2014); reference §10.2 to §10.5. Nothing here is Kafka's: the numbers are
ours, and no error code of Kafka's means any of these answers.
"""

from enum import IntEnum


class TransactionState(IntEnum):
    """What a coordinator knows of one transaction, by its TxId (reference §10.4)."""

    NONE = 0
    BEGUN = 1
    PREPARED_COMMIT = 2
    PREPARED_ABORT = 3
    COMMITTED = 4
    ABORTED = 5


class TransactionEvent(IntEnum):
    """What becomes of a transaction; each but LEAVE_UNRECORDED is a record of the journal (reference §10.3)."""

    NOTHING = 0
    BEGIN = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMMIT = 4
    ABORT = 5
    LEAVE_UNRECORDED = 6


class ProducerState(IntEnum):
    """What an instance of a producer is doing; a request is under way from BEGINNING on, but in FETCHING."""

    STOPPED = 0
    STARTING = 1
    READY = 2
    CLOSED = 3
    BEGINNING = 4
    FETCHING = 5
    IN_TRANSACTION = 6
    COMMITTING = 7
    ABORTING = 8


class ProducerEvent(IntEnum):
    """What an instance does, or is told."""

    NOTHING = 0
    START = 1
    GET_READY = 2
    BEGIN = 3
    TAKE_TX_ID = 4
    TAKE_TX_ID_FOR_INPUT = 5
    TAKE_INPUT = 6
    SEND = 7
    COMMIT = 8
    ABORT = 9
    HEAR_COMMITTED = 10
    HEAR_ABORTED = 11
    ASK_AGAIN = 12
    BE_REFUSED = 13
    CRASH = 14


class LeaderState(IntEnum):
    """What the leader of a partition knows of one TxId."""

    UNKNOWN = 0
    PENDING = 1
    FINISHED = 2


class LeaderEvent(IntEnum):
    """What a leader is told of a TxId, or meets in its log."""

    NOTHING = 0
    BE_TOLD = 1
    APPEND_PAYLOAD = 2
    APPEND_CONTROL = 3
    APPEND_CONTROL_AND_FORGET = 4
    FORGET = 5


class JournalState(IntEnum):
    """Where the high watermark of the journal is: at its end, or at the BEGIN of the oldest transaction in flight."""

    AT_END = 0
    HELD = 1


class JournalEvent(IntEnum):
    """What becomes of the high watermark."""

    NOTHING = 0
    BEGIN = 1
    FINISH_YOUNGER = 2
    FINISH_OLDEST = 3
    FINISH_LAST = 4


class OffsetsState(IntEnum):
    """Whether the input offsets of a consumer group are part of a transaction that is pending."""

    SETTLED = 0
    PENDING = 1


class OffsetsEvent(IntEnum):
    """What becomes of them; a control record settles them where no other transaction has offsets of the group."""

    NOTHING = 0
    COMMIT_OFFSETS = 1
    SETTLE = 2
    SETTLE_ONE = 3


class RequestKind(IntEnum):
    """What an instance asks a coordinator (Begin, Commit, Abort) or a leader (payload) for."""

    NOTHING = 0
    BEGIN = 1
    PAYLOAD = 2
    COMMIT = 3
    ABORT = 4


class RecordKind(IntEnum):
    """A record of a data partition or of the offsets partition; control records say by TxCtl how they end a TxId."""

    EMPTY = 0
    PLAIN = 1
    PAYLOAD = 2
    CONTROL_COMMITTED = 3
    CONTROL_ABORTED = 4


class Answer(IntEnum):
    """What a request is answered; NO_ANSWER is a request that timed out, whatever became of it."""

    DONE = 0
    NO_ANSWER = 1
    STALE_GENERATION = 2
    UNKNOWN_TRANSACTION = 3
    ABORTED = 4
    TWO_CONNECTIONS = 5
    COMMITTED = 6
    NOT_FINISHED = 7
