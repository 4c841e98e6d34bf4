"""Requests to a transaction coordinator, and their answers. Fields as on the wire, times in milliseconds.

Every request knows its `version`: it decides by which rules it is answered. Source: reference §2.7 to §2.16, §7.5.
"""

from dataclasses import dataclass

from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE


@dataclass(frozen=True, slots=True)
class InitProducerId:
    """API key 22, versions 0-6; -1, -1 is no expectation; the last two fields from version 6 on."""

    version: int
    transactional_id: str | None
    timeout_ms: int
    producer_id: int = NONE
    producer_epoch: int = NONE
    enable_2pc: bool = False
    keep_prepared: bool = False


@dataclass(frozen=True, slots=True)
class InitProducerIdAnswer:
    """The producer id and epoch granted; from version 6 on those of a transaction that was kept prepared."""

    error: int
    producer_id: int = NONE
    producer_epoch: int = NONE
    ongoing_producer_id: int = NONE
    ongoing_producer_epoch: int = NONE


@dataclass(frozen=True, slots=True)
class TransactionToAdd:
    """The partitions that join (or, `verify_only`, are asked for in) one transaction."""

    transactional_id: str | None
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]
    verify_only: bool = False


@dataclass(frozen=True, slots=True)
class AddPartitionsToTxn:
    """API key 24: versions 0-3 of a client hold exactly one transaction; 4 and 5 come from brokers."""

    version: int
    transactions: tuple[TransactionToAdd, ...]


@dataclass(frozen=True, slots=True)
class TransactionAdded:
    """The error of each partition of one transaction."""

    transactional_id: str | None
    errors: dict[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class AddPartitionsToTxnAnswer:
    """`error` is that of the whole request (versions 4 and up)."""

    error: int
    transactions: tuple[TransactionAdded, ...]


@dataclass(frozen=True, slots=True)
class AddOffsetsToTxn:
    """API key 25, versions 0-4."""

    version: int
    transactional_id: str | None
    producer_id: int
    producer_epoch: int
    group: str


@dataclass(frozen=True, slots=True)
class AddOffsetsToTxnAnswer:
    """Only an error."""

    error: int


@dataclass(frozen=True, slots=True)
class EndTxn:
    """API key 26, versions 0-5."""

    version: int
    transactional_id: str | None
    producer_id: int
    producer_epoch: int
    committed: bool


@dataclass(frozen=True, slots=True)
class EndTxnAnswer:
    """From version 5 on with the producer id and epoch to go on with."""

    error: int
    producer_id: int = NONE
    producer_epoch: int = NONE


@dataclass(frozen=True, slots=True)
class DescribeTransactions:
    """API key 65, version 0."""

    version: int
    transactional_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """One row of the answer; `state` is Kafka's name (``Ongoing``), empty with an error; `start_ms` NONE: not begun."""

    transactional_id: str
    error: int
    state: str = ""
    timeout_ms: int = 0
    start_ms: int = 0
    producer_id: int = 0
    producer_epoch: int = 0
    partitions: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True)
class DescribeTransactionsAnswer:
    """One row for each id asked for."""

    transactions: tuple[TransactionDescription, ...]


@dataclass(frozen=True, slots=True)
class ListTransactions:
    """API key 66, versions 0-2; an empty filter lets everything through, `duration_ms` -1 too."""

    version: int
    states: tuple[str, ...] = ()
    producer_ids: tuple[int, ...] = ()
    duration_ms: int = NONE
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class TransactionListing:
    """One row of the answer."""

    transactional_id: str
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True)
class ListTransactionsAnswer:
    """`unknown_states` are names in the filter that are no states."""

    error: int
    transactions: tuple[TransactionListing, ...] = ()
    unknown_states: tuple[str, ...] = ()


TransactionRequest = (
    InitProducerId | AddPartitionsToTxn | AddOffsetsToTxn | EndTxn | DescribeTransactions | ListTransactions
)
TransactionAnswer = (
    InitProducerIdAnswer
    | AddPartitionsToTxnAnswer
    | AddOffsetsToTxnAnswer
    | EndTxnAnswer
    | DescribeTransactionsAnswer
    | ListTransactionsAnswer
)
