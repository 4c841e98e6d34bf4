"""DeleteTopics: what goes with a topic, what others are told afterwards, and what a crash leaves of it."""

from collections.abc import Collection
from pathlib import Path
from random import Random
from uuid import UUID

import pytest

from zombieproof.bridge.again import live_again
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.live_trace import LiveTraceFile
from zombieproof.broker.cluster.network import Answer
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.data_directory import DataDirectory
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.storage import RETRY_MS
from zombieproof.broker.store.fault_disk import Fate, Fault, FaultDisk, Plan
from zombieproof.broker.store.log_directory import LogDirectory
from zombieproof.broker.timers import RETENTION_MS
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.admin import CreateTopics, NewTopic, TopicsCreated
from zombieproof.messages.groups import (
    OffsetCommit,
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetToCommit,
    TxnOffsetCommit,
)
from zombieproof.messages.partitions import (
    LATEST,
    DeleteRecords,
    DeleteTopics,
    DescribeTopics,
    Fetch,
    FetchAnswer,
    ListedOffset,
    ListOffsets,
    ListOffsetsAnswer,
    Produce,
    ProduceAnswer,
    SentBatch,
    TopicsDeleted,
    TopicsDescribed,
)
from zombieproof.messages.transactions import EndTxn, EndTxnAnswer, InitProducerId, InitProducerIdAnswer
from zombieproof.model.decisions.delete_topics import error_of_topic_deletion
from zombieproof.model.vocabulary import NONE, Error, Isolation
from zombieproof.traces.trace_file import read_live

T: TopicPartition = ("t", 0)
U: TopicPartition = ("u", 0)
SETTINGS = Settings(
    transaction_state_log_num_partitions=1, offsets_topic_num_partitions=1, group_initial_rebalance_delay_ms=0
)
UNKNOWN = Error.UNKNOWN_TOPIC_OR_PARTITION
Host = Cluster | Embedded


def cluster_of(nodes: int = 1) -> Cluster:
    return Cluster(nodes, settings=SETTINGS, topics={"t": [tuple(range(1, nodes + 1))], "u": 1})


def on(disk: FaultDisk, nodes: int = 1) -> Embedded:
    """With topics that are made where they are not there, as `serve --topic` does at each start."""
    replicas = tuple(range(1, nodes + 1))
    topics = {"t": [replicas] * 2, "u": [replicas]}
    return Embedded(nodes=nodes, topics=topics, settings=SETTINGS, clock=ManualClock(), disk=disk)


def _cluster(host: Host) -> Cluster:
    return host if isinstance(host, Cluster) else host.cluster


def deleted(host: Host, *names: str, by_id: bool = False) -> dict[str, int]:
    answer = host.ask(DeleteTopics(6, names, by_id=by_id))
    assert isinstance(answer, TopicsDeleted)
    return answer.topics


def produced(host: Host, partition: TopicPartition, value: str = "v") -> int:
    batch = SentBatch(Batch(records=(Record(None, value.encode()),)))
    answer = host.ask(Produce(9, None, -1, {partition: (batch,)}))
    assert isinstance(answer, ProduceAnswer)
    return answer.partitions[partition].error


def described(host: Host, name: str) -> int:
    answer = host.ask(DescribeTopics(12, (name,)))
    assert isinstance(answer, TopicsDescribed)
    return answer.topics[name]


def values(host: Host, partition: TopicPartition) -> list[object]:
    leader = _cluster(host).leader_of(partition)
    answer = host.ask(Fetch(12, Isolation.READ_COMMITTED, {partition: 0}, max_wait_ms=0), leader)
    assert isinstance(answer, FetchAnswer)
    return [record.value for batch in answer.partitions[partition].batches for record in batch.records]


# ---------------------------------------------------------------- what goes


