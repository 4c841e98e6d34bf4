"""Requests to a transaction coordinator, and their answers. Fields as on the wire, times in milliseconds.

Every request knows its `version`: it decides by which rules it is answered. Source: reference §2.7 to §2.16, §7.5.
"""

from dataclasses import dataclass
from typing import Annotated

from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.schema import Entity, Rows, Wire
from zombieproof.model.vocabulary import NONE

TransactionalId = Annotated[str | None, Wire("TransactionalId", entity=Entity.TRANSACTIONAL_ID)]
ProducerId = Annotated[int, Wire("ProducerId", entity=Entity.PRODUCER_ID)]
ProducerEpoch = Annotated[int, Wire("ProducerEpoch", entity=Entity.PRODUCER_EPOCH)]
ErrorCode = Annotated[int, Wire("ErrorCode")]


@dataclass(frozen=True, slots=True)
class InitProducerId:
    """API key 22, versions 0-6; -1, -1 is no expectation; the last two fields from version 6 on."""

    version: int
    transactional_id: TransactionalId
    timeout_ms: Annotated[int, Wire("TransactionTimeoutMs")]
    producer_id: Annotated[int, Wire("ProducerId", since=3, entity=Entity.PRODUCER_ID)] = NONE
    producer_epoch: Annotated[int, Wire("ProducerEpoch", since=3, entity=Entity.PRODUCER_EPOCH)] = NONE
    enable_2pc: Annotated[bool, Wire("Enable2Pc", since=6)] = False
    keep_prepared: Annotated[bool, Wire("KeepPreparedTxn", since=6)] = False


@dataclass(frozen=True, slots=True)
class InitProducerIdAnswer:
    """The producer id and epoch granted; from version 6 on those of a transaction that was kept prepared."""

    error: ErrorCode
    producer_id: ProducerId = NONE
    producer_epoch: ProducerEpoch = NONE
    ongoing_producer_id: Annotated[int, Wire("OngoingTxnProducerId", since=6, entity=Entity.PRODUCER_ID)] = NONE
    ongoing_producer_epoch: Annotated[int, Wire("OngoingTxnProducerEpoch", since=6, entity=Entity.PRODUCER_EPOCH)] = (
        NONE
    )


@dataclass(frozen=True, slots=True)
class TransactionToAdd:
    """The partitions that join (or, `verify_only`, are asked for in) one transaction."""

    transactional_id: Annotated[
        str | None,
        Wire("V3AndBelowTransactionalId", until=3, entity=Entity.TRANSACTIONAL_ID),
        Wire("TransactionalId", since=4, entity=Entity.TRANSACTIONAL_ID),
    ]
    producer_id: Annotated[
        int,
        Wire("V3AndBelowProducerId", until=3, entity=Entity.PRODUCER_ID),
        Wire("ProducerId", since=4, entity=Entity.PRODUCER_ID),
    ]
    producer_epoch: Annotated[
        int,
        Wire("V3AndBelowProducerEpoch", until=3, entity=Entity.PRODUCER_EPOCH),
        Wire("ProducerEpoch", since=4, entity=Entity.PRODUCER_EPOCH),
    ]
    partitions: Annotated[
        tuple[TopicPartition, ...],
        Rows("V3AndBelowTopics", until=3, index=""),
        Rows("Topics", since=4, index=""),
    ]
    verify_only: Annotated[bool, Wire("VerifyOnly", since=4)] = False


@dataclass(frozen=True, slots=True)
class AddPartitionsToTxn:
    """API key 24: versions 0-3 of a client hold exactly one transaction; 4 and 5 come from brokers."""

    version: int
    transactions: Annotated[tuple[TransactionToAdd, ...], Wire("", until=3), Wire("Transactions", since=4)]


@dataclass(frozen=True, slots=True)
class TransactionAdded:
    """The error of each partition of one transaction."""

    transactional_id: Annotated[str | None, Wire("TransactionalId", since=4, entity=Entity.TRANSACTIONAL_ID)]
    errors: Annotated[
        dict[TopicPartition, int],
        Rows("ResultsByTopicV3AndBelow", until=3, partitions="ResultsByPartition", values=("PartitionErrorCode",)),
        Rows("TopicResults", since=4, partitions="ResultsByPartition", values=("PartitionErrorCode",)),
    ]


