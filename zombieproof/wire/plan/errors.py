"""Errors that Kafka's brokers can answer each API with, and since which version; and the answers that say so.

Source: reference §2.7 to §2.16, §3, §4, §7.4, §7.5; the comments of the message schemas; KIP-588, KIP-890, KIP-516.
"""

from collections.abc import Callable, Mapping
from typing import Any

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.messages import groups as g
from zombieproof.messages import partitions as p
from zombieproof.messages import transactions as t
from zombieproof.messages.refusals import refusal as refused_rows
from zombieproof.model.vocabulary import NONE, ApiKey, Error

_COORDINATOR = {Error.COORDINATOR_LOAD_IN_PROGRESS: 0, Error.COORDINATOR_NOT_AVAILABLE: 0, Error.NOT_COORDINATOR: 0}
_ANYWHERE = {Error.UNKNOWN_SERVER_ERROR: 0, Error.REQUEST_TIMED_OUT: 0}
_OF_A_GROUP = {**_ANYWHERE, **_COORDINATOR, Error.INVALID_GROUP_ID: 0, Error.GROUP_AUTHORIZATION_FAILED: 0}
_OF_A_MEMBER = {**_OF_A_GROUP, Error.UNKNOWN_MEMBER_ID: 0, Error.REBALANCE_IN_PROGRESS: 0, Error.ILLEGAL_GENERATION: 0}
_OF_A_TRANSACTION = {
    **_ANYWHERE,
    **_COORDINATOR,
    Error.INVALID_REQUEST: 0,
    Error.INVALID_PRODUCER_EPOCH: 0,
    Error.INVALID_PRODUCER_ID_MAPPING: 0,
    Error.CONCURRENT_TRANSACTIONS: 0,
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 0,
}
_OF_A_PARTITION = {
    **_ANYWHERE,
    Error.UNKNOWN_TOPIC_OR_PARTITION: 0,
    Error.LEADER_NOT_AVAILABLE: 0,
    Error.NOT_LEADER_OR_FOLLOWER: 0,
    Error.TOPIC_AUTHORIZATION_FAILED: 0,
    Error.KAFKA_STORAGE_ERROR: 0,
}

