"""The door of a broker: who is asked for rights, what is refused beside what, and that a refusal leaves no trace."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.wire.fronts import fronted
from zombieproof.bridge.again import live_again
from zombieproof.broker.authorization.access_list import AccessList, Entry
from zombieproof.broker.authorization.door import HIDDEN_TOPICS, Visit
from zombieproof.broker.authorization.principals import Principal
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.journal import KeptJournal
from zombieproof.broker.cluster.live_trace import LiveTraceFile
from zombieproof.broker.cluster.network import Request
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.config import Durability
from zombieproof.formats.batches import Batch, Record
from zombieproof.messages import admin as a
from zombieproof.messages import group_descriptions as d
from zombieproof.messages import groups as g
from zombieproof.messages import partitions as p
from zombieproof.messages import transactions as t
from zombieproof.messages.controller import AllocateProducerIds
from zombieproof.messages.refusals import refusal
from zombieproof.messages.registry import APIS, Receiver, api_of
from zombieproof.model.access import CLUSTER_NAME, AclOperation, PatternType, Permission, ResourceType
from zombieproof.model.vocabulary import Error, Isolation
from zombieproof.traces.trace_file import read_live
from zombieproof.wire.apis.describe_log_dirs import DESCRIBE_LOG_DIRS
from zombieproof.wire.apis.metadata import METADATA
from zombieproof.wire.asking import answer_in
from zombieproof.wire.names import NO_ID, TopicNames

ROOT, U = Principal("root"), Principal("u")
SETTINGS = Settings(transaction_state_log_num_partitions=1, offsets_topic_num_partitions=1)
TOPIC, ID, GROUP = ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID, ResourceType.GROUP


def may(operation: str, resource: ResourceType, name: str, *, by_prefix: bool = False) -> Entry:
    pattern = PatternType.PREFIXED if by_prefix else PatternType.LITERAL
    return Entry(str(U), Permission.ALLOW, AclOperation[operation], resource, name, pattern)


def cluster_of(*entries: Entry, **more: Any) -> Cluster:
    access = AccessList(frozenset(entries), frozenset({str(ROOT)}))
    return Cluster(1, settings=SETTINGS, topics={"a": 1, "b": 1}, access=access, **more)


def ask(cluster: Cluster, request: Request, who: Principal | None = U) -> Any:
    return cluster.ask(request, None, who)


def batches(*topics: str) -> dict[tuple[str, int], tuple[p.SentBatch, ...]]:
    return {(topic, 0): (p.SentBatch(Batch(records=(Record(None, b"v"),))),) for topic in topics}


COMPACT = "cleanup.policy"
A, B, NOPE = ("a", 0), ("b", 0), ("nope", 0)


# ---------------------------------------------------------------- who is asked


def test_without_an_access_list_nobody_is_asked() -> None:
    cluster = Cluster(1, settings=SETTINGS, topics={"a": 1})
    for who in (None, U):
        assert ask(cluster, t.InitProducerId(4, "x", 60_000), who).error == 0
    assert not cluster.brokers[1].desk.visits
    with pytest.raises(ValueError, match="this cluster asks nobody for rights"):
        cluster.set_access([])


def test_who_does_not_say_who_he_is_is_anonymous() -> None:
    cluster = cluster_of()
    request = t.InitProducerId(4, "x", 60_000)
    assert ask(cluster, request, None).error == Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    entry = may("WRITE", ID, "x")._replace(principal="User:ANONYMOUS")
    cluster.set_access([entry])
    assert ask(cluster, request, None).error == 0


def test_brokers_are_not_asked_for_rights_by_each_other() -> None:
    access = AccessList(frozenset({may("ALL", ID, "*"), may("ALL", TOPIC, "*")}))
    cluster = Cluster(3, settings=SETTINGS, topics={"a": 3}, access=access)
    granted = cluster.ask(t.InitProducerId(4, "x", 60_000), cluster.coordinator_of("x"), U)
    assert isinstance(granted, t.InitProducerIdAnswer)
    for number in range(3):
        batch = Batch(granted.producer_id, granted.producer_epoch, 0, True, (Record(None, b"v"),))
        request = p.Produce(12, "x", -1, {("a", number): (p.SentBatch(batch),)})
        produced: Any = cluster.ask(request, cluster.leader_of(("a", number)), U)
        assert produced.partitions["a", number].error == 0
    ended: Any = cluster.ask(
        t.EndTxn(5, "x", granted.producer_id, granted.producer_epoch, True), cluster.coordinator_of("x"), U
    )
    assert ended.error == 0
    markers = [store.log.end_offset for (_, tp), store in cluster.stores.items() if tp[0] == "a"]
    assert markers == [2, 2, 2]


def test_a_client_is_no_broker() -> None:
    cluster = cluster_of()
    assert ask(cluster, AllocateProducerIds(0, 1)).error == Error.CLUSTER_AUTHORIZATION_FAILED
    assert ask(cluster, AllocateProducerIds(0, 1), ROOT).error == 0


def test_a_copy_is_of_the_same_sender() -> None:
    cluster = cluster_of(may("WRITE", ID, "x"))
    exchange = cluster.send(t.InitProducerId(4, "x", 60_000), None, U)
    cluster.double(cluster.network.in_flight[0])
    assert [message.principal for message in cluster.network.in_flight] == [U, U]
    cluster.settle()
    assert exchange.answer is not None
    [row] = ask(cluster, t.DescribeTransactions(0, ("x",)), ROOT).transactions
    assert row.producer_epoch == 1


def test_rights_count_when_a_request_arrives() -> None:
    cluster = cluster_of(may("WRITE", ID, "x"))
    exchange = cluster.send(t.InitProducerId(4, "x", 60_000), None, U)
    cluster.set_access([])
    cluster.settle()
    assert isinstance(exchange.answer, t.InitProducerIdAnswer)
    assert exchange.answer.error == Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


# ---------------------------------------------------------------- what is refused, and beside what


def test_rows_stand_in_the_order_in_which_they_were_asked_for() -> None:
    cluster = cluster_of(may("ALL", TOPIC, "a"))
    for keys in ((A, B, NOPE), (NOPE, B, A), (B, A)):
        names = [topic for topic, _ in keys]
        told = {"a": 0, "b": 29, "nope": 29}
        wanted = [told[name] for name in names]
        answers: list[Any] = [
            ask(cluster, p.Produce(11, None, -1, batches(*names))),
            ask(cluster, p.Fetch(11, Isolation.READ_COMMITTED, dict.fromkeys(keys, 0))),
            ask(cluster, p.DescribeProducers(0, keys)),
        ]
        for answer in answers:
            assert [row.error for row in answer.partitions.values()] == wanted
            assert list(answer.partitions) == list(keys)
        offsets: Any = ask(cluster, p.ListOffsets(5, Isolation.READ_COMMITTED, dict.fromkeys(keys, p.LATEST)))
        assert [row.error for row in offsets.partitions.values()] == wanted
        described: Any = ask(cluster, p.DescribeTopics(12, tuple(names)))
        assert list(described.topics.items()) == list(zip(names, wanted, strict=True))


def test_a_produce_that_wants_no_answer_hears_of_a_refusal_by_the_end_of_its_connection() -> None:
    cluster = cluster_of(may("WRITE", TOPIC, "a"))
    for names, is_closed, written in ((("a",), False, 1), (("a", "b"), True, 2), (("b",), True, 2)):
        exchange = cluster.send(p.Produce(11, None, 0, batches(*names)), None, U)
        cluster.settle()
        assert exchange.is_closed is is_closed
        assert cluster.stores[1, A].log.end_offset == written
    assert cluster.stores[1, B].log.end_offset == 0


def test_a_fetch_that_waits_is_answered_with_what_was_refused() -> None:
    cluster = cluster_of(may("READ", TOPIC, "a"))
    request = p.Fetch(11, Isolation.READ_UNCOMMITTED, {B: 0, A: 0}, min_bytes=1, max_wait_ms=1000)
    exchange = cluster.send(request, None, U)
    cluster.settle()
    assert exchange.answer is None
    ask(cluster, p.Produce(11, None, -1, batches("a")), ROOT)
    answer: Any = exchange.answer
    assert {tp: (row.error, len(row.batches)) for tp, row in answer.partitions.items()} == {B: (29, 0), A: (0, 1)}
    assert not cluster.brokers[1].desk.visits


def test_a_fetch_of_nothing_but_what_is_refused_waits_for_nothing() -> None:
    cluster = cluster_of()
    request = p.Fetch(11, Isolation.READ_UNCOMMITTED, {B: 0, NOPE: 0}, min_bytes=1, max_wait_ms=1000)
    answer: Any = cluster.ask(request, None, U)
    assert {tp: (row.error, row.aborted) for tp, row in answer.partitions.items()} == {B: (29, ()), NOPE: (29, ())}


def test_who_hangs_up_is_forgotten() -> None:
    cluster = cluster_of(may("READ", TOPIC, "a"))
    exchange = cluster.send(p.Fetch(11, Isolation.READ_UNCOMMITTED, {A: 0}, 1, 1000), None, U)
    cluster.settle()
    assert cluster.brokers[1].desk.visits
    cluster.disconnect(exchange)
    assert not cluster.brokers[1].desk.visits


def test_all_topics_and_all_offsets_are_those_that_one_may_know() -> None:
    cluster = cluster_of(may("DESCRIBE", TOPIC, "a"), may("READ", GROUP, "g"))
    answer: Any = ask(cluster, p.DescribeTopics(12, None))
    assert answer.topics == {"a": 0}
    assert set(ask(cluster, p.DescribeTopics(12, None), ROOT).topics) > {"a", "b"}
    rows = (g.OffsetToCommit(A, 1, ""), g.OffsetToCommit(B, 2, ""))
    ask(cluster, g.OffsetCommit(8, "g", rows), ROOT)
    fetched: Any = ask(cluster, g.OffsetFetch(7, "g", False, None))
    assert {tp: row.offset for tp, row in fetched.partitions.items()} == {A: 1}


def test_a_topic_named_by_an_id_of_none_is_unknown_and_one_named_by_its_own_is_denied() -> None:
    cluster = cluster_of()
    answer: Any = ask(cluster, p.DescribeTopics(12, ("a", "nope"), by_id=True))
    assert answer.topics == {"a": 29, "nope": 100}
    unknown = frozenset({"nope"})
    produced: Any = ask(cluster, p.Produce(13, None, -1, batches("a", "nope"), unknown))
    assert {tp: row.error for tp, row in produced.partitions.items()} == {A: 29, NOPE: 100}


def test_a_refusal_is_a_decision_in_the_journal() -> None:
    journal = KeptJournal()
    cluster = cluster_of(journal=journal)
    journal.clear()
    ask(cluster, t.EndTxn(3, "x", 1, 0, True))
    ask(cluster, p.DescribeProducers(0, (A, B)))
    refused = [(each.subject, each.error) for each in journal.decisions if each.decision == "authorization"]
    assert refused == [("User:u", 53), ("User:u a", 29), ("User:u b", 29)]


# ---------------------------------------------------------------- the form of a refusal

EVERY: tuple[Request, ...] = (
    p.Produce(11, "x", -1, batches("a", "b")),
    p.Fetch(11, Isolation.READ_COMMITTED, {A: 0, B: 0}),
    p.ListOffsets(5, Isolation.READ_COMMITTED, {A: p.LATEST, B: p.LATEST}),
    p.DescribeTopics(12, ("a", "b")),
    p.DescribeTopics(12, None),
    g.OffsetCommit(8, "g", (g.PlainOffsetToCommit(A, 1, ""),)),
    g.OffsetFetch(7, "g", False, (A,)),
    g.OffsetFetch(7, "g", False, None),
    g.FindCoordinator(3, "x", 1),
    g.JoinGroup(3, "g", ""),
    g.Heartbeat(3, "g", 1, "m"),
    g.LeaveGroup(3, "g", leavers=(g.Leaver("m"),)),
    g.SyncGroup(3, "g", 1, "m"),
    p.DeleteTopics(5, ("a", "b")),
    p.DeleteRecords(2, {A: 0}),
    t.InitProducerId(4, "x", 60_000),
    t.AddPartitionsToTxn(3, (t.TransactionToAdd("x", 1, 0, (A, B)),)),
    t.AddPartitionsToTxn(4, (t.TransactionToAdd("x", 1, 0, (A, B)),)),
    t.AddOffsetsToTxn(3, "x", 1, 0, "g"),
    t.EndTxn(3, "x", 1, 0, True),
    p.WriteTxnMarkers(1, (p.MarkerToWrite(1, 0, True, 0, (A,)),)),
    g.TxnOffsetCommit(3, "x", "g", 1, 0, (g.OffsetToCommit(A, 1, ""),)),
    g.DeleteGroups(2, ("g", "h")),
    g.OffsetDelete(0, "g", (A,)),
    p.DescribeProducers(0, (A, B)),
    t.DescribeTransactions(0, ("x", "y")),
    t.ListTransactions(0),
    AllocateProducerIds(0, 1),
    g.ConsumerGroupHeartbeat(0, "g", "m", 0),
    p.OffsetForLeaderEpoch(4, {A: 0, B: 0}),
    d.DescribeGroups(5, ("g", "h")),
    d.ListGroups(5),
    d.ConsumerGroupDescribe(1, ("g", "h")),
    a.CreateTopics(7, (a.NewTopic("a"), a.NewTopic("new"))),
    a.CreatePartitions(3, (a.TopicToWiden("a", 2), a.TopicToWiden("b", 1))),
    a.DescribeConfigs(4, (a.ResourceToDescribe(2, "a"), a.ResourceToDescribe(4, "1"))),
    a.AlterConfigs(2, (a.ResourceToAlter(2, "a", (a.Setting(COMPACT, "compact"),)), a.ResourceToAlter(4, "1"))),
    a.IncrementalAlterConfigs(1, (a.ResourceToChange(2, "a", (a.SettingChange(COMPACT, 0, "compact"),)),)),
    a.ElectLeaders(2, (A, B)),
    a.DescribeLogDirs(4, (A, B)),
)


def test_every_api_is_here() -> None:
    assert {api_of(type(request)).key for request in EVERY} == {api.key for api in APIS}


@pytest.mark.parametrize("request_", EVERY, ids=lambda each: f"{type(each).__name__}-{each.version}")
def test_an_error_is_told_in_the_form_of_each_request(request_: Request) -> None:
    told = refusal(request_, Error.ILLEGAL_SASL_STATE)
    assert isinstance(told, api_of(type(request_)).answer)
    says_nothing = request_ == p.DescribeTopics(12, None)
    assert (str(int(Error.ILLEGAL_SASL_STATE)) in repr(told)) is not says_nothing


def test_what_is_no_request_is_told_nothing() -> None:
    with pytest.raises(TypeError, match="nobody has said how it is told of an error"):
        refusal(t.EndTxnAnswer(0), Error.ILLEGAL_SASL_STATE)


@pytest.mark.parametrize("request_", EVERY, ids=lambda each: f"{type(each).__name__}-{each.version}")
def test_who_has_no_right_changes_nothing_and_learns_nothing(request_: Request) -> None:
    """Whatever is asked: logs and coordinators are as before, and the answer is the same where nothing exists."""
    full, empty = cluster_of(), cluster_of()
    for each in (t.InitProducerId(4, "x", 60_000), p.Produce(11, None, -1, batches("a", "b"))):
        ask(full, each, ROOT)
    ask(full, g.OffsetCommit(8, "g", (g.PlainOffsetToCommit(A, 1, ""),)), ROOT)
    before = facts(full)
    answer = ask(full, request_)
    assert facts(full) == before
    assert answer == ask(empty, request_)
    assert api_of(type(request_)).receiver is not Receiver.CONTROLLER or answer.error == 31


def test_of_groups_one_is_told_what_one_may_know() -> None:
    cluster = cluster_of()
    ask(cluster, g.OffsetCommit(8, "g", (g.PlainOffsetToCommit(A, 1, ""),)), ROOT)
    assert [row.group for row in ask(cluster, d.ListGroups(5), ROOT).groups] == ["g"]
    assert ask(cluster, d.ListGroups(5)).groups == ()
    described = d.DescribeGroups(5, ("g", "h"))
    assert [(row.group, row.error) for row in ask(cluster, described).groups] == [("g", 30), ("h", 30)]
    assert [(row.group, row.error, row.state) for row in ask(cluster, described, ROOT).groups] == [
        ("g", 0, "Empty"),
        ("h", 0, "Dead"),
    ]


def facts(cluster: Cluster) -> Any:
    broker = cluster.brokers[1]
    logs = {tp: tuple(replica.log.read()) for tp, replica in broker.partitions.replicas.items()}
    store = broker.groups.store(0)
    groups = None if store is None else sorted(store.groups)
    metadata = cluster.metadata
    stated = [metadata.stated_of(topic) for topic in metadata.topic_ids]
    known = dict(metadata.topic_ids), dict(metadata.partitions), stated, dict(metadata.dynamic)
    return logs, dict(broker.coordinator.entries(0)), groups, known


def test_on_the_wire_a_topic_that_one_may_not_know_of_has_only_what_was_asked_for() -> None:
    topics = ("a", "__consumer_offsets", "nope")
    cluster = cluster_of()
    ids = cluster.metadata.topic_ids
    names = TopicNames(ids, cluster.metadata.topic_names)
    around: Any = SimpleNamespace(
        metadata=cluster.metadata, names=names, addresses={}, up=lambda: cluster.brokers, cluster_id="c"
    )
    named = SimpleNamespace(topics=[SimpleNamespace(name=name, topic_id=None) for name in topics])
    answer: Any = ask(cluster, p.DescribeTopics(12, topics))
    told: Any = METADATA.to_values(named, (answer,), 12, around)
    assert [(row["name"], row["topic_id"], row["is_internal"], row["partitions"]) for row in told["topics"]] == [
        (name, NO_ID, False, []) for name in topics
    ]
    of_ids = SimpleNamespace(topics=[SimpleNamespace(name=None, topic_id=ids["a"])])
    answer = ask(cluster, p.DescribeTopics(12, ("a",), by_id=True))
    told = METADATA.to_values(of_ids, (answer,), 12, around)
    assert [(row["name"], row["topic_id"], row["error_code"]) for row in told["topics"]] == [(None, ids["a"], 29)]
    answer = ask(cluster, p.DescribeTopics(12, ("a",)), ROOT)
    told = METADATA.to_values(SimpleNamespace(topics=[SimpleNamespace(name="a")]), (answer,), 12, around)
    assert [(row["name"], row["topic_id"]) for row in told["topics"]] == [("a", ids["a"])]


# ---------------------------------------------------------------- topics, settings and the cluster

DENIED = "Topic authorization failed.", "Cluster authorization failed."


def test_topics_are_made_by_who_may_and_described_to_who_may_know() -> None:
    made = a.CreateTopics(7, (a.NewTopic("new", 2), a.NewTopic("other"), a.NewTopic("a")))
    cluster = cluster_of(may("CREATE", TOPIC, "new"))
    rows = {each.name: each for each in ask(cluster, made).topics}
    assert rows["new"] == a.TopicCreated("new", 0, settings_error=29)
    assert rows["other"] == a.TopicCreated("other", 29, "Authorization failed.")
    assert rows["a"] == a.TopicCreated("a", 29, "Authorization failed.")
    assert (cluster.metadata.count("new"), cluster.metadata.count("other")) == (2, 0)
    told = may("DESCRIBE_CONFIGS", TOPIC, "other"), may("CREATE", ResourceType.CLUSTER, CLUSTER_NAME)
    of_all = {each.name: each for each in ask(cluster_of(*told), made).topics}
    assert (of_all["other"].partitions, of_all["other"].settings_error, of_all["a"].error) == (1, 0, 36)
    assert of_all["other"].settings
    assert of_all["new"].settings_error == 29


def test_what_one_may_not_make_does_not_count_among_too_many() -> None:
    asked = a.CreateTopics(7, (a.NewTopic("new"), a.NewTopic("other", 10_000)))
    told = {each.name: each.error for each in ask(cluster_of(may("CREATE", TOPIC, "new")), asked).topics}
    assert told == {"new": 0, "other": 29}


def test_partitions_are_added_by_who_may_alter_the_topic() -> None:
    cluster = cluster_of(may("ALTER", TOPIC, "a"))
    asked = a.CreatePartitions(3, tuple(a.TopicToWiden(each, 2) for each in ("a", "b", "nope")))
    assert [(each.error, each.message) for each in ask(cluster, asked).topics] == [(0, None), (29, None), (29, None)]
    assert (cluster.metadata.count("a"), cluster.metadata.count("b")) == (2, 1)


def test_settings_are_told_to_who_may_know_them() -> None:
    asked = a.DescribeConfigs(
        4, tuple(a.ResourceToDescribe(*each) for each in ((2, "a"), (2, "b"), (4, "1"), (4, "7")))
    )
    told = ask(cluster_of(may("DESCRIBE_CONFIGS", TOPIC, "a")), asked).resources
    assert [(each.error, each.message) for each in told] == [(0, ""), (29, DENIED[0]), (31, DENIED[1]), (31, DENIED[1])]
    assert [bool(each.settings) for each in told] == [True, False, False, False]
    of_cluster = ask(cluster_of(may("DESCRIBE_CONFIGS", ResourceType.CLUSTER, CLUSTER_NAME)), asked).resources
    assert [each.error for each in of_cluster] == [29, 29, 0, 42]


def test_settings_are_changed_by_who_may() -> None:
    cluster = cluster_of(
        may("ALTER_CONFIGS", TOPIC, "a"), may("ALTER_CONFIGS", TOPIC, "gone"), may("DESCRIBE_CONFIGS", TOPIC, "b")
    )
    compact = (a.SettingChange(COMPACT, 0, "compact"),)
    resources = tuple(a.ResourceToChange(2, each, compact) for each in ("a", "b", "nope", "gone", ""))
    told = ask(cluster, a.IncrementalAlterConfigs(1, resources)).resources
    assert [each.error for each in told] == [0, 29, 29, 3, 29]
    stated = [cluster.metadata.stated_of(each) for each in ("a", "b")]
    assert stated == [{COMPACT: "compact"}, {}]
    anew = a.AlterConfigs(2, (a.ResourceToAlter(2, "a"), a.ResourceToAlter(2, "b"), a.ResourceToAlter(2, "b")))
    assert [each.error for each in ask(cluster, anew).resources] == [0, 42, 42]
    assert cluster.metadata.stated_of("a") == {}


def test_settings_of_brokers_are_of_the_cluster() -> None:
    fits, fits_not = a.SettingChange("min.insync.replicas", 0, "1"), a.SettingChange("num.partitions", 0, "3")
    for rights, errors in (((), (31, 42)), ((may("ALTER_CONFIGS", ResourceType.CLUSTER, CLUSTER_NAME),), (0, 42))):
        cluster = cluster_of(*rights)
        asked = [a.IncrementalAlterConfigs(1, (a.ResourceToChange(4, "1", (each,)),)) for each in (fits, fits_not)]
        assert tuple(ask(cluster, each).resources[0].error for each in asked) == errors
        assert bool(cluster.metadata.dynamic) is (errors[0] == 0)


@pytest.mark.parametrize(
    ("asked", "operation"), [(a.ElectLeaders(2, (A,)), "ALTER"), (a.DescribeLogDirs(4, (A,)), "DESCRIBE")]
)
def test_leaders_and_logs_are_of_the_cluster(asked: Request, operation: str) -> None:
    for right in ("ALTER", "DESCRIBE", "ALTER_CONFIGS"):
        answer = ask(cluster_of(may(right, ResourceType.CLUSTER, CLUSTER_NAME)), asked)
        # Who may alter may also describe.
        assert answer.error == (0 if right == operation or (right, operation) == ("ALTER", "DESCRIBE") else 31)


@pytest.mark.parametrize("place", ["assignment", "target", "none"])
def test_a_consumer_group_is_told_whole_or_not_at_all(place: str) -> None:
    has = {} if place == "none" else {place: (A, B)}
    member = d.ConsumerDescription("m", None, 1, "c", "/h", ("b",), "", **has)  # type: ignore[arg-type]  # as declared
    row = d.ConsumerGroupDescription("g", 0, None, "Stable", 1, 1, "uniform", (member,))
    request = d.ConsumerGroupDescribe(1, ("g",))
    for names, is_told in (("a",), place == "none"), (("a", "b"), True):
        entries = frozenset({may("DESCRIBE", GROUP, "g"), *(may("DESCRIBE", TOPIC, each) for each in names)})
        told = Visit(AccessList(entries), U, request, request).complete(d.ConsumerGroupsDescribed((row,)))
        assert isinstance(told, d.ConsumerGroupsDescribed)
        hidden = d.ConsumerGroupDescription("g", int(Error.TOPIC_AUTHORIZATION_FAILED), HIDDEN_TOPICS)
        assert told.groups == ((row,) if is_told else (hidden,))


def test_who_may_not_describe_the_cluster_is_told_of_no_directory_in_any_version() -> None:
    here = fronted(settings=SETTINGS, access=AccessList(frozenset()))
    for version, error in ((2, 0), (4, 31)):
        asked = a.DescribeLogDirs(version, None)
        told = answer_in(here.answer(here.frame(asked)), asked, here.names)
        assert told == a.LogDirsDescribed("", {}, error)
        around: Any = None
        assert DESCRIBE_LOG_DIRS.to_values(None, (told,), version, around) == {"error_code": error, "results": []}


def test_a_topic_comes_to_be_by_the_question_of_who_may_make_it() -> None:
    for rights, error, count in (
        ((), 29, 0),
        ((may("DESCRIBE", TOPIC, "new"),), 29, 0),
        ((may("DESCRIBE", TOPIC, "new"), may("CREATE", TOPIC, "new")), 3, 1),
        ((may("DESCRIBE", TOPIC, "new"), may("CREATE", ResourceType.CLUSTER, CLUSTER_NAME)), 3, 1),
        ((may("CREATE", TOPIC, "new"),), 29, 0),
    ):
        cluster = cluster_of(*rights)
        assert ask(cluster, p.DescribeTopics(12, ("new",), creates=True)).topics == {"new": error}
        assert cluster.metadata.count("new") == count
    cluster = cluster_of(may("DESCRIBE", TOPIC, "new"))
    assert ask(cluster, p.DescribeTopics(12, ("new",), creates=False)).topics == {"new": 3}


# ---------------------------------------------------------------- clusters that run


def test_a_cluster_that_runs_asks_for_rights_too() -> None:
    access = AccessList(frozenset({may("WRITE", ID, "x")}))
    with Embedded(topics={"a": 1}, settings=SETTINGS, durability=Durability.MEMORY, access=access) as embedded:
        asked = t.InitProducerId(4, "x", 60_000)
        answers: list[Any] = [embedded.ask(asked, principal=who) for who in (U, ROOT, None)]
        assert [each.error for each in answers] == [0, 53, 53]


def test_a_run_with_rights_is_taken_again_from_its_trace(tmp_path: Any) -> None:
    path = tmp_path / "run.jsonl"
    with LiveTraceFile(path) as trace:
        cluster = cluster_of(may("WRITE", ID, "x"), journal=trace)
        ask(cluster, t.InitProducerId(4, "x", 60_000))
        ask(cluster, t.InitProducerId(4, "y", 60_000))
        ask(cluster, p.Produce(11, None, -1, batches("a", "b")))
        cluster.set_access([may("WRITE", TOPIC, "a")])
        ask(cluster, p.Produce(11, None, -1, batches("a", "b")))
        ask(cluster, t.InitProducerId(4, "x", 60_000))
        ask(cluster, t.InitProducerId(4, "x", 60_000), ROOT)
        ask(cluster, t.InitProducerId(4, "x", 60_000), None)
    found = live_again(read_live(path), path.name)
    assert (found.finding, found.open_question) == (None, "")
    text = path.read_text()
    assert text.count('"principal":["u",') == 5
    path.write_text(text.replace('"principal":["u",', '"principal":["v",', 1))
    changed = live_again(read_live(path), path.name)
    assert changed.finding is not None
    path.write_text(text.replace('"super_users":["User:root"]', '"super_users":[]', 1))
    assert live_again(read_live(path), path.name).finding is not None
