"""What recordings call the fields of messages, and which they leave out: what the registry cannot know.

A field that is not named here is called as in the message. Source: reference §7.5, §7.6; README of the recordings.
"""

from collections.abc import Mapping

from zombieproof.messages import groups as g
from zombieproof.messages import partitions as p
from zombieproof.messages import transactions as t

Field = tuple[type, str]

_NAMES: Mapping[str, str] = {
    "producer_id": "pid",
    "producer_ids": "pids",
    "producer_epoch": "epoch",
    "ongoing_producer_id": "ongoing_pid",
    "ongoing_producer_epoch": "ongoing_epoch",
    "duration_ms": "duration",
    "transaction_version": "tv",
    "leavers": "members",
    "errors": "partitions",
    "unknown_states": "unknown",
    "high_watermark": "hw",
    "last_stable_offset": "lso",
    "txn_start_offset": "txn_start",
}
_NAMES_IN: Mapping[Field, str] = {
    (g.OffsetsCommitted, "rows"): "partitions",
    (g.TxnOffsetsCommitted, "rows"): "partitions",
    (p.Fetched, "log_start_offset"): "log_start",
    (t.TransactionDescription, "start_ms"): "started",
}

LEFT_OUT: frozenset[Field] = frozenset(
    {
        (t.ListTransactions, "pattern"),
        (p.Fetch, "min_bytes"),
        (p.Fetch, "max_wait_ms"),
        (p.Fetch, "max_bytes"),
        (p.Fetch, "partition_max_bytes"),
        *((p.Fetch, name) for name in ("of_each_max_bytes", "leader_epochs", "last_epochs")),
        *((p.Fetched, name) for name in ("diverging_epoch", "diverging_end_offset")),
        (p.ListOffsets, "leader_epochs"),
        *((p.ListedOffset, name) for name in ("timestamp_ms", "leader_epoch")),
        (g.OffsetToCommit, "leader_epoch"),
        (g.PlainOffsetToCommit, "leader_epoch"),
        (g.OffsetCommit, "retention_ms"),
        (g.OffsetFetch, "member"),
        (g.OffsetFetch, "member_epoch"),
        (p.Produced, "message"),
        (p.Produced, "log_append_time_ms"),
        (p.ProducerDescription, "last_timestamp_ms"),
        (g.OffsetFetched, "leader_epoch"),
        (g.CoordinatorFound, "node"),
        (g.GroupProtocol, "metadata"),
        *((g.JoinGroupAnswer, name) for name in ("protocol_type", "protocol", "members", "skips_assignment")),
        *((g.SyncGroup, name) for name in ("assignments", "protocol_type", "protocol")),
        *((g.SyncGroupAnswer, name) for name in ("assignment", "protocol_type", "protocol")),
        (g.ConsumerGroupHeartbeatAnswer, "heartbeat_interval_ms"),
    }
)
"""Fields that no recording has: what was asked had their defaults, and what was answered differs from run to run."""

SAID_BESIDES: Mapping[Field, str] = {
    (g.SyncGroup, "protocol_type"): g.CONSUMERS,
    (g.SyncGroup, "protocol"): g.SAYS_NOTHING[0].name,
}
"""Fields that no recording has, and what every request has said there."""

OPTIONAL: frozenset[Field] = frozenset(
    {
        (g.JoinGroup, "instance"),
        (g.JoinGroup, "session_timeout_ms"),
        (g.JoinGroup, "rebalance_timeout_ms"),
        (g.JoinGroup, "protocol_type"),
        (g.JoinGroup, "protocols"),
        (g.SyncGroup, "instance"),
        (g.OffsetCommit, "instance"),
        *((g.ConsumerGroupHeartbeat, name) for name in ("topics", "instance", "rebalance_timeout_ms")),
        *((g.ConsumerGroupHeartbeat, name) for name in ("topic_pattern", "assignor", "owned")),
        (p.DescribeTopics, "by_id"),
        (p.DeleteTopics, "by_id"),
        (p.DescribeTopics, "creates"),
        (p.MarkerToWrite, "transaction_version"),
    }
)
"""Fields of requests that a recording may leave out in every version."""

SAID_AS_NOTHING: frozenset[Field] = frozenset({(g.ConsumerGroupHeartbeat, "owned")})
"""Optional fields of which a recording says by null that a request has nothing there; others have their defaults."""

TOLD_BY_SOME: frozenset[tuple[str, str]] = frozenset({("ConsumerGroupHeartbeat", "assignment")})
"""By API, what only some recordings have of its answers: it is compared where it was recorded."""

AS_LISTS: frozenset[type] = frozenset(
    {
        p.ListedOffset,
        g.OffsetToCommit,
        g.PlainOffsetToCommit,
        g.OffsetCommitted,
        g.OffsetFetched,
        g.Leaver,
        g.LeaverLeft,
        t.TransactionListing,
    }
)
"""Records that stand as lists without names."""

GRANTING: frozenset[Field] = frozenset(
    {
        (t.InitProducerIdAnswer, "producer_id"),
        (t.InitProducerIdAnswer, "ongoing_producer_id"),
        (t.EndTxnAnswer, "producer_id"),
    }
)
"""Answers that name a producer id for the first time."""

REPEATING: frozenset[Field] = frozenset({(g.LeaverLeft, "member")})
"""Answers that only repeat who a member is."""


def name_of(message: type, field: str) -> str:
    """What recordings call a field."""
    return _NAMES_IN.get((message, field)) or _NAMES.get(field, field)
