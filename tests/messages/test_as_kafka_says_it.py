"""What the registry says is enough to make Kafka's requests of ours, and our answers of Kafka's, in each version."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from zombieproof.formats.topics import TopicPartition
from zombieproof.messages import admin as a
from zombieproof.messages import controller as c
from zombieproof.messages import groups as g
from zombieproof.messages import partitions as p
from zombieproof.messages import transactions as t
from zombieproof.messages.registry import api_of
from zombieproof.model.vocabulary import ApiKey, Isolation

pytestmark = pytest.mark.skipif(find_spec("kio") is None, reason="kio (extra `wire`) is missing; names are compared")

T: TopicPartition = ("t0", 1)
REQUESTS: dict[type, Any] = {
    p.Produce: lambda v: p.Produce(v, "x0", -1, {T: ()}),
    p.Fetch: lambda v: p.Fetch(v, Isolation.READ_COMMITTED, {T: 7}, leader_epochs={T: 3}),
    p.ListOffsets: lambda v: p.ListOffsets(v, Isolation.READ_UNCOMMITTED, {T: 5}, {T: 3}),
    p.OffsetForLeaderEpoch: lambda v: p.OffsetForLeaderEpoch(v, {T: 5}, {T: 3}),
    p.DescribeTopics: lambda v: p.DescribeTopics(v, ("t0",)),
    p.WriteTxnMarkers: lambda v: p.WriteTxnMarkers(v, (p.MarkerToWrite(5, 1, True, 3, (T,), 2),)),
    p.DeleteRecords: lambda v: p.DeleteRecords(v, {T: 7}, 100),
    a.CreateTopics: lambda v: a.CreateTopics(
        v, (a.NewTopic("t0", -1, -1, (a.ReplicaAssignment(0, (1,)),), (a.Setting("retention.ms", "1"),)),), 100, True
    ),
    a.CreatePartitions: lambda v: a.CreatePartitions(
        v, (a.TopicToWiden("t0", 2, (a.AddedReplicas((1,)),)),), 100, True
    ),
    a.DescribeConfigs: lambda v: a.DescribeConfigs(v, (a.ResourceToDescribe(2, "t0", ("retention.ms",)),), True, True),
    a.AlterConfigs: lambda v: a.AlterConfigs(v, (a.ResourceToAlter(2, "t0", (a.Setting("retention.ms", "1"),)),), True),
    a.IncrementalAlterConfigs: lambda v: a.IncrementalAlterConfigs(
        v, (a.ResourceToChange(2, "t0", (a.SettingChange("retention.ms", 1),)),), True
    ),
    a.ElectLeaders: lambda v: a.ElectLeaders(v, (T,), 1, 100),
    a.DescribeLogDirs: lambda v: a.DescribeLogDirs(v, (T,)),
    p.DeleteTopics: lambda v: p.DeleteTopics(v, ("t0",), 100),
    p.DescribeProducers: lambda v: p.DescribeProducers(v, (T,)),
    g.OffsetCommit: lambda v: g.OffsetCommit(v, "g0", (g.OffsetToCommit(T, 5, "m"),), 3, "m0", "i"),
    g.OffsetFetch: lambda v: g.OffsetFetch(v, "g0", True, (T,)),
    g.FindCoordinator: lambda v: g.FindCoordinator(v, "x0", 1),
    g.JoinGroup: lambda v: g.JoinGroup(v, "g0", "m0", "i"),
    g.Heartbeat: lambda v: g.Heartbeat(v, "g0", 3, "m0", "i"),
    g.LeaveGroup: lambda v: g.LeaveGroup(v, "g0", "m0", (g.Leaver("m1", "i"),)),
    g.SyncGroup: lambda v: g.SyncGroup(v, "g0", 3, "m0", "i"),
    g.TxnOffsetCommit: lambda v: g.TxnOffsetCommit(v, "x0", "g0", 5, 1, (g.OffsetToCommit(T, 5, "m"),), 3, "m0"),
    g.OffsetDelete: lambda v: g.OffsetDelete(v, "g0", (T,)),
    g.DeleteGroups: lambda v: g.DeleteGroups(v, ("g0", "g1")),
    g.DescribeGroups: lambda v: g.DescribeGroups(v, ("g0", "g1")),
    g.ListGroups: lambda v: g.ListGroups(v, ("Stable",), ("classic",)),
    g.ConsumerGroupDescribe: lambda v: g.ConsumerGroupDescribe(v, ("g0",)),
    g.ConsumerGroupHeartbeat: lambda v: g.ConsumerGroupHeartbeat(v, "g0", "m0", 0, ("t0",)),
    t.InitProducerId: lambda v: t.InitProducerId(v, "x0", 1, 5, 1, True, True),
    t.AddPartitionsToTxn: lambda v: t.AddPartitionsToTxn(v, (t.TransactionToAdd("x0", 5, 1, (T,), True),)),
    t.AddOffsetsToTxn: lambda v: t.AddOffsetsToTxn(v, "x0", 5, 1, "g0"),
    t.EndTxn: lambda v: t.EndTxn(v, "x0", 5, 1, True),
    t.DescribeTransactions: lambda v: t.DescribeTransactions(v, ("x0",)),
    t.ListTransactions: lambda v: t.ListTransactions(v, ("Ongoing",), (5,), 7, "x.*"),
    c.AllocateProducerIds: lambda v: c.AllocateProducerIds(v, 1, 2),
}

EVERY = [(kind, version) for kind in REQUESTS for version in api_of(kind).versions]


def names() -> Any:
    """Names of a run, with ids of its topics."""
    from uuid import uuid4  # noqa: PLC0415  # with the next one, which kio is needed for

    from tests.answers.recorder.names import Names  # noqa: PLC0415  # the rest of its package needs kio

    found = Names("run", ["t0"])
    found.ids[found.topics["t0"]] = uuid4()
    return found


def test_every_request_is_tried() -> None:
    from zombieproof.messages.registry import APIS  # noqa: PLC0415  # beside its use

    assert set(REQUESTS) == {api.request for api in APIS}


@pytest.mark.parametrize(("kind", "version"), EVERY, ids=[f"{kind.__name__} {version}" for kind, version in EVERY])
def test_a_request_can_be_written_in_each_version(kind: type, version: int) -> None:
    from io import BytesIO  # noqa: PLC0415  # with those that kio is needed for

    from kio.serial import entity_reader, entity_writer  # noqa: PLC0415  # an extra

    recorder = import_module("tests.answers.recorder.messages")
    made = recorder.request_of(REQUESTS[kind](version), names(), 0)
    out = BytesIO()
    entity_writer(type(made))(out, made)
    again, _ = entity_reader(type(made))(out.getvalue(), 0)
    assert again == made
    assert type(made).__version__ == version


def test_an_answer_is_read_by_the_same_names() -> None:
    from zombieproof.wire.entities import entity_class  # noqa: PLC0415  # needs kio

    recorder = import_module("tests.answers.recorder.messages")
    known = names()
    for version in api_of(g.DeleteGroups).versions:
        response = entity_class(ApiKey.DELETE_GROUPS, version, "response")
        group = known.group("g1")
        values = {
            "throttle_time": 0,
            "results": [{"group_id": group, "error_code": 69}, {"group_id": "g?", "error_code": 0}],
        }
        told = recorder.answer_of(g.DeleteGroups(version, ()), recorder.made(response, values), known)
        assert told == g.GroupsDeleted({"g1": 69, "g?": 0})


@pytest.mark.parametrize("version", [3, 4])
def test_an_answer_of_another_shape_in_another_version_is_the_same(version: int) -> None:
    recorder = import_module("tests.answers.recorder.messages")
    known = names()
    response = import_module(f"kio.schema.add_partitions_to_txn.v{version}.response").AddPartitionsToTxnResponse
    rows = [{**known.topic("t0"), "results_by_partition": [{"partition_index": 1, "partition_error_code": 51}]}]
    values = {
        "throttle_time": 0,
        "error_code": 0,
        "results_by_topic_v3_and_below": rows,
        "results_by_transaction": [{"transactional_id": "x0", "topic_results": rows}],
    }
    told = recorder.answer_of(t.AddPartitionsToTxn(version, ()), recorder.made(response, values), known)
    assert [each.errors for each in told.transactions] == [{T: 51}]
