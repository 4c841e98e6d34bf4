"""Typed requests as Kafka's messages, and Kafka's answers as typed ones; kio knows every field of every version.

What a request does not name is what Kafka's own clients say. A value for a field that a version does not have is left
out, so that one description serves all versions of a request.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, replace
from datetime import timedelta
from importlib import import_module
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints
from uuid import UUID

from tests.answers.recorder.names import Names
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.formats.batches import Batch
from zombieproof.formats.encoding import read_batches, write_batch
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages import groups as g
from zombieproof.messages import partitions as p
from zombieproof.messages import transactions as t
from zombieproof.model.vocabulary import NONE

Values = Mapping[str, Any]
BYTES_MAX = 1 << 20
WAIT_MS = 5_000
SESSION_MS, REBALANCE_MS = 300_000, 300_000
"""No member is ever late."""


class Api(NamedTuple):
    """A message of Kafka's: its folder in kio, and what goes into the request."""

    name: str
    values: Values


def made(kind: Any, values: Values) -> Any:
    """An instance of a message class of kio, with those of `values` that its version has.

    Raises:
        TypeError: a field that the version demands has no value.
    """
    hints = get_type_hints(kind)
    given = {}
    for field in fields(kind):
        if field.name in values:
            given[field.name] = _value(hints[field.name], values[field.name])
        elif field.default is MISSING and field.default_factory is MISSING:
            raise TypeError(f"{kind.__module__}.{kind.__name__}: {field.name} has no value")
    return kind(**given)


def _value(hint: Any, value: Any) -> Any:
    """A value as the hint wants it: rows become messages, milliseconds a time."""
    if value is None:
        return None
    arguments = get_args(hint)
    if get_origin(hint) is UnionType:
        return _value(next(each for each in arguments if each is not type(None)), value)
    if get_origin(hint) is tuple:
        return tuple(_value(arguments[0], each) for each in value)
    if hasattr(hint, "__api_key__"):
        return made(hint, value)
    if "Timedelta" in str(hint):
        return timedelta(milliseconds=value)
    return value


def request_of(api: Api, version: int) -> Any:
    """The request of kio that `api` describes."""
    module = import_module(f"kio.schema.{api.name}.v{version}.request")
    words = "".join(word.capitalize() for word in api.name.split("_"))
    return made(getattr(module, f"{words}Request"), api.values)


# -------------------------------------------------------------------- batches


def batch_bytes(batch: Batch, now_ms: int) -> bytes:
    """A record batch of magic 2, uncompressed, all records of one time."""
    last = len(batch.records) - 1
    return write_batch(
        replace(batch, base_offset=0, leader_epoch=NONE, marker=None, last_offset_delta=last, timestamp_ms=now_ms)
    )


# -------------------------------------------------------------------- requests


def by_topic(rows: Iterable[tuple[TopicPartition, Any]], names: Names) -> list[tuple[Values, list[tuple[int, Any]]]]:
    """Rows of partitions, gathered by topic; a topic under each name that some version has for it."""
    found: dict[str, list[tuple[int, Any]]] = {}
    for (topic, partition), value in rows:
        found.setdefault(topic, []).append((partition, value))
    return [(names.topic(topic), inside) for topic, inside in found.items()]


def _plain(partitions: Iterable[TopicPartition], names: Names) -> list[Values]:
    rows = by_topic(((partition, None) for partition in partitions), names)
    return [
        {**topic, "partitions": [n for n, _ in inside], "partition_indexes": [n for n, _ in inside]}
        for topic, inside in rows
    ]


def _offsets(rows: tuple[g.OffsetToCommit, ...], names: Names) -> list[Values]:
    return [
        {
            **topic,
            "partitions": [
                {"partition_index": n, "committed_offset": row.offset, "committed_metadata": row.metadata}
                for n, row in inside
            ],
        }
        for topic, inside in by_topic(((row.partition, row) for row in rows), names)
    ]


def api_of(request: Request, names: Names, now_ms: int) -> Api:  # one case for each API
    """What of Kafka's a typed request is.

    Raises:
        TypeError: it is none that is recorded.
    """
    match request:
        case t.InitProducerId():
            return Api(
                "init_producer_id",
                {
                    "transactional_id": names.transactional_id(request.transactional_id),
                    "transaction_timeout": request.timeout_ms,
                    "producer_id": request.producer_id,
                    "producer_epoch": request.producer_epoch,
                },
            )
        case t.AddPartitionsToTxn():
            (asked,) = request.transactions
            topics = _plain(asked.partitions, names)
            return Api(
                "add_partitions_to_txn",
                _of_producer(asked, names)
                | {
                    "v3_and_below_transactional_id": names.transactional_id(asked.transactional_id),
                    "v3_and_below_producer_id": asked.producer_id,
                    "v3_and_below_producer_epoch": asked.producer_epoch,
                    "v3_and_below_topics": topics,
                    "topics": topics,
                },
            )
        case t.AddOffsetsToTxn():
            return Api("add_offsets_to_txn", _of_producer(request, names) | {"group_id": names.group(request.group)})
        case t.EndTxn():
            return Api("end_txn", _of_producer(request, names) | {"committed": request.committed})
        case p.Produce():
            return Api("produce", _produce(request, names, now_ms))
        case p.Fetch():
            return Api("fetch", _fetch(request, names))
        case p.DescribeTopics():
            rows = [names.topic(topic) for topic in request.topics]
            asked_for = [
                {"topic_id": row["topic_id"], "name": None}
                if request.by_id
                else {"topic_id": None, "name": row["name"]}
                for row in rows
            ]
            return Api(
                "metadata",
                {"topics": asked_for, "allow_auto_topic_creation": False, "include_topic_authorized_operations": False},
            )
        case _:
            return _of_a_group(request, names)


