"""Requests of the checker's clients as typed requests, and back: compact fields on one side, names on the other."""

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.checker.transactions.capacities import OFFSETS
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message
from zombieproof.checker.transactions.views import end_txn_version, mode
from zombieproof.checker.transactions.vocabulary import Kind
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import CONSUMER_OFFSETS, TopicPartition
from zombieproof.messages.groups import OffsetToCommit, TxnOffsetCommit
from zombieproof.messages.partitions import Produce, SentBatch
from zombieproof.messages.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    TransactionToAdd,
)
from zombieproof.model.vocabulary import NONE, Mode

TRANSACTIONAL_IDS = ("x0", "x1")
DATA: tuple[TopicPartition, ...] = (("t", 0), ("t", 1))
OFFSETS_PARTITION: TopicPartition = (CONSUMER_OFFSETS, 0)
PARTITIONS: tuple[TopicPartition, ...] = (*DATA, OFFSETS_PARTITION)
GROUP = "g"
INPUT: TopicPartition = ("input", 0)
TIMEOUT_MS = 60_000

CLASSIC_VERSION = 3
INIT_VERSION = 4
"""The first InitProducerId that can be answered with PRODUCER_FENCED."""

VERSIONS_OF_PRODUCE = {Mode.DEFAULT: 10, Mode.GENERIC: 11, Mode.ADD: 12}
VERSIONS_OF_COMMIT = {Mode.DEFAULT: 3, Mode.GENERIC: 4, Mode.ADD: 5}


def names_partition(kind: int) -> bool:
    """Whether a request goes to the leader of a partition."""
    return kind in (Kind.PRODUCE, Kind.TXN_OFFSET_COMMIT)


def live_generation(generation: int) -> int:
    """The generation of the live group: each rebalance of the checker is two, one leaves and one joins."""
    return NONE if generation == NONE else 2 * generation + 1


def generation_of(live: int) -> int:
    """The checker's number of a generation in which somebody owns the input."""
    return NONE if live == NONE else (live - 1) // 2


def request_of(message: Message, setup: Setup, member: str) -> Request:
    """The request that a message of a client stands for; `member` is the client's member id in the group."""
    place = setup.bounds.transactional_id[message.client]
    name = "" if place == NONE else TRANSACTIONAL_IDS[place]
    identity = int(message.producer_id), int(message.producer_epoch)
    match Kind(message.kind):
        case Kind.INIT_PRODUCER_ID:
            expected = identity if message.detail == 1 else (NONE, NONE)
            return InitProducerId(INIT_VERSION, name, TIMEOUT_MS, *expected)
        case Kind.ADD_PARTITIONS:
            asked = TransactionToAdd(name, *identity, (PARTITIONS[message.partition],))
            return AddPartitionsToTxn(CLASSIC_VERSION, (asked,))
        case Kind.ADD_OFFSETS:
            return AddOffsetsToTxn(CLASSIC_VERSION, name, *identity, GROUP)
        case Kind.END_TXN:
            return EndTxn(end_txn_version(setup), name, *identity, message.detail == 1)
        case Kind.PRODUCE:
            record = Record(None, str(int(message.label)).encode())
            batch = Batch(*identity, int(message.value), transactional=bool(name), records=(record,))
            version = VERSIONS_OF_PRODUCE[Mode(mode(setup))]
            return Produce(version, name or None, NONE, {PARTITIONS[message.partition]: (SentBatch(batch),)})
        case Kind.TXN_OFFSET_COMMIT:
            row = OffsetToCommit(INPUT, int(message.value), str(int(message.label)))
            version = VERSIONS_OF_COMMIT[Mode(mode(setup))]
            return TxnOffsetCommit(
                version, name, GROUP, *identity, (row,), live_generation(int(message.detail)), member
            )
        case _:
            raise AssertionError(f"{message} is no request of a client")


def message_of(request: Request | Answer | None, client: int, label: int) -> Message:
    """The message that stands for a request of `client`, which works on `label`."""
    message = Message(client=client, label=label)
    match request:
        case InitProducerId():
            message.kind = Kind.INIT_PRODUCER_ID
            message.detail = int(request.producer_id != NONE)
            message.producer_id, message.producer_epoch = request.producer_id, request.producer_epoch
        case AddPartitionsToTxn():
            (asked,) = request.transactions
            message.kind = Kind.ADD_PARTITIONS
            message.partition = PARTITIONS.index(asked.partitions[0])
            message.producer_id, message.producer_epoch = asked.producer_id, asked.producer_epoch
        case AddOffsetsToTxn():
            message.kind, message.partition = Kind.ADD_OFFSETS, OFFSETS
            message.producer_id, message.producer_epoch = request.producer_id, request.producer_epoch
        case EndTxn():
            message.kind, message.detail = Kind.END_TXN, int(request.committed)
            message.producer_id, message.producer_epoch = request.producer_id, request.producer_epoch
        case Produce():
            ((partition, (sent,)),) = request.partitions.items()
            message.kind, message.partition = Kind.PRODUCE, PARTITIONS.index(partition)
            message.producer_id, message.producer_epoch = sent.batch.producer_id, sent.batch.producer_epoch
            message.value = sent.batch.base_sequence
        case TxnOffsetCommit():
            (row,) = request.offsets
            message.kind, message.partition = Kind.TXN_OFFSET_COMMIT, OFFSETS
            message.producer_id, message.producer_epoch = request.producer_id, request.producer_epoch
            message.value, message.detail = row.offset, generation_of(request.generation)
        case _:
            raise AssertionError(f"{request!r} is no request of a client")
    return message
