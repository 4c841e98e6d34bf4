"""The records of the 2014 proposal that decisions read, and how many of each there are in a small world."""

from dataclasses import dataclass

from zombieproof.model.fields import array
from zombieproof.model.proposal2014.vocabulary import JournalState, LeaderState, OffsetsState, TransactionState

TRANSACTIONS = 5
PRODUCERS = 2
DATA = 2
"""Partitions of data; the one behind them is of the offsets topic."""
OFFSETS = DATA
PARTITIONS = DATA + 1
JOURNAL = 3 * TRANSACTIONS
LOG = 10


@dataclass(slots=True)
class Transaction:
    """What a coordinator has in memory of a TxId: who began it, for which partitions (bits), who has acknowledged.

    Attributes:
        begun_at: the offset of its BEGIN in the journal.
        to_tell: the leaders that are being told that it has begun (bits).
        to_end: the leaders that are being asked for a control record (bits).
    """

    state: int = int(TransactionState.NONE)
    producer: int = 0
    generation: int = 0
    partitions: int = 0
    acknowledged: int = 0
    has_timeout: bool = False
    begun_at: int = 0
    to_tell: int = 0
    to_end: int = 0


@dataclass(slots=True)
class KnownProducer:
    """What a coordinator, or a leader, has in memory of a producerId.

    Attributes:
        generation: the newest that it has heard of; -1: none.
        connected: 1 + the number of the instance that is connected with it; 0: nobody.
        closed: whether two were, so that both connections are closed.
    """

    generation: int = -1
    connected: int = 0
    closed: bool = False


@dataclass(slots=True)
class Begun:
    """What BEGIN says of a transaction; `chosen`: which of its producer's it is, where producers choose TxIds."""

    producer: int = 0
    generation: int = 0
    partitions: int = 0
    chosen: int = 0


@dataclass(slots=True)
class JournalRecord:
    """A record of the journal: what became of which TxId (`TransactionEvent`)."""

    event: int = 0
    transaction: int = 0


@dataclass(slots=True)
class Journal:
    """The log of a coordinator, and what lies beside it: the high watermark as it was last checkpointed.

    TxIds are numbered as they begin: the first `count` of `begun` are there.
    """

    records: list[JournalRecord] = array(JournalRecord, JOURNAL)
    end: int = 0
    begun: list[Begun] = array(Begun, TRANSACTIONS)
    count: int = 0
    checkpoint: int = 0


@dataclass(slots=True)
class Coordinator:
    """What a coordinator has in memory.

    Attributes:
        high_watermark: the offset of the BEGIN of the oldest transaction in flight, or the end of the journal.
        state: the same as a state of its machine (`JournalState`).
    """

    transactions: list[Transaction] = array(Transaction, TRANSACTIONS)
    known: list[KnownProducer] = array(KnownProducer, PRODUCERS)
    high_watermark: int = 0
    state: int = int(JournalState.AT_END)


@dataclass(slots=True)
class Record:
    """A record of a partition (`RecordKind`): of which TxId, of which block of input, and which record of that.

    `is_cleaned`: the log cleaner has removed it; nobody reads it any more.
    """

    kind: int = 0
    transaction: int = 0
    block: int = 0
    number: int = 0
    is_cleaned: bool = False


@dataclass(slots=True)
class Log:
    """What is durable of a partition: the first `end` of `records`."""

    records: list[Record] = array(Record, LOG)
    end: int = 0


@dataclass(slots=True)
class Pending:
    """What a leader has in memory of a TxId (`LeaderState`); `producer`: whose it is, -1 where nobody has said so."""

    state: int = int(LeaderState.UNKNOWN)
    producer: int = -1


@dataclass(slots=True)
class Leader:
    """What the leader of a partition has in memory; `offsets` is of that of the offsets partition only."""

    pending: list[Pending] = array(Pending, TRANSACTIONS)
    known: list[KnownProducer] = array(KnownProducer, PRODUCERS)
    offsets: int = int(OffsetsState.SETTLED)


@dataclass(slots=True)
class Request:
    """A request of an instance of a producer (`RequestKind`), whose producerId and generation are in its envelope.

    BEGIN names `partitions` (bits), and which of its producer's transactions it is where producers choose TxIds
    (`chosen`); PAYLOAD a TxId, a partition, the block and the number of the record in it; COMMIT and ABORT a TxId.
    """

    kind: int = 0
    instance: int = 0
    producer: int = 0
    generation: int = 0
    transaction: int = 0
    partitions: int = 0
    partition: int = 0
    block: int = 0
    number: int = 0
    chosen: int = 0


@dataclass(slots=True)
class Instance:
    """A process of a producer (`ProducerState`).

    Attributes:
        generation: what it counted when it started.
        transaction: its TxId, while it has one.
        block: the block of input that it copies.
        sent: how many records of its transaction are appended.
        done: how many blocks it knows to be committed: of its group, or its own.
        starts: how often it was started.
        chosen: how many TxIds it has chosen since, if producers choose them.
    """

    state: int = 0
    generation: int = 0
    transaction: int = 0
    block: int = 0
    sent: int = 0
    done: int = 0
    starts: int = 0
    chosen: int = 0


@dataclass(slots=True)
class Reader:
    """A consumer of one partition, and its checkpoint.

    Attributes:
        position: the offset that it reads next.
        states: of each TxId the state of the consumer's machine (`ConsumerState`).
        held: of each TxId the offsets of the records that are held back (bits).
        finished: the TxIds whose control record it has met (bits).
        is_delivering: whether it is handing over the transaction whose control record is at `position`.
        delivered_to: before this offset plain messages, and transactions whose control record is there, are delivered.
        partly: of the transaction whose control record is at `delivered_to`, the last record that is; -1: none.
        saved_start, saved_to, saved_partly: the checkpoint (o1, o2) and the optional third number.
    """

    position: int = 0
    states: list[int] = array(int, TRANSACTIONS)
    held: list[int] = array(int, TRANSACTIONS, width="i2")
    finished: int = 0
    is_delivering: bool = False
    delivered_to: int = 0
    partly: int = -1
    saved_start: int = 0
    saved_to: int = 0
    saved_partly: int = -1