def _of_producer(request: t.EndTxn | t.AddOffsetsToTxn | t.TransactionToAdd | g.TxnOffsetCommit, names: Names) -> Any:
    return {
        "transactional_id": names.transactional_id(request.transactional_id),
        "producer_id": request.producer_id,
        "producer_epoch": request.producer_epoch,
    }


def _produce(request: p.Produce, names: Names, now_ms: int) -> Values:
    rows = [
        {
            **topic,
            "partition_data": [
                {"index": n, "records": b"".join(batch_bytes(sent.batch, now_ms) for sent in batches)}
                for n, batches in inside
            ],
        }
        for topic, inside in by_topic(request.partitions.items(), names)
    ]
    return {
        "transactional_id": names.transactional_id(request.transactional_id),
        "acks": request.acks,
        "timeout": WAIT_MS,
        "topic_data": rows,
    }


def _fetch(request: p.Fetch, names: Names) -> Values:
    rows = [
        {
            **topic,
            "partitions": [{"partition": n, "fetch_offset": at, "partition_max_bytes": BYTES_MAX} for n, at in inside],
        }
        for topic, inside in by_topic(request.partitions.items(), names)
    ]
    return {
        "max_wait": 0,
        "min_bytes": 0,
        "max_bytes": BYTES_MAX,
        "isolation_level": int(request.isolation),
        "topics": rows,
        "forgotten_topics_data": [],
    }


def _of_a_group(request: Request, names: Names) -> Api:
    match request:
        case g.TxnOffsetCommit():
            return Api(
                "txn_offset_commit",
                _of_producer(request, names)
                | _of_member(request, names)
                | {
                    "topics": _offsets(request.offsets, names),
                },
            )
        case g.OffsetCommit():
            values = {"retention_time": NONE, "topics": _offsets(request.offsets, names)}
            return Api("offset_commit", _of_member(request, names) | values)
        case g.OffsetFetch():
            topics = None if request.partitions is None else _plain(request.partitions, names)
            asked = {"group_id": names.group(request.group), "topics": topics}
            return Api("offset_fetch", {**asked, "groups": [asked], "require_stable": request.require_stable})
        case g.JoinGroup():
            known = _of_member(request, names) | {"protocol_type": "consumer", "session_timeout": SESSION_MS}
            protocols = [{"name": "range", "metadata": b"x"}]
            return Api("join_group", known | {"rebalance_timeout": REBALANCE_MS, "protocols": protocols})
        case g.SyncGroup():
            known = _of_member(request, names) | {"protocol_type": "consumer", "protocol_name": "range"}
            return Api("sync_group", known | {"assignments": [{"member_id": request.member, "assignment": b"a"}]})
        case g.Heartbeat():
            return Api("heartbeat", _of_member(request, names))
        case g.LeaveGroup():
            members = [{"member_id": who.member, "group_instance_id": who.instance} for who in request.leavers]
            group = names.group(request.group)
            return Api("leave_group", {"group_id": group, "member_id": request.member, "members": members})
        case g.DeleteGroups():
            return Api("delete_groups", {"groups_names": [names.group(group) for group in request.groups]})
        case g.ConsumerGroupHeartbeat():
            return Api("consumer_group_heartbeat", _of_consumer(request, names))
        case _:
            raise TypeError(f"{type(request).__name__} is nothing that is recorded")


def _of_consumer(request: g.ConsumerGroupHeartbeat, names: Names) -> Values:
    """A whole heartbeat, as a member sends it that joins."""
    topics = None if request.topics is None else [names.topic(topic)["name"] for topic in request.topics]
    return {
        "group_id": names.group(request.group),
        "member_id": request.member,
        "member_epoch": request.epoch,
        "rebalance_timeout": REBALANCE_MS,
        "subscribed_topic_names": topics,
        "topic_partitions": [],
    }


def _of_member(
    request: g.TxnOffsetCommit | g.OffsetCommit | g.JoinGroup | g.SyncGroup | g.Heartbeat, names: Names
) -> dict[str, Any]:
    generation = getattr(request, "generation", NONE)
    return {
        "group_id": names.group(request.group),
        "member_id": request.member,
        "group_instance_id": request.instance,
        "generation_id": generation,
        "generation_id_or_member_epoch": generation,
    }


# -------------------------------------------------------------------- answers


