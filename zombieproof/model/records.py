"""The small records that decisions read and evolutions write.

Integers and flags only: a set of partitions is a bit mask (bit *n* is the host's *n*-th topic partition).
A live host uses these objects as they are; the checker packs records with the same names (one signed byte a field
unless a width is given), so a decision cannot tell where it runs.

Source: reference §2.2 (transaction), §3.1 (partition), §4.2 (group), §5 (client).
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from zombieproof.model.fields import array, integer
from zombieproof.model.vocabulary import CACHED_BATCHES, NONE


@dataclass(slots=True)
class Transaction:
    """What a coordinator knows of one transactional id; also the value of a ``__transaction_state`` record.

    `known` is False while the coordinator has no metadata for the id. `pending_state`, `last_producer_epoch` and
    `failed_epoch_fence` live in memory only (reference §2.2). `next_producer_epoch` is set while a two-phase
    participant keeps an open transaction: with `next_producer_id` it is what the client goes by (KIP-939).
    """

    known: bool = False
    state: int = integer(0)
    pending_state: int = integer(NONE)
    producer_id: int = integer(NONE)
    previous_producer_id: int = integer(NONE)
    next_producer_id: int = integer(NONE)
    producer_epoch: int = integer(NONE)
    last_producer_epoch: int = integer(NONE)
    partitions: int = integer(0)
    timeout_ms: int = integer(0)
    start_ms: int = integer(NONE)
    last_update_ms: int = integer(NONE)
    client_transaction_version: int = integer(0)
    failed_epoch_fence: bool = False
    next_producer_epoch: int = integer(NONE)


@dataclass(slots=True)
class CachedBatch:
    """One of the newest batches of a producer id that a partition leader remembers."""

    last_sequence: int = integer(NONE)
    offset_delta: int = integer(0)
    last_offset: int = integer(NONE)


@dataclass(slots=True)
class ProducerEntry:
    """What a partition leader knows of one producer id.

    `known` is False while no batch or marker of the producer is remembered. `guard` is the token of the verification
    entry (0: there is none); the three fields behind it belong to that entry.
    """

    known: bool = False
    state: int = integer(0)
    producer_epoch: int = integer(NONE)
    coordinator_epoch: int = integer(NONE)
    txn_first_offset: int = integer(NONE)
    guard: int = integer(0)
    guard_epoch: int = integer(NONE)
    lowest_sequence: int = integer(NONE)
    supports_epoch_bump: bool = False
    batch_count: int = integer(0)
    batches: list[CachedBatch] = array(CachedBatch, CACHED_BATCHES)


@dataclass(slots=True)
class GroupOffset:
    """The committed offset of one (group, topic partition), and where in the log it was committed."""

    offset: int = integer(NONE)
    record_offset: int = integer(NONE)


@dataclass(slots=True)
class PendingOffset:
    """An offset that waits for the outcome of its transaction: one (group, topic partition, producer id)."""

    state: int = integer(0)
    offset: int = integer(NONE)
    record_offset: int = integer(NONE)


class Verdict(NamedTuple):
    """What a coordinator decision says: an answer, and the transition it wants durable before that answer is given.

    `row` is the row of the reference that answered. With `event` NOTHING nothing changes. Otherwise the fields behind
    it are those of the target record; `producer_id`/`producer_epoch` of a pure answer are what the reply carries (-1:
    none).
    """

    error: int
    row: int
    event: int
    producer_id: int
    producer_epoch: int
    last_producer_epoch: int
    next_producer_id: int
    partitions: int
    client_transaction_version: int
    next_producer_epoch: int = NONE


class AppendVerdict(NamedTuple):
    """What a partition leader says of a batch or marker.

    `event` NOTHING with error NONE is a duplicate: nothing is appended and the answer carries `duplicate_of`, the last
    offset of the batch that is in the log already.
    """

    error: int
    row: int
    event: int
    duplicate_of: int


class ProducerIdentity(Protocol):
    """A request that names a producer by id and epoch."""

    @property
    def producer_id(self) -> int:
        """The producer id named."""
        ...

    @property
    def producer_epoch(self) -> int:
        """The epoch named."""
        ...


class TransactionRequest(ProducerIdentity, Protocol):
    """AddPartitionsToTxn or EndTxn; `committed` is what an end asks for, `partitions` a bit mask."""

    @property
    def version(self) -> int:
        """The version of the request."""
        ...

    @property
    def committed(self) -> bool:
        """Whether it commits; else it aborts."""
        ...

    @property
    def partitions(self) -> int:
        """A bit mask; 0 where the request names none."""
        ...


class IncomingBatch(ProducerIdentity, Protocol):
    """A data batch as its header tells it; `last_sequence` is wrapped at the sequence modulus."""

    @property
    def base_sequence(self) -> int:
        """The sequence of the first record."""
        ...

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record."""
        ...

    @property
    def transactional(self) -> bool:
        """Whether the batch belongs to a transaction."""
        ...


class IncomingMarker(ProducerIdentity, Protocol):
    """A transaction marker on its way to a partition leader."""

    @property
    def committed(self) -> bool:
        """Whether it commits; else it aborts."""
        ...

    @property
    def coordinator_epoch(self) -> int:
        """The epoch of the coordinator that sent the marker."""
        ...

    @property
    def transaction_version(self) -> int:
        """The transaction version of the marker (0 before KIP-1228)."""
        ...
