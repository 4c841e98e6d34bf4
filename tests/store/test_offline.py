"""A damaged log takes its partition offline, a failing disk refuses writes; everything else is served."""

import errno
from collections.abc import Callable

import pytest

from tests.store import damages
from tests.store.clients import NoAnswer, Notebook
from tests.store.crashing import LATER_MS
from tests.store.damages import C0, D0, T0, T1, WRITTEN, RoutedClient, files_of, open_on, read
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.data_directory import DataDirectoryError
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.partition.log import StorageFailure
from zombieproof.broker.repairing import Repairs
from zombieproof.broker.store.fault_disk import Fault, FaultDisk, Plan
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.groups import CoordinatorFound, FindCoordinator, OffsetFetch, OffsetFetchAnswer
from zombieproof.messages.partitions import (
    DeleteTopics,
    Fetch,
    FetchAnswer,
    ListOffsets,
    ListOffsetsAnswer,
)
from zombieproof.messages.transactions import InitProducerId, InitProducerIdAnswer
from zombieproof.model.vocabulary import NONE, Error, Isolation

ANY = RoutedClient
"""A client of a cluster."""


def first_log_of(disk: FaultDisk, partition: TopicPartition, node: int = 1) -> str:
    folder = f"broker-{node}/{partition[0]}-{partition[1]}/"
    return next(
        path for path in files_of(disk) if path.startswith(folder) and path.endswith(".log") and disk.size(path)
    )


def flipped(partition: TopicPartition, nodes: int = 1, node: int = 1) -> FaultDisk:
    """A directory in which one bit of the first batch of a log has turned."""
    disk = damages.base(nodes, is_clean=True).disk.copy()
    disk.damage(first_log_of(disk, partition, node), 8 * 70)
    return disk


def fetch_error(embedded: Embedded, partition: TopicPartition, node: int = 1) -> int:
    answer = embedded.ask(Fetch(12, Isolation.READ_UNCOMMITTED, {partition: 0}), node)
    assert isinstance(answer, FetchAnswer)
    return answer.partitions[partition].error


def client_of(embedded: Embedded, transactional_id: str | None = None) -> RoutedClient:
    client = ANY(embedded, Notebook(), "client", transactional_id)
    client.init()
    return client


def test_a_damaged_batch_takes_its_partition_offline_and_no_other(caplog: pytest.LogCaptureFixture) -> None:
    disk = flipped(T0)
    for _ in range(2):
        caplog.clear()
        embedded = open_on(disk, 1)
        assert fetch_error(embedded, T0) == Error.KAFKA_STORAGE_ERROR
        assert len(caplog.records) == 1
        for words in ("t-0 is offline", "damaged at byte 0", "zombieproof repair"):
            assert words in caplog.text
        assert read(embedded).offline == {T0}
        listed = embedded.ask(ListOffsets(5, Isolation.READ_UNCOMMITTED, {T0: -2}), 1)
        assert isinstance(listed, ListOffsetsAnswer)
        assert listed.partitions[T0].error == Error.KAFKA_STORAGE_ERROR
        client = client_of(embedded)
        assert [client.send(partition, "more") for partition in (T1, C0, D0)] == [Error.NONE] * 3
        with pytest.raises(NoAnswer, match="t-0 is closed"):
            client.send(T0, "refused")
        assert embedded.cluster.leader_of(T0) is None
        embedded.close()


def test_the_repair_that_is_named_brings_the_partition_back() -> None:
    disk = flipped(T0)
    assert [each.finding.partition for each in Repairs(disk, "kept").apply()] == [T0]
    embedded = open_on(disk, 1)
    assert read(embedded).offline == set()
    assert client_of(embedded).send(T0, "more") == Error.NONE
    embedded.close()


def test_a_topic_that_is_offline_can_be_deleted_and_made_again() -> None:
    disk = flipped(T0)
    embedded = open_on(disk, 1)
    fetch_error(embedded, T0)
    embedded.ask(DeleteTopics(5, ("t",)))
    embedded.create_topic("t", 1)
    assert client_of(embedded).send(T0, "first") == Error.NONE
    embedded.close()
    assert [each for each in files_of(disk) if "-delete" in each] == []
    again = open_on(disk, 1)
    assert read(again).offline == set()
    again.abandon()


