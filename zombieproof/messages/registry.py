"""Every API that is spoken here: its key, its messages, the versions that are described, and who asks whom.

A broker finds whoever handles a request by its row, a client the node that it goes to, conformance how a recording
says it; a codec finds the names of fields in the messages (`schema`). Source: reference §7.5.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from zombieproof.messages import admin as a
from zombieproof.messages import controller as c
from zombieproof.messages import groups as g
from zombieproof.messages import partitions as p
from zombieproof.messages import transactions as t
from zombieproof.messages.schema import Entity, fields_of, record_in
from zombieproof.model.vocabulary import ApiKey


class Receiver(Enum):
    """To whom a request goes."""

    ANY_BROKER = auto()
    PARTITION_LEADER = auto()
    TRANSACTION_COORDINATOR = auto()
    GROUP_COORDINATOR = auto()
    CONTROLLER = auto()


@dataclass(frozen=True, slots=True)
class Api:
    """One API. `versions` are those that are described here, from `brokers_since` on sent by brokers (None: never)."""

    key: ApiKey
    request: type
    answer: type
    versions: range
    receiver: Receiver
    brokers_since: int | None = None

    @property
    def name(self) -> str:
        """Kafka's name."""
        return "".join(word.capitalize() for word in self.key.name.split("_"))

    def comes_from_broker(self, version: int) -> bool:
        """Whether it is a broker that sends this version."""
        return self.brokers_since is not None and version >= self.brokers_since


_LEADER, _TRANSACTION, _GROUP = (
    Receiver.PARTITION_LEADER,
    Receiver.TRANSACTION_COORDINATOR,
    Receiver.GROUP_COORDINATOR,
)