@dataclass(frozen=True, slots=True)
class AddPartitionsToTxnAnswer:
    """`error` is that of the whole request (versions 4 and up)."""

    error: Annotated[int, Wire("ErrorCode", since=4)]
    transactions: Annotated[tuple[TransactionAdded, ...], Wire("", until=3), Wire("ResultsByTransaction", since=4)]


@dataclass(frozen=True, slots=True)
class AddOffsetsToTxn:
    """API key 25, versions 0-4."""

    version: int
    transactional_id: TransactionalId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    group: Annotated[str, Wire("GroupId", entity=Entity.GROUP)]


@dataclass(frozen=True, slots=True)
class AddOffsetsToTxnAnswer:
    """Only an error."""

    error: ErrorCode


@dataclass(frozen=True, slots=True)
class EndTxn:
    """API key 26, versions 0-5."""

    version: int
    transactional_id: TransactionalId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    committed: Annotated[bool, Wire("Committed")]


@dataclass(frozen=True, slots=True)
class EndTxnAnswer:
    """From version 5 on with the producer id and epoch to go on with."""

    error: ErrorCode
    producer_id: Annotated[int, Wire("ProducerId", since=5, entity=Entity.PRODUCER_ID)] = NONE
    producer_epoch: Annotated[int, Wire("ProducerEpoch", since=5, entity=Entity.PRODUCER_EPOCH)] = NONE


@dataclass(frozen=True, slots=True)
class DescribeTransactions:
    """API key 65, version 0."""

    version: int
    transactional_ids: Annotated[tuple[str, ...], Wire("TransactionalIds", entity=Entity.TRANSACTIONAL_ID)]


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """One row of the answer; `state` is Kafka's name (``Ongoing``), empty with an error; `start_ms` NONE: not begun."""

    transactional_id: Annotated[str, Wire("TransactionalId", entity=Entity.TRANSACTIONAL_ID)]
    error: ErrorCode
    state: Annotated[str, Wire("TransactionState")] = ""
    timeout_ms: Annotated[int, Wire("TransactionTimeoutMs")] = 0
    start_ms: Annotated[int, Wire("TransactionStartTimeMs")] = 0
    producer_id: ProducerId = 0
    producer_epoch: ProducerEpoch = 0
    partitions: Annotated[frozenset[TopicPartition], Rows("Topics", topic="Topic", index="")] = frozenset()


@dataclass(frozen=True, slots=True)
class DescribeTransactionsAnswer:
    """One row for each id asked for."""

    transactions: Annotated[tuple[TransactionDescription, ...], Wire("TransactionStates")]


@dataclass(frozen=True, slots=True)
class ListTransactions:
    """API key 66, versions 0-2; an empty filter lets everything through, `duration_ms` -1 too."""

    version: int
    states: Annotated[tuple[str, ...], Wire("StateFilters")] = ()
    producer_ids: Annotated[tuple[int, ...], Wire("ProducerIdFilters", entity=Entity.PRODUCER_ID)] = ()
    duration_ms: Annotated[int, Wire("DurationFilter", since=1)] = NONE
    pattern: Annotated[str | None, Wire("TransactionalIdPattern", since=2)] = None


@dataclass(frozen=True, slots=True)
class TransactionListing:
    """One row of the answer."""

    transactional_id: Annotated[str, Wire("TransactionalId", entity=Entity.TRANSACTIONAL_ID)]
    producer_id: ProducerId
    state: Annotated[str, Wire("TransactionState")]


@dataclass(frozen=True, slots=True)
class ListTransactionsAnswer:
    """`unknown_states` are names in the filter that are no states."""

    error: ErrorCode
    transactions: Annotated[tuple[TransactionListing, ...], Wire("TransactionStates")] = ()
    unknown_states: Annotated[tuple[str, ...], Wire("UnknownStateFilters")] = ()


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