def test_nobody_finds_a_topic_that_was_deleted() -> None:
    cluster = cluster_of(3)
    produced(cluster, T)
    assert deleted(cluster, "t") == {"t": Error.NONE}
    assert produced(cluster, T) == UNKNOWN
    assert described(cluster, "t") == UNKNOWN
    fetched = cluster.ask(Fetch(12, Isolation.READ_COMMITTED, {T: 0}))
    assert isinstance(fetched, FetchAnswer)
    assert fetched.partitions[T].error == UNKNOWN
    listed = cluster.ask(ListOffsets(5, Isolation.READ_COMMITTED, {T: LATEST}))
    assert isinstance(listed, ListOffsetsAnswer)
    assert listed.partitions[T] == ListedOffset(UNKNOWN)
    assert cluster.ask(DeleteRecords(2, {T: 0})).partitions == {T: (NONE, UNKNOWN)}  # type: ignore[union-attr]  # its answer
    assert [known for known in cluster.stores if known[1] == T] == []
    assert all(T not in broker.partitions.replicas for broker in cluster.brokers.values())
    assert described(cluster, "u") == Error.NONE


def test_who_waits_at_a_topic_that_is_deleted_is_told_so() -> None:
    cluster = cluster_of()
    waiting = cluster.send(Fetch(12, Isolation.READ_COMMITTED, {T: 0}, max_wait_ms=60_000, min_bytes=1))
    cluster.settle()
    assert not waiting.is_over
    deleted(cluster, "t")
    assert isinstance(waiting.answer, FetchAnswer)
    assert waiting.answer.partitions[T].error == UNKNOWN


def test_a_topic_of_the_same_name_is_another_one() -> None:
    cluster = cluster_of()
    produced(cluster, T)
    before = cluster.metadata.topic_ids["t"]
    deleted(cluster, "t")
    cluster.create_topic("t", 1)
    assert cluster.metadata.topic_ids["t"] != before
    assert before not in cluster.metadata.topic_names
    assert values(cluster, T) == []
    assert produced(cluster, T) == Error.NONE


@pytest.mark.parametrize(
    ("asked", "by_id", "expected"),
    [
        (("v",), False, {"v": Error.UNKNOWN_TOPIC_OR_PARTITION}),
        (("v",), True, {"v": Error.UNKNOWN_TOPIC_ID}),
        (("t", "u", "t"), False, {"t": Error.INVALID_REQUEST, "u": Error.NONE}),
        ((TRANSACTION_STATE, CONSUMER_OFFSETS), False, dict.fromkeys((TRANSACTION_STATE, CONSUMER_OFFSETS), 17)),
        ((), False, {}),
    ],
    ids=["unknown", "unknown id", "named twice", "internal", "none"],
)
def test_each_topic_is_answered_by_itself(asked: tuple[str, ...], by_id: bool, expected: dict[str, int]) -> None:
    cluster = cluster_of()
    assert deleted(cluster, *asked, by_id=by_id) == expected
    assert described(cluster, "t") == Error.NONE
    assert cluster.metadata.count(CONSUMER_OFFSETS) == 1


def test_where_deletion_is_disabled_nothing_goes() -> None:
    cluster = Cluster(settings=Settings(delete_topic_enable=False), topics={"t": 1})
    assert deleted(cluster, "t") == {"t": Error.TOPIC_DELETION_DISABLED}
    assert described(cluster, "t") == Error.NONE


def test_each_guard_answers_before_those_below_it() -> None:
    ladder = [(0, False, 73), (1, True, 42), (2, False, 3), (4, True, 17)]
    asked = [False, True, False, False, True]
    for place, _, error in ladder:
        assert error_of_topic_deletion(*asked) == error
        asked[place] = not asked[place]
    assert error_of_topic_deletion(*asked) == 0


# ---------------------------------------------------------------- groups and transactions


def offsets(host: Host, group: str = "g") -> dict[TopicPartition, int]:
    coordinator = _cluster(host).group_coordinator_of(group)
    answer = host.ask(OffsetFetch(7, group, require_stable=False, partitions=(T, U)), coordinator)
    assert isinstance(answer, OffsetFetchAnswer)
    return {partition: row.offset for partition, row in answer.partitions.items()}


def test_the_offsets_of_groups_in_it_go_and_others_stay() -> None:
    cluster = cluster_of()
    cluster.ask(OffsetCommit(8, "g", (OffsetToCommit(T, 5, ""), OffsetToCommit(U, 6, ""))))
    deleted(cluster, "t")
    assert offsets(cluster) == {T: NONE, U: 6}
    cluster.stop(1)
    cluster.start(1)
    assert offsets(cluster) == {T: NONE, U: 6}


