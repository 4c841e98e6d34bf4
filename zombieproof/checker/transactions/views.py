"""What a decision sees of a message: the attributes it reads, built from the message's compact fields."""

from typing import NamedTuple

from zombieproof.checker.transactions.capacities import OFFSETS
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import LogRecord, Message
from zombieproof.checker.transactions.vocabulary import Kind
from zombieproof.model.vocabulary import LogEntry, Mode, TransactionVersion

INIT_PRODUCER_ID = 4
CLASSIC_VERSION = 3
VERIFICATION = 4
TV2_ADD_PARTITIONS = 5
TV2_END_TXN = 5


class BatchView(NamedTuple):
    """A data batch of one record."""

    producer_id: int
    producer_epoch: int
    base_sequence: int
    last_sequence: int
    transactional: bool


class MarkerView(NamedTuple):
    """A marker."""

    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int
    transaction_version: int


class GroupView(NamedTuple):
    """The group, as a commit of offsets meets it."""

    known: bool
    dead: bool
    empty: bool
    generation: int


class ClassicGroupView(NamedTuple):
    """The group, as a plain commit of offsets meets it."""

    known: bool
    dead: bool
    empty: bool
    generation: int
    state: int
    is_consumer: bool


def is_tv2(setup: Setup) -> bool:
    """Whether clients speak transaction version 2."""
    return setup.rules.transaction_version == TransactionVersion.TV2


def mode(setup: Setup) -> int:
    """How partitions join a transaction under the rules in force (reference §3.4)."""
    if is_tv2(setup):
        return int(Mode.ADD)
    return int(Mode.GENERIC) if setup.rules.abortable_code == 1 else int(Mode.DEFAULT)


def end_txn_version(setup: Setup) -> int:
    """The version of EndTxn that clients and the server itself use."""
    return TV2_END_TXN if is_tv2(setup) else CLASSIC_VERSION


def batch_view(message: Message, setup: Setup) -> BatchView:
    """The batch of a PRODUCE, or of a TXN_OFFSET_COMMIT (sequence -1 for its verification, reference §4.1)."""
    transactional = message.partition == OFFSETS or setup.bounds.transactional_id[message.client] >= 0
    sequence = -1 if message.kind == Kind.TXN_OFFSET_COMMIT else int(message.value)
    return BatchView(int(message.producer_id), int(message.producer_epoch), int(sequence), int(sequence), transactional)


def marker_view(message: Message) -> MarkerView:
    """A marker as decisions read it."""
    return MarkerView(
        int(message.producer_id),
        int(message.producer_epoch),
        message.detail == 1,
        int(message.value),
        int(message.stage),
    )


def marker_of(record: LogRecord) -> MarkerView:
    """A marker as it lies in a log, which does not hold the transaction version (reference §3.5)."""
    committed = record.kind == LogEntry.COMMIT
    return MarkerView(int(record.producer_id), int(record.producer_epoch), committed, int(record.value), 0)


def batch_of(record: LogRecord) -> BatchView:
    """A data batch as it lies in a log; batches of the group coordinator have no sequence here."""
    sequence = -1 if record.kind == LogEntry.OFFSET else int(record.value)
    transactional = record.kind != LogEntry.PLAIN
    return BatchView(int(record.producer_id), int(record.producer_epoch), sequence, sequence, transactional)