@pytest.mark.parametrize(
    ("topic", "request_of", "of_group"),
    [
        (TRANSACTION_STATE, lambda name: InitProducerId(5, name, 60_000, NONE, NONE), 1),
        (CONSUMER_OFFSETS, lambda name: OffsetFetch(7, name, require_stable=False, partitions=(("in", 0),)), 0),
    ],
)
def test_a_coordinator_whose_log_is_damaged_is_not_available(
    topic: str, request_of: Callable[[str], InitProducerId | OffsetFetch], of_group: int
) -> None:
    embedded = open_on(flipped((topic, 0)), 1)
    metadata = embedded.cluster.metadata
    place = metadata.transaction_partition if topic == TRANSACTION_STATE else metadata.group_partition
    names = [f"n{number}" for number in range(20)]
    broken, sound = (next(name for name in names if place(name)[1] == number) for number in (0, 1))
    found = [embedded.ask(FindCoordinator(3, name, of_group)) for name in (broken, sound)]
    assert [each.error for each in found if isinstance(each, CoordinatorFound)] == [
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NONE,
    ]
    answers = [embedded.ask(request_of(name), 1) for name in (broken, sound)]
    errors = [each.error for each in answers if isinstance(each, InitProducerIdAnswer | OffsetFetchAnswer)]
    assert errors == [Error.NOT_COORDINATOR, Error.NONE]
    assert client_of(embedded, None).send(T0, "more") == Error.NONE
    embedded.close()


def test_a_disk_that_does_not_give_a_file_is_damage_of_one_log() -> None:
    class Unreadable(FaultDisk):
        def read(self, path: str, at: int = 0, size: int | None = None) -> bytes:
            if path == damaged and embedded:
                raise OSError(errno.EIO, "Input/output error", path)
            return super().read(path, at, size)

    disk, embedded = Unreadable(), list[Embedded]()
    sound = damages.base(1, is_clean=True).disk.copy()
    disk._names, disk._synced = sound._names, sound._synced
    damaged = first_log_of(disk, T0)
    embedded.append(open_on(disk, 1))
    assert fetch_error(embedded[0], T0) == Error.KAFKA_STORAGE_ERROR
    assert fetch_error(embedded[0], T1) == Error.NONE
    embedded[0].abandon()


@pytest.mark.slow
@pytest.mark.parametrize("node", [1, 2, 3])
@pytest.mark.parametrize("partition", [T0, (TRANSACTION_STATE, 0)])
def test_a_damaged_replica_is_fetched_again_while_another_leads(
    partition: TopicPartition, node: int, caplog: pytest.LogCaptureFixture
) -> None:
    disk = flipped(partition, nodes=3, node=node)
    embedded, expected = open_on(disk, 3), damages.base(3, is_clean=True).reading
    assert damages.differences(expected, read(embedded)) == []
    assert len(caplog.records) == 1
    assert f"damaged/broker-{node}" in caplog.text
    assert set(embedded.cluster.metadata.partitions[partition].in_sync) == {1, 2, 3}
    client = client_of(embedded, "a")
    client.begin("after")
    assert client.send(T0, "more") == Error.NONE
    assert client.end(committed=True) == Error.NONE
    embedded.close()
    again = open_on(disk, 3)
    assert read(again).offline == set()
    again.abandon()


# ---------------------------------------------------------------- disks that fail


@pytest.mark.parametrize("fault", [Fault.ENOSPC, Fault.EIO])
def test_writes_continue_when_the_disk_takes_them_again(fault: Fault, caplog: pytest.LogCaptureFixture) -> None:
    disk, clock = damages.base(1, is_clean=True).disk.copy(), ManualClock(LATER_MS)
    embedded = open_on(disk, 1, clock)
    client = client_of(embedded)
    assert client.send(T0, "before") == Error.NONE
    disk.plan, disk.operations = Plan(1, fault, torn_at=9, repeats=True), 1
    with pytest.raises(NoAnswer):
        client.send(T0, "refused")
    assert "t-0" in caplog.records[0].getMessage()
    assert fetch_error(embedded, T0) == Error.NONE
    for _ in range(30):
        clock.advance(1_000)
        while embedded.pump():
            pass
    reports = len(caplog.records)
    assert 2 <= reports <= 6, "once in ten seconds while writes are refused"
    disk.plan = Plan()
    for _ in range(3):
        clock.advance(1_000)
        while embedded.pump():
            pass
    assert [client.send(partition, "after") for partition in WRITTEN] == [Error.NONE] * len(WRITTEN)
    assert "written again" in caplog.text
    expected = read(embedded)
    embedded.close()
    again = open_on(disk, 1)
    assert damages.differences(expected, read(again)) == []
    again.abandon()