def opened(host: Host) -> tuple[int, int]:
    """A transaction that has written into both topics."""
    identity = host.ask(InitProducerId(4, "x", 60_000, NONE, NONE))
    assert isinstance(identity, InitProducerIdAnswer)
    who = identity.producer_id, identity.producer_epoch
    for partition in (T, U):
        records = (Record(None, b"in a transaction"),)
        batch = SentBatch(Batch(*who, 0, transactional=True, records=records))
        host.ask(Produce(12, "x", -1, {partition: (batch,)}))
    return who


@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_ends_without_the_partitions_that_are_gone(committed: bool) -> None:
    cluster = cluster_of()
    who = opened(cluster)
    cluster.ask(TxnOffsetCommit(4, "x", "g", *who, (OffsetToCommit(T, 9, ""),)))
    deleted(cluster, "t")
    ended = cluster.ask(EndTxn(4, "x", *who, committed))
    assert isinstance(ended, EndTxnAnswer)
    assert ended.error == Error.NONE
    cluster.sweep()
    replica = cluster.brokers[1].partitions.replicas[U]
    assert replica.fetch(0, Isolation.READ_COMMITTED).aborted == (() if committed else ((who[0], 0),))
    assert replica.last_stable_offset == replica.log.end_offset
    assert offsets(cluster)[T] == NONE, "what waited for the marker is gone with the topic"
    again = cluster.ask(InitProducerId(4, "x", 60_000, NONE, NONE))
    assert isinstance(again, InitProducerIdAnswer)
    assert again.error == Error.NONE


# ---------------------------------------------------------------- on a disk


def folders(disk: FaultDisk) -> list[str]:
    return [name for name in disk.listed("broker-1") if not name.startswith("__") and "-" in name[:2]]


def test_folders_are_renamed_and_removed_later() -> None:
    disk = FaultDisk()
    embedded = on(disk)
    deleted(embedded, "t")
    renamed = [name for name in folders(disk) if name != "u-0"]
    assert [name.partition(".")[0] for name in renamed] == ["t-0", "t-1"]
    assert all(name.endswith("-delete") and len(name.partition(".")[2]) == 32 + len("-delete") for name in renamed)
    assert isinstance(embedded.clock, ManualClock)
    embedded.clock.advance(RETENTION_MS)
    embedded.pump()
    assert folders(disk) == ["u-0"]
    embedded.close()


def test_a_long_name_is_cut_so_that_a_folder_may_be_called_so() -> None:
    disk, name = FaultDisk(), "t" * 249
    embedded = on(disk)
    embedded.create_topic(name, 1)
    assert deleted(embedded, name) == {name: Error.NONE}
    assert [len(each) for each in disk.listed("broker-1") if each.endswith("-delete")] == [255]
    embedded.close()


def states_after_crashes() -> list[tuple[bool, str]]:
    """At every operation: whether the answer was told by then, and what is there after a crash."""
    disk = FaultDisk()
    embedded = on(disk)
    for number in range(3):
        assert produced(embedded, T, f"v{number}") == Error.NONE
    embedded.ask(OffsetCommit(8, "g", (OffsetToCommit(T, 5, ""), OffsetToCommit(U, 6, ""))))
    told, points = list[int](), list[tuple[FaultDisk, bool]]()
    disk.before = lambda: points.extend((disk.survivor(fate, Random(len(points))), bool(told)) for fate in Fate)
    told += deleted(embedded, "t").values()
    produced(embedded, U)
    embedded.close()
    disk.before = None
    found = []
    for survivor, was_told in points:
        try:
            again = Embedded(settings=SETTINGS, clock=ManualClock(), disk=survivor)
        except Damaged:
            found.append((was_told, "torn"))
            continue
        there = described(again, "t") == Error.NONE
        left = [name for name in folders(survivor) if name.startswith("t-")]
        state = "gone" if not there and not left else "there" if there and len(values(again, T)) == 3 else "torn"
        again.create_topic("w", 1)
        if not there:
            again.create_topic("t", 1)
            assert (values(again, T), produced(again, T)) == ([], Error.NONE)
        again.abandon()
        found.append((was_told, state))
    return found


