"""Groups of the consumer protocol in the log: Kafka's own records, and of a heartbeat only what it changed."""

import pytest

from tests.broker.group_host import GROUP, GroupHost
from zombieproof.broker.group.store import GroupStore
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.consumer_group_records import GroupRecord, GroupRecordType, read_record
from zombieproof.formats.encoding import read_batch, write_batch
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.topics import CONSUMER_OFFSETS

R = GroupRecordType
WHOLE = [R.GROUP, R.MEMBER, R.TARGET_OF_MEMBER, R.CURRENT_OF_MEMBER, R.TARGET]
SECOND = 1_000


@pytest.fixture
def host() -> GroupHost:
    return GroupHost()


def read(record: Record) -> GroupRecord:
    assert isinstance(record.key, bytes)
    assert record.value is None or isinstance(record.value, bytes)
    found = read_record(record.key, record.value)
    assert found is not None
    return found


def batches(host: GroupHost) -> list[list[GroupRecord]]:
    return [[read(record) for record in batch.records] for batch in host.replica.log.read()]


def types(records: list[GroupRecord], *, gone: bool = False) -> list[GroupRecordType]:
    return [record.type for record in records if (record.value is None) == gone]


def group_of(host: GroupHost) -> object:
    store = host.coordinator.store(0)
    assert store is not None
    return store.groups[GROUP].value()


def test_the_first_heartbeat_writes_the_whole_group_and_a_silent_one_nothing(host: GroupHost) -> None:
    joined = host.beat("", 0)
    assert sorted(types(batches(host)[-1])) == sorted(WHOLE)
    end = host.replica.log.end_offset
    assert host.beat(joined.member, joined.epoch).error == 0
    assert host.replica.log.end_offset == end


def test_who_leaves_is_taken_back_and_who_stays_is_not_written_again(host: GroupHost) -> None:
    first = host.beat("", 0).member
    host.advance(5 * SECOND)
    second = host.beat("", 0).member
    host.beat(first, -1)
    last = batches(host)[-1]
    assert types(last, gone=True) == [R.CURRENT_OF_MEMBER, R.TARGET_OF_MEMBER, R.MEMBER]
    assert {record.key.fields["MemberId"] for record in last if record.value is None} == {first}
    assert R.MEMBER not in types(last), f"{second} said nothing new"


def test_a_group_is_read_from_kafkas_bytes(host: GroupHost) -> None:
    host.beat(host.beat("", 0).member, -1)
    host.beat("", 0)
    known = group_of(host)
    log = host.replica.log
    encoded = [write_batch(batch) for batch in log.read()]
    log.truncate(0)
    for data in encoded:
        log.append(read_batch(data, topic=CONSUMER_OFFSETS))
    host.restart()
    assert group_of(host) == known


def damaged(record: Record, change: str) -> Record:
    assert isinstance(record.value, bytes)
    return Record(record.key, record.value[:-1] if change == "cut" else b"\xff\xff" + record.value[2:])


@pytest.mark.parametrize("change", ["cut", "of a version that is not known"])
def test_a_damaged_record_of_a_group_is_refused_when_it_is_loaded(host: GroupHost, change: str) -> None:
    host.beat("", 0)
    (batch,) = host.replica.log.read()
    host.replica.log.truncate(0)
    host.replica.log.append(
        Batch(records=tuple(damaged(record, change) for record in batch.records), last_offset_delta=4)
    )
    with pytest.raises(Undecodable):
        host.restart()


def test_a_store_that_passes_groups_over_is_noticed(host: GroupHost, monkeypatch: pytest.MonkeyPatch) -> None:
    host.beat("", 0)
    monkeypatch.setattr(GroupStore, "_replay_consumer_group", lambda *_: None)
    host.restart()
    with pytest.raises(KeyError):
        group_of(host)