def _rows(topics: Any, names: Names, inside: str, index: str) -> list[tuple[TopicPartition, Any]]:
    """The rows of an answer with the partition of each; `inside` and `index` are what they are called there."""
    return [
        ((names.topic_of(topic), getattr(row, index)), row) for topic in topics or () for row in getattr(topic, inside)
    ]


def answer_of(request: Request, response: Any, names: Names) -> Answer:
    """Kafka's answer to `request` as a typed one.

    Raises:
        TypeError: it answers nothing that is recorded.
    """
    convert = _ANSWERS.get(type(request))
    if convert is None:
        raise TypeError(f"{type(request).__name__} is nothing that is recorded")
    return convert(request, response, names)


def _added(request: t.AddPartitionsToTxn, response: Any, names: Names) -> Answer:
    rows = _rows(response.results_by_topic_v3_and_below, names, "results_by_partition", "partition_index")
    errors = {at: int(row.partition_error_code) for at, row in rows}
    return t.AddPartitionsToTxnAnswer(0, (t.TransactionAdded(request.transactions[0].transactional_id, errors),))


def _ended(_: t.EndTxn, response: Any, __: Names) -> Answer:
    identity = getattr(response, "producer_id", NONE), getattr(response, "producer_epoch", NONE)
    return t.EndTxnAnswer(int(response.error_code), *identity)


def _produced(_: p.Produce, response: Any, names: Names) -> Answer:
    rows = _rows(response.responses, names, "partition_responses", "index")
    return p.ProduceAnswer(
        {
            at: p.Produced(
                int(row.error_code),
                row.base_offset,
                getattr(row, "log_start_offset", NONE),
                tuple(each.batch_index for each in getattr(row, "record_errors", ())),
            )
            for at, row in rows
        }
    )


def _fetched(_: p.Fetch, response: Any, names: Names) -> Answer:
    rows = _rows(response.responses, names, "partitions", "partition_index")
    return p.FetchAnswer(
        {
            at: p.Fetched(
                int(row.error_code),
                row.high_watermark,
                row.last_stable_offset,
                row.log_start_offset,
                None
                if row.aborted_transactions is None
                else tuple((each.producer_id, each.first_offset) for each in row.aborted_transactions),
                tuple(read_batches(row.records or b"")),
            )
            for at, row in rows
        }
    )


def _committed(_: g.OffsetCommit | g.TxnOffsetCommit, response: Any, names: Names) -> Answer:
    return g.OffsetsCommitted(
        {at: int(row.error_code) for at, row in _rows(response.topics, names, "partitions", "partition_index")}
    )


def _offsets_fetched(_: g.OffsetFetch, response: Any, names: Names) -> Answer:
    told = response.groups[0] if hasattr(response, "groups") else response
    rows = _rows(told.topics, names, "partitions", "partition_index")
    found = {at: g.OffsetFetched(int(row.error_code), row.committed_offset, row.metadata or "") for at, row in rows}
    return g.OffsetFetchAnswer(int(told.error_code), found)


def _left(request: g.LeaveGroup, response: Any, _: Names) -> Answer:
    members = getattr(response, "members", ())
    rows = (g.LeaverLeft(row.member_id, row.group_instance_id, int(row.error_code)) for row in members)
    return g.GroupLeft(int(response.error_code), tuple(rows))


_ANSWERS: Mapping[type, Callable[[Any, Any, Names], Answer]] = {
    t.InitProducerId: lambda _, told, __: t.InitProducerIdAnswer(
        int(told.error_code), told.producer_id, told.producer_epoch
    ),
    t.AddPartitionsToTxn: _added,
    t.AddOffsetsToTxn: lambda _, told, __: t.AddOffsetsToTxnAnswer(int(told.error_code)),
    t.EndTxn: _ended,
    p.Produce: _produced,
    p.Fetch: _fetched,
    p.DescribeTopics: lambda _, told, names: p.TopicsDescribed(
        {names.topic_of(row): int(row.error_code) for row in told.topics}
    ),
    g.TxnOffsetCommit: _committed,
    g.OffsetCommit: _committed,
    g.OffsetFetch: _offsets_fetched,
    g.JoinGroup: lambda _, told, __: g.JoinGroupAnswer(
        int(told.error_code), told.generation_id, told.leader, told.member_id
    ),
    g.SyncGroup: lambda _, told, __: g.GroupError(int(told.error_code)),
    g.Heartbeat: lambda _, told, __: g.GroupError(int(told.error_code)),
    g.LeaveGroup: _left,
    g.DeleteGroups: lambda request, told, names: g.GroupsDeleted(
        {
            next(group for group in request.groups if names.group(group) == row.group_id): int(row.error_code)
            for row in told.results
        }
    ),
    g.ConsumerGroupHeartbeat: lambda _, told, __: g.ConsumerGroupHeartbeatAnswer(
        int(told.error_code), told.member_id or "", told.member_epoch
    ),
}


def topic_ids(response: Any) -> dict[str, UUID]:
    """The id of each topic that Metadata tells of."""
    return {row.name: row.topic_id for row in response.topics if row.name is not None and row.topic_id is not None}
