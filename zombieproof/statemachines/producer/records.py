"""What a producer client remembers of itself and of a partition, and what a step is told.

Integers and flags, as everywhere below the hosts (``model.records``). Which partitions have joined, which requests wait
and which batches are under way are collections, and those are the host's: a step is told how many there are, or how the
one that it is about stands.

Source: reference §5.1 to §5.7; ``TransactionManager.java``, ``TxnPartitionEntry.java``.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from zombieproof.model.fields import integer
from zombieproof.model.vocabulary import NONE


@dataclass(slots=True)
class Producer:
    """One producer instance.

    `started`: something has joined the transaction, so that it has to be ended; `bump`: the epoch has to be raised when
    the transaction is over; `raises`: the InitProducerId that raises it waits behind EndTxn, or is under way;
    `transaction_version`: what the open (or next) transaction follows; `prepared_id` and `prepared_epoch`: the
    transaction that an outer commit decides about; `coordinator_raises`: the coordinator raises epochs when asked.
    """

    state: int = 0
    producer_id: int = integer(NONE)
    producer_epoch: int = integer(NONE)
    started: bool = False
    bump: bool = False
    raises: bool = False
    transaction_version: int = 0
    prepared_id: int = integer(NONE)
    prepared_epoch: int = integer(NONE)
    coordinator_raises: bool = False


@dataclass(slots=True)
class Numbering:
    """The sequences of one partition, numbered under one (producer id, epoch).

    `known` is False while nothing of the partition is remembered. `unresolved` is the sequence behind a batch that was
    sent and given up, NONE if there is none; `wants_bump`: a gap here makes an idempotent producer raise its epoch.
    """

    known: bool = False
    producer_id: int = integer(NONE)
    producer_epoch: int = integer(NONE)
    next_sequence: int = 0
    last_acked_sequence: int = integer(NONE)
    last_acked_offset: int = integer(NONE)
    unresolved: int = integer(NONE)
    wants_bump: bool = False


class Joining(IntEnum):
    """How a partition stands to the open transaction."""

    OUTSIDE = 0
    PENDING = 1
    JOINED = 2


class Pending(IntEnum):
    """Whether an earlier call was not waited for: none, the same one that is made now, or another."""

    NOTHING = 0
    THE_SAME = 1
    ANOTHER = 2


class ProducerHost(NamedTuple):
    """What a host knows besides the records.

    `cluster_version`: the transaction version that the cluster offers now; `joined`: how many partitions are in the
    transaction; `retry_backoff_ms` and `two_phase_commit` are settings of the producer.
    """

    transactional: bool = True
    cluster_version: int = 0
    joined: int = 0
    retry_backoff_ms: int = 0
    two_phase_commit: bool = False


class Request(NamedTuple):
    """A request to a coordinator. `transaction_version` is what it followed when it was queued.

    Not `to_coordinator`: any broker will do. `raises_epoch`: the InitProducerId behind the end of a transaction.
    """

    api: int
    transaction_version: int = 0
    committed: bool = False
    raises_epoch: bool = False
    keep_prepared: bool = False
    to_coordinator: bool = True
    names_member: bool = False
    two_phase_commit: bool = False


class Destination(NamedTuple):
    """Where a request would go: whether that node is known and can be reached, and the newest versions there."""

    is_known: bool
    is_ready: bool
    newest: int
    newest_init: int
    coordinates_transactions: bool


class Answer(NamedTuple):
    """What the answer of a coordinator says; identities are NONE where it names none."""

    error: int
    producer_id: int = NONE
    producer_epoch: int = NONE
    ongoing_id: int = NONE
    ongoing_epoch: int = NONE


class Batch(NamedTuple):
    """A batch on its way. `in_flight`: how many batches of its partition are not answered for.

    `is_done`: the application was told its outcome; `in_time`: its delivery time is not over; `has_attempts`: it may be
    sent again. What it was numbered with is NONE before it was first sent.
    """

    transactional: bool
    producer_id: int
    base_sequence: int
    records: int = 1
    has_been_renumbered: bool = False
    is_done: bool = False
    in_time: bool = True
    has_attempts: bool = True


class BatchAnswer(NamedTuple):
    """What a leader says of one batch; offsets are NONE where it tells none."""

    error: int
    base_offset: int = NONE
    log_start_offset: int = NONE