def test_a_topic_that_finds_no_room_is_served_when_there_is_some() -> None:
    disk, clock = damages.base(1, is_clean=True).disk.copy(), ManualClock(LATER_MS)
    embedded = open_on(disk, 1, clock)
    disk.plan, disk.operations = Plan(1, Fault.ENOSPC, repeats=True), 1
    with pytest.raises(OSError, match="space"):
        embedded.create_topic("new", 1)
    assert fetch_error(embedded, ("new", 0)) == Error.KAFKA_STORAGE_ERROR
    disk.plan = Plan()
    for _ in range(3):
        clock.advance(1_000)
        while embedded.pump():
            pass
    assert client_of(embedded).send(("new", 0), "first") == Error.NONE
    embedded.close()
    again = open_on(disk, 1)
    assert fetch_error(again, ("new", 0)) == Error.NONE
    again.abandon()


def test_a_stop_on_a_full_disk_says_so_and_loses_nothing() -> None:
    disk = damages.base(1, is_clean=True).disk.copy()
    embedded = open_on(disk, 1)
    client = client_of(embedded)
    assert client.send(T0, "acknowledged") == Error.NONE
    expected = read(embedded)
    disk.plan, disk.operations = Plan(1, Fault.ENOSPC, repeats=True), 1
    with pytest.raises((StorageFailure, OSError)):
        embedded.close()
    disk.plan = Plan()
    again = open_on(disk, 1)
    assert damages.differences(expected, read(again)) == []
    again.abandon()


def test_a_directory_of_another_number_of_brokers_is_refused() -> None:
    disk = damages.base(1, is_clean=True).disk.copy()
    with pytest.raises(DataDirectoryError, match="of a cluster of 1 broker, not of 3: start it with 1 broker"):
        open_on(disk, 3)
    open_on(disk, 1).abandon()


@pytest.mark.sample("True")
@pytest.mark.parametrize("is_clean", [True, False])
def test_a_log_is_fetched_again_whole_where_kafkas_checkpoints_alone_tell_of_it(is_clean: bool) -> None:
    """As in a directory of an earlier version: the log that takes its place does not begin at the old end."""
    of = damages.base(3, is_clean)
    disk = of.disk.copy()
    disk.remove("broker-1/log-state-checkpoint")
    log = next(path for path in damages.files_of(disk) if path.startswith("broker-1/t-0/") and path.endswith(".log"))
    disk.truncate(log, 700)
    with damages.noticing() as lines:
        embedded = damages.open_on(disk, 3)
        found = damages.read(embedded)
        embedded.abandon()
    assert "t-0 at broker 1" in "".join(lines)
    assert damages.differences(of.reading, found, "".join(lines)) == []


@pytest.mark.long("__transaction_state-1")
@pytest.mark.slow
@pytest.mark.parametrize("folder", ["__transaction_state-0", "__transaction_state-1", f"{C0[0]}-0"])
def test_a_base_offset_that_is_damaged_upwards_is_noticed(folder: str) -> None:
    """No checksum covers it, and in a compacted log offsets may be missing."""
    of = damages.base(1, False)
    logs = [path for path in damages.files_of(of.disk) if path.startswith(f"broker-1/{folder}/")]
    path = max(path for path in logs if path.endswith(".log") and of.disk.size(path))
    batches = damages.boundaries(of.disk.read(path))
    # It is negative, far beyond the segment, or a little off.
    cases = [(at, bit) for at in batches for bit in (7, 8 * 3, 8 * 6, 8 * 7, 8 * 7 + 6)]
    for at, bit in cases:
        disk = of.disk.copy()
        disk.damage(path, 8 * at + bit)
        outcome, text = damages.judge(disk, of, damages.Damage(".log", path, f"bit {bit} of the batch at {at}"))
        assert outcome in damages.ALLOWED, (at, bit, text)