APIS = (
    Api(ApiKey.PRODUCE, p.Produce, p.ProduceAnswer, range(3, 14), _LEADER),
    Api(ApiKey.FETCH, p.Fetch, p.FetchAnswer, range(4, 19), _LEADER),
    Api(ApiKey.LIST_OFFSETS, p.ListOffsets, p.ListOffsetsAnswer, range(1, 12), _LEADER),
    Api(ApiKey.METADATA, p.DescribeTopics, p.TopicsDescribed, range(14), Receiver.ANY_BROKER),
    Api(ApiKey.OFFSET_COMMIT, g.OffsetCommit, g.OffsetsCommitted, range(2, 11), _GROUP),
    Api(ApiKey.OFFSET_FETCH, g.OffsetFetch, g.OffsetFetchAnswer, range(1, 11), _GROUP),
    Api(ApiKey.FIND_COORDINATOR, g.FindCoordinator, g.CoordinatorFound, range(7), Receiver.ANY_BROKER),
    Api(ApiKey.JOIN_GROUP, g.JoinGroup, g.JoinGroupAnswer, range(10), _GROUP),
    Api(ApiKey.HEARTBEAT, g.Heartbeat, g.GroupError, range(5), _GROUP),
    Api(ApiKey.LEAVE_GROUP, g.LeaveGroup, g.GroupLeft, range(6), _GROUP),
    Api(ApiKey.SYNC_GROUP, g.SyncGroup, g.SyncGroupAnswer, range(6), _GROUP),
    Api(ApiKey.DESCRIBE_GROUPS, g.DescribeGroups, g.GroupsDescribed, range(7), _GROUP),
    Api(ApiKey.LIST_GROUPS, g.ListGroups, g.GroupsListed, range(6), _GROUP),
    Api(ApiKey.CREATE_TOPICS, a.CreateTopics, a.TopicsCreated, range(2, 8), Receiver.ANY_BROKER),
    Api(ApiKey.DELETE_TOPICS, p.DeleteTopics, p.TopicsDeleted, range(1, 7), Receiver.ANY_BROKER),
    Api(ApiKey.DELETE_RECORDS, p.DeleteRecords, p.RecordsDeleted, range(3), _LEADER),
    Api(ApiKey.INIT_PRODUCER_ID, t.InitProducerId, t.InitProducerIdAnswer, range(7), _TRANSACTION),
    Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, p.OffsetForLeaderEpoch, p.OffsetForLeaderEpochAnswer, range(2, 5), _LEADER),
    Api(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        t.AddPartitionsToTxn,
        t.AddPartitionsToTxnAnswer,
        range(6),
        _TRANSACTION,
        brokers_since=4,
    ),
    Api(ApiKey.ADD_OFFSETS_TO_TXN, t.AddOffsetsToTxn, t.AddOffsetsToTxnAnswer, range(5), _TRANSACTION),
    Api(ApiKey.END_TXN, t.EndTxn, t.EndTxnAnswer, range(6), _TRANSACTION),
    Api(ApiKey.WRITE_TXN_MARKERS, p.WriteTxnMarkers, p.WriteTxnMarkersAnswer, range(1, 3), _LEADER, brokers_since=0),
    Api(ApiKey.TXN_OFFSET_COMMIT, g.TxnOffsetCommit, g.TxnOffsetsCommitted, range(7), _GROUP),
    Api(ApiKey.DESCRIBE_CONFIGS, a.DescribeConfigs, a.ConfigsDescribed, range(1, 5), Receiver.ANY_BROKER),
    Api(ApiKey.ALTER_CONFIGS, a.AlterConfigs, a.ConfigsAltered, range(3), Receiver.ANY_BROKER),
    Api(ApiKey.DESCRIBE_LOG_DIRS, a.DescribeLogDirs, a.LogDirsDescribed, range(1, 6), Receiver.ANY_BROKER),
    Api(ApiKey.CREATE_PARTITIONS, a.CreatePartitions, a.PartitionsCreated, range(4), Receiver.ANY_BROKER),
    Api(ApiKey.DELETE_GROUPS, g.DeleteGroups, g.GroupsDeleted, range(4), _GROUP),
    Api(ApiKey.ELECT_LEADERS, a.ElectLeaders, a.LeadersElected, range(3), Receiver.ANY_BROKER),
    Api(
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        a.IncrementalAlterConfigs,
        a.ConfigsAltered,
        range(2),
        Receiver.ANY_BROKER,
    ),
    Api(ApiKey.OFFSET_DELETE, g.OffsetDelete, g.OffsetsDeleted, range(1), _GROUP),
    Api(ApiKey.DESCRIBE_PRODUCERS, p.DescribeProducers, p.DescribeProducersAnswer, range(1), _LEADER),
    Api(ApiKey.DESCRIBE_TRANSACTIONS, t.DescribeTransactions, t.DescribeTransactionsAnswer, range(1), _TRANSACTION),
    Api(ApiKey.LIST_TRANSACTIONS, t.ListTransactions, t.ListTransactionsAnswer, range(3), _TRANSACTION),
    Api(
        ApiKey.ALLOCATE_PRODUCER_IDS,
        c.AllocateProducerIds,
        c.AllocateProducerIdsAnswer,
        range(1),
        Receiver.CONTROLLER,
        brokers_since=0,
    ),
    Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, g.ConsumerGroupHeartbeat, g.ConsumerGroupHeartbeatAnswer, range(2), _GROUP),
    Api(ApiKey.CONSUMER_GROUP_DESCRIBE, g.ConsumerGroupDescribe, g.ConsumerGroupsDescribed, range(2), _GROUP),
)
"""In the order of their keys. Of ListTransactions every coordinator is asked, each for what it has."""

_BY_REQUEST = {api.request: api for api in APIS}


class UnknownRequest(TypeError):
    """An object that is no request of any API."""


def api_of(request: type) -> Api:
    """The API that a class of requests belongs to.

    Raises:
        UnknownRequest: it is none.
    """
    found = _BY_REQUEST.get(request)
    if found is None:
        legal = ", ".join(api.request.__name__ for api in APIS)
        raise UnknownRequest(f"{request.__name__} is no request; requests are {legal}")
    return found


def values_of(message: Any, entity: Entity) -> Iterator[Any]:
    """Every value in a message that names an `entity`, in order."""
    kind: type = type(message)
    for field in fields_of(kind):
        value = getattr(message, field.name)
        if value is None:
            continue
        if field.entity == entity and record_in(field.kind) is None:
            yield from value if isinstance(value, tuple | dict | frozenset) else (value,)
        elif field.entity == entity and isinstance(value, dict):
            yield from value
        elif record_in(field.kind) is not None:
            for row in value.values() if isinstance(value, dict) else value:
                yield from values_of(row, entity)