ERRORS: Mapping[ApiKey, Mapping[Error, int]] = {
    ApiKey.PRODUCE: {
        **_OF_A_PARTITION,
        Error.CORRUPT_MESSAGE: 0,
        Error.MESSAGE_TOO_LARGE: 0,
        Error.NETWORK_EXCEPTION: 0,
        Error.INVALID_TOPIC_EXCEPTION: 0,
        Error.RECORD_LIST_TOO_LARGE: 0,
        Error.UNSUPPORTED_COMPRESSION_TYPE: 0,
        Error.NOT_ENOUGH_REPLICAS: 0,
        Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND: 0,
        Error.INVALID_REQUIRED_ACKS: 0,
        Error.CLUSTER_AUTHORIZATION_FAILED: 0,
        Error.INVALID_TIMESTAMP: 0,
        Error.UNSUPPORTED_FOR_MESSAGE_FORMAT: 0,
        Error.OUT_OF_ORDER_SEQUENCE_NUMBER: 0,
        Error.DUPLICATE_SEQUENCE_NUMBER: 0,
        Error.INVALID_PRODUCER_EPOCH: 0,
        Error.INVALID_TXN_STATE: 0,
        Error.INVALID_PRODUCER_ID_MAPPING: 0,
        Error.CONCURRENT_TRANSACTIONS: 12,
        Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 0,
        Error.UNKNOWN_PRODUCER_ID: 0,
        Error.INVALID_RECORD: 8,
        Error.UNKNOWN_TOPIC_ID: 13,
        Error.TRANSACTION_ABORTABLE: 11,
    },
    ApiKey.FETCH: {
        **_OF_A_PARTITION,
        Error.OFFSET_OUT_OF_RANGE: 0,
        Error.CORRUPT_MESSAGE: 0,
        Error.UNKNOWN_TOPIC_ID: 13,
    },
    ApiKey.LIST_OFFSETS: {**_OF_A_PARTITION, Error.UNSUPPORTED_FOR_MESSAGE_FORMAT: 0},
    ApiKey.METADATA: {
        Error.UNKNOWN_SERVER_ERROR: 0,
        Error.UNKNOWN_TOPIC_OR_PARTITION: 0,
        Error.LEADER_NOT_AVAILABLE: 0,
        Error.INVALID_TOPIC_EXCEPTION: 0,
        Error.TOPIC_AUTHORIZATION_FAILED: 0,
        Error.UNKNOWN_TOPIC_ID: 12,
    },
    ApiKey.OFFSET_COMMIT: {
        **_OF_A_MEMBER,
        Error.OFFSET_METADATA_TOO_LARGE: 0,
        Error.UNKNOWN_TOPIC_OR_PARTITION: 0,
        Error.TOPIC_AUTHORIZATION_FAILED: 0,
        Error.FENCED_INSTANCE_ID: 7,
        Error.STALE_MEMBER_EPOCH: 9,
        Error.GROUP_ID_NOT_FOUND: 9,
        Error.UNKNOWN_TOPIC_ID: 10,
    },
    ApiKey.OFFSET_FETCH: {
        **_OF_A_GROUP,
        Error.UNSTABLE_OFFSET_COMMIT: 7,
        Error.UNKNOWN_MEMBER_ID: 9,
        Error.STALE_MEMBER_EPOCH: 9,
    },
    ApiKey.FIND_COORDINATOR: {
        **_ANYWHERE,
        **_COORDINATOR,
        Error.INVALID_REQUEST: 0,
        Error.GROUP_AUTHORIZATION_FAILED: 0,
        Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 1,
        Error.TRANSACTION_ABORTABLE: 5,
    },
    ApiKey.JOIN_GROUP: {
        **_OF_A_MEMBER,
        Error.INCONSISTENT_GROUP_PROTOCOL: 0,
        Error.INVALID_SESSION_TIMEOUT: 0,
        Error.MEMBER_ID_REQUIRED: 4,
        Error.GROUP_MAX_SIZE_REACHED: 0,
        Error.FENCED_INSTANCE_ID: 5,
    },
    ApiKey.HEARTBEAT: {**_OF_A_MEMBER, Error.FENCED_INSTANCE_ID: 3},
    ApiKey.LEAVE_GROUP: {**_OF_A_MEMBER, Error.FENCED_INSTANCE_ID: 3},
    ApiKey.SYNC_GROUP: {**_OF_A_MEMBER, Error.INCONSISTENT_GROUP_PROTOCOL: 5, Error.FENCED_INSTANCE_ID: 3},
    ApiKey.DELETE_TOPICS: {
        **_ANYWHERE,
        Error.UNKNOWN_TOPIC_OR_PARTITION: 0,
        Error.TOPIC_AUTHORIZATION_FAILED: 0,
        Error.TOPIC_DELETION_DISABLED: 3,
        Error.UNKNOWN_TOPIC_ID: 6,
    },
    ApiKey.DELETE_RECORDS: {**_OF_A_PARTITION, Error.OFFSET_OUT_OF_RANGE: 0, Error.POLICY_VIOLATION: 0},
    ApiKey.INIT_PRODUCER_ID: {
        **_OF_A_TRANSACTION,
        Error.INVALID_TRANSACTION_TIMEOUT: 0,
        Error.CLUSTER_AUTHORIZATION_FAILED: 0,
        Error.PRODUCER_FENCED: 4,
        Error.TRANSACTION_ABORTABLE: 5,
    },
    ApiKey.ADD_PARTITIONS_TO_TXN: {
        **_OF_A_TRANSACTION,
        Error.UNKNOWN_TOPIC_OR_PARTITION: 0,
        Error.TOPIC_AUTHORIZATION_FAILED: 0,
        Error.INVALID_TXN_STATE: 0,
        Error.OPERATION_NOT_ATTEMPTED: 0,
        Error.PRODUCER_FENCED: 2,
        Error.TRANSACTION_ABORTABLE: 5,
    },
    ApiKey.ADD_OFFSETS_TO_TXN: {
        **_OF_A_TRANSACTION,
        Error.GROUP_AUTHORIZATION_FAILED: 0,
        Error.INVALID_TXN_STATE: 0,
        Error.PRODUCER_FENCED: 2,
        Error.TRANSACTION_ABORTABLE: 4,
    },
    ApiKey.END_TXN: {
        **_OF_A_TRANSACTION,
        Error.INVALID_TXN_STATE: 0,
        Error.PRODUCER_FENCED: 2,
        Error.TRANSACTION_ABORTABLE: 4,
    },
    ApiKey.TXN_OFFSET_COMMIT: {
        **_OF_A_MEMBER,
        Error.OFFSET_METADATA_TOO_LARGE: 0,
        Error.UNKNOWN_TOPIC_OR_PARTITION: 0,
        Error.TOPIC_AUTHORIZATION_FAILED: 0,
        Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 0,
        Error.INVALID_PRODUCER_EPOCH: 0,
        Error.INVALID_PRODUCER_ID_MAPPING: 0,
        Error.INVALID_TXN_STATE: 0,
        Error.FENCED_INSTANCE_ID: 3,
        Error.TRANSACTION_ABORTABLE: 4,
        Error.CONCURRENT_TRANSACTIONS: 5,
        Error.GROUP_ID_NOT_FOUND: 6,
        Error.STALE_MEMBER_EPOCH: 6,
        Error.UNKNOWN_TOPIC_ID: 6,
    },
    ApiKey.DELETE_GROUPS: {**_OF_A_GROUP, Error.NON_EMPTY_GROUP: 0, Error.GROUP_ID_NOT_FOUND: 0},
    ApiKey.OFFSET_DELETE: {
        **_OF_A_GROUP,
        Error.NON_EMPTY_GROUP: 0,
        Error.GROUP_ID_NOT_FOUND: 0,
    },
    ApiKey.CONSUMER_GROUP_HEARTBEAT: {
        **_OF_A_GROUP,
        Error.INVALID_REQUEST: 0,
        Error.UNKNOWN_MEMBER_ID: 0,
        Error.FENCED_MEMBER_EPOCH: 0,
        Error.UNSUPPORTED_ASSIGNOR: 0,
        Error.UNRELEASED_INSTANCE_ID: 0,
        Error.GROUP_MAX_SIZE_REACHED: 0,
        Error.INVALID_REGULAR_EXPRESSION: 1,
        Error.TOPIC_AUTHORIZATION_FAILED: 0,
    },
}
"""API -> error -> the first version that can be answered so. Of other APIs no answer is made here."""