@pytest.mark.slow
def test_a_crash_at_every_operation_leaves_the_whole_topic_or_nothing_and_what_was_told_stays_so() -> None:
    found = states_after_crashes()
    assert {state for _, state in found} == {"there", "gone"}
    assert {state for was_told, state in found if was_told} == {"gone"}


@pytest.mark.slow
def test_folders_that_go_before_it_is_known_that_they_go_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_deletion = DataDirectory.keep_deletion

    def too_early(data: DataDirectory, topics: Collection[str]) -> None:
        for each in data.logs.values():
            each.let_go(topics)
            each.discard()
        keep_deletion(data, topics)

    monkeypatch.setattr(DataDirectory, "keep_deletion", too_early)
    assert "torn" in {state for _, state in states_after_crashes()}


def with_offsets(disk: FaultDisk, nodes: int = 1) -> tuple[Embedded, UUID]:
    """Records in `t`, an offset that a group has committed there, and the id of the topic."""
    embedded = on(disk, nodes)
    assert produced(embedded, T) == Error.NONE
    embedded.ask(OffsetCommit(8, "g", (OffsetToCommit(T, 5, ""), OffsetToCommit(U, 6, ""))))
    return embedded, embedded.cluster.metadata.topic_ids["t"]


def state_of(embedded: Embedded, old: UUID, told: list[int]) -> str:
    """Which topic is there when there is room again, all of it and nothing of the other one."""
    assert isinstance(embedded.clock, ManualClock)
    for _ in range(3):
        embedded.clock.advance(RETRY_MS)
        while embedded.pump():
            pass
    deletion, creation = [*told, None, None][:2]
    is_old = embedded.cluster.metadata.topic_ids.get("t") == old
    assert not is_old or Error.NONE not in (deletion, creation)
    if embedded.cluster.metadata.count("t") == 0:
        assert creation != Error.NONE
        embedded.create_topic("t", 2)
    assert values(embedded, T)[:1] == ([b"v"] if is_old else [])
    assert offsets(embedded) == {T: 5 if is_old else NONE, U: 6}
    return "old" if is_old else "new"


def test_offsets_stay_with_their_topic_and_never_come_to_the_next_one_of_its_name() -> None:
    disk = FaultDisk()
    embedded, old = with_offsets(disk)
    points = list[FaultDisk]()
    disk.before = lambda: points.extend(disk.survivor(fate) for fate in (Fate.KEPT, Fate.DROPPED))
    assert deleted(embedded, "t") == {"t": Error.NONE}
    disk.before = None
    found = []
    for survivor in points:
        again = on(survivor)
        found.append(state_of(again, old, []))
        again.abandon()
    assert set(found) == {"old", "new"}
    assert len(found) > 30


def test_a_topic_stays_whole_where_the_disk_has_no_room_for_its_deletion() -> None:
    disk = FaultDisk()
    embedded, old = with_offsets(disk)
    disk.plan = Plan(disk.operations + 1, Fault.ENOSPC, repeats=True)
    assert produced(embedded, T) == Error.KAFKA_STORAGE_ERROR, "its log is closed"
    assert deleted(embedded, "t") == {"t": Error.KAFKA_STORAGE_ERROR}
    killed = on(disk.survivor(Fate.KEPT))
    assert state_of(killed, old, []) == "old"
    killed.abandon()
    disk.plan = Plan()
    assert state_of(embedded, old, []) == "old"
    assert produced(embedded, T) == Error.NONE
    assert deleted(embedded, "t") == {"t": Error.NONE}
    assert state_of(embedded, old, [0]) == "new"
    embedded.close()


def test_a_topic_waits_until_the_offsets_of_the_one_before_can_go() -> None:
    disk = FaultDisk()
    embedded, old = with_offsets(disk)
    embedded.cluster.brokers[1].groups.begin_loading(0)
    assert deleted(embedded, "t") == {"t": Error.NONE}
    with pytest.raises(OSError, match="offsets that were committed before t was deleted cannot be removed yet"):
        embedded.create_topic("t", 2)
    again = on(disk.survivor(Fate.KEPT))
    assert state_of(again, old, [0]) == "new"
    again.abandon()
    embedded.abandon()


