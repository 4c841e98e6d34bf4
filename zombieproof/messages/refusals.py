"""The answer that says an error, in the form of each request: at its top where there is a place, else in every row.

What is told of each partition, topic, transactional id or group of a request stands in `ROWS`: also where only some of
them are refused, and the others answered. Source: ``*Request.getErrorResponse``.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from zombieproof.messages import admin as a
from zombieproof.messages import group_descriptions as d
from zombieproof.messages import groups as g
from zombieproof.messages import partitions as p
from zombieproof.messages import transactions as t
from zombieproof.messages.controller import AllocateProducerIds, AllocateProducerIdsAnswer
from zombieproof.model.vocabulary import NONE

Key = Any
"""What a row is about: a topic partition, a topic, a transactional id or a group."""


class RowsOf(NamedTuple):
    """Where a request names what has a row, and where its answer has them: `row` makes the one of an error."""

    asked: str
    answer: type
    told: str
    row: Callable[[Key, int], Any]
    error: str = ""
    """The error of the whole answer, where it has one; rows are then only told where it is NONE."""
    repeats: bool = False
    """Whether what stands in a request twice has two rows, which then name what they are about."""

    def keys(self, request: Any) -> list[Key]:
        """What has a row, in the order of the request."""
        return [_key(each) for each in getattr(request, self.asked) or ()]

    def of(self, request: Any, keys: Iterable[Key]) -> Any:
        """A request that asks for these only."""
        wanted, asked = set(keys), getattr(request, self.asked)
        if isinstance(asked, dict):
            return replace(request, **{self.asked: {key: asked[key] for key in asked if key in wanted}})
        left = tuple(each for each in asked if _key(each) in wanted)
        return replace(request, **{self.asked: left})

    def rows_of(self, answer: Any) -> Iterable[tuple[Key, Any]]:
        """The rows of an answer, each with what it is about."""
        told = getattr(answer, self.told)
        return told.items() if isinstance(told, dict) else [(_key(row), row) for row in told]

    def answered(self, rows: Iterable[tuple[Key, Any]]) -> Any:
        """An answer of these rows."""
        told = tuple(row for _, row in rows) if self.repeats else dict(rows)
        return self.answer(**({self.error: 0} if self.error else {}), **{self.told: told})


def _key(asked: Any) -> Key:
    return asked.partition if isinstance(asked, g.PlainOffsetToCommit | g.OffsetCommitted) else asked


def _error(_: Key, error: int) -> int:
    return int(error)


def _row(kind: Callable[[int], Any]) -> Callable[[Key, int], Any]:
    return lambda _, error: kind(error)


ROWS: Mapping[type, RowsOf] = {
    p.Produce: RowsOf("partitions", p.ProduceAnswer, "partitions", _row(p.Produced)),
    p.Fetch: RowsOf("partitions", p.FetchAnswer, "partitions", lambda _, error: p.Fetched(error, aborted=())),
    p.ListOffsets: RowsOf("partitions", p.ListOffsetsAnswer, "partitions", _row(p.ListedOffset)),
    p.DescribeTopics: RowsOf("topics", p.TopicsDescribed, "topics", _error),
    p.DescribeProducers: RowsOf("partitions", p.DescribeProducersAnswer, "partitions", _row(p.ProducersDescribed)),
    p.DeleteRecords: RowsOf("partitions", p.RecordsDeleted, "partitions", lambda _, error: (NONE, error)),
    p.DeleteTopics: RowsOf("topics", p.TopicsDeleted, "topics", _error),
    g.OffsetCommit: RowsOf("offsets", g.OffsetsCommitted, "rows", g.OffsetCommitted, repeats=True),
    g.TxnOffsetCommit: RowsOf("offsets", g.TxnOffsetsCommitted, "rows", g.OffsetCommitted, repeats=True),
    g.OffsetFetch: RowsOf("partitions", g.OffsetFetchAnswer, "partitions", _row(g.OffsetFetched), "error"),
    g.OffsetDelete: RowsOf("partitions", g.OffsetsDeleted, "errors", _error, "error"),
    g.DeleteGroups: RowsOf("groups", g.GroupsDeleted, "groups", _error),
    p.OffsetForLeaderEpoch: RowsOf("partitions", p.OffsetForLeaderEpochAnswer, "partitions", _row(p.EpochEnd)),
}
"""Requests with a row for each of what they name, in one field of the request and one of the answer."""


class ListOf(NamedTuple):
    """Where a request names what has a row in a list that is its answer: `row` makes the one of a name and an error."""

    asked: str
    answer: type
    told: str
    row: Callable[[str, int], Any]

    def keys(self, request: Any) -> list[str]:
        """What has a row, in the order of the request."""
        return list(getattr(request, self.asked))

    def answered(self, rows: Iterable[Any]) -> Any:
        """An answer of these rows."""
        return self.answer(**{self.told: tuple(rows)})


LISTS: Mapping[type, ListOf] = {
    t.DescribeTransactions: ListOf(
        "transactional_ids", t.DescribeTransactionsAnswer, "transactions", t.TransactionDescription
    ),
    d.DescribeGroups: ListOf("groups", d.GroupsDescribed, "groups", d.GroupDescription),
    d.ConsumerGroupDescribe: ListOf("groups", d.ConsumerGroupsDescribed, "groups", d.ConsumerGroupDescription),
}
"""Requests with a row for each name in them, told in a list."""

_WHOLE: Mapping[type, Callable[[int], Any]] = {
    t.InitProducerId: t.InitProducerIdAnswer,
    t.AddOffsetsToTxn: t.AddOffsetsToTxnAnswer,
    t.EndTxn: t.EndTxnAnswer,
    t.ListTransactions: t.ListTransactionsAnswer,
    d.ListGroups: d.GroupsListed,
    g.FindCoordinator: g.CoordinatorFound,
    g.JoinGroup: g.JoinGroupAnswer,
    g.SyncGroup: g.SyncGroupAnswer,
    g.LeaveGroup: g.GroupLeft,
    g.Heartbeat: g.GroupError,
    g.ConsumerGroupHeartbeat: g.ConsumerGroupHeartbeatAnswer,
    g.OffsetFetch: lambda error: g.OffsetFetchAnswer(error, {}),
    g.OffsetDelete: lambda error: g.OffsetsDeleted(error, {}),
    AllocateProducerIds: AllocateProducerIdsAnswer,
    a.DescribeLogDirs: lambda error: a.LogDirsDescribed("", {}, error),
}
"""Requests whose answer has a place for the error of the whole."""

ONE_TRANSACTION_UNTIL = 3
"""AddPartitionsToTxn up to here has no error of its own: each partition is told."""


def refusal(request: Any, error: int) -> Any:
    """The answer to `request` that says `error`.

    Raises:
        TypeError: nobody has said what the answer to such a request looks like.
    """
    whole = _WHOLE.get(type(request))
    if whole is not None:
        return whole(int(error))
    rows = ROWS.get(type(request))
    if rows is not None:
        return rows.answered((key, rows.row(key, int(error))) for key in rows.keys(request))
    listed = LISTS.get(type(request))
    if listed is not None:
        return listed.answered(listed.row(name, int(error)) for name in listed.keys(request))
    match request:
        case t.AddPartitionsToTxn(version=version) if version <= ONE_TRANSACTION_UNTIL:
            added = (
                t.TransactionAdded(each.transactional_id, dict.fromkeys(each.partitions, int(error)))
                for each in request.transactions
            )
            return t.AddPartitionsToTxnAnswer(0, tuple(added))
        case t.AddPartitionsToTxn():
            return t.AddPartitionsToTxnAnswer(int(error), ())
        case a.ElectLeaders():
            return a.LeadersElected(dict.fromkeys(request.partitions or (), a.PartitionElected(int(error))), int(error))
        case a.CreateTopics():
            return a.TopicsCreated(tuple(a.TopicCreated(each.name, int(error)) for each in request.topics))
        case a.CreatePartitions():
            return a.PartitionsCreated(tuple(a.TopicWidened(each.name, int(error)) for each in request.topics))
        case a.DescribeConfigs():
            described = (a.ResourceDescribed(int(error), None, each.kind, each.name) for each in request.resources)
            return a.ConfigsDescribed(tuple(described))
        case a.AlterConfigs() | a.IncrementalAlterConfigs():
            altered = (a.ResourceAltered(int(error), None, each.kind, each.name) for each in request.resources)
            return a.ConfigsAltered(tuple(altered))
        case p.WriteTxnMarkers():
            written = (
                p.MarkerWritten(each.producer_id, dict.fromkeys(each.partitions, int(error)))
                for each in request.markers
            )
            return p.WriteTxnMarkersAnswer(tuple(written))
        case _:
            raise TypeError(f"{type(request).__name__}: nobody has said how it is told of an error; see `ROWS`")