class Unanswerable(ValueError):
    """A request that cannot be answered so: of a version that is too old, or without a row that would say it."""


def refusal(request: Request, key: ApiKey, error: Error) -> Answer:
    """The answer to a request in which every row says `error`.

    Raises:
        Unanswerable: this request cannot be answered so.
    """
    version, since = getattr(request, "version", 0), ERRORS[key][error]
    if version < since:
        raise Unanswerable(f"version {version} cannot be answered {error.name}, which came with {since}")
    found: Answer = _ANSWERS[type(request)](request, int(error))
    return found


def _of_topics(request: p.DescribeTopics, error: int) -> p.TopicsDescribed:
    if not request.topics:
        raise Unanswerable("a Metadata that asks for all topics names none of which an error could be told")
    return p.TopicsDescribed(dict.fromkeys(request.topics, error))


def _of_added(request: t.AddPartitionsToTxn, error: int) -> t.AddPartitionsToTxnAnswer:
    rows = [t.TransactionAdded(e.transactional_id, dict.fromkeys(e.partitions, error)) for e in request.transactions]
    return t.AddPartitionsToTxnAnswer(0, tuple(rows))


_ANSWERS: Mapping[type, Callable[[Any, int], Answer]] = {
    p.Produce: lambda asked, error: p.ProduceAnswer({tp: p.Produced(error) for tp in asked.partitions}),
    p.Fetch: lambda asked, error: p.FetchAnswer({tp: p.Fetched(error) for tp in asked.partitions}),
    p.ListOffsets: lambda asked, error: p.ListOffsetsAnswer(dict.fromkeys(asked.partitions, p.ListedOffset(error))),
    p.DescribeTopics: _of_topics,
    p.DeleteTopics: lambda asked, error: p.TopicsDeleted(dict.fromkeys(asked.topics, error)),
    p.DeleteRecords: lambda asked, error: p.RecordsDeleted(dict.fromkeys(asked.partitions, (NONE, error))),
    g.OffsetCommit: refused_rows,
    g.TxnOffsetCommit: refused_rows,
    g.OffsetFetch: lambda _, error: g.OffsetFetchAnswer(error, {}),
    g.OffsetDelete: lambda _, error: g.OffsetsDeleted(error, {}),
    g.DeleteGroups: lambda asked, error: g.GroupsDeleted(dict.fromkeys(asked.groups, error)),
    g.FindCoordinator: lambda _, error: g.CoordinatorFound(error),
    g.JoinGroup: lambda asked, error: g.JoinGroupAnswer(error, member=asked.member),
    g.SyncGroup: lambda _, error: g.SyncGroupAnswer(error),
    g.Heartbeat: lambda _, error: g.GroupError(error),
    g.LeaveGroup: lambda _, error: g.GroupLeft(error),
    g.ConsumerGroupHeartbeat: lambda _, error: g.ConsumerGroupHeartbeatAnswer(error),
    t.InitProducerId: lambda _, error: t.InitProducerIdAnswer(error),
    t.AddPartitionsToTxn: _of_added,
    t.AddOffsetsToTxn: lambda _, error: t.AddOffsetsToTxnAnswer(error),
    t.EndTxn: lambda _, error: t.EndTxnAnswer(error),
}