def replaced(embedded: Embedded, nodes: int, *, is_in_one_turn: bool) -> list[int]:
    """The errors of a deletion, and of the creation of a topic with the same name."""
    answers = list[Answer | None]()
    for request in (DeleteTopics(6, ("t",)), CreateTopics(5, (NewTopic("t", 2, nodes),))):
        embedded.submit(request, None, answers.append)
        embedded.wait_until(lambda: bool(answers), 0 if is_in_one_turn else 100)
    embedded.wait_until(lambda: len(answers) == 2, 100)
    told = list[int]()
    for answer in answers:
        told += answer.topics.values() if isinstance(answer, TopicsDeleted) else ()
        told += [row.error for row in answer.topics] if isinstance(answer, TopicsCreated) else ()
    return told


@pytest.mark.sample("1-ENOSPC-True", "1-EIO-False")
@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize("fault", ["ENOSPC", "EIO"])
@pytest.mark.parametrize("nodes", [1, 3])
def test_a_disk_that_fails_while_a_topic_is_replaced_leaves_one_of_the_two(
    nodes: int, fault: str, repeats: bool
) -> None:
    found, number, is_over = set[str](), 0, False
    while not is_over:
        number += 1 if nodes == 1 else 5
        disk = FaultDisk()
        embedded, old = with_offsets(disk, nodes)
        last = disk.operations + number
        disk.plan = Plan(last, Fault(fault), repeats=repeats)
        told = replaced(embedded, nodes, is_in_one_turn=number % 2 == 0)
        is_over = disk.operations < last
        disk.plan = Plan()
        state = state_of(embedded, old, told)
        again = on(disk.survivor(Fate.DROPPED), nodes)
        assert state_of(again, old, told) == state
        again.abandon()
        embedded.close()
        found.add(state)
    assert found == {"old", "new"}


def test_what_is_left_of_a_deleted_topic_is_known_by_its_id_alone() -> None:
    disk = FaultDisk()
    embedded = on(disk)
    ids = dict(embedded.cluster.metadata.topic_ids)
    embedded.close()
    directory = LogDirectory(disk, "broker-1", ManualClock())
    directory.discarded.remove_left_over([UUID(int=1)])
    assert folders(disk) == ["t-0", "t-1", "u-0"]
    directory.discarded.remove_left_over([ids["u"]])
    assert folders(disk) == ["t-0", "t-1"]


def test_ids_of_topics_are_not_given_twice_after_a_restart() -> None:
    disk = FaultDisk()
    embedded = on(disk)
    before = embedded.cluster.metadata.topic_ids["u"]
    deleted(embedded, "u", "t")
    embedded.close()
    embedded = on(disk)
    assert embedded.cluster.metadata.topic_ids["u"] != before
    embedded.close()


def test_a_live_run_in_which_records_and_topics_go_is_taken_again_from_its_trace(tmp_path: Path) -> None:
    with LiveTraceFile(tmp_path / "run.jsonl") as trace:
        disk = FaultDisk()
        embedded = Embedded(topics={"t": 2, "u": 1}, settings=SETTINGS, clock=ManualClock(), disk=disk, journal=trace)
        who = opened(embedded)
        embedded.ask(EndTxn(4, "x", *who, True))
        produced(embedded, T)
        embedded.ask(DeleteRecords(2, {T: 1}))
        disk.plan = Plan(disk.operations + 1, Fault.ENOSPC)
        assert deleted(embedded, "t", "u") == dict.fromkeys(("t", "u"), Error.KAFKA_STORAGE_ERROR)
        deleted(embedded, "u")
        assert produced(embedded, U) == UNKNOWN
        assert produced(embedded, T) == Error.NONE
        embedded.close()
    record = read_live(tmp_path / "run.jsonl")
    judged = live_again(record, "run.jsonl")
    assert (judged.finding, judged.judged) == (None, len(record.events))
    assert " removes records: promises are judged of what was there before" in judged.open_question
